"""Algorithm 1 of Afkanpour, Szepesvari, Bowling (2013), step by step, with dense matrices."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from reference import Matrix, center, gaussian, gaussian_ard_gradient, stagewise_eta
from scipy.optimize import minimize, minimize_scalar

Search = Callable[[Matrix], tuple[Matrix, float]]
"""Maps P to the Gram matrix of the best kernel of a family and the penalty that it pays."""


@dataclass
class Published:
    """The kernels, objectives, step sizes and alignments of all steps."""

    grams: list[Matrix]
    objectives: list[float]
    etas: list[float]
    alignments: list[float]


def objective(K: Matrix, L: Matrix) -> float:
    """F(K) = <K_c, L_c> / (|K_c| |L_c|)."""
    Kc, Lc = center(K), center(L)
    return float(np.sum(Kc * Lc) / (np.linalg.norm(Kc) * np.linalg.norm(Lc)))


def gradient(K: Matrix, L: Matrix) -> Matrix:
    """F'(K), equation (3), centered."""
    Kc, Lc = center(K), center(L)
    size = np.linalg.norm(Kc)
    return (Lc - np.sum(Kc * Lc) / size**2 * Kc) / (size * np.linalg.norm(Lc))


def algorithm_1(
    L: Matrix,
    searches: list[Search],
    *,
    eps: float,
    T: int,
    theta: float,
    eta_max: float,
    beside: list[Matrix] | None = None,
) -> Published:
    """Lines 2 to 10; of several families the kernel of the largest objective is added.

    `beside` has the kernel of each step of another run. Every line is then compared by itself: the
    search with that run's kernel, and the step along that run's kernel from where that run stood.
    """
    K, found = eps * np.eye(len(L)), Published([], [], [], [])
    for t in range(T):
        P, before = gradient(K, L), objective(K, L)
        tried = [search(P) for search in searches]
        best, paid = max(tried, key=lambda pair: np.sum(P * pair[0]) - pair[1])
        added = best if beside is None or t >= len(beside) else beside[t]
        eta = stagewise_eta(K, added, L, eta_max)
        K = K + eta * added
        found.grams.append(best)
        found.objectives.append(float(np.sum(P * best)) - paid)
        found.etas.append(eta)
        found.alignments.append(objective(K, L))
        if found.alignments[-1] < before + theta:
            break
    return found


def one_parameter(gram: Callable[[float], Matrix], low: float, high: float, n: int = 800) -> Search:
    """The best parameter: a scan of its logarithm, and Brent's method around the best places."""
    grid = np.linspace(low, high, n)
    scanned = [gram(np.exp(t)) for t in grid]

    def search(P: Matrix) -> tuple[Matrix, float]:
        values = np.array([np.sum(P * K) for K in scanned])
        tops = [grid[np.argmax(values)]]
        for k in np.argsort(-values)[:10]:
            bracket = grid[max(k - 1, 0)], grid[min(k + 1, n - 1)]
            tops.append(
                minimize_scalar(
                    lambda t: -np.sum(P * gram(np.exp(t))) / np.abs(values).max(),
                    bounds=bracket,
                    method="bounded",
                    options={"xatol": 1e-13},
                ).x
            )
        best = max(tops, key=lambda t: np.sum(P * gram(np.exp(t))))
        return gram(np.exp(best)), 0.0

    return search


def widths(X: Matrix, starts: list[float], bounds: Matrix, penalty: float) -> Search:
    """One width a feature: equation (4) from common widths, the best maximum of all starts."""

    def search(P: Matrix) -> tuple[Matrix, float]:
        def negative(theta: Matrix) -> tuple[float, Matrix]:
            s = np.exp(theta)
            deviation = s - s.mean()
            value = penalty * np.sum(deviation**2) - np.sum(P * gaussian(X, s))
            slope = 2.0 * penalty * deviation * s - gaussian_ard_gradient(X, s, P)
            return value, slope

        ends = []
        for start in starts:
            theta = np.full(X.shape[1], np.log(start))
            scale = abs(negative(theta)[0]) or 1.0
            for _ in range(5):
                theta = minimize(
                    lambda t, scale=scale: tuple(part / scale for part in negative(t)),
                    theta,
                    jac=True,
                    method="L-BFGS-B",
                    bounds=bounds,
                    options={"ftol": 0.0, "gtol": 0.0, "maxiter": 2000},
                ).x
            ends.append(theta)
        s = np.exp(min(ends, key=lambda theta: negative(theta)[0]))
        return gaussian(X, s), penalty * float(np.sum((s - s.mean()) ** 2))

    return search

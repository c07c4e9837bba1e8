"""Naive dense references with which the fast code must agree, in a dozen lines each.

Nothing here uses the package or is meant to be fast.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

Matrix = NDArray[np.float64]


def center(K: Matrix) -> Matrix:
    """H K H with H = I - 11'/n."""
    n = len(K)
    H = np.eye(n) - np.ones((n, n)) / n
    return H @ K @ H


def hsic(K: Matrix, L: Matrix) -> float:
    """<K_c, L_c> / (n - 1)^2."""
    return float(np.sum(center(K) * center(L)) / (len(K) - 1) ** 2)


def alignment(K: Matrix, L: Matrix) -> float:
    """<K, L> / (|K| |L|)."""
    return float(np.sum(K * L) / np.sqrt(np.sum(K * K) * np.sum(L * L)))


def centered_alignment(K: Matrix, L: Matrix) -> float:
    """The alignment of the centered matrices."""
    return alignment(center(K), center(L))


REFERENCES = {"hsic": hsic, "cka": centered_alignment, "ka": alignment}
"""Every criterion as a function of two dense matrices."""


def target_kernel(y: NDArray[np.generic], task: str = "classification") -> Matrix:
    """L: +1 for the same class and -1 for another; for regression the outer product of y / std."""
    if task == "regression":
        Y = np.asarray(y, dtype=float).reshape(len(y), -1)
        return Y / Y.std(axis=0) @ (Y / Y.std(axis=0)).T
    return np.where(y[:, None] == y[None, :], 1.0, -1.0)


def output_kernel(y: NDArray[np.generic], kind: str | Matrix) -> Matrix:
    """The output kernel L of labels, responses or sets of labels, entry by entry."""
    n = len(y)
    if not isinstance(kind, str):
        index = {c: k for k, c in enumerate(sorted(set(y.tolist())))}
        return np.array([[kind[index[a], index[b]] for b in y.tolist()] for a in y.tolist()])
    if kind in ("labels", "linear"):
        return target_kernel(y, "classification" if kind == "labels" else "regression")
    if kind == "multilabel":
        return np.array([[float(np.sum(y[i] * y[j])) for j in range(n)] for i in range(n)])
    if kind == "gaussian":
        Y = y.reshape(n, -1) / y.reshape(n, -1).std(axis=0)
        D = np.sqrt(np.sum((Y[:, None] - Y[None]) ** 2, axis=2))
        return np.exp(-(D**2) / np.median(D[D > 0.0]) ** 2)
    size = np.array([np.sum(y == label) for label in y])
    within = np.ones(n) if kind == "delta" else 1.0 / size
    return np.where(y[:, None] == y[None, :], within, 0.0)


def moments(kernels: list[Matrix], L: Matrix) -> tuple[Matrix, Matrix]:
    """a_k = <K_kc, L_c> and M_kl = <K_kc, K_lc>."""
    centered = [center(K) for K in kernels]
    a = np.array([np.sum(K * center(L)) for K in centered])
    M = np.array([[np.sum(K * K2) for K2 in centered] for K in centered])
    return a, M


def alignf(kernels: list[Matrix], L: Matrix) -> Matrix:
    """Weights maximizing the centered alignment: min over v >= 0 of v'Mv - 2 v'a, summing to one.

    That is the non-negative least squares problem of writing L_c as a sum of the K_kc, solved here
    over all n^2 entries (Cortes et al. 2010, Proposition 3).
    """
    A = np.stack([center(K).ravel() for K in kernels], axis=1)
    scale = np.linalg.norm(A, axis=0)
    v = nnls(A / scale, center(L).ravel())[0] / scale
    return v / v.sum()


def gaussian(X: Matrix, widths: Matrix | float, Z: Matrix | None = None) -> Matrix:
    """exp(-sum_z (x_z - x'_z)^2 / s_z^2), one width per feature or one for all."""
    D = (X[:, None, :] - (X if Z is None else Z)[None, :, :]) / widths
    return np.exp(-np.sum(D**2, axis=2))


def exponential_power(X: Matrix, Z: Matrix, power: float, norm: float) -> Matrix:
    """exp(-|x - z|_p^q) for q = power and p = norm, from the whole n x m x d tensor."""
    distances = np.sum(np.abs(X[:, None, :] - Z[None, :, :]) ** norm, axis=2) ** (1.0 / norm)
    return np.exp(-(distances**power))


def gaussian_ard_gradient(X: Matrix, widths: Matrix, P: Matrix) -> Matrix:
    """d <P, K> / d log s_z, contracted from the whole n x n x d tensor."""
    K = gaussian(X, widths)
    tensor = K[:, :, None] * 2.0 * (X[:, None, :] - X[None, :, :]) ** 2 / widths**2
    return np.einsum("ij,ijz->z", P, tensor)


def cka_sensitivity(K: Matrix, L: Matrix) -> Matrix:
    """P, the gradient of the centered alignment with respect to K."""
    Kc, Lc = center(K), center(L)
    norm_k, norm_l = np.linalg.norm(Kc), np.linalg.norm(Lc)
    return (Lc - np.sum(Kc * Lc) / norm_k**2 * Kc) / (norm_k * norm_l)


def stagewise_eta(K: Matrix, K_new: Matrix, L: Matrix, eta_max: float) -> float:
    """The step eta in [0, eta_max] of greatest centered alignment of K + eta K_new.

    The best of 0, (ad - bc) / (bd - ae) and eta_max (Afkanpour et al. 2013, Appendix).
    """
    K, K_new, L = center(K), center(K_new), center(L)
    a, b = np.sum(K * L), np.sum(K_new * L)
    c, d, e = np.sum(K * K), np.sum(K * K_new), np.sum(K_new * K_new)
    stationary = (a * d - b * c) / (b * d - a * e) if b * d != a * e else 0.0
    steps = [0.0, float(np.clip(stationary, 0.0, eta_max)), eta_max]
    return max(steps, key=lambda eta: alignment(K + eta * K_new, L))


def central_difference(
    function: Callable[[Matrix], float], theta: Matrix, step: float = 1e-6
) -> Matrix:
    """The gradient of a scalar function by central differences."""
    shifts = step * np.eye(len(theta))
    return np.array([(function(theta + s) - function(theta - s)) / (2 * step) for s in shifts])


def standardized_gaussian(X: Matrix) -> Matrix:
    """exp(-|x - x'|^2 / (2 m)) of m features of unit variance."""
    X = np.asarray(X, dtype=float).reshape(len(X), -1)
    return gaussian(X / X.std(axis=0), np.sqrt(2.0 * X.shape[1]))


def hsic_lasso(X: Matrix, L: Matrix) -> tuple[Matrix, Matrix]:
    """The design of HSIC Lasso, n^2 x n_features, and its target: vectors of unit length."""
    grams = [center(standardized_gaussian(x)).ravel() for x in X.T]
    design = np.stack([K / np.linalg.norm(K) for K in grams], axis=1)
    return design, center(L).ravel() / np.linalg.norm(center(L))


def backward_elimination(
    X: Matrix, number: int, step: float, kernel: Callable[[Matrix, Matrix], Matrix], L: Matrix
) -> tuple[list[int], Matrix]:
    """Features that are left, and the rank of each.

    Each round evaluates kernel(part, all), one for each feature that is left out.
    """
    left, rounds = list(range(X.shape[1])), []
    while len(left) > number:
        parts = [X[:, [k for k in left if k != z]] for z in left]
        without = [hsic(kernel(part, X[:, left]), L) for part in parts]
        count = int(step) if step >= 1 else max(1, int(step * len(left)))
        worst = np.argsort(without)[::-1][: min(count, len(left) - number)]
        rounds.append([left[i] for i in worst])
        left = [k for k in left if k not in rounds[-1]]
    ranking = np.ones(X.shape[1], dtype=int)
    for rank, gone in enumerate(reversed(rounds), start=2):
        ranking[gone] = rank
    return left, ranking


def median_distance(X: Matrix) -> float:
    """Median of the positive distances between rows."""
    D = np.sqrt(np.sum((X[:, None, :] - X[None, :, :]) ** 2, axis=2))
    return float(np.median(D[1e-6 * D.max() < D]))


def median_gaussian(X: Matrix, whole: Matrix | None = None, width: float = 1.0) -> Matrix:
    """A Gaussian kernel of some features, its width a multiple of the median distance on all."""
    return gaussian(X, width * median_distance(X if whole is None else whole))


def width_cost(widths: Matrix, form: str, width: float) -> float:
    """Penalty on differences between widths, summed in their unit or averaged over features."""
    if form == "widths":
        return float(np.sum((widths - widths.mean()) ** 2))
    u = np.log(widths / width) if form == "log_widths" else width / widths - 1.0
    return float(np.mean(u**2))


def kernel_ridge(K: Matrix, Y: Matrix, rows: Matrix, penalty: Matrix | float) -> Matrix:
    """Predictions of kernel ridge regression whose intercept is not penalized.

    The penalty is one number, or one for each sample.
    """
    n = len(K)
    system = np.ones((n + 1, n + 1))
    system[:n, :n] = K + penalty * np.eye(n)
    system[n, n] = 0.0
    solution = np.linalg.solve(system, np.concatenate([Y, np.zeros_like(Y[:1])]))
    return rows @ solution[:n] + solution[n]


def left_out_kernel_ridge(
    K: Matrix, Y: Matrix, penalty: Matrix | float, rows: Matrix | None = None
) -> Matrix:
    """Predictions of each sample, and of other rows, by a fit without the sample; one per line."""
    found = []
    for i in range(len(K)):
        rest = np.delete(np.arange(len(K)), i)
        without = K[i : i + 1] if rows is None else np.vstack([K[i], rows])
        penalties = np.broadcast_to(penalty, len(K))[rest]
        found.append(kernel_ridge(K[np.ix_(rest, rest)], Y[rest], without[:, rest], penalties))
    return np.array(found)[:, 0] if rows is None else np.array(found)


def ridge_with_intercept(K: Matrix, Y: Matrix, rows: Matrix, alpha: float) -> Matrix:
    """Kernel ridge regression with a penalty relative to the centered matrix's mean diagonal."""
    return kernel_ridge(K, Y, rows, alpha * np.trace(center(K)) / len(K))

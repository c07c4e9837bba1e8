"""Concentration of alignment, and the predictors of theorems 2 and 3: Cortes et al. (2010)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.preprocessing import KernelCenterer, StandardScaler

from experiments.definitions.class_balance import RARE, with_share
from experiments.experiment import Experiment, Measures
from experiments.problems import Array, whole
from mercer.kernels import Gaussian
from mercer.metrics import alignment, centered_alignment

CONFIDENCE = 0.05
"""A deviation exceeds the bound with at most this probability."""

N_DRAWS = 200
SIZES: Array = 25 * 2 ** np.arange(9)
CLASSES = ("banana", "image", "splice", "german", "diabetes_pima", "spambase")
RESPONSES = "kin8nm"
POWERS = (-2, 0, 2)
"""The widths are the data's scale times two to these powers."""


@dataclass(frozen=True)
class Population:
    """Samples of equal probability that are taken for the whole distribution.

    Expectations are then sums, and draws are made with replacement.
    """

    X: Array
    y: Array
    classes: bool
    seed: int

    def gram(self, power: float) -> Array:
        """Return the Gram matrix of a Gaussian whose width is in units of the data's scale."""
        return np.asarray(Gaussian(np.sqrt(self.X.shape[1]) * 2.0**power)(self.X))


def classes(repeat: int, *, name: str, share: float | None, n_samples: int) -> Population:
    """Return a population of two classes, with standardized features."""
    X, y = with_share(name, share, repeat)
    rows = np.random.default_rng(repeat).permutation(len(y))[:n_samples]
    return Population(StandardScaler().fit_transform(X[rows]), y[rows].astype(float), True, repeat)


def responses(repeat: int, *, n_samples: int) -> Population:
    """Return a population of responses of unit standard deviation, which are not centered."""
    X, y = whole(RESPONSES)
    rows = np.random.default_rng(repeat).permutation(len(y))[:n_samples]
    return Population(
        StandardScaler().fit_transform(X[rows]), y[rows] / y[rows].std(), False, repeat
    )


def drawn_alignments(K: Array, y: Array, counts: Array) -> Array:
    """Return the centered alignments of a Gram matrix with labels, on draws.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
    y : ndarray of shape (n_samples,)
    counts : ndarray of shape (n_samples, n_draws)
        The number of times that each draw has each sample.
    """
    m = counts.sum(axis=0)
    centered = counts * (y[:, None] - y @ counts / m)
    product = np.sum(centered * (K @ centered), axis=0)
    products = K @ counts
    squares = np.sum(counts * ((K * K) @ counts), axis=0)
    squares -= 2.0 * np.sum(counts * products**2, axis=0) / m
    squares += np.sum(counts * products, axis=0) ** 2 / m**2
    return np.asarray(product / np.sqrt(squares) / (y @ centered))


def deviations(data: Population, *, sizes: Array, n_draws: int) -> Measures:
    """Return |alignment of m draws - alignment| by m and width: mean, quantile, and bound.

    The bound is 18 beta (3 / m + 4 sqrt(log(6 / delta) / (2 m))), theorem 1.
    """
    generator = np.random.default_rng(data.seed)
    y, n = data.y, len(data.y)
    largest = float(np.max(y**2))
    target = float(np.var(y)) ** 2
    counts = [generator.multinomial(m, np.full(n, 1.0 / n), size=n_draws).T for m in sizes]
    shape = 3.0 / sizes + 4.0 * np.sqrt(np.log(6.0 / CONFIDENCE) / (2.0 * sizes))
    found: dict[str, list[list[float]]] = {"mean": [], "bias": [], "quantile": [], "bound": []}
    expected = []
    for power in POWERS:
        K = data.gram(power)
        expected.append(float(drawn_alignments(K, y, np.ones((n, 1)))[0]))
        beta = max(1.0 / np.mean(KernelCenterer().fit_transform(K) ** 2), largest**2 / target)
        drawn = np.array([drawn_alignments(K, y, draws.astype(float)) for draws in counts])
        errors = np.abs(drawn - expected[-1])
        found["mean"].append(list(errors.mean(axis=1)))
        found["bias"].append(list(drawn.mean(axis=1) - expected[-1]))
        found["quantile"].append(list(np.quantile(errors, 1.0 - CONFIDENCE, axis=1)))
        found["bound"].append(list(18.0 * beta * shape))
    return {**found, "alignment": expected, "sizes": sizes}


def predictor(data: Population, *, center: bool) -> Measures:
    """Return errors of h(x) = E[y' K_c(x, x')] / sqrt(E[K_c^2]) by width, and their bounds.

    For two classes, the error is the fraction on the wrong side, and its bound is 1 - rho / Gamma,
    where Gamma is the largest of sqrt(E[K_c(x, x')^2 | x] / E[K_c^2]). The mean squared error has
    the bound 2 (1 - rho). With `center`, y is centered and divided by its standard deviation.
    """
    y = (data.y - data.y.mean()) / data.y.std() if center else data.y
    found: dict[str, list[float]] = {
        "alignment": [],
        "uncentered": [],
        "product": [],
        "error": [],
        "error_bound": [],
        "mse": [],
        "mse_bound": [],
    }
    for power in (-3, -2, -1, 0, 1, 2, 3):
        K = data.gram(power)
        centered = KernelCenterer().fit_transform(K)
        size = np.sqrt(np.mean(centered**2))
        h = centered @ y / len(y) / size
        rho = centered_alignment(K, np.outer(y, y))
        gamma = np.sqrt(np.max(np.mean(centered**2, axis=1))) / size
        found["alignment"].append(rho)
        found["uncentered"].append(alignment(K, np.outer(y, y)))
        found["product"].append(float(np.mean(y * h)))
        found["error"].append(float(np.mean(y * h < 0.0)))
        found["error_bound"].append(1.0 - rho / gamma)
        found["mse"].append(float(np.mean((y - h) ** 2)))
        found["mse_bound"].append(2.0 * (1.0 - rho))
    share = float(np.mean(data.y < 0.0)) if data.classes else float("nan")
    return {**found, "least_share": min(share, 1.0 - share)}


def experiment(small: bool) -> Experiment:
    """Declare the populations, the deviations of alignment, and the predictors."""
    n_samples, n_draws, sizes = (200, 20, SIZES[:3]) if small else (1000, N_DRAWS, SIZES)
    names = CLASSES[:2] if small else CLASSES
    populations = {
        name: partial(classes, name=name, share=None, n_samples=n_samples) for name in names
    }
    rare = partial(classes, name="banana", share=0.1, n_samples=n_samples)
    kin = partial(responses, n_samples=n_samples)
    problems = {**populations, "banana" + RARE: rare, RESPONSES: kin}
    few = dict.fromkeys((*names[2:], "banana" + RARE), 0)
    return Experiment(
        title="Concentration of alignment, and good predictors",
        source="Cortes, Mohri, Rostamizadeh (2010), sections 3.1 and 3.2, theorems 1-3",
        problems=problems,
        methods={
            "deviations": partial(deviations, sizes=sizes, n_draws=n_draws),
            "predictor": partial(predictor, center=False),
            "predictor, centered labels": partial(predictor, center=True),
        },
        limits={(name, "deviations"): n for name, n in few.items()},
    )

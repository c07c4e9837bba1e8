"""Problems of generalized kernel machines, which several tests share."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from mercer._data.weights import SampleWeights, UnitWeights
from mercer._gram.dense import to_unit_scale
from mercer._solvers.likelihoods import Bernoulli, Likelihood, OrderedLogit, Poisson
from mercer.kernels import Laplacian

NAMES = ("classes", "counts", "grades")


def likelihood(
    name: str, f: NDArray[np.float64], rng: np.random.Generator, *, weighted: bool = False
) -> Likelihood:
    """Targets drawn from a function's values."""
    n = len(f)
    weights = SampleWeights(rng.uniform(0.5, 2.0, n)) if weighted else UnitWeights(n)
    if name == "classes":
        return Bernoulli((rng.random(n) < expit(f)).astype(float), weights)
    if name == "counts":
        offset = rng.normal(size=n)
        return Poisson(rng.poisson(np.exp(f + offset)).astype(float), weights, offset=offset)
    grades = np.digitize(f + rng.logistic(size=n), [-2.0, 0.0, 1.0])
    grades[:4] = np.arange(4)
    return OrderedLogit(grades, weights, n_grades=4)


def problem(
    name: str, n: int = 60, seed: int = 0, *, weighted: bool = False
) -> tuple[NDArray[np.float64], Likelihood]:
    """A centered Gram matrix, and targets that a function of the same features is behind."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    gram, _ = to_unit_scale(Laplacian("median", norm=1.0).bind(X)(X))
    return gram, likelihood(name, 2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1], rng, weighted=weighted)

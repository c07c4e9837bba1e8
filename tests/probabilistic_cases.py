"""Likelihoods, objectives and a problem for given weights, and what the naive references say."""

from typing import Any

import numpy as np
from probabilistic_reference import (
    NaiveGaussian,
    NaiveLaplace,
    NaiveLikelihood,
    NaiveLogistic,
    joint_map,
    mkl,
    variational,
)
from reference import gaussian
from sklearn.utils import Bunch

from mercer.kernels import Gaussian
from mercer.probabilistic import GaussianLikelihood, LaplaceLikelihood, LogisticLikelihood

LIKELIHOODS: dict[str, tuple[Any, NaiveLikelihood]] = {
    "gaussian": (GaussianLikelihood(0.2), NaiveGaussian(0.2)),
    "laplace": (LaplaceLikelihood(3.0), NaiveLaplace(3.0)),
    "logistic": (LogisticLikelihood(), NaiveLogistic()),
}
OBJECTIVES: dict[str, dict[str, Any]] = {
    "vb": {"objective": "vb"},
    "map": {"objective": "map", "jitter": 0.3},
    "mkl": {"objective": "mkl", "weight_penalty": 0.7, "norm": 1.0},
    "mkl-3/2": {"objective": "mkl", "weight_penalty": 0.7, "norm": 1.5},
}
SCALES = [0.7, 1.5, 4.0]
KERNELS = [Gaussian(scale) for scale in SCALES]
WEIGHTS = np.array([0.5, 1.0, 2.0])


def problem(name: str, n: int = 14, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A table, a target that suits a likelihood, and the Gram matrices."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = X[:, 0] + 0.5 * X[:, 1] ** 2 - 0.5 + 0.3 * rng.normal(size=n)
    y = np.where(y > 0.0, 1.0, -1.0) if name == "logistic" else y
    return X, y, np.stack([gaussian(X, scale) for scale in SCALES])


def naive(name: str, kind: str, y: np.ndarray, grams: np.ndarray, weights: np.ndarray) -> float:
    likelihood, options = LIKELIHOODS[name][1], OBJECTIVES[kind]
    K = np.tensordot(weights, grams, axes=1)
    if kind == "vb":
        return variational(K, y, likelihood)[0]
    if kind == "map":
        return joint_map(K, y, likelihood, options["jitter"])
    return mkl(
        K, y, likelihood, weights, weight_penalty=options["weight_penalty"], norm=options["norm"]
    )


def standardized(found: Bunch, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first n rows and the next five, by the mean and deviation of the first n."""
    X, y = found.data[: n + 5], np.asarray(found.target[:n], dtype=float)
    deviation = X[:n].std(axis=0)
    X = (X - X[:n].mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)
    if len(np.unique(y)) > 2:
        y = (y - y.mean()) / y.std()
    return X[:n], y, X[n:]

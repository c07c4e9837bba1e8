"""Problems with known relevant features, for the tests of selectors."""

from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from reference import output_kernel

RELEVANT = [1, 4]


def problem(kind: str, n: int = 60, p: int = 8, seed: int = 0) -> tuple[np.ndarray, Any]:
    """Draw features of several kinds, of which two are relevant, and a target of one kind."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[:, 2] = rng.integers(0, 3, size=n)
    X[:, 3] = X[:, 1] + 0.5 * rng.normal(size=n)
    X[:, 5] = rng.standard_t(2, size=n)
    score = np.tanh(2.0 * X[:, 1]) + X[:, 4] ** 2 - 1.0
    if kind == "binary":
        return X, (score > 0.0).astype(int)
    if kind == "strings":
        return X, np.array(["no", "yes"])[(score > 0.0).astype(int)]
    if kind == "three classes":
        return X, np.digitize(score, [-0.5, 0.5])
    if kind == "regression":
        return X, score
    return X, np.column_stack([np.tanh(2.0 * X[:, 1]), 100.0 * X[:, 4] ** 2])


def default_kernel(kind: str, y: np.ndarray) -> np.ndarray:
    """The dense target kernel that selectors take by default."""
    return output_kernel(y, "gaussian" if kind in ("regression", "two outputs") else "balanced")


def exclusive_or(n: int = 300, p: int = 42) -> tuple[np.ndarray, np.ndarray]:
    """Draw labels that tell whether the signs of features 5 and 30 agree; the others are noise."""
    X = np.random.default_rng(0).normal(size=(n, p))
    return X, X[:, 5] * X[:, 30] > 0.0


def dense_problem(design: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inner products a with the target and M among the columns of the design."""
    return design.T @ target, design.T @ design


def assert_optimal(weights: np.ndarray, alpha: float, a: np.ndarray, M: np.ndarray) -> None:
    """Check the conditions of optimality over all features."""
    left = a - M @ weights
    assert (weights >= 0.0).all()
    assert left.max() <= alpha + 1e-8
    assert_allclose(left[weights > 0.0], alpha, rtol=0.0, atol=1e-8)


def standardized(X: np.ndarray) -> np.ndarray:
    """Features of mean zero and unit variance."""
    return (X - X.mean(axis=0)) / X.std(axis=0)

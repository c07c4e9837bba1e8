"""Fitted predictors of every kind, which are compressed, exported and shown."""

from collections.abc import Callable
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np

from mercer import (
    BayesianMKLClassifier,
    BayesianMKLRegressor,
    GradientOuterProduct,
    KernelStackingClassifier,
    KernelStackingRegressor,
    MKLClassifier,
    MKLRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.kernels import (
    ExponentialPower,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    OnColumns,
    Polynomial,
    Product,
    RationalQuadratic,
)

N = 60
"""Number of training rows; as many more are new."""


def rows(n: int = 2 * N, d: int = 3, seed: int = 0) -> np.ndarray:
    """Rows of normal features."""
    return np.random.default_rng(seed).normal(size=(n, d))


def responses(X: np.ndarray) -> np.ndarray:
    """A smooth function with noise."""
    noise = 0.2 * np.random.default_rng(1).normal(size=len(X))
    return np.asarray(np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + noise)


def classes(X: np.ndarray, n_classes: int) -> np.ndarray:
    """Names of classes that depend on the function."""
    values = responses(X)
    cuts = np.quantile(values, np.arange(1, n_classes) / n_classes)
    return np.array(["blue", "green", "red"])[np.searchsorted(cuts, values)]


KERNELS = [Gaussian(2.0), Laplacian(3.0)]
MIXED = UniformCombination(
    [
        Product([Gaussian(2.0), Polynomial(2)]),
        OnColumns(Matern(1.5, nu=2.5), [0, 2]),
        RationalQuadratic([1.0, 2.0, 3.0], alpha=0.7),
        ExponentialPower(2.0, power=0.8, norm=1.5),
        Laplacian(2.0, norm=1.0),
        Matern(2.0, nu=0.5),
        Linear(),
    ]
)

REGRESSORS: dict[str, Callable[[], Any]] = {
    "two-stage": lambda: TwoStageRegressor(UniformCombination(KERNELS), alpha=[0.1]),
    "two-stage, scans": lambda: TwoStageRegressor(UniformCombination([Laplacian(2.0)]), alpha=0.1),
    "two-stage, every kernel": lambda: TwoStageRegressor(MIXED, alpha=0.1),
    "two-stage, projections": lambda: TwoStageRegressor(
        GradientOuterProduct(Gaussian(), n_iter=1, diagonal=False), alpha=0.1
    ),
    "two-stage, Nyström": lambda: TwoStageRegressor(
        UniformCombination(KERNELS), approximation="nystroem", n_components=30
    ),
    "stacking": lambda: KernelStackingRegressor([Gaussian(2.0), Laplacian(3.0, norm=1.0)]),
    "one-stage": lambda: MKLRegressor(KERNELS, alpha=0.1),
    "Bayesian": lambda: BayesianMKLRegressor(KERNELS, tol=1e-2),
}
"""Unfitted regressors."""

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "two-stage": lambda: TwoStageClassifier(UniformCombination(KERNELS), C=1.0),
    "two-stage, Nyström": lambda: TwoStageClassifier(
        UniformCombination(KERNELS), approximation="nystroem", n_components=30
    ),
    "stacking": lambda: KernelStackingClassifier([Gaussian(2.0), Laplacian(3.0, norm=1.0)]),
    "one-stage": lambda: MKLClassifier(KERNELS, C=1.0),
    "Bayesian": lambda: BayesianMKLClassifier(KERNELS, tol=0.1),
}
"""Unfitted classifiers."""

SUMS_OVER_CENTERS = [
    *(("regression", name) for name in REGRESSORS),
    *(("two classes", name) for name in CLASSIFIERS if name != "Bayesian"),
    *(("three classes", name) for name in ("two-stage, Nyström", "one-stage")),
]
"""Models whose function is a sum over centers; machines of more than two classes vote."""


@cache
def fitted(task: str, name: str) -> Any:
    """A fitted model; its training rows are the first of :func:`rows`."""
    X = rows()[:N]
    if task == "regression":
        return REGRESSORS[name]().fit(X, responses(X))
    return CLASSIFIERS[name]().fit(X, classes(X, 2 if task == "two classes" else 3))


TREES_OF = rows(300, seed=2)
"""Training rows of the stack with boosted trees."""


@cache
def tree_stack(*, n_outputs: int = 1) -> Any:
    """A stack with boosted trees of one or several responses."""
    y = responses(TREES_OF) + 2.0 * (TREES_OF[:, 0] > 0.3)
    model = KernelStackingRegressor(approximation="nystroem", n_components=60, max_samples=150)
    with patch("mercer._estimators.stacking.default_estimators._FEWEST_RESPONSES", 200):
        return model.fit(TREES_OF, y if n_outputs == 1 else np.column_stack([y, TREES_OF[:, 1]]))


@cache
def several_labels() -> Any:
    """A classifier of three labels, of which a row may have several."""
    X = rows()[:N]
    return MKLClassifier(KERNELS).fit(X, (X > 0.0).astype(int))

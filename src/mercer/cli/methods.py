"""The methods by their names on the command line, and the pipeline around each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from mercer._typing import Array, Features
from mercer.cli.errors import InputError, chosen
from mercer.cli.tables import Problem, Rows, Task, is_number
from mercer.kernels import Gaussian
from mercer.learners import (
    AlignmentMaximization,
    ContinuousAlignment,
    IndependentAlignment,
    KernelOptimization,
    UniformCombination,
)
from mercer.metrics import centered_alignment
from mercer.two_stage import C_GRID, TwoStageClassifier, TwoStageRegressor

LEARNERS: dict[str, tuple[str, Callable[[], BaseEstimator]]] = {
    "ca": ("searched widths", ContinuousAlignment),
    "ca-nd": (
        "searched, per feature",
        lambda: ContinuousAlignment(family=Gaussian(ard=True), penalty="auto"),
    ),
    "alignf": ("fixed, best weights", AlignmentMaximization),
    "align": ("fixed, own alignment", IndependentAlignment),
    "uniform": ("fixed, equal weights", UniformCombination),
    "hsic": ("one width, HSIC", lambda: KernelOptimization(criterion="hsic")),
    "cka": ("one width, alignment", lambda: KernelOptimization(criterion="cka")),
    "ka": ("one width, uncentred", lambda: KernelOptimization(criterion="ka")),
}
"""Each learner's name, how it finds its Gaussians' widths and weights, and how it is made."""

GRID = "grid"
"""The name of the yardstick: scikit-learn's RBF predictor, width and penalty by grid search."""

METHODS: dict[str, str] = {
    **{name: words for name, (words, _) in LEARNERS.items()},
    GRID: "RBF, grid search",
}
"""How each method finds its widths and weights, in a few words."""

_GAMMA_GRID: Array = 2.0 ** np.arange(-15, 4, 2)
_ALPHA_GRID: Array = 10.0 ** np.arange(-3, 4)
"""Of the grid search. Gamma is as the guide to libsvm has it, C as in two-stage learning; alpha is
coarser than there, where each value costs next to nothing."""


def method_names(given: str | None) -> list[str]:
    """Split a comma-separated list of methods; all of them where None.

    Raises
    ------
    InputError
        If the list is empty, or a name is unknown.
    """
    if given is None:
        return list(METHODS)
    names = [name.strip() for name in given.split(",") if name.strip()]
    if not names:
        raise InputError(f"no method was named; choose from {', '.join(METHODS)}")
    return list(dict.fromkeys(chosen("method", name, METHODS) for name in names))


def make_model(name: str, problem: Problem, rows: Rows, seed: int = 0) -> Pipeline:
    """Build the preparation of a table's columns, and a method's estimator behind it.

    Parameters
    ----------
    name : str
        A key of `METHODS`.
    problem : Problem
    rows : ndarray of int
        Positions of the rows to learn from: they bound the number of folds.
    seed : int, default=0
        For learners that draw at random.

    Returns
    -------
    Pipeline
        Unfitted.
    """
    chosen("method", name, METHODS)
    n_folds = _n_folds(problem, rows)
    if name == GRID:
        estimator = _grid_search(problem.task, n_folds)
    else:
        estimator = _two_stage(name, problem.task, n_folds, seed)
    return Pipeline([("columns", _preparation(problem)), ("model", estimator)])


def learned_alignment(model: Pipeline, X: Features, y: npt.NDArray[Any], task: Task) -> float:
    """Centred alignment of a fitted model's kernel with the target, on some samples.

    Parameters
    ----------
    model : fitted Pipeline of `make_model`
    X : DataFrame of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    task : {"classification", "regression"}

    Returns
    -------
    float
        In [0, 1] for a positive semi-definite kernel.
    """
    estimator, features = model[-1], np.asarray(model[:-1].transform(X))
    if hasattr(estimator, "best_params_"):
        gram = rbf_kernel(features, gamma=_grid_gamma(estimator.best_params_))
    else:
        gram = estimator.kernel_(features)
    return centered_alignment(gram, y, task=task)


def _n_folds(problem: Problem, rows: Rows) -> int:
    """Five folds, or as many as the largest class has rows: a stratified split takes no more."""
    largest = len(rows)
    if problem.task == "classification":
        largest = int(np.unique(problem.target[rows], return_counts=True)[1].max())
    return max(2, min(5, largest))


def _preparation(problem: Problem) -> ColumnTransformer:
    features = problem.features
    numbers = [name for name in features.columns if is_number(features[name])]
    categories = [name for name in features.columns if name not in numbers]
    # One-hot columns are called NAME_value: only a number of such a name makes prefixes needed.
    clash = any(number.startswith(f"{name}_") for name in categories for number in numbers)
    return ColumnTransformer(
        [
            (
                "numbers",
                make_pipeline(
                    SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
                ),
                numbers,
            ),
            (
                "categories",
                OneHotEncoder(handle_unknown="ignore", sparse_output=False),
                categories,
            ),
        ],
        verbose_feature_names_out=clash,
    ).set_output(transform="pandas")


def _two_stage(name: str, task: Task, n_folds: int, seed: int) -> BaseEstimator:
    learner = LEARNERS[name][1]()
    if "random_state" in learner.get_params(deep=False):
        learner.set_params(random_state=seed)
    two_stage = TwoStageClassifier if task == "classification" else TwoStageRegressor
    return two_stage(learner, cv=n_folds)


def _grid_search(task: Task, n_folds: int) -> GridSearchCV:
    if task == "classification":
        return GridSearchCV(SVC(), {"gamma": _GAMMA_GRID, "C": C_GRID}, cv=n_folds)
    # Kernel ridge has no intercept: a response of mean zero needs none.
    ridge = TransformedTargetRegressor(KernelRidge(kernel="rbf"), transformer=StandardScaler())
    grid = {"regressor__gamma": _GAMMA_GRID, "regressor__alpha": _ALPHA_GRID}
    return GridSearchCV(ridge, grid, cv=n_folds, scoring="neg_mean_squared_error")


def _grid_gamma(best: dict[str, Any]) -> float:
    return float(best["gamma"] if "gamma" in best else best["regressor__gamma"])

"""The methods by their names on the command line, and the pipeline around each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_classifier
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from mercer._cli.errors import InputError, chosen, listing
from mercer._cli.tables import Problem, Rows, Task, is_number
from mercer._learners import (
    AlignmentMaximization,
    ContinuousAlignment,
    HSICWeights,
    IndependentAlignment,
    KernelOptimization,
    UniformCombination,
)
from mercer._one_stage import (
    L1SVM,
    L2KRR,
    ContinuousMKLClassifier,
    ContinuousMKLRegressor,
    MKLClassifier,
    MKLRegressor,
)
from mercer._two_stage import C_GRID, TwoStageClassifier, TwoStageRegressor
from mercer._typing import Array, Features
from mercer.inspection._display import best_of
from mercer.kernels import Gaussian
from mercer.metrics import centered_alignment
from mercer.probabilistic import BayesianMKLClassifier, BayesianMKLRegressor

_GAMMA_GRID: Array = 2.0 ** np.arange(-15, 4, 2)
_ALPHA_GRID: Array = 10.0 ** np.arange(-3, 4)
"""Of the yardstick. Gamma is as the guide to libsvm has it, C as in two-stage learning; alpha is
coarser than there, where each value costs next to nothing."""

_ONE_STAGE_C: Array = 10.0 ** np.arange(-1, 3)
_ONE_STAGE_ALPHA: Array = 10.0 ** np.arange(1, -4, -1)
"""Of one-stage methods, where each value learns the kernel anew. On a dozen sets of a few hundred
rows, more regularization than this erred more, and less no less. Of equal values the first counts.
"""

_TOL = 1e-2
"""Of `cr`: a tenth of this costs several times as much and changes the error by its noise."""

_MOST_FOR_BAYES = 2000
"""Rows that `bayes` learns from at most: its time grows with their third power."""

Make: TypeAlias = Callable[[], BaseEstimator]
MakeWithFolds: TypeAlias = Callable[[int], BaseEstimator]


@dataclass(frozen=True)
class Method:
    """A way to a model.

    Attributes
    ----------
    words : str
        How it finds its Gaussians' widths and weights, in a few words.
    makers : mapping from {"classification", "regression"} to callable
        Makes the unfitted estimator for a number of folds; only for the tasks that it fits.
    most_rows : int or None
        Number of rows that it can learn from in reasonable time.
    """

    words: str
    makers: Mapping[Task, MakeWithFolds]
    most_rows: int | None = None


def _two_stage(words: str, learner: Callable[[], BaseEstimator | str]) -> Method:
    return Method(
        words,
        {
            "classification": lambda n_folds: TwoStageClassifier(learner(), cv=n_folds),
            "regression": lambda n_folds: TwoStageRegressor(learner(), cv=n_folds),
        },
    )


def _one_stage(
    words: str, *, classifier: Make | None = None, regressor: Make | None = None
) -> Method:
    makers: dict[Task, MakeWithFolds] = {}
    if classifier is not None:
        makers["classification"] = lambda n_folds: _search(
            classifier(), {"C": _ONE_STAGE_C}, n_folds
        )
    if regressor is not None:
        makers["regression"] = lambda n_folds: _search(
            regressor(), {"alpha": _ONE_STAGE_ALPHA}, n_folds
        )
    return Method(words, makers)


_FAILED = -1e9
"""Score of a regression that fails: worse than of any that does not."""


def _search(estimator: BaseEstimator, grid: dict[str, Array], n_folds: int) -> GridSearchCV:
    # A fold without a second class to learn from fails alike for all values, and decides nothing.
    worst = 0.0 if is_classifier(estimator) else _FAILED
    return GridSearchCV(estimator, grid, cv=n_folds, error_score=worst)


def _grid_svm(n_folds: int) -> GridSearchCV:
    return _search(SVC(), {"gamma": _GAMMA_GRID, "C": C_GRID}, n_folds)


def _grid_ridge(n_folds: int) -> GridSearchCV:
    # Kernel ridge has no intercept: a response of mean zero needs none.
    ridge = TransformedTargetRegressor(KernelRidge(kernel="rbf"), transformer=StandardScaler())
    grid = {"regressor__gamma": _GAMMA_GRID, "regressor__alpha": _ALPHA_GRID}
    return GridSearchCV(ridge, grid, cv=n_folds, scoring="neg_mean_squared_error")


METHODS: dict[str, Method] = {
    "ca": _two_stage("searched widths", ContinuousAlignment),
    "ca-nd": _two_stage(
        "searched, per feature",
        lambda: ContinuousAlignment(
            family=Gaussian(ard=True), width_penalty="auto", width_penalty_on="log_widths"
        ),
    ),
    "auto": _two_stage("per feature if better", lambda: "auto"),
    "alignf": _two_stage("fixed, best weights", AlignmentMaximization),
    "align": _two_stage("fixed, own alignment", IndependentAlignment),
    "hsic-w": _two_stage("fixed, own HSIC", HSICWeights),
    "uniform": _two_stage("fixed, equal weights", UniformCombination),
    "hsic": _two_stage("one width, HSIC", lambda: KernelOptimization(criterion="hsic")),
    "cka": _two_stage("one width, alignment", lambda: KernelOptimization(criterion="cka")),
    "ka": _two_stage("one width, uncentered", lambda: KernelOptimization(criterion="ka")),
    "mkl": _one_stage(
        "fixed, one-stage, l1",
        classifier=lambda: MKLClassifier(norm=1.0),
        regressor=lambda: MKLRegressor(norm=1.0),
    ),
    "mkl-2": _one_stage(
        "fixed, one-stage, l2",
        classifier=lambda: MKLClassifier(norm=2.0),
        regressor=lambda: MKLRegressor(norm=2.0),
    ),
    "cr": _one_stage(
        "searched, one-stage",
        classifier=lambda: ContinuousMKLClassifier(tol=_TOL),
        regressor=lambda: ContinuousMKLRegressor(tol=_TOL),
    ),
    "bayes": Method(
        "fixed, most probable",
        {
            "classification": lambda n_folds: BayesianMKLClassifier(),
            "regression": lambda n_folds: BayesianMKLRegressor(),
        },
        most_rows=_MOST_FOR_BAYES,
    ),
    "l1-svm": _one_stage("mkl, for classes", classifier=L1SVM),
    "l2-krr": _one_stage("mkl-2, for responses", regressor=L2KRR),
    "grid": Method("RBF, grid search", {"classification": _grid_svm, "regression": _grid_ridge}),
}
"""Each method by its name. The yardstick `grid` is scikit-learn's RBF predictor, its width and
penalty found by grid search."""

LEARNERS = tuple(name for name in METHODS if name != "grid")
"""Those that learn a kernel from several, or from a continuum."""

COMPARED = tuple(name for name in METHODS if name not in ("ca-nd", "l1-svm", "l2-krr"))
"""What is compared by default. `ca-nd` is among what `auto` chooses from, in the same time; the
others are names that papers give to two of these."""

DEMONSTRATED = tuple(name for name in COMPARED if name not in ("auto", "mkl", "cr"))
"""What a demonstration has time for: of one-stage methods, the fastest."""


def method_names(given: str | None) -> list[str]:
    """Split a comma-separated list of methods; `COMPARED` where None.

    Raises
    ------
    InputError
        If the list is empty, or a name is unknown.
    """
    if given is None:
        return list(COMPARED)
    names = [name.strip() for name in given.split(",") if name.strip()]
    if not names:
        raise InputError(f"no method was named; choose from {', '.join(METHODS)}")
    return list(dict.fromkeys(chosen("method", name, METHODS) for name in names))


def check_fit(names: Iterable[str], task: Task, options: Iterable[str] = METHODS) -> None:
    """Refuse methods that are not for a task.

    Parameters
    ----------
    names : iterable of str
        Keys of `METHODS`.
    task : {"classification", "regression"}
    options : iterable of str, default=METHODS
        Keys of `METHODS` that there are to choose from.

    Raises
    ------
    InputError
        Naming the methods.
    """
    others = [name for name in names if task not in METHODS[name].makers]
    if others:
        fit = [name for name in options if task in METHODS[name].makers]
        raise InputError(f"not for {task}: {listing(others)}; choose from {', '.join(fit)}")


def check_size(names: Iterable[str], n_rows: int) -> None:
    """Refuse methods that would take hours for so many rows.

    Parameters
    ----------
    names : iterable of str
        Keys of `METHODS`.
    n_rows : int
        Rows to learn from.

    Raises
    ------
    InputError
        Naming a method and what to do.
    """
    for name in names:
        most = METHODS[name].most_rows
        if most is not None and n_rows > most:
            raise InputError(
                f"{name} takes too long to learn from {n_rows:,} rows; try --max-rows {most}"
            )


def fitting_in(names: Iterable[str], n_rows: int) -> list[str]:
    """Those of the methods that learn from so many rows in reasonable time.

    Parameters
    ----------
    names : iterable of str
        Keys of `METHODS`.
    n_rows : int
    """
    return [name for name in names if n_rows <= (METHODS[name].most_rows or n_rows)]


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

    Raises
    ------
    InputError
        If there is no such method, or it is not for the problem's task.
    """
    check_fit([chosen("method", name, METHODS)], problem.task)
    estimator = METHODS[name].makers[problem.task](_n_folds(problem, rows))
    if "learner__random_state" in estimator.get_params():
        estimator.set_params(learner__random_state=seed)
    return Pipeline([("columns", _preparation(problem)), ("model", estimator)])


def learned_alignment(model: Pipeline, X: Features, y: npt.NDArray[Any], task: Task) -> float:
    """Centered alignment of a fitted model's kernel with the target, on some samples.

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
    estimator, features = best_of(model[-1]), np.asarray(model[:-1].transform(X))
    if hasattr(estimator, "kernel_"):
        gram = estimator.kernel_(features)
    else:
        gram = rbf_kernel(features, gamma=_grid_gamma(model[-1].best_params_))
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


def _grid_gamma(best: dict[str, Any]) -> float:
    return float(best["gamma"] if "gamma" in best else best["regressor__gamma"])

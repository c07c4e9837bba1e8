"""The methods by their names on the command line, and the pipelines that they are part of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

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
from mercer._stacking import KernelStackingClassifier, KernelStackingRegressor
from mercer._two_stage import C_GRID, TwoStageClassifier, TwoStageRegressor
from mercer._typing import Array, Features
from mercer.inspection._display import best_of
from mercer.kernels import Gaussian
from mercer.metrics import centered_alignment
from mercer.probabilistic import BayesianMKLClassifier, BayesianMKLRegressor
from mercer_command.encoding import problem_encoder, table_reader
from mercer_command.errors import InputError, checked_name
from mercer_command.option_names import COMPARED, DESCRIPTIONS, LEARNERS
from mercer_command.problem import Problem, Rows, Task
from mercer_command.shown_names import listing

_GAMMA_GRID: Array = 2.0 ** np.arange(-15, 4, 2)
"""`grid` chooses gamma from these values, which the guide to LIBSVM recommends."""

_ALPHA_GRID: Array = 10.0 ** np.arange(-3, 4)
"""`grid` chooses the penalty of kernel ridge regression from these values. They are fewer than in
two-stage learning, because each of them costs a fit per fold."""

_ONE_STAGE_C: Array = 10.0 ** np.arange(-1, 3)
"""One-stage classifiers choose C from these values, few because each learns the kernel anew. On a
dozen sets of a few hundred rows, smaller values increased the error and larger ones did not reduce
it. Of equally good values, the first is chosen."""

_ONE_STAGE_ALPHA: Array = 10.0 ** np.arange(1, -4, -1)
"""One-stage regressors choose alpha from these values, for the same reasons."""

_CR_TOL = 1e-2
"""The tolerance of `cr`: a tenth of it takes several times as long, and changes the error by less
than it varies between splits."""

_BAYES_MAX_ROWS = 2000
"""`bayes` learns from at most this many rows, because its time grows with their third power."""

_EXACT_MAX_ROWS = 10_000
"""One-stage learning and `grid` learn from at most this many rows, because they have Gram matrices
of all of them in memory."""

_ALIGNED_ROWS = 2000
"""The alignment of a kernel with the target is computed on at most this many rows."""

_FAILED_SCORE = -1e9
"""The score of a regression that fails in a search; it is lower than that of any that succeeds."""

Factory: TypeAlias = Callable[[], BaseEstimator]
FactoryWithFolds: TypeAlias = Callable[[int], BaseEstimator]


@dataclass(frozen=True)
class Method:
    """A method that the command offers.

    Attributes
    ----------
    description : str
        A few words on how it finds kernels, their widths and their weights.
    factories : mapping from {"classification", "regression"} to callable
        For each task that it supports, a function that makes the unfitted estimator for a number of
        folds.
    max_rows : int or None
        The largest number of rows that it can learn from in reasonable time; None if any.
    """

    description: str
    factories: Mapping[Task, FactoryWithFolds]
    max_rows: int | None = None


def _two_stage(description: str, learner: Callable[[], BaseEstimator | str]) -> Method:
    return Method(
        description,
        {
            "classification": lambda n_folds: TwoStageClassifier(learner()),
            "regression": lambda n_folds: TwoStageRegressor(learner()),
        },
    )


def _one_stage(
    description: str, *, classifier: Factory | None = None, regressor: Factory | None = None
) -> Method:
    factories: dict[Task, FactoryWithFolds] = {}
    if classifier is not None:
        factories["classification"] = lambda n_folds: _search(
            classifier(), {"C": _ONE_STAGE_C}, n_folds
        )
    if regressor is not None:
        factories["regression"] = lambda n_folds: _search(
            regressor(), {"alpha": _ONE_STAGE_ALPHA}, n_folds
        )
    return Method(description, factories, max_rows=_EXACT_MAX_ROWS)


def _search(estimator: BaseEstimator, grid: dict[str, Array], n_folds: int) -> GridSearchCV:
    # A fold with one class only fails for all values, so that it does not influence the choice.
    worst = 0.0 if is_classifier(estimator) else _FAILED_SCORE
    return GridSearchCV(estimator, grid, cv=n_folds, error_score=worst)


def _grid_svm(n_folds: int) -> GridSearchCV:
    return _search(SVC(), {"gamma": _GAMMA_GRID, "C": C_GRID}, n_folds)


def _grid_ridge(n_folds: int) -> GridSearchCV:
    # Kernel ridge regression has no intercept, and a response of mean zero needs none.
    ridge = TransformedTargetRegressor(KernelRidge(kernel="rbf"), transformer=StandardScaler())
    grid = {"regressor__gamma": _GAMMA_GRID, "regressor__alpha": _ALPHA_GRID}
    return GridSearchCV(ridge, grid, cv=n_folds, scoring="neg_mean_squared_error")


METHODS: dict[str, Method] = {
    "stacking": Method(
        DESCRIPTIONS["stacking"],
        {
            "classification": lambda n_folds: KernelStackingClassifier(),
            "regression": lambda n_folds: KernelStackingRegressor(),
        },
    ),
    "ca": _two_stage(DESCRIPTIONS["ca"], ContinuousAlignment),
    "ca-nd": _two_stage(
        DESCRIPTIONS["ca-nd"],
        lambda: ContinuousAlignment(
            family=Gaussian(ard=True), width_penalty="auto", width_penalty_on="log_widths"
        ),
    ),
    "auto": _two_stage(DESCRIPTIONS["auto"], lambda: "auto"),
    "alignf": _two_stage(DESCRIPTIONS["alignf"], AlignmentMaximization),
    "align": _two_stage(DESCRIPTIONS["align"], IndependentAlignment),
    "hsic-w": _two_stage(DESCRIPTIONS["hsic-w"], HSICWeights),
    "uniform": _two_stage(DESCRIPTIONS["uniform"], UniformCombination),
    "hsic": _two_stage(DESCRIPTIONS["hsic"], lambda: KernelOptimization(criterion="hsic")),
    "cka": _two_stage(DESCRIPTIONS["cka"], lambda: KernelOptimization(criterion="cka")),
    "ka": _two_stage(DESCRIPTIONS["ka"], lambda: KernelOptimization(criterion="ka")),
    "mkl": _one_stage(
        DESCRIPTIONS["mkl"],
        classifier=lambda: MKLClassifier(norm=1.0),
        regressor=lambda: MKLRegressor(norm=1.0),
    ),
    "mkl-2": _one_stage(
        DESCRIPTIONS["mkl-2"],
        classifier=lambda: MKLClassifier(norm=2.0),
        regressor=lambda: MKLRegressor(norm=2.0),
    ),
    "cr": _one_stage(
        DESCRIPTIONS["cr"],
        classifier=lambda: ContinuousMKLClassifier(tol=_CR_TOL),
        regressor=lambda: ContinuousMKLRegressor(tol=_CR_TOL),
    ),
    "bayes": Method(
        DESCRIPTIONS["bayes"],
        {
            "classification": lambda n_folds: BayesianMKLClassifier(),
            "regression": lambda n_folds: BayesianMKLRegressor(),
        },
        max_rows=_BAYES_MAX_ROWS,
    ),
    "l1-svm": _one_stage(DESCRIPTIONS["l1-svm"], classifier=L1SVM),
    "l2-krr": _one_stage(DESCRIPTIONS["l2-krr"], regressor=L2KRR),
    "grid": Method(
        DESCRIPTIONS["grid"],
        {"classification": _grid_svm, "regression": _grid_ridge},
        max_rows=_EXACT_MAX_ROWS,
    ),
}
"""Each method by its name. `grid` is the baseline: scikit-learn's predictor with an RBF kernel, and
a grid search for its width and penalty."""


def method_names(given: str | None) -> list[str]:
    """Split a comma-separated list of methods; None stands for `COMPARED`.

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
    return list(dict.fromkeys(checked_name("method", name, METHODS) for name in names))


def check_fit(names: Iterable[str], task: Task, options: Iterable[str] = METHODS) -> None:
    """Check that methods support a task.

    Parameters
    ----------
    names : iterable of str
        Keys of `METHODS`.
    task : {"classification", "regression"}
    options : iterable of str, default=METHODS
        Keys of `METHODS` that the message suggests.

    Raises
    ------
    InputError
        If some do not; the message names them.
    """
    unsuitable = [name for name in names if task not in METHODS[name].factories]
    if unsuitable:
        suitable = ", ".join(name for name in options if task in METHODS[name].factories)
        raise InputError(f"not for {task}: {listing(unsuitable)}; choose from {suitable}")


def check_size(names: Iterable[str], n_rows: int) -> None:
    """Check that no method would take hours for a number of rows.

    Parameters
    ----------
    names : iterable of str
        Keys of `METHODS`.
    n_rows : int
        Number of rows to learn from.

    Raises
    ------
    InputError
        If one would; the message names it.
    """
    for name in names:
        max_rows = METHODS[name].max_rows
        if max_rows is not None and n_rows > max_rows:
            raise InputError(
                f"{name} takes too long to learn from {n_rows:,} rows; it is for at most "
                f"{max_rows:,}"
            )


def check_streamed(name: str) -> None:
    """Check that a method learns from tables that are read in parts.

    Parameters
    ----------
    name : str
        A key of `METHODS`.

    Raises
    ------
    InputError
        If it needs all rows in memory.
    """
    if METHODS[name].max_rows is not None:
        able = ", ".join(other for other in LEARNERS if METHODS[other].max_rows is None)
        raise InputError(f"{name} needs all rows in memory; for this table, choose from {able}")


def feasible(names: Iterable[str], n_rows: int) -> list[str]:
    """Return the methods that learn from a number of rows in reasonable time.

    Parameters
    ----------
    names : iterable of str
        Keys of `METHODS`.
    n_rows : int
    """
    return [name for name in names if n_rows <= (METHODS[name].max_rows or n_rows)]


def make_model(name: str, problem: Problem, rows: Rows, seed: int = 0) -> Pipeline:
    """Make a pipeline of the preparation of a table's columns and a method's estimator.

    Parameters
    ----------
    name : str
        A key of `METHODS`.
    problem : Problem
    rows : ndarray of int
        Positions of the rows to learn from, which bound the number of folds.
    seed : int, default=0
        Seed of learners that draw random numbers.

    Returns
    -------
    Pipeline
        Unfitted.

    Raises
    ------
    InputError
        If there is no such method, or it does not support the problem's task.
    """
    check_fit([checked_name("method", name, METHODS)], problem.task)
    estimator = METHODS[name].factories[problem.task](_n_folds(problem, rows))
    if name == "stacking":
        estimator.set_params(random_state=seed)
    elif "learner__random_state" in estimator.get_params():
        estimator.set_params(learner__random_state=seed)
    return Pipeline(
        [
            ("reader", table_reader(problem)),
            ("columns", problem_encoder(problem, rows, seed)),
            ("model", estimator),
        ]
    )


def learned_alignment(model: Pipeline, X: Features, y: npt.NDArray[Any], task: Task) -> float:
    """Compute the centered alignment of a fitted model's kernel with the target.

    Parameters
    ----------
    model : fitted Pipeline of `make_model`
    X : DataFrame of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    task : {"classification", "regression"}

    Returns
    -------
    float
        A number from 0 to 1 for a positive semi-definite kernel. For a stack, that of the weighted
        sum of its kernels. Of more than 2,000 rows, so many are drawn.
    """
    if len(y) > _ALIGNED_ROWS:
        drawn = np.sort(np.random.default_rng(0).permutation(len(y))[:_ALIGNED_ROWS])
        X, y = X.iloc[drawn], y[drawn]
    estimator, features = best_of(model[-1]), model[:-1].transform(X)
    if hasattr(estimator, "learned_gram"):
        gram = estimator.learned_gram(np.asarray(features))
    else:
        gram = rbf_kernel(np.asarray(features), gamma=_grid_gamma(model[-1].best_params_))
    return centered_alignment(gram, y, task=task)


def _n_folds(problem: Problem, rows: Rows) -> int:
    """Return five, or the size of the largest class, which stratified folds cannot exceed."""
    largest = len(rows)
    if problem.task == "classification":
        largest = int(np.unique(problem.target[rows], return_counts=True)[1].max())
    return max(2, min(5, largest))


def _grid_gamma(best: dict[str, Any]) -> float:
    return float(best["gamma"] if "gamma" in best else best["regressor__gamma"])

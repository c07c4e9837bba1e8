"""Methods by their names on the command line, and checks of whether they suit a problem."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.validation import has_fit_parameter

import mercer
from mercer.kernels import Gaussian
from mercer_command.messages import InputError, checked_name, listing
from mercer_command.names import CLASS_METRICS, COMPARED, KINDS, LEARNERS, RESPONSE_METRICS
from mercer_command.problem import Problem
from mercer_command.target_column import Task
from mercer_command.values import Array

_EXACT_ROWS = 10_000
"""Largest number of rows for one-stage learning and `grid`, which keep Gram matrices of all rows in
memory, for each kernel and fold."""

_GRADED_ROWS = 5_000
"""Largest number of rows for learning grades and counts. A fit with its report takes up to two
minutes on one processor and 0.9 GB of memory. With twice the rows, it takes eight times as long."""

_ONE_STAGE_GRIDS: dict[str, dict[str, Array]] = {
    "classification": {"C": 10.0 ** np.arange(-1, 3)},
    "regression": {"alpha": 10.0 ** np.arange(1, -4, -1)},
}
"""Values that one-stage learning tries. They are few, because the kernel is learned anew for each.
On a dozen data sets of a few hundred rows, smaller values of C increased the error, and larger
ones did not reduce it. Among equally good values, the first is chosen."""

_WIDTHS = 2.0 ** np.arange(-15, 4, 2)
"""Inverse squared widths that `grid` tries."""

_RBF_GRIDS: dict[str, dict[str, Array]] = {
    "classification": {"gamma": _WIDTHS, "C": 2.0 ** np.arange(-5, 16, 2)},
    "regression": {"regressor__gamma": _WIDTHS, "regressor__alpha": 10.0 ** np.arange(-3, 4)},
}
"""Values that `grid` tries, as in the guide to LIBSVM (Hsu, Chang, Lin 2003)."""


@dataclass(frozen=True)
class Method:
    """A method that the command offers.

    Attributes
    ----------
    makers : mapping from {"classification", "regression"} to callable
        For each task that it supports, a function that makes the unfitted estimator.
    grids : mapping from {"classification", "regression"} to dict
        Parameters that are chosen by cross-validation, and the values that are tried.
    max_rows : int or None
        Largest number of rows that it can learn from in reasonable time; None if unlimited.
    """

    makers: Mapping[Task, Callable[[], BaseEstimator]]
    grids: Mapping[str, dict[str, Array]] = field(default_factory=dict)
    max_rows: int | None = None

    def estimator(self, task: Task, n_folds: int) -> BaseEstimator:
        """Make the unfitted estimator, inside a grid search if the method has a grid."""
        made = self.makers[task]()
        if task not in self.grids:
            return made
        # A fold in which all values fail, such as one of a single class, does not influence the
        # choice, because it gets the score of wrong labels, or of a constant response.
        return GridSearchCV(made, self.grids[task], cv=n_folds, error_score=0.0)


def _method(
    classifier: Callable[[], BaseEstimator] | None = None,
    regressor: Callable[[], BaseEstimator] | None = None,
    grids: Mapping[str, dict[str, Array]] | None = None,
    max_rows: int | None = None,
) -> Method:
    makers = {"classification": classifier, "regression": regressor}
    known: Any = {task: made for task, made in makers.items() if made is not None}
    return Method(known, grids or {}, max_rows)


def _two_stage(learner: Callable[..., BaseEstimator], **settings: object) -> Method:
    return _method(
        lambda: mercer.TwoStageClassifier(learner(**settings)),
        lambda: mercer.TwoStageRegressor(learner(**settings)),
    )


def _one_stage(
    classifier: Callable[..., BaseEstimator],
    regressor: Callable[..., BaseEstimator],
    **settings: object,
) -> Method:
    makers = (partial(classifier, **settings), partial(regressor, **settings))
    return _method(*makers, _ONE_STAGE_GRIDS, _EXACT_ROWS)


def _scaled_ridge() -> BaseEstimator:
    """Return kernel ridge regression, without an intercept, of the standardized response."""
    return TransformedTargetRegressor(KernelRidge(kernel="rbf"), transformer=StandardScaler())


def _of_package(package: str, prefix: str, **settings: object) -> Method:
    """Return a method of a package that may not be installed."""

    def made(kind: str) -> BaseEstimator:
        return getattr(import_module(package), f"{prefix}{kind}")(**settings)

    return _method(partial(made, "Classifier"), partial(made, "Regressor"))


def is_installed(name: str) -> bool:
    """Return whether the package that a method belongs to is installed.

    Parameters
    ----------
    name : str
        A key of `METHODS`.
    """
    return name not in ("lightgbm", "catboost") or find_spec(name) is not None


METHODS: dict[str, Method] = {
    "stacking": _method(mercer.KernelStackingClassifier, mercer.KernelStackingRegressor),
    "ca": _two_stage(mercer.ContinuousAlignment),
    "ca-nd": _two_stage(
        mercer.ContinuousAlignment,
        family=Gaussian(ard=True),
        width_penalty="auto",
        width_penalty_on="log_widths",
    ),
    "auto": _two_stage(lambda: "auto"),
    "alignf": _two_stage(mercer.AlignmentMaximization),
    "align": _two_stage(mercer.IndependentAlignment),
    "hsic-w": _two_stage(mercer.HSICWeights),
    "uniform": _two_stage(mercer.UniformCombination),
    "hsic": _two_stage(mercer.KernelOptimization, criterion="hsic"),
    "cka": _two_stage(mercer.KernelOptimization, criterion="cka"),
    "ka": _two_stage(mercer.KernelOptimization, criterion="ka"),
    "mkl": _one_stage(mercer.MKLClassifier, mercer.MKLRegressor, norm=1.0),
    "mkl-2": _one_stage(mercer.MKLClassifier, mercer.MKLRegressor, norm=2.0),
    # A tenth of the tolerance takes several times as long, and changes the error by less than the
    # error varies between splits.
    "cr": _one_stage(mercer.ContinuousMKLClassifier, mercer.ContinuousMKLRegressor, tol=1e-2),
    # The time of a fit grows with the cube of the number of rows.
    "bayes": _method(mercer.BayesianMKLClassifier, mercer.BayesianMKLRegressor, max_rows=2000),
    "l1-svm": _method(mercer.L1SVM, None, _ONE_STAGE_GRIDS, _EXACT_ROWS),
    "l2-krr": _method(None, mercer.L2KRR, _ONE_STAGE_GRIDS, _EXACT_ROWS),
    # Each fit inverts a few dozen matrices with one row and one column per training row.
    "ordinal": _method(mercer.KernelOrdinalClassifier, max_rows=_GRADED_ROWS),
    "count": _method(regressor=mercer.KernelPoissonRegressor, max_rows=_GRADED_ROWS),
    "grid": _method(SVC, _scaled_ridge, _RBF_GRIDS, _EXACT_ROWS),
    "linear": _method(partial(LogisticRegression, max_iter=1000), Ridge),
    "boosting": _method(HistGradientBoostingClassifier, HistGradientBoostingRegressor),
    "forest": _method(RandomForestClassifier, RandomForestRegressor),
    "lightgbm": _of_package("lightgbm", "LGBM", verbosity=-1, n_jobs=1),
    "catboost": _of_package("catboost", "CatBoost", verbose=False, allow_writing_files=False),
}
"""The methods by name. `grid` is scikit-learn's predictor with an RBF kernel, and a grid search
chooses its width and penalty. The methods after it have the default settings of their packages."""


def method_names(given: str | None) -> list[str]:
    """Split a comma-separated list of methods; None stands for `COMPARED`.

    Raises
    ------
    InputError
        If the list is empty, a name is unknown, or a package is not installed.
    """
    if given is None:
        return [name for name in COMPARED if is_installed(name)]
    names = [name.strip() for name in given.split(",") if name.strip()]
    if not names:
        raise InputError(f"no method was named; choose from {', '.join(METHODS)}")
    names = list(dict.fromkeys(checked_name("method", name, METHODS) for name in names))
    if absent := [name for name in names if not is_installed(name)]:
        raise InputError(f"{absent[0]} is not installed; install it with pip install {absent[0]}")
    return names


def takes(estimator: BaseEstimator, kind: str) -> bool:
    """Return whether the fit of an estimator takes groups, or the estimator takes ordered folds.

    Parameters
    ----------
    estimator : estimator
    kind : {"groups", "cv"}
    """
    if kind == "groups":
        return bool(has_fit_parameter(estimator, "groups"))
    return "cv" in estimator.get_params(deep=False) and not isinstance(estimator, GridSearchCV)


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
        If some methods do not support the task. The message names them.
    """
    unsuitable = [name for name in names if task not in METHODS[name].makers]
    if unsuitable:
        suitable = ", ".join(name for name in options if task in METHODS[name].makers)
        raise InputError(f"not for {task}: {listing(unsuitable)}; choose from {suitable}")


def check_size(names: Iterable[str], n_rows: int) -> None:
    """Check that no method would take hours to learn from a number of rows.

    Parameters
    ----------
    names : iterable of str
        Keys of `METHODS`.
    n_rows : int
        Number of rows to learn from.

    Raises
    ------
    InputError
        If a method would take hours. The message names it.
    """
    for name in names:
        if not feasible([name], n_rows):
            other = f"; --task {KINDS[name]} learns from more" if name in KINDS else ""
            raise InputError(
                f"{name} takes too long to learn from {n_rows:,} rows; it is for at most "
                f"{METHODS[name].max_rows:,}{other}"
            )


def check_division(name: str, problem: Problem) -> None:
    """Check that the fit of a method can leave out whole groups, or later rows, if needed.

    Parameters
    ----------
    name : str
        A key of `METHODS`.
    problem : Problem

    Raises
    ------
    InputError
        If the problem has groups or times that the method does not take.
    """
    for has, kind in ((problem.groups is not None, "groups"), (problem.times is not None, "cv")):
        able = [n for n in LEARNERS if problem.task in METHODS[n].makers]
        able = [n for n in able if takes(METHODS[n].estimator(problem.task, 2), kind)]
        if has and name not in able:
            what = "groups" if kind == "groups" else "times"
            raise InputError(f"{name} takes no {what}; choose from {', '.join(able)}")


def check_metric(name: str | None, problem: Problem) -> None:
    """Raise an `InputError` if a score does not suit the problem."""
    if name is None:
        return
    names = CLASS_METRICS if problem.task == "classification" else RESPONSE_METRICS
    checked_name(f"metric of {problem.task}", name, names)
    if reason := why_undefined(name, problem.target):
        raise InputError(reason)


def why_undefined(name: str, y: Array) -> str:
    """Return the reason why a score is undefined for targets; empty if it is defined.

    Parameters
    ----------
    name : str
        A score for targets of this task.
    y : ndarray of shape (n_rows,)
    """
    is_numeric = y.dtype.kind in "iuf"
    if name == "roc_auc" and np.unique(y).size != 2:
        return "roc_auc is for two classes; balanced_accuracy is for more"
    if name == "mae" and not is_numeric:
        return "mae is for classes that are numbers"
    if name == "poisson_deviance" and not (is_numeric and (y >= 0.0).all()):
        return "poisson_deviance is for counts, which are not negative"
    if name == "log_rmse" and not (is_numeric and (y > 0.0).all()):
        return "log_rmse is for positive responses"
    if name == "r2" and not np.ptp(y):
        return "R² is for responses that differ"
    return ""


def check_streamed(name: str) -> None:
    """Raise an `InputError` if a method needs all rows in memory."""
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

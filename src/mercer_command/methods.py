"""The methods that `mercer fit` and `mercer compare` offer: one table, and what they suit.

Packages are imported when a method is made, so that help is fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

import mercer
from mercer_command.messages import InputError, checked_name
from mercer_command.names import CLASS_METRICS, KINDS, RESPONSE_METRICS

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from mercer_command.problem import Problem
    from mercer_command.target_column import Task
    from mercer_command.values import Array

Maker: TypeAlias = "Callable[[], BaseEstimator]"
"""Function that makes an unfitted estimator."""

_EXACT_ROWS = 10_000
"""Largest number of rows for one-stage learning and `grid`, which keep Gram matrices of all rows in
memory, for each kernel and fold."""

_GRADED_ROWS = 5_000
"""Largest number of rows for learning grades and counts. A fit with its report takes up to two
minutes on one processor and 0.9 GB of memory. With twice the rows, it takes eight times as long."""


@dataclass(frozen=True)
class Method:
    """A method that the command offers.

    Attributes
    ----------
    description : str
        A few words on how it finds kernels, their widths and their weights.
    makers : mapping from {"classification", "regression"} to callable
        For each task that it supports, a function that makes the unfitted estimator.
    max_rows : int or None
        Largest number of rows that it can learn from in reasonable time; None if unlimited.
    learns : bool
        Whether it learns a kernel, so that `mercer fit` offers it.
    """

    description: str
    makers: Mapping[Task, Maker]
    max_rows: int | None = None
    learns: bool = True


def _made(module: str, name: str, **settings: object) -> Maker:
    return lambda: getattr(import_module(module), name)(**settings)


def _pair(module: str, stem: str, **settings: object) -> dict[Task, Maker]:
    """Return the makers of a classifier and a regressor whose names begin with the same words."""
    return {
        "classification": _made(module, f"{stem}Classifier", **settings),
        "regression": _made(module, f"{stem}Regressor", **settings),
    }


def _two_stage(name: str, **settings: object) -> dict[Task, Maker]:
    """Return the makers of predictors on the kernel that a learner finds."""
    learner = _made("mercer", name, **settings)
    return {
        "classification": lambda: mercer.TwoStageClassifier(learner()),
        "regression": lambda: mercer.TwoStageRegressor(learner()),
    }


def _searched(maker: Maker, **grid: list[float]) -> Maker:
    """Return the maker of an estimator whose parameters are chosen by cross-validation."""

    def made() -> BaseEstimator:
        search = import_module("sklearn.model_selection").GridSearchCV
        # A fold in which all values fail, such as one of a single class, does not influence the
        # choice, because it gets the score of wrong labels, or of a constant response.
        return search(maker(), grid, cv=5, error_score=0.0)

    return made


def _one_stage(description: str, stem: str, **settings: object) -> Method:
    """Return a method that learns the kernel anew for each of a few penalties.

    On a dozen data sets of a few hundred rows, smaller values of C increased the error, and larger
    ones did not reduce it. Among equally good values, the first is chosen.
    """
    one, other = _pair("mercer", stem, **settings).values()
    makers: dict[Task, Maker] = {
        "classification": _searched(one, C=[0.1, 1.0, 10.0, 100.0]),
        "regression": _searched(other, alpha=[10.0, 1.0, 0.1, 0.01, 0.001]),
    }
    return Method(description, makers, _EXACT_ROWS)


def _rbf_search() -> dict[Task, Maker]:
    """Return the makers of scikit-learn's predictors with an RBF kernel.

    The values that are tried are those of the guide to LIBSVM (Hsu, Chang, Lin 2003). Kernel ridge
    regression has no intercept, and predicts the standardized response.
    """
    widths = [2.0**k for k in range(-15, 4, 2)]
    penalties = [2.0**k for k in range(-5, 16, 2)]
    ridge = {"regressor__gamma": widths, "regressor__alpha": [10.0**k for k in range(-3, 4)]}

    def scaled() -> BaseEstimator:
        from sklearn.compose import TransformedTargetRegressor
        from sklearn.kernel_ridge import KernelRidge
        from sklearn.preprocessing import StandardScaler

        return TransformedTargetRegressor(KernelRidge(kernel="rbf"), transformer=StandardScaler())

    return {
        "classification": _searched(_made("sklearn.svm", "SVC"), gamma=widths, C=penalties),
        "regression": _searched(scaled, **ridge),
    }


METHODS = {
    "stacking": Method("predictions combined", _pair("mercer", "KernelStacking")),
    "linear": Method(
        "ridge, or logistic",
        {
            "classification": _made("sklearn.linear_model", "LogisticRegression", max_iter=1000),
            "regression": _made("sklearn.linear_model", "Ridge"),
        },
        learns=False,
    ),
    "boosting": Method(
        "boosted trees", _pair("sklearn.ensemble", "HistGradientBoosting"), learns=False
    ),
    "forest": Method("random forest", _pair("sklearn.ensemble", "RandomForest"), learns=False),
    "ca": Method("searched widths", _two_stage("ContinuousAlignment")),
    "alignf": Method("fixed, max alignment", _two_stage("AlignmentMaximization")),
    "align": Method("fixed, own alignment", _two_stage("IndependentAlignment")),
    "hsic-w": Method("fixed, own HSIC", _two_stage("HSICWeights")),
    "uniform": Method("fixed, equal weights", _two_stage("UniformCombination")),
    "hsic": Method("one width, HSIC", _two_stage("KernelOptimization", criterion="hsic")),
    "cka": Method("one width, alignment", _two_stage("KernelOptimization", criterion="cka")),
    "ka": Method("one width, uncentered", _two_stage("KernelOptimization", criterion="ka")),
    "auto": Method("per feature if better", _pair("mercer", "TwoStage", learner="auto")),
    # Each fit inverts a few dozen matrices with one row and one column per training row.
    "ordinal": Method(
        "ordered grades",
        {"classification": _made("mercer", "KernelOrdinalClassifier")},
        _GRADED_ROWS,
    ),
    "count": Method(
        "Poisson regression",
        {"regression": _made("mercer", "KernelPoissonRegressor")},
        _GRADED_ROWS,
    ),
    # The time of a fit grows with the cube of the number of rows.
    "bayes": Method("fixed, evidence", _pair("mercer", "BayesianMKL"), 2000),
    "mkl": _one_stage("fixed, one-stage, l1", "MKL", norm=1.0),
    "mkl-2": _one_stage("fixed, one-stage, l2", "MKL", norm=2.0),
    # A tenth of the tolerance takes several times as long, and changes the error by less than the
    # error varies between splits.
    "cr": _one_stage("searched, one-stage", "ContinuousMKL", tol=1e-2),
    "grid": Method("RBF, grid search", _rbf_search(), _EXACT_ROWS, learns=False),
}
"""The methods by name, in the order in which they are compared. `grid` is scikit-learn's predictor
with an RBF kernel, and a grid search chooses its width and penalty. The other methods that learn no
kernel have the default settings of their packages."""

COMPARED = tuple(name for name in METHODS if name not in KINDS)
"""The methods that `mercer compare` compares by default: all but those for grades and counts."""

LEARNERS = tuple(name for name in COMPARED if METHODS[name].learns)
"""The methods that `--learner` names; those for grades and counts belong to `--task`."""


def method_names(given: str) -> list[str]:
    """Split a comma-separated list of methods.

    Raises
    ------
    InputError
        If the list is empty, or a name is unknown.
    """
    names = [name.strip() for name in given.split(",") if name.strip()]
    if not names:
        raise InputError(f"no method was named; choose from {', '.join(METHODS)}")
    return list(dict.fromkeys(checked_name("method", name, METHODS) for name in names))


def takes(estimator: BaseEstimator, kind: str) -> bool:
    """Return whether the fit of an estimator takes groups, or the estimator takes ordered folds.

    Parameters
    ----------
    estimator : estimator
    kind : {"groups", "times"}
    """
    from sklearn.model_selection import GridSearchCV
    from sklearn.utils.validation import has_fit_parameter

    if kind == "groups":
        return bool(has_fit_parameter(estimator, "groups"))
    return "cv" in estimator.get_params(deep=False) and not isinstance(estimator, GridSearchCV)


def unsuitable(name: str, problem: Problem, n_rows: int, *, is_fit: bool = False) -> str:
    """Return the reason why a method cannot learn from a problem; empty if it can.

    Parameters
    ----------
    name : str
        A key of `METHODS`.
    problem : Problem
    n_rows : int
        Number of rows to learn from.
    is_fit : bool, default=False
        Whether its fit must leave out whole groups, or later rows, if the problem has them.
    """
    method = METHODS[name]
    if problem.task not in method.makers:
        return f"{name} is not for {problem.task}"
    if method.max_rows and problem.n_rows is not None:  # The table is read in parts.
        return f"{name} needs all rows in memory"
    if n_rows > (method.max_rows or n_rows):
        other = f"; --task {KINDS[name]} learns from more" if name in KINDS else ""
        most = f"it is for at most {method.max_rows:,}{other}"
        return f"{name} takes too long to learn from {n_rows:,} rows; {most}"
    kinds = {"groups": problem.groups, "times": problem.times} if is_fit else {}
    for kind, rows in kinds.items():
        if rows is not None and not takes(method.makers[problem.task](), kind):
            return f"{name} takes no {kind}"
    return ""


def check_methods(
    names: Iterable[str], problem: Problem, n_rows: int, *, is_fit: bool = False
) -> None:
    """Raise an `InputError` if a method cannot learn from a problem; see `unsuitable`."""
    offered = LEARNERS if is_fit else METHODS
    for name in names:
        if reason := unsuitable(name, problem, n_rows, is_fit=is_fit):
            able = [one for one in offered if not unsuitable(one, problem, n_rows, is_fit=is_fit)]
            raise InputError(f"{reason}; choose from {', '.join(able)}")


def check_metric(name: str | None, problem: Problem) -> None:
    """Raise an `InputError` if a score does not suit the problem."""
    if name is None:
        return
    names = CLASS_METRICS if problem.task == "classification" else RESPONSE_METRICS
    checked_name(f"metric of {problem.task}", name, names)
    if reason := why_undefined(name, problem.target, is_graded=problem.kind == "ordinal"):
        raise InputError(reason)


def why_undefined(name: str, y: Array, *, is_graded: bool) -> str:
    """Return the reason why a score is undefined for targets; empty if it is defined.

    Parameters
    ----------
    name : str
        A score for targets of this task.
    y : ndarray of shape (n_rows,)
    is_graded : bool
        Whether classes have an order.
    """
    is_numeric = y.dtype.kind in "iuf"
    if name == "roc_auc" and len(set(y.tolist())) != 2:
        return "roc_auc is for two classes; balanced_accuracy is for more"
    if name == "mae" and not (is_numeric or is_graded):
        return "mae is for classes that are numbers, or grades in the order that --order names"
    if name == "poisson_deviance" and not (is_numeric and (y >= 0.0).all()):
        return "poisson_deviance is for counts, which are not negative"
    if name == "log_rmse" and not (is_numeric and (y > 0.0).all()):
        return "log_rmse is for positive responses"
    if name == "r2" and y.min() == y.max():
        return "R² is for responses that differ"
    return ""

"""The methods that `mercer fit` and `mercer compare` offer: one table, and what they suit.

Packages are imported when a method is made, so that help is fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
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

_ONE_STAGE_GRIDS = {
    "classification": {"C": [0.1, 1.0, 10.0, 100.0]},
    "regression": {"alpha": [10.0, 1.0, 0.1, 0.01, 0.001]},
}
"""Values that one-stage learning tries. They are few, because the kernel is learned anew for each.
On a dozen data sets of a few hundred rows, smaller values of C increased the error, and larger
ones did not reduce it. Among equally good values, the first is chosen."""

_WIDTHS = [2.0**k for k in range(-15, 4, 2)]
"""Inverse squared widths that `grid` tries."""

_RBF_GRIDS = {
    "classification": {"gamma": _WIDTHS, "C": [2.0**k for k in range(-5, 16, 2)]},
    "regression": {
        "regressor__gamma": _WIDTHS,
        "regressor__alpha": [10.0**k for k in range(-3, 4)],
    },
}
"""Values that `grid` tries, as in the guide to LIBSVM (Hsu, Chang, Lin 2003)."""


@dataclass(frozen=True)
class Method:
    """A method that the command offers.

    Attributes
    ----------
    description : str
        A few words on how it finds kernels, their widths and their weights.
    makers : mapping from {"classification", "regression"} to callable
        For each task that it supports, a function that makes the unfitted estimator.
    grids : mapping from {"classification", "regression"} to dict
        Parameters that are chosen by cross-validation, and the values that are tried.
    max_rows : int or None
        Largest number of rows that it can learn from in reasonable time; None if unlimited.
    learns : bool
        Whether it learns a kernel, so that `mercer fit` offers it.
    """

    description: str
    makers: Mapping[Task, Maker]
    grids: Mapping[str, dict[str, list[float]]] = field(default_factory=dict)
    max_rows: int | None = None
    learns: bool = True

    def estimator(self, task: Task, n_folds: int) -> BaseEstimator:
        """Make the unfitted estimator, inside a grid search if the method has a grid."""
        from sklearn.model_selection import GridSearchCV

        made = self.makers[task]()
        if task not in self.grids:
            return made
        # A fold in which all values fail, such as one of a single class, does not influence the
        # choice, because it gets the score of wrong labels, or of a constant response.
        return GridSearchCV(made, self.grids[task], cv=n_folds, error_score=0.0)


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


def _one_stage(description: str, stem: str, **settings: object) -> Method:
    return Method(description, _pair("mercer", stem, **settings), _ONE_STAGE_GRIDS, _EXACT_ROWS)


def _scaled_ridge() -> BaseEstimator:
    """Return kernel ridge regression, without an intercept, of the standardized response."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.preprocessing import StandardScaler

    return TransformedTargetRegressor(KernelRidge(kernel="rbf"), transformer=StandardScaler())


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
        max_rows=_GRADED_ROWS,
    ),
    "count": Method(
        "Poisson regression",
        {"regression": _made("mercer", "KernelPoissonRegressor")},
        max_rows=_GRADED_ROWS,
    ),
    # The time of a fit grows with the cube of the number of rows.
    "bayes": Method("fixed, evidence", _pair("mercer", "BayesianMKL"), max_rows=2000),
    "mkl": _one_stage("fixed, one-stage, l1", "MKL", norm=1.0),
    "mkl-2": _one_stage("fixed, one-stage, l2", "MKL", norm=2.0),
    # A tenth of the tolerance takes several times as long, and changes the error by less than the
    # error varies between splits.
    "cr": _one_stage("searched, one-stage", "ContinuousMKL", tol=1e-2),
    "grid": Method(
        "RBF, grid search",
        {"classification": _made("sklearn.svm", "SVC"), "regression": _scaled_ridge},
        _RBF_GRIDS,
        _EXACT_ROWS,
        learns=False,
    ),
}
"""The methods by name, in the order in which they are compared. `grid` is scikit-learn's predictor
with an RBF kernel, and a grid search chooses its width and penalty. The other methods that learn no
kernel have the default settings of their packages."""

LEARNERS = tuple(name for name, method in METHODS.items() if method.learns)
"""The methods that `mercer fit` offers."""

COMPARED = tuple(name for name in METHODS if name not in KINDS)
"""The methods that `mercer compare` compares by default: all but those for grades and counts."""


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
        if rows is not None and not takes(method.estimator(problem.task, 2), kind):
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
    if name == "roc_auc" and len(set(y.tolist())) != 2:
        return "roc_auc is for two classes; balanced_accuracy is for more"
    if name == "mae" and not is_numeric:
        return "mae is for classes that are numbers"
    if name == "poisson_deviance" and not (is_numeric and (y >= 0.0).all()):
        return "poisson_deviance is for counts, which are not negative"
    if name == "log_rmse" and not (is_numeric and (y > 0.0).all()):
        return "log_rmse is for positive responses"
    if name == "r2" and y.min() == y.max():
        return "R² is for responses that differ"
    return ""

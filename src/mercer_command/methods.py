"""The methods by their names on the command line, and their pipelines."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.validation import has_fit_parameter

import mercer
from mercer.kernels import Gaussian
from mercer_command.app import CLASS_METRICS, COMPARED, LEARNERS, RESPONSE_METRICS
from mercer_command.columns import DATES
from mercer_command.messages import InputError, checked_name, listing
from mercer_command.notation import Array
from mercer_command.problem import Problem, Rows, Task
from mercer_command.table_model import TableModel, limits_of
from mercer_command.table_reader import problem_encoder, problem_reader

_EXACT_ROWS = 10_000
"""One-stage learning and `grid` learn from at most this many rows, because they have Gram matrices
of all of them in memory, for each kernel and fold."""

_GRIDS: dict[str, dict[str, Any]] = {
    "one-stage": {"C": 10.0 ** np.arange(-1, 3), "alpha": 10.0 ** np.arange(1, -4, -1)},
    "grid": {
        "gamma": 2.0 ** np.arange(-15, 4, 2),
        "C": 2.0 ** np.arange(-5, 16, 2),
        "alpha": 10.0 ** np.arange(-3, 4),
    },
}
"""Values that searches try. Those of `grid` are the ones of the guide to LIBSVM (Hsu, Chang, Lin
2003). One-stage learning tries few, because each learns the kernel anew: on a dozen sets of a few
hundred rows, smaller C increased the error and larger ones did not reduce it. Of equally good
values, the first is chosen."""


@dataclass(frozen=True)
class Method:
    """A method that the command offers.

    Attributes
    ----------
    makers : mapping from {"classification", "regression"} to callable
        For each task that it supports, a function that makes the unfitted estimator.
    grids : mapping from {"classification", "regression"} to dict
        Settings that are searched for by cross-validation, and the values that are tried.
    max_rows : int or None
        The largest number of rows that it can learn from in reasonable time; None if any.
    """

    makers: Mapping[Task, Callable[[], BaseEstimator]]
    grids: Mapping[Task, dict[str, Array]] = field(default_factory=dict)
    max_rows: int | None = None

    def estimator(self, task: Task, n_folds: int) -> BaseEstimator:
        """Make the unfitted estimator, with a search in a number of folds if it needs one."""
        made = self.makers[task]()
        if task not in self.grids:
            return made
        # A fold that fails for all values, such as one of a single class, does not influence the
        # choice: its score is that of wrong labels, or of the constant response.
        return GridSearchCV(made, self.grids[task], cv=n_folds, error_score=0.0)


def _two_stage(learner: Callable[..., Any], **settings: Any) -> Method:
    return Method(
        {
            "classification": lambda: mercer.TwoStageClassifier(learner(**settings)),
            "regression": lambda: mercer.TwoStageRegressor(learner(**settings)),
        }
    )


def _one_stage(classifier: Any = None, regressor: Any = None, **settings: Any) -> Method:
    grids = _GRIDS["one-stage"]
    found: dict[Task, Any] = {"classification": classifier, "regression": regressor}
    return Method(
        {task: partial(made, **settings) for task, made in found.items() if made is not None},
        {"classification": {"C": grids["C"]}, "regression": {"alpha": grids["alpha"]}},
        _EXACT_ROWS,
    )


def _scaled_ridge() -> BaseEstimator:
    """Return kernel ridge regression of a response of mean zero, as it has no intercept."""
    return TransformedTargetRegressor(KernelRidge(kernel="rbf"), transformer=StandardScaler())


METHODS: dict[str, Method] = {
    "stacking": Method(
        {
            "classification": mercer.KernelStackingClassifier,
            "regression": mercer.KernelStackingRegressor,
        }
    ),
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
    # A tenth of the tolerance takes several times as long, and changes the error by less than it
    # varies between splits.
    "cr": _one_stage(mercer.ContinuousMKLClassifier, mercer.ContinuousMKLRegressor, tol=1e-2),
    # Its time grows with the third power of the number of rows.
    "bayes": Method(
        {"classification": mercer.BayesianMKLClassifier, "regression": mercer.BayesianMKLRegressor},
        max_rows=2000,
    ),
    "l1-svm": _one_stage(classifier=mercer.L1SVM),
    "l2-krr": _one_stage(regressor=mercer.L2KRR),
    "grid": Method(
        {"classification": SVC, "regression": _scaled_ridge},
        {
            "classification": {name: _GRIDS["grid"][name] for name in ("gamma", "C")},
            "regression": {f"regressor__{n}": _GRIDS["grid"][n] for n in ("gamma", "alpha")},
        },
        _EXACT_ROWS,
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
    unsuitable = [name for name in names if task not in METHODS[name].makers]
    if unsuitable:
        suitable = ", ".join(name for name in options if task in METHODS[name].makers)
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
        if not feasible([name], n_rows):
            raise InputError(
                f"{name} takes too long to learn from {n_rows:,} rows; it is for at most "
                f"{METHODS[name].max_rows:,}"
            )


def check_division(name: str, problem: Problem) -> None:
    """Refuse a method whose fit cannot leave out whole groups, or later rows.

    Parameters
    ----------
    name : str
        A key of `METHODS`.
    problem : Problem

    Raises
    ------
    InputError
        If the problem has groups or times, and the method takes none.
    """
    for has, kind in ((problem.groups is not None, "groups"), (problem.times is not None, "cv")):
        able = [n for n in LEARNERS if problem.task in METHODS[n].makers]
        able = [n for n in able if _takes(METHODS[n].estimator(problem.task, 2), kind)]
        if has and name not in able:
            what = "groups" if kind == "groups" else "times"
            raise InputError(f"{name} takes no {what}; choose from {', '.join(able)}")


def _takes(estimator: BaseEstimator, kind: str) -> bool:
    """Whether a fit takes groups, or an estimator folds of times."""
    if kind == "groups":
        return bool(has_fit_parameter(estimator, "groups"))
    return "cv" in estimator.get_params(deep=False) and not isinstance(estimator, GridSearchCV)


def fit_arguments(model: Pipeline, problem: Problem, rows: Rows) -> dict[str, Any]:
    """Return what the fit of a model takes beside columns and target: groups, if it takes any.

    Parameters
    ----------
    model : Pipeline of `make_model`
    problem : Problem
    rows : ndarray of int
        The rows to learn from.
    """
    name, step = model.steps[-1]
    if problem.groups is None or not _takes(step, "groups"):
        return {}
    return {f"{name}__groups": problem.groups[rows]}


def check_metric(name: str | None, problem: Problem) -> None:
    """Refuse a score that is not one of the problem's by an `InputError`."""
    if name is None:
        return
    names = CLASS_METRICS if problem.task == "classification" else RESPONSE_METRICS
    checked_name(f"metric of {problem.task}", name, names)
    if name == "roc_auc" and np.unique(problem.target).size > 2:
        raise InputError("roc_auc is for two classes; balanced_accuracy is for more")
    if name == "log_rmse" and not (problem.target > 0.0).all():
        raise InputError("log_rmse is for positive responses")


def check_streamed(name: str) -> None:
    """Refuse a method that needs all rows in memory by an `InputError`."""
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


def make_model(name: str, problem: Problem, rows: Rows, seed: int = 0) -> TableModel:
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
    TableModel
        Unfitted.
    """
    largest = len(rows)
    if problem.task == "classification":
        # Stratified folds cannot exceed the size of the largest class.
        largest = int(np.unique(problem.target[rows], return_counts=True)[1].max())
    estimator = METHODS[name].estimator(problem.task, max(2, min(5, largest)))
    if problem.times is not None and _takes(estimator, "cv"):
        estimator = estimator.set_params(cv=TimeSeriesSplit(max(2, min(5, len(rows) - 1))))
    seeds = {"random_state", "learner__random_state"} & set(estimator.get_params())
    is_number = problem.task == "regression" and problem.target_column.role not in DATES
    return TableModel(
        [
            ("reader", problem_reader(problem)),
            ("columns", problem_encoder(problem, rows, seed)),
            ("model", estimator.set_params(**dict.fromkeys(sorted(seeds), seed))),
        ],
        limits=limits_of(problem.target[rows]) if is_number else None,
    )


def learned_alignment(model: Pipeline, X: Any, y: Array, task: Task) -> float:
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
        sum of its kernels.

    Notes
    -----
    Of more than 2,000 rows, this number is drawn, as the Gram matrix is in memory.
    """
    if len(y) > 2000:
        drawn = np.sort(np.random.default_rng(0).permutation(len(y))[:2000])
        X, y = X.iloc[drawn], y[drawn]
    features, step = model[:-1].transform(X), model[-1]
    step = getattr(step, "best_estimator_", step)
    if hasattr(step, "learned_gram"):
        gram = step.learned_gram(features)
    else:  # That of `grid`, whose regression is inside a transformation of the target.
        gamma = getattr(step, "regressor_", step).gamma
        gram = rbf_kernel(np.asarray(features), gamma=gamma)
    return mercer.centered_alignment(gram, y, task=task)

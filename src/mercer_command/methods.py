"""The methods by their names on the command line, and their pipelines."""

from collections.abc import Callable, Mapping
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
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.validation import has_fit_parameter

import mercer
from mercer.kernels import Gaussian
from mercer_command.app import COMPARED
from mercer_command.columns import DATES
from mercer_command.messages import InputError, checked_name
from mercer_command.notation import Array
from mercer_command.problem import Problem, Rows, Task
from mercer_command.table_model import TableModel, limits_of
from mercer_command.table_reader import problem_encoder, problem_reader

_EXACT_ROWS = 10_000
"""One-stage learning and `grid` learn from at most this many rows, because they have Gram matrices
of all of them in memory, for each kernel and fold."""

_GRADED_ROWS = 5_000
"""Grades and counts are learned from at most this many rows: a fit with its report takes up to two
minutes of one processor and .9 GB, and twice the
rows eight times as long."""

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


def _of_package(package: str, prefix: str, **settings: Any) -> Method:
    """Return the method of a package that may be absent."""

    def made(kind: str) -> BaseEstimator:
        return getattr(import_module(package), f"{prefix}{kind}")(**settings)

    return Method(
        {
            "classification": partial(made, "Classifier"),
            "regression": partial(made, "Regressor"),
        }
    )


def is_installed(name: str) -> bool:
    """Whether the package that a method belongs to is there.

    Parameters
    ----------
    name : str
        A key of `METHODS`.
    """
    return name not in ("lightgbm", "catboost") or find_spec(name) is not None


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
    # Their fits take a few dozen inverses of matrices of all rows.
    "ordinal": Method({"classification": mercer.KernelOrdinalClassifier}, max_rows=_GRADED_ROWS),
    "count": Method({"regression": mercer.KernelPoissonRegressor}, max_rows=_GRADED_ROWS),
    "grid": Method(
        {"classification": SVC, "regression": _scaled_ridge},
        {
            "classification": {name: _GRIDS["grid"][name] for name in ("gamma", "C")},
            "regression": {f"regressor__{n}": _GRIDS["grid"][n] for n in ("gamma", "alpha")},
        },
        _EXACT_ROWS,
    ),
    "linear": Method(
        {"classification": partial(LogisticRegression, max_iter=1000), "regression": Ridge}
    ),
    "boosting": Method(
        {
            "classification": HistGradientBoostingClassifier,
            "regression": HistGradientBoostingRegressor,
        }
    ),
    "forest": Method(
        {"classification": RandomForestClassifier, "regression": RandomForestRegressor}
    ),
    "lightgbm": _of_package("lightgbm", "LGBM", verbosity=-1, n_jobs=1),
    "catboost": _of_package("catboost", "CatBoost", verbose=False, allow_writing_files=False),
}
"""Each method by its name. `grid` is scikit-learn's predictor with an RBF kernel, and a grid search
for its width and penalty; those after it have the default settings of their packages."""


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
    """Whether a fit takes groups, or an estimator folds of times.

    Parameters
    ----------
    estimator : estimator
    kind : {"groups", "cv"}
    """
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
    if problem.groups is None or not takes(step, "groups"):
        return {}
    return {f"{name}__groups": problem.groups[rows]}


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
    if problem.times is not None and takes(estimator, "cv"):
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
        sum of its kernels. NaN for methods without a kernel.

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
        gamma = getattr(getattr(step, "regressor_", step), "gamma", None)
        if gamma is None:
            return np.nan
        gram = rbf_kernel(np.asarray(features), gamma=gamma)
    return mercer.centered_alignment(gram, y, task=task)

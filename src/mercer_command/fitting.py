"""Learning from a table, testing on held-out rows, and predicting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import r2_score, root_mean_squared_error, zero_one_loss
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.utils.multiclass import unique_labels

from mercer._blocks import ParquetSource
from mercer._stacking.kernel_stacking import EvaluatedCandidate
from mercer._typing import Array, Features
from mercer.inspection import kernel_terms
from mercer.inspection._display import learned
from mercer_command.baselines import (
    HeldOutError,
    baseline_errors,
    error_interval,
    is_better,
    losses_of,
)
from mercer_command.errors import InputError
from mercer_command.importance import ColumnImportance, column_importances
from mercer_command.methods import learned_alignment, make_model
from mercer_command.problem import Problem, Rows, Task

if TYPE_CHECKING:
    from pandas import DataFrame

_MOST_TESTED = 10_000
"""At most this many rows are held out; all others are learned from."""

INTERVAL_COVERAGE = 0.9
"""The report of a response says how many held-out rows intervals of this coverage hold."""


@dataclass(frozen=True)
class LearnedKernel:
    """What a method learned that combines kernels.

    Attributes
    ----------
    alignment, test_alignment : float
        Centered alignment of the learned kernel with the target on the training and test rows.
    kernels : list of (str, float, float)
        Description, weight and share of each base kernel; the largest share comes first.
    """

    alignment: float
    test_alignment: float
    kernels: list[tuple[str, float, float]]


@dataclass(frozen=True)
class Stack:
    """What stacking learned, which combines predictions.

    Attributes
    ----------
    candidates : list of EvaluatedCandidate
        The largest weight comes first, and the lowest error among those that were left out.
    loo_score : float
        Accuracy, or R², of the leave-one-out predictions.
    covered : float or None
        Share of the held-out rows whose response is in its prediction interval; None for classes.
    """

    candidates: list[EvaluatedCandidate]
    loo_score: float
    covered: float | None


@dataclass(frozen=True)
class Fit:
    """A model learned from some rows and tested on others.

    Attributes
    ----------
    model : fitted Pipeline
    problem : Problem
    learner : str
        Name of the method.
    n_train : int
        Number of training rows.
    test : ndarray of int
        Positions of the test rows in the problem.
    own : HeldOutError
        Error of the model on the test rows.
    baselines : tuple of HeldOutError
        Errors of simple predictors on the same rows; the last is the constant.
    beats_constant : bool
        Whether the model is better than the constant, beyond what chance explains.
    importances : tuple of ColumnImportance
        How much each column matters.
    seed : int
        Seed of the split and of learners that draw random numbers.
    r2 : float or None
        Share of the response's variance that is explained on the test rows; None for classes.
    learned : LearnedKernel or Stack
    """

    model: Pipeline
    problem: Problem
    learner: str
    n_train: int
    test: Rows
    own: HeldOutError
    baselines: tuple[HeldOutError, ...]
    beats_constant: bool
    importances: tuple[ColumnImportance, ...]
    seed: int
    r2: float | None
    learned: LearnedKernel | Stack


def splits(
    problem: Problem, *, test_size: float | int, repeats: int, seed: int
) -> list[tuple[Rows, Rows]]:
    """Draw training rows and test rows; for classes, the draw is stratified.

    Parameters
    ----------
    problem : Problem
    test_size : float or int
        Share of the test rows in all rows, or their number. At most 10,000 rows are held out, by
        which errors are known to a few hundredths of their size.
    repeats : int
        Number of independent draws.
    seed : int

    Returns
    -------
    list of (ndarray of int, ndarray of int)
    """
    n_rows = len(problem.target)
    n_test = test_size if isinstance(test_size, int) else n_tested(n_rows, test_size)
    sizes = {"train_size": n_rows - n_test, "test_size": n_test, "random_state": seed}
    if problem.task == "regression":
        return list(ShuffleSplit(repeats, **sizes).split(problem.features))
    n_classes = unique_labels(problem.target).size
    if min(sizes["train_size"], sizes["test_size"]) < n_classes:
        raise InputError(
            f"{sizes['train_size']} rows to learn from and {sizes['test_size']} to test on are too "
            f"few for {n_classes} classes"
        )
    return list(StratifiedShuffleSplit(repeats, **sizes).split(problem.features, problem.target))


def n_tested(n_rows: int, test_size: float) -> int:
    """Return the number of rows that are held out for a share of them, at most 10,000."""
    return min(max(1, round(test_size * n_rows)), _MOST_TESTED)


def error_of(task: Task, truth: npt.NDArray[Any], predicted: npt.NDArray[Any]) -> float:
    """Return the share of misclassified rows, or the root mean squared error."""
    score = zero_one_loss if task == "classification" else root_mean_squared_error
    return float(score(truth, predicted))


def fit(
    problem: Problem,
    learner: str,
    train: Rows,
    test: Rows,
    *,
    seed: int = 0,
    source: ParquetSource | None = None,
    on_step: Callable[[str], None] = lambda description: None,
    on_fitted: Callable[[Pipeline], None] = lambda model: None,
) -> Fit:
    """Learn from the training rows of a problem and test on its test rows.

    Parameters
    ----------
    problem : Problem
    learner : str
        One of `mercer_command.methods.LEARNERS`.
    train, test : ndarray of int
        Positions of the rows.
    seed : int, default=0
    source : ParquetSource, default=None
        All training rows, if the problem holds a sample of the table. The columns' encoder is then
        fitted to the training rows of the sample.
    on_step : callable, default=nothing
        Called before each step, with its description.
    on_fitted : callable, default=nothing
        Called with the model as soon as it is fitted.

    Returns
    -------
    Fit
    """
    X, y, task = problem.features, problem.target, problem.task
    model = make_model(learner, problem, train, seed)
    if source is None:
        model.fit(X.iloc[train], y[train])
    else:
        model[-1].fit(source.with_encoder(model[:-1].fit(X.iloc[train], y[train])))
    on_fitted(model)
    n_train = len(train) if source is None else source.count_rows()
    on_step("testing")
    predicted = model.predict(X.iloc[test])
    losses = losses_of(task, y[test], predicted)
    others, constant = _baselines(problem, model, train, test, seed, sampled=len(train) < n_train)
    on_step("measuring the importance of columns")
    held_out = X.iloc[test], y[test]
    is_stack = kernel_terms(model).combines == "predictions"
    return Fit(
        model=model,
        problem=problem,
        learner=learner,
        n_train=n_train,
        test=test,
        own=HeldOutError(f"mercer, {learner}", *error_interval(task, losses)),
        baselines=tuple(others),
        beats_constant=is_better(losses, constant),
        importances=tuple(column_importances(model, *held_out, task, seed=seed)),
        seed=seed,
        r2=None if task == "classification" else float(r2_score(y[test], predicted)),
        learned=_stack(model, *held_out) if is_stack else _kernel(model, *held_out, task),
    )


def _baselines(
    problem: Problem, model: Pipeline, train: Rows, test: Rows, seed: int, *, sampled: bool
) -> tuple[list[HeldOutError], Array]:
    """Return the errors of simple predictors of the encoded columns, and the constant's losses."""
    X, y = problem.features, problem.target
    # Categories of many levels are encoded by other rows' targets, but for rows to predict.
    encoder = clone(model[:-1])
    encoded = encoder.fit_transform(X.iloc[train], y[train])
    return baseline_errors(
        problem.task,
        (encoded, y[train]),
        (encoder.transform(X.iloc[test]), y[test]),
        seed=seed,
        note=f"learned from a sample of {len(train):,} rows" if sampled else "",
    )


def _kernel(model: Pipeline, X: DataFrame, y: npt.NDArray[Any], task: Task) -> LearnedKernel:
    """Read the learned kernel off a model, and its alignment on held-out rows."""
    return LearnedKernel(
        alignment=float(learned(model).alignment_),
        test_alignment=learned_alignment(model, X, y, task),
        kernels=learned_shares(model),
    )


def learned_shares(model: Pipeline) -> list[tuple[str, float, float]]:
    """Return description, weight and share of each base kernel; the largest share comes first.

    Parameters
    ----------
    model : fitted Pipeline
    """
    terms = kernel_terms(model)
    shares = np.abs(terms.shares)
    order = np.argsort(-shares, kind="stable")
    return [(terms.labels[k], float(terms.weights[k]), float(shares[k])) for k in order]


def _stack(model: Pipeline, X: DataFrame, y: npt.NDArray[Any]) -> Stack:
    """Read candidates and scores off a model of stacking, and try its intervals."""
    step, covered = model[-1], None
    if hasattr(step, "predict_interval"):
        low, high = intervals(step, model[:-1].transform(X), INTERVAL_COVERAGE).T
        covered = float(((low <= y) & (y <= high)).mean())
    return learned_stack(model, covered)


def learned_stack(model: Pipeline, covered: float | None = None) -> Stack:
    """Read candidates and scores off a model of stacking.

    Parameters
    ----------
    model : fitted Pipeline
    covered : float, default=None
        Share of held-out responses in their intervals, if it is known.
    """
    step = model[-1]
    return Stack(
        candidates=sorted(step.candidates_, key=lambda c: (-c.weight, c.loo_error)),
        loo_score=step.loo_score_,
        covered=covered,
    )


def intervals(step: BaseEstimator, encoded: Features, coverage: float) -> Array:
    """Predict intervals that hold the response with some probability.

    Parameters
    ----------
    step : fitted estimator
        The last step of a model of `fit`.
    encoded : array-like of shape (n_rows, n_features)
        Encoded columns.
    coverage : float
        The probability, between zero and one.

    Returns
    -------
    ndarray of shape (n_rows, 2)

    Raises
    ------
    InputError
        If the model predicts no intervals, or the coverage is not between zero and one.
    """
    if not 0.0 < coverage < 1.0:
        raise InputError(f"the coverage of intervals is between 0 and 1; got {coverage:g}")
    if not hasattr(step, "predict_interval"):
        raise InputError(
            "the model predicts no intervals; those of mercer fit --learner stacking do, if the "
            "target is a response"
        )
    return np.asarray(step.predict_interval(encoded, coverage))

"""Learning from a table and testing on held-out rows, by one method or by several."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import r2_score
from sklearn.pipeline import Pipeline

from mercer.inspection import kernel_terms
from mercer.preprocessing import convert
from mercer_command.columns import DATES, Choice, recognize_columns
from mercer_command.held_out_errors import (
    ColumnImportance,
    HeldOutError,
    baseline_errors,
    column_importances,
    error_interval,
    is_better,
    losses_of,
)
from mercer_command.messages import InputError, listing, one_line
from mercer_command.methods import learned_alignment, make_model
from mercer_command.notation import Array
from mercer_command.problem import Problem, Rows, Task, unit_of
from mercer_command.streaming import Training
from mercer_command.table_files import Cells


@dataclass(frozen=True)
class Trial:
    """A fitted model, and rows that it was not fitted to.

    Attributes
    ----------
    model : fitted Pipeline
    name : str
        Name of the target's column.
    task : {"classification", "regression"}
    unit : str
        What a response is measured in.
    X : DataFrame of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,) or None
        The targets, if they are known.
    importances : sequence of ColumnImportance
        How much each column matters.
    """

    model: Pipeline
    name: str
    task: Task
    unit: str
    X: pd.DataFrame
    y: Array | None
    importances: Sequence[ColumnImportance] = ()

    @property
    def has_dates(self) -> bool:
        """Whether responses are dates, as days since 1970."""
        return self.task == "regression" and self.model["reader"].target[1] == "date"

    @property
    def learner(self) -> Any:
        """The estimator that learned the kernel: of a search, the best."""
        step = self.model[-1]
        return getattr(step, "best_estimator_", step)


@dataclass(frozen=True)
class Fit:
    """A model learned from some rows and tested on others.

    Attributes
    ----------
    trial : Trial
        The model, and its test rows.
    problem : Problem
    learner : str
        Name of the method.
    seed : int
        Seed of the split and of learners that draw random numbers.
    n_train : int
        Number of training rows.
    errors : tuple of HeldOutError
        Errors of the model, of simple predictors, and of the constant, on the test rows.
    beats_constant : bool
        Whether the model is better than the constant, beyond what chance explains.
    scores : tuple of str
        What is known of the model besides its error, one line each.
    """

    trial: Trial
    problem: Problem
    learner: str
    seed: int
    n_train: int
    errors: tuple[HeldOutError, ...]
    beats_constant: bool
    scores: tuple[str, ...]


def fit(
    training: Training,
    learner: str,
    *,
    seed: int = 0,
    on_step: Callable[[str], None] = lambda description: None,
    on_fitted: Callable[[Pipeline], None] = lambda model: None,
) -> Fit:
    """Learn from the training rows of a problem and test on its test rows.

    Parameters
    ----------
    training : Training
        If it has a source, the columns' encoder is fitted to the training rows of the sample, and
        the predictor to all.
    learner : str
        One of `mercer_command.app.LEARNERS`.
    seed : int, default=0
    on_step : callable, default=nothing
        Called before each step, with its description.
    on_fitted : callable, default=nothing
        Called with the model as soon as it is fitted.

    Returns
    -------
    Fit
    """
    problem, train, source = training.problem, training.train, training.source
    X, y, task = problem.features, problem.target, problem.task
    model = make_model(learner, problem, train, seed)
    if source is None:
        model.fit(X.iloc[train], y[train])
    else:
        model[-1].fit(source.with_encoder(model[:-1].fit(X.iloc[train], y[train])))
    on_fitted(model)
    on_step("testing")
    X_test, y_test = X.iloc[training.test], y[training.test]
    predicted = model.predict(X_test)
    losses = losses_of(task, y_test, predicted)
    # Training rows differ from new rows: categories of many levels are encoded out of fold.
    encoder = clone(model[:-1])
    encoded = encoder.fit_transform(X.iloc[train], y[train])
    others, constant = baseline_errors(
        task,
        (encoded, y[train]),
        (encoder.transform(X_test), y_test),
        seed=seed,
        note="" if source is None else f"learned from a sample of {len(train):,} rows",
    )
    on_step("measuring the importance of columns")
    found = column_importances(model, X_test, y_test, task, seed=seed)
    trial = Trial(model, problem.name, task, problem.unit, X_test, y_test, found)
    own = HeldOutError(f"mercer, {learner}", *error_interval(task, losses))
    scores = [f"{training.n_train:,} training rows", *_scores(trial)]
    if task == "regression":
        r2 = r2_score(y_test, predicted)
        scores.insert(1, f"R², the explained share of the variance, held-out rows: {r2:.3f}")
    beats = is_better(losses, constant)
    return Fit(
        trial, problem, learner, seed, training.n_train, (own, *others), beats, tuple(scores)
    )


def _scores(trial: Trial) -> list[str]:
    """Return what the learned kernel, or the stack, tells of itself."""
    model, y, task = trial.model, trial.y, trial.task
    assert y is not None
    if kernel_terms(model).combines == "kernels":
        aligned = learned_alignment(model, trial.X, y, task)
        training = trial.learner.alignment_
        told = f"{aligned:.3f} on held-out rows, {training:.3f} on training rows"
        return [f"alignment with the target: {told}"]
    loo = trial.learner.loo_score_
    if task == "classification":
        return [f"error, leave-one-out, training rows: {1.0 - loo:.1%}"]
    low, high = intervals(model[-1], model[:-1].transform(trial.X)).T
    covered = float(((low <= y) & (y <= high)).mean())
    return [
        f"R², leave-one-out, training rows: {loo:.3f}",
        f"held-out responses in 90% intervals: {covered:.1%}",
    ]


def intervals(step: BaseEstimator, encoded: Any, coverage: float = 0.9) -> Array:
    """Predict intervals that hold the response with some probability.

    Parameters
    ----------
    step : fitted estimator
        The last step of a model of `fit`.
    encoded : array-like of shape (n_rows, n_features)
        Encoded columns.
    coverage : float, default=0.9
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


def explain(model: Pipeline, cells: Cells, seed: int = 0) -> Trial:
    """Try a saved model on the rows of a table.

    Parameters
    ----------
    model : fitted Pipeline of `fit`
    cells : Cells
        A table with the columns of the model and, if it is to tell which matter, the target.
    seed : int, default=0
        Of the shuffles.

    Returns
    -------
    Trial

    Raises
    ------
    InputError
        If the table lacks columns of the model.
    """
    frame, (name, role, notation) = cells.frame, model["reader"].target
    missing = [column for column in model.feature_names_in_ if column not in frame.columns]
    if missing:
        raise InputError(f"the table lacks columns of the model: {listing(missing)}")
    task: Task = "classification" if is_classifier(model) else "regression"
    y = None
    if name in frame.columns:
        choice = Choice(role, "" if notation == "flag" else notation)
        typed, _ = recognize_columns(frame[[name]], {name: choice})
        known = typed[name].notna().to_numpy()
        frame, y = frame[known], _target(typed.loc[known, [name]], model, role)
    X = model["reader"].transform(frame)
    found = column_importances(model, X, y, task, seed=seed)
    return Trial(model, name, task, unit_of(role), X, y, found)


def _target(column: pd.DataFrame, model: Pipeline, role: str) -> Array:
    """Return known targets in the form in which the model predicts them."""
    if role in DATES:
        return convert(column, "date")[:, 0]
    kind = model.classes_.dtype.kind if is_classifier(model) else "f"
    if kind in "iuf":
        numbers = convert(column, "number")[:, 0]
        return numbers.astype(model.classes_.dtype) if is_classifier(model) else numbers
    texts = convert(column, "category")[:, 0].astype(str)
    return np.char.lower(texts) == "true" if kind == "b" else texts


@dataclass(frozen=True)
class Comparison:
    """Results of each method on each split.

    Attributes
    ----------
    methods : tuple of str
        Names, of length n_methods.
    errors, alignments, seconds : ndarray of shape (n_methods, n_splits)
        Error and alignment on the test rows, and the time to fit.
    """

    methods: tuple[str, ...]
    errors: Array
    alignments: Array
    seconds: Array

    @property
    def n_splits(self) -> int:
        """Number of splits into training rows and test rows."""
        return int(self.errors.shape[1])

    def as_frame(self) -> pd.DataFrame:
        """Return one row per method: means, deviations, mean rank, and the error of each split.

        The method of the best mean rank comes first; of equal ranks, that of the smallest error.
        Deviations over splits are zero for one split.
        """
        ddof = min(1, self.n_splits - 1)
        frame = pd.DataFrame(
            {
                "method": self.methods,
                "error": self.errors.mean(axis=1),
                "error_std": self.errors.std(axis=1, ddof=ddof),
                "test_alignment": self.alignments.mean(axis=1),
                "test_alignment_std": self.alignments.std(axis=1, ddof=ddof),
                "fit_seconds": self.seconds.mean(axis=1),
                "rank": rankdata(self.errors, axis=0).mean(axis=1),
                **{f"error_split_{r + 1}": split for r, split in enumerate(self.errors.T)},
            }
        )
        return frame.sort_values(["rank", "error"], kind="stable", ignore_index=True)


def compare(
    problem: Problem,
    methods: Sequence[str],
    splits: Sequence[tuple[Rows, Rows]],
    *,
    seed: int = 0,
    on_step: Callable[[str], None] = lambda description: None,
) -> Comparison:
    """Fit every method on every split.

    Parameters
    ----------
    problem : Problem
    methods : sequence of str
        Keys of `mercer_command.methods.METHODS`.
    splits : sequence of (ndarray of int, ndarray of int)
        Rows to learn from and to test on, the same for all methods.
    seed : int, default=0
    on_step : callable, default=nothing
        It is called before each fit, with its description.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        If a method fails; the message says which.
    """
    found = np.empty((3, len(methods), len(splits)))
    for r, rows in enumerate(splits):
        for m, name in enumerate(methods):
            on_step(f"{name}, split {r + 1} of {len(splits)}")
            try:
                found[:, m, r] = _measure(problem, name, *rows, seed)
            except ValueError as error:
                raise InputError(f"method '{name}' failed: {one_line(error)}") from error
    return Comparison(tuple(methods), *found)


def _measure(
    problem: Problem, method: str, train: Rows, test: Rows, seed: int
) -> tuple[float, float, float]:
    """Return error and alignment on the test rows, and the time to fit in seconds."""
    X, y, task = problem.features, problem.target, problem.task
    model = make_model(method, problem, train, seed)
    start = perf_counter()
    model.fit(X.iloc[train], y[train])
    seconds = perf_counter() - start
    losses = losses_of(task, y[test], model.predict(X.iloc[test]))
    alignment = learned_alignment(model, X.iloc[test], y[test], task)
    return error_interval(task, losses)[0], alignment, seconds

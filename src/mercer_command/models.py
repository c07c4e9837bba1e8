"""Models that are learned from a table and tested, or tried on another table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_classifier

from mercer import KernelOrdinalClassifier, KernelPoissonRegressor
from mercer.inspection import ModelReport, kernel_terms, report
from mercer.preprocessing import convert
from mercer_command.columns import DATES, Choice, recognize_columns
from mercer_command.contributions import ColumnImportance, columns_that_matter
from mercer_command.costs import Costs
from mercer_command.options import Explain, Fit
from mercer_command.output import Bar
from mercer_command.pipelines import fit_arguments, learned_alignment, make_model
from mercer_command.predictions import needed_columns
from mercer_command.problem import group_codes, read_split, times_of, unit_of
from mercer_command.streaming import Training
from mercer_command.table_files import Cells
from mercer_command.table_model import TableModel
from mercer_command.target_column import MIN_ROWS, Task
from mercer_command.values import Array, by_spelling, known_spelling


@dataclass(frozen=True)
class Trial:
    """A fitted model, and rows that it was not fitted to.

    Attributes
    ----------
    model : fitted TableModel
    name : str
        Name of the target's column.
    task : {"classification", "regression"}
    unit : str
        Unit of the responses.
    X : DataFrame of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,) or None
        The targets, if they are known.
    importances : sequence of ColumnImportance
        How much each column matters.
    report : ModelReport or None
        Scores of the model on these rows, findings of the checks and, if the model learned from
        other rows of the same table, scores of simple predictors. None if the targets are unknown
        or there are fewer than ten rows.
    alignment : tuple of str
        A line on the learned kernel, if the model has one.
    rows : {"held-out", "known", "given"}
        "held-out" if the model did not learn from these rows, "known" if it learned from at least
        some of them, and "given" if this is unknown.
    told : str
        Remark on these rows.
    """

    model: TableModel
    name: str
    task: Task
    unit: str
    X: pd.DataFrame
    y: Array | None
    importances: Sequence[ColumnImportance] = ()
    report: ModelReport | None = None
    alignment: tuple[str, ...] = ()
    rows: Literal["held-out", "known", "given"] = "held-out"
    told: str = ""

    @property
    def has_dates(self) -> bool:
        """Whether responses are dates, which models represent as days since 1970-01-01."""
        return self.task == "regression" and self.model["reader"].target[1] == "date"

    @property
    def kind(self) -> str:
        """Kind of the target: "ordinal" for grades, "count" for counts, and empty otherwise."""
        step = self.model[-1]
        is_ordinal = isinstance(step, KernelOrdinalClassifier)
        is_count = isinstance(step, KernelPoissonRegressor)
        return "ordinal" if is_ordinal else "count" if is_count else ""

    @property
    def nouns(self) -> str:
        """Plural noun for the classes in reports."""
        return "ordered grades" if self.kind == "ordinal" else "classes"

    @property
    def learner(self) -> BaseEstimator:
        """The estimator that learned the kernel; for a grid search, the best estimator."""
        step = self.model[-1]
        return getattr(step, "best_estimator_", step)


def fit(
    training: Training,
    given: Fit,
    bar: Bar,
    on_fitted: Callable[[TableModel], None],
    costs: Costs | None = None,
) -> Trial:
    """Learn from the training rows of a problem and test on its test rows.

    Parameters
    ----------
    training : Training
        Training and test rows. If there is a source, the encoder of the columns is fitted to the
        training rows of the sample, and the predictor to all training rows.
    given : Fit
        Options; the learner, the seed, the device and the metric are used.
    bar : Bar
        Progress bar that shows the steps.
    on_fitted : callable
        Called with the model as soon as it is fitted.
    costs : Costs, default=None
        Costs of errors for two classes, by which the threshold is chosen.
    """
    problem, train, source = training.problem, training.train, training.source
    X, y, task = problem.features, problem.target, problem.task
    model = make_model(given.learner, problem, train, given.seed, given.device)
    group, known = problem.groups, fit_arguments(model, problem, train)
    if source is None:
        model.fit(X.iloc[train], y[train], **known)
    else:
        model.set_params(reader__remembers=False)  # The reader sees only a sample of the rows.
        model[-1].fit(source.with_encoder(model[:-1].fit(X.iloc[train], y[train])))
    if costs is not None:
        model.set_params(threshold=costs.threshold(model))
    on_fitted(model)
    bar.step(f"testing on {len(training.test):,} rows, beside simple predictors")
    X_test, y_test = X.iloc[training.test], y[training.test]
    # The model ignores identifiers, but the checks search them for groups of rows.
    seen = X if problem.beside is None else X.join(problem.beside)
    tested = report(
        model,
        seen.iloc[training.test],
        y_test,
        None if group is None else group[training.test],
        train=(seen.iloc[train], y[train], *known.values()),
        metric=given.metric,
        later=problem.times is not None,
        random_state=given.seed,
    )
    if source is not None:
        told = f"Simple predictors learned from a sample of {len(train):,} training rows"
        tested = replace(tested, n_train=training.n_train, remarks=(*tested.remarks, told))
    bar.step("measuring the importance of columns")
    found = columns_that_matter(model, X_test, y_test, task, seed=given.seed)
    unit = unit_of(problem.target_column.role)
    trial = Trial(model, problem.name, task, unit, X_test, y_test, found, tested)
    return replace(trial, alignment=_alignment_lines(trial, X_test, y_test))


def _alignment_lines(trial: Trial, X_test: pd.DataFrame, y_test: Array) -> tuple[str, ...]:
    """Describe the alignment of a learned kernel, except for stacks, grades and counts."""
    if kernel_terms(trial.model).combines == "predictions" or trial.kind:
        return ()
    aligned = learned_alignment(trial.model, X_test, y_test, trial.task)
    own = trial.learner.alignment_
    return (
        f"alignment with the target: {aligned:.3f} on held-out rows, {own:.3f} on training rows",
    )


def explain(model: TableModel, cells: Cells, given: Explain) -> Trial:
    """Try a saved model on the rows of a table.

    Parameters
    ----------
    model : fitted TableModel
    cells : Cells
        A table with the columns of the model and, if it is to be tested, the target.
    given : Explain
        Options that choose, order and group the rows, and the seed.

    Returns
    -------
    Trial
        Trial on the rows that the model did not learn from, or on all rows if these are too few.

    Raises
    ------
    InputError
        If the table lacks columns of the model, or columns of groups or times are not suitable.
    """
    frame, (name, role, notation) = cells.frame, model["reader"].target
    needed_columns(model, frame.columns)
    task: Task = "classification" if is_classifier(model) else "regression"
    if given.split is not None:
        frame = frame[read_split(given.split, len(frame))[:, 0] == "test"]
    if given.time is not None:
        typed, _ = recognize_columns(frame, separator=cells.separator)
        frame = frame.iloc[np.argsort(times_of(typed, given.time, name), kind="stable")]
    y = None
    if name in frame.columns:
        choice = Choice(role, "" if notation == "flag" else notation)
        typed, _ = recognize_columns(frame[[name]], {name: choice})
        known = typed[name].notna().to_numpy()
        frame, y = frame[known], _target(typed.loc[known, [name]], model, role)
    X = model["reader"].transform(frame)
    rows, chosen, told = _unseen(model, X)
    X, y = X.iloc[chosen], None if y is None else y[chosen]
    found = columns_that_matter(model, X, y, task, seed=given.seed)
    trial = Trial(model, name, task, unit_of(role), X, y, found, rows=rows, told=told)
    if y is None:
        return trial
    groups = None
    if given.group is not None:
        typed, _ = recognize_columns(frame, separator=cells.separator)
        groups = group_codes(frame, typed, given.group, name)[0][chosen]
    return _tested(trial, groups, given)


def _unseen(
    model: TableModel, X: pd.DataFrame
) -> tuple[Literal["held-out", "known", "given"], Array, str]:
    """Return the kind of the rows, positions of those that the model is tried on, and a remark."""
    seen, rows = model["reader"].learned_from(X), np.arange(len(X))
    if seen is None:
        return "given", rows, "it is not known whether the model learned from them"
    if not seen.any():
        return "held-out", rows, ""
    told = f"{seen.sum():,} of {len(X):,} rows equal rows that the model learned from"
    if np.sum(~seen) >= MIN_ROWS:
        return "held-out", rows[~seen], f"{told}, and are left out"
    return "known", rows, f"{told}: errors of these known rows are not those of new rows"


def _tested(trial: Trial, groups: Array | None, given: Explain) -> Trial:
    """Test a saved model on rows of the classes that it was fitted to, if there are enough."""
    assert trial.y is not None
    known = np.ones(len(trial.y), dtype=bool)
    if trial.task == "classification":
        known = np.isin(trial.y, trial.model.classes_)
    if known.sum() < MIN_ROWS:
        return trial
    own = None if groups is None else groups[known]
    settings: dict[str, Any] = {"later": given.time is not None, "random_state": given.seed}
    tested = report(trial.model, trial.X[known], trial.y[known], own, **settings)
    if not known.all():
        told = f"{(~known).sum():,} rows of classes that the model was not fitted to are left out"
        tested = replace(tested, remarks=(*tested.remarks, told))
    return replace(trial, report=tested)


def _target(column: pd.DataFrame, model: TableModel, role: str) -> Array:
    """Return known targets in the form in which the model predicts them."""
    if role in DATES:
        return convert(column, "date")[:, 0]
    kind = model.classes_.dtype.kind if is_classifier(model) else "f"
    if kind in "iuf":
        numbers = convert(column, "number")[:, 0]
        return numbers.astype(model.classes_.dtype) if is_classifier(model) else numbers
    texts = convert(column, "category")[:, 0].astype(str)
    if kind == "b":
        return np.char.lower(texts) == "true"
    return np.array(known_spelling(texts, by_spelling(model.classes_)), dtype=str)

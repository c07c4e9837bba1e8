"""Models that are learned from a table and tested, or tried on another table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import is_classifier

from mercer import KernelOrdinalClassifier
from mercer.inspection import ModelReport, report
from mercer.preprocessing import convert
from mercer_command.columns import DATES
from mercer_command.importances import ColumnImportance, columns_that_matter
from mercer_command.members import named_members
from mercer_command.messages import counted
from mercer_command.methods import why_undefined
from mercer_command.options import Fit
from mercer_command.output import Bar
from mercer_command.pipelines import fit_arguments, make_model
from mercer_command.problem import COPIES, unit_of
from mercer_command.streaming import Training
from mercer_command.stricter_split import OtherRows, Read, StricterSplit, called_for
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
    rows : {"held-out", "known", "given"}
        "held-out" if the model did not learn from these rows, "known" if it learned from at least
        some of them, and "given" if this is unknown.
    told : str
        Remark on these rows.
    training : Training or None
        The rows that the model learned from and was tested on; None for a saved model.
    others : OtherRows or None
        Scores on rows drawn at random, if a check calls for another split.
    """

    model: TableModel
    name: str
    task: Task
    unit: str
    X: pd.DataFrame
    y: Array | None
    importances: Sequence[ColumnImportance] = ()
    report: ModelReport | None = None
    rows: Literal["held-out", "known", "given"] = "held-out"
    told: str = ""
    training: Training | None = None
    others: OtherRows | None = None

    @property
    def has_dates(self) -> bool:
        """Whether responses are dates, which models represent as days since 1970-01-01."""
        return self.task == "regression" and self.model["reader"].target[1] == "date"

    @property
    def in_logarithms(self) -> bool:
        """Whether the first score of the report compares logarithms of responses."""
        return self.report is not None and self.report.metric == "log_rmse"


def fit(
    training: Training,
    given: Fit,
    bar: Bar,
    on_fitted: Callable[[TableModel], None],
    *,
    read: Read | None = None,
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
    read : callable, default=None
        Reads the problem again, with columns of groups or times. With it, another model is tested
        on the split that the checks call for, if they do, and is returned.
    """
    trial = _fit_and_test(training, given, bar, on_fitted)
    assert trial.report is not None
    stricter = called_for(trial.report, training, given, read)
    if stricter is not None:
        bar.step(f"learning again, to test on {stricter.new_rows}")
        other = _fit_and_test(stricter.training, given, bar, lambda model: None)
        trial = _with_others(trial, other, stricter)
        on_fitted(trial.model)
    bar.step("measuring the importance of columns")
    return _measured(trial, given.seed)


def refit(trial: Trial, given: Fit) -> TableModel:
    """Return a model like the tested one that learned from all rows.

    Parameters
    ----------
    trial : Trial
        A trial of a table that is in memory.
    given : Fit
    """
    assert trial.training is not None
    training = trial.training
    rows = np.sort(np.concatenate([training.train, training.test]))
    return _fitted(replace(training, train=rows), replace(given, metric=trial.model.metric_))


def _fitted(training: Training, given: Fit) -> TableModel:
    """Return a model of the training rows."""
    problem, train, source = training.problem, training.train, training.source
    X, y = problem.features, problem.target
    settings: Any = {"seed": given.seed, "device": given.device, "metric": given.metric}
    members = [one.estimator(problem.task, given.seed) for one in named_members(given.with_)]
    model = make_model(given.learner, problem, train, members=members, **settings)
    if source is None:
        model.fit(X.iloc[train], y[train], **fit_arguments(model, problem, train))
    else:
        model.set_params(reader__remembers=False)  # The reader sees only a sample of the rows.
        model[-1].fit(source.with_encoder(model[:-1].fit(X.iloc[train], y[train])))
    return model


def _fit_and_test(
    training: Training,
    given: Fit,
    bar: Bar,
    on_fitted: Callable[[TableModel], None],
) -> Trial:
    """Learn from the training rows, and report on the test rows."""
    problem, train = training.problem, training.train
    X, y, group = problem.features, problem.target, problem.groups
    is_sample = len(train) < training.n_train
    model = _fitted(training, given)
    on_fitted(model)
    bar.step(f"testing on {counted(len(training.test), 'row')}, beside simple predictors")
    X_test, y_test = X.iloc[training.test], y[training.test]
    # The model ignores identifiers, but the checks search them for groups of rows.
    seen = X if problem.beside is None else X.join(problem.beside)
    tested = report(
        model,
        seen.iloc[training.test],
        y_test,
        None if group is None else group[training.test],
        train=(seen.iloc[train], y[train], *fit_arguments(model, problem, train).values()),
        metric=given.metric,
        later=problem.times is not None,
        sampled=is_sample,
        random_state=given.seed,
    )
    if is_sample:
        told = f"Simple predictors learned from a sample of {len(train):,} training rows"
        tested = replace(tested, n_train=training.n_train, remarks=(*tested.remarks, told))
    if problem.together == COPIES:
        tested = replace(tested, n_groups=None)  # No reader knows rows and their copies as groups.
    unit = unit_of(problem.target_column.role)
    tried = model, problem.name, problem.task, unit, X_test, y_test
    return Trial(*tried, report=tested, training=training)


def _with_others(trial: Trial, other: Trial, stricter: StricterSplit) -> Trial:
    """Return the trial of the stricter split, with the scores of the one of rows drawn at random.

    The scores replace the warning that called for the split.
    """
    assert trial.report is not None
    assert other.report is not None
    problem = stricter.training.problem
    # Groups are searched for only where none are given, and may be of several columns.
    checks = other.report.checks + tuple(
        replace(check, sentences=check.sentences[1:], columns=check.columns[1:])
        for check in trial.report.checks
        if check.code == "identifiers" and problem.together not in ("", COPIES)
    )
    others = OtherRows.of(trial.report, other.report, stricter)
    return replace(other, report=replace(other.report, checks=checks), others=others)


def _measured(trial: Trial, seed: int = 0) -> Trial:
    """Measure the importance of columns by their effect on the error, if there is a report."""
    y = None if trial.report is None else trial.y
    found = columns_that_matter(
        trial.model, trial.X, y, in_logarithms=trial.in_logarithms, seed=seed
    )
    return replace(trial, importances=found)


def explain(model: TableModel, frame: pd.DataFrame) -> Trial:
    """Try a saved model on the rows of a table.

    Parameters
    ----------
    model : fitted TableModel
    frame : DataFrame of shape (n_rows, n_columns)
        A table with the columns of the model and, if it is to be tested, the target.

    Returns
    -------
    Trial
        Trial on the rows that the model did not learn from, or on all rows if these are too few.

    Raises
    ------
    ValueError
        If the table lacks columns of the model.
    """
    name, role, _ = model["reader"].target
    task: Task = "classification" if is_classifier(model) else "regression"
    y = None
    if name in frame.columns:
        typed = model["reader"].target_cells(frame).to_frame()
        known = typed[name].notna().to_numpy()
        if known.any():
            frame, y = frame[known], _target(typed[known], model, role)
    X = model["reader"].transform(frame)
    rows, chosen, told = _unseen(model, X)
    X, y = X.iloc[chosen], None if y is None else y[chosen]
    trial = Trial(model, name, task, unit_of(role), X, y, rows=rows, told=told)
    return _measured(trial if y is None else _tested(trial, y))


def _unseen(
    model: TableModel, X: pd.DataFrame
) -> tuple[Literal["held-out", "known", "given"], Array, str]:
    """Return the kind of the rows, positions of those that the model is tried on, and a remark."""
    seen, rows = model["reader"].learned_from(X), np.arange(len(X))
    if seen is None:
        return "given", rows, "it is not known whether the model learned from them"
    if not seen.any():
        return "held-out", rows, ""
    verb = "equals a row" if seen.sum() == 1 else "equal rows"
    told = f"{seen.sum():,} of {counted(len(X), 'row')} {verb} that the model learned from"
    if np.sum(~seen) >= MIN_ROWS:
        return "held-out", rows[~seen], f"{told}, and {'is' if seen.sum() == 1 else 'are'} left out"
    return "known", rows, f"{told}: errors of these known rows are not those of new rows"


def _tested(trial: Trial, y: Array) -> Trial:
    """Test a saved model on rows of the classes that it was fitted to, if there are enough."""
    known, remarks = np.ones(len(y), dtype=bool), list[str]()
    if trial.task == "classification":
        known = np.isin(y, trial.model.classes_)
    if not known.all():
        left_out = int((~known).sum())
        remarks.append(f"rows of classes that the model was not fitted to are left out: {left_out}")
    if known.sum() < MIN_ROWS:
        return replace(trial, told="; ".join(filter(None, (trial.told, *remarks))))
    metric = trial.model.metric_
    is_graded = isinstance(trial.model[-1], KernelOrdinalClassifier)
    if reason := why_undefined(metric, y[known], is_graded=is_graded):
        remarks.insert(0, f"The score of the fit is left out: {reason}")
    first = None if reason else metric
    tested = report(trial.model, trial.X[known], y[known], metric=first)
    return replace(trial, report=replace(tested, remarks=(*tested.remarks, *remarks)))


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

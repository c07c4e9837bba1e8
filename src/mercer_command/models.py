"""Models: learned from a table and tested, tried on another table, and used for predictions."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_classifier
from sklearn.pipeline import Pipeline

from mercer.inspection import ModelReport, kernel_terms, report
from mercer.preprocessing import convert
from mercer_command import importances
from mercer_command.columns import DATES, Choice, recognize_columns
from mercer_command.files import appended_table
from mercer_command.importances import ColumnImportance
from mercer_command.messages import InputError, listing, shown
from mercer_command.methods import learned_alignment, make_model
from mercer_command.notation import Array, as_dates, format_dates
from mercer_command.output import Bar
from mercer_command.problem import Task, unit_of
from mercer_command.streaming import Training, parquet_source
from mercer_command.table_files import Cells, is_parquet, read_cells


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
    report : ModelReport or None
        Scores of the model and of simple predictors on these rows, and what checks found, if the
        model was learned from others of the same table.
    alignment : tuple of str
        A line on the learned kernel, if the model has one.
    """

    model: Pipeline
    name: str
    task: Task
    unit: str
    X: pd.DataFrame
    y: Array | None
    importances: Sequence[ColumnImportance] = ()
    report: ModelReport | None = None
    alignment: tuple[str, ...] = ()

    @property
    def has_dates(self) -> bool:
        """Whether responses are dates, as days since 1970."""
        return self.task == "regression" and self.model["reader"].target[1] == "date"

    @property
    def learner(self) -> Any:
        """The estimator that learned the kernel: of a search, the best."""
        step = self.model[-1]
        return getattr(step, "best_estimator_", step)


def fit(
    training: Training, learner: str, seed: int, bar: Bar, on_fitted: Callable[[Pipeline], None]
) -> Trial:
    """Learn from the training rows of a problem and test on its test rows.

    Parameters
    ----------
    training : Training
        If it has a source, the columns' encoder is fitted to the training rows of the sample, and
        the predictor to all.
    learner : str
        One of `mercer_command.app.LEARNERS`.
    seed : int
    bar : Bar
        It shows the steps.
    on_fitted : callable
        Called with the model as soon as it is fitted.
    """
    problem, train, source = training.problem, training.train, training.source
    X, y, task = problem.features, problem.target, problem.task
    model = make_model(learner, problem, train, seed)
    group, known = problem.groups, {}
    if group is not None:
        known = {f"{model.steps[-1][0]}__groups": group[train]}
    if source is None:
        model.fit(X.iloc[train], y[train], **known)
    else:
        model[-1].fit(source.with_encoder(model[:-1].fit(X.iloc[train], y[train])))
    on_fitted(model)
    bar.step("testing")
    X_test, y_test = X.iloc[training.test], y[training.test]
    tested = report(
        model,
        X_test,
        y_test,
        None if group is None else group[training.test],
        train=(X.iloc[train], y[train], *known.values()),
        random_state=seed,
    )
    if source is not None:
        told = f"Simple predictors learned from a sample of {len(train):,} training rows"
        tested = replace(tested, n_train=training.n_train, remarks=(*tested.remarks, told))
    bar.step("measuring the importance of columns")
    found = importances.column_importances(model, X_test, y_test, task, seed=seed)
    unit = unit_of(problem.target_column.role)
    trial = Trial(model, problem.name, task, unit, X_test, y_test, found, tested)
    if kernel_terms(model).combines == "predictions":
        return trial
    aligned = learned_alignment(model, X_test, y_test, task)
    own = trial.learner.alignment_
    line = f"alignment with the target: {aligned:.3f} on held-out rows, {own:.3f} on training rows"
    return replace(trial, alignment=(line,))


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
    _needed_columns(model, frame.columns)
    task: Task = "classification" if is_classifier(model) else "regression"
    y = None
    if name in frame.columns:
        choice = Choice(role, "" if notation == "flag" else notation)
        typed, _ = recognize_columns(frame[[name]], {name: choice})
        known = typed[name].notna().to_numpy()
        frame, y = frame[known], _target(typed.loc[known, [name]], model, role)
    X = model["reader"].transform(frame)
    found = importances.column_importances(model, X, y, task, seed=seed)
    return Trial(model, name, task, unit_of(role), X, y, found)


def _needed_columns(model: Pipeline, names: Iterable[str]) -> list[str]:
    """Return the names of the columns of a model, or refuse a table that lacks some of them."""
    needed, known = [str(name) for name in model.feature_names_in_], set(names)
    if missing := [name for name in needed if name not in known]:
        raise InputError(f"the table lacks columns of the model: {listing(missing)}")
    return needed


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


# Numbers of rows with categories that a model was not fitted on, of each column.
NewCategories: TypeAlias = dict[str, Counter[str]]


def predict_file(
    model: Pipeline, table: Path, out: Path, coverage: float | None, bar: Bar
) -> tuple[int, list[str]]:
    """Predict each row of a table, and write the predictions.

    Parameters
    ----------
    model : fitted Pipeline of `mercer_command.fitting.fit`
    table : Path
        A CSV file, a Parquet file, or a folder of Parquet files.
    out : Path
        The file to write, which appears when it is complete.
    coverage : float or None
        Coverage of prediction intervals; no intervals if None.
    bar : Bar
        It shows the number of rows that were done.

    Returns
    -------
    n_rows : int
        Number of predictions.
    notes : list of str
        What was ignored, and which categories the model was not fitted on.

    Raises
    ------
    InputError
        If the table cannot be read or has no rows, or see `predict`.

    Notes
    -----
    Parquet files are read in parts, so that memory does not depend on their number of rows. Rows
    in which the target is missing are predicted too.
    """
    names, total, frames = _parts(model, table)
    found: NewCategories = {}
    bar.step("predicting", total)
    with appended_table(out) as append:
        for frame in frames:
            append(predict(model, frame, coverage, found))
            bar.advance(len(frame))
    extra = [name for name in names if name not in model.feature_names_in_]
    notes = [f"columns that the model does not use are ignored: {listing(extra)}"] if extra else []
    new = (
        f"{counts.total()} rows hold categories of '{shown(name)}' that the model was not fitted "
        f"on: {listing(counts, most=4)}"
        for name, counts in found.items()
    )
    return total, [*notes, *new]


def _parts(model: Pipeline, table: Path) -> tuple[list[str], int, Iterator[pd.DataFrame]]:
    """Return the names of a table's columns, its number of rows, and parts of the model's ones."""
    cells = None if table.exists() and is_parquet(table) else read_cells(table)
    names = [*(parquet_source(table).column_names if cells is None else cells.frame.columns)]
    needed = _needed_columns(model, names)
    if cells is not None:
        return names, len(cells.frame), iter([cells.frame[needed]])
    source = parquet_source(table, columns=needed)
    n_rows = source.count_rows()
    if n_rows == 0:
        raise InputError(f"the table {table} has no rows")
    return names, n_rows, (source.as_input(raw.X) for raw in source.raw_blocks())


def predict(
    model: Pipeline, frame: pd.DataFrame, coverage: float | None, found: NewCategories
) -> pd.DataFrame:
    """Predict each row of a part of a table.

    Parameters
    ----------
    model : fitted Pipeline of `mercer_command.fitting.fit`
    frame : DataFrame of shape (n_rows, n_columns)
        The columns that the model was fitted on, in that order.
    coverage : float or None
        Coverage of prediction intervals; no intervals if None.
    found : dict of str to Counter
        The categories that the model was not fitted on are added.

    Returns
    -------
    DataFrame of shape (n_rows, n_outputs)
        The column `prediction`. For classifiers with decision values, one column of them for two
        classes (positive for the second), else one for each class. For classifiers with
        probabilities, one column for each class. For regressors with uncertainties, the column
        `std` with the standard deviation of a new response. With `coverage`, the columns `lower`
        and `upper`.

    Raises
    ------
    InputError
        If columns hold text where the model was fitted on numbers; or if the model predicts no
        intervals.
    """
    typed = model["reader"].transform(frame)
    _count_new_categories(model, typed, found)
    encoded, step = model["columns"].transform(typed), model[-1]
    target = model["reader"].target
    role, notation = target[1:] if target else ("", "")
    predictions = pd.DataFrame({"prediction": _as_target(step.predict(encoded), role, notation)})
    if hasattr(step, "decision_function"):
        values: Array = step.decision_function(encoded)
        names = [f"decision_{name}" for name in step.classes_]
        predictions[names if values.ndim > 1 else names[1]] = values
    if hasattr(step, "predict_proba"):
        names = [f"probability_{name}" for name in step.classes_]
        predictions[names] = step.predict_proba(encoded)
    if hasattr(step, "noise_variance_"):
        _, predictions["std"] = step.predict(encoded, return_std=True, include_noise=True)
    if coverage is not None:
        bounds = intervals(step, encoded, coverage)
        predictions["lower"] = _as_target(bounds[:, 0], role, notation)
        predictions["upper"] = _as_target(bounds[:, 1], role, notation)
    return predictions


def _as_target(predicted: Array, role: str, notation: str) -> Array | list[str]:
    """Return predictions of dates as dates: in their notation, if they were text."""
    if role not in ("date", "time"):
        return predicted
    return format_dates(predicted, notation) if notation else as_dates(predicted)


def _count_new_categories(model: Pipeline, typed: pd.DataFrame, found: NewCategories) -> None:
    for key, encoder, names in model["columns"].transformers_:
        if key not in ("categories", "levels") or not len(names):
            continue
        [categories] = [step.categories_ for step in encoder if hasattr(step, "categories_")]
        for name, known in zip(names, categories, strict=True):
            values = convert(typed[[name]], "category")[:, 0]
            new = values[~np.isin(values.astype(str), known.astype(str)) & typed[name].notna()]
            if len(new):
                found.setdefault(name, Counter()).update(new)

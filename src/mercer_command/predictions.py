"""Prediction of the rows of tables with saved models."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mercer_command.files import appended_table
from mercer_command.messages import InputError, listing
from mercer_command.options import Predict
from mercer_command.output import Bar
from mercer_command.outside import Outside, outside_notes, rows_outside
from mercer_command.streaming import parquet_source
from mercer_command.table_files import is_parquet, read_cells
from mercer_command.table_model import TableModel
from mercer_command.values import Array, as_dates, check_column, format_dates

if TYPE_CHECKING:
    from mercer_command.contributions import Reasons


def predict_file(model: TableModel, given: Predict, bar: Bar) -> tuple[int, list[str]]:
    """Predict each row of a table, and write the predictions.

    Parameters
    ----------
    model : fitted TableModel
    given : Predict
        Options: the table, which is a CSV file, a Parquet file, or a folder of Parquet files, the
        file to write, the coverage of prediction intervals, and the columns to copy.
    bar : Bar
        Progress bar that shows the number of predicted rows.

    Returns
    -------
    n_rows : int
    notes : list of str
        Notes on the file, on ignored columns, and on what is outside of what the model learned
        from.

    Raises
    ------
    InputError
        If the table cannot be read, has no rows, or lacks columns, or in the cases listed in
        `predict`.

    Notes
    -----
    Parquet files are read in parts, so that memory does not depend on the number of rows. Rows in
    which the target is missing are predicted too.
    """
    table, cells, names = given.table, None, list[str]()
    if table.exists() and is_parquet(table):
        names = list(parquet_source(table).column_names)
    # Columns of a range that pandas uses as the index are not stored in a file.
    if not table.is_dir() and not {*model.feature_names_in_} <= {*names}:
        cells = read_cells(table, header=not given.no_header)
        names = list(cells.frame.columns)
    kept = [name.strip() for name in (given.keep or "").split(",") if name.strip()]
    for name in kept:
        check_column("--keep", name, names)
    used = list(dict.fromkeys([*model.feature_names_in_, *kept]))
    predicted = partial(_predicted_part, model=model, kept=kept, coverage=given.interval)
    if cells is None:
        source = parquet_source(table, columns=used)
        n_rows, parts = source.count_rows(), source.map_frames(predicted)
    else:
        n_rows, parts = len(cells.frame), map(predicted, [cells.frame])
    if n_rows == 0:
        raise InputError(f"the table {table} has no rows")
    bar.step("predicting", n_rows)
    found = Outside()
    with appended_table(given.out) as append:
        for frame, outside in parts:
            append(frame)
            bar.advance(len(frame))
            found.add(outside)
    notes = [] if cells is None else [*cells.notes]
    known = set(used)
    if extra := [name for name in names if name not in known]:
        notes.append(f"columns that the model does not use are ignored: {listing(extra)}")
    return n_rows, [*notes, *outside_notes(model, found)]


def _predicted_part(
    frame: pd.DataFrame, *, model: TableModel, kept: list[str], coverage: float | None
) -> tuple[pd.DataFrame, Outside]:
    """Return copied columns and predictions of a part of a table, and what is outside."""
    typed = model["reader"].transform(frame)
    predicted = predict(model, typed, coverage)
    # A column of the table may have the same name as a column of the predictions.
    copied = frame[kept].reset_index(drop=True)
    copied.columns = [f"{name} (kept)" if name in predicted else name for name in kept]
    return pd.concat([copied, predicted], axis="columns"), rows_outside(model, typed)


def explained_rows(
    model: TableModel, frame: pd.DataFrame, bar: Bar, names: Sequence[str] | None = None
) -> Reasons:
    """Predict rows of a table, and explain the predictions by its columns.

    Parameters
    ----------
    model : fitted TableModel
    frame : DataFrame of shape (n_rows, n_columns)
        Rows, with at least the columns of the model.
    bar : Bar
        Progress bar that shows the number of explained rows.
    names : sequence of str, default=None
        The columns that are explained one by one; None stands for all columns.
    """
    # Predictions alone do not need the package of explanations.
    from mercer_command.contributions import reasons

    frame = frame[list(model.feature_names_in_)].reset_index(drop=True)
    typed = model["reader"].transform(frame)
    bar.step("explaining rows", len(frame))
    return reasons(
        model, frame, typed, predict(model, typed)["prediction"], bar.advance, names=names
    )


def predict(model: TableModel, typed: pd.DataFrame, coverage: float | None = None) -> pd.DataFrame:
    """Predict each row of a part of a table.

    Parameters
    ----------
    model : fitted TableModel
    typed : DataFrame of shape (n_rows, n_columns)
        Columns as the reader of the model converts them.
    coverage : float, default=None
        Coverage of prediction intervals; no intervals if None.

    Returns
    -------
    DataFrame of shape (n_rows, n_outputs)
        Predictions in the digits that are written; see `rounded`.
        The first column is `prediction`. Classifiers with decision values add one column for two
        classes, whose positive values stand for the second class, or one column per class for more
        classes. Classifiers with probabilities add one column per class. Regressors with
        uncertainties add the column `std`, the standard deviation of a new response. If `coverage`
        is given, the columns `lower` and `upper` come last.

    Raises
    ------
    InputError
        If the model predicts no intervals.
    """
    encoded, step = model.encoder.transform(typed), model.predictor
    _, role, notation = model["reader"].target
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
        if not hasattr(step, "predict_interval"):
            raise InputError(
                "the model predicts no intervals; those of mercer fit --learner stacking do, if "
                "the target is a response"
            )
        bounds = model.within_limits(step.predict_interval(encoded, coverage))
        predictions["lower"] = _as_target(bounds[:, 0], role, notation)
        predictions["upper"] = _as_target(bounds[:, 1], role, notation)
    return rounded(predictions, model.decimals_)


def rounded(predicted: pd.DataFrame, decimals: int | None) -> pd.DataFrame:
    """Round predicted responses, probabilities and decision values to the digits that are written.

    Parameters
    ----------
    predicted : DataFrame
        Predictions as `predict` returns them.
    decimals : int or None
        Number of decimals of responses and of the ends of intervals; None if they are not rounded.
        Probabilities have four decimals, or more where fewer than two digits would remain of the
        probability, or of what it lacks of one. So have decision values, which keep their signs.
    """
    changed: dict[str, Array] = {}
    for name in predicted.columns:
        values = predicted[name].to_numpy()
        if name.startswith(("probability_", "decision_")):
            is_share = name.startswith("probability_")
            rest = np.minimum(values, 1.0 - values) if is_share else np.abs(values)
            power = 10.0 ** np.maximum(4.0, 1.0 - np.floor(np.log10(np.maximum(rest, 1e-12))))
            changed[name] = np.round(values * power) / power
        elif decimals is not None and name in ("prediction", "lower", "upper", "std"):
            # A standard deviation has one more digit.
            changed[name] = np.round(values, decimals + (name == "std"))
    return predicted.assign(**changed)


def _as_target(predicted: Array, role: str, notation: str) -> Array | list[str]:
    """Convert predicted days to dates, written as in the training table if it held text."""
    if role not in ("date", "time"):
        return predicted
    return format_dates(predicted, notation) if notation else as_dates(predicted)

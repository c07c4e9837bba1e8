"""Predictions for the rows of a table, part by part."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from mercer.preprocessing import convert
from mercer_command.fitting import intervals
from mercer_command.messages import InputError, listing, shown
from mercer_command.notation import Array, as_dates, format_dates
from mercer_command.streaming import parquet_source
from mercer_command.table_files import appended_table, is_parquet, read_cells

# Numbers of rows with categories that a model was not fitted on, of each column.
NewCategories: TypeAlias = dict[str, Counter[str]]


def predict_file(
    model: Pipeline,
    table: Path,
    out: Path,
    coverage: float | None = None,
    *,
    on_start: Callable[[int], None] = lambda n_rows: None,
    on_rows: Callable[[int], None] = lambda n_rows: None,
) -> tuple[int, list[str]]:
    """Predict each row of a table, and write the predictions.

    Parameters
    ----------
    model : fitted Pipeline of `mercer_command.fitting.fit`
    table : Path
        A CSV file, a Parquet file, or a folder of Parquet files.
    out : Path
        The file to write, which appears when it is complete.
    coverage : float, default=None
        Coverage of prediction intervals; no intervals if None.
    on_start : callable, default=nothing
        Called with the number of rows.
    on_rows : callable, default=nothing
        Called with numbers of rows that were done.

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
    needed = [str(name) for name in model.feature_names_in_]
    names, total, frames = _parts(needed, table)
    found: NewCategories = {}
    on_start(total)
    with appended_table(out) as append:
        for frame in frames:
            append(predict(model, frame, coverage, found))
            on_rows(len(frame))
    extra = [name for name in names if name not in needed]
    notes = [f"columns that the model does not use are ignored: {listing(extra)}"] if extra else []
    new = (
        f"{counts.total()} rows hold categories of '{shown(name)}' that the model was not fitted "
        f"on: {listing(counts, most=4)}"
        for name, counts in found.items()
    )
    return total, [*notes, *new]


def _parts(needed: list[str], table: Path) -> tuple[list[str], int, Iterator[pd.DataFrame]]:
    """Return the names of a table's columns, its number of rows, and parts of the needed ones."""
    cells = None if table.exists() and is_parquet(table) else read_cells(table)
    names = [*(parquet_source(table).column_names if cells is None else cells.frame.columns)]
    missing = [name for name in needed if name not in names]
    if missing:
        raise InputError(f"the table lacks columns of the model: {listing(missing)}")
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
        if values.ndim == 1:
            predictions[f"decision_{step.classes_[1]}"] = values
        else:
            predictions[[f"decision_{name}" for name in step.classes_]] = values
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

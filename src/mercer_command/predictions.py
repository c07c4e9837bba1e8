"""Prediction of the rows of tables with saved models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from mercer import ParquetSource
from mercer_command.files import appended_table
from mercer_command.messages import InputError, did_you_mean, listing
from mercer_command.output import Bar
from mercer_command.outside import Outside, outside_notes, rows_outside
from mercer_command.streaming import parquet_source
from mercer_command.table_files import is_parquet, read_cells
from mercer_command.table_model import TableModel
from mercer_command.values import Array, as_dates, format_dates

if TYPE_CHECKING:
    from mercer_command.contributions import Reasons

Result = TypeVar("Result")


@dataclass(frozen=True)
class TableRows:
    """The rows of a table that a model predicts, with the columns that it was fitted to.

    Attributes
    ----------
    names : tuple of str
        Names of all columns of the table.
    n_rows : int
    parts : ParquetSource or DataFrame
        The rows of Parquet files, or of a text file.
    kept : tuple of str
        Names of the columns that are copied to the predictions.
    notes : tuple of str
        Notes on unusual properties of the file.
    """

    names: tuple[str, ...]
    n_rows: int
    parts: ParquetSource | pd.DataFrame
    kept: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def map(self, function: Callable[[pd.DataFrame], Result]) -> Iterator[Result]:
        """Apply a function to parts of consecutive rows, and yield the results in order.

        Parameters
        ----------
        function : callable
        """
        if isinstance(self.parts, ParquetSource):
            return self.parts.map_frames(function)
        return map(function, [self.parts])


def rows_to_predict(
    model: TableModel, table: Path, keep: str | None = None, *, header: bool = True
) -> TableRows:
    """Open a table whose rows a model can predict.

    Parameters
    ----------
    model : fitted TableModel
    table : Path
        A CSV file, a Parquet file, or a folder of Parquet files.
    keep : str, default=None
        Names of columns that are copied to the predictions, separated by commas.
    header : bool, default=True
        Whether the first line of a CSV file holds the names of the columns.

    Returns
    -------
    TableRows

    Raises
    ------
    InputError
        If the table cannot be read, has no rows, or lacks columns of the model.
    """
    frame, names, notes = None, tuple[str, ...](), tuple[str, ...]()
    if table.exists() and is_parquet(table):
        names = tuple(parquet_source(table).column_names)
    # Columns of a range that pandas uses as the index are not stored in a file.
    if not table.is_dir() and not {*model.feature_names_in_} <= {*names}:
        cells = read_cells(table, header=header)
        frame, notes, names = cells.frame, cells.notes, tuple(cells.frame.columns)
    kept = tuple(name.strip() for name in (keep or "").split(",") if name.strip())
    if absent := [name for name in kept if name not in names]:
        raise InputError(
            f"--keep names {listing(absent)}{did_you_mean(absent[0], names)}, and the table has "
            f"{listing(names)}"
        )
    columns = list(dict.fromkeys([*needed_columns(model, names), *kept]))
    if frame is not None:
        return TableRows(names, len(frame), frame[columns], kept, notes)
    source = parquet_source(table, columns=columns)
    n_rows = source.count_rows()
    if n_rows == 0:
        raise InputError(f"the table {table} has no rows")
    return TableRows(names, n_rows, source, kept)


def predict_file(
    model: TableModel,
    rows: TableRows,
    out: Path,
    coverage: float | None,
    bar: Bar,
    *,
    n_reasons: int = 0,
) -> list[str]:
    """Predict each row of a table, and write the predictions.

    Parameters
    ----------
    model : fitted TableModel
    rows : TableRows
    out : Path
        File to write, which appears when it is complete.
    coverage : float or None
        Coverage of prediction intervals; no intervals if None.
    bar : Bar
        Progress bar that shows the number of predicted rows.
    n_reasons : int, default=0
        Number of contributions in words that are added to each prediction.

    Returns
    -------
    list of str
        Notes on ignored columns, and on rows outside of what the model learned from.

    Raises
    ------
    InputError
        If the table cannot be read, or in the cases listed in `predict`.

    Notes
    -----
    Parquet files are read in parts, so that memory does not depend on the number of rows. Rows in
    which the target is missing are predicted too.
    """
    found = Outside()
    with appended_table(out) as append:
        part = partial(
            _predicted_part,
            model=model,
            kept=rows.kept,
            coverage=coverage,
            n_reasons=n_reasons,
            advance=bar.advance,
        )
        for frame, outside in rows.map(part):
            append(frame)
            found.add(outside)
    used = {*model.feature_names_in_, *rows.kept}
    extra = [name for name in rows.names if name not in used]
    notes = [f"columns that the model does not use are ignored: {listing(extra)}"] if extra else []
    return [*notes, *outside_notes(model, found)]


def explained_rows(model: TableModel, frame: pd.DataFrame, bar: Bar) -> Reasons:
    """Predict rows of a table, and explain the predictions by its columns.

    Parameters
    ----------
    model : fitted TableModel
    frame : DataFrame of shape (n_rows, n_columns)
        Rows, with at least the columns of the model.
    bar : Bar
        Progress bar that shows the number of explained rows.
    """
    from mercer_command.contributions import reasons

    frame = frame[needed_columns(model, frame.columns)].reset_index(drop=True)
    typed = model["reader"].transform(frame)
    bar.step("explaining rows", len(frame))
    return reasons(model, frame, typed, _written(model, typed)["prediction"], bar.advance)


def _predicted_part(
    frame: pd.DataFrame,
    *,
    model: TableModel,
    kept: tuple[str, ...],
    coverage: float | None,
    n_reasons: int,
    advance: Callable[[int], object],
) -> tuple[pd.DataFrame, Outside]:
    """Return copied columns and predictions of a part of a table, and counts of rows outside."""
    typed = model["reader"].transform(frame)
    predicted = _written(model, typed, coverage)
    # A column of the table may have the same name as a column of the predictions.
    copied = frame[list(kept)].reset_index(drop=True)
    copied.columns = [f"{name} (kept)" if name in predicted else name for name in kept]
    parts = [copied, predicted]
    if n_reasons:
        # Predictions alone do not need the package of explanations.
        from mercer_command.contributions import reasons

        why = reasons(model, frame, typed, predicted["prediction"], advance)
        parts.append(why.frame(n_reasons))
    else:
        advance(len(frame))
    return pd.concat(parts, axis="columns"), rows_outside(model, typed)


def _written(model: TableModel, typed: pd.DataFrame, coverage: float | None = None) -> pd.DataFrame:
    """Predict each row of a part of a table, with the digits that are written; see `predict`."""
    return rounded(predict(model, typed, coverage), getattr(model, "decimals", None))


def predict(model: TableModel, typed: pd.DataFrame, coverage: float | None) -> pd.DataFrame:
    """Predict each row of a part of a table.

    Parameters
    ----------
    model : fitted TableModel
    typed : DataFrame of shape (n_rows, n_columns)
        Columns as the reader of the model converts them.
    coverage : float or None
        Coverage of prediction intervals; no intervals if None.

    Returns
    -------
    DataFrame of shape (n_rows, n_outputs)
        The first column is `prediction`. Classifiers with decision values add one column for two
        classes, whose positive values stand for the second class, or one column per class for more
        classes. Classifiers with probabilities add one column per class. Regressors with
        uncertainties add the column `std`, the standard deviation of a new response. If `coverage`
        is given, the columns `lower` and `upper` come last.

    Raises
    ------
    InputError
        If the model predicts no intervals, or the coverage is not between zero and one.
    """
    encoded, step = model["columns"].transform(typed), model[-1]
    target = model["reader"].target
    role, notation = target[1:] if target else ("", "")
    predictions = pd.DataFrame(
        {"prediction": _as_target(model.predict_encoded(encoded), role, notation)}
    )
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
        bounds = intervals(model, encoded, coverage)
        predictions["lower"] = _as_target(bounds[:, 0], role, notation)
        predictions["upper"] = _as_target(bounds[:, 1], role, notation)
    return predictions


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


def intervals(model: TableModel, encoded: npt.ArrayLike, coverage: float = 0.9) -> Array:
    """Predict intervals that hold the response with some probability.

    Parameters
    ----------
    model : fitted TableModel
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
    if not hasattr(model, "predict_interval"):
        raise InputError(
            "the model predicts no intervals; those of mercer fit --learner stacking do, if the "
            "target is a response"
        )
    return model.intervals_of(encoded, coverage)


def needed_columns(model: TableModel, names: Iterable[str]) -> list[str]:
    """Return the names of the columns of a model, after checking that a table has them.

    Parameters
    ----------
    model : fitted TableModel
    names : iterable of str
        Names of the columns of the table.

    Raises
    ------
    InputError
        If the table lacks columns of the model.
    """
    needed, known = [str(name) for name in model.feature_names_in_], set(names)
    if missing := [name for name in needed if name not in known]:
        hint = did_you_mean(missing[0], known - {*needed})
        raise InputError(f"the table lacks columns of the model: {listing(missing)}{hint}")
    return needed

"""Contributions of columns to predictions, in words and as numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import floor, log10

import numpy as np
import pandas as pd

from mercer.inspection import ShapleyValues, shapley_values
from mercer.preprocessing import is_text
from mercer_command.columns import DATES
from mercer_command.importances import ColumnImportance
from mercer_command.messages import shown
from mercer_command.table_model import TableModel
from mercer_command.values import Array

N_WORDS = 3
"""Number of contributions that explain a row in words."""

_BATCH = 50
"""Number of rows that are explained between two reports of progress."""


@dataclass(frozen=True)
class Reasons:
    """Contributions of columns to the predictions of rows.

    Attributes
    ----------
    values : ShapleyValues
        Contributions, whose `data` are the cells of the table.
    predictions : sequence
        Predicted classes, responses or dates, as they are written.
    unit : str
        Unit of the response; empty if it is unknown.
    role : str
        Role of the target's column.
    """

    values: ShapleyValues
    predictions: Sequence[object]
    unit: str
    role: str

    def __len__(self) -> int:
        return len(self.predictions)

    def words(self, row: int) -> list[str]:
        """Return the largest contributions to a prediction as phrases.

        Parameters
        ----------
        row : int
        """
        found = self.values.in_words(row, N_WORDS, unit=self.unit)
        return [shown(phrase, longest=200) for phrase in found]

    def headline(self, row: int) -> str:
        """Return a prediction in words, compared with the prediction for the average row.

        Parameters
        ----------
        row : int
        """
        told = self.values.headline(row, unit=self.unit)
        if self.values.scale == "response" and self.role in DATES:
            told = f"Prediction {self.predictions[row]}"
        elif self.values.scale not in ("response", "log rate", "log response"):
            told = f"Predicted {self.predictions[row]}. {told}"
        return shown(told, longest=120)

    def table(self) -> pd.DataFrame:
        """Return predictions, their reasons in words, and all contributions as numbers.

        Notes
        -----
        The largest contribution has five digits, and all have its number of decimals.
        """
        amounts = np.array([self.values.of_row(row).values[row] for row in range(len(self))])
        largest = float(np.abs(amounts).max(initial=0.0))
        amounts = amounts.round(min(max(4 - floor(log10(largest)), 0), 12) if largest else 0)
        names = [f"contribution_{name}" for name in self.values.feature_names]
        words = [[*self.words(row), *[""] * N_WORDS][:N_WORDS] for row in range(len(self))]
        found = pd.DataFrame(words, columns=[f"why_{k + 1}" for k in range(N_WORDS)])
        found.insert(0, "prediction", list(self.predictions))
        return found.join(pd.DataFrame(amounts, columns=names))


def reasons(
    model: TableModel,
    frame: pd.DataFrame,
    typed: pd.DataFrame,
    predictions: Iterable[object],
    advance: Callable[[int], object] | None = None,
    *,
    names: Sequence[str] | None = None,
) -> Reasons:
    """Explain the predictions of rows by the columns of the table.

    Parameters
    ----------
    model : fitted TableModel of `mercer_command.pipelines.make_model`
    frame : DataFrame of shape (n_rows, n_columns)
        Cells of the model's columns, in the order of the model.
    typed : DataFrame of shape (n_rows, n_columns)
        The same cells as the model reads them.
    predictions : sequence
        Predictions of these rows.
    advance : callable, default=None
        Called with the number of rows that were explained since the last call.
    names : sequence of str, default=None
        The columns that are explained one by one; the others are explained together. None stands
        for all columns.
    """
    single, groups = set(typed.columns if names is None else names), dict[str, list[str]]()
    alone = [name for name in typed.columns if name in single]
    if rest := [name for name in typed.columns if name not in single]:
        groups[f"the other {len(rest):,} columns"] = rest
    parts = []
    for start in range(0, len(typed), _BATCH):
        part = typed.iloc[start : start + _BATCH]
        parts.append(shapley_values(model[1:], part, groups=groups))
        if advance is not None:
            advance(len(part))
    first = parts[0]
    values = replace(
        first,
        values=np.concatenate([one.values for one in parts]),
        covariances=np.concatenate([one.covariances for one in parts]),
        shrinkage=np.concatenate([one.shrinkage for one in parts]),
        data=np.hstack([_no_cells(len(typed), len(groups)), _cells(frame, typed, alone)]),
    )
    name, role = (*(model["reader"].target or ("", "")),)[:2]
    return Reasons(values, list(predictions), unit_of_target(name, role), role)


def unit_of_target(name: str, role: str) -> str:
    """Return the unit of the response: days, or the bracketed end of its column's name.

    Parameters
    ----------
    name, role : str
        Name and role of the target's column.

    Examples
    --------
    >>> unit_of_target("weight (kg)", "number"), unit_of_target("weight", "number")
    ('kg', '')
    """
    if role in DATES:
        return "days"
    found = re.search(r"[(\[]([^()\[\]]{1,12})[)\]]\s*$", name)
    return found[1].strip() if found else ""


def by_contributions(
    found: Sequence[ColumnImportance], values: ShapleyValues
) -> list[ColumnImportance]:
    """Return columns with their mean absolute contributions, the largest first.

    Parameters
    ----------
    found : sequence of ColumnImportance
    values : ShapleyValues
        Contributions of these columns to the predictions of rows.
    """
    several = values.output_names if len(values.output_names) > 1 else [None]
    means = np.mean([values.of_output(name).importances for name in several], axis=0)
    sizes = dict(zip(values.feature_names, means, strict=True))
    measured = [
        one._replace(size=float(sizes[one.name]), matters=True) if one.name in sizes else one
        for one in found
    ]
    # Columns that are explained together come last.
    return sorted(measured, key=lambda one: (not one.matters, -one.size if one.matters else 0.0))


def _no_cells(n_rows: int, n_groups: int) -> Array:
    """Return empty texts, as groups of columns have no cells."""
    return np.full((n_rows, n_groups), "", dtype=object)


def _cells(frame: pd.DataFrame, typed: pd.DataFrame, names: Sequence[str]) -> Array:
    """Return the cells as they were written, with None where the model reads a missing value."""
    found = np.empty((len(typed), len(names)), dtype=object)
    for column, name in enumerate(names):
        cells = frame[name].str.strip() if is_text(frame[name]) else frame[name]
        found[:, column] = cells.astype(object)
        found[typed[name].isna().to_numpy(), column] = None
    return found

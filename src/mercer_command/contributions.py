"""Explanations of predictions: importances of columns, and contributions in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from sklearn.inspection import permutation_importance
from sklearn.metrics import accuracy_score, root_mean_squared_error

from mercer.inspection import (
    ImportanceDisplay,
    ShapleyInteractions,
    ShapleyValues,
    kernel_terms,
    shapley_interactions,
    shapley_values,
)
from mercer.preprocessing import is_text
from mercer_command.columns import DATES
from mercer_command.messages import shown
from mercer_command.table_model import TableModel
from mercer_command.table_reader import source_columns
from mercer_command.target_column import Task
from mercer_command.values import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class ColumnImportance:
    """Importance of a column.

    Attributes
    ----------
    name : str
    relevance : float
        The column's share of the relevances that the kernels learned; NaN if they learned none, or
        if the share is unknown.
    increase, deviation : float
        Mean increase of the error on held-out rows when the column's cells are shuffled, and its
        standard deviation over the shuffles. NaN if the column was not shuffled.
    contribution : float
        Mean absolute contribution to predictions if there is no target, otherwise NaN.
    """

    name: str
    relevance: float
    increase: float = np.nan
    deviation: float = np.nan
    contribution: float = np.nan


def column_relevances(model: TableModel) -> dict[str, float]:
    """Return each column's share of the relevances that the kernels learned.

    Parameters
    ----------
    model : fitted TableModel of `mercer_command.pipelines.make_model`

    Returns
    -------
    dict of str to float
        Each share is a sum over the features that encode the column. NaN if all features are
        equally relevant, as for kernels of one width, or if a relevance is unknown.
    """
    relevance = kernel_terms(model).relevance
    sources = source_columns(model["columns"])
    names = [str(name) for name in model.feature_names_in_]
    if relevance.size != len(sources) or not np.ptp(relevance) > 0.0:
        return dict.fromkeys(names, np.nan)
    shares = dict.fromkeys(names, 0.0)
    for name, value in zip(sources, relevance / relevance.sum(), strict=True):
        shares[name] += float(value)
    return shares


def why_no_relevance(model: TableModel) -> str:
    """Return a sentence that explains why the columns of a model have no relevances.

    Parameters
    ----------
    model : fitted TableModel of `mercer_command.pipelines.make_model`
        A model whose columns have no relevances.
    """
    relevance = kernel_terms(model).relevance
    if np.isnan(relevance).any():
        return "No relevance is shown, as the formula of a kernel does not tell it."
    if not relevance.any():
        return "No relevance is shown, as predictions are the same for all rows."
    return "No relevance is shown, as the kernels have one width for all columns."


def columns_that_matter(
    model: TableModel,
    X: pd.DataFrame,
    y: Array | None,
    task: Task,
    *,
    seed: int = 0,
    max_predictions: int = 12_000,
) -> list[ColumnImportance]:
    """Measure the importance of columns by shuffling each of them in held-out rows.

    Parameters
    ----------
    model : fitted TableModel of `mercer_command.pipelines.make_model`
    X : DataFrame of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,) or None
        The target; if None, no column is shuffled.
    task : {"classification", "regression"}
    seed : int, default=0
    max_predictions : int, default=12_000
        Largest number of predictions in total. If there are many columns, only the most relevant
        ones are shuffled.

    Returns
    -------
    list of ColumnImportance
        The most important column comes first.

    Notes
    -----
    Each column is shuffled three times, in a random sample of 250 rows if there are more. Rows are
    encoded once, and the features that encode a column are shuffled together.
    """
    relevances, repeats = column_relevances(model), 3
    found = {name: ColumnImportance(name, share) for name, share in relevances.items()}
    if y is not None and len(y) > 1:
        rows = np.sort(np.random.default_rng(seed).permutation(len(y))[:250])
        by_relevance = sorted(relevances, key=lambda name: -np.nan_to_num(relevances[name]))
        names = by_relevance[: max(1, max_predictions // (repeats * len(rows)))]
        measured = permutation_importance(
            model,
            pd.DataFrame(dict.fromkeys(names, np.arange(len(rows)))),
            y[rows],
            scoring=_ScoreOfRows(model, X.iloc[rows], task),
            n_repeats=repeats,
            random_state=seed,
        )
        for name, increases in zip(names, measured.importances, strict=True):
            mean, deviation = float(increases.mean()), float(increases.std(ddof=1))
            found[name] = ColumnImportance(name, relevances[name], mean, deviation)
    # Columns that were not measured come last.
    return sorted(
        found.values(),
        key=lambda c: (-np.nan_to_num(c.increase, nan=-np.inf), -np.nan_to_num(c.relevance)),
    )


class _ScoreOfRows:
    """Scorer of a model whose columns take values of other rows, which are given by position."""

    def __init__(self, model: TableModel, X: pd.DataFrame, task: Task) -> None:
        self.model, self.task, self.encoded = model, task, model[:-1].transform(X)
        self.sources = np.array(source_columns(model["columns"]))

    def __call__(self, _: TableModel, rows: pd.DataFrame, y: Array) -> float:
        given = self.encoded.to_numpy(dtype=float)
        values = given.copy()
        for name in rows.columns:
            features = self.sources == name
            values[:, features] = given[np.ix_(rows[name].to_numpy(), features)]
        encoded = pd.DataFrame(values, columns=self.encoded.columns)
        predicted = self.model.predict_encoded(encoded)
        if self.task == "classification":
            return float(accuracy_score(y, predicted))
        return -float(root_mean_squared_error(y, predicted))


N_WORDS = 3
"""Number of contributions that explain a row in words."""

_BATCH = 50
"""Number of rows that are explained between two reports of progress."""

OTHERS = "other columns"
"""Name of the group of all other columns."""


@dataclass(frozen=True)
class Reasons:
    """Contributions of columns to the predictions of rows.

    Attributes
    ----------
    values : ShapleyValues
        Contributions, whose `data` are the cells of the table.
    predictions : sequence
        Predicted classes, responses or dates.
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

    def words(self, row: int, n_largest: int = N_WORDS) -> list[str]:
        """Return the largest contributions to a prediction as phrases.

        Parameters
        ----------
        row : int
        n_largest : int, default=3
        """
        found = self.values.in_words(row, n_largest, unit=self.unit)
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
        elif self.values.scale != "response":
            told = f"Predicted {self.predictions[row]}. {told}"
        return shown(told, longest=120)

    def draw(self, row: int, ax: Axes) -> None:
        """Draw the contributions to a prediction.

        Parameters
        ----------
        row : int
        ax : matplotlib Axes
        """
        ImportanceDisplay(self.values, row, unit=self.unit).plot(ax=ax, max_columns=6)
        ax.set_title(f"Row {row + 1}")

    def frame(self, n_largest: int) -> pd.DataFrame:
        """Return the largest contributions to each prediction in words, one per column.

        Parameters
        ----------
        n_largest : int
        """
        names = [f"why_{k + 1}" for k in range(n_largest)]
        rows = [self.words(row, n_largest) for row in range(len(self))]
        padded = [phrases + [""] * (n_largest - len(phrases)) for phrases in rows]
        return pd.DataFrame(padded, columns=names)

    def table(self, n_largest: int = N_WORDS) -> pd.DataFrame:
        """Return predictions, their reasons in words, and all contributions as numbers.

        Parameters
        ----------
        n_largest : int, default=3
        """
        found = [self.values.of_row(row) for row in range(len(self))]
        amounts = np.array([one.values[row] for row, one in enumerate(found)])
        names = [f"contribution_{name}" for name in self.values.feature_names]
        parts = [
            pd.DataFrame({"prediction": list(self.predictions)}),
            self.frame(n_largest),
            pd.DataFrame(amounts, columns=names),
        ]
        return pd.concat(parts, axis="columns")


def reasons(
    model: TableModel,
    frame: pd.DataFrame,
    typed: pd.DataFrame,
    predictions: Iterable[object],
    advance: Callable[[int], object] | None = None,
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
    """
    parts = []
    for start in range(0, len(typed), _BATCH):
        part = typed.iloc[start : start + _BATCH]
        parts.append(shapley_values(model[1:], part))
        if advance is not None:
            advance(len(part))
    first = parts[0]
    values = replace(
        first,
        values=np.concatenate([one.values for one in parts]),
        covariances=np.concatenate([one.covariances for one in parts]),
        shrinkage=np.concatenate([one.shrinkage for one in parts]),
        data=_cells(frame, typed),
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


def exact_interactions(
    model: TableModel, X: pd.DataFrame, important: list[str], seed: int = 0, n_paired: int = 8
) -> ShapleyInteractions | None:
    """Return the interactions of the most important columns if they are known exactly.

    Parameters
    ----------
    model : fitted TableModel of `mercer_command.pipelines.make_model`
    X : DataFrame of shape (n_rows, n_columns)
    important : list of str
        Names of columns, the most important first.
    seed : int, default=0
        Seed of the random draw of 50 rows, if there are more rows.
    n_paired : int, default=8
        Number of columns that are compared in pairs. All others form one group.

    Returns
    -------
    ShapleyInteractions or None
    """
    if len(important) < 2:
        return None
    rest = important[n_paired:]
    groups = {OTHERS: rest} if len(rest) > 1 else None
    drawn = X.sample(min(len(X), 50), random_state=seed)
    try:
        return shapley_interactions(model[1:], drawn, groups=groups, independent=True)
    except TypeError:
        return None


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
    sizes = dict(zip(values.feature_names, mean_sizes(values), strict=True))
    measured = [replace(one, contribution=float(sizes[one.name])) for one in found]
    return sorted(measured, key=lambda one: -one.contribution)


def mean_sizes(values: ShapleyInteractions | ShapleyValues) -> Array:
    """Return mean absolute values over rows and, if there are several classes, over the classes.

    Parameters
    ----------
    values : ShapleyInteractions or ShapleyValues
    """
    several = values.output_names if len(values.output_names) > 1 else [None]
    return np.mean([values.of_output(name).importances for name in several], axis=0)


def _cells(frame: pd.DataFrame, typed: pd.DataFrame) -> Array:
    """Return the cells as they were written, with None where the model reads a missing value."""
    found = np.empty(typed.shape, dtype=object)
    for column, name in enumerate(typed.columns):
        cells = frame[name].str.strip() if is_text(frame[name]) else frame[name]
        found[:, column] = cells.astype(object)
        found[typed[name].isna().to_numpy(), column] = None
    return found

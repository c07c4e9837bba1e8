"""A check for residuals or targets of neighbors that are alike in an order of the rows."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy import stats

from mercer._data.types import Array
from mercer.inspection._checks import LEAST_CORRELATION, LEVEL, Check
from mercer.inspection._columns import ColumnValues, means_of_units
from mercer.inspection._held_out import Predictions, Truth
from mercer.preprocessing import odd_value

_LEAST_OF_RESIDUALS = 0.15
"""Smaller correlations of neighboring residuals hardly change the error of later rows."""


class TimeOrder(Check):
    """Neighboring residuals or targets are alike."""

    code = "time order"
    advice = "try cv=TimeSeriesSplit()"

    @classmethod
    def of(cls, orders: dict[str, Array], targets: dict[str, Array]) -> Self:
        """Check whether neighbors are alike in any order of the rows.

        Parameters
        ----------
        orders : dict of str to ndarray of shape (n_units,)
            Residuals in each order, by the name of the order.
        targets : dict of str to ndarray of shape (n_units,)
            Targets in the order of each column, by the name of the column. If neighboring targets
            are alike, the scores of a model that interpolates between rows say little about later
            rows.

        Notes
        -----
        The rank correlation of neighbors is compared with its mean and variance over all
        permutations of the values by the normal approximation. The correlation of targets also has
        to exceed 0.1, and that of residuals 0.15, where it is two percent of their variance.

        References
        ----------
        Wald, Wolfowitz (1943). An exact test for randomness in the non-parametric case based on
        serial correlation. Annals of Mathematical Statistics 14.
        """
        told, n_tests = dict[str, str](), len(orders) + len(targets)
        for name, values in targets.items():
            if correlation := _correlation(values, n_tests, LEAST_CORRELATION):
                told[
                    f"rows follow each other by '{name}', and targets of neighbors are alike (rank "
                    f"correlation {correlation:.2f}): the scores hold for rows between others, and "
                    "not for later ones"
                ] = name
        for name, values in orders.items():
            if correlation := _correlation(values, n_tests, _LEAST_OF_RESIDUALS):
                told[
                    f"residuals of neighbors {name} are alike (rank correlation {correlation:.2f}):"
                    " rows may depend on time or on what they were sorted by, and later rows may "
                    "be predicted worse than the scores say"
                ] = ""
        return cls(tuple(told), tuple(told.values()))


def neighbor_correlation(values: Array) -> tuple[float, float]:
    """Return the circular rank correlation of neighbors, and its standardized value.

    Parameters
    ----------
    values : ndarray of shape (n_units,)

    Notes
    -----
    Over all permutations of n values, the correlation has mean -1 / (n - 1) and a variance of about
    1 / n.
    """
    n, ranks = len(values), stats.rankdata(values)
    if n < 4 or not np.ptp(ranks):
        return 0.0, 0.0
    correlation = float(np.corrcoef(ranks, np.roll(ranks, 1))[0, 1])
    return correlation, (correlation + 1.0 / (n - 1)) * np.sqrt(n)


def _correlation(values: Array, n_tests: int, least: float) -> float:
    """Return the correlation of neighbors, zero if it is small or not significant."""
    correlation, z = neighbor_correlation(values)
    is_clear = float(stats.norm.sf(z)) * n_tests <= LEVEL
    return correlation if is_clear and correlation > least else 0.0


def orders(
    columns: list[ColumnValues], truth: Truth, predictions: Predictions, rows: str
) -> dict[str, Array]:
    """Return residuals of units in the order of the rows, and in the order of each date column.

    Parameters
    ----------
    columns : list of ColumnValues
        Columns whose last rows are the rows of the predictions.
    truth : Truth
    predictions : Predictions
        Predictions for the rows, NaN for rows without predictions.
    rows : str
        Phrase that denotes the rows in sentences.
    """
    residuals, found = _residuals(truth, predictions), {}
    known, units = ~np.isnan(residuals), truth.units
    if not _is_sorted(truth):
        means = means_of_units(residuals, units)
        first = np.unique(units[known], return_index=True)[1]
        found[f"in the order {rows}"] = means[~np.isnan(means)][np.argsort(first)]
    dates = [column for column in columns if column.kind == "date"]
    return found | {f"by '{one.name}'": _in_order(one, residuals, units) for one in dates}


def target_orders(columns: list[ColumnValues], truth: Truth) -> dict[str, Array]:
    """Return targets in the order of each column that orders rows in time.

    Such columns are dates and row counters.

    Parameters
    ----------
    columns : list of ColumnValues
        Columns whose last rows are the rows of the targets. A counter is a column of whole numbers
        that increase from each row to the next.
    truth : Truth

    Returns
    -------
    dict of str to ndarray of shape (n_units,)
        Targets by the name of the column; empty if the rows are sorted by their targets.
    """
    found, n = {}, len(truth.y)
    for column in columns if not _is_sorted(truth) else []:
        own = column.values[len(column.values) - n :]
        is_counter = n > 9 and bool((np.diff(own) > 0.0).all() and (own == np.round(own)).all())
        if column.kind == "date" or (column.kind == "number" and is_counter):
            found[column.name] = _in_order(column, truth.numbers, truth.units)
    return found


def is_later(column: ColumnValues, n_train: int) -> bool:
    """Return whether held-out rows have no known value inside the range of training rows.

    The values of later rows are above or, if the column decreases in time, below this range.

    Parameters
    ----------
    column : ColumnValues
        Column with the training rows followed by the held-out rows.
    n_train : int
    """
    old, new = column.values[:n_train], column.values[n_train:]
    old, new = old[~np.isnan(old)], new[~np.isnan(new)]
    if not (column.is_ordered and len(old) and len(new)):
        return False
    return bool(new.min() >= old.max() or new.max() <= old.min())


def _in_order(column: ColumnValues, values: Array, units: Array) -> Array:
    """Return means of units in the order of a column, without units that lack either value."""
    times = column.take(slice(len(column.values) - len(units), None)).over_units(units)
    means = means_of_units(values, units)
    known = ~np.isnan(times.values) & ~np.isnan(means)
    while column.kind == "date" and (odd := odd_value(times.values[known], dates=True)):
        known &= times.values != odd[0]  # Such a date says "unknown" or "not yet".
    return means[known][np.argsort(times.values[known], kind="stable")]


def _is_sorted(truth: Truth) -> bool:
    """Return whether rows are sorted by target, in which case neighboring residuals are alike."""
    if truth.task == "regression":
        steps = np.diff(truth.y)
        return bool((steps >= 0.0).all() or (steps <= 0.0).all())
    return int(np.sum(truth.y[1:] != truth.y[:-1])) == len(np.unique(truth.y)) - 1


def _residuals(truth: Truth, predictions: Predictions) -> Array:
    """Return residuals of responses or of the most frequent class's probabilities, or losses."""
    if truth.task == "regression":
        return truth.y - predictions.values
    if predictions.probabilities is None:
        return truth.losses(predictions)
    classes, counts = np.unique(truth.y, return_counts=True)
    of = np.flatnonzero(truth.classes == classes[counts.argmax()])[0]
    return truth.numbers - predictions.probabilities[:, of]

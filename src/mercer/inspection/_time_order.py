"""A check for residuals or targets of neighbors that are alike in an order of the rows."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy import stats

from mercer._data.types import Array
from mercer.inspection._checks import LEAST_CORRELATION, LEVEL, Check, lag_one
from mercer.inspection._columns import Column
from mercer.inspection._held_out import Predictions, Truth
from mercer.preprocessing import odd_value

_LEAST_OF_RESIDUALS = 0.15
"""Smaller correlations of neighboring residuals hardly change the error of later rows."""


class TimeOrder(Check):
    """Neighboring residuals or targets are alike."""

    code = "time order"
    advice = "try cv=TimeSeriesSplit()"

    @classmethod
    def of(cls, orders: dict[str, Array], targets: dict[str, Array] | None = None) -> Self:
        """Check whether neighbors are alike in any order of the rows.

        Parameters
        ----------
        orders : dict of str to ndarray of shape (n_units,)
            Residuals in each order, by the name of the order.
        targets : dict of str to ndarray of shape (n_units,), default=None
            Targets in the order of each column, by the name of the column. If neighboring targets
            are alike, the scores of a model that interpolates between rows say little about later
            rows.

        Notes
        -----
        The rank correlation at lag one is compared with its mean and variance over all permutations
        of the values by the normal approximation. The correlation of targets also has to exceed
        0.1, and that of residuals 0.15, where it is two percent of their variance.

        References
        ----------
        Wald, Wolfowitz (1943). An exact test for randomness in the non-parametric case based on
        serial correlation. Annals of Mathematical Statistics 14.
        """
        targets = targets or {}
        n_tests, told = len(orders) + len(targets), list[tuple[str, str]]()
        for name, values in targets.items():
            if correlation := _correlation(values, n_tests, LEAST_CORRELATION):
                text = (
                    f"rows follow each other by '{name}', and targets of neighbors are alike (rank "
                    f"correlation {correlation:.2f}): the scores hold for rows between others, and "
                    "not for later ones"
                )
                told.append((text, name))
        for name, values in orders.items():
            if correlation := _correlation(values, n_tests, _LEAST_OF_RESIDUALS):
                text = (
                    f"residuals of neighbors {name} are alike (rank correlation {correlation:.2f}):"
                    " rows may depend on time or on what they were sorted by, and later rows may "
                    "be predicted worse than the scores say"
                )
                told.append((text, ""))
        return cls(tuple(text for text, _ in told), tuple(name for _, name in told))


def _correlation(values: Array, n_tests: int, least: float) -> float:
    """Return the correlation of neighbors, zero if it is small or not significant."""
    correlation, z = lag_one(values)
    is_clear = float(stats.norm.sf(z)) * n_tests <= LEVEL
    return correlation if is_clear and correlation > least else 0.0


def orders(
    columns: list[Column], truth: Truth, predictions: Predictions, rows: str
) -> dict[str, Array]:
    """Return residuals of units in the order of the rows, and in the order of each date column.

    Parameters
    ----------
    columns : list of Column
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
        means = _means_of_units(residuals, units)
        first = np.unique(units[known], return_index=True)[1]
        found[f"in the order {rows}"] = means[~np.isnan(means)][np.argsort(first)]
    for column in columns:
        if column.kind == "date":
            found[f"by '{column.name}'"] = _in_order(column, residuals, units)
    return found


def target_orders(columns: list[Column], truth: Truth) -> dict[str, Array]:
    """Return targets in the order of each column that orders rows in time.

    Such columns are dates and row counters.

    Parameters
    ----------
    columns : list of Column
        Columns whose last rows are the rows of the targets. A counter is a column of whole numbers
        that increase from each row to the next.
    truth : Truth
        For classes, the target is the indicator of the most frequent class.

    Returns
    -------
    dict of str to ndarray of shape (n_units,)
        Targets by the name of the column; empty if the rows are sorted by their targets.
    """
    if _is_sorted(truth):
        return {}
    y = truth.y
    if truth.task == "classification":
        classes, counts = np.unique(y, return_counts=True)
        y = y == classes[counts.argmax()]
    found = {}
    for column in columns:
        own = column.take(slice(len(column.values) - len(y), None))
        steps = np.diff(own.values)
        counts_rows = column.kind == "number" and bool(
            len(y) > 9 and (steps > 0.0).all() and np.array_equal(own.values, np.round(own.values))
        )
        if column.kind == "date" or counts_rows:
            found[column.name] = _in_order(column, y.astype(float), truth.units)
    return found


def is_later(column: Column, n_train: int) -> bool:
    """Return whether held-out rows have no known value inside the range of training rows.

    The values of later rows are above or, if the column decreases in time, below this range.

    Parameters
    ----------
    column : Column
        Column with the training rows followed by the held-out rows.
    n_train : int
    """
    old, new = column.values[:n_train], column.values[n_train:]
    old, new = old[~np.isnan(old)], new[~np.isnan(new)]
    if not (column.is_ordered and len(old) and len(new)):
        return False
    return bool(new.min() >= old.max() or new.max() <= old.min())


def _means_of_units(values: Array, units: Array) -> Array:
    """Return the mean of each unit, NaN for units without known values."""
    known = ~np.isnan(values)
    counts = np.bincount(units[known], minlength=units.max() + 1)
    sums = np.bincount(units[known], values[known], minlength=units.max() + 1)
    return np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)


def _in_order(column: Column, values: Array, units: Array) -> Array:
    """Return means of units in the order of a column, without units that lack either value."""
    times = column.take(slice(len(column.values) - len(units), None)).over_units(units)
    means = _means_of_units(values, units)
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
    name = classes[counts.argmax()]
    own = predictions.probabilities[:, np.flatnonzero(truth.classes == name)[0]]
    return (truth.y == name) - own

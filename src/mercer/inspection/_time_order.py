"""A check of residuals for dependence on the order of rows, and on dates."""

from __future__ import annotations

import numpy as np
from scipy import stats

from mercer._typing import Array
from mercer._validation import ROUNDING
from mercer.inspection._checks import LEVEL, Check
from mercer.inspection._columns import Column
from mercer.inspection._held_out import Predictions, Truth


def time_order(orders: dict[str, Array]) -> Check:
    """Say in which orders residuals of neighbors are alike.

    Parameters
    ----------
    orders : dict of str to ndarray of shape (n_units,)
        Residuals in an order, by what the order is called.

    Notes
    -----
    The correlation of ranks at lag one is compared with its mean and its variance over all orders
    of the same residuals, by the normal approximation.

    References
    ----------
    Wald, Wolfowitz (1943). An exact test for randomness in the non-parametric case based on serial
    correlation. Annals of Mathematical Statistics 14.
    """
    warnings = []
    for name, residuals in orders.items():
        correlation, z = lag_one(residuals)
        if float(stats.norm.sf(z)) * len(orders) <= LEVEL:
            warnings.append(
                f"residuals of neighbors {name} are alike (rank correlation {correlation:.2f}): "
                "rows may depend on time or on what they were sorted by, and later rows may be "
                "predicted worse than the scores say"
            )
    return Check("time order", tuple(warnings), "try cv=TimeSeriesSplit()")


def lag_one(residuals: Array) -> tuple[float, float]:
    """Return the circular rank correlation at lag one, and its standardized value.

    Parameters
    ----------
    residuals : ndarray of shape (n_units,)
    """
    n, ranks = len(residuals), stats.rankdata(residuals)
    ranks = ranks - ranks.mean()
    squares, fourth = float(np.sum(ranks**2)), float(np.sum(ranks**4))
    if n < 4 or squares == 0.0:
        return 0.0, 0.0
    product, mean = float(ranks @ np.roll(ranks, 1)), -squares / (n - 1)
    variance = (squares**2 - fourth) / (n - 1) - mean**2
    variance += (squares**2 - 2.0 * fourth) / ((n - 1) * (n - 2))
    if variance <= ROUNDING * squares**2:
        return product / squares, 0.0  # All orders have the same.
    return product / squares, (product - mean) / float(np.sqrt(variance))


def orders(
    columns: list[Column], truth: Truth, predictions: Predictions, rows: str
) -> dict[str, Array]:
    """Return residuals of units in the order of rows, and in that of each column of dates.

    Parameters
    ----------
    columns : list of Column
        Their last rows are those of the predictions.
    truth : Truth
    predictions : Predictions
        NaN where there are none.
    rows : str
        What the rows are called.
    """
    residuals = _residuals(truth, predictions)
    known, units = ~np.isnan(residuals), truth.units
    first = np.unique(units[known], return_index=True)[1]
    sums = np.bincount(units[known], residuals[known], minlength=units.max() + 1)
    counts = np.bincount(units[known], minlength=units.max() + 1)
    present = counts > 0
    means = sums[present] / counts[present]
    found = {}
    if not _is_sorted(truth):
        found[f"in the order {rows}"] = means[np.argsort(first)]
    for column in columns:
        if column.kind == "date":
            dates = column.take(slice(len(column.values) - len(units), None)).over_units(units)
            dated = ~np.isnan(dates.values) & present
            order = np.argsort(dates.values[dated], kind="stable")
            means_of = np.divide(sums, counts, out=np.zeros(len(sums)), where=present)
            found[f"by '{column.name}'"] = means_of[dated][order]
    return found


def _is_sorted(truth: Truth) -> bool:
    """Whether rows are sorted by their target, as residuals then are as well."""
    if truth.task == "regression":
        steps = np.diff(truth.y)
        return bool((steps >= 0.0).all() or (steps <= 0.0).all())
    return int(np.sum(truth.y[1:] != truth.y[:-1])) == len(np.unique(truth.y)) - 1


def _residuals(truth: Truth, predictions: Predictions) -> Array:
    """Return true less predicted responses, probabilities of the most frequent class, or losses."""
    if truth.task == "regression":
        return truth.y - predictions.values
    if predictions.probabilities is None:
        return truth.losses(predictions)
    classes, counts = np.unique(truth.y, return_counts=True)
    name = classes[counts.argmax()]
    own = predictions.probabilities[:, np.flatnonzero(truth.classes == name)[0]]
    return (truth.y == name) - own

"""A check of residuals for dependence on the order of rows, and on dates."""

import numpy as np
from scipy import stats

from mercer._model_selection.updates import LEVEL
from mercer._typing import Array
from mercer._validation import ROUNDING
from mercer.inspection._checks import LEAST_CORRELATION, Check
from mercer.inspection._columns import Column
from mercer.inspection._held_out import Predictions, Truth


def time_order(orders: dict[str, Array], targets: dict[str, Array] | None = None) -> Check:
    """Say in which orders residuals of neighbors are alike, or targets by what tells their time.

    Parameters
    ----------
    orders : dict of str to ndarray of shape (n_units,)
        Residuals in an order, by what the order is called.
    targets : dict of str to ndarray of shape (n_units,), default=None
        Targets in the order of a column, by its name. Where they are alike, a model that predicts
        rows between others by their neighbors says little of later rows.

    Notes
    -----
    The correlation of ranks at lag one is compared with its mean and its variance over all orders
    of the same values, by the normal approximation. Those of targets have to exceed .1, too.

    References
    ----------
    Wald, Wolfowitz (1943). An exact test for randomness in the non-parametric case based on serial
    correlation. Annals of Mathematical Statistics 14.
    """
    warnings, columns = [], []
    targets = targets or {}
    n_tests = len(orders) + len(targets)
    for name, values in targets.items():
        correlation, z = lag_one(values)
        if float(stats.norm.sf(z)) * n_tests <= LEVEL and correlation > LEAST_CORRELATION:
            warnings.append(
                f"rows follow each other by '{name}', and targets of neighbors are alike (rank "
                f"correlation {correlation:.2f}): the scores hold for rows between others, and not "
                "for later ones"
            )
            columns.append(name)
    for name, residuals in orders.items():
        correlation, z = lag_one(residuals)
        if float(stats.norm.sf(z)) * n_tests <= LEVEL:
            warnings.append(
                f"residuals of neighbors {name} are alike (rank correlation {correlation:.2f}): "
                "rows may depend on time or on what they were sorted by, and later rows may be "
                "predicted worse than the scores say"
            )
            columns.append("")
    return Check("time order", tuple(warnings), "try cv=TimeSeriesSplit()", tuple(columns))


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
    """Return targets in the order of columns that tell the time: dates, and counters of the rows.

    Parameters
    ----------
    columns : list of Column
        Their last rows are those of the targets. A counter is a column of whole numbers that
        increase from each row to the next.
    truth : Truth
        Of classes, the target is the indicator of the most frequent one.

    Returns
    -------
    dict of str to ndarray of shape (n_units,)
        By the names of the columns; none where the rows are sorted by their target.
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


def _means_of_units(values: Array, units: Array) -> Array:
    """Return the mean of each unit, NaN for units without any."""
    known = ~np.isnan(values)
    counts = np.bincount(units[known], minlength=units.max() + 1)
    sums = np.bincount(units[known], values[known], minlength=units.max() + 1)
    return np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)


def _in_order(column: Column, values: Array, units: Array) -> Array:
    """Return means of units in the order of a column, without units that lack either."""
    times = column.take(slice(len(column.values) - len(units), None)).over_units(units)
    means = _means_of_units(values, units)
    known = ~np.isnan(times.values) & ~np.isnan(means)
    return means[known][np.argsort(times.values[known], kind="stable")]


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

"""A check for columns whose equal values identify rows that belong together."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy import stats
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.model_selection import GroupKFold

from mercer._data.types import Array
from mercer.inspection._checks import LEAST_CORRELATION, Check
from mercer.inspection._columns import ColumnValues
from mercer.inspection._intervals import Estimate, relative_loss
from mercer.inspection._time_order import neighbor_correlation

_FEWEST_VALUES = 20
"""A column is an identifier only if its effective number of values is larger, which is the inverse
of the probability that two rows have the same value. It is small for amounts that are zero in most
rows."""

_MOST_EXAMINED, _MOST_NAMED = 6, 3
"""Number of columns for which the error of new values is measured, and of those that are named."""

_MOST_ALIKE = 0.5
"""A number is no identifier if the rank correlation of the mean targets of neighboring values is
larger."""

_LEAST_RATIO = 1.25
"""A column is named if rows of new values have a squared error that is larger by this factor."""


class Identifiers(Check):
    """Equal values of a column identify rows that belong together."""

    code = "identifiers"
    advice = "pass it as groups, and leave it out of the features"

    @classmethod
    def of(cls, columns: list[ColumnValues], y: Array) -> Self:
        """Find columns whose equal values identify rows that belong together.

        Parameters
        ----------
        columns : list of ColumnValues
        y : ndarray of shape (n_rows,)
            Responses, or indicators of the most frequent class.

        Notes
        -----
        Columns of categories, texts or whole numbers are examined if most values occur in several
        rows and the effective number of values, n^2 / sum n_k^2, is larger than 20. A number is not
        an identifier if neighboring values of it have similar mean targets. A column is suspected
        if the intraclass correlation of the target's ranks, the fraction of their variance between
        values, is above 0.1, which is called a medium effect in [1]_. For codes that differ in each
        row, the values are the parts before a separator if these parts repeat.

        Of the suspected columns, those are reported for which rows of new values are predicted
        worse: the squared error of randomized trees in folds of whole values has to be at least
        1.25 times their error in folds of rows, and significantly larger. At most three are
        reported, the largest ratios first.

        References
        ----------
        .. [1] LeBreton, Senter (2008). Answers to 20 questions about interrater reliability and
           interrater agreement. Organizational Research Methods 11, table 3.
        """
        ranks, suspected = stats.rankdata(y), list[tuple[float, ColumnValues]]()
        for column in columns:
            known = ~np.isnan(column.values)
            values, codes, counts = np.unique(
                column.values[known], return_inverse=True, return_counts=True
            )
            whole = column.kind != "date" and np.array_equal(values, np.round(values))
            has_many = float(counts.sum()) ** 2 > _FEWEST_VALUES * float(counts @ counts)
            if whole and has_many and 2 * np.sum(counts > 1) > len(values):
                correlation, means = intraclass_correlation(ranks[known], codes)
                is_smooth = column.is_ordered and neighbor_correlation(means)[0] > _MOST_ALIKE
                if correlation > LEAST_CORRELATION and not is_smooth:
                    suspected.append((correlation, column))
        measured = []
        for correlation, column in sorted(suspected, key=lambda one: -one[0])[:_MOST_EXAMINED]:
            ratio = _new_value_error(columns, ranks, column.values)
            if ratio.value >= _LEAST_RATIO and ratio.low > 1.0:
                measured.append((ratio.value, correlation, column.name))
        told = {
            name: f"rows of equal '{name}' have similar targets (intraclass correlation {r:.2f}): "
            f"the squared error of rows with new values of it is {_times(ratio)} that of rows "
            "drawn at random"
            for ratio, r, name in sorted(measured, reverse=True)[:_MOST_NAMED]
        }
        return cls(tuple(told.values()), tuple(told))


def intraclass_correlation(y: Array, codes: Array) -> tuple[float, Array]:
    """Return the intraclass correlation of one-way analysis of variance, and the groups' means.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
    codes : ndarray of int of shape (n_rows,)
        Numbers of the groups of the rows. Some groups have several rows.
    """
    n, counts = len(y), np.bincount(codes)
    means = np.bincount(codes, y) / counts
    within = float(np.square(y - means[codes]).sum()) / (n - len(counts))
    between = float(counts @ np.square(means - y.mean())) / (len(counts) - 1)
    size = (n - float(counts @ counts) / n) / (len(counts) - 1)
    total = between + (size - 1.0) * within
    return (between - within) / total if total > 0.0 else 0.0, means


def _new_value_error(
    columns: list[ColumnValues], y: Array, codes: Array, *, max_rows: int = 1000
) -> Estimate:
    """Return the squared error of rows with new values of a column, relative to that of all rows.

    Randomized trees predict the rows in five folds of whole values, and in five folds of rows. One
    of their features is the mean target of the other training rows of the same value.
    """
    rng = np.random.default_rng(0)
    known = rng.permutation(np.flatnonzero(~np.isnan(codes)))
    names = np.unique(codes[known], return_inverse=True)[1]
    shuffled = rng.permutation(names.max() + 1)[names]
    order = np.argsort(shuffled, kind="stable")
    groups = shuffled[order]
    # Some rows of each value are drawn, so that there are enough values for the folds.
    nth = np.arange(len(groups)) - np.searchsorted(groups, groups)
    kept = np.flatnonzero(nth < max_rows // 20)[:max_rows]
    rows, groups = known[order[kept]], groups[kept]
    table = np.column_stack([column.values[rows] for column in columns])
    trees = ExtraTreesRegressor(30, min_samples_leaf=2, random_state=0)
    y, losses = y[rows], list[Array]()
    # Rows that are groups of their own are drawn at random.
    for held_out in (groups, np.arange(len(rows))):
        predicted: Array = np.empty(len(rows))
        folds = GroupKFold(5, shuffle=True, random_state=0)
        for train, test in folds.split(table, groups=held_out):
            both = np.column_stack([table, _means_of_others(y, groups, train)])
            predicted[test] = trees.fit(both[train], y[train]).predict(both[test])
        losses.append(np.square(predicted - y))
    # If equal values determine the target, rows drawn at random have no error.
    return relative_loss(losses[0], losses[1], groups) or Estimate(np.inf, np.inf, np.inf)


def _means_of_others(y: Array, groups: Array, train: Array) -> Array:
    """Return the mean of the other training rows of each row's group, of all rows if none is."""
    is_known = np.bincount(train, minlength=len(y))
    counts = np.bincount(groups, is_known)[groups] - is_known
    sums = np.bincount(groups, is_known * y)[groups] - is_known * y
    return np.where(counts > 0, sums / np.maximum(counts, 1), y[train].mean())


def _times(ratio: float) -> str:
    if np.isinf(ratio):
        return "larger than zero, which is"
    return f"{ratio:.1f} times" if ratio < 10.0 else f"{ratio:,.0f} times"

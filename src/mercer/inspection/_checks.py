"""Checks of tables for reasons why scores on held-out rows may be misleading."""

from dataclasses import dataclass

import numpy as np
from scipy import stats
from sklearn.ensemble import ExtraTreesClassifier

from mercer._data.copies import copies
from mercer._data.types import Array
from mercer._data.validation import ROUNDING
from mercer.inspection._columns import Column, column_bins

LEVEL = 0.01
"""Level of the tests of the checks: of tables without faults, at most this share is reported."""

LEAST_CORRELATION = 0.1
"""Smaller correlations are not reported, even if they are significant because of many rows."""


@dataclass(frozen=True)
class Check:
    """A check and its findings.

    Attributes
    ----------
    name : str
        One of "leakage", "copies", "shift", "groups", "identifiers", "time order", "coverage" and
        "left-out score".
    warnings : tuple of str
        One sentence for each finding; empty if nothing was found.
    advice : str
        Remedy for the findings, with the estimators of this library; empty if the warnings contain
        it.
    columns : tuple of str
        The column to which each warning refers; an empty text if it refers to no column.
    """

    name: str
    warnings: tuple[str, ...]
    advice: str = ""
    columns: tuple[str, ...] = ()


def copied_rows(columns: list[Column], y: Array, losses: Array, unit: str) -> Check:
    """Check which held-out rows are copies of training rows, and how they affect the error.

    Parameters
    ----------
    columns : list of Column
        Columns with the training rows followed by the held-out rows.
    y : ndarray of shape (n_train + n_rows,)
    losses : ndarray of shape (n_rows,)
        Losses of the held-out rows.
    unit : {"error", "mean absolute error"}
        Name of the mean of the losses.
    """
    if not columns:
        return Check("copies", ())
    table = np.nan_to_num(np.column_stack([column.values for column in columns]), nan=-1.0)
    codes = np.unique(y, return_inverse=True)[1].astype(float)
    numbers, n_train = copies(table, codes), len(y) - len(losses)
    copied = np.zeros(len(losses), bool)
    if numbers is not None:
        copied = np.isin(numbers[n_train:], numbers[:n_train])
    if copied.mean() < 0.02:  # Such a small share hardly changes a score.
        return Check("copies", ())
    digits = ".1%" if unit == "error" else ".4g"
    shares = [f"{losses[copied].mean():{digits}} on these"]
    if not copied.all():
        shares.append(f"{losses[~copied].mean():{digits}} on the others, as on new rows")
    counts = f"{copied.mean():.1%} of the held-out rows ({copied.sum():,} of {len(losses):,})"
    told = f"{counts} are copies of training rows: {unit} {', '.join(shares)}"
    return Check("copies", (told,))


def shared_groups(groups: Array, known: Array) -> Check:
    """Check how many groups have both held-out and training rows.

    Parameters
    ----------
    groups : ndarray of shape (n_rows,)
        Name of the group of each held-out row.
    known : ndarray of shape (n_train,)
        Name of the group of each training row.
    """
    names = np.unique(groups)
    shared = int(np.isin(names, known).sum())
    told = f"{shared} of {len(names)} groups have rows in the training rows as well"
    advice = "the scores do not hold for new groups; hold out whole groups"
    return Check("groups", (f"{told}: {advice}",) if shared else ())


def shift(
    columns: list[Column], n_train: int, units: Array, *, seed: int = 0, max_rows: int = 2000
) -> Check:
    """Check whether held-out rows differ from training rows, and in which column most.

    Parameters
    ----------
    columns : list of Column
        Columns with the training rows followed by the held-out rows.
    n_train : int
    units : ndarray of int of shape (n_rows,)
        Unit of each row. No unit has both training and held-out rows.
    seed : int, default=0
    max_rows : int, default=2000
        Maximum number of rows that are drawn from the training rows and from the held-out rows.

    Notes
    -----
    This is a classifier two-sample test [1]_: randomized trees are fitted to half of the units to
    distinguish held-out rows from training rows, and the mean probabilities of the other units are
    compared by the Mann-Whitney test. Each column is also tested alone, by the Kolmogorov-Smirnov
    test for numbers and by the chi-squared test for categories. Both approaches use half of the
    level.

    References
    ----------
    .. [1] Lopez-Paz, Oquab (2017). Revisiting classifier two-sample tests. ICLR.
    """
    rng, n = np.random.default_rng(seed), len(units)
    drawn = [rng.permutation(n_train)[:max_rows], n_train + rng.permutation(n - n_train)[:max_rows]]
    rows = np.concatenate(drawn)
    is_new, owners = rows >= n_train, np.unique(units[rows], return_inverse=True)[1]
    new_unit = np.bincount(owners, is_new) > 0
    learned = np.zeros(len(new_unit), bool)
    for kind in (True, False):
        members = rng.permutation(np.flatnonzero(new_unit == kind))
        learned[members[: len(members) // 2]] = True
    if not columns or min(np.sum(new_unit[learned]), np.sum(~new_unit[learned])) < 1:
        return Check("shift", ())
    table = np.column_stack([column.values[rows] for column in columns])
    # Leaves of several rows and all columns in each split also detect a shift of one in many.
    model = ExtraTreesClassifier(min_samples_leaf=10, max_features=None, random_state=0)
    model.fit(table[learned[owners]], is_new[learned[owners]])
    means = np.bincount(owners, model.predict_proba(table)[:, 1]) / np.bincount(owners)
    new, old = means[~learned & new_unit], means[~learned & ~new_unit]
    statistic, p_value = stats.mannwhitneyu(new, old, alternative="greater")
    taken = [column.take(rows).over_units(owners) for column in columns]
    p_values = [_column_shift(column, new_unit) for column in taken]
    best = int(np.argmin(p_values))
    differs = p_values[best] * len(columns) <= LEVEL / 2.0
    if p_value > LEVEL / 2.0 and not differs:
        return Check("shift", ())
    auc = float(statistic) / (len(new) * len(old))
    told = f"held-out rows are not like the training rows (ROC AUC of telling them apart {auc:.2f}"
    told += f"; '{columns[best].name}' differs most)" if differs else ")"
    return Check("shift", (f"{told}: scores hold for rows like the held-out ones only",))


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
        return product / squares, 0.0  # All permutations have the same correlation.
    return product / squares, (product - mean) / float(np.sqrt(variance))


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


def _column_shift(column: Column, is_new: Array) -> float:
    """Return the p-value of the Kolmogorov-Smirnov or chi-squared test of equal distributions."""
    if column.is_ordered:
        known = ~np.isnan(column.values)
        parts = [column.values[known & (is_new == kind)] for kind in (True, False)]
        return float(stats.ks_2samp(*parts).pvalue) if all(map(len, parts)) else 1.0
    codes, labels = column_bins(column)
    parts = [codes[(codes >= 0) & (is_new == kind)] for kind in (True, False)]
    table = np.array([np.bincount(part, minlength=len(labels)) for part in parts])
    if table.shape[1] < 2 or not table.sum(axis=1).all():
        return 1.0
    return float(stats.chi2_contingency(table).pvalue)

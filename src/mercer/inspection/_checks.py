"""Checks of tables for reasons why scores on held-out rows may be misleading."""

from dataclasses import dataclass

import numpy as np
from scipy import stats
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.preprocessing import SplineTransformer

from mercer._data.copies import copies
from mercer._data.types import Array
from mercer._data.validation import ROUNDING
from mercer._model_selection.updates import LEVEL
from mercer.inspection._columns import Column, column_bins
from mercer.inspection._held_out import Task

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
    advice = "the scores are not those of new groups; hold out whole groups"
    return Check("groups", (f"{told}: {advice}",) if shared else ())


def identifiers(columns: list[Column], y: Array, task: Task) -> Check:
    """Find columns whose equal values identify rows that belong together.

    Parameters
    ----------
    columns : list of Column
    y : ndarray of shape (n_rows,)
    task : {"classification", "regression"}
        For classes, the target is the indicator of the most frequent class.

    Notes
    -----
    Columns of categories, texts or whole numbers are examined if they have more than 20 values and
    most values occur in several rows. The variance of the target's ranks between the values is
    compared with their variance within the values by Fisher's F test of lack of fit. The fitted
    function is a constant or, for numbers, a cubic spline, because a number is not an identifier if
    the target depends on it smoothly. A column is reported if the test rejects and the intraclass
    correlation, the fraction of the variance between values, is above 0.1, which is called a medium
    effect in [1]_. For codes that differ in each row, the values are the parts before a separator
    if these parts repeat.

    References
    ----------
    .. [1] LeBreton, Senter (2008). Answers to 20 questions about interrater reliability and
       interrater agreement. Organizational Research Methods 11, table 3.
    """
    if task == "classification":
        classes, counts = np.unique(y, return_counts=True)
        y = y == classes[counts.argmax()]
    ranks, found = stats.rankdata(y), []
    for column in columns:
        known = ~np.isnan(column.values)
        values, codes, counts = np.unique(
            column.values[known], return_inverse=True, return_counts=True
        )
        whole = column.kind != "date" and np.array_equal(values, np.round(values))
        if whole and len(values) > 20 and 2 * np.sum(counts > 1) > len(values):
            smooth = values[:, None] if column.is_ordered else None
            found.append((column.name, *_between_values(ranks[known], codes, smooth)))
    told = {
        name: f"rows of equal '{name}' have similar targets (intraclass correlation {r:.2f}): "
        "if new rows will have other values of it, the scores are too good"
        for name, r, p_value in found
        if p_value * len(found) <= LEVEL and r > LEAST_CORRELATION
    }
    advice = "pass it as groups, and leave it out of the features"
    return Check("identifiers", tuple(told.values()), advice, tuple(told))


def _between_values(
    y: Array, codes: Array, values: Array | None, n_orders: int = 199
) -> tuple[float, float]:
    """Return the intraclass correlation, and the p-value of the hypothesis that it is zero.

    `values`, of shape (n_values, 1), are numbers whose smooth effect is not counted. The F test
    assumes normal errors, which is wrong for a rare class, for example. If it rejects, the result
    is verified by random permutations of the residuals (Freedman, Lane 1983). Their p-value is
    returned if they do not reject.
    """
    counts = np.bincount(codes)
    if values is None:
        basis = np.ones((len(counts), 1))
    else:
        basis = SplineTransformer(knots="quantile").fit_transform(values)
    root = np.sqrt(counts)[:, None]
    directions = np.linalg.svd(basis * root, full_matrices=False)
    span = directions[0][:, directions[1] > ROUNDING * directions[1][0]]
    n_within, n_between = len(y) - len(counts), len(counts) - span.shape[1]

    def variances(y: Array) -> tuple[float, float]:
        sums = np.bincount(codes, y)
        scaled = sums / root[:, 0]
        between = float(scaled @ scaled - np.square(scaled @ span).sum()) / n_between
        return between, float(y @ y - scaled @ scaled) / n_within

    y = y - y.mean()
    smooth = (span @ (span.T @ (np.bincount(codes, y) / root[:, 0])) / root[:, 0])[codes]
    between, within = variances(y)
    if within <= ROUNDING * between:
        return 1.0, 0.0
    p_value = float(stats.f.sf(between / within, n_between, n_within))
    if p_value <= LEVEL:
        rng = np.random.default_rng(0)
        drawn = [variances(rng.permutation(y - smooth)) for _ in range(n_orders)]
        p_drawn = (1 + sum(b / w >= between / within for b, w in drawn)) / (1 + n_orders)
        p_value = p_value if p_drawn <= LEVEL else p_drawn
    size = (len(y) - float(counts @ counts) / len(y)) / (len(counts) - 1)
    return (between - within) / (between + (size - 1.0) * within), p_value


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


def is_later(column: Column, n_train: int) -> bool:
    """Return whether no known value of held-out rows is below the largest of training rows.

    Parameters
    ----------
    column : Column
        Column with the training rows followed by the held-out rows.
    n_train : int
    """
    old, new = column.values[:n_train], column.values[n_train:]
    old, new = old[~np.isnan(old)], new[~np.isnan(new)]
    return column.is_ordered and bool(len(old) and len(new) and new.min() >= old.max())


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

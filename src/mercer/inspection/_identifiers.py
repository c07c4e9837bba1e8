"""A check for columns whose equal values identify rows that belong together."""

import numpy as np
from scipy import stats
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import SplineTransformer

from mercer._data.types import Array
from mercer._data.validation import ROUNDING
from mercer.inspection._baselines import relative_loss
from mercer.inspection._checks import LEAST_CORRELATION, LEVEL, Check, lag_one
from mercer.inspection._columns import Column
from mercer.inspection._held_out import Task
from mercer.inspection._intervals import Estimate

_FEWEST_VALUES = 20
"""A column is an identifier only if its effective number of values is larger, which is the inverse
of the probability that two rows have the same value. It is small for amounts that are zero in most
rows."""

_MOST_EXAMINED, _MOST_NAMED = 6, 3
"""Number of columns for which the error of new values is measured, and of those that are named."""

_MOST_ALIKE = 0.5
"""A number is no identifier if the rank correlation of the mean targets of neighboring values, less
a smooth function, is larger."""

_LEAST_RATIO = 1.25
"""A column is named if rows of new values have a squared error that is larger by this factor."""


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
    Columns of categories, texts or whole numbers are examined if most values occur in several rows
    and the effective number of values, n^2 / sum n_k^2, is larger than 20. The variance of the
    target's ranks between the values is compared with their variance within the values by
    Fisher's F test of lack of fit. The fitted function is a constant or, for numbers, a cubic
    spline, because a number is not an identifier if the target depends on it smoothly, nor if
    neighboring values of it have similar mean targets. A column is suspected if the test rejects
    and the intraclass correlation, the fraction of the variance between values, is above 0.1, which
    is called a medium effect in [1]_. For codes that differ in each row, the values are the parts
    before a separator if these parts repeat.

    Of the suspected columns, those are reported for which rows of new values are predicted worse:
    the squared error of randomized trees in folds of whole values has to be at least 1.25 times
    their error in folds of rows, and significantly larger. At most three are reported, the largest
    ratios first.

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
        has_many = float(counts.sum()) ** 2 > _FEWEST_VALUES * float(counts @ counts)
        if whole and has_many and 2 * np.sum(counts > 1) > len(values):
            smooth = values[:, None] if column.is_ordered else None
            correlation, p_value, means = _between_values(ranks[known], codes, smooth)
            if smooth is None or lag_one(means)[0] < _MOST_ALIKE:
                found.append((column.name, correlation, p_value))
    suspected = [
        (r, name)
        for name, r, p_value in found
        if p_value * len(found) <= LEVEL and r > LEAST_CORRELATION
    ]
    measured = []
    for correlation, name in sorted(suspected, reverse=True)[:_MOST_EXAMINED]:
        ratio = _new_value_error(columns, ranks, name)
        if ratio.value >= _LEAST_RATIO and ratio.low > 1.0:
            measured.append((ratio.value, correlation, name))
    told = {
        name: f"rows of equal '{name}' have similar targets (intraclass correlation {r:.2f}): "
        f"the squared error of rows with new values of it is {_times(ratio)} that of rows drawn at "
        "random"
        for ratio, r, name in sorted(measured, reverse=True)[:_MOST_NAMED]
    }
    advice = "pass it as groups, and leave it out of the features"
    return Check("identifiers", tuple(told.values()), advice, tuple(told))


def _between_values(
    y: Array, codes: Array, values: Array | None, n_orders: int = 199
) -> tuple[float, float, Array]:
    """Return the intraclass correlation, the p-value of the hypothesis that it is zero, and means.

    The means are those of each value, less the smooth effect.
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
    sums = np.bincount(codes, y) / root[:, 0]
    fitted = span @ (span.T @ sums)
    smooth, means = (fitted / root[:, 0])[codes], (sums - fitted) / root[:, 0]
    between, within = variances(y)
    if within <= ROUNDING * between:
        return 1.0, 0.0, means
    p_value = float(stats.f.sf(between / within, n_between, n_within))
    if p_value <= LEVEL:
        rng = np.random.default_rng(0)
        drawn = [variances(rng.permutation(y - smooth)) for _ in range(n_orders)]
        p_drawn = (1 + sum(b / w >= between / within for b, w in drawn)) / (1 + n_orders)
        p_value = p_value if p_drawn <= LEVEL else p_drawn
    size = (len(y) - float(counts @ counts) / len(y)) / (len(counts) - 1)
    return (between - within) / (between + (size - 1.0) * within), p_value, means


def _new_value_error(
    columns: list[Column], y: Array, name: str, *, max_rows: int = 1000
) -> Estimate:
    """Return the squared error of rows with new values of a column, relative to that of all rows.

    Randomized trees predict the rows in five folds of whole values, and in five folds of rows. One
    of their features is the mean target of the other training rows of the same value.
    """
    codes = next(column.values for column in columns if column.name == name)
    rng = np.random.default_rng(0)
    known = rng.permutation(np.flatnonzero(~np.isnan(codes)))
    names = np.unique(codes[known], return_inverse=True)[1]
    order = np.argsort(rng.permutation(names.max() + 1)[names], kind="stable")
    # Some rows of each value are drawn, so that there are enough values for the folds.
    drawn = names[order]
    starts = np.flatnonzero(np.r_[True, drawn[1:] != drawn[:-1]])
    nth = np.arange(len(drawn)) - np.repeat(starts, np.diff(np.r_[starts, len(drawn)]))
    order = order[nth < max_rows // 20][:max_rows]
    rows, groups = known[order], names[order]
    table, y = np.column_stack([column.values[rows] for column in columns]), y[rows]
    trees = ExtraTreesRegressor(30, min_samples_leaf=2, random_state=0)
    losses = list[Array]()
    # Rows that are groups of their own are drawn at random.
    for held_out in (groups, np.arange(len(rows))):
        folds = GroupKFold(5, shuffle=True, random_state=0)
        predicted: Array = np.empty(len(rows))
        for train, test in folds.split(table, groups=held_out):
            means = _means_of_others(y, groups, train)[:, None]
            trees.fit(np.hstack([table[train], means[train]]), y[train])
            predicted[test] = trees.predict(np.hstack([table[test], means[test]]))
        losses.append(np.square(predicted - y))
    units = np.unique(groups, return_inverse=True)[1]
    # If equal values determine the target, rows drawn at random have no error.
    return relative_loss(losses[0], losses[1], units) or Estimate(np.inf, np.inf, np.inf)


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

"""Grids of one parameter: values, choice of the best, and extension beyond the ends."""

from collections.abc import Sequence
from numbers import Real

import numpy as np

from mercer._data.types import Array, Penalties
from mercer._data.validation import warn

TIE = 1e-9
"""Losses with a relative difference below this value are equal up to rounding, and so are scores
with a relative difference below a tenth of it."""

EDGE_GAIN = 1e-3
"""A grid is too narrow if the score at an end exceeds the score next to it by more than this."""


def as_grid(name: str, value: Penalties, default: Array) -> Array:
    """Return the distinct values of a parameter to try, in ascending order.

    Parameters
    ----------
    name : str
        Name of the parameter, for error messages.
    value : "auto", float or sequence of float
    default : ndarray of shape (n_grid,)
        The grid that "auto" stands for.

    Raises
    ------
    ValueError
        If a value is not positive and finite, or `value` has another type.

    Examples
    --------
    >>> as_grid("C", [10, 1.0], np.ones(1))
    array([ 1., 10.])
    """
    if isinstance(value, str) and value == "auto":
        return default
    numbers = isinstance(value, Real | Sequence | np.ndarray) and not isinstance(value, str)
    grid = np.unique(np.asarray(value, dtype=float)) if numbers else np.empty(0)
    if not (grid.size and np.all(np.isfinite(grid)) and grid[0] > 0):
        raise ValueError(
            f"{name} must be 'auto', a positive number or a sequence of positive numbers; "
            f"got {value!r}."
        )
    return grid


def rescaled(value: Penalties, factor: float) -> Penalties:
    """Return given values of a parameter in another unit, and "auto" as it is.

    Parameters
    ----------
    value : "auto", float or sequence of float
    factor : float

    Examples
    --------
    >>> rescaled(3, 2.0), rescaled([1, 3], 2.0), rescaled("auto", 2.0)
    (6.0, array([2., 6.]), 'auto')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Real):
        return factor * float(value)
    return factor * np.asarray(value, dtype=float)


def grid_results(name: str, grid: Array, scores: Array) -> dict[str, Array]:
    """Return scores of shape (n_splits, n_grid), under the names of scikit-learn's searches."""
    return {
        f"param_{name}": grid,
        **{f"split{i}_test_score": split for i, split in enumerate(scores)},
        "mean_test_score": scores.mean(axis=0),
        "std_test_score": scores.std(axis=0),
    }


def first_best(scores: Array) -> int:
    """Return the index of the highest score, the first among equal ones, ignoring NaN.

    Scores are equal up to a fraction of their median absolute value, because they may have any
    unit.

    Examples
    --------
    >>> first_best(np.array([0.5, 0.9, 0.9]))
    1
    """
    rounding = TIE / 10.0 * np.nanmedian(np.abs(scores))
    return int(np.flatnonzero(scores >= np.nanmax(scores) - rounding)[0])


def best_at_edge(scores: Array, *, unbounded: bool = False) -> int:
    """Return -1 or 1 if a better value may lie below or above the grid, and 0 otherwise.

    The best value must be the first or the last of the grid, and its score must exceed the score
    next to it by more than `EDGE_GAIN`. On a plateau, a wider grid is of no use.

    Parameters
    ----------
    scores : ndarray of shape (n_grid,)
        NaN for values that were dropped.
    unbounded : bool, default=False
        Whether values beyond the last give the same predictions.

    Examples
    --------
    >>> best_at_edge(np.array([0.5, 0.8, 0.9]))
    1
    """
    best, last = first_best(scores), len(scores) - 1
    if last == 0 or 0 < best < last or (best == last and unbounded):
        return 0
    neighbor = 1 if best == 0 else last - 1
    if scores[best] - scores[neighbor] <= EDGE_GAIN:
        return 0
    return -1 if best == 0 else 1


def continued(grid: Array, side: int, limits: tuple[float, float], n_steps: int = 1) -> Array:
    """Return values that continue a grid in equal ratios, ascending.

    Parameters
    ----------
    grid : ndarray of shape (n_grid,)
        Ascending, at least two values.
    side : {-1, 1}
        -1 for values below the first value, 1 for values beyond the last.
    limits : tuple of float
        The smallest and the largest value that may be added.
    n_steps : int, default=1

    Examples
    --------
    >>> continued(np.array([1.0, 4.0]), 1, (0.1, 100.0), 3)
    array([16., 64.])
    """
    last, before = grid[[0, 1]] if side < 0 else grid[[-1, -2]]
    values = last * (last / before) ** np.arange(1, n_steps + 1)
    low, high = limits[0] * (1.0 - TIE), limits[1] * (1.0 + TIE)
    return np.sort(values[(values >= low) & (values <= high)])


def extension(
    grid: Array,
    scores: Array,
    full: Array,
    *,
    unbounded: bool = False,
    expensive: bool = False,
    reach: float = 256.0,
) -> Array:
    """Return the value by which a grid is extended if its best value is at an end.

    Parameters
    ----------
    grid : ndarray of shape (n_grid,)
        Ascending, in equal ratios.
    scores : ndarray of shape (n_grid,)
        NaN for values that were dropped.
    full : ndarray of shape (n_full,)
        Within the range of this grid, `grid` is extended whenever its best value is at an end.
        Beyond this range, the best score must also exceed the score next to it, as in
        :func:`best_at_edge`.
    unbounded : bool, default=False
        Whether values beyond the last give the same predictions.
    expensive : bool, default=False
        Whether larger values take too long to try.
    reach : float, default=256.0
        The grid is extended by at most this factor beyond the ends of `full`.

    Returns
    -------
    ndarray of shape (1,) or (0,)

    Examples
    --------
    >>> extension(np.array([1.0, 4.0]), np.array([0.8, 0.9]), np.array([1.0, 16.0]))
    array([16.])
    """
    best, side = first_best(scores), best_at_edge(scores, unbounded=unbounded)
    if best == 0 and grid[0] > full[0]:
        side = -1
    elif best == len(grid) - 1 and grid[-1] < full[-1] and not unbounded:
        side = 1
    if side == 0 or (side > 0 and expensive):
        return grid[:0]
    return continued(grid, side, (full[0] / reach, full[-1] * reach))


def warn_at_edge(name: str, grid: Array, scores: Array, *, unbounded: bool = False) -> None:
    """Warn if a wider grid of a parameter may hold a better value; see :func:`best_at_edge`."""
    if best_at_edge(scores, unbounded=unbounded):
        best = first_best(scores)
        warn(
            f"The best {name}, {grid[best]:.3g}, lies on the edge of the values tried, "
            f"{grid.min():.3g} to {grid.max():.3g}: pass a wider sequence as {name}."
        )

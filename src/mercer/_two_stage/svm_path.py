"""Choice of a regularization strength over a grid."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.svm import SVC

from mercer._typing import Array

TIE = 1e-10
"""Scores closer than this are equal: their difference is rounding."""

EDGE_GAIN = 1e-3
"""Gain of score over the neighbor from which the end of a grid is worth a warning."""


_DEAR = 100
"""Iterations of libsvm per training sample from which a machine is worth saving."""
_BEYOND_CHANCE = 2.5
"""Standard deviations by which a value must be behind another to be given up."""


@dataclass(frozen=True)
class SVMPath:
    """Support vector machines along a grid of C, tried on held-out samples.

    Attributes
    ----------
    hits : ndarray of bool of shape (n_grid, n_test)
        Which held-out samples are predicted rightly; none by machines that were left out.
    tried : ndarray of bool of shape (n_grid,)
        Which machines were not left out.
    dear : ndarray of bool of shape (n_grid,)
        Which took very many iterations.
    settled : bool
        Whether the last machine has no dual variable at its bound, so that every larger C gives
        the same one.
    decisions : list of ndarray of shape (n_test,) or (n_test, n_classes)
        Decision values of the held-out samples, one entry for each C (None where left out), where
        they were asked for.
    """

    hits: NDArray[np.bool_]
    tried: NDArray[np.bool_]
    dear: NDArray[np.bool_]
    settled: bool
    decisions: list[Array | None]

    @property
    def scores(self) -> Array:
        """Accuracy on the held-out samples, NaN where left out, shape (n_grid,)."""
        return np.where(self.tried, self.hits.mean(axis=1), np.nan)


def svm_path(
    gram: Array,
    labels: NDArray[Any],
    rows: Array,
    held_out: NDArray[Any],
    grid: Array,
    *,
    chosen: NDArray[np.bool_] | None = None,
    keep_decisions: bool = False,
) -> SVMPath:
    """Fit support vector machines with growing C and try them on held-out samples.

    Parameters
    ----------
    gram : ndarray of shape (n_train, n_train)
        Gram matrix of the training samples.
    labels : ndarray of shape (n_train,)
        Their classes.
    rows : ndarray of shape (n_test, n_train)
        Kernel between the held-out samples and the training samples.
    held_out : ndarray of shape (n_test,)
        Classes of the held-out samples.
    grid : ndarray of shape (n_grid,)
        Values of C, ascending.
    chosen : ndarray of bool of shape (n_grid,), default=None
        The values to try, all where None.
    keep_decisions : bool, default=False
        Whether to return decision values as well.

    Returns
    -------
    SVMPath

    Notes
    -----
    C enters the dual problem only as the bound of its variables. Once none of them is at the
    bound (in no pair of classes), the conditions of optimality hold for every larger C, and the
    machine is kept instead of being fitted again.
    """
    tried = np.ones(len(grid), dtype=bool) if chosen is None else chosen
    hits = np.zeros((len(grid), len(held_out)), dtype=bool)
    dear, settled = np.zeros(len(grid), dtype=bool), False
    decisions: list[Array | None] = [None] * len(grid)
    decision = None
    for i in np.flatnonzero(tried):
        if not settled:
            # What is known to be sound takes longer to check than a few samples take to learn.
            with config_context(assume_finite=True, skip_parameter_validation=True):
                machine = SVC(kernel="precomputed", C=grid[i]).fit(gram, labels)
                hit = machine.predict(rows) == held_out
                decision = machine.decision_function(rows) if keep_decisions else None
            settled = bool(np.abs(machine.dual_coef_).max() < grid[i])
            costly = machine.n_iter_.sum() > _DEAR * len(labels)
        hits[i], dear[i], decisions[i] = hit, costly, decision
    return SVMPath(
        hits, tried, dear, settled and bool(tried[-1]), decisions if keep_decisions else []
    )


def still_open(paths: Sequence[SVMPath]) -> NDArray[np.bool_]:
    """The values of C worth trying in further folds.

    Parameters
    ----------
    paths : sequence of SVMPath
        Of the folds so far.

    Returns
    -------
    ndarray of bool of shape (n_grid,)

    Notes
    -----
    Where classes overlap, machines of large C take very many iterations. Such a value is given up
    where it misses more samples that the best value gets right than the other way round, by two and
    a half standard deviations of that difference, were both equally good (McNemar's test); so are
    larger ones beyond the best that are behind at all. This can in principle miss the best value.

    References
    ----------
    Maron & Moore (1997), The racing algorithm. Artificial Intelligence Review 11.
    """
    hits = np.concatenate([path.hits for path in paths], axis=1)
    tried = np.logical_and.reduce([path.tried for path in paths])
    dear = np.logical_or.reduce([path.dear for path in paths])
    best = first_best(np.mean([path.scores for path in paths], axis=0))
    lost, won = (hits[best] & ~hits).sum(axis=1), (~hits[best] & hits).sum(axis=1)
    out = ~tried | (dear & (lost - won > _BEYOND_CHANCE * np.sqrt(lost + won)))
    beyond = np.arange(len(out)) > best
    out |= dear & (lost > won) & np.logical_or.accumulate(out & beyond)
    return np.asarray(~out)


def as_grid(name: str, value: Any, default: Array) -> Array:
    """The distinct values, ascending, that a parameter asks to try.

    Parameters
    ----------
    name : str
        The parameter's name, for messages.
    value : "auto", float or sequence of float
    default : ndarray of shape (n_grid,)
        The grid that "auto" stands for.

    Returns
    -------
    ndarray of shape (n_grid,)

    Raises
    ------
    ValueError
        If a value is not positive and finite, or `value` is none of the three.

    Examples
    --------
    >>> import numpy as np
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


def grid_results(name: str, grid: Array, scores: Array) -> dict[str, Array]:
    """Scores along a grid, under the names that scikit-learn's searches use.

    Parameters
    ----------
    name : str
        The parameter's name.
    grid : ndarray of shape (n_grid,)
    scores : ndarray of shape (n_splits, n_grid)

    Returns
    -------
    dict of str to ndarray of shape (n_grid,)
    """
    return {
        f"param_{name}": grid,
        **{f"split{i}_test_score": split for i, split in enumerate(scores)},
        "mean_test_score": scores.mean(axis=0),
        "std_test_score": scores.std(axis=0),
    }


def first_best(scores: Array) -> int:
    """Position of the highest score; the first among equals.

    Parameters
    ----------
    scores : ndarray of shape (n_grid,)
        NaN for values that were given up.

    Examples
    --------
    >>> import numpy as np
    >>> first_best(np.array([0.5, 0.9, 0.9]))
    1
    """
    return int(np.flatnonzero(scores >= np.nanmax(scores) - TIE)[0])


def warn_at_edge(name: str, grid: Array, scores: Array, *, settled: bool = False) -> None:
    """Warn where a wider grid may hold a better value.

    The best value must be the first or the last of the grid and beat its neighbor by more than
    `EDGE_GAIN`: on a plateau a wider grid has nothing to offer.

    Parameters
    ----------
    name : str
        The parameter's name.
    grid : ndarray of shape (n_grid,)
        Its values, from the most to the least regularized.
    scores : ndarray of shape (n_grid,)
        NaN for values that were given up.
    settled : bool, default=False
        Whether values beyond the last are known to give the same predictions.
    """
    if len(grid) == 1:
        return
    best = first_best(scores)
    last = len(grid) - 1
    neighbor = {0: 1, last: last - 1}.get(best)
    if neighbor is None or (best == last and settled):
        return
    if not scores[best] - scores[neighbor] <= EDGE_GAIN:
        warnings.warn(
            f"The best {name}, {grid[best]:.3g}, lies on the edge of the values tried, "
            f"{grid.min():.3g} to {grid.max():.3g}: pass a wider sequence as {name}.",
            UserWarning,
            stacklevel=2,
        )

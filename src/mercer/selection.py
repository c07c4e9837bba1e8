"""Choice of a regularisation strength over a grid."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from mercer._typing import Array

TIE = 1e-10
"""Scores closer than this are equal: their difference is rounding."""

EDGE_GAIN = 1e-3
"""Gain of score over the neighbour from which the end of a grid is worth a warning."""


@dataclass(frozen=True)
class SVMPath:
    """Support vector machines along a grid of C, tried on held-out samples.

    Attributes
    ----------
    scores : ndarray of shape (n_grid,)
        Accuracy on the held-out samples.
    settled : bool
        Whether the last machine has no dual variable at its bound, so that every larger C gives
        the same one.
    decisions : list of ndarray of shape (n_test,) or (n_test, n_classes)
        Decision values of the held-out samples, one entry for each C, where they were asked for.
    """

    scores: Array
    settled: bool
    decisions: list[Array]


def svm_path(
    gram: Array,
    labels: NDArray[Any],
    rows: Array,
    held_out: NDArray[Any],
    grid: Array,
    *,
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
    scores, decisions, settled = np.empty(len(grid)), [], False
    for i, bound in enumerate(grid):
        if not settled:
            machine = SVC(kernel="precomputed", C=bound).fit(gram, labels)
            score = np.mean(machine.predict(rows) == held_out)
            decision = machine.decision_function(rows) if keep_decisions else None
            settled = bool(np.abs(machine.dual_coef_).max() < bound)
        scores[i] = score
        if decision is not None:
            decisions.append(decision)
    return SVMPath(scores, settled, decisions)


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

    Examples
    --------
    >>> import numpy as np
    >>> first_best(np.array([0.5, 0.9, 0.9]))
    1
    """
    return int(np.flatnonzero(scores >= scores.max() - TIE)[0])


def warn_at_edge(name: str, grid: Array, scores: Array, *, settled: bool = False) -> None:
    """Warn where a wider grid may hold a better value.

    The best value must be the first or the last of the grid and beat its neighbour by more than
    `EDGE_GAIN`: on a plateau a wider grid has nothing to offer.

    Parameters
    ----------
    name : str
        The parameter's name.
    grid : ndarray of shape (n_grid,)
        Its values, from the most to the least regularised.
    scores : ndarray of shape (n_grid,)
    settled : bool, default=False
        Whether values beyond the last are known to give the same predictions.
    """
    if len(grid) == 1:
        return
    best = first_best(scores)
    last = len(grid) - 1
    neighbour = {0: 1, last: last - 1}.get(best)
    if neighbour is None or (best == last and settled):
        return
    if scores[best] - scores[neighbour] > EDGE_GAIN:
        warnings.warn(
            f"The best {name}, {grid[best]:.3g}, lies on the edge of the values tried, "
            f"{grid.min():.3g} to {grid.max():.3g}: pass a wider sequence as {name}.",
            UserWarning,
            stacklevel=2,
        )

"""Leaves that rows fall into, found by the public methods of ensembles of trees."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cache

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import ThreadpoolController

from mercer._data.types import Array, Features
from mercer.kernels._tree_arrays import TreeArrays, is_boosted

_LOSSES_OF_SUMS = ("squared_error", "absolute_error", "quantile")
"""Losses of boosted regressors whose predictions are the sums of leaf values themselves."""


def leaf_numbers(ensemble: BaseEstimator, X: Features) -> Iterator[tuple[Array, float]]:
    """Yield the numbers that identify the leaves of each tree, and their rounding errors.

    Parameters
    ----------
    ensemble : estimator
        See :class:`Forest`.
    X : ndarray or sparse matrix of shape (n_samples, n_features)

    Yields
    ------
    values : ndarray of shape (n_samples,)
    rounding : float
        Largest difference between the numbers of one leaf.

    Raises
    ------
    TypeError
        If the leaves of the ensemble cannot be read.
    """
    check_is_fitted(ensemble)
    if isinstance(ensemble, TreeArrays):
        yield from ensemble.told_apart(X)
    elif hasattr(ensemble, "apply"):
        yield from _positions(ensemble.apply(X))
    elif _predicts_leaves(ensemble):
        yield from _positions(ensemble.predict(X, pred_leaf=True))
    elif is_boosted(ensemble):
        yield from _staged_differences(ensemble, X)
    else:
        for part in ensemble.estimators_:
            yield from leaf_numbers(part, X)


def check_leaves_are_read(ensemble: BaseEstimator) -> None:
    """Raise an error if the leaves of an ensemble, fitted or not, cannot be read.

    Parameters
    ----------
    ensemble : object

    Raises
    ------
    TypeError
        If the ensemble is not of a kind that :class:`Forest` accepts.
    ValueError
        If it is boosted with a loss whose predictions are not sums of leaf values.
    """
    if isinstance(ensemble, MultiOutputRegressor):
        check_leaves_are_read(ensemble.estimator)
        return
    boosted = is_boosted(ensemble)
    if isinstance(ensemble, type) or not (
        boosted or hasattr(ensemble, "apply") or _predicts_leaves(ensemble)
    ):
        raise TypeError(
            "ensemble must be an estimator with a method `apply`, such as ExtraTreesRegressor(), "
            "one whose `predict` takes pred_leaf=True, HistGradientBoostingClassifier() or "
            f"HistGradientBoostingRegressor(); got {ensemble!r}."
        )
    sums = hasattr(ensemble, "decision_function")
    if boosted and not sums and ensemble.loss not in _LOSSES_OF_SUMS:
        raise ValueError(
            "Leaves are read off sums of their values, which loss must predict: one of "
            f"{', '.join(_LOSSES_OF_SUMS)}; got {ensemble.loss!r}."
        )


def _predicts_leaves(ensemble: BaseEstimator) -> bool:
    """Return whether `predict` has LightGBM's parameter `pred_leaf`."""
    predict = getattr(ensemble, "predict", None)
    return predict is not None and "pred_leaf" in inspect.signature(predict).parameters


def _positions(leaves: npt.ArrayLike) -> Iterator[tuple[Array, float]]:
    """Yield the positions of leaves among the nodes of each tree, which have no rounding errors."""
    table = np.asarray(leaves)
    yield from ((column, 0.0) for column in table.reshape(len(table), -1).T)


def _staged_differences(ensemble: BaseEstimator, X: Features) -> Iterator[tuple[Array, float]]:
    """Yield leaf values of boosted trees; the values of the first trees include the baseline.

    A stored sum S_t differs from S_(t-1) + v by eps |S_t| / 2 at most, and the computed difference
    d from S_t - S_(t-1) by eps |d| / 2, where |d| is at most twice the largest of the sums, m. Two
    differences of the same leaf value v thus differ by 3 eps m at most.
    """
    stages = getattr(ensemble, "staged_decision_function", ensemble.staged_predict)
    before: Array | None = None
    largest = 0.0
    for stage in stages(X):
        sums = np.asarray(stage).reshape(len(stage), -1)
        largest = max(largest, float(np.abs(sums).max(initial=0.0)))
        for column in (sums if before is None else sums - before).T:
            yield column, 3.0 * np.finfo(np.float64).eps * largest
        before = sums


def cuts_between(values: Array, rounding: float) -> Array:
    """Find ascending thresholds between the numbers of different leaves.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
    rounding : float
        Numbers that differ by at most this much belong to one leaf.
    """
    ordered = np.sort(values)
    ends = np.flatnonzero(np.diff(ordered) > rounding)
    return np.asarray(0.5 * (ordered[ends].astype(float) + ordered[ends + 1]))


def leaves_of(values: Array, cuts: Array) -> Array:
    """Return the leaf of each row, counted from zero, in the smallest integer type that suffices.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
    cuts : ndarray of shape (n_leaves - 1,)
    """
    return np.searchsorted(cuts, values).astype(np.min_scalar_type(-len(cuts) - 1))


@cache
def _openmp() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="openmp")


def openmp_threads(n_threads: int) -> AbstractContextManager[object]:
    """Return a context that limits the threads with which boosted trees loop over rows.

    Several threads wait for each other longer than one thread takes to evaluate a tree on a few
    thousand rows. If other processes keep the processors busy, they wait for milliseconds.
    """
    return _openmp().limit(limits=n_threads)


def total_effects(predict: Callable[[Array], Array], rows: Features) -> Array:
    """Return the features' total effects on predictions, relative to the predictions' variance.

    The values of one feature are exchanged between rows; the effect is half the mean square of the
    resulting changes in predictions.

    Parameters
    ----------
    predict : callable
        Function from rows to predictions of shape (n_rows,) or (n_rows, n_outputs).
    rows : ndarray or sparse matrix of shape (n_rows, n_features)

    Returns
    -------
    ndarray of shape (n_features,)
        Zeros if the predictions are constant.

    References
    ----------
    Jansen (1999), Analysis of variance designs for model output.
    """
    rows = sp.csr_matrix(rows).toarray() if sp.issparse(rows) else rows
    effects = np.zeros(rows.shape[1])
    with openmp_threads(1):
        before = predict(rows)
        variance = before.var(axis=0).sum()
        order = np.random.default_rng(0).permutation(len(rows))
        for column in range(rows.shape[1]) if variance else []:
            changed = rows.copy()
            changed[:, column] = rows[order, column]
            difference = predict(changed) - before
            effects[column] = np.square(difference).mean(axis=0).sum() / (2.0 * variance)
    return effects

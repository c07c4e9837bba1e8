"""Values of kernel machines for samples that they were not fitted to, and probabilities of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mercer._model_selection.temperature import Temperature, fit_temperature
from mercer._typing import Array
from mercer._weights.problems import Problems

_N_FOLDS = 5
"""Machines are fitted in so many folds."""

_SEED = 0
"""Seed by which samples are divided into folds, so that fits repeat."""

_ACCURACY = 1e-2
"""Relative duality gap of these machines, whose values are scaled by one factor."""

FoldValues: TypeAlias = Callable[[NDArray[np.intp], NDArray[np.intp]], Array]
"""From indices of training and held-out samples to the machines' values for the latter."""


def machine_values(problems: Problems, gram: Array) -> FoldValues:
    """Return what fits machines to a learned kernel in one fold.

    Parameters
    ----------
    problems : Problems
        Of labels -1 and 1.
    gram : ndarray of shape (n_samples, n_samples)
        The learned kernel on all samples.
    """

    def values(train: NDArray[np.intp], test: NDArray[np.intp]) -> Array:
        within, across = gram[np.ix_(train, train)], gram[np.ix_(test, train)]
        found = np.empty((test.size, problems.Y.shape[1]))
        loss = problems.loss
        if loss.weights is not None:
            loss = loss.with_weights(loss.weights[train])
        for column, labels in enumerate(problems.Y[train].T):
            if np.all(labels == labels[0]):
                # Every loss of labels is lowest for a constant that has the sign of the only label.
                found[:, column] = labels[0]
                continue
            machine = loss.fit(within, labels, intercept=problems.intercept, accuracy=_ACCURACY)
            found[:, column] = across @ machine.c + machine.intercept
        return found

    return values


def class_values(values: Array) -> Array:
    """Values with one column for each class, of one machine for two classes, or of one for each.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_problems)

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
    """
    return np.hstack([-values, values]) if values.shape[1] == 1 else values


def held_out_temperature(
    fold_values: FoldValues, codes: NDArray[np.intp], weights: Array | None = None
) -> Temperature:
    """Fit probabilities of the classes to values of held-out samples.

    Parameters
    ----------
    fold_values : callable
    codes : ndarray of int of shape (n_samples,)
        Classes.
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples; None where all are one.

    Returns
    -------
    Temperature
        For what :func:`class_values` returns.

    Notes
    -----
    The kernel is that of the whole fit, and machines alone are fitted in five folds. They take a
    tenth to a fifth of the time in which kernel and machines were learned.
    """
    parts = [(test, fold_values(train, test)) for train, test in _folds(codes)]
    held_out = np.concatenate([test for test, _ in parts])
    values = class_values(np.concatenate([found for _, found in parts]))
    own = None if weights is None else weights[held_out]
    return fit_temperature(values, codes[held_out], own)


def _folds(codes: NDArray[np.intp]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Training and held-out samples, each class in proportion."""
    order = np.random.default_rng(_SEED).permutation(codes.size)
    fold = np.empty(codes.size, dtype=int)
    fold[order[np.argsort(codes[order], kind="stable")]] = np.arange(codes.size) % _N_FOLDS
    for number in range(min(_N_FOLDS, codes.size)):
        yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)

"""Calibration of class probabilities on predictions for held-out samples."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from mercer._data.resampling import Resampling
from mercer._data.types import Array
from mercer._data.validation import ROUNDING
from mercer._data.weights import SampleWeights, as_weights
from mercer._gram.expansion import KernelExpansion, class_expansion
from mercer._gram.tiles import serial_algebra
from mercer._model_selection.prediction_sets import HeldOutProbabilities

_FEW_CLASSES = 6
"""For at most this many classes, Newton's method takes no longer than L-BFGS, and its probabilities
are accurate to a dozen digits."""


@dataclass(frozen=True)
class Calibration:
    """Class probabilities as the softmax of an affine function of decision values.

    Attributes
    ----------
    factor : float or ndarray of shape (n_classes, n_classes)
        The factor of the decision values: one over the temperature, or a matrix of coefficients.
    intercept : float or ndarray of shape (n_classes,), default=0.0
    """

    factor: float | Array
    intercept: float | Array = 0.0

    def probabilities(self, values: Array) -> Array:
        """Return the probabilities of the classes, shape (n_samples, n_classes).

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_classes)
            Decision values, or predicted class indicators.
        """
        return np.asarray(softmax(np.dot(values, self.factor) + self.intercept, axis=1))


def fit_temperature(
    values: Array, codes: Array, weights: SampleWeights | Array | None = None
) -> Calibration:
    """Fit the temperature of class probabilities to decision values of held-out samples.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_classes)
        Decision values of held-out samples.
    codes : ndarray of int of shape (n_samples,)
        The classes of the held-out samples.
    weights : SampleWeights or ndarray of shape (n_samples,), default=None

    Returns
    -------
    Calibration
        The calibration with the lowest cross-entropy.

    Notes
    -----
    The class with the largest decision value has the highest probability, so that probabilities
    never contradict predictions, whereas those of a logistic regression with an intercept can.
    Labels are smoothed by Laplace's rule, (n y + 1) / (n + k) for n samples and k classes, which
    keeps the probabilities of separable classes away from zero and one.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), On calibration of modern neural networks, section 4.2;
    Platt (1999), Probabilistic outputs for support vector machines, on smoothed labels.

    Examples
    --------
    >>> values = np.array([[1.0, -1.0], [0.5, -0.5], [-0.2, 0.2], [-1.0, 1.0]])
    >>> fit_temperature(values, np.array([0, 0, 1, 1])).probabilities(values)[:, 1].round(2)
    array([0.12, 0.27, 0.6 , 0.88])
    """
    weights = as_weights(weights, len(values))
    n, k = weights.total, values.shape[1]
    targets = (n * np.eye(k)[codes] + 1.0) / (n + k)
    deviation = weights.spread(values) if n else 0.0
    if deviation == 0.0:
        return Calibration(1.0)

    scaled = values / deviation

    def slope(logarithm: float) -> float:
        """Return the derivative of the cross-entropy, which is convex in the factor."""
        excess = softmax(np.exp(logarithm) * scaled, axis=1) - targets
        return weights.sum(np.sum(excess * scaled, axis=1))

    low, high = -10.0, 10.0  # Bounds on the factor's logarithm, for values of unit variance.
    if slope(low) >= 0.0 or slope(high) <= 0.0:
        logarithm = low if slope(low) >= 0.0 else high
    else:
        logarithm = brentq(slope, low, high, xtol=ROUNDING)
    return Calibration(float(np.exp(logarithm)) / deviation)


def fit_temperatures(
    values: Array, Y: Array, weights: SampleWeights | Array | None = None
) -> list[Calibration]:
    """Fit a temperature for each label to the values -v and v; see `fit_temperature`.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_labels)
        Decision values of held-out samples.
    Y : ndarray of int of shape (n_samples, n_labels)
        Whether each sample has each label.
    weights : SampleWeights or ndarray of shape (n_samples,), default=None
    """
    return [
        fit_temperature(class_values(own[:, None]), labels, weights)
        for own, labels in zip(values.T, Y.T, strict=True)
    ]


def label_factors(temperatures: Sequence[Calibration]) -> Array:
    """Return the factors, one for each label, that turn decision values into log-odds."""
    return 2.0 * np.array([temperature.factor for temperature in temperatures])


def calibrate(
    indicators: Array, codes: Array, counts: Array, weights: Array | None = None
) -> Calibration:
    """Fit a logistic regression of classes on out-of-fold predictions of class indicators.

    Parameters
    ----------
    indicators : ndarray of shape (n_rows, n_classes)
        Predicted class indicators.
    codes : ndarray of int of shape (n_rows,)
        True classes.
    counts : ndarray of shape (n_classes,)
        Number of rows, or total weight, that the given rows of each class represent.
    weights : ndarray of shape (n_rows,), default=None
        Weights of the rows within their classes.

    Returns
    -------
    Calibration

    Notes
    -----
    A single factor for all classes, as in :func:`fit_temperature`, does not suffice if ridge
    regression shrinks some classes more than others.

    If the fitted probabilities would fall as the predicted indicators rise, labels leak through the
    rows on which the predictions are based. In this case, all probabilities are class frequencies.

    A row's weight is the number of rows that its class represents divided by the number of its
    given rows, so that the given rows may have classes in any proportion. A class without rows has
    probability zero.

    Examples
    --------
    >>> indicators = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.1, 0.9]])
    >>> found = calibrate(indicators, np.array([0, 1, 0, 1]), np.array([2.0, 2.0]))
    >>> found.probabilities(np.array([[0.5, 0.5]])).round(1)
    array([[0.5, 0.5]])
    """
    k = indicators.shape[1]
    present = np.unique(codes)
    intercept = np.full(k, -np.inf)
    intercept[present] = 0.0
    if len(present) < 2:
        return Calibration(0.0, np.zeros(k) if not len(present) else intercept)
    given = as_weights(weights, len(codes))
    totals, n_rows = np.bincount(codes, given.values, minlength=k), given.total
    scale = np.sqrt(np.average(given.deviation(indicators) ** 2))
    weights = given.values * (counts / np.where(totals > 0.0, totals, 1.0))[codes]
    weights *= n_rows / weights.sum()
    mean = np.average(indicators, axis=0, weights=weights)
    deviations = indicators - mean
    if weights @ deviations[np.arange(len(codes)), codes] <= 0.0:
        intercept[present] = np.log(counts[present])
        return Calibration(np.zeros((k, k)), intercept)
    with serial_algebra():  # Rounding hardly changes the probabilities at this tolerance.
        solver = "newton-cholesky" if len(present) <= _FEW_CLASSES else "lbfgs"
        found = LogisticRegression(tol=1e-9, max_iter=1000, solver=solver).fit(
            deviations / scale, codes, sample_weight=weights
        )
    slopes = found.coef_ / scale
    levels = found.intercept_ - slopes @ mean
    if len(present) == 2:
        slopes, levels = np.vstack([-slopes, slopes]) / 2.0, np.append(-levels, levels) / 2.0
    coefficients = np.zeros((k, k))
    coefficients[:, present], intercept[present] = slopes.T, levels
    return Calibration(coefficients, intercept)


def normalized_probabilities(positive: Array) -> Array:
    """Return class probabilities from the probabilities of one-against-rest problems.

    Parameters
    ----------
    positive : ndarray of shape (n_samples, n_problems)
        Probabilities of the positive classes. For two classes, there is one column.
    """
    if positive.shape[1] == 1:
        return np.hstack([1.0 - positive, positive])
    return np.asarray(positive / positive.sum(axis=1, keepdims=True))


def class_values(values: Array) -> Array:
    """Return decision values with one column per class, even if two classes share one machine.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_problems)
    """
    return np.hstack([-values, values]) if values.shape[1] == 1 else values


def held_out_temperature(
    held_out: Callable[[NDArray[np.intp], NDArray[np.intp]], Array],
    codes: NDArray[np.intp],
    weights: SampleWeights,
    resampling: Resampling,
    cv: int = 5,
) -> tuple[Calibration, HeldOutProbabilities]:
    """Fit the temperature to decision values of samples that are held out fold by fold.

    Parameters
    ----------
    held_out : callable
        Maps indices of training and held-out samples to the decision values of the held-out ones.
    codes : ndarray of int of shape (n_samples,)
        Classes.
    weights : SampleWeights
    resampling : Resampling
        Which samples are held out together.
    cv : int, default=5
        Number of folds, which are stratified by class.

    Returns
    -------
    calibration : Calibration
        The calibration of the values that :func:`class_values` returns.
    held_out : HeldOutProbabilities

    Notes
    -----
    All folds use the kernel of the whole fit, and only the machines are fitted again. This takes a
    tenth to a fifth of the time needed to learn the kernel and the machines.
    """
    if resampling.one_at_a_time:
        order = np.random.default_rng(0).permutation(codes.size)
        if resampling.ranks is not None:
            order = np.argsort(resampling.ranks)[order]
        fold = np.empty(codes.size, dtype=int)
        fold[order[np.argsort(codes[order], kind="stable")]] = np.arange(codes.size) % cv
        parts = range(min(cv, codes.size))
        splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in parts]
    else:
        splits = resampling.folds(cv, codes, 0)
    found = [held_out(train, test) for train, test in splits]
    rows, values = np.concatenate([test for _, test in splits]), class_values(np.concatenate(found))
    known, inside = codes[rows], weights.take(rows)
    calibration = fit_temperature(values, known, inside.given)
    probabilities = calibration.probabilities(values)
    groups = None if resampling.groups is None else resampling.groups[rows]
    return calibration, HeldOutProbabilities(probabilities, known, inside, groups, numbers=rows)


def calibrated_expansion(
    expansion: KernelExpansion, calibration: Calibration, classes: Array
) -> KernelExpansion:
    """Return the expansion of scores whose softmax gives the class probabilities.

    For two classes, return the expansion of the log-odds.

    Parameters
    ----------
    expansion : KernelExpansion
        The expansion of the values before :func:`class_values`, or of one value for each class.
    calibration : Calibration
        The calibration of values with one column for each class.
    classes : ndarray of shape (n_classes,)
    """
    n_values, k = len(expansion.intercept), len(classes)
    columns = np.array([[-1.0, 1.0]]) if n_values == 1 else np.eye(k)
    matrix = np.dot(columns, calibration.factor)
    found = replace(
        expansion,
        terms=[term.mapped(matrix) for term in expansion.terms],
        intercept=expansion.intercept @ matrix + calibration.intercept,
    )
    return class_expansion(found, classes)

"""Prices of kernels: exact leave-one-out errors of kernel ridge regression at every penalty."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._gram.sample_weights import (
    representative_rows,
    weighted_deviation,
    weighted_mean,
)
from mercer._typing import Array
from mercer._weights.ridge import RidgePath, ridge_path

ALPHAS: Array = 10.0 ** np.arange(-5, 1.5, 0.5)
"""Penalties of ridge regression that are tried on kernels of unit scale."""

LEAST_ALPHA = 1e-10
"""Below this penalty, leave-one-out residuals on a kernel of unit scale may be rounding errors."""

MOST_ALPHA = 1e3
"""Above this penalty, times the number of samples, a kernel of unit scale predicts the mean."""

_STEPS = 4
"""The grid of penalties is extended by this many values at a time."""

_TIE = 1e-9
"""Losses that differ by less than this fraction are equal up to rounding."""

_CONSTANT = 1e-12
"""Responses are constant if they deviate by less than this fraction of their largest magnitude."""


@dataclass(frozen=True)
class EncodedTarget:
    """What ridge regression predicts in place of responses or classes.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_outputs)
        Standardized responses, zero where constant; or class indicators, one column per class.
    offset, scale : ndarray of shape (n_outputs,)
        Responses are ``offset + scale * values``.
    classes : ndarray of shape (n_classes,), or None
        The labels, sorted; None for responses.
    codes : ndarray of int of shape (n_samples,), or None
        Index of each sample's class in `classes`.
    weights : ndarray of shape (n_samples,), or None
        Weights of the samples; None where all are one.
    """

    values: Array
    offset: Array
    scale: Array
    classes: Array | None = None
    codes: Array | None = None
    weights: Array | None = None

    def decode(self, predictions: Array) -> Array:
        """Return predicted responses in their own unit, or the labels of the largest indicators.

        Parameters
        ----------
        predictions : ndarray of shape (..., n_outputs)

        Returns
        -------
        ndarray of shape (..., n_outputs), or of shape (...,) for classes
        """
        if self.classes is not None:
            return np.asarray(self.classes[predictions.argmax(axis=-1)])
        return self.offset + self.scale * predictions

    def take(self, rows: Array) -> EncodedTarget:
        """Return the target of some of the samples, in the same encoding.

        Parameters
        ----------
        rows : ndarray of int
        """
        codes = None if self.codes is None else self.codes[rows]
        weights = None if self.weights is None else self.weights[rows]
        values = self.values[rows]
        return EncodedTarget(values, self.offset, self.scale, self.classes, codes, weights)

    @property
    def mean(self) -> Array:
        """Mean over the samples, shape (n_outputs,): of classes, their frequencies."""
        return weighted_mean(self.values, self.weights)

    @property
    def left_out_means(self) -> Array:
        """Mean over all other samples, for each sample, shape (n_samples, n_outputs)."""
        weights = np.ones(len(self.values)) if self.weights is None else self.weights
        part = (weights / weights.sum())[:, None]
        # A sample that has all of the weight up to rounding leaves the mean of nothing.
        rest = np.maximum(1.0 - part, np.finfo(float).eps)
        return np.asarray(self.mean - part * (self.values - self.mean) / rest)

    @property
    def representative(self) -> EncodedTarget:
        """The target of the rows that stand for the weighted ones, without weights."""
        if self.weights is None:
            return self
        return replace(self.take(representative_rows(self.weights)), weights=None)


def encode_target(y: Any, *, classification: bool, weights: Array | None = None) -> EncodedTarget:
    """Standardize responses, or turn classes into indicators.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Labels, or one or several responses.
    classification : bool
        Whether `y` holds labels.
    weights : ndarray of shape (n_samples,), default=None
        Positive weights of the samples.

    Returns
    -------
    EncodedTarget

    Examples
    --------
    >>> encode_target([1.0, 3.0], classification=False).values
    array([[-1.],
           [ 1.]])
    >>> encode_target(["a", "b", "a"], classification=True).values
    array([[1., 0.],
           [0., 1.],
           [1., 0.]])
    """
    if classification:
        classes, codes = np.unique(np.asarray(y).ravel(), return_inverse=True)
        k = len(classes)
        return EncodedTarget(np.eye(k)[codes], np.zeros(k), np.ones(k), classes, codes, weights)
    responses = np.asarray(y, dtype=float)
    responses = responses.reshape(len(responses), -1)
    # Division by the largest magnitude keeps sums of squares from overflowing.
    unit = np.abs(responses).max(axis=0)
    unit = np.where(unit > 0.0, unit, 1.0)
    mean = weighted_mean(responses / unit, weights)
    values = responses / unit - mean
    deviation = weighted_deviation(values, weights)
    varies = deviation > _CONSTANT
    deviation = np.where(varies, deviation, 1.0)
    values = np.where(varies, values, 0.0) / deviation
    return EncodedTarget(values, mean * unit, deviation * unit, weights=weights)


@dataclass(frozen=True)
class LeaveOneOut:
    """Leave-one-out predictions of kernel ridge regression along a grid of penalties.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        Penalties, ascending, for a Gram matrix of unit scale.
    predictions : ndarray of shape (n_alphas, n_samples, n_outputs)
        Of each sample by the fit to all others.
    losses : ndarray of shape (n_alphas,)
        Mean squared errors, relative to that of the mean of all other samples; one where that
        has no error.
    best : int
        Index of the lowest loss; the largest penalty among equal ones.
    path : RidgePath
        The fit to all samples, at every penalty.
    """

    alphas: Array
    predictions: Array
    losses: Array
    best: int
    path: RidgePath

    @property
    def alpha(self) -> float:
        """The penalty of lowest loss."""
        return float(self.alphas[self.best])

    @property
    def loss(self) -> float:
        """The lowest loss: the price of the kernel."""
        return float(self.losses[self.best])

    @property
    def best_predictions(self) -> Array:
        """Leave-one-out predictions at the best penalty, shape (n_samples, n_outputs)."""
        return np.asarray(self.predictions[self.best])

    def misclassification(self, codes: Array) -> Array:
        """Return how often the largest leave-one-out prediction is not that of the true class.

        Parameters
        ----------
        codes : ndarray of int of shape (n_samples,)
            True classes, where the outputs are class indicators.

        Returns
        -------
        ndarray of shape (n_alphas,)
            Fractions of the samples.
        """
        wrong = self.predictions.argmax(axis=2) != codes
        return weighted_mean(wrong.T, self.path.weights)

    def predict(self, rows: Array, alpha: float | None = None) -> Array:
        """Predict new samples by the fit to all training samples.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_samples)
            Kernel between new samples and the training samples, centered and scaled like the
            Gram matrix; see :class:`UnitScale`.
        alpha : float, default=None
            The best penalty where None.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
        """
        chosen = self.alpha if alpha is None else alpha
        return np.asarray(rows @ self.path.dual_coefficients(chosen) + self.path.mean)


def leave_one_out(
    gram: Array,
    targets: Array,
    alphas: Array = ALPHAS,
    *,
    extend: bool = True,
    weights: Array | None = None,
) -> LeaveOneOut:
    """Leave-one-out predictions of kernel ridge regression with an intercept, at every penalty.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix, of unit mean diagonal; of a constant kernel, zeros.
    targets : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        See :func:`encode_target`. The mean of all other samples, which for class indicators is
        the frequencies of the classes among them, is the intercept of each left-out sample.
    alphas : ndarray of shape (n_alphas,), default=ALPHAS
        Penalties, positive.
    extend : bool, default=True
        Whether to extend the grid in equal ratios while its best value is at an end, down to
        rounding errors and up to where all is shrunk to the mean.
    weights : ndarray of shape (n_samples,), default=None
        Positive weights of the samples, by which the Gram matrix is centered. A sample is left out
        with all of its weight.

    Returns
    -------
    LeaveOneOut

    Raises
    ------
    ValueError
        If there is one sample, or the Gram matrix has a negative eigenvalue.

    Notes
    -----
    One eigendecomposition, and O(n^2) for each penalty and output.

    The price is honest for kernels that no label has touched. A kernel that was learned from the
    labels of the samples must be priced in folds; see
    :func:`mercer._model_selection.held_out.held_out_losses`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer._gram.dense import to_unit_scale
    >>> from mercer.kernels import Gaussian
    >>> x = np.linspace(0.0, 3.0, 20)
    >>> gram, _ = to_unit_scale(Gaussian(1.0)(x[:, None]))
    >>> found = leave_one_out(gram, encode_target(np.sin(x), classification=False).values)
    >>> found.loss < 1e-4
    True
    """
    if len(gram) < 2:
        raise ValueError("Leave-one-out errors need at least two samples; got one.")
    targets = targets.reshape(len(gram), -1)
    path = ridge_path(gram, targets, weights)
    alphas = np.unique(np.asarray(alphas, dtype=float))
    residuals = path.leave_one_out_residuals(alphas)
    n, reference = len(gram), _error_of_mean(targets, weights)
    losses = _relative(residuals, reference, weights)
    while extend and (further := _beyond(alphas, _lowest(losses), n)) is not None:
        added = path.leave_one_out_residuals(further)
        at = 0 if further[0] < alphas[0] else alphas.size
        alphas = np.insert(alphas, at, further)
        residuals = np.insert(residuals, at, added, axis=0)
        losses = np.insert(losses, at, _relative(added, reference, weights))
    return LeaveOneOut(alphas, targets - residuals, losses, _lowest(losses), path)


def relative_loss(residuals: Array, targets: Array, weights: Array | None = None) -> float:
    """Mean squared leave-one-out error, relative to that of the mean of all other samples.

    Parameters
    ----------
    residuals, targets : ndarray of shape (n_samples, n_outputs)
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    float
        One where the mean of all others has no error.
    """
    reference = _error_of_mean(targets, weights)
    return float(_relative(residuals[None], reference, weights)[0])


def _relative(residuals: Array, reference: float, weights: Array | None) -> Array:
    """Losses along the grid, shape (n_alphas,)."""
    squares = weighted_mean(np.square(residuals).mean(axis=2).T, weights)
    return np.asarray(squares / reference if reference > 0.0 else np.ones_like(squares))


def _error_of_mean(targets: Array, weights: Array | None) -> float:
    """Mean squared error of predicting each sample by the mean of all others."""
    total = float(len(targets) if weights is None else weights.sum())
    left = 1.0 if weights is None else weights[:, None]
    errors = (targets - weighted_mean(targets, weights)) * (total / (total - left))
    return float(weighted_mean(np.square(errors).mean(axis=1), weights))


def _lowest(losses: Array) -> int:
    """Index of the lowest loss, the last among those that are equal up to rounding."""
    return int(np.flatnonzero(losses <= losses.min() * (1.0 + _TIE))[-1])


def _beyond(alphas: Array, best: int, n_samples: int) -> Array | None:
    """Further penalties, ascending, beyond the end that is best; None if none are to be tried."""
    if alphas.size == 1 or 0 < best < alphas.size - 1:
        return None
    steps = np.arange(1, _STEPS + 1)
    if best == 0:
        further = alphas[0] * (alphas[0] / alphas[1]) ** steps[::-1]
        further = further[further >= LEAST_ALPHA]
    else:
        further = alphas[-1] * (alphas[-1] / alphas[-2]) ** steps
        further = further[further <= MOST_ALPHA * n_samples]
    return further if further.size else None

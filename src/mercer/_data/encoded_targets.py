"""Targets of samples, encoded for ridge regression."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.preprocessing import LabelEncoder

from mercer._data.folds import Split
from mercer._data.resampling import Resampling, as_resampling
from mercer._data.types import Array, RandomState
from mercer._data.weights import SampleWeights, as_weights


@dataclass(frozen=True)
class TargetEncoding:
    """The encoding of a target for ridge regression: standardized responses or class indicators.

    Attributes
    ----------
    offset, scale : ndarray of shape (n_outputs,)
        Responses are ``offset + scale * values``. For classes, zeros and ones.
    classes : ndarray of shape (n_classes,), or None
        The labels, sorted; None for responses.
    """

    offset: Array
    scale: Array
    classes: Array | None

    @property
    def n_outputs(self) -> int:
        """Number of columns of the encoded target."""
        return len(self.offset)

    def codes_of(self, y: Array) -> Array:
        """Return the index of each label in `classes`, shape (n_samples,).

        Parameters
        ----------
        y : ndarray of shape (n_samples,)

        Raises
        ------
        ValueError
            If a label is not among the classes.
        """
        encoder = LabelEncoder()
        encoder.classes_ = self.classes
        return np.asarray(encoder.transform(np.ravel(y)))

    def encode(self, y: Array) -> Array:
        """Return the values to fit by regression, shape (n_samples, n_outputs).

        Parameters
        ----------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        if self.classes is not None:
            return np.eye(len(self.classes))[self.codes_of(y)]
        responses = np.asarray(y, dtype=float).reshape(len(y), self.n_outputs)
        return np.asarray((responses - self.offset) / self.scale)

    def decode(self, values: Array) -> Array:
        """Return the responses or labels that are encoded as some values.

        Parameters
        ----------
        values : ndarray of shape (..., n_outputs)

        Returns
        -------
        ndarray of shape (..., n_outputs), or of shape (...,) for classes
        """
        if self.classes is not None:
            return np.asarray(self.classes[values.argmax(axis=-1)])
        return np.asarray(self.offset + self.scale * values)


@dataclass(frozen=True)
class EncodedTarget(TargetEncoding):
    """The encoded target of some samples.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_outputs)
        Standardized responses, zero if constant; or class indicators, one column per class.
    codes : ndarray of int of shape (n_samples,), or None
        Index of each sample's class in `classes`.
    weights : SampleWeights
    resampling : Resampling
        Which samples are left out together.
    """

    values: Array
    codes: Array | None
    weights: SampleWeights
    resampling: Resampling

    def __len__(self) -> int:
        return len(self.values)

    @property
    def encoding(self) -> TargetEncoding:
        """The encoding, without the samples."""
        return TargetEncoding(self.offset, self.scale, self.classes)

    def take(self, rows: Array) -> EncodedTarget:
        """Return the target of some of the samples, in the same encoding."""
        codes = None if self.codes is None else self.codes[rows]
        weights, resampling = self.weights.take(rows), self.resampling.take(rows)
        values = self.values[rows]
        return replace(self, values=values, codes=codes, weights=weights, resampling=resampling)

    @property
    def mean(self) -> Array:
        """Mean over the samples, shape (n_outputs,); for classes, the class frequencies."""
        return self.weights.mean(self.values)

    @property
    def left_out_means(self) -> Array:
        """For each sample, the mean over samples not left out with it, (n_samples, n_outputs)."""
        return self.resampling.left_out_means(self.values, self.weights)

    def folds(self, n_folds: int, random_state: RandomState) -> list[Split]:
        """Return folds stratified by class; see :meth:`Resampling.folds`."""
        return self.resampling.folds(n_folds, self.codes, random_state)


def encode_target(
    y: Array,
    *,
    classification: bool,
    weights: SampleWeights | Array | None = None,
    resampling: Resampling | None = None,
) -> EncodedTarget:
    """Standardize responses, or turn classes into indicators; given indicators are unchanged.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Labels, indicators of several labels, or one or several responses.
    classification : bool
        Whether `y` holds labels.
    weights : SampleWeights or ndarray of shape (n_samples,), default=None
    resampling : Resampling, default=None
        Which samples are left out together; by default each is left out alone.

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
    weights, resampling = as_weights(weights, len(y)), as_resampling(resampling, len(y))
    if classification and np.ndim(y) == 2 and np.shape(y)[1] > 1:
        zeros, values = np.zeros(np.shape(y)[1]), np.asarray(y, dtype=float)
        return EncodedTarget(zeros, zeros + 1.0, None, values, None, weights, resampling)
    if classification:
        classes, codes = np.unique(np.asarray(y).ravel(), return_inverse=True)
        k = len(classes)
        scale = np.zeros(k), np.ones(k)
        return EncodedTarget(*scale, classes, np.eye(k)[codes], codes, weights, resampling)
    responses = np.asarray(y, dtype=float)
    responses = responses.reshape(len(responses), -1)
    # Division by the largest magnitude keeps sums of squares from overflowing.
    unit = np.abs(responses).max(axis=0)
    unit = np.where(unit > 0.0, unit, 1.0)
    mean = weights.mean(responses / unit)
    values = responses / unit - mean
    deviation = weights.deviation(values)
    # The mean of values between -1 and 1 has rounding errors of this size.
    varies = deviation > len(values) * np.finfo(float).eps
    deviation = np.where(varies, deviation, 1.0)
    values = np.where(varies, values, 0.0) / deviation
    return EncodedTarget(mean * unit, deviation * unit, None, values, None, weights, resampling)

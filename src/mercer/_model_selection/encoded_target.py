"""What ridge regression predicts in place of responses or classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._data.weights import SampleWeights, as_weights
from mercer._typing import Array


@dataclass(frozen=True)
class TargetEncoding:
    """How ridge regression sees a target: standardized responses, or class indicators.

    Attributes
    ----------
    offset, scale : ndarray of shape (n_outputs,)
        Responses are ``offset + scale * values``; zeros and ones for classes.
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
        """Index of each label in `classes`, shape (n_samples,).

        Parameters
        ----------
        y : ndarray of shape (n_samples,)

        Raises
        ------
        ValueError
            If a label is none of the classes.
        """
        assert self.classes is not None
        labels = np.asarray(y).ravel()
        codes = np.minimum(np.searchsorted(self.classes, labels), len(self.classes) - 1)
        unknown = self.classes[codes] != labels
        if unknown.any():
            raise ValueError(
                f"y holds a label that is none of the classes: {labels[unknown][0]!r}."
            )
        return codes

    def encode(self, y: Array) -> Array:
        """Values that are regressed, shape (n_samples, n_outputs).

        Parameters
        ----------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        if self.classes is not None:
            return np.eye(len(self.classes))[self.codes_of(y)]
        responses = np.asarray(y, dtype=float).reshape(len(y), self.n_outputs)
        return np.asarray((responses - self.offset) / self.scale)

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


@dataclass(frozen=True)
class EncodedTarget(TargetEncoding):
    """The encoded target of some samples.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_outputs)
        Standardized responses, zero where constant; or class indicators, one column per class.
    codes : ndarray of int of shape (n_samples,), or None
        Index of each sample's class in `classes`.
    weights : SampleWeights
    """

    values: Array
    codes: Array | None
    weights: SampleWeights

    def __len__(self) -> int:
        return len(self.values)

    @property
    def encoding(self) -> TargetEncoding:
        """The encoding, without the samples."""
        return TargetEncoding(self.offset, self.scale, self.classes)

    def take(self, rows: Array) -> EncodedTarget:
        """Return the target of some of the samples, in the same encoding.

        Parameters
        ----------
        rows : ndarray of int
        """
        codes = None if self.codes is None else self.codes[rows]
        weights = self.weights.take(rows)
        return replace(self, values=self.values[rows], codes=codes, weights=weights)

    @property
    def mean(self) -> Array:
        """Mean over the samples, shape (n_outputs,): of classes, their frequencies."""
        return self.weights.mean(self.values)

    @property
    def left_out_means(self) -> Array:
        """Mean over all other samples, for each sample, shape (n_samples, n_outputs)."""
        part = (self.weights.values / self.weights.total)[:, None]
        # A sample that has all of the weight up to rounding leaves the mean of nothing.
        rest = np.maximum(1.0 - part, np.finfo(float).eps)
        return np.asarray(self.mean - part * (self.values - self.mean) / rest)


def encode_target(
    y: Any, *, classification: bool, weights: SampleWeights | Array | None = None
) -> EncodedTarget:
    """Standardize responses, or turn classes into indicators.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Labels, or one or several responses.
    classification : bool
        Whether `y` holds labels.
    weights : SampleWeights or ndarray of shape (n_samples,), default=None

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
    weights = as_weights(weights, len(y))
    if classification:
        classes, codes = np.unique(np.asarray(y).ravel(), return_inverse=True)
        k = len(classes)
        return EncodedTarget(np.zeros(k), np.ones(k), classes, np.eye(k)[codes], codes, weights)
    responses = np.asarray(y, dtype=float)
    responses = responses.reshape(len(responses), -1)
    # Division by the largest magnitude keeps sums of squares from overflowing.
    unit = np.abs(responses).max(axis=0)
    unit = np.where(unit > 0.0, unit, 1.0)
    mean = weights.mean(responses / unit)
    values = responses / unit - mean
    deviation = weights.deviation(values)
    # The mean of values of at most one has these rounding errors.
    varies = deviation > len(values) * np.finfo(float).eps
    deviation = np.where(varies, deviation, 1.0)
    values = np.where(varies, values, 0.0) / deviation
    return EncodedTarget(mean * unit, deviation * unit, None, values, None, weights)

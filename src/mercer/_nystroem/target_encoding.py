"""What is regressed in place of responses or classes, where the rows arrive in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer._model_selection.encoded_target import EncodedTarget, encode_target
from mercer._typing import Array


@dataclass(frozen=True)
class TargetEncoding:
    """Standardized responses, or class indicators, without the values of any sample.

    Attributes
    ----------
    offset, scale : ndarray of shape (n_outputs,)
        Responses are ``offset + scale * values``; zeros and ones for classes.
    classes : ndarray of shape (n_classes,), default=None
        The labels, sorted; None for responses.
    one_dimensional : bool, default=True
        Whether the target has shape (n_samples,).

    Examples
    --------
    >>> import numpy as np
    >>> encoding = TargetEncoding.of_classes(["b", "a"])
    >>> encoding.encode(np.array(["a", "b"]))
    array([[1., 0.],
           [0., 1.]])
    """

    offset: Array
    scale: Array
    classes: Array | None = None
    one_dimensional: bool = True

    @classmethod
    def of_classes(cls, labels: Any) -> Self:
        """Indicators of the classes among some labels.

        Parameters
        ----------
        labels : array-like of shape (n_labels,)
        """
        classes = np.unique(np.asarray(labels))
        return cls(np.zeros(len(classes)), np.ones(len(classes)), classes)

    @classmethod
    def of_responses(cls, responses: Any) -> Self:
        """Standardization by the mean and the deviation of some responses.

        Parameters
        ----------
        responses : array-like of shape (n_samples,) or (n_samples, n_outputs)
        """
        values = np.asarray(responses)
        encoded = encode_target(values, classification=False)
        return cls(encoded.offset, encoded.scale, None, values.ndim == 1)

    @classmethod
    def of_target(cls, target: EncodedTarget, *, one_dimensional: bool) -> Self:
        """The encoding of a sample's target.

        Parameters
        ----------
        target : EncodedTarget
        one_dimensional : bool
        """
        return cls(target.offset, target.scale, target.classes, one_dimensional)

    @property
    def n_outputs(self) -> int:
        """Number of columns of the encoded target."""
        return len(self.offset)

    def codes(self, y: Array) -> Array:
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
            return np.eye(len(self.classes))[self.codes(y)]
        responses = np.asarray(y, dtype=float)
        values: Array = (
            responses.reshape(len(responses), self.n_outputs) - self.offset
        ) / self.scale
        return values

    def decode(self, values: Array) -> Array:
        """Responses in their own unit, or the labels of the largest indicators.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_outputs)

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_outputs) for several responses
        """
        if self.classes is not None:
            return np.asarray(self.classes[values.argmax(axis=1)])
        responses = values * self.scale + self.offset
        return responses[:, 0] if self.one_dimensional else responses

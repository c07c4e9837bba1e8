"""Multilabel targets, including labels that all samples have, or that none has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from mercer._data.types import Array, ClassWeight, PerSample


def label_indicators(y: PerSample) -> NDArray[np.int_] | None:
    """Return dense indicators of labels, or None if there is one label for each sample.

    Parameters
    ----------
    y : array-like or sparse matrix of shape (n_samples,) or (n_samples, n_labels)

    Raises
    ------
    ValueError
        If an indicator is neither 0 nor 1.
    """
    labels: Any = y if sp.issparse(y) else np.asarray(y)
    if labels.ndim != 2 or type_of_target(labels) != "multilabel-indicator":
        return None
    found = np.asarray(labels.toarray() if sp.issparse(labels) else labels).astype(int)
    if not np.isin(found, [0, 1]).all():
        raise ValueError(
            f"Indicators of several labels must be 0 and 1; got {np.unique(found).tolist()}."
        )
    return found


def refuse_class_weight(class_weight: ClassWeight) -> None:
    """Raise an error if class weights are given for samples with several labels.

    Raises
    ------
    ValueError
        If `class_weight` is not None.
    """
    if class_weight is not None:
        raise ValueError("class_weight needs one label per sample; pass sample_weight.")


@dataclass(frozen=True)
class LabelSet:
    """The labels of a multilabel target; each label that varies is a binary problem.

    Attributes
    ----------
    varies : ndarray of bool of shape (n_labels,)
        Whether some samples have the label, and others do not.
    constant : ndarray of shape (n_labels,)
        Log-odds of the labels that do not vary, by the rule of succession.

    Examples
    --------
    >>> labels = LabelSet.of(np.array([[0, 1], [1, 1]]))
    >>> labels.signs(np.array([[0, 1], [1, 1]]))
    array([[-1.],
           [ 1.]])
    >>> labels.values(np.array([[0.3]])).round(2)
    array([[0.3, 1.1]])
    """

    varies: NDArray[np.bool_]
    constant: Array

    @classmethod
    def of(cls, Y: NDArray[np.int_]) -> LabelSet:
        """Make the label set of some samples.

        Parameters
        ----------
        Y : ndarray of int of shape (n_samples, n_labels)
            Indicators.

        Raises
        ------
        ValueError
            If no label varies.
        """
        varies = np.ptp(Y, axis=0) > 0
        if not varies.any():
            raise ValueError("Every label belongs to all samples, or to none.")
        return cls(varies, np.where(Y[0] > 0, 1.0, -1.0) * np.log(len(Y) + 1.0))

    def signs(self, Y: NDArray[np.int_]) -> Array:
        """Return the labels that vary, coded as -1 and 1, shape (n_samples, n_varying).

        Parameters
        ----------
        Y : ndarray of int of shape (n_samples, n_labels)
        """
        return np.asarray(2.0 * Y[:, self.varies] - 1.0)

    def values(self, found: Array) -> Array:
        """Return values of all labels, given those that vary, shape (n_rows, n_labels).

        Parameters
        ----------
        found : ndarray of shape (n_rows, n_varying)
        """
        values = np.tile(self.constant, (len(found), 1))
        values[:, self.varies] = found
        return values

"""Classes of classifiers. The samples of a class may all have weight zero."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._data.sample import Sample
from mercer._data.types import Array


class ClassesMixin:
    """Classes of a classifier, with predictions for classes whose samples all have weight zero.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        All labels of the training samples.
    """

    classes_: Array
    _seen: NDArray[np.bool_] | None = None
    """Whether each class has a sample of positive weight; None if all have one."""

    def _set_classes(self, classes: Array, fitted: Array) -> None:
        """Set all classes, and those that have samples of positive weight, in the same order."""
        seen = np.isin(classes, fitted)
        self.classes_, self._seen = classes, None if seen.all() else seen

    @property
    def _fitted_classes(self) -> Array:
        """The classes that have samples of positive weight."""
        return fitted_classes(self)

    def _probabilities(self, found: Array) -> Array:
        """Return probabilities of all classes, given those of the fitted classes."""
        return of_all_classes(found, self._seen)

    def _decision_values(self, found: Array) -> Array:
        """Return decision values of all classes, given those of the fitted classes.

        In each row, the value of a class without samples is one below the lowest of the others.
        """
        if self._seen is None:
            return found
        values = np.column_stack([-found, found]) if found.ndim == 1 else found
        if values.shape[1] != self._seen.sum():  # Values of pairs of classes.
            return found
        return of_all_classes(values, self._seen, values.min(axis=1, keepdims=True) - 1.0)


def fitted_classes(model: Any) -> Array:
    """Return the classes of a classifier that have samples of positive weight."""
    seen = getattr(model, "_seen", None)
    return np.asarray(model.classes_ if seen is None else model.classes_[seen])


def all_labels(sample: Sample) -> Array:
    """Return the labels of all samples that were given, including those of weight zero.

    Examples
    --------
    >>> all_labels(Sample.of(np.zeros((3, 1)), np.array([2, 0, 1]), [1.0, 1.0, 0.0]))
    array([0, 1, 2])
    """
    parts = [sample.y] if sample.weightless_y is None else [sample.y, sample.weightless_y]
    return np.unique(np.concatenate([np.ravel(part) for part in parts]))


def of_all_classes(values: Array, seen: NDArray[np.bool_] | None, others: Any = 0.0) -> Array:
    """Return values of all classes, given those of some.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_seen)
    seen : ndarray of bool of shape (n_classes,), or None
        The classes with values; None for all.
    others : float or ndarray of shape (n_samples, 1), default=0.0
        Value of the other classes.

    Examples
    --------
    >>> of_all_classes(np.array([[0.25, 0.75]]), np.array([True, False, True]))
    array([[0.25, 0.  , 0.75]])
    """
    if seen is None:
        return values
    result = np.empty((len(values), len(seen)))
    result[:] = others
    result[:, seen] = values
    return result

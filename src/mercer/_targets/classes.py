"""Targets of class labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from mercer._gram.low_rank import spectral_factor
from mercer._gram.stacks import check_symmetry
from mercer._targets.target import Target
from mercer._typing import Array

CLASS_KERNELS = ("labels", "delta", "balanced")
"""Names of output kernels on classes."""

_EXACT = 1e-14
_SIMILARITIES = "The matrix of similarities between classes"


def class_target(y: Any, kernel: str | Array) -> Target:
    """The target of class labels.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
    kernel : {"labels", "delta", "balanced"} or ndarray of shape (n_classes, n_classes)
        +1 within a class and -1 between classes; 1 and 0; 1 / n_c within a class c and 0 between;
        or the similarities of the classes in sorted order.

    Returns
    -------
    Target

    Raises
    ------
    ValueError
        If `y` holds no classes, or one only, or another number of them than the similarities do.
    """
    classes, codes = class_codes(y)
    factor, signs = _factor(codes, classes.size, kernel)
    return Target(factor, signs, classes, codes)


def class_codes(y: Any) -> tuple[np.ndarray[Any, Any], Array]:
    """The classes, sorted, and the position of each sample's among them.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)

    Returns
    -------
    classes : ndarray of shape (n_classes,)
    codes : ndarray of int of shape (n_samples,)
    """
    check_classification_targets(y)
    classes, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, "
            f"but the data contains only one class: {classes[0]!r}"
        )
    return classes, codes


def _factor(codes: Array, n_classes: int, kernel: str | Array) -> tuple[Array, Array]:
    """Y and the signs of its columns."""
    if isinstance(kernel, np.ndarray):
        if len(kernel) != n_classes:
            raise ValueError(
                f"A matrix of similarities of shape {kernel.shape} was passed as output_kernel, "
                f"but y holds {n_classes} classes."
            )
        factor = spectral_factor(kernel, _SIMILARITIES, _EXACT)[codes]
        return factor, np.ones(factor.shape[1])
    if kernel == "labels" and n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None], np.ones(1)
    one_hot = (codes[:, None] == np.arange(n_classes)).astype(float)
    if kernel == "labels":
        factor = np.column_stack([np.sqrt(2.0) * one_hot, np.ones(codes.size)])
        return factor, np.append(np.ones(n_classes), -1.0)
    if kernel == "balanced":
        one_hot /= np.sqrt(one_hot.sum(axis=0))
    return one_hot, np.ones(n_classes)


def check_similarities(similarities: Array) -> None:
    """Refuse a matrix of similarities between classes that is no kernel.

    Parameters
    ----------
    similarities : ndarray of shape (n_classes, n_classes)
    """
    shape = similarities.shape
    if similarities.ndim != 2 or shape[0] != shape[1]:
        raise ValueError(f"{_SIMILARITIES} must have shape (n_classes, n_classes); got {shape}.")
    assert_all_finite(similarities, input_name="output_kernel")
    check_symmetry(similarities, _SIMILARITIES)
    spectral_factor(similarities, _SIMILARITIES)


def one_against_rest(y: Any, classes: np.ndarray[Any, Any]) -> Array:
    """Labels as signs, a column for each class against the rest, one for two classes.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    ndarray of shape (n_samples, n_problems)
        Of two classes, 1 stands for the second.
    """
    positive = np.asarray(y).reshape(-1, 1) == classes
    return np.where(positive[:, 1:] if len(classes) == 2 else positive, 1.0, -1.0)

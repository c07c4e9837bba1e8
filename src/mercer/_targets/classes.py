"""Labels as codes, as signs and as factors of output kernels on classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from mercer._data.weights import SampleWeights
from mercer._gram.low_rank import spectral_factor
from mercer._gram.stacks import check_symmetry
from mercer._typing import Array

_SPECTRUM_TOLERANCE = 1e-14
"""A factor of class similarities leaves out at most this part of their trace."""
_SIMILARITIES = "The matrix of similarities between classes"
"""Error messages call such an output kernel by this name."""


def one_against_rest(y: Any, classes: np.ndarray[Any, Any]) -> Array:
    """Return labels as signs: a column for each class against the rest, one for two classes.

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


def class_codes(y: Any) -> tuple[np.ndarray[Any, Any], Array]:
    """Return the sorted classes, and the index of each sample's class.

    Parameters
    ----------
    y : array-like of shape (n_samples,)

    Raises
    ------
    ValueError
        If there is one class only, or the labels are continuous numbers.
    """
    check_classification_targets(y)
    classes, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, "
            f"but the data contains only one class: {classes.tolist()[0]!r}"
        )
    return classes, codes


def class_factor(
    codes: Array, n_classes: int, kernel: str | Array, weights: SampleWeights
) -> tuple[Array, Array]:
    """Return a factor Y of the output kernel on classes, and the signs of its columns.

    Parameters
    ----------
    codes : ndarray of int of shape (n_samples,)
    n_classes : int
    kernel : {"labels", "delta", "balanced"} or ndarray of shape (n_classes, n_classes)
    weights : SampleWeights
    """
    if isinstance(kernel, np.ndarray):
        if len(kernel) != n_classes:
            raise ValueError(
                f"A matrix of similarities of shape {kernel.shape} was passed as the output "
                f"kernel, but y holds {n_classes} classes."
            )
        factor = spectral_factor(kernel, _SIMILARITIES, _SPECTRUM_TOLERANCE)[codes]
        return factor, np.ones(factor.shape[1])
    if kernel == "labels" and n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None], np.ones(1)
    one_hot = (codes[:, None] == np.arange(n_classes)).astype(float)
    if kernel == "labels":
        factor = np.column_stack([np.sqrt(2.0) * one_hot, np.ones(codes.size)])
        return factor, np.append(np.ones(n_classes), -1.0)
    if kernel == "balanced":
        one_hot /= np.sqrt(np.bincount(codes, weights.given))
    return one_hot, np.ones(n_classes)


def check_similarities(similarities: Array, name: str) -> None:
    """Refuse similarities between classes that are not a positive semi-definite matrix.

    Parameters
    ----------
    similarities : ndarray
    name : str
        The parameter's name, for messages.
    """
    shape = similarities.shape
    if similarities.ndim != 2 or shape[0] != shape[1]:
        raise ValueError(f"{_SIMILARITIES} must have shape (n_classes, n_classes); got {shape}.")
    assert_all_finite(similarities, input_name=name)
    check_symmetry(similarities, _SIMILARITIES)
    spectral_factor(similarities, _SIMILARITIES)

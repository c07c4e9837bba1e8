"""Factors of output kernels on responses, sets of labels, similarities and output Gram matrices."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import assert_all_finite, check_array

from mercer._data.weights import SampleWeights, as_weights
from mercer._gram.dense import check_symmetry
from mercer._gram.low_rank import columns_factor, gram_factor, kernel_factor, spectral_factor
from mercer._typing import Array
from mercer.kernels import Gaussian, Kernel, Linear
from mercer.kernels._distances import check_squares, median_distance

RESPONSE_KERNELS = ("linear", "gaussian", "multilabel", "precomputed")
"""Names of output kernels on anything but classes."""

_OUTPUT_GRAM = "The output Gram matrix"
"""Error messages call a given output Gram matrix by this name."""
_SPECTRUM_TOLERANCE = 1e-14
"""A factor of class similarities leaves out at most this part of their trace."""
_SIMILARITIES = "The matrix of similarities between classes"
"""Error messages call such an output kernel by this name."""


def similarity_factor(similarities: Array, n_classes: int) -> Array:
    """Return a factor of similarities between classes, shape (n_classes, rank).

    Parameters
    ----------
    similarities : ndarray
        Checked by :func:`check_similarities`.
    n_classes : int
        Number of classes in the target.

    Raises
    ------
    ValueError
        If the target has another number of classes.
    """
    if len(similarities) != n_classes:
        raise ValueError(
            f"A matrix of similarities of shape {similarities.shape} was passed as the output "
            f"kernel, but y holds {n_classes} classes."
        )
    return spectral_factor(similarities, _SIMILARITIES, _SPECTRUM_TOLERANCE)


def check_similarities(similarities: Array) -> None:
    """Raise an error unless similarities between classes are a positive semi-definite matrix.

    Parameters
    ----------
    similarities : ndarray
    """
    shape = similarities.shape
    if similarities.ndim != 2 or shape[0] != shape[1]:
        raise ValueError(f"{_SIMILARITIES} must have shape (n_classes, n_classes); got {shape}.")
    assert_all_finite(similarities, input_name="output_kernel")
    check_symmetry(similarities, _SIMILARITIES)
    spectral_factor(similarities, _SIMILARITIES)


def response_factor(y: Any, kernel: str | Kernel, weights: SampleWeights) -> Array:
    """Return a factor Y of the output kernel L = Y Y'.

    Parameters
    ----------
    y : ndarray or sparse matrix of shape (n_samples,) or (n_samples, n_outputs)
    kernel : {"linear", "gaussian", "multilabel", "precomputed"} or Kernel
    weights : SampleWeights
        Weights in the responses' standard deviations and in median distances.

    Returns
    -------
    ndarray of shape (n_samples, rank)

    Raises
    ------
    ValueError
        If `y` does not suit the kernel, or a response is constant.
    """
    if kernel == "multilabel":
        return _indicator_factor(y)
    if kernel == "precomputed":
        return _given_factor(y)
    table = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    table = table.reshape(table.shape[0], -1)
    if isinstance(kernel, Kernel):
        check_squares(table, "y")
        return kernel_factor(kernel.bind(weights.repeated(table)), table)
    standard = _standardized(table, weights)
    if kernel == "linear":
        return kernel_factor(Linear(), standard)
    width = median_distance(weights.repeated(standard))
    return kernel_factor(Gaussian(width), standard)


def response_deviation(responses: Array, weights: SampleWeights | Array | None) -> Array:
    """Standard deviations of responses whose squares may over- or underflow.

    Parameters
    ----------
    responses : ndarray of shape (n_samples, n_outputs)
    weights : SampleWeights or ndarray of shape (n_samples,), or None
    """
    weights = as_weights(weights, len(responses))
    # Multiplied by powers of two, no digit changes.
    exponents = np.frexp(np.abs(responses).max(axis=0))[1]
    return np.ldexp(weights.deviation(np.ldexp(responses, -exponents)), exponents)


def _standardized(responses: Array, weights: SampleWeights) -> Array:
    """Divide responses by their standard deviations."""
    scale = response_deviation(responses, weights)
    constant = scale <= 1e-14 * np.abs(responses).max(axis=0)
    if constant.any():
        raise ValueError(
            f"y is constant (response {np.flatnonzero(constant)[0]}): "
            "there is nothing to learn a kernel for."
        )
    return np.asarray(responses / scale)


def _indicator_factor(y: Any) -> Array:
    """Return indicators of labels as a factor of the number of labels that two samples share."""
    entries = y.data if sp.issparse(y) else y
    if y.ndim != 2 or not np.isin(entries, [0, 1]).all():
        raise ValueError(
            "it is for indicator matrices of shape (n_samples, n_labels) with entries 0 and 1; "
            f"got shape {y.shape}, entries like {np.ravel(entries)[:3].tolist()}."
        )
    return columns_factor(y.astype(np.float64))


def _given_factor(y: Any) -> Array:
    """Factor the output Gram matrix that is given in place of `y`."""
    gram = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
        raise ValueError(
            "it is for output Gram matrices of shape (n_samples, n_samples), which are no longer "
            f"square after rows were selected; got shape {gram.shape}."
        )
    check_symmetry(gram, _OUTPUT_GRAM)
    return gram_factor(gram, _OUTPUT_GRAM)

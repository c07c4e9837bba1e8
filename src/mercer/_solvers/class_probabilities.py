"""Probabilities of classes and ordered grades, with a bound for few samples, and their losses."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from mercer._typing import Array


def grade_probabilities(f: Array, levels: Array) -> Array:
    """Probabilities of ordered grades, shape (n_rows, n_grades); see `OrderedLogit`.

    Parameters
    ----------
    f : ndarray of shape (n_rows,)
    levels : ndarray of shape (n_levels,) or (n_rows, n_levels)
    """
    # Left-out levels may be out of order, where nothing is known of a grade.
    above = np.minimum.accumulate(expit(f[:, None] + levels), axis=1)
    ends = np.ones((len(f), 1))
    return np.asarray(-np.diff(np.concatenate([ends, above, 0.0 * ends], axis=1), axis=1))


def bounded_probabilities(probabilities: Array, n_samples: int) -> Array:
    """Probabilities of at least one in two more than the number of samples.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)
    n_samples : int
    """
    found = np.maximum(probabilities, 1.0 / (n_samples + 2.0))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def log_losses(probabilities: Array, codes: NDArray[np.intp]) -> Array:
    """Negative logarithms of the probabilities of the true classes.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
    codes : ndarray of int of shape (n_samples,)
    """
    return np.asarray(-np.log(probabilities[np.arange(len(codes)), codes]))

"""Weights that align a combination of kernels with a target, from the moments a and M."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import nnls

from mercer._typing import Array
from mercer.gram.moments import Moments

_FLOOR = 1e-12
"""Eigenvalues of M below this part of the largest are rounding: nested widths make M singular."""


def independent_weights(moments: Moments) -> Array:
    """Weights proportional to each kernel's own centred alignment ("align"), summing to one.

    Parameters
    ----------
    moments : Moments

    Returns
    -------
    ndarray of shape (n_kernels,)

    References
    ----------
    Cortes, Mohri, Rostamizadeh (2010), section 3.1.
    """
    return normalised(np.maximum(moments.alignments(), 0.0))


def nonnegative_weights(moments: Moments) -> Array:
    """Non-negative weights of the largest centred alignment ("alignf"), summing to one.

    The solution of min v'Mv - 2 v'a over v >= 0: non-negative least squares in a factor of M.

    Parameters
    ----------
    moments : Moments

    Returns
    -------
    ndarray of shape (n_kernels,)

    Notes
    -----
    M is scaled to a unit diagonal first, so that the scale of a kernel does not matter, and
    factored by its eigenvectors, never inverted. O(p^3).

    References
    ----------
    Cortes, Mohri, Rostamizadeh (2010), proposition 3.
    """
    scale, rows, image = _factor(moments)
    solution, _ = nnls(rows, image, maxiter=30 * image.size + 30)
    return normalised(solution * scale)


def free_weights(moments: Moments) -> Array:
    """Weights of either sign of the largest centred alignment, M^+ a, summing to one.

    Parameters
    ----------
    moments : Moments

    Returns
    -------
    ndarray of shape (n_kernels,)

    References
    ----------
    Cortes, Mohri, Rostamizadeh (2010), proposition 2.
    """
    scale, rows, image = _factor(moments)
    square = np.einsum("ij,ij->i", rows, rows)
    solution = rows.T @ (image / square)
    return normalised(solution * scale)


def normalised(weights: Array) -> Array:
    """Weights whose absolute values sum to one; uniform where all are zero."""
    total = np.abs(weights).sum()
    if not (total > 0.0 and np.isfinite(total)):
        return np.full(weights.size, 1.0 / weights.size)
    return weights / total


def _factor(moments: Moments) -> tuple[Array, Array, Array]:
    """Scale d, R and b with v = d w and |R w - b|^2 = v'Mv - 2 v'a + const.

    Kernels of no variance stay out, with a scale of zero.
    """
    size = np.sqrt(np.maximum(np.diag(moments.M), 0.0))
    present = size > 0.0
    scale = np.divide(1.0, size, out=np.zeros_like(size), where=present)
    values, vectors = eigh(moments.M * np.outer(scale, scale))
    kept = values > _FLOOR * values[-1]
    roots = np.sqrt(values[kept])
    return (
        scale,
        roots[:, None] * vectors[:, kept].T,
        (vectors[:, kept].T @ (scale * moments.a)) / roots,
    )

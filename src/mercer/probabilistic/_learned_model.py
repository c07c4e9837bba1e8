"""Results of probabilistic kernel learning: posteriors of latent functions, and learned models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.utils import check_array

from mercer._history import ObjectiveStep
from mercer._typing import Array
from mercer.kernels._kernel import Kernel

_CONSTANT = 1e-12
"""A diagonal is constant if it varies by less than this fraction of its largest value."""


@dataclass(frozen=True)
class LatentPosterior:
    """Gaussian posteriors of latent functions, one for each problem.

    Attributes
    ----------
    alpha : ndarray of shape (n_samples, n_problems)
        The posterior mean at x is k(x)'alpha.
    factors : tuple of (ndarray of shape (n_samples, n_samples), ndarray of shape (n_samples,))
        L and s of each problem: the variance at x is k(x, x) - |L^-1 (s * k(x))|^2. The tuple is
        empty if the loss has kinks, as it has no curvature then that defines a variance.
    """

    alpha: Array
    factors: tuple[tuple[Array, Array], ...]

    def means(self, across: Array) -> Array:
        """Return posterior means, shape (n_new, n_problems).

        Parameters
        ----------
        across : ndarray of shape (n_new, n_samples)
            The kernel between new samples and the training samples.
        """
        return across @ self.alpha

    def variances(self, across: Array, diagonal: Array) -> Array:
        """Return posterior variances, shape (n_new, n_problems).

        Parameters
        ----------
        across : ndarray of shape (n_new, n_samples)
        diagonal : ndarray of shape (n_new,)
            The kernel of new samples with themselves.
        """
        if not self.factors:
            raise ValueError("There are no variances: the loss has no curvature at the mode.")
        result = np.empty((len(across), len(self.factors)))
        for c, (factor, scale) in enumerate(self.factors):
            half = solve_triangular(
                factor, scale[:, None] * across.T, lower=True, check_finite=False
            )
            result[:, c] = diagonal - np.einsum("nm,nm->m", half, half)
        return np.maximum(result, 0.0)


@dataclass(frozen=True)
class LearnedModel:
    """Kernels, weights and posterior that minimize an objective.

    Attributes
    ----------
    kernels : list of Kernel
    weights : ndarray of shape (n_kernels,)
        Coefficients of the kernels as they were given.
    traces : ndarray of shape (n_kernels,)
        Traces of the kernels' Gram matrices.
    K : ndarray of shape (n_samples, n_samples)
        The learned Gram matrix, without noise or jitter.
    noise : float
        Variance of the noise; NaN if there is none.
    value : float
        The objective, on the -2 log scale.
    gap : float, or None
        Relative duality gap of a convex objective; None for others.
    posterior : LatentPosterior
    history : list of ObjectiveStep
    converged : bool
    collapsed : bool
        Whether no kernel at all gives as low an objective.
    """

    kernels: list[Kernel]
    weights: Array
    traces: Array
    K: Array
    noise: float
    value: float
    gap: float | None
    posterior: LatentPosterior
    history: list[ObjectiveStep]
    converged: bool
    collapsed: bool


def checked_diagonal(diagonal: Any, shape: tuple[int, int], fitted: Array) -> Array:
    """Validate precomputed kernels of new samples with themselves.

    Parameters
    ----------
    diagonal : array-like of shape (n_new, n_kernels), or None
        None stands for the diagonals of the training set, if they are constant.
    shape : tuple of int
        The shape (n_new, n_kernels) that is needed.
    fitted : ndarray of shape (n_samples, n_kernels)
        The diagonals of the training set.

    Raises
    ------
    ValueError
        If the diagonal has another shape or holds NaN, or it is None and the diagonals of the
        training set are not constant.
    """
    if diagonal is None:
        if np.ptp(fitted, axis=0).max() > _CONSTANT * np.abs(fitted).max():
            raise ValueError(
                "Variances need each new sample's kernels with itself: pass them as diagonal, of "
                "shape (n_samples, n_kernels). Only kernels of constant diagonal do without."
            )
        return np.broadcast_to(fitted[0], shape)
    checked = check_array(diagonal, dtype=np.float64, input_name="diagonal")
    if checked.shape != shape:
        raise ValueError(
            f"diagonal must have shape {shape}, one value for each new sample and kernel; "
            f"got {checked.shape}."
        )
    return np.asarray(checked)

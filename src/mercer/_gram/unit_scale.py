"""Gram matrices at unit scale: centered, with a mean diagonal of one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer._gram.sample_weights import weighted_mean
from mercer._gram.tiles import assembled, tile_plan
from mercer._typing import Array, Features
from mercer.kernels import Kernel
from mercer.kernels._kernel import gram_between, gram_tile

_CONSTANT = 1e-12
"""A kernel is constant if its centered diagonal has a mean below this fraction of its values."""


@dataclass(frozen=True)
class UnitScale:
    """Centering and scale of a Gram matrix, to be repeated on rows of new samples.

    Attributes
    ----------
    means : ndarray of shape (n_samples,)
        Column means of the Gram matrix as it was.
    scale : float
        Mean diagonal of the centered Gram matrix; one if the kernel is constant.
    weights : ndarray of shape (n_samples,), or None
        Weights of the training samples in these means; None where all are one.
    """

    means: Array
    scale: float
    weights: Array | None = None

    def apply(self, rows: Array) -> Array:
        """Center rows by the training means, and scale them.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_samples)
            Kernel between new samples and the training samples.

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
        """
        mean = weighted_mean(rows.T, self.weights) - weighted_mean(self.means, self.weights)
        return np.asarray((rows - self.means - mean[:, None]) / self.scale)


def to_unit_scale(gram: Array, weights: Array | None = None) -> tuple[Array, UnitScale]:
    """Center a Gram matrix and bring its diagonal to a mean of one.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples in means.

    Returns
    -------
    centered : ndarray of shape (n_samples, n_samples)
        Zeros if the kernel is constant.
    unit : UnitScale
        Repeats this on the rows of new samples.
    """
    unit = UnitScale(weighted_mean(gram, weights), 1.0, weights)
    centered = unit.apply(gram)
    scale = float(weighted_mean(np.diag(centered), weights))
    if scale <= _CONSTANT * float(np.abs(gram).max()):
        return np.zeros_like(centered), unit
    centered /= scale
    return centered, replace(unit, scale=scale)


def unit_gram(kernel: Kernel, X: Features, weights: Array | None = None) -> tuple[Array, UnitScale]:
    """Centered Gram matrix of unit mean diagonal.

    Parameters
    ----------
    kernel : Kernel
        Bound to the table.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples in means.

    Returns
    -------
    gram : ndarray of shape (n_samples, n_samples)
    unit : UnitScale
        Repeats centering and scaling on rows of new samples, less the kernel's offset.

    Raises
    ------
    ValueError
        If the kernel has values that are not finite.
    """
    plan = tile_plan(X.shape[0])
    gram = assembled(plan, X.shape[0], lambda tile: gram_tile(kernel, X, tile.rows, tile.columns))
    if not np.isfinite(gram).all():
        raise ValueError("its Gram matrix holds NaN or infinities")
    return to_unit_scale(gram, weights)


def unit_rows(kernel: Kernel, unit: UnitScale, X: Features, Z: Features) -> Array:
    """Kernel between new and training samples, centered and scaled as the Gram matrix was.

    Parameters
    ----------
    kernel : Kernel
    unit : UnitScale
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        New samples.
    Z : ndarray or sparse matrix of shape (n_samples, n_features)
        Training samples.

    Returns
    -------
    ndarray of shape (n_rows, n_samples)
    """
    return unit.apply(gram_between(kernel, X, Z))

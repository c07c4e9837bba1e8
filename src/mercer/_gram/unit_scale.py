"""Gram matrices at unit scale: centered, with a mean diagonal of one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._typing import Array

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
    """

    means: Array
    scale: float

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
        centered = rows - self.means - (rows.mean(axis=1) - self.means.mean())[:, None]
        return np.asarray(centered / self.scale)


def to_unit_scale(gram: Array) -> tuple[Array, UnitScale]:
    """Center a Gram matrix and bring its diagonal to a mean of one.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)

    Returns
    -------
    centered : ndarray of shape (n_samples, n_samples)
        Zeros if the kernel is constant.
    unit : UnitScale
        Repeats this on the rows of new samples.
    """
    means = gram.mean(axis=0)
    centered = UnitScale(means, 1.0).apply(gram)
    scale = float(centered.trace()) / len(gram)
    if scale <= _CONSTANT * float(np.abs(gram).max()):
        return np.zeros_like(centered), UnitScale(means, 1.0)
    centered /= scale
    return centered, UnitScale(means, scale)

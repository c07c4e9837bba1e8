"""Gram matrices of unit scale, in tiles and threads."""

from __future__ import annotations

import numpy as np

from mercer._gram.tiles import assembled, tile_plan
from mercer._gram.unit_scale import UnitScale, to_unit_scale
from mercer._typing import Array, Features
from mercer.kernels import Kernel
from mercer.kernels._kernel import gram_tile


def unit_gram(kernel: Kernel, X: Features) -> tuple[Array, UnitScale]:
    """Centered Gram matrix of unit mean diagonal.

    Parameters
    ----------
    kernel : Kernel
        Bound to the table.
    X : ndarray or sparse matrix of shape (n_samples, n_features)

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
    return to_unit_scale(gram)


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
    return unit.apply(kernel._shifted(X, Z))

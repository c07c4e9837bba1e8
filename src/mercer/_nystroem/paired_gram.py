"""The centered Gram matrix of all rows in single precision, in memory or on a card."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from mercer._data.arrays import like, namespace, to_numpy
from mercer._data.types import AnyArray, Array, Features
from mercer._gram.devices import TILE_BYTES, Device, device_with_room
from mercer._gram.tiles import CACHED_VALUES, Tile, map_tiles, serial_algebra, tile_plan
from mercer.kernels import Kernel

_ARRAYS = 1.5
"""Size of all arrays of a fit on a card, in units of the size of the Gram matrix: of the matrix,
the factor and the inverses of preconditioners, and the vectors."""


class PairedGram(NamedTuple):
    """The centered Gram matrix of all rows, at unit scale, plus one.

    Attributes
    ----------
    values : array of float32 of shape (n_rows, n_rows)
        An array of NumPy, or of the library of a card.
    means : ndarray of shape (n_rows,)
        Means of the kernel's values at each row, less its offset.
    scale : float
        The number by which the centered matrix was divided.
    """

    values: AnyArray
    means: Array
    scale: float


def paired_gram(kernel: Kernel, X: Features, shares: Array) -> PairedGram:
    """Compute the centered Gram matrix of all rows in single precision.

    Parameters
    ----------
    kernel : Kernel
        Kernel that is bound to the table.
    X : ndarray or sparse matrix of shape (n_rows, n_features)
    shares : ndarray of shape (n_rows,)
        Weights of the rows, which sum to one.

    Raises
    ------
    ValueError
        If the kernel has values that are not finite.

    Warns
    -----
    UserWarning
        If the matrix does not fit into the memory of the card.

    Notes
    -----
    The matrix takes 4 n^2 bytes. In memory, half of its values are computed, and the others are
    copied.
    """
    n_rows = X.shape[0]
    purpose = f"the kernel between {n_rows:,} rows"
    device = device_with_room(_ARRAYS * 4.0 * n_rows**2, purpose)
    gram = _in_memory(kernel, X) if device is None else _on_device(kernel, X, device)
    xp = namespace(gram)
    means = to_numpy(gram @ like(shares, gram))
    if not np.isfinite(means).all():
        raise ValueError(f"Kernel returned NaN or infinity: {kernel.describe()}.")
    overall = float(shares @ means)
    diagonal = to_numpy(xp.linalg.diagonal(gram))
    scale = float(shares @ (diagonal - 2.0 * means + overall))
    if scale <= np.finfo(np.float32).eps * abs(overall):
        gram[:, :] = 0.0
        _center(gram, np.zeros_like(means), 0.0, 1.0)
        return PairedGram(gram, np.asarray(means, dtype=float), 1.0)
    _center(gram, means, overall, scale)
    return PairedGram(gram, np.asarray(means, dtype=float), scale)


@serial_algebra()
def _in_memory(kernel: Kernel, X: Features) -> Array:
    """Return the kernel between all rows minus its offset, in single precision."""
    gram = np.empty((X.shape[0], X.shape[0]), dtype=np.float32)
    same, table = kernel._evaluated_on(X)

    def fill(tile: Tile) -> None:
        values = same._shifted(table[tile.rows], table[tile.columns]).astype(np.float32)
        gram[tile.rows, tile.columns] = values
        gram[tile.columns, tile.rows] = values.T

    for _ in map_tiles(fill, tile_plan(X.shape[0])):
        pass
    return gram


def _on_device(kernel: Kernel, X: Features, device: Device) -> AnyArray:
    """Return the kernel between all rows minus its offset, in single precision, on a device."""
    n_rows, xp = X.shape[0], device.xp
    gram = device.zeros((n_rows, n_rows), xp.float32)
    values = values_on_device(kernel, X, device)
    for rows in gen_batches(n_rows, max(TILE_BYTES // (8 * n_rows), 1)):
        gram[rows, :] = xp.astype(values(rows), xp.float32)
    return gram


def values_on_device(
    kernel: Kernel, X: Features, device: Device, Z: Features | None = None
) -> Callable[[slice], AnyArray]:
    """Return a function from rows of `X` to the kernel's values, minus its offset, on a device.

    Parameters
    ----------
    kernel : Kernel
        Kernel that is bound to the table. Values of kernels that read other arrays than those of
        NumPy are computed on the device, and others are copied there.
    X : ndarray or sparse matrix of shape (n_rows, n_features)
    device : Device
    Z : ndarray or sparse matrix of shape (n_others, n_features), default=None
        The other rows; by default those of `X`.
    """
    if kernel.accepts_array_api and not sp.issparse(X):
        here = device.put(X)
        there = here if Z is None else device.put(Z)
        return lambda rows: kernel._shifted(here[rows, :], there)
    if Z is None:
        same, table = kernel._evaluated_on(X)
        return lambda rows: device.put(same._shifted(table[rows], table))
    shifted = kernel._shifted_at(Z)
    return lambda rows: device.put(shifted(X[rows]))


def _center(gram: AnyArray, means: Array, overall: float, scale: float) -> None:
    """Center a Gram matrix, divide it by a scale and add one, in place.

    The constant is a feature of unit scale for the intercept, which each fold fits separately.
    """
    rest = (np.float32(overall) - means + np.float32(scale))[:, None]
    columns, rows_rest = like(means, gram), like(rest, gram)

    def fill(rows: slice) -> None:
        part = gram[rows, :]
        part -= columns
        part += rows_rest[rows, :]
        part /= float(np.float32(scale))

    is_in_memory = isinstance(gram, np.ndarray)
    size = 4 * CACHED_VALUES if is_in_memory else TILE_BYTES // 8
    batches = list(gen_batches(len(means), max(size // len(means), 1)))
    for _ in map_tiles(fill, batches) if is_in_memory else map(fill, batches):
        pass

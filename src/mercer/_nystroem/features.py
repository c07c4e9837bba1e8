"""Nyström features: kernel values at centers, and whitening."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state, gen_batches

from mercer._data.arrays import to_numpy
from mercer._data.types import AnyArray, Array, Features, RandomState, own_fields
from mercer._gram.dense import to_unit_scale
from mercer._gram.devices import TILE_BYTES, Device
from mercer._gram.tiles import serial_algebra
from mercer._solvers.ridge import check_definite
from mercer.kernels import Kernel

_RANK_TOLERANCE = 1e-11
"""Eigenvalues below this fraction of the largest one are left out, since their features would have
few accurate digits."""


MANY_VALUES = 10**6
"""Products with fewer kernel values take the processor about ten milliseconds."""

_PANEL_COLUMNS = 128
"""At most this many columns of a triangular matrix are multiplied together."""

_TILE_VALUES = 2**19
"""Number of kernel values of a tile of rows, which take 4 MB and stay in the cache of a core."""


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


@dataclass(frozen=True)
class KernelColumns:
    """Columns of the kernel matrix between rows and centers, minus constants.

    Attributes
    ----------
    kernel : Kernel
        Kernel that is bound to the table.
    centers : ndarray or sparse matrix of shape (n_centers, n_features)
    means : ndarray of shape (n_centers,)
        Constants to subtract: means of the kernel's values at the centers, minus its offset.
    """

    kernel: Kernel
    centers: Features
    means: Array

    @property
    def n_centers(self) -> int:
        """Number of centers."""
        return int(self.centers.shape[0])

    def tiles(self, n_rows: int) -> Iterator[slice]:
        """Yield slices of consecutive rows whose kernel values stay in the cache."""
        size = max(_TILE_VALUES // self.n_centers, 64)
        yield from (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))

    def __call__(self, X: Features) -> Array:
        """Return the kernel between rows and centers, minus its offset and the means.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_centers)
        """
        values = self.uncentered(X)
        values -= self.means
        return values

    def uncentered(self, X: Features) -> Array:
        """Return the kernel between rows and centers, minus its offset alone.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_centers)
        """
        return self._values(X.astype(np.float64, copy=False))

    def products_on(self, device: Device, X: Features, coefficients: Array) -> Array:
        """Return the products of these columns with coefficients, computed on a card.

        Parameters
        ----------
        device : Device
        X : ndarray or sparse matrix of shape (n_rows, n_features)
        coefficients : ndarray of shape (n_centers, n_outputs)

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
        """
        values = values_on_device(self.kernel, X, device, self.centers)
        factor, size = device.put(coefficients), max(TILE_BYTES // (8 * self.n_centers), 1)
        parts = [to_numpy(values(rows) @ factor) for rows in gen_batches(X.shape[0], size)]
        total = np.concatenate([np.empty((0, coefficients.shape[1])), *parts])
        return np.asarray(total - self.means @ coefficients)

    @cached_property
    def _values(self) -> Callable[[Features], Array]:
        """The kernel between given rows and the centers, minus its offset."""
        return self.kernel._shifted_at(self.centers)

    __getstate__ = own_fields


@dataclass(frozen=True)
class NystroemFeatures:
    """Features whose inner products approximate a kernel of unit scale, up to additive terms.

    Attributes
    ----------
    columns : KernelColumns
        The kernel between rows and centers, centered at the mean of the centers.
    whitening : ndarray of shape (n_centers, rank)
        Lower triangular matrix.
    whitens_rows : bool
        Whether the features of each row must be whitened for accurate sums of products. If not,
        sums of products of the kernel's values can be whitened at the end, at half the cost.
    """

    columns: KernelColumns
    whitening: Array
    whitens_rows: bool

    def transform(self, X: Features) -> Array:
        """Compute the features of rows, shape (n_rows, rank).

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
        """
        features = np.empty((X.shape[0], self.whitening.shape[1]))
        for rows in self.columns.tiles(X.shape[0]):
            multiply_triangular(self.columns(X[rows]), self.whitening, features[rows])
        return features

    def summands(self, X: Features) -> Array:
        """Compute the values whose products are summed, shape (n_rows, n_summands).

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_summands)
            Features, or the kernel's values.
        """
        return self.transform(X) if self.whitens_rows else self.columns(X)

    @property
    def n_summands(self) -> int:
        """Number of columns of `summands`."""
        return int(self.whitening.shape[1] if self.whitens_rows else self.columns.n_centers)


def choose_centers(X: Features, n_components: int, random_state: RandomState = 0) -> Features:
    """Draw distinct rows of a sample uniformly.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        A sample of the rows.
    n_components : int
        Number of centers; all distinct rows if there are fewer.
    random_state : int, RandomState instance or None, default=0

    Returns
    -------
    ndarray or sparse matrix of shape (n_centers, n_features)

    Examples
    --------
    >>> choose_centers(np.array([[0.0], [0.0], [1.0]]), 2).shape
    (2, 1)
    """
    order = check_random_state(random_state).permutation(X.shape[0])
    first = _distinct(X[order[: 2 * n_components]])
    if len(first) < min(n_components, X.shape[0]):
        first = _distinct(X[order])
    return X[np.sort(order[first[:n_components]])]


def _distinct(X: Features) -> Array:
    """Return ascending indices of the rows that differ from all previous rows."""
    if sp.issparse(X):
        table = X.tocsr().copy()
        table.sum_duplicates()
        ends = zip(table.indptr[:-1], table.indptr[1:], strict=True)
        keys = [table.indices[a:b].tobytes() + b"|" + table.data[a:b].tobytes() for a, b in ends]
        return np.sort(np.unique(np.array(keys, dtype=object), return_index=True)[1])
    return np.sort(np.unique(X, axis=0, return_index=True)[1])


@dataclass(frozen=True)
class CenterSpectrum:
    """Eigenvalues and eigenvectors of the Gram matrix of centers, centered, at unit scale.

    Attributes
    ----------
    columns : KernelColumns
    values : ndarray of shape (rank,)
        Ascending eigenvalues that are not too small for features.
    vectors : ndarray of shape (n_centers, rank)
        Eigenvectors, orthogonal to constants.
    scale : float
        Factor between the kernel and the kernel of unit scale.
    """

    columns: KernelColumns
    values: Array
    vectors: Array
    scale: float

    @property
    def whitens_rows(self) -> bool:
        """Whether the features of each row must be whitened; see :class:`NystroemFeatures`."""
        # Products of kernel values square the eigenvalues: here, a third of the digits remain.
        least = np.finfo(float).eps ** (1 / 3)
        return bool(self.values.size and self.values[0] < least * self.values[-1])


@serial_algebra()
def center_spectrum(kernel: Kernel, centers: Features) -> CenterSpectrum:
    """Compute the eigenvalues and eigenvectors of a kernel's values at centers.

    Parameters
    ----------
    kernel : Kernel
        Kernel that is bound to the table.
    centers : ndarray or sparse matrix of shape (n_centers, n_features)

    Raises
    ------
    ValueError
        If the kernel has values that are not finite, or is not positive semi-definite.
    """
    centers = centers.astype(np.float64, copy=False)
    gram = kernel._shifted(centers, None)
    if not np.isfinite(gram).all():
        raise ValueError(f"Kernel returned NaN or infinity at the centers: {kernel.describe()}.")
    unit_gram, unit = to_unit_scale((gram + gram.T) / 2.0)
    values, vectors = np.linalg.eigh(unit_gram)
    kept = values > _RANK_TOLERANCE * max(float(values[-1]), 0.0)
    if kept.any():
        check_definite(values)
    # Centering makes eigenvectors of small eigenvalues orthogonal to constants up to rounding.
    centered = vectors[:, kept] - vectors[:, kept].mean(axis=0)
    columns = KernelColumns(kernel, centers, unit.means)
    return CenterSpectrum(columns, values[kept], centered, unit.scale)


def nystroem_features(kernel: Kernel, centers: Features) -> NystroemFeatures:
    """Whiten a kernel's values at centers; see :func:`whitened`.

    Parameters
    ----------
    kernel : Kernel
        Kernel that is bound to the table.
    centers : ndarray or sparse matrix of shape (n_centers, n_features)

    Returns
    -------
    NystroemFeatures

    Raises
    ------
    ValueError
        If the kernel has values that are not finite, or is not positive semi-definite.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> features = nystroem_features(Linear(), np.array([[-1.0], [1.0]]))
    >>> np.abs(features.transform(np.array([[3.0]])))
    array([[3.]])
    """
    return whitened(center_spectrum(kernel, centers))


def whitened(spectrum: CenterSpectrum) -> NystroemFeatures:
    """Return features whose inner products approximate the kernel at unit scale.

    Notes
    -----
    With the centered Gram matrix of the centers at unit scale, K = V S V', the features of a row x
    are k(x, C) V S^(-1/2) for the eigenvalues above the tolerance. Their inner products are those
    of projections on the span of the centers, in the kernel's feature space centered at the mean of
    the centers. Linear functions of the features are sums of kernel values whose coefficients sum
    to zero, as in exact ridge regression with an intercept. A rotation by the orthogonal factor of
    a QR decomposition makes the matrix V S^(-1/2) triangular, which halves the cost of features.
    This takes O(m^3) time and O(m^2) memory for m centers.

    References
    ----------
    Williams & Seeger (2001), Using the Nyström method to speed up kernel machines.
    """
    whitening = triangular(spectrum.vectors / np.sqrt(spectrum.values)) / spectrum.scale
    return NystroemFeatures(spectrum.columns, whitening, spectrum.whitens_rows)


@serial_algebra()
def triangular(matrix: Array) -> Array:
    """Return a lower triangular matrix that is the given one times an orthogonal matrix.

    Parameters
    ----------
    matrix : ndarray of shape (n_rows, n_columns)
        There are at least as many rows as columns.
    """
    return np.asarray(np.linalg.qr(matrix.T)[1].T)


def multiply_triangular(values: Array, triangle: Array, out: Array) -> None:
    """Multiply rows by a lower triangular matrix.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_centers)
    triangle : ndarray of shape (n_centers, rank)
    out : ndarray of shape (n_rows, rank)
        Is overwritten.
    """
    # Panels of columns skip most of the zeros above the diagonal.
    for start in range(0, triangle.shape[1], _PANEL_COLUMNS):
        panel = slice(start, start + _PANEL_COLUMNS)
        np.matmul(values[:, start:], triangle[start:, panel], out=out[:, panel])

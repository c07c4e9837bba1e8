"""Nyström features: a kernel's values at centers, whitened by a rank-revealing factor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._gram.dense import to_unit_scale
from mercer._gram.tiles import serial_algebra
from mercer._nystroem.array_libraries import is_foreign, like
from mercer._nystroem.kernel_columns import KernelColumns
from mercer._typing import Array, Features
from mercer._weights.ridge import check_definite
from mercer.kernels import Kernel

RANK_TOLERANCE = 1e-11
"""Directions whose eigenvalue is below this fraction of the largest one are left out, since their
features would have few digits."""

_EARLY_BELOW = 1e-5
"""If the smallest eigenvalue is below this fraction of the largest one, rows are whitened before
their products are summed: the products of kernel values have the squares of the eigenvalues."""

_PANEL = 128
"""The whitening matrix, which is zero above its diagonal, is multiplied by in so many columns."""


@dataclass(frozen=True)
class NystroemFeatures:
    """Features whose inner products approximate a kernel of unit scale, up to constants.

    Attributes
    ----------
    columns : KernelColumns
        The kernel between rows and centers, centered at the mean of the centers.
    whitening : ndarray of shape (n_centers, rank)
        Zero above the diagonal.
    scale : float
        Mean diagonal of the kernel's centered Gram matrix at the centers.
    whitens_rows : bool
        Whether sums of products need whitened features of each row to keep their digits. If not,
        the products of the kernel's values can be whitened in the end, at half the cost.
    """

    columns: KernelColumns
    whitening: Array
    scale: float
    whitens_rows: bool

    def transform(self, X: Features) -> Any:
        """The features of rows.

        Parameters
        ----------
        X : ndarray, sparse matrix or array of another library, of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, rank)
        """
        columns, rank = self.columns(X), self.whitening.shape[1]
        if is_foreign(columns):
            return columns @ like(self.whitening, columns)
        features = np.empty((len(columns), rank))
        for start in range(0, rank, _PANEL):
            panel = slice(start, start + _PANEL)
            features[:, panel] = columns[:, start:] @ self.whitening[start:, panel]
        return features

    def summands(self, X: Features) -> Any:
        """What sums of products are accumulated of: features, or the kernel's values.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_summands)
        """
        return self.transform(X) if self.whitens_rows else self.columns(X)

    @property
    def n_summands(self) -> int:
        """Number of columns of `summands`."""
        return int(self.whitening.shape[1] if self.whitens_rows else self.columns.n_centers)

    @property
    def remaining(self) -> Array | None:
        """What turns summands into features, shape (n_centers, rank); None if they are features."""
        return None if self.whitens_rows else self.whitening


def nystroem_features(
    kernel: Kernel, centers: Features, tol: float = RANK_TOLERANCE
) -> NystroemFeatures:
    """Whiten a kernel's values at centers.

    Parameters
    ----------
    kernel : Kernel
        Bound to the table.
    centers : ndarray or sparse matrix of shape (n_centers, n_features)
    tol : float, default=RANK_TOLERANCE
        Directions of a smaller fraction of the largest eigenvalue are left out.

    Returns
    -------
    NystroemFeatures

    Raises
    ------
    ValueError
        If the kernel has values that are not finite, or is not positive semi-definite.

    Notes
    -----
    With the centered Gram matrix of the centers at unit scale, K = V S V', features of a row x are
    k(x, C) V S^(-1/2) for the eigenvalues above the tolerance. Their inner products are those of
    the projections on the span of the centers, in the kernel's feature space centered at the mean
    of the centers. Linear functions of them are sums of kernel values whose coefficients sum to
    zero, as those of exact ridge regression with an intercept do. Rotated by the orthogonal factor
    of a QR decomposition, the matrix V S^(-1/2) becomes triangular, which halves the cost of
    features. O(m^3) time and O(m^2) memory for m centers.

    References
    ----------
    Williams & Seeger (2001), Using the Nyström method to speed up kernel machines.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> features = nystroem_features(Linear(), np.array([[-1.0], [1.0]]))
    >>> np.abs(features.transform(np.array([[3.0]])))
    array([[3.]])
    """
    centers = centers.astype(np.float64, copy=False)
    with serial_algebra():
        return _whitened(kernel, centers, tol)


def _whitened(kernel: Kernel, centers: Features, tol: float) -> NystroemFeatures:
    gram = kernel._shifted(centers, None)
    if not np.isfinite(gram).all():
        raise ValueError(f"Kernel returned NaN or infinity at the centers: {kernel.describe()}.")
    unit_gram, unit = to_unit_scale((gram + gram.T) / 2.0)
    values, vectors = np.linalg.eigh(unit_gram)
    kept = values > tol * max(float(values[-1]), 0.0)
    if kept.any():
        check_definite(values)
    # Eigenvectors of small eigenvalues are not quite orthogonal to constants, which are centered.
    centered = vectors[:, kept] - vectors[:, kept].mean(axis=0)
    _, triangle = np.linalg.qr((centered / np.sqrt(values[kept])).T)
    whitening = triangle.T / unit.scale
    early = bool(kept.any() and values[kept][0] < _EARLY_BELOW * values[-1])
    columns = KernelColumns(kernel, centers, unit.means)
    return NystroemFeatures(columns, whitening, unit.scale, early)

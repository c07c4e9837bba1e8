"""Nyström features: kernel values at centers, whitening, and the sums that fits depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state, gen_batches

from mercer._blocks.blocks import Block
from mercer._blocks.listed_folds import ListedFolds
from mercer._blocks.row_sample import row_folds
from mercer._data.arrays import to_numpy
from mercer._data.encoded_targets import TargetEncoding
from mercer._data.types import AnyArray, Array, Features, RandomState, own_fields
from mercer._data.weights import SampleWeights, UnitWeights
from mercer._gram.dense import to_unit_scale
from mercer._gram.devices import TILE_BYTES, Device
from mercer._gram.memory import working_memory
from mercer._gram.tiles import serial_algebra
from mercer._solvers.ridge import check_definite
from mercer.kernels import Kernel

_RANK_TOLERANCE = 1e-11
"""Eigenvalues below this fraction of the largest one are left out, since their features would have
few accurate digits."""


MANY_VALUES = 10**6
"""Products with fewer kernel values take the processor about ten milliseconds."""

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
        """Yield slices of consecutive rows whose kernel values stay in the cache.

        Parameters
        ----------
        n_rows : int
        """
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
        return self._values(X.astype(np.float64, copy=False)) - self.means

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

    def __getstate__(self) -> dict[str, object]:
        return own_fields(self)


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
        columns, rank = self.columns(X), self.whitening.shape[1]
        features = np.empty((len(columns), rank))
        # Panels of columns skip most of the zeros above the diagonal.
        for panel in np.array_split(np.arange(rank), 8):
            start, stop = (panel[0], panel[-1] + 1) if panel.size else (0, 0)
            features[:, start:stop] = columns[:, start:] @ self.whitening[start:, start:stop]
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


@serial_algebra()
def nystroem_features(kernel: Kernel, centers: Features) -> NystroemFeatures:
    """Whiten a kernel's values at centers.

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

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> features = nystroem_features(Linear(), np.array([[-1.0], [1.0]]))
    >>> np.abs(features.transform(np.array([[3.0]])))
    array([[3.]])
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
    _, triangle = np.linalg.qr((centered / np.sqrt(values[kept])).T)
    # Products of kernel values square the eigenvalues: at this ratio, a third of the digits remain.
    early = bool(kept.any() and values[kept][0] < np.finfo(float).eps ** (1 / 3) * values[-1])
    columns = KernelColumns(kernel, centers, unit.means)
    return NystroemFeatures(columns, triangle.T / unit.scale, early)


@dataclass
class Moments:
    """Sums over some rows of summands Z, which are features or kernel values, and targets Y.

    Attributes
    ----------
    count : float
        Number of rows, or sum of their weights. All other sums are weighted as well.
    features, values : ndarray of shape (n_summands,) and (n_outputs,)
        Sums of Z and Y.
    gram, cross : ndarray of shape (n_summands, n_summands) and (n_summands, n_outputs)
        Z'Z and Z'Y.
    squares : ndarray of shape (n_outputs,)
        Sums of squared targets.
    """

    count: float
    features: Array
    values: Array
    gram: Array
    cross: Array
    squares: Array

    @classmethod
    def zero(cls, m: int, k: int) -> Self:
        """Return the sums over no rows, of m summands and k outputs."""
        return cls(0.0, np.zeros(m), np.zeros(k), np.zeros((m, m)), np.zeros((m, k)), np.zeros(k))

    def add(self, Z: Array, Y: Array, roots: Array) -> None:
        """Add rows in place, given the square roots of their weights."""
        if np.any(roots != 1.0):
            Z, Y = roots[:, None] * Z, roots[:, None] * Y
        self.count += float(roots @ roots)
        self.features += roots @ Z
        self.values += roots @ Y
        self.gram += Z.T @ Z
        self.cross += Z.T @ Y
        self.squares += np.sum(Y * Y, axis=0)

    def plus(self, other: Moments, sign: float = 1.0) -> Moments:
        """Return sums over the rows of both; with sign -1, those without the rows of `other`."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Moments(*(mine + sign * theirs for mine, theirs in pairs))

    def mapped(self, matrix: Array) -> Moments:
        """Return the sums of the same rows, with Z multiplied by a matrix."""
        return Moments(
            self.count,
            matrix.T @ self.features,
            self.values,
            matrix.T @ (self.gram @ matrix),
            matrix.T @ self.cross,
            self.squares,
        )

    def means(self) -> tuple[Array, Array]:
        """Return the means of Z and Y."""
        return self.features / self.count, self.values / self.count

    def centered(self, features: Array, values: Array) -> Moments:
        """Return the sums of the same rows, with constants subtracted from Z and Y."""
        n, s, t = self.count, self.features, self.values
        gram = self.gram - np.outer(s, features)
        gram -= np.outer(features, s - n * features)
        cross = self.cross - np.outer(s, values) - np.outer(features, t)
        cross += n * np.outer(features, values)
        squares = self.squares - 2.0 * t * values + n * values**2
        return Moments(n, s - n * features, t - n * values, gram, cross, squares)

    def squared_errors(self, coefficients: Array) -> Array:
        """Return sums of squares of Y - Z w for coefficients w, shape (n_alphas, n_outputs).

        Parameters
        ----------
        coefficients : ndarray of shape (n_alphas, n_summands, n_outputs)
        """
        a, r, k = coefficients.shape
        fitted = (self.gram @ coefficients.transpose(1, 0, 2).reshape(r, a * k)).reshape(r, a, k)
        fitted -= 2.0 * self.cross[:, None, :]
        error = self.squares + np.einsum("ark,rak->ak", coefficients, fitted)
        return np.maximum(error, 0.0)


@dataclass(frozen=True)
class NormalEquations:
    """The moments of folds, on which ridge regression and its cross-validation depend.

    Parameters
    ----------
    features : NystroemFeatures
    encoding : TargetEncoding
    weights : SampleWeights
        Weights of the rows; by default, all are one.
    seed : int, default=0
        Seed of the assignment of rows, or groups, to folds.
    tile_rows : int, default=2048
        Number of rows of one fold whose summands are in memory at a time.
    groups : ndarray of int of shape (n_rows,), default=None
        Groups of all rows of the source, which folds do not divide.
    listed : ListedFolds, default=None
        Folds of all rows of the source, in place of random ones. A state then has sums per part.

    Notes
    -----
    Each row takes O(m^2) operations in each layer, for m centers. A state contains an m x m matrix
    for each fold, or part.

    If the kernel's Gram matrix at the centers is well conditioned, products of kernel values are
    summed and whitened at the end, which takes half the time; see
    :attr:`NystroemFeatures.whitens_rows`.
    """

    features: NystroemFeatures
    encoding: TargetEncoding
    weights: SampleWeights = UnitWeights(0)  # noqa: RUF009
    seed: int = 0
    tile_rows: int = 2048
    groups: Array | None = None
    listed: ListedFolds | None = None

    @property
    def n_folds(self) -> int:
        """Number of folds, from two to five, such that two states fit into `working_memory`."""
        return int(np.clip(working_memory() // (16 * self.features.n_summands**2 or 1), 2, 5))

    def start(self) -> list[Moments]:
        """Return sums over no rows, for each fold or part."""
        m, k = self.features.n_summands, self.encoding.n_outputs
        n_parts = self.n_folds if self.listed is None else self.listed.n_parts
        return [Moments.zero(m, k) for _ in range(n_parts)]

    def add(self, state: list[Moments], block: Block) -> list[Moments]:
        """Add the rows of a block, with targets, to a state in place.

        Parameters
        ----------
        state : list of Moments
        block : Block

        Raises
        ------
        ValueError
            If a label is not one of the classes, or the kernel has values that are not finite.
        """
        assert block.y is not None
        Y = self.encoding.encode(block.y)
        roots = self.weights.take(block.positions).roots
        for numbers in self._numbers(block.positions):
            for number in np.unique(numbers):
                inside = np.flatnonzero(numbers == number)
                for start in range(0, inside.size, self.tile_rows):
                    rows = inside[start : start + self.tile_rows]
                    state[number].add(self.features.summands(block.X[rows]), Y[rows], roots[rows])
        if not all(np.isfinite(part.features).all() for part in state):
            kernel = self.features.columns.kernel
            raise ValueError(f"Kernel returned NaN or infinity: {kernel.describe()}.")
        return state

    def _numbers(self, positions: Array) -> Array:
        """Return the fold, or the part in each layer, that each row belongs to."""
        if self.listed is not None:
            return self.listed.numbers[:, positions]
        names = positions if self.groups is None else self.groups[positions]
        return row_folds(self.seed, names, self.n_folds)[None]

    def merge(self, first: list[Moments], second: list[Moments]) -> list[Moments]:
        """Return sums over the rows of two states.

        Parameters
        ----------
        first, second : list of Moments
        """
        return [a.plus(b) for a, b in zip(first, second, strict=True)]

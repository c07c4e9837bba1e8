"""Kernels of codes, for unordered categories and for objects with a given Gram matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np
import scipy.sparse as sp

from mercer._data.types import Array, Features
from mercer._data.validation import check_positive
from mercer.kernels._distances import Pairs, inner, log_interval
from mercer.kernels._kernel import Kernel
from mercer.kernels._minkowski import slices
from mercer.kernels._radial import Gaussian
from mercer.kernels._structure import Structure

_MANY = 64
"""Columns with more levels are compared pair by pair, which takes as long as a matrix product with
indicators of about this many levels."""


class OfColumns(Gaussian):
    """A Gaussian kernel of dimensionless distances that are summed over the columns."""

    accepts_sparse = False
    accepts_array_api = False

    @property
    def structure(self) -> Structure:
        """Unknown structure: the kernel is not a function of distances between numbers."""
        return Structure()

    def _is_median(self) -> bool:
        return False

    def _scale(self) -> float | Array:
        if isinstance(self.bandwidth, str):
            raise ValueError(
                f"bandwidth must be positive and finite; got {self.bandwidth!r}: widths of "
                f"{type(self).__name__} have no unit, and are not read off the data."
            )
        return super()._scale()

    def _width_bounds(self, X: Features, n_widths: int) -> Array:
        given = log_interval(self.bounds)
        # Dimensionless distances are about one.
        return np.tile(np.log([0.1, 100.0]) if given is None else given, (n_widths, 1))


@dataclass(eq=False, repr=False)
class Categorical(OfColumns):
    """Kernel of unordered categories, exp(-sum_z d(x_z, x'_z) / s_z^2), where d is zero or one.

    Each column contributes a factor: one if the categories are the same, and exp(-1 / s^2), a value
    below one that is learned, if they differ. Columns with large widths have little effect.
    Categories are given as numbers, such as codes, whose order and distances do not matter. Missing
    values (NaN) are a category of their own. Categories that are absent from the training table
    differ from all categories in it.

    Parameters
    ----------
    bandwidth : float or array-like of shape (n_features,), default=1.0
        Dimensionless width s, one for all columns or one for each column.
    ard : bool, default=False
        One width per column.
    bounds : "data" or (float, float), default="data"
        Interval in which widths are searched; (0.1, 100) for `"data"`.
    rarity : float, default=None
        Exponent a > 0 of the function h(p) = (1 - p^a)^(1/a) of a category's frequency p. Different
        categories then have the distance d = (h(p) + h(p')) / 2, which is larger for rarer
        categories. With None, any two different categories have the distance one.
    frequencies : list of ndarray of shape (2, n_levels), default=None
        With `rarity`, the categories of each column, ascending and with infinity for missing
        values, and their frequencies. None computes them from the training table when an estimator
        is fitted.

    See Also
    --------
    Ordinal : Kernel of ordered categories.
    kernels_for : A kernel for all columns of a table.

    Notes
    -----
    The kernel is Gaussian on one-hot columns with entries sqrt(h(p) / 2) in place of one. All
    one-hot columns of a categorical column have the same width, and the squared distance of
    different categories is (h(p) + h(p')) / 2. It is therefore positive semi-definite (Schoenberg
    1938). With `rarity` it is the kernel exp(sum_z h(p_z) [x_z = x'_z] / s_z^2) of Belanche &
    Villegas, scaled to a diagonal of one.

    Evaluation takes O(n^2 m) time, where m is the number of levels, counting at most 64 per column.

    References
    ----------
    Boriah, Chandola, Kumar (2008), Similarity measures for categorical data: a comparative
    evaluation, SIAM Data Mining. Belanche & Villegas (2013), Kernel functions for categorical
    variables with application to problems in the life sciences, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Categorical
    >>> Categorical()([[0.0, 1.0], [0.0, 2.0], [3.0, 4.0]]).round(4)
    array([[1.    , 0.3679, 0.1353],
           [0.3679, 1.    , 0.1353],
           [0.1353, 0.1353, 1.    ]])
    >>> table = np.array([[0.0], [0.0], [0.0], [1.0]])
    >>> kernel = Categorical(rarity=1.0).bind(table)
    >>> kernel([[0.0], [1.0], [2.0]]).round(4)  # the last is new
    array([[1.    , 0.6065, 0.5353],
           [0.6065, 1.    , 0.4169],
           [0.5353, 0.4169, 1.    ]])
    """

    accepts_missing = True

    _: KW_ONLY
    rarity: float | None = None
    frequencies: Sequence[Array] | None = None

    def bind(self, X: Features) -> Self:
        """Return the kernel, with the category frequencies of the table if `rarity` is given."""
        bound = super().bind(X)
        if self.rarity is None or self.frequencies is not None or sp.issparse(X):
            return bound
        counted = (np.unique(column, return_counts=True) for column in _known(X).T)
        found = [np.stack([values, counts / counts.sum()]) for values, counts in counted]
        return bound._replaced(frequencies=found)

    def describe(self) -> str:
        """Return the name, width and rarity."""
        text = super().describe()
        return text if self.rarity is None else f"{text}, rarity {self.rarity:.3g}"

    def _heights(self, X: Array) -> Array:
        """Return h(p) of each cell; distances of different categories are means of two values."""
        if self.rarity is None:
            return np.ones(X.shape)
        check_positive("rarity", self.rarity)
        if self.frequencies is None:
            raise ValueError(
                "The frequencies of categories are read off the data: bind the kernel to a table "
                "first, as in kernel.bind(X)."
            )
        heights = np.ones(X.shape)
        for z, (levels, frequencies) in enumerate(self.frequencies):
            found = np.minimum(np.searchsorted(levels, X[:, z]), len(levels) - 1)
            p = np.where(levels[found] == X[:, z], frequencies[found], 0.0)
            heights[:, z] = (1.0 - p**self.rarity) ** (1.0 / self.rarity)
        return heights

    def _weights(self, n_features: int) -> Array:
        self._check_width(n_features)
        return np.broadcast_to(np.asarray(self._scale()) ** -2.0, (n_features,))

    def _scaled_distances(self, X: Array, Z: Array) -> Array:
        """Return sum_z d(x_z, x'_z) / s_z^2 for rows without NaN; it is zero for equal rows."""
        weights = self._weights(X.shape[1])
        here = self._heights(X) * weights
        there = here if X is Z else self._heights(Z) * weights
        u = -equal_sums(X, Z, here)
        u += 0.5 * here.sum(axis=1)[:, None]
        u += 0.5 * there.sum(axis=1)
        rounding = 8.0 * weights.size * float(np.finfo(float).eps * weights.sum())
        u[u < rounding] = 0.0
        return u

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        X = _known(X)
        return self._from_scaled(self._scaled_distances(X, X if Z is None else _known(Z)))

    _shifted_at = Kernel._shifted_at
    _value_tiles = Kernel._value_tiles

    def _contract(
        self, X: Features, P: Array, Z: Features, start: int | None
    ) -> tuple[float, Array]:
        X, Z = _known(X), _known(Z)
        u = self._scaled_distances(X, Z)
        shifted = self._from_scaled(u.copy())
        value = inner(P, shifted) + float(P.sum())
        W = self._slope(u, shifted)
        W *= P
        if np.ndim(self._scale()) == 0:
            return value, np.array([-2.0 * inner(W, u)])
        here, there = self._heights(X), self._heights(Z)
        sums = 0.5 * (W.sum(axis=1) @ here + W.sum(axis=0) @ there)
        sums -= equal_contractions(X, W, Z, here)
        return value, -2.0 * self._weights(X.shape[1]) * sums

    def _pairs(self, X: Features) -> Pairs | None:
        return None


def _known(X: Features) -> Array:
    """Return the table with infinity in place of missing values, so that they compare equal."""
    table = np.asarray(X, dtype=float)
    return np.where(np.isnan(table), np.inf, table)


def equal_sums(X: Array, Z: Array, G: Array) -> Array:
    """Return sum_j G_aj [x_aj = z_bj] for each pair of rows, shape (n_samples_x, n_samples_z).

    Parameters
    ----------
    X, Z : ndarray of shape (n_samples_x, n_features) and (n_samples_z, n_features)
    G : ndarray of shape (n_samples_x, n_features)
    """
    total = np.zeros((len(X), len(Z)))
    for columns, indicators in _blocks(X, Z):
        if indicators is None:
            j = columns[0]
            total += G[:, j, None] * (X[:, j, None] == Z[:, j])
        else:
            E, F, owner = indicators
            total += (E * G[:, columns][:, owner]) @ F.T
    return total


def equal_contractions(X: Array, W: Array, Z: Array, G: Array) -> Array:
    """Return sum_ab W_ab G_aj [x_aj = z_bj] for each column j, without forming a tensor.

    The result has the shape (n_features,).

    Parameters
    ----------
    X, Z : ndarray of shape (n_samples_x, n_features) and (n_samples_z, n_features)
    W : ndarray of shape (n_samples_x, n_samples_z)
    G : ndarray of shape (n_samples_x, n_features)
    """
    totals = np.zeros(X.shape[1])
    for columns, indicators in _blocks(X, Z):
        if indicators is None:
            j = columns[0]
            totals[j] = G[:, j] @ np.einsum("ab,ab->a", W, X[:, j, None] == Z[:, j])
        else:
            E, F, owner = indicators
            sums = np.einsum("al,al->l", E * G[:, columns][:, owner], W @ F)
            totals[columns] = np.bincount(owner, sums, len(columns))
    return totals


def _blocks(
    X: Array, Z: Array, n_columns: int = 16
) -> Iterator[tuple[list[int], tuple[Array, Array, Array] | None]]:
    """Yield blocks of columns with the indicators of their levels, or None if these are many.

    Yields
    ------
    columns : list of int
    indicators : tuple of ndarray of shape (n_samples_x, m), (n_samples_z, m) and (m,), or None
        Indicators of the m levels in both tables, and the index in `columns` of each level's
        column. None for a column with many levels.
    """
    few, levels = list[int](), list[Array]()
    for j in range(X.shape[1]):
        both = np.intersect1d(X[:, j], Z[:, j])
        if both.size > _MANY:
            yield [j], None
        else:
            few.append(j)
            levels.append(both)
    for some in slices(len(few), n_columns):
        columns, values = few[some], np.concatenate(levels[some])
        owner = np.repeat(np.arange(len(columns)), [part.size for part in levels[some]])
        E, F = ((table[:, columns][:, owner] == values).astype(float) for table in (X, Z))
        yield columns, (E, F, owner)


@dataclass(eq=False, repr=False)
class Lookup(Kernel):
    """Kernel of arbitrary objects, k(i, j) = G_ij, on a column with the numbers of the objects.

    With it, a kernel of graphs, molecules or time series, or a given similarity of categories, can
    be used on a column of a table: ``OnColumns(Lookup(G), ["molecule"])``. It has no parameters.

    Parameters
    ----------
    gram : array-like of shape (n_objects, n_objects)
        Gram matrix G of all objects, including those to be predicted. It is not copied.

    Raises
    ------
    ValueError
        If G is not square, symmetric, finite and positive semi-definite; or when evaluated, if
        there is more than one column, or if the column contains anything but numbers of objects.

    See Also
    --------
    Precomputed : Kernel from a Gram matrix of the samples, without numbers of objects.

    Examples
    --------
    >>> from mercer.kernels import Lookup
    >>> Lookup([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])([[2.0], [0.0], [1.0]])
    array([[1. , 0. , 0. ],
           [0. , 1. , 0.5],
           [0. , 0.5, 1. ]])
    """

    accepts_sparse = False

    gram: Array

    def describe(self) -> str:
        """Return the name and the number of objects."""
        return f"Lookup of {len(self.gram)} objects"

    def bind(self, X: Features) -> Lookup:
        """Return the kernel after checking its matrix, or 256 rows and columns of a larger one."""
        gram = np.asarray(self.gram, dtype=float)
        if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not np.isfinite(gram).all():
            raise ValueError(f"gram must be a square matrix of finite numbers; got {gram.shape}.")
        some = np.linspace(0, len(gram) - 1, min(len(gram), 256)).astype(int)
        part = gram[np.ix_(some, some)]
        rounding = 1e-8 * float(np.abs(part).max(initial=0.0))
        if not np.allclose(part, part.T, rtol=0.0, atol=rounding):
            raise ValueError("gram is not symmetric, so it is not a kernel.")
        if np.linalg.eigvalsh(part).min(initial=0.0) < -len(part) * rounding:
            raise ValueError("gram is not positive semi-definite, so it is not a kernel.")
        return Lookup(gram)

    def _numbers(self, X: Features) -> Array:
        n = len(self.gram)
        if X.shape[1] != 1:
            raise ValueError(f"Lookup is a kernel on one column; got {X.shape[1]} features.")
        numbers = np.asarray(X, dtype=float)[:, 0]
        if not np.all((numbers >= 0) & (numbers < n) & (numbers == np.floor(numbers))):
            raise ValueError(f"Lookup takes numbers of objects: whole numbers from 0 to {n - 1}.")
        return numbers.astype(int)

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        rows = self._numbers(X)
        columns = rows if Z is None else self._numbers(Z)
        return np.asarray(self.gram, dtype=float)[np.ix_(rows, columns)]

    def _shifted_diag(self, X: Features) -> Array:
        rows = self._numbers(X)
        return np.asarray(self.gram, dtype=float)[rows, rows]

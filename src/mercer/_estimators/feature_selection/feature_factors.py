"""Low-rank factors of Gaussian kernels of single features, without n x n matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from mercer._data.types import Array, Features
from mercer._data.weights import SampleWeights
from mercer._gram.low_rank import pivoted_cholesky
from mercer._gram.memory import working_memory
from mercer._gram.samples import centered_features
from mercer._gram.tiles import TILE_BYTES, map_tiles

_TRACE = 1e-9
"""The trace of a factored Gram matrix may be too small by at most this fraction."""
_TYPICAL_RANK = 32
"""Rank that is assumed when memory is planned; few Gaussian kernels of one feature exceed it."""


@dataclass(frozen=True)
class StackedFactors:
    """Transposed factors of several kernels, stacked as blocks of rows.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_samples)
    offsets : ndarray of shape (n_kernels,)
        Index of the first row of each kernel.
    """

    rows: Array
    offsets: Array

    def products(self, other: StackedFactors) -> Array:
        """Return <K_k, K_l> = |F_k' F_l|^2 with shape (n_kernels, n_kernels_other)."""
        squares = self.rows @ other.rows.T
        np.square(squares, out=squares)
        by_column = np.add.reduceat(squares, other.offsets, axis=1)
        return np.add.reduceat(by_column, self.offsets, axis=0)

    def cross(self, Y: Array) -> Array:
        """Return <K_k, Y Y'> = |F_k' Y|^2 with shape (n_kernels,)."""
        products = self.rows @ Y
        return np.add.reduceat(np.einsum("ij,ij->i", products, products), self.offsets)


def gaussian_factors(features: Array) -> list[Array]:
    """Factor the Gram matrices exp(-(x - x')^2 / 2) of many single features at once.

    Parameters
    ----------
    features : ndarray of shape (n_features, n_samples)

    Returns
    -------
    list of ndarray of shape (rank, n_samples)
        Factors F such that K = F'F up to 1e-9 of the trace.

    Notes
    -----
    See :func:`mercer._gram.low_rank.pivoted_cholesky`. The rank is about 20 for features of unit
    variance, and at most the number of distinct values.
    """
    every = np.arange(len(features))

    def columns(pivots: Array) -> Array:
        squared = features - features[every, pivots][:, None]
        np.square(squared, out=squared)
        squared *= -0.5
        return np.exp(squared, out=squared)

    found = pivoted_cholesky(columns, np.ones(features.shape), tol=_TRACE)
    return [F[:, :rank].T for F, rank in zip(found.factors, found.ranks, strict=True)]


def standardized_rows(X: Array, weights: SampleWeights) -> Array:
    """Standardize features, and return them as rows of shape (n_features, n_samples).

    Features that are constant up to rounding become exactly zero. Means are unweighted, because
    kernels do not depend on them if targets are centered.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    weights : SampleWeights
    """
    largest = np.abs(X).max(axis=0)
    columns = X / np.where(largest > 0.0, largest, 1.0)
    rows: Array = centered_features(columns).T.copy()
    deviations = weights.deviation(rows.T)
    rows /= np.where(deviations > 0.0, deviations, 1.0)[:, None]
    return rows


class FeatureFactors:
    """Factors of centered Gaussian Gram matrices of single features, scaled to Frobenius norm one.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Features, which are standardized one block at a time.
    weights : SampleWeights
        Weights whose square roots multiply the factors and the targets.

    Notes
    -----
    Factors are cached in up to half of the working memory, and recomputed if they do not fit.
    Products take up to another quarter of it.
    """

    def __init__(self, X: Features, weights: SampleWeights) -> None:
        self._weights = weights
        self._X = X.tocsc() if sp.issparse(X) else X
        self.n_features: int = X.shape[1]
        self._block_size = max(1, TILE_BYTES // (8 * _TYPICAL_RANK * X.shape[0]))
        self._cache: dict[int, Array] = {}
        self._memory = working_memory() / 2
        all_fit = 8.0 * _TYPICAL_RANK * X.shape[0] * X.shape[1] <= self._memory
        self._free = self._memory if all_fit else 0.0

    def relevance(self, Y: Array) -> Array:
        """Return the centered alignment of each feature's kernel with a target.

        The alignment of a constant feature is zero.

        Parameters
        ----------
        Y : ndarray of shape (n_samples, n_targets)
            Centered target factor.

        Returns
        -------
        ndarray of shape (n_features,)
        """
        found = map_tiles(lambda block: self.stack(block).cross(Y), self._blocks(self.n_features))
        scores = np.concatenate(list(found)) / np.linalg.norm(Y.T @ Y)
        if not self._cache:
            # If not all factors fit, the cache is filled with the factors that are requested later.
            self._free = self._memory
        return scores

    def products(self, rows: Array, columns: Array) -> Array:
        """Return <K_kc, K_lc> / (|K_kc| |K_lc|) with shape (n_rows, n_columns).

        Parameters
        ----------
        rows, columns : ndarray of int
            Indices k and l of features.
        """
        blocks = [rows[block] for block in self._blocks(rows.size)]
        result = np.empty((rows.size, columns.size))
        at_once = max(1, int(self._memory / 2 / (8 * _TYPICAL_RANK * self._X.shape[0])))
        for start in range(0, columns.size, at_once):
            chunk = slice(start, start + at_once)
            fixed = self.stack(columns[chunk])

            def among(some: Array, fixed: StackedFactors = fixed) -> Array:
                return self.stack(some).products(fixed)

            found = map_tiles(among, blocks)
            result[:, chunk] = np.concatenate(list(found))
        return result

    def stack(self, features: Array) -> StackedFactors:
        """Return the factors of some features, computing those that are not in the cache."""
        missing = np.array([k for k in features if int(k) not in self._cache], dtype=int)
        computed: dict[int, Array] = {}
        for start in range(0, missing.size, self._block_size):
            block = missing[start : start + self._block_size]
            computed.update(zip(block.tolist(), self._compute(block), strict=True))
        factors = [self._cache[k] if k in self._cache else computed[k] for k in features.tolist()]
        for k, factor in computed.items():
            if factor.nbytes <= self._free:
                self._free -= factor.nbytes
                self._cache[k] = factor
        sizes = [len(factor) for factor in factors]
        return StackedFactors(np.concatenate(factors), np.cumsum([0, *sizes[:-1]]))

    def _blocks(self, n: int) -> list[Array]:
        """Split n indices into blocks for which factors are computed together."""
        return np.split(np.arange(n), range(self._block_size, n, self._block_size))

    def _compute(self, features: Array) -> list[Array]:
        """Compute the factors of one block of features."""
        block = self._X[:, features]
        block = block.toarray() if sp.issparse(block) else block
        rows = standardized_rows(np.asarray(block, dtype=np.float64), self._weights)
        return [_of_norm_one(factor, self._weights) for factor in gaussian_factors(rows)]


def _of_norm_one(factor: Array, weights: SampleWeights) -> Array:
    """Center a factor and scale its Gram matrix to norm one; return zeros for a constant one."""
    centered = weights.centered(factor.T).T
    norm = float(np.linalg.norm(centered @ centered.T))
    if norm <= _TRACE * weights.total:
        return np.zeros((1, factor.shape[1]))
    return centered / np.sqrt(norm)

"""Gaussian kernels of single features as factors of low rank: no n x n matrix for any of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from mercer._gram.low_rank import pivoted_cholesky
from mercer._gram.tiles import centered_features, map_tiles, working_memory
from mercer._typing import Array, Features

_TRACE = 1e-9
"""Part of a Gram matrix's trace that its factor may leave out."""
_RANK = 32
"""Columns that are counted on; Gaussians of one feature rarely need more."""
_BLOCK_BYTES = 4 * 2**20
"""Bytes of the factors that are made together: about what a core's cache holds."""


@dataclass(frozen=True)
class Stack:
    """Transposed factors of several kernels, one below the other.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_samples)
    starts : ndarray of shape (n_kernels,)
        First row of each kernel.
    """

    rows: Array
    starts: Array

    def products(self, other: Stack) -> Array:
        """<K_k, K_l> = |F_k' F_l|^2, shape (n_kernels, n_kernels_other)."""
        squares = self.rows @ other.rows.T
        np.square(squares, out=squares)
        by_column = np.add.reduceat(squares, other.starts, axis=1)
        return np.add.reduceat(by_column, self.starts, axis=0)

    def cross(self, Y: Array) -> Array:
        """<K_k, Y Y'> = |F_k' Y|^2, shape (n_kernels,)."""
        products = self.rows @ Y
        return np.add.reduceat(np.einsum("ij,ij->i", products, products), self.starts)


def stacked(factors: Sequence[Array]) -> Stack:
    """Factors of shape (rank, n_samples) one below the other."""
    sizes = [len(factor) for factor in factors]
    return Stack(np.concatenate(factors), np.cumsum([0, *sizes[:-1]]))


def gaussian_factors(features: Array) -> list[Array]:
    """Factors F of the Gram matrices of single features, exp(-(x - x')^2 / 2), many at once.

    Parameters
    ----------
    features : ndarray of shape (n_features, n_samples)

    Returns
    -------
    list of ndarray of shape (rank, n_samples)
        K = F'F up to 1e-9 of the trace.

    Notes
    -----
    See :func:`mercer._gram.low_rank.pivoted_cholesky`. Features of unit variance have a rank of
    about 20, and never more than they have distinct values.
    """
    every = np.arange(len(features))

    def columns(pivots: Array) -> Array:
        squared = features - features[every, pivots][:, None]
        np.square(squared, out=squared)
        squared *= -0.5
        return np.exp(squared, out=squared)

    found = pivoted_cholesky(columns, np.ones(features.shape), tol=_TRACE)
    return [F[:, :rank].T for F, rank in zip(found.factors, found.ranks, strict=True)]


def standardized_rows(X: Array) -> Array:
    """Features of mean zero and unit variance as rows, shape (n_features, n_samples).

    Those that are constant up to rounding are exactly zero.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    """
    largest = np.abs(X).max(axis=0)
    rows: Array = centered_features(X / np.where(largest > 0.0, largest, 1.0)).T.copy()
    spread = rows.std(axis=1)
    rows /= np.where(spread > 0.0, spread, 1.0)[:, None]
    return rows


class FeatureFactors:
    """Factors of centered Gaussian Gram matrices of single features, each of Frobenius norm one.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Standardized here, a block of features at a time.

    Notes
    -----
    Factors are kept as far as a half of the working memory goes, and recomputed otherwise; products
    take up to another quarter.
    """

    def __init__(self, X: Features) -> None:
        self._X = X.tocsc() if sp.issparse(X) else X
        self.n_features: int = X.shape[1]
        self._size = max(1, _BLOCK_BYTES // (8 * _RANK * X.shape[0]))
        self._kept: dict[int, Array] = {}
        self._memory = working_memory() / 2
        self._spare = self._memory if 8.0 * _RANK * X.shape[0] * X.shape[1] <= self._memory else 0.0

    def relevance(self, Y: Array) -> Array:
        """Centered alignment of each feature's kernel with a target, zero for constant features.

        Parameters
        ----------
        Y : ndarray of shape (n_samples, n_targets)
            Centered target factor.

        Returns
        -------
        ndarray of shape (n_features,)
        """
        found = map_tiles(lambda part: self.stack(part).cross(Y), self._parts(self.n_features))
        scores = np.concatenate(list(found)) / np.linalg.norm(Y.T @ Y)
        if not self._kept:
            # Where not all fit, those asked for again are worth more than those that come first.
            self._spare = self._memory
        return scores

    def products(self, rows: Array, columns: Array) -> Array:
        """<K_kc, K_lc> / (|K_kc| |K_lc|), shape (n_rows, n_columns).

        Parameters
        ----------
        rows, columns : ndarray of int
            Features k and l.
        """
        parts = [rows[part] for part in self._parts(rows.size)]
        result = np.empty((rows.size, columns.size))
        at_once = max(1, int(self._memory / 2 / (8 * _RANK * self._X.shape[0])))
        for start in range(0, columns.size, at_once):
            some = slice(start, start + at_once)
            fixed = self.stack(columns[some])
            found = map_tiles(partial(_products, factors=self, fixed=fixed), parts)
            result[:, some] = np.concatenate(list(found))
        return result

    def stack(self, features: Array) -> Stack:
        """Factors of some features.

        Parameters
        ----------
        features : ndarray of int
        """
        missing = np.array([k for k in features if int(k) not in self._kept], dtype=int)
        made: dict[int, Array] = {}
        for start in range(0, missing.size, self._size):
            some = missing[start : start + self._size]
            made.update(zip(some.tolist(), self._made(some), strict=True))
        factors = [self._kept[k] if k in self._kept else made[k] for k in features.tolist()]
        for k, factor in made.items():
            if factor.nbytes <= self._spare:
                self._spare -= factor.nbytes
                self._kept[k] = factor
        return stacked(factors)

    def _parts(self, n: int) -> list[Array]:
        return np.split(np.arange(n), range(self._size, n, self._size))

    def _made(self, features: Array) -> list[Array]:
        block = self._X[:, features]
        block = block.toarray() if sp.issparse(block) else block
        rows = standardized_rows(np.asarray(block, dtype=np.float64))
        return [_of_norm_one(factor) for factor in gaussian_factors(rows)]


def _products(features: Array, factors: FeatureFactors, fixed: Stack) -> Array:
    return factors.stack(features).products(fixed)


def _of_norm_one(factor: Array) -> Array:
    """A factor centered, of a Gram matrix of Frobenius norm one; zero where that is constant."""
    centered = factor - factor.mean(axis=1)[:, None]
    norm = float(np.linalg.norm(centered @ centered.T))
    if norm <= _TRACE * factor.shape[1]:
        return np.zeros((1, factor.shape[1]))
    return centered / np.sqrt(norm)

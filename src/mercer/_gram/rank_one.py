"""Columns of a table, dense or sparse, as factors of rank-one Gram matrices."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from mercer._data.types import Array, Features
from mercer._data.weights import SampleWeights, as_weights
from mercer._gram.samples import centered_features
from mercer._gram.tiles import assembled, tile_plan

_MANY_ENTRIES = 2**18
"""Tables with fewer entries are stored as dense arrays, which are faster than sparse ones."""

_FEW_NONZERO = 0.1
"""Largest fraction of nonzero entries of a column that is stored sparse.

The mean of such a column is only subtracted in products. The mean's share of the squared norm is at
most this fraction, so that no digits are lost to cancellation.
"""


@dataclass(frozen=True)
class TableColumns:
    """The columns v_k of a matrix V, some of them dense, the others sparse with separate means.

    Attributes
    ----------
    is_sparse : ndarray of shape (n_columns,)
    dense : ndarray of shape (n_samples, n_dense)
    sparse : sparse matrix of shape (n_samples, n_sparse)
    means : ndarray of shape (n_sparse,)
        Means of the sparse columns, which are subtracted in products; zeros if the columns are not
        centered.
    """

    is_sparse: Array
    dense: Array
    sparse: sp.csr_array
    means: Array

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.is_sparse.size

    def scaled(self, by: Array) -> TableColumns:
        """Return the columns, each multiplied by a number.

        Parameters
        ----------
        by : ndarray of shape (n_columns,)
        """
        dense, sparse = self._parts(by)
        return replace(
            self,
            dense=self.dense * dense,
            sparse=_columns_times(self.sparse, sparse),
            means=self.means * sparse,
        )

    def squares(self, weights: Array | None = None) -> Array:
        """Return v_k'v_k, shape (n_columns,).

        Parameters
        ----------
        weights : ndarray of shape (n_samples,), default=None
            Weights of the samples. Centered columns must be centered with these weights.
        """
        values = as_weights(weights, len(self.dense)).values
        sparse = values @ self.sparse.power(2) - values.sum() * self.means**2
        return self._joined(np.einsum("n,nk,nk->k", values, self.dense, self.dense), sparse)

    def gram(self, weights: Array) -> Array:
        """Return the weighted sum of the matrices v_k v_k', shape (n_samples, n_samples).

        Parameters
        ----------
        weights : ndarray of shape (n_columns,)
            Weights of the columns, which must not be negative.
        """
        dense, sparse = self._parts(weights)
        used = np.flatnonzero(dense)
        result = _outer(self.dense[:, used] * np.sqrt(dense[used]))
        if sparse.any():
            part = _columns_times(self.sparse, np.sqrt(sparse))
            result += (part @ part.T).toarray()
            across = self.sparse @ (sparse * self.means)
            result -= across
            result -= across[:, None]
            result += float(sparse @ self.means**2)
        return result

    def times(self, x: Array) -> Array:
        """Return V x, shape (n_samples,).

        Parameters
        ----------
        x : ndarray of shape (n_columns,)
        """
        dense, sparse = self._parts(x)
        return np.asarray(self.dense @ dense + self.sparse @ sparse - self.means @ sparse)

    def dots(self, C: Array) -> Array:
        """Return V'C, shape (n_columns, n_vectors).

        Parameters
        ----------
        C : ndarray of shape (n_samples, n_vectors)
        """
        sparse = self.sparse.T @ C - np.outer(self.means, C.sum(axis=0))
        return self._joined(self.dense.T @ C, sparse)

    def entries(self, rows: Array, which: Array) -> Array:
        """Return entries of some columns in some rows, shape (n_rows, n_which).

        Parameters
        ----------
        rows : ndarray of shape (n_rows,)
        which : ndarray of shape (n_which,)
        """
        ranks = self._joined(np.arange(self.dense.shape[1]), np.arange(self.means.size))[which]
        sparse = self.is_sparse[which]
        result = np.empty((rows.size, which.size))
        result[:, ~sparse] = self.dense[np.ix_(rows, ranks[~sparse])]
        result[:, sparse] = self.sparse[rows][:, ranks[sparse]].toarray()
        result[:, sparse] -= self.means[ranks[sparse]]
        return result

    def _parts(self, values: Array) -> tuple[Array, Array]:
        return values[~self.is_sparse], values[self.is_sparse]

    def _joined(self, dense: Array, sparse: Array) -> Array:
        result = np.empty((self.n_columns, *dense.shape[1:]), dense.dtype)
        result[~self.is_sparse] = dense
        result[self.is_sparse] = sparse
        return result


def table_columns(
    X: Features, columns: Array, weights: SampleWeights, *, centered: bool
) -> TableColumns:
    """Return columns of a table as factors, stored sparse if they have few nonzero entries.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    columns : ndarray of shape (n_columns,)
        Indices of the columns, which may repeat.
    weights : SampleWeights
        Weights of the samples in the means.
    centered : bool
        Whether the columns are centered.
    """
    V = X[:, columns]
    if V.shape[0] * V.shape[1] < _MANY_ENTRIES:
        is_sparse = np.zeros(V.shape[1], dtype=bool)
    else:
        nonzero = (V != 0).sum(axis=0)
        is_sparse = np.asarray(nonzero).ravel() <= _FEW_NONZERO * V.shape[0]
    dense, sparse = V[:, np.flatnonzero(~is_sparse)], V[:, np.flatnonzero(is_sparse)]
    dense = dense.toarray() if sp.issparse(dense) else dense
    sparse = sp.csr_array(sparse)
    if not centered:
        return TableColumns(is_sparse, dense, sparse, np.zeros(sparse.shape[1]))
    dense = centered_features(dense, weights) / weights.roots[:, None]
    return TableColumns(is_sparse, dense, sparse, weights.mean(sparse))


def _columns_times(V: sp.csr_array, by: Array) -> sp.csr_array:
    """Return a sparse matrix with each column multiplied by a number."""
    return sp.csr_array((V.data * by[V.indices], V.indices, V.indptr), V.shape)


def _outer(V: Array) -> Array:
    """Return V V', computed tile by tile."""
    return assembled(tile_plan(len(V)), len(V), lambda tile: V[tile.rows] @ V[tile.columns].T)

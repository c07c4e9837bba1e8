"""Ridge regression on the leaves of trees, from sums over rows that are updated in blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.linalg.blas import dsymm
from sklearn.utils import gen_batches

from mercer._blocks.blocks import Block
from mercer._blocks.row_sample import RowWeights
from mercer._blocks.tables import block_source
from mercer._data.encoded_targets import TargetEncoding
from mercer._data.sample import Sample
from mercer._data.types import Array
from mercer._data.weights import UnitWeights
from mercer._nystroem.features import Moments
from mercer._solvers.sparse_ridge import ridge_on_products, ridge_on_sparse_features
from mercer.kernels import Forest

_TILE_VALUES = 2**19
"""Number of leaves in a tile of rows: 4 MB as integers, which stay in the cache."""

_TOLERANCE = 1e-8
"""Tolerance of fits to sums over all rows; predictions then do not depend on the order of rows."""


@dataclass(frozen=True)
class LeafEquations:
    """Sufficient statistic of ridge regression on leaves: moments of their indicators.

    Parameters
    ----------
    kernel : Forest
        Kernel with leaves.
    encoding : TargetEncoding
    weights : RowWeights
        Weights of the rows, by default all one.

    Notes
    -----
    A state contains a matrix with a row and a column for each leaf; its entries below the diagonal
    are zero. Each row takes O(T^2) additions for T trees.
    """

    kernel: Forest
    encoding: TargetEncoding
    weights: RowWeights = UnitWeights(0)  # noqa: RUF009

    def start(self) -> Moments:
        """Return the sums over no rows."""
        return Moments.zero(int(self.kernel.first_features[-1]), self.encoding.n_outputs)

    def add(self, state: Moments, block: Block) -> Moments:
        """Add the rows of a block, with targets, to a state, in place.

        Parameters
        ----------
        state : Moments
        block : Block
        """
        assert block.y is not None
        weights = np.asarray(self.weights.of(block.y, block.positions).values, dtype=float)
        leaves = self.kernel.apply(block.X)
        add_leaves(state, self.kernel, leaves, self.encoding.encode(block.y), weights)
        return state

    def merge(self, first: Moments, second: Moments) -> Moments:
        """Return the sums over the rows of two states.

        Parameters
        ----------
        first, second : Moments
        """
        return first.plus(second)


def add_leaves(sums: Moments, kernel: Forest, leaves: Array, Y: Array, weights: Array) -> None:
    """Add the leaf indicators and targets of some rows to sums, in place.

    Parameters
    ----------
    sums : Moments
        Sums of indicators, and of their products on and above the diagonal.
    kernel : Forest
    leaves : ndarray of int of shape (n_rows, n_trees)
    Y : ndarray of shape (n_rows, n_outputs)
    weights : ndarray of shape (n_rows,)
    """
    roots = np.sqrt(weights)
    sums.squares += np.sum((roots[:, None] * Y) ** 2, axis=0)
    sums.values += weights @ Y
    sums.count += float(weights.sum())
    for rows in gen_batches(len(leaves), max(_TILE_VALUES // leaves.shape[1], 64)):
        _add_tile(sums, kernel.first_features, leaves[rows], Y[rows], weights[rows])


def _add_tile(sums: Moments, firsts: Array, leaves: Array, Y: Array, weights: Array) -> None:
    n_features, n_trees = int(firsts[-1]), leaves.shape[1]
    columns = np.ascontiguousarray((leaves + firsts[:-1]).T, dtype=np.intp)
    every = np.tile(weights, n_trees)
    sums.features += np.bincount(columns.ravel(), every, n_features)
    for output, y in enumerate(Y.T):
        sums.cross[:, output] += np.bincount(
            columns.ravel(), np.tile(weights * y, n_trees), n_features
        )
    weighted = bool(np.any(weights != 1.0))
    for tree, (first, end) in enumerate(pairwise(firsts)):
        # A pair of leaves, of this tree and of this or a later one, is encoded as one number.
        width = n_features - int(first)
        pairs = ((columns[tree] - first) * width + columns[tree:] - first).ravel()
        masses = every[: pairs.size] if weighted else None
        found = np.bincount(pairs, masses, (end - first) * width)
        sums.gram[first:end, first:] += found.reshape(end - first, width)


def ridge_on_sums(
    sums: Moments, n_trees: int, alphas: Array, n_outputs: int, *, tol: float = 1e-3
) -> tuple[Array, Array]:
    """Compute coefficients of leaves, and intercepts, at several penalties.

    Parameters
    ----------
    sums : Moments
        Sums computed by :func:`add_leaves`.
    n_trees : int
        Number of trees; features are the indicators divided by its square root.
    alphas : ndarray of shape (n_alphas,)
        Positive penalties.
    n_outputs : int
        Number of outputs to regress, which are the first ones.
    tol : float, default=1e-3
        See :func:`ridge_on_products`. The time of an iteration does not depend on the number of
        rows.

    Returns
    -------
    coefficients : ndarray of shape (n_alphas, n_leaves, n_outputs)
    intercepts : ndarray of shape (n_alphas, n_outputs)
    """
    means, mean = sums.means()
    mean = mean[:n_outputs]
    squares = sums.gram.diagonal() - sums.count * means**2

    def product(directions: Array) -> Array:
        # The transpose is in the column-major order that BLAS accepts without a copy.
        whole = dsymm(1.0, sums.gram.T, directions, lower=True)
        return np.asarray(whole - np.outer(sums.count * means, means @ directions))

    cross = sums.cross[:, :n_outputs] - np.outer(sums.features, mean)
    penalties = n_trees * np.asarray(alphas)
    found = ridge_on_products(product, squares, cross, penalties, tol=tol, max_iter=1000)
    return np.sqrt(n_trees) * found, mean - means @ found


def ridge_on_leaves(
    kernel: Forest,
    leaves: Array,
    Y: Array,
    alphas: Array,
    weights: Array,
    *,
    tol: float = 1e-3,
    numbers_of_entry: int = 4,
) -> tuple[Array, Array]:
    """Fit ridge regression on the features of a forest, for rows whose leaves are known.

    Parameters
    ----------
    kernel : Forest
        Kernel with leaves.
    leaves : ndarray of int of shape (n_rows, n_trees)
    Y : ndarray of shape (n_rows, n_outputs)
    alphas : ndarray of shape (n_alphas,)
        Positive penalties.
    weights : ndarray of shape (n_rows,)
        Positive weights.
    tol : float, default=1e-3
        See :func:`ridge_on_products`.
    numbers_of_entry : int, default=4
        Memory of an entry of sparse features, in doubles, with its column index and its copies in
        the transposed and weighted features.

    Returns
    -------
    coefficients : ndarray of shape (n_alphas, n_leaves, n_outputs)
    intercepts : ndarray of shape (n_alphas, n_outputs)

    Notes
    -----
    Sums of products replace the sparse features if they take at most as much memory as the latter
    with their copies, because they are then faster as well.
    """
    n_leaves, n_trees = int(kernel.first_features[-1]), leaves.shape[1]
    if numbers_of_entry * leaves.size < n_leaves**2:
        return ridge_on_sparse_features(kernel.as_features(leaves), Y, alphas, weights, tol=tol)
    sums = Moments.zero(n_leaves, Y.shape[1])
    add_leaves(sums, kernel, leaves, Y, weights)
    return ridge_on_sums(sums, n_trees, alphas, Y.shape[1], tol=tol)


@dataclass(frozen=True)
class LeafSums:
    """Sums of products of leaves and targets over rows.

    Attributes
    ----------
    kernel : Forest
    encoding : TargetEncoding
    sums : Moments
    """

    kernel: Forest
    encoding: TargetEncoding
    sums: Moments

    def check_room(self, n_new: int) -> None:
        """Do nothing: the size of the sums does not depend on the number of rows."""

    def plus(self, rows: Sample) -> LeafSums:
        """Return the sums with further rows added, in one pass over blocks of these rows."""
        statistic = LeafEquations(self.kernel, self.encoding, rows.weights)
        return replace(self, sums=self.sums.plus(block_source(rows.X, rows.y).reduce(statistic)))

    def solved(self, penalties: Array) -> tuple[Array, Array]:
        """Compute coefficients and intercepts at some penalties; see :func:`ridge_on_sums`."""
        assert self.kernel.cuts is not None
        n_trees = len(self.kernel.cuts)
        return ridge_on_sums(self.sums, n_trees, penalties, self.encoding.n_outputs, tol=_TOLERANCE)

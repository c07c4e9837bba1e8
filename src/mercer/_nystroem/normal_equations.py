"""Normal equations of ridge regression on kernel values at centers, as sums over blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mercer._blocks import Block, row_folds
from mercer._gram.sample_weights import constant_vector
from mercer._nystroem.array_libraries import is_foreign, like, namespace_of, taken, to_numpy
from mercer._nystroem.nystroem_features import NystroemFeatures
from mercer._nystroem.target_encoding import TargetEncoding
from mercer._typing import Array

TILE_ROWS = 2048
"""Products of so many rows are computed at once; with fewer, adding them up takes a larger part."""

N_FOLDS = 5
"""Penalties are chosen by cross-validation in so many folds."""

_MOST_FOLDED = 2500
"""With more centers than this there are two folds, as each has a matrix in memory."""


@dataclass
class FoldSums:
    """Sums over the rows of each fold, of the library and on the device of the rows.

    Attributes
    ----------
    counts : ndarray of shape (n_folds,)
        Numbers of rows, or of weighted rows the sums of their weights; all other sums are weighted.
    features : ndarray of shape (n_folds, n_summands)
        Sums of features Z, or of kernel values in their place.
    values : ndarray of shape (n_folds, n_outputs)
        Sums of targets Y.
    gram : ndarray of shape (n_folds, n_summands, n_summands)
        Z'Z.
    cross : ndarray of shape (n_folds, n_summands, n_outputs)
        Z'Y.
    squares : ndarray of shape (n_folds, n_outputs)
        Sums of squared targets.
    """

    counts: Array
    features: Array
    values: Array
    gram: Array
    cross: Array
    squares: Array

    def to_numpy(self) -> FoldSums:
        """The same sums as arrays of NumPy."""
        return FoldSums(*(to_numpy(sums) for sums in vars(self).values()))


@dataclass(frozen=True)
class NormalEquations:
    """The statistic of all rows that ridge regression and its cross-validation depend on.

    Parameters
    ----------
    features : NystroemFeatures
    encoding : TargetEncoding
    n_folds : int
    seed : int
        Of the assignment of rows to folds.

    Notes
    -----
    O(m^2) operations for each row and m centers. A state holds `n_folds` m x m matrices in double
    precision; products are computed by the linear-algebra library for symmetric ones.

    If the kernel's Gram matrix at the centers is well conditioned, its values are accumulated and
    their sums whitened in the end, which takes half the time; see
    :attr:`NystroemFeatures.whitens_rows`.
    """

    features: NystroemFeatures
    encoding: TargetEncoding
    n_folds: int = N_FOLDS
    seed: int = 0

    def start(self) -> FoldSums:
        """Sums over no rows."""
        f, m, k = self.n_folds, self.features.n_summands, self.encoding.n_outputs
        return FoldSums(
            np.zeros(f),
            np.zeros((f, m)),
            np.zeros((f, k)),
            np.zeros((f, m, m)),
            np.zeros((f, m, k)),
            np.zeros((f, k)),
        )

    def add(self, state: FoldSums, block: Block) -> FoldSums:
        """Add the rows of a block to a state, which is changed.

        Parameters
        ----------
        state : FoldSums
        block : Block
            With targets.

        Raises
        ------
        ValueError
            If a label is none of the classes, or the kernel has values that are not finite.
        """
        assert block.y is not None
        values, weights = self.encoding.encode(to_numpy(block.y)), block.weights
        if is_foreign(block.X):
            state = FoldSums(*(like(sums, block.X) for sums in vars(state).values()))
        roots = constant_vector(block.n_rows, None if weights is None else np.sqrt(weights))
        folds = row_folds(self.seed, block.start, block.n_rows, self.n_folds)
        for fold, rows in fold_tiles(folds):
            Z = self.features.summands(taken(block.X, rows))
            Y, ones = like(values[rows], Z), like(roots[rows], Z)
            if weights is not None:
                Z, Y = ones[:, None] * Z, ones[:, None] * Y
            xp = namespace_of(Z)
            state.counts[fold] += float(roots[rows] @ roots[rows])
            state.features[fold, :] += ones @ Z
            state.values[fold, :] += ones @ Y
            state.gram[fold, :, :] += xp.matmul(Z.T, Z)
            state.cross[fold, :, :] += xp.matmul(Z.T, Y)
            state.squares[fold, :] += xp.sum(Y * Y, axis=0)
        if not np.isfinite(to_numpy(state.features)).all():
            kernel = self.features.columns.kernel
            raise ValueError(f"Kernel returned NaN or infinity: {kernel.describe()}.")
        return state

    def merge(self, first: FoldSums, second: FoldSums) -> FoldSums:
        """Sums over the rows of two states.

        Parameters
        ----------
        first, second : FoldSums
        """
        return FoldSums(
            *(a + b for a, b in zip(vars(first).values(), vars(second).values(), strict=True))
        )


def n_folds_for(n_centers: int) -> int:
    """Number of folds whose matrices are kept for so many centers."""
    return N_FOLDS if n_centers <= _MOST_FOLDED else 2


def fold_tiles(folds: Array) -> Iterator[tuple[int, Array]]:
    """Fold and row indices of tiles, each of rows of one fold.

    Parameters
    ----------
    folds : ndarray of int of shape (n_rows,)
    """
    order = np.argsort(folds, kind="stable")
    ends = np.searchsorted(folds[order], np.arange(folds.max(initial=0) + 2))
    for fold, (first, last) in enumerate(pairwise(ends)):
        for start in range(first, last, TILE_ROWS):
            yield fold, order[start : min(start + TILE_ROWS, last)]

"""Products with the kernel matrix of all rows and centers, which is never in memory as a whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._blocks import Block, row_folds
from mercer._nystroem.array_libraries import like, to_numpy
from mercer._nystroem.kernel_columns import KernelColumns
from mercer._nystroem.target_encoding import TargetEncoding
from mercer._typing import Array


@dataclass
class ResidualSums:
    """Sums over rows, of which some are held out.

    Attributes
    ----------
    counts : ndarray of shape (2,)
        Numbers of rows that are fitted to, and that are held out; of weighted rows the sums of
        their weights. All other sums are weighted.
    products : ndarray of shape (n_centers, n_functions)
        K'R for the residuals R of the rows that are fitted to.
    residuals : ndarray of shape (n_functions,)
        Sums of these residuals.
    errors : ndarray of shape (n_functions,)
        Sums of squared residuals of the rows that are held out.
    columns : ndarray of shape (n_centers,)
        Sums of K over the rows that are fitted to.
    """

    counts: Array
    products: Array
    residuals: Array
    errors: Array
    columns: Array


@dataclass(frozen=True)
class ColumnProducts:
    """The statistic of residuals of linear functions of a kernel's values at centers.

    Parameters
    ----------
    columns : KernelColumns
    encoding : TargetEncoding
    coefficients : ndarray of shape (n_centers, n_functions)
    intercepts : ndarray of shape (n_functions,)
    outputs : ndarray of int of shape (n_functions,)
        The output whose values each function predicts; -1 for functions whose residuals are their
        own values, with the other sign.
    held_out : int
        The fold that is not fitted to, of `n_folds`; -1 if none.
    n_folds : int, default=5
    seed : int, default=0

    Notes
    -----
    O(n m (d + q)) operations for n rows of d features, m centers and q functions; memory for some
    tiles of the kernel's values and m x q numbers.
    """

    columns: KernelColumns
    encoding: TargetEncoding
    coefficients: Array
    intercepts: Array
    outputs: Array
    held_out: int
    n_folds: int = 5
    seed: int = 0

    def start(self) -> ResidualSums:
        """Sums over no rows."""
        m, q = self.coefficients.shape
        return ResidualSums(np.zeros(2), np.zeros((m, q)), np.zeros(q), np.zeros(q), np.zeros(m))

    def add(self, state: ResidualSums, block: Block) -> ResidualSums:
        """Add the rows of a block to a state, which is changed.

        Parameters
        ----------
        state : ResidualSums
        block : Block
            With targets.
        """
        assert block.y is not None
        values = self.encoding.encode(to_numpy(block.y))
        targets = np.where(self.outputs >= 0, values[:, self.outputs], 0.0)
        folds = row_folds(self.seed, block.start, block.n_rows, self.n_folds)
        weights = np.ones(block.n_rows) if block.weights is None else block.weights
        fitted = np.where(folds != self.held_out, weights, 0.0)
        held_out = weights - fitted
        coefficients, intercepts = like(self.coefficients, block.X), like(self.intercepts, block.X)
        for rows in self.columns.tiles(block.n_rows):
            K, inside = self.columns(block.X[rows, :]), like(fitted[rows], block.X)
            residuals = like(targets[rows], K) - (K @ coefficients + intercepts)
            state.errors += to_numpy(like(held_out[rows], block.X) @ residuals**2)
            residuals = residuals * inside[:, None]
            state.products += to_numpy(K.T @ residuals)
            state.residuals += to_numpy(residuals).sum(axis=0)
            state.columns += to_numpy(inside @ K)
            state.counts += [fitted[rows].sum(), held_out[rows].sum()]
        return state

    def merge(self, first: ResidualSums, second: ResidualSums) -> ResidualSums:
        """Sums over the rows of two states.

        Parameters
        ----------
        first, second : ResidualSums
        """
        pairs = zip(vars(first).values(), vars(second).values(), strict=True)
        return ResidualSums(*(a + b for a, b in pairs))

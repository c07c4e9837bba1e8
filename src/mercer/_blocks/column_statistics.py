"""Counts, means, sums of squared deviations and ranges of columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from mercer._blocks.blocks import Block
from mercer._typing import Array


@dataclass(frozen=True)
class ColumnMoments:
    """Counts, means, sums of squared deviations and ranges of the columns of a table.

    Attributes
    ----------
    n_rows : int
    mean : ndarray of shape (n_columns,)
    mean_error : ndarray of shape (n_columns,)
        What rounding to double precision left out of the mean, so that means that are large
        compared with deviations cost no digits of these.
    squares : ndarray of shape (n_columns,)
        Sums of squared deviations from the mean.
    smallest, largest : ndarray of shape (n_columns,)
    """

    n_rows: int
    mean: Array
    mean_error: Array
    squares: Array
    smallest: Array
    largest: Array

    @property
    def variance(self) -> Array:
        """Variances of the columns, with n_rows as the divisor, shape (n_columns,)."""
        return self.squares / self.n_rows


@dataclass(frozen=True)
class ColumnStatistics:
    """The statistic whose state is the `ColumnMoments` of all rows, None before the first.

    Blocks are merged by the formulas of Chan, Golub and LeVeque (1979): with n = n1 + n2 and
    d = m2 - m1, the mean is m1 + d n2 / n and the sum of squares s1 + s2 + d^2 n1 n2 / n.

    Parameters
    ----------
    of_target : bool, default=False
        Whether the columns are those of y, the responses, rather than those of X.

    References
    ----------
    T. F. Chan, G. H. Golub, R. J. LeVeque (1979). Updating Formulae and a Pairwise Algorithm for
    Computing Sample Variances. Technical report 773, Yale University.
    """

    of_target: bool = False

    def start(self) -> ColumnMoments | None:
        """Return the state of no rows."""
        return None

    def add(self, state: ColumnMoments | None, block: Block) -> ColumnMoments | None:
        """Return the state with a block's rows added; O(n_rows n_columns) operations.

        Parameters
        ----------
        state : ColumnMoments or None
        block : Block
        """
        if block.n_rows == 0:
            return state
        if not self.of_target:
            return self.merge(state, _moments(block.X))
        if block.y is None:
            raise ValueError("The source has no target.")
        return self.merge(state, _moments(block.y.reshape(block.n_rows, -1)))

    def merge(
        self, first: ColumnMoments | None, second: ColumnMoments | None
    ) -> ColumnMoments | None:
        """Return the state of two sets of rows.

        Parameters
        ----------
        first, second : ColumnMoments or None
        """
        if first is None or second is None:
            return second if first is None else first
        n_rows = first.n_rows + second.n_rows
        share = second.n_rows / n_rows
        difference = (second.mean - first.mean) + (second.mean_error - first.mean_error)
        return ColumnMoments(
            n_rows,
            *_exact_sum(first.mean, first.mean_error + difference * share),
            first.squares + second.squares + difference**2 * (first.n_rows * share),
            np.minimum(first.smallest, second.smallest),
            np.maximum(first.largest, second.largest),
        )


def _moments(X: Array) -> ColumnMoments:
    n_rows = int(X.shape[0])
    if issparse(X):
        mean, variance = mean_variance_axis(X.astype(np.float64, copy=False), axis=0)
        ranges = min_max_axis(X, axis=0)
        return ColumnMoments(n_rows, mean, np.zeros_like(mean), variance * n_rows, *ranges)
    mean = X.mean(axis=0, dtype=np.float64)
    deviations = X - mean
    error = deviations.mean(axis=0)
    squares = np.einsum("ij,ij->j", deviations, deviations) - n_rows * error**2
    squares = np.maximum(squares, 0.0)
    return ColumnMoments(n_rows, *_exact_sum(mean, error), squares, X.min(axis=0), X.max(axis=0))


def _exact_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the rounded sum and its rounding error (Knuth's TwoSum)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)

"""Sums over rows from which ridge regressions on Nyström features are solved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from mercer._blocks import UNIT_WEIGHTS, Block, RowWeights, row_folds
from mercer._gram.tiles import working_memory
from mercer._model_selection.encoded_target import TargetEncoding
from mercer._nystroem.features import NystroemFeatures
from mercer._typing import Array


@dataclass
class Moments:
    """Sums over some rows of summands Z, which are features or kernel values, and targets Y.

    Attributes
    ----------
    count : float
        Number of rows, or of weighted rows the sum of their weights; all other sums are weighted.
    features, values : ndarray of shape (n_summands,) and (n_outputs,)
        Sums.
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
        """Sums over no rows, of m summands and k outputs."""
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
        """Sums over the rows of both, or with sign -1 over those of this one alone."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Moments(*(mine + sign * theirs for mine, theirs in pairs))

    def mapped(self, matrix: Array) -> Moments:
        """The same sums of Z times a matrix and Y."""
        return Moments(
            self.count,
            matrix.T @ self.features,
            self.values,
            matrix.T @ (self.gram @ matrix),
            matrix.T @ self.cross,
            self.squares,
        )

    def means(self) -> tuple[Array, Array]:
        """Means of Z and Y."""
        return self.features / self.count, self.values / self.count

    def centered(self, features: Array, values: Array) -> Moments:
        """The same sums of Z and Y less constants."""
        n, s, t = self.count, self.features, self.values
        gram = self.gram - np.outer(s, features)
        gram -= np.outer(features, s - n * features)
        cross = self.cross - np.outer(s, values) - np.outer(features, t)
        cross += n * np.outer(features, values)
        squares = self.squares - 2.0 * t * values + n * values**2
        return Moments(n, s - n * features, t - n * values, gram, cross, squares)

    def squared_errors(self, coefficients: Array) -> Array:
        """Sums of squares of Y - Z w, shape (n_alphas, n_outputs).

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
    """The statistic that ridge regression and its cross-validation depend on: moments of folds.

    Parameters
    ----------
    features : NystroemFeatures
    encoding : TargetEncoding
    weights : RowWeights, default=UNIT_WEIGHTS
    seed : int, default=0
        Of the assignment of rows to folds.

    Notes
    -----
    O(m^2) operations for each row and m centers. A state holds an m x m matrix for each fold.

    If the kernel's Gram matrix at the centers is well conditioned, its values are accumulated and
    their sums whitened in the end, which takes half the time; see
    :attr:`NystroemFeatures.whitens_rows`.
    """

    features: NystroemFeatures
    encoding: TargetEncoding
    weights: RowWeights = UNIT_WEIGHTS
    seed: int = 0

    @property
    def n_folds(self) -> int:
        """Five, or as many, at least two, that two states fit scikit-learn's `working_memory`."""
        return int(np.clip(working_memory() // (16 * self.features.n_summands**2 or 1), 2, 5))

    def start(self) -> list[Moments]:
        """Sums over no rows, for each fold."""
        m, k = self.features.n_summands, self.encoding.n_outputs
        return [Moments.zero(m, k) for _ in range(self.n_folds)]

    def add(self, state: list[Moments], block: Block) -> list[Moments]:
        """Add the rows of a block to a state, which is changed.

        Parameters
        ----------
        state : list of Moments
        block : Block
            With targets.

        Raises
        ------
        ValueError
            If a label is none of the classes, or the kernel has values that are not finite.
        """
        assert block.y is not None
        Y, roots = self.encoding.encode(block.y), np.sqrt(self.weights.of(block.y, block.positions))
        folds = row_folds(self.seed, block.start, block.n_rows, self.n_folds)
        for fold, rows in fold_tiles(folds):
            state[fold].add(self.features.summands(block.X[rows]), Y[rows], roots[rows])
        if not all(np.isfinite(part.features).all() for part in state):
            kernel = self.features.columns.kernel
            raise ValueError(f"Kernel returned NaN or infinity: {kernel.describe()}.")
        return state

    def merge(self, first: list[Moments], second: list[Moments]) -> list[Moments]:
        """Sums over the rows of two states.

        Parameters
        ----------
        first, second : list of Moments
        """
        return [a.plus(b) for a, b in zip(first, second, strict=True)]


def fold_tiles(folds: Array, n_rows: int = 2048) -> Iterator[tuple[int, Array]]:
    """Fold and row indices of tiles, each of rows of one fold.

    Parameters
    ----------
    folds : ndarray of int of shape (n_rows,)
    n_rows : int, default=2048
        Largest number of rows of a tile.
    """
    order = np.argsort(folds, kind="stable")
    ends = np.searchsorted(folds[order], np.arange(folds.max(initial=0) + 2))
    for fold, (first, last) in enumerate(pairwise(ends)):
        for start in range(first, last, n_rows):
            yield fold, order[start : min(start + n_rows, last)]

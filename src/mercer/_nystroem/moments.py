"""Sums over rows of products of features and targets, on which ridge regression depends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from mercer._blocks.blocks import Block
from mercer._blocks.listed_folds import ListedFolds
from mercer._blocks.row_sample import row_folds
from mercer._data.encoded_targets import TargetEncoding
from mercer._data.types import Array
from mercer._data.weights import SampleWeights, UnitWeights
from mercer._gram.memory import working_memory
from mercer._nystroem.features import NystroemFeatures


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
        """Add rows in place, given the square roots of their weights.

        Products of these rows are computed in the precision of `Z`, and added to sums in double
        precision.
        """
        weighs = np.any(roots != 1.0)
        self.count += float(roots @ roots)
        if weighs:
            Y = roots[:, None] * Y
        self.values += roots @ Y
        self.squares += np.sum(Y * Y, axis=0)
        roots = roots.astype(Z.dtype, copy=False)
        if weighs:
            Z = roots[:, None] * Z
        self.features += roots @ Z
        self.gram += Z.T @ Z
        self.cross += Z.T @ Y.astype(Z.dtype, copy=False)

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
        """Return sums over the rows of two states."""
        return [a.plus(b) for a, b in zip(first, second, strict=True)]

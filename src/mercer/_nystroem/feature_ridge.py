"""Ridge regression on Nyström features from sums over rows, with a cross-validated penalty."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np

from mercer._blocks import UNIT_WEIGHTS, Block, RowWeights, row_folds
from mercer._gram.tiles import map_tiles, serial_algebra, working_memory
from mercer._model_selection.encoded_target import TargetEncoding
from mercer._nystroem.features import NystroemFeatures
from mercer._typing import Array

_ALPHAS = 10.0 ** np.arange(-6.0, 4.0)
"""Penalties that are compared first, for features of unit scale."""

_TOLERANCE = 1e-6
"""Conjugate gradients end when the preconditioned gradient is this fraction of that at zero."""

_SERIAL_RANK = 2000
"""Eigendecompositions of at most this size are no faster in several threads, which cost a multiple
of the time where other processes compute, too (benchmarks/large.py, one_kernel)."""


@dataclass(frozen=True)
class LinearFit:
    """A linear function of a kernel's values at centers.

    Attributes
    ----------
    coefficients : ndarray of shape (n_centers, n_outputs)
    intercept : ndarray of shape (n_outputs,)
    """

    coefficients: Array
    intercept: Array

    def predict(self, columns: Array) -> Array:
        """Predictions from kernel values, shape (n_rows, n_outputs).

        Parameters
        ----------
        columns : ndarray of shape (n_rows, n_centers)
            The kernel's values less their means at the centers.
        """
        return columns @ self.coefficients + self.intercept


@dataclass(frozen=True)
class RidgeChoice:
    """Ridge regression at the penalty that cross-validation prefers.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        Penalties that were compared, ascending.
    losses : ndarray of shape (n_alphas,)
        Their mean squared errors out of fold, relative to those of the training folds' means.
    alpha : float
        The penalty of the lowest loss, the largest among equal ones.
    fit : LinearFit
        To all rows.
    fold_fits : list of LinearFit or None
        Without each fold; None for folds that have no rows, or all.
    """

    alphas: Array
    losses: Array
    alpha: float
    fit: LinearFit
    fold_fits: list[LinearFit | None]


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


class _Path:
    """Ridge regression with an intercept at every penalty, from one eigendecomposition.

    Parameters
    ----------
    rows : Moments
        Of summands.
    features : NystroemFeatures

    Attributes
    ----------
    count : float
        Number of rows.
    means : tuple of ndarray
        Means of summands and targets.
    basis : ndarray of shape (n_summands, rank)
        What turns summands into features with uncorrelated products.
    values : ndarray of shape (rank,)
        These features' sums of squares.
    """

    def __init__(self, rows: Moments, features: NystroemFeatures) -> None:
        self.count, self.means, self.features = rows.count, rows.means(), features
        whitening = None if features.whitens_rows else features.whitening
        centered = rows.centered(*self.means)
        whitened = centered if whitening is None else centered.mapped(whitening)
        values, vectors = np.linalg.eigh(whitened.gram)
        self.values = np.maximum(values, 0.0)
        self.basis = vectors if whitening is None else whitening @ vectors
        self._projected = vectors.T @ whitened.cross

    def solve(self, alphas: Array) -> Array:
        """Coefficients of summands, shape (n_alphas, n_summands, n_outputs)."""
        solved = self._projected / (self.values + alphas[:, None])[:, :, None]
        return np.asarray(self.basis @ solved)


class _PartPath:
    """The same without the rows of a fold, by conjugate gradients.

    They are preconditioned by the eigendecomposition for all rows, so that a few steps are enough.
    Where they take longer than an eigendecomposition, there is one.
    """

    def __init__(self, rows: Moments, held_out: Moments, whole: _Path) -> None:
        self._rows, self._whole, self.means = rows, whole, rows.means()
        self._held_out, self._centered = (p.centered(*self.means) for p in (held_out, rows))

    def errors(self, alphas: Array) -> Array:
        """Sums of squared errors on the held-out rows, shape (n_alphas + 1, n_outputs).

        The last row is the error of the mean.
        """
        errors = self._held_out.squared_errors(self.solve(alphas))
        return np.vstack([errors, self._held_out.squares])

    def solve(self, alphas: Array) -> Array:
        """Coefficients of summands, shape (n_alphas, n_summands, n_outputs)."""
        gram, cross, basis = self._centered.gram, self._centered.cross, self._whole.basis
        shifts = np.repeat(alphas, cross.shape[1])
        inverse = 1.0 / (
            self._rows.count / self._whole.count * self._whole.values[:, None] + shifts
        )
        residual: Array = np.tile(basis.T @ cross, (1, alphas.size))
        solution = np.zeros_like(residual)
        direction = conditioned = inverse * residual
        power = np.einsum("ij,ij->j", residual, conditioned)
        limit = _TOLERANCE**2 * power
        # A step takes some 6 r^2 operations for each column, an eigendecomposition 9 r^3.
        for _ in range(len(residual) // max(len(shifts), 1)):
            active = power > limit
            if not active.any():
                solved = (basis @ solution).reshape(-1, alphas.size, cross.shape[1])
                return solved.transpose(1, 0, 2)
            image = basis.T @ (gram @ (basis @ direction)) + shifts * direction
            curvature = np.einsum("ij,ij->j", direction, image)
            step = np.divide(power, curvature, out=np.zeros_like(power), where=active)
            solution += step * direction
            residual -= step * image
            conditioned = inverse * residual
            before, power = power, np.einsum("ij,ij->j", residual, conditioned)
            direction = conditioned + direction * np.divide(
                power, before, out=np.zeros_like(power), where=active
            )
        return self._decomposed.solve(alphas)

    @cached_property
    def _decomposed(self) -> _Path:
        return _Path(self._rows, self._whole.features)


def ridge_on_features(
    parts: list[Moments],
    features: NystroemFeatures,
    alphas: Array | None = None,
    *,
    mean_weight: float = 1.0,
) -> RidgeChoice:
    """Fit ridge regression with an intercept, at the penalty of least error out of fold.

    Parameters
    ----------
    parts : list of Moments
        Of each fold.
    features : NystroemFeatures
        The features that were summed.
    alphas : ndarray of shape (n_alphas,), default=None
        Penalties, positive. If None, powers of ten from 1e-6 to 1e3 times the mean weight, and then
        six around the best of these.
    mean_weight : float, default=1.0
        Mean weight of the rows.

    Returns
    -------
    RidgeChoice

    Raises
    ------
    ValueError
        If there are no rows, or a penalty is not positive.

    Notes
    -----
    The error of a fit on held-out rows is a quadratic function of its coefficients, whose terms are
    the fold's sums: no row is needed. One eigendecomposition for all rows, O(r^3) for features of
    rank r, serves every penalty, and preconditions conjugate gradients for the folds. Folds without
    rows, or with all of them, are left out; where none remains, the largest penalty is taken.
    """
    grid = mean_weight * _ALPHAS if alphas is None else np.unique(np.asarray(alphas, dtype=float))
    if not (grid.size and np.all(grid > 0.0) and np.isfinite(grid).all()):
        raise ValueError(f"alphas must be positive and finite; got {alphas!r}.")
    total = parts[0]
    for part in parts[1:]:
        total = total.plus(part)
    if total.count == 0.0:
        raise ValueError("There are no rows to fit to.")
    with serial_algebra() if len(total.gram) <= _SERIAL_RANK else nullcontext():
        whole = _Path(total, features)
    paths = {
        fold: _PartPath(total.plus(part, -1.0), part, whole)
        for fold, part in enumerate(parts)
        if 0.0 < part.count < total.count
    }
    losses = _losses(list(paths.values()), grid)
    alpha = _best(grid, losses)
    if alphas is None and paths:
        finer = alpha * 10.0 ** (np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0]) / 4.0)
        grid, losses = np.append(grid, finer), np.append(losses, _losses([*paths.values()], finer))
        grid, losses = grid[order := np.argsort(grid)], losses[order]
        alpha = _best(grid, losses)
    fits = [_fit(paths[f], alpha, features) if f in paths else None for f in range(len(parts))]
    return RidgeChoice(grid, losses, alpha, _fit(whole, alpha, features), fits)


def _fit(path: _Path | _PartPath, alpha: float, features: NystroemFeatures) -> LinearFit:
    """The fit at one penalty, as a function of kernel values."""
    solved = path.solve(np.array([alpha]))[0]
    means, values = path.means
    coefficients = features.whitening @ solved if features.whitens_rows else solved
    return LinearFit(coefficients, values - means @ solved)


def _losses(paths: list[_PartPath], alphas: Array) -> Array:
    """Squared errors out of fold, relative to those of the means; the mean over outputs."""
    if not paths:
        return np.ones(alphas.size)
    total = np.sum(list(map_tiles(lambda path: path.errors(alphas), paths)), axis=0)
    own, baseline = total[:-1], total[-1]
    ratios = np.divide(own, baseline, out=np.ones_like(own), where=baseline > 0.0)
    return np.asarray(ratios.mean(axis=1))


def _best(alphas: Array, losses: Array) -> float:
    """The penalty of lowest loss, the largest among equal ones; penalties ascend."""
    return float(alphas[alphas.size - 1 - int(np.argmin(losses[::-1]))])

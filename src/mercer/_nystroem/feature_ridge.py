"""Ridge regression on Nyström features, with a penalty chosen by cross-validation."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._gram.tiles import map_tiles, serial_algebra
from mercer._nystroem.array_libraries import like
from mercer._nystroem.normal_equations import FoldSums
from mercer._nystroem.nystroem_features import NystroemFeatures
from mercer._typing import Array

ALPHAS: Array = 10.0 ** np.arange(-6.0, 4.0)
"""Penalties that are compared first, for features of unit scale."""

_FINER: Array = 10.0 ** np.array([-0.75, -0.5, -0.25, 0.25, 0.5, 0.75])
"""Then the best one is multiplied by these."""

_MOST_COLUMNS = 100
"""For more penalties times outputs, eigendecompositions take less time than conjugate gradients."""

_MOST_STEPS = 25
"""As many steps as an eigendecomposition takes time."""

_SERIAL_RANK = 2000
"""Eigendecompositions of at most this size are no faster in several threads, which cost a multiple
of the time where other processes compute, too."""

_TOLERANCE = 1e-6
"""Steps end when the preconditioned gradient is this fraction of that at zero."""


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

    def predict(self, columns: Any) -> Any:
        """Predictions from kernel values, shape (n_rows, n_outputs), of the same library.

        Parameters
        ----------
        columns : array of shape (n_rows, n_centers)
            The kernel's values less their means at the centers.
        """
        return columns @ like(self.coefficients, columns) + like(self.intercept, columns)


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


@dataclass(frozen=True)
class _Moments:
    """Sums over some rows of summands Z, which are features or kernel values, and targets Y.

    Attributes
    ----------
    count : float
        Number of rows, or of weighted rows the sum of their weights.
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

    def plus(self, other: _Moments, sign: float = 1.0) -> _Moments:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return _Moments(*(mine + sign * theirs for mine, theirs in pairs))

    def mapped(self, matrix: Array) -> _Moments:
        """The same sums of Z times a matrix and Y."""
        return _Moments(
            self.count,
            matrix.T @ self.features,
            self.values,
            matrix.T @ (self.gram @ matrix),
            matrix.T @ self.cross,
            self.squares,
        )

    def means(self) -> tuple[Array, Array]:
        return self.features / self.count, self.values / self.count

    def centered(self, features: Array, values: Array) -> _Moments:
        """The same sums of Z and Y less constants."""
        n, s, t = self.count, self.features, self.values
        gram = self.gram - np.outer(s, features)
        gram -= np.outer(features, s - n * features)
        cross = self.cross - np.outer(s, values) - np.outer(features, t)
        cross += n * np.outer(features, values)
        squares = self.squares - 2.0 * t * values + n * values**2
        return _Moments(n, s - n * features, t - n * values, gram, cross, squares)

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


class _Path:
    """Ridge regression with an intercept at every penalty, from one eigendecomposition.

    Parameters
    ----------
    rows : _Moments
        Of summands.
    remaining : ndarray of shape (n_summands, rank), or None
        What turns summands into features; None if they are features.

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

    def __init__(self, rows: _Moments, remaining: Array | None) -> None:
        self.count, self.means, self.remaining = rows.count, rows.means(), remaining
        centered = rows.centered(*self.means)
        whitened = centered if remaining is None else centered.mapped(remaining)
        values, vectors = np.linalg.eigh(whitened.gram)
        self.values = np.maximum(values, 0.0)
        self.basis = vectors if remaining is None else remaining @ vectors
        self._projected = vectors.T @ whitened.cross

    def solve(self, alphas: Array) -> Array:
        """Coefficients of summands, shape (n_alphas, n_summands, n_outputs)."""
        solved = self._projected / (self.values + alphas[:, None])[:, :, None]
        return np.asarray(self.basis @ solved)


class _PartPath:
    """The same on a part of the rows, by conjugate gradients.

    They are preconditioned by the eigendecomposition for all rows, so that a few steps are enough.
    If they are not, the part has an eigendecomposition of its own.
    """

    def __init__(self, whole: _Path, rows: _Moments, held_out: _Moments) -> None:
        self._whole, self._rows, self.means = whole, rows, rows.means()
        self._held_out = held_out.centered(*self.means)
        self._centered = rows.centered(*self.means)
        self._own: _Path | None = None

    def solve(self, alphas: Array) -> Array:
        """Coefficients of summands, shape (n_alphas, n_summands, n_outputs)."""
        k = self._centered.cross.shape[1]
        solved = None
        if self._own is None and alphas.size * k <= _MOST_COLUMNS:
            solved = self._iterated(alphas)
        if solved is None:
            self._own = self._own or _Path(self._rows, self._whole.remaining)
            return self._own.solve(alphas)
        return (self._whole.basis @ solved).reshape(-1, alphas.size, k).transpose(1, 0, 2)

    def errors(self, alphas: Array) -> Array:
        """Sums of squared errors on the held-out rows, shape (n_alphas + 1, n_outputs).

        The last row is the error of the mean.
        """
        errors = self._held_out.squared_errors(self.solve(alphas))
        return np.vstack([errors, self._held_out.squares])

    def _iterated(self, alphas: Array) -> Array | None:
        """Coefficients in the basis of all rows, shape (rank, n_columns); None if not found.

        A column for each penalty and output.
        """
        gram, basis = self._centered.gram, self._whole.basis
        shifts = np.repeat(alphas, self._centered.cross.shape[1])
        share = self._rows.count / self._whole.count
        inverse = 1.0 / (share * self._whole.values[:, None] + shifts)
        residual: Array = np.tile(basis.T @ self._centered.cross, (1, alphas.size))
        solution = np.zeros_like(residual)
        direction = conditioned = inverse * residual
        power = np.einsum("ij,ij->j", residual, conditioned)
        limit = _TOLERANCE**2 * power
        for _ in range(_MOST_STEPS):
            active = power > limit
            if not active.any():
                return solution
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
        return None


def _fit(path: _Path | _PartPath, alpha: float, features: NystroemFeatures) -> LinearFit:
    """The fit at one penalty, as a function of kernel values."""
    solved = path.solve(np.array([alpha]))[0]
    means, values = path.means
    coefficients = features.whitening @ solved if features.whitens_rows else solved
    return LinearFit(coefficients, values - means @ solved)


def ridge_on_features(
    sums: FoldSums,
    features: NystroemFeatures,
    alphas: Array | None = None,
    *,
    mean_weight: float = 1.0,
) -> RidgeChoice:
    """Fit ridge regression with an intercept, at the penalty of least error out of fold.

    Parameters
    ----------
    sums : FoldSums
        As arrays of NumPy.
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
    grid = mean_weight * ALPHAS if alphas is None else np.unique(np.asarray(alphas, dtype=float))
    if not (grid.size and np.all(grid > 0.0) and np.isfinite(grid).all()):
        raise ValueError(f"alphas must be positive and finite; got {alphas!r}.")
    parts = _moments(sums)
    total = parts[0]
    for part in parts[1:]:
        total = total.plus(part)
    if total.count == 0.0:
        raise ValueError("There are no rows to fit to.")
    used = [f for f, part in enumerate(parts) if 0.0 < part.count < total.count]
    with serial_algebra() if len(total.gram) <= _SERIAL_RANK else nullcontext():
        whole = _Path(total, features.remaining)
    paths = {f: _PartPath(whole, total.plus(parts[f], -1.0), parts[f]) for f in used}
    losses = _losses(list(paths.values()), grid)
    alpha = _best(grid, losses)
    if alphas is None and paths:
        finer = alpha * _FINER
        grid, losses = np.append(grid, finer), np.append(losses, _losses([*paths.values()], finer))
        grid, losses = grid[order := np.argsort(grid)], losses[order]
        alpha = _best(grid, losses)
    fits = [_fit(paths[f], alpha, features) if f in paths else None for f in range(len(parts))]
    return RidgeChoice(grid, losses, alpha, _fit(whole, alpha, features), fits)


def _moments(sums: FoldSums) -> list[_Moments]:
    """Each fold's sums."""
    folds = zip(*vars(sums).values(), strict=True)
    return [_Moments(float(count), *others) for count, *others in folds]


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

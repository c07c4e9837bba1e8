"""Ridge regression on Nyström features, with a penalty chosen by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._gram.tiles import map_tiles
from mercer._nystroem.array_libraries import like
from mercer._nystroem.normal_equations import FoldSums
from mercer._nystroem.nystroem_features import NystroemFeatures
from mercer._typing import Array

ALPHAS: Array = 10.0 ** np.arange(-6.0, 3.25, 0.25)
"""Penalties that are compared, for features of unit scale."""

_MOST_COLUMNS = 200
"""For more penalties times outputs, eigendecompositions take less time than conjugate gradients."""

_MOST_STEPS = 25
"""As many steps as an eigendecomposition takes time."""

_TOLERANCE = 1e-7
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
    """Sums over some rows of whitened features Z and targets Y.

    Attributes
    ----------
    count : float
    features, values : ndarray of shape (rank,) and (n_outputs,)
        Sums.
    gram, cross, squares : ndarray of shape (rank, rank), (rank, n_outputs) and (n_outputs,)
        Z'Z, Z'Y, and the sums of squared targets.
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
        sums = np.outer(s, features)
        gram = self.gram - sums - sums.T + n * np.outer(features, features)
        cross = self.cross - np.outer(s, values) - np.outer(features, t)
        cross += n * np.outer(features, values)
        squares = self.squares - 2.0 * t * values + n * values**2
        return _Moments(n, s - n * features, t - n * values, gram, cross, squares)

    def squared_errors(self, coefficients: Array) -> Array:
        """Sums of squares of Y - Z w, shape (n_alphas, n_outputs).

        Parameters
        ----------
        coefficients : ndarray of shape (n_alphas, rank, n_outputs)
        """
        a, r, k = coefficients.shape
        fitted = (self.gram @ coefficients.transpose(1, 0, 2).reshape(r, a * k)).reshape(r, a, k)
        fitted -= 2.0 * self.cross[:, None, :]
        error = self.squares + np.einsum("ark,rak->ak", coefficients, fitted)
        return np.maximum(error, 0.0)


class _Path:
    """Ridge regression with an intercept at every penalty, from one eigendecomposition.

    Attributes
    ----------
    count : float
        Number of rows.
    means : tuple of ndarray
        Means of features and targets.
    """

    def __init__(self, rows: _Moments) -> None:
        self.count, self.means = rows.count, rows.means()
        centered = rows.centered(*self.means)
        values, self._vectors = np.linalg.eigh(centered.gram)
        self._values = np.maximum(values, 0.0)
        self._projected = self._vectors.T @ centered.cross

    def solve(self, alphas: Array) -> Array:
        """Coefficients, shape (n_alphas, rank, n_outputs)."""
        return np.asarray(
            self._vectors @ (self._projected / (self._values + alphas[:, None])[:, :, None])
        )

    def inverse(self, right: Array, shifts: Array, share: float) -> Array:
        """Solutions of (share A + shift I) x = b, for a shift for each column b.

        Parameters
        ----------
        right : ndarray of shape (rank, n_columns)
        shifts : ndarray of shape (n_columns,)
        share : float
        """
        scale = share * self._values[:, None] + shifts
        return np.asarray(self._vectors @ ((self._vectors.T @ right) / scale))


class _PartPath:
    """The same on a part of the rows, by conjugate gradients.

    They are preconditioned by the eigendecomposition for all rows, so that a few steps are enough.
    If they are not, the part has an eigendecomposition of its own.
    """

    def __init__(self, whole: _Path, rows: _Moments, held_out: _Moments) -> None:
        self._rows, self.means = rows, rows.means()
        self._centered = rows.centered(*self.means)
        self._held_out = held_out.centered(*self.means)
        self._whole, self._share = whole, rows.count / whole.count

    def solve(self, alphas: Array) -> Array:
        """Coefficients, shape (n_alphas, rank, n_outputs)."""
        r, k = self._centered.cross.shape
        if alphas.size * k > _MOST_COLUMNS or (solution := self._iterated(alphas)) is None:
            return _Path(self._rows).solve(alphas)
        return solution.reshape(r, alphas.size, k).transpose(1, 0, 2)

    def errors(self, alphas: Array) -> Array:
        """Sums of squared errors on the held-out rows, shape (n_alphas + 1, n_outputs).

        The last row is the error of the mean.
        """
        errors = self._held_out.squared_errors(self.solve(alphas))
        return np.vstack([errors, self._held_out.squares])

    def _iterated(self, alphas: Array) -> Array | None:
        """Coefficients of all penalties and outputs, shape (rank, n_columns); None if not found."""
        gram, cross = self._centered.gram, self._centered.cross
        shifts = np.repeat(alphas, cross.shape[1])
        residual: Array = np.tile(cross, (1, alphas.size))
        solution = np.zeros_like(residual)
        direction = conditioned = self._whole.inverse(residual, shifts, self._share)
        power = np.einsum("ij,ij->j", residual, conditioned)
        limit = _TOLERANCE**2 * power
        for _ in range(_MOST_STEPS):
            active = power > limit
            if not active.any():
                return solution
            image = gram @ direction + shifts * direction
            curvature = np.einsum("ij,ij->j", direction, image)
            step = np.divide(power, curvature, out=np.zeros_like(power), where=active)
            solution += step * direction
            residual -= step * image
            conditioned = self._whole.inverse(residual, shifts, self._share)
            before, power = power, np.einsum("ij,ij->j", residual, conditioned)
            direction = conditioned + direction * np.divide(
                power, before, out=np.zeros_like(power), where=active
            )
        return None


def _fit(path: _Path | _PartPath, alpha: float, whitening: Array) -> LinearFit:
    """The fit at one penalty, as a function of kernel values."""
    solved = path.solve(np.array([alpha]))[0]
    features, values = path.means
    return LinearFit(whitening @ solved, values - features @ solved)


def ridge_on_features(
    sums: FoldSums, features: NystroemFeatures, alphas: Array | None = None
) -> RidgeChoice:
    """Fit ridge regression with an intercept, at the penalty of least error out of fold.

    Parameters
    ----------
    sums : FoldSums
        As arrays of NumPy.
    features : NystroemFeatures
        The features that were summed.
    alphas : ndarray of shape (n_alphas,), default=None
        Penalties, positive. If None, 37 of them from 1e-6 to 1e3.

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
    grid = ALPHAS if alphas is None else np.unique(np.asarray(alphas, dtype=float))
    if not (grid.size and np.all(grid > 0.0) and np.isfinite(grid).all()):
        raise ValueError(f"alphas must be positive and finite; got {alphas!r}.")
    parts = _moments(sums, features.remaining)
    total = parts[0]
    for part in parts[1:]:
        total = total.plus(part)
    if total.count == 0.0:
        raise ValueError("There are no rows to fit to.")
    used = [f for f, part in enumerate(parts) if 0.0 < part.count < total.count]
    whole, whitening = _Path(total), features.whitening
    paths = {f: _PartPath(whole, total.plus(parts[f], -1.0), parts[f]) for f in used}
    errors = list(map_tiles(lambda path: path.errors(grid), list(paths.values())))
    losses = _losses(errors, grid.size)
    # The largest penalty among equal ones.
    alpha = float(grid[grid.size - 1 - int(np.argmin(losses[::-1]))])
    fits = [_fit(paths[f], alpha, whitening) if f in paths else None for f in range(len(parts))]
    return RidgeChoice(grid, losses, alpha, _fit(whole, alpha, whitening), fits)


def _moments(sums: FoldSums, whitening: Array | None) -> list[_Moments]:
    """Each fold's sums, of whitened features."""

    def of_fold(fold: int) -> _Moments:
        kept = [getattr(sums, name)[fold] for name in vars(sums)]
        found = _Moments(float(kept[0]), *kept[1:])
        return found if whitening is None else found.mapped(whitening)

    return list(map_tiles(of_fold, range(len(sums.counts))))


def _losses(errors: list[Array], n_alphas: int) -> Array:
    """Squared errors out of fold, relative to those of the means; the mean over outputs."""
    if not errors:
        return np.ones(n_alphas)
    total = np.sum(errors, axis=0)
    own, baseline = total[:-1], total[-1]
    ratios = np.divide(own, baseline, out=np.ones_like(own), where=baseline > 0.0)
    return np.asarray(ratios.mean(axis=1))

"""Ridge regression on Nyström features from sums over rows, with a cross-validated penalty."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TypeAlias

import numpy as np
import scipy.linalg

from mercer._blocks.listed_folds import FoldParts, ListedFolds, parts_in_turn
from mercer._gram.tiles import map_tiles, serial_algebra
from mercer._nystroem.features import Moments, NystroemFeatures
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
    mean : ndarray of shape (n_outputs,)
        Of the targets that it was fitted to.
    """

    coefficients: Array
    intercept: Array
    mean: Array

    def predict(self, columns: Array) -> Array:
        """Predictions from kernel values, shape (n_rows, n_outputs).

        Parameters
        ----------
        columns : ndarray of shape (n_rows, n_centers)
            The kernel's values less their means at the centers.
        """
        return columns @ self.coefficients + self.intercept


ScoresOf: TypeAlias = Callable[[list["LinearFit | None"], Array], Array]
"""From fits without each fold, whose outputs are those of the penalties side by side, and penalties
to a score of each, NaN where there is none."""


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
        The penalty of the lowest loss, or of the highest score, the largest among equal ones.
    fit : LinearFit
        To all rows.
    fold_fits : list of LinearFit or None
        Without each fold; None for folds that have no rows, or all. Empty where all rows are
        centers, whose predictions out of fold are known.
    scores : ndarray of shape (n_alphas,), default=None
        Of predictions out of fold at each penalty, where these chose it.
    held_out_means : ndarray of shape (n_rows, n_outputs), default=None
        Of the targets that rows are predicted from out of fold, where all rows are centers.
    """

    alphas: Array
    losses: Array
    alpha: float
    fit: LinearFit
    fold_fits: list[LinearFit | None]
    scores: Array | None = None
    held_out_means: Array | None = None


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
        whitening = _remaining(features)
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
    """The same without the rows of a fold.

    Conjugate gradients are preconditioned by the eigendecomposition for all rows, so that a few
    steps are enough. Where they take longer than an eigendecomposition, there is one.
    """

    def __init__(self, rows: Moments, held_out: Moments, whole: _Path) -> None:
        self._rows, self._whole, self.means = rows, whole, rows.means()
        self._held_out, self._centered = (p.centered(*self.means) for p in (held_out, rows))

    def errors(self, coefficients: Array) -> Array:
        """Sums of squared errors on the held-out rows, shape (n_alphas + 1, n_outputs).

        The last row is the error of the mean. The coefficients are those of `solve`.
        """
        errors = self._held_out.squared_errors(coefficients)
        return np.vstack([errors, self._held_out.squares])

    def solve(self, alphas: Array) -> Array:
        """Coefficients of summands, shape (n_alphas, n_summands, n_outputs)."""
        if alphas.size > 1:
            return self._decomposed.solve(alphas)
        whitening = _remaining(self._whole.features)
        rows = self._centered if whitening is None else self._centered.mapped(whitening)
        gram = rows.gram + alphas[0] * np.eye(len(rows.gram))
        solved = scipy.linalg.solve(gram, rows.cross, assume_a="pos")
        return np.asarray(solved if whitening is None else whitening @ solved)[None]

    def solve_iteratively(self, alphas: Array) -> Array:
        """The same by conjugate gradients.

        They are exact to the gradient's tolerance, which says little of predictions where rows of
        other folds do not determine a direction that the fold's own rows have, and the penalty is
        small.
        """
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


Solve: TypeAlias = Callable[[_PartPath, Array], Array]
"""How the fits without a fold are found at some penalties."""


def _remaining(features: NystroemFeatures) -> Array | None:
    """What turns summands into features; None if they are."""
    return None if features.whitens_rows else features.whitening


def ridge_on_features(
    parts: list[Moments],
    features: NystroemFeatures,
    alphas: Array | None = None,
    *,
    mean_weight: float = 1.0,
    scores_of: ScoresOf | None = None,
    listed: ListedFolds | None = None,
) -> RidgeChoice:
    """Fit ridge regression with an intercept, at the penalty of least error out of fold.

    Parameters
    ----------
    parts : list of Moments
        Of each fold, or of each part of listed folds.
    features : NystroemFeatures
        The features that were summed.
    alphas : ndarray of shape (n_alphas,), default=None
        Penalties, positive. If None, powers of ten from 1e-6 to 1e3 times the mean weight, and then
        six around the best of these.
    mean_weight : float, default=1.0
        Mean weight of the rows.
    scores_of : callable, default=None
        From the fits without each fold to a score of each penalty; that of the best score is taken.
    listed : ListedFolds, default=None
        How folds are made of parts; by default each part is held out in turn.

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
    rank r, serves every penalty, and preconditions conjugate gradients for the folds. The fits
    without folds are exact at the penalty that is chosen; where their error is not that by
    conjugate gradients, all penalties are compared again by exact fits. Folds without rows, or with
    all of them, are left out; where none remains, the largest penalty is taken.
    """
    grid = mean_weight * _ALPHAS if alphas is None else np.unique(np.asarray(alphas, dtype=float))
    if not (grid.size and np.all(grid > 0.0) and np.isfinite(grid).all()):
        raise ValueError(f"alphas must be positive and finite; got {alphas!r}.")
    made_of = parts_in_turn(len(parts)) if listed is None else listed.folds
    total = _all_rows(parts, made_of)
    if total.count == 0.0:
        raise ValueError("There are no rows to fit to.")
    with serial_algebra() if len(total.gram) <= _SERIAL_RANK else nullcontext():
        whole = _Path(total, features)
    paths = _paths(parts, made_of, total, whole)
    folds = [path for path in paths if path is not None]
    compared = _compared(_PartPath.solve_iteratively, folds, grid, finer=alphas is None)
    alpha = best_penalty(*compared)
    solved = _solved(_PartPath.solve, folds, np.array([alpha]))
    exact, stated = _losses(folds, solved)[0], compared[1][compared[0] == alpha][0]
    if abs(stated - exact) > np.sqrt(_TOLERANCE) * exact:
        compared = _compared(_PartPath.solve, folds, grid, finer=alphas is None)
    grid, losses = compared
    scores = None
    if scores_of is not None and folds:
        found = _solved(_PartPath.solve, folds, grid)
        scores = scores_of(_fold_fits(paths, found, features), grid)
    best = best_penalty(grid, losses if scores is None else -scores)
    if best != alpha:
        solved = _solved(_PartPath.solve, folds, np.array([best]))
    fit = _fit(whole, whole.solve(np.array([best])), features)
    return RidgeChoice(grid, losses, best, fit, _fold_fits(paths, solved, features), scores)


def ridge_at(rows: Moments, features: NystroemFeatures, alpha: float) -> LinearFit:
    """Fit ridge regression with an intercept at one penalty.

    Parameters
    ----------
    rows : Moments
        Of all rows.
    features : NystroemFeatures
        The features that were summed.
    alpha : float
    """
    with serial_algebra() if len(rows.gram) <= _SERIAL_RANK else nullcontext():
        path = _Path(rows, features)
    return _fit(path, path.solve(np.array([alpha])), features)


def _fit(path: _Path | _PartPath, solved: Array, features: NystroemFeatures) -> LinearFit:
    """The fits at some penalties, side by side, as a function of kernel values."""
    means, values = path.means
    side_by_side = np.concatenate(list(solved), axis=1)
    coefficients = features.whitening @ side_by_side if features.whitens_rows else side_by_side
    mean = np.tile(values, len(solved))
    return LinearFit(coefficients, mean - means @ side_by_side, mean)


def _all_rows(parts: list[Moments], folds: Sequence[FoldParts]) -> Moments:
    """Sums over all rows, which are those that a fold trains on, and those that it does not."""
    numbers = np.union1d(folds[0].trained, folds[0].left_out)
    return reduce(Moments.plus, (parts[number] for number in numbers))


def _paths(
    parts: list[Moments], folds: Sequence[FoldParts], total: Moments, whole: _Path
) -> list[_PartPath | None]:
    """Ridge regression without the rows of each fold; None where these are none, or all."""
    found: list[_PartPath | None] = []
    for fold in folds:
        trained, left_out, held_out = (
            [parts[number] for number in numbers]
            for numbers in (fold.trained, fold.left_out, fold.held_out)
        )
        if not all(any(part.count for part in some) for some in (trained, held_out)):
            found.append(None)
            continue
        if len(left_out) <= len(trained):
            rows = total.plus(reduce(Moments.plus, left_out), -1.0)
        else:
            rows = reduce(Moments.plus, trained)
        found.append(_PartPath(rows, reduce(Moments.plus, held_out), whole))
    return found


def _fold_fits(
    paths: list[_PartPath | None], solved: list[Array], features: NystroemFeatures
) -> list[LinearFit | None]:
    """The fits without each fold; None for folds that have no rows, or all."""
    found = iter(solved)
    return [None if path is None else _fit(path, next(found), features) for path in paths]


def _solved(solve: Solve, paths: list[_PartPath], alphas: Array) -> list[Array]:
    """Coefficients without each fold."""
    return list(map_tiles(lambda path: solve(path, alphas), paths))


def _compared(
    solve: Solve, paths: list[_PartPath], grid: Array, *, finer: bool
) -> tuple[Array, Array]:
    """Penalties, with finer ones around the best where these are asked for, and their losses."""
    if not paths:
        return grid, np.ones(grid.size)
    losses = _losses(paths, _solved(solve, paths, grid))
    if not finer:
        return grid, losses
    more = best_penalty(grid, losses) * 10.0 ** (np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0]) / 4.0)
    order = np.argsort(alphas := np.append(grid, more))
    return alphas[order], np.append(losses, _losses(paths, _solved(solve, paths, more)))[order]


def _losses(paths: list[_PartPath], solved: list[Array]) -> Array:
    """Squared errors out of fold, relative to those of the means; the mean over outputs."""
    if not paths:
        return np.ones(1)
    total = np.sum([path.errors(own) for path, own in zip(paths, solved, strict=True)], axis=0)
    own, baseline = total[:-1], total[-1]
    ratios = np.divide(own, baseline, out=np.ones_like(own), where=baseline > 0.0)
    return np.asarray(ratios.mean(axis=1))


def best_penalty(alphas: Array, losses: Array) -> float:
    """The penalty of lowest loss, the largest among equal ones.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Ascending.
    losses : ndarray of shape (n_alphas,)
    """
    return float(alphas[alphas.size - 1 - int(np.argmin(losses[::-1]))])

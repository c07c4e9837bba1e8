"""Ridge regression on Nyström features from sums over rows, with a cross-validated penalty."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TypeAlias

import numpy as np
import scipy.linalg

from mercer._blocks.listed_folds import FoldParts, ListedFolds, parts_in_turn
from mercer._data.types import Array
from mercer._gram.tiles import map_tiles, serial_algebra
from mercer._nystroem.features import Moments, NystroemFeatures
from mercer._solvers.conjugate_gradients import conjugate_gradients

_ALPHAS = 10.0 ** np.arange(-6.0, 4.0)
"""Penalties that are compared first, for features of unit scale."""

_TOLERANCE = 1e-6
"""Conjugate gradients stop at this ratio of the preconditioned gradient to its initial value."""

_SERIAL_RANK = 2000
"""Eigendecompositions of at most this size are not faster in several threads, and take several
times as long if other processes run at the same time (benchmarks/large.py, one_kernel)."""


@dataclass(frozen=True)
class LinearFit:
    """A linear function of a kernel's values at centers.

    Attributes
    ----------
    coefficients : ndarray of shape (n_centers, n_outputs)
    intercept : ndarray of shape (n_outputs,)
    mean : ndarray of shape (n_outputs,)
        Mean of the targets of the fit.
    """

    coefficients: Array
    intercept: Array
    mean: Array

    def predict(self, columns: Array) -> Array:
        """Predict from kernel values, shape (n_rows, n_outputs).

        Parameters
        ----------
        columns : ndarray of shape (n_rows, n_centers)
            The kernel's values minus their means at the centers.
        """
        return columns @ self.coefficients + self.intercept


ScoresOf: TypeAlias = Callable[[list["LinearFit | None"], Array], Array]
"""Maps the fits without each fold, whose outputs at all penalties are side by side, and the
penalties to one score per penalty, which may be NaN."""


@dataclass(frozen=True)
class RidgeChoice:
    """Ridge regression at the penalty chosen by cross-validation.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        Penalties that were compared, ascending.
    losses : ndarray of shape (n_alphas,)
        Out-of-fold mean squared errors of the penalties, relative to those of the training means.
    alpha : float
        The penalty with the lowest loss, or the highest score; the largest one if there are ties.
    fit : LinearFit
        The fit to all rows.
    fold_fits : list of LinearFit or None
        The fits without each fold; None for folds without training or held-out rows. The list is
        empty if all rows are centers, since out-of-fold predictions are stored in this case.
    scores : ndarray of shape (n_alphas,), default=None
        Scores of out-of-fold predictions at each penalty, if they determined the choice.
    held_out_means : ndarray of shape (n_rows, n_outputs), default=None
        Mean targets of the training rows of each out-of-fold prediction, if all rows are centers.
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
        Moments of the summands.
    features : NystroemFeatures

    Attributes
    ----------
    count : float
        Number of rows.
    means : tuple of ndarray
        Means of summands and targets.
    basis : ndarray of shape (n_summands, rank)
        Maps summands to uncorrelated features.
    values : ndarray of shape (rank,)
        Sums of squares of the uncorrelated features.
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
        """Return the coefficients of summands, shape (n_alphas, n_summands, n_outputs)."""
        solved = self._projected / (self.values + alphas[:, None])[:, :, None]
        return np.asarray(self.basis @ solved)


class _PartPath:
    """Ridge regression with an intercept at every penalty, without the rows of a fold.

    Conjugate gradients are preconditioned by the eigendecomposition for all rows, so that a few
    steps are enough. If they would take longer than an eigendecomposition, one is computed instead.
    """

    def __init__(self, rows: Moments, held_out: Moments, whole: _Path) -> None:
        self._rows, self._whole, self.means = rows, whole, rows.means()
        self._held_out, self._centered = (p.centered(*self.means) for p in (held_out, rows))

    def errors(self, coefficients: Array) -> Array:
        """Return sums of squared errors on the held-out rows, shape (n_alphas + 1, n_outputs).

        The last row has the errors of the mean. The coefficients are those that `solve` returns.
        """
        errors = self._held_out.squared_errors(coefficients)
        return np.vstack([errors, self._held_out.squares])

    def solve(self, alphas: Array) -> Array:
        """Return the coefficients of summands, shape (n_alphas, n_summands, n_outputs)."""
        if alphas.size > 1:
            return self._decomposed.solve(alphas)
        whitening = _remaining(self._whole.features)
        rows = self._centered if whitening is None else self._centered.mapped(whitening)
        gram = rows.gram + alphas[0] * np.eye(len(rows.gram))
        solved = scipy.linalg.solve(gram, rows.cross, assume_a="pos")
        return np.asarray(solved if whitening is None else whitening @ solved)[None]

    def solve_iteratively(self, alphas: Array) -> Array:
        """Return the coefficients of summands, by conjugate gradients.

        The tolerance bounds the gradient. It does not bound errors of predictions if the penalty is
        small and the held-out rows have a direction that the other rows do not determine.
        """
        gram, cross, basis = self._centered.gram, self._centered.cross, self._whole.basis
        shifts = np.repeat(alphas, cross.shape[1])[:, None]
        values = self._rows.count / self._whole.count * self._whole.values
        right: Array = np.tile((basis.T @ cross).T, (alphas.size, 1))

        def apply(vectors: Array, numbers: Array) -> Array:
            return np.asarray((vectors @ basis.T) @ gram @ basis + shifts[numbers] * vectors)

        def precondition(vectors: Array, numbers: Array) -> Array:
            return vectors / (values + shifts[numbers])

        # A step takes about 6 r^2 operations for each system, and an eigendecomposition 9 r^3.
        solution, are_solved = conjugate_gradients(
            apply,
            precondition,
            right,
            tol=_TOLERANCE,
            max_iter=right.shape[1] // max(len(shifts), 1),
        )
        if not are_solved:
            return self._decomposed.solve(alphas)
        shaped = (solution @ basis.T).reshape(alphas.size, cross.shape[1], -1)
        return shaped.transpose(0, 2, 1)

    @cached_property
    def _decomposed(self) -> _Path:
        return _Path(self._rows, self._whole.features)


Solve: TypeAlias = Callable[[_PartPath, Array], Array]
"""Maps the path without a fold, and penalties, to coefficients."""


def _remaining(features: NystroemFeatures) -> Array | None:
    """Return the matrix that maps summands to features; None if the summands are features."""
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
    """Fit ridge regression with an intercept, at the penalty of least out-of-fold error.

    Parameters
    ----------
    parts : list of Moments
        Moments of each fold, or of each part of listed folds.
    features : NystroemFeatures
        The features whose products were summed.
    alphas : ndarray of shape (n_alphas,), default=None
        Positive penalties. If None, powers of ten from 1e-6 to 1e3 times the mean weight, and then
        six values around the best of these.
    mean_weight : float, default=1.0
        Mean weight of the rows.
    scores_of : callable, default=None
        Maps the fits without each fold to a score of each penalty, which replaces the error.
    listed : ListedFolds, default=None
        The parts that make up each fold; by default, each part is held out in turn.

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
    the sums of the fold, so that individual rows are not needed. One eigendecomposition for all
    rows, O(r^3) for features of rank r, is used for every penalty, and preconditions conjugate
    gradients for the folds. At the chosen penalty, the fits without each fold are exact. If their
    error differs from that of conjugate gradients, exact fits compare all penalties again. Folds
    without training or held-out rows are disregarded; if none remains, the largest penalty is used.
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
        Moments of all rows.
    features : NystroemFeatures
        The features whose products were summed.
    alpha : float
    """
    with serial_algebra() if len(rows.gram) <= _SERIAL_RANK else nullcontext():
        path = _Path(rows, features)
    return _fit(path, path.solve(np.array([alpha])), features)


def _fit(path: _Path | _PartPath, solved: Array, features: NystroemFeatures) -> LinearFit:
    """Return the fits at some penalties, side by side, as a function of kernel values."""
    means, values = path.means
    side_by_side = np.concatenate(list(solved), axis=1)
    coefficients = features.whitening @ side_by_side if features.whitens_rows else side_by_side
    mean = np.tile(values, len(solved))
    return LinearFit(coefficients, mean - means @ side_by_side, mean)


def _all_rows(parts: list[Moments], folds: Sequence[FoldParts]) -> Moments:
    """Return the sums over all rows: those that the first fold trains on or leaves out."""
    numbers = np.union1d(folds[0].trained, folds[0].left_out)
    return reduce(Moments.plus, (parts[number] for number in numbers))


def _paths(
    parts: list[Moments], folds: Sequence[FoldParts], total: Moments, whole: _Path
) -> list[_PartPath | None]:
    """Return the path without each fold; None for folds without training or held-out rows."""
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
    """Return the fits without each fold; None for folds that have no path."""
    found = iter(solved)
    return [None if path is None else _fit(path, next(found), features) for path in paths]


def _solved(solve: Solve, paths: list[_PartPath], alphas: Array) -> list[Array]:
    """Return the coefficients without each fold."""
    return list(map_tiles(lambda path: solve(path, alphas), paths))


def _compared(
    solve: Solve, paths: list[_PartPath], grid: Array, *, finer: bool
) -> tuple[Array, Array]:
    """Return penalties and their losses, with finer penalties around the best one if requested."""
    if not paths:
        return grid, np.ones(grid.size)
    losses = _losses(paths, _solved(solve, paths, grid))
    if not finer:
        return grid, losses
    more = best_penalty(grid, losses) * 10.0 ** (np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0]) / 4.0)
    order = np.argsort(alphas := np.append(grid, more))
    return alphas[order], np.append(losses, _losses(paths, _solved(solve, paths, more)))[order]


def _losses(paths: list[_PartPath], solved: list[Array]) -> Array:
    """Return out-of-fold squared errors relative to those of the means, averaged over outputs."""
    if not paths:
        return np.ones(1)
    total = np.sum([path.errors(own) for path, own in zip(paths, solved, strict=True)], axis=0)
    own, baseline = total[:-1], total[-1]
    ratios = np.divide(own, baseline, out=np.ones_like(own), where=baseline > 0.0)
    return np.asarray(ratios.mean(axis=1))


def best_penalty(alphas: Array, losses: Array) -> float:
    """Return the penalty with the lowest loss, or the largest such penalty if there are ties.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Ascending penalties.
    losses : ndarray of shape (n_alphas,)
    """
    return float(alphas[alphas.size - 1 - int(np.argmin(losses[::-1]))])

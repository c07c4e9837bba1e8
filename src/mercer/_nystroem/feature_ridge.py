"""Ridge regression on Nyström features from sums over rows, with a cross-validated penalty."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np
import scipy.linalg

from mercer._blocks.listed_folds import FoldParts, ListedFolds, parts_in_turn
from mercer._data.types import Array
from mercer._gram.factors import with_diagonal
from mercer._gram.tiles import map_tiles, serial_algebra
from mercer._nystroem.features import NystroemFeatures
from mercer._nystroem.moments import Moments
from mercer._solvers.left_out import descended

_POWERS = (-6, 3)
"""Smallest and largest power of ten that is compared, for features of unit scale."""

_SERIAL_RANK = 2000
"""Folds run side by side, with a thread each, if there are at most this many features."""


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


class _Equations:
    """The normal equations of ridge regression with an intercept, on features of unit scale.

    Parameters
    ----------
    rows : Moments
        Moments of the summands.
    features : NystroemFeatures

    Attributes
    ----------
    means : tuple of ndarray
        Means of summands and targets.
    """

    def __init__(self, rows: Moments, features: NystroemFeatures) -> None:
        self.means, self._features = rows.means(), features
        centered = rows.centered(*self.means)
        self._rows = centered if features.whitens_rows else centered.mapped(features.whitening)

    def solve(self, alphas: Array) -> Array:
        """Return the coefficients of summands, shape (n_alphas, n_summands, n_outputs)."""
        gram, cross = self._rows.gram, self._rows.cross
        # Rounding may leave eigenvalues that are negative by less than this.
        least = np.finfo(float).eps * float(np.trace(gram))
        solved = [_solved(with_diagonal(gram, max(alpha, least)), cross) for alpha in alphas]
        if not self._features.whitens_rows:
            solved = [self._features.whitening @ own for own in solved]
        return np.stack(solved)

    def fit(self, solved: Array) -> LinearFit:
        """Return the fits at some penalties, side by side, as a function of kernel values."""
        means, values = self.means
        side_by_side = np.concatenate(list(solved), axis=1)
        mean = np.tile(values, len(solved))
        intercept, features = mean - means @ side_by_side, self._features
        coefficients = features.whitening @ side_by_side if features.whitens_rows else side_by_side
        return LinearFit(coefficients, intercept, mean)


def _solved(matrix: Array, right: Array) -> Array:
    """Solve equations with a positive definite matrix."""
    if not right.size:
        return np.zeros(right.shape)
    try:
        # NumPy's factorization lets other threads run, and estimates no condition number.
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
        # Directions of smaller eigenvalues are rounding errors.
        used = values > len(values) * np.finfo(float).eps * values[-1]
        return np.asarray((vectors[:, used] / values[used]) @ (vectors[:, used].T @ right))
    return np.asarray(scipy.linalg.cho_solve((factor, True), right, check_finite=False))


class _Fold:
    """Ridge regressions without the rows of a fold, and their errors on its held-out rows."""

    def __init__(self, rows: Moments, held_out: Moments, features: NystroemFeatures) -> None:
        self.equations, self._known = _Equations(rows, features), dict[float, Array]()
        self._held_out = held_out.centered(*self.equations.means)

    def solve(self, alphas: Array) -> Array:
        """Return the coefficients of summands, shape (n_alphas, n_summands, n_outputs)."""
        for alpha in alphas:
            if alpha not in self._known:
                self._known[alpha] = self.equations.solve(np.array([alpha]))[0]
        return np.stack([self._known[alpha] for alpha in alphas])

    def errors(self, alphas: Array) -> Array:
        """Return sums of squared errors on the held-out rows, shape (n_alphas + 1, n_outputs).

        The last row has the errors of the mean.
        """
        return np.vstack(
            [self._held_out.squared_errors(self.solve(alphas)), self._held_out.squares]
        )


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
        Positive penalties. If None, powers of ten from 1e-6 to 1e3 times the mean weight, downhill
        from one, and then halves and quarters of powers around the best of these.
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
    the sums of the fold, so that individual rows are not needed. Each fold and penalty takes a
    Cholesky factorization, O(r^3 / 3) for features of rank r. Folds without training or held-out
    rows are disregarded; if none remains, the largest penalty is used.
    """
    if alphas is not None:
        alphas = np.unique(np.asarray(alphas, dtype=float))
        if not (alphas.size and np.all(alphas > 0.0) and np.isfinite(alphas).all()):
            raise ValueError(f"alphas must be positive and finite; got {alphas!r}.")
    made_of = parts_in_turn(len(parts)) if listed is None else listed.folds
    # The first fold trains on or leaves out each part.
    numbers = np.union1d(made_of[0].trained, made_of[0].left_out)
    total = reduce(Moments.plus, (parts[number] for number in numbers))
    if total.count == 0.0:
        raise ValueError("There are no rows to fit to.")
    with serial_algebra() if len(total.gram) <= _SERIAL_RANK else nullcontext():
        every = _folds(parts, made_of, total, features)
        folds = [fold for fold in every if fold is not None]
        grid = _downhill(folds, mean_weight) if alphas is None else alphas
        losses, scores = _losses(folds, grid), None
        if scores_of is not None and folds:
            scores = scores_of(_fits(every, grid), grid)
        best = best_penalty(grid, losses if scores is None else -scores)
        at_best = np.array([best])
        equations = _Equations(total, features)
        fit = equations.fit(equations.solve(at_best))
        return RidgeChoice(grid, losses, best, fit, _fits(every, at_best), scores)


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
        equations = _Equations(rows, features)
        return equations.fit(equations.solve(np.array([alpha])))


def _folds(
    parts: list[Moments], made_of: Sequence[FoldParts], total: Moments, features: NystroemFeatures
) -> list[_Fold | None]:
    """Return the regressions without each fold; None if it has no training or held-out rows."""

    def fold_of(fold: FoldParts) -> _Fold | None:
        trained, left_out, held_out = (
            [parts[number] for number in numbers]
            for numbers in (fold.trained, fold.left_out, fold.held_out)
        )
        if not all(any(part.count for part in some) for some in (trained, held_out)):
            return None
        if len(left_out) <= len(trained):
            rows = total.plus(reduce(Moments.plus, left_out), -1.0)
        else:
            rows = reduce(Moments.plus, trained)
        return _Fold(rows, reduce(Moments.plus, held_out), features)

    return list(map_tiles(fold_of, made_of))


def _fits(folds: Sequence[_Fold | None], alphas: Array) -> list[LinearFit | None]:
    """Return the fits without each fold, at some penalties side by side."""
    return [None if fold is None else fold.equations.fit(fold.solve(alphas)) for fold in folds]


def _downhill(folds: Sequence[_Fold], mean_weight: float) -> Array:
    """Return the penalties of a search for the least out-of-fold error, ascending."""
    tried: dict[int, float] = {}

    def loss(quarters: int) -> float:
        if quarters not in tried:
            tried[quarters] = float(_losses(folds, _penalties([quarters], mean_weight))[0])
        return tried[quarters]

    best = 4 * descended(lambda power: loss(4 * int(power)), 0, _POWERS)
    for step in (2, 1):
        best = min((best - step, best, best + step), key=loss)
    return _penalties(list(tried), mean_weight)


def _penalties(quarters: Sequence[int], mean_weight: float) -> Array:
    """Return distinct penalties for numbers of quarters of a power of ten, ascending."""
    return mean_weight * 10.0 ** (np.unique(np.array(quarters, dtype=int)) / 4.0)


def _losses(folds: Sequence[_Fold], alphas: Array) -> Array:
    """Return out-of-fold squared errors relative to those of the means, averaged over outputs."""
    if not folds:
        return np.ones(len(alphas))
    total = np.sum(list(map_tiles(lambda fold: fold.errors(alphas), folds)), axis=0)
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

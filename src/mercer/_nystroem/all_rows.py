"""Ridge regression on the kernel between all rows, where its matrix fits into memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.utils import check_random_state

from mercer._blocks.tables import DrawnSample
from mercer._data.folds import N_FOLDS, sample_rows
from mercer._data.sample import TargetEncoding
from mercer._gram.tiles import Tile, map_tiles, serial_algebra, tile_plan
from mercer._nystroem.feature_ridge import LinearFit, RidgeChoice, best_penalty
from mercer._nystroem.features import KernelColumns
from mercer._solvers.conjugate_gradients import PreconditionedRidge
from mercer._typing import Array, Features, RandomState
from mercer.kernels import Kernel

_PENALTIES = 10.0 ** np.arange(-3.0, 3.0)
"""Penalties that are compared on a part of the rows, for a kernel of unit scale."""

_AROUND = 10.0 ** np.array([-0.5, 0.0, 0.5])
"""Multiples of the best of these penalties, which are compared on all rows."""

_ROWS_PER_COLUMN = 10
"""Number of rows for each column of the preconditioner, whose Cholesky factors then take as much
time as some iterations."""

_PART_ROWS = 3000
"""Penalties are first compared on at most this many rows: a tenth of the time."""

ScoresOfValues = Callable[[Array, Array], Array]
"""From predictions out of fold, whose outputs are those of the penalties side by side, and
penalties to a score of each."""


class AllRows:
    """The centered Gram matrix of all rows, at unit scale and in single precision, plus one.

    Parameters
    ----------
    kernel : Kernel
        Bound to the table.
    data : DrawnSample
        All rows.
    encoding : TargetEncoding
    random_state : int, RandomState instance or None
        Draws the columns of the preconditioner.

    Raises
    ------
    ValueError
        If the kernel has values that are not finite.

    Notes
    -----
    The matrix takes 4 n^2 bytes. Half of its values are computed, the others copied.
    """

    def __init__(
        self, kernel: Kernel, data: DrawnSample, encoding: TargetEncoding, state: RandomState
    ) -> None:
        self.data, self.encoding = data, encoding
        self.weights = np.asarray(data.weights.values, dtype=float)
        self.targets = encoding.encode(data.y)
        X = data.X.astype(np.float64, copy=False)
        gram = _gram(kernel, X)
        shares = self.weights / self.weights.sum()
        means = gram @ shares.astype(np.float32)
        if not np.isfinite(means).all():
            raise ValueError(f"Kernel returned NaN or infinity: {kernel.describe()}.")
        overall = float(shares @ means)
        gram -= means
        gram -= (means - np.float32(overall))[:, None]
        self.scale = float(shares @ gram.diagonal())
        if self.scale <= np.finfo(np.float32).eps * abs(overall):
            self.scale = 1.0
            gram[:] = 0.0
        gram /= np.float32(self.scale)
        # The constant is a feature of unit scale: the intercept, which folds have of their own.
        gram += np.float32(1.0)
        self.columns = KernelColumns(kernel, X, np.asarray(means, dtype=float))
        self.gram, self.shares = gram, shares
        columns = check_random_state(state).permutation(len(gram))
        self._ridge = PreconditionedRidge(gram, columns[: max(len(gram) // _ROWS_PER_COLUMN, 1)])

    def choose(
        self, alphas: Array, scores_of: ScoresOfValues | None = None, *, extends: bool = False
    ) -> tuple[RidgeChoice, Array]:
        """Fit at the best penalty, and predict each row by the fits without it.

        Parameters
        ----------
        alphas : ndarray of shape (n_alphas,)
            Penalties that are compared.
        scores_of : callable, default=None
            The penalty of the best score is taken; that of least error without it.
        extends : bool, default=False
            Whether larger penalties are tried as long as errors fall, up to the sum of the matrix's
            eigenvalues, at which predictions are at most half as far from the mean as without one.

        Returns
        -------
        choice : RidgeChoice
        held_out : ndarray of shape (n_rows, n_outputs)
            Predictions out of fold, NaN for rows that no fold holds out.
        """
        alphas, losses, values = self.in_folds(alphas)
        while extends and losses.argmin() == len(losses) - 1 and alphas[-1] < len(self.gram):
            more, found, further = self.in_folds(alphas[-1:] * _AROUND[-1])
            alphas, losses = np.append(alphas, more), np.append(losses, found)
            values = np.concatenate([values, further], axis=1)
        flat = values.reshape(len(values), -1)
        scores = None if scores_of is None else scores_of(flat, alphas)
        alpha = best_penalty(alphas, losses if scores is None else -scores)
        best = alphas == alpha
        solved, means = self._solved(alphas[best], np.ones((1, len(self.gram)), dtype=bool))
        fit = self._fit(solved[0, 0], means[0])
        return RidgeChoice(alphas, losses, alpha, fit, [], scores), values[:, best][:, 0]

    def in_folds(self, alphas: Array) -> tuple[Array, Array, Array]:
        """Losses of penalties, and predictions of each row by the fits without it.

        Parameters
        ----------
        alphas : ndarray of shape (n_alphas,)

        Returns
        -------
        alphas : ndarray of shape (n_alphas,)
            Ascending, and at least what errors of single precision amount to.
        losses : ndarray of shape (n_alphas,)
            Squared errors out of fold relative to those of the training rows' means.
        values : ndarray of shape (n_rows, n_alphas, n_outputs)
            NaN for rows that no fold holds out.
        """
        least = len(self.gram) * float(np.finfo(np.float32).eps) * self.weights.mean()
        alphas = np.unique(np.maximum(alphas, least))
        held_out, trained = self.data.held_out(N_FOLDS), self.data.trained(N_FOLDS)
        used = trained.any(axis=1) & held_out.any(axis=1)
        held_out, trained = held_out[used], trained[used]
        solved, means = self._solved(alphas, trained)
        values = self._predictions(solved, means, held_out)
        return alphas, self._losses(values, means, held_out), values

    def _solved(self, alphas: Array, trained: Array) -> tuple[Array, Array]:
        """Coefficients of fits to some rows each, and the means of their targets."""
        roots = np.sqrt(self.weights) * trained
        means = (roots**2 @ self.targets) / (roots**2).sum(axis=1, keepdims=True)
        # Indicators of all classes sum to one, so that the last one is known from the others.
        n_solved = self.targets.shape[1] - (self.encoding.classes is not None)
        targets = (self.targets - means[:, None, :])[:, :, :n_solved]
        solved = self._ridge.solve(targets, roots, alphas)
        if n_solved < self.targets.shape[1]:
            solved = np.concatenate([solved, -solved.sum(axis=-1, keepdims=True)], axis=-1)
        return solved, means

    def _predictions(self, solved: Array, means: Array, held_out: Array) -> Array:
        """Mean predictions out of fold, shape (n_rows, n_alphas, n_outputs), NaN without any."""
        n_rows = len(self.gram)
        total = np.zeros((n_rows, solved.shape[1], solved.shape[3]))
        for c, mean, inside in zip(solved, means, held_out, strict=True):
            flat = c.transpose(1, 0, 2).reshape(n_rows, -1)
            fitted = (self.gram @ flat).reshape(n_rows, *total.shape[1:])
            total[inside] += (mean + fitted)[inside]
        counts = held_out.sum(axis=0)[:, None, None]
        return np.asarray(total / np.where(counts > 0, counts, np.nan))

    def _losses(self, values: Array, means: Array, held_out: Array) -> Array:
        """Squared errors out of fold, relative to those of the means; the mean over outputs."""
        if not len(held_out):
            return np.ones(values.shape[1])
        known = held_out.any(axis=0)
        w, Y = self.weights[known], self.targets[known]
        errors = np.einsum("i,iak->ak", w, (Y[:, None, :] - values[known]) ** 2)
        counts = held_out.sum(axis=0)[known, None]
        baseline = w @ (Y - held_out[:, known].T @ means / counts) ** 2
        ratios = np.divide(errors, baseline, out=np.ones_like(errors), where=baseline > 0.0)
        return np.asarray(ratios.mean(axis=1))

    def _fit(self, solved: Array, mean: Array) -> LinearFit:
        """Coefficients of kernel values less the means at the rows."""
        coefficients = np.asarray(solved, dtype=float)
        total = coefficients.sum(axis=0)
        centered = coefficients - self.shares[:, None] * total
        return LinearFit(centered / self.scale, mean + total)


def part_of(data: DrawnSample, encoding: TargetEncoding, random_state: RandomState) -> DrawnSample:
    """Some rows of many, which tell penalties apart.

    Parameters
    ----------
    data : DrawnSample
    encoding : TargetEncoding
    random_state : int, RandomState instance or None
    """
    covered = data.covered
    codes = None if encoding.classes is None else encoding.codes_of(data.y[covered])
    return data.take(covered[sample_rows(len(covered), _PART_ROWS, codes, random_state)])


def best_alpha(
    kernel: Kernel,
    part: DrawnSample,
    encoding: TargetEncoding,
    state: RandomState,
) -> float:
    """The penalty of least error out of fold, for rows of weight one.

    Parameters
    ----------
    kernel : Kernel
    part : DrawnSample
    encoding : TargetEncoding
    state : int, RandomState instance or None
    """
    rows = AllRows(kernel, part, encoding, state)
    mean_weight = float(rows.weights.mean())
    found, losses, _ = rows.in_folds(mean_weight * _PENALTIES)
    return best_penalty(found, losses) / mean_weight


def ridge_on_all_rows(
    kernel: Kernel,
    data: DrawnSample,
    encoding: TargetEncoding,
    alphas: Array | None,
    *,
    random_state: RandomState,
    scores_of: ScoresOfValues | None = None,
) -> tuple[KernelColumns, RidgeChoice, Array]:
    """Ridge regression on the kernel between all rows, at a penalty that folds choose.

    Parameters
    ----------
    kernel : Kernel
        Bound to the table.
    data : DrawnSample
        All rows of the table.
    encoding : TargetEncoding
    alphas : ndarray of shape (n_alphas,), or None
        Penalties that are compared on all rows. If None, powers of ten are compared on a part of
        the rows, and three around the best on all.
    random_state : int, RandomState instance or None
    scores_of : callable, default=None
        See :meth:`AllRows.choose`.

    Returns
    -------
    columns : KernelColumns
    choice : RidgeChoice
    held_out : ndarray of shape (n_rows, n_outputs)

    Notes
    -----
    An iteration of conjugate gradients takes O(n^2) time for each fold and penalty, and there are
    some tens of them. The matrix takes 4 n^2 bytes.
    """
    given = alphas is not None
    if alphas is None:
        part = part_of(data, encoding, random_state)
        alpha = best_alpha(kernel, part, encoding, random_state)
        alphas = data.all_weights.average * alpha * _AROUND
    rows = AllRows(kernel, data, encoding, random_state)
    alphas = np.asarray(alphas, dtype=float)
    choice, held_out = rows.choose(alphas, scores_of, extends=not given)
    return rows.columns, choice, held_out


@serial_algebra()
def _gram(kernel: Kernel, X: Features) -> Array:
    """The kernel between all rows, less its offset, in single precision."""
    gram = np.empty((X.shape[0], X.shape[0]), dtype=np.float32)
    same, table = kernel._evaluated_on(X)

    def fill(tile: Tile) -> None:
        values = same._shifted(table[tile.rows], table[tile.columns])
        gram[tile.rows, tile.columns] = values
        gram[tile.columns, tile.rows] = values.T

    for _ in map_tiles(fill, tile_plan(X.shape[0])):
        pass
    return gram

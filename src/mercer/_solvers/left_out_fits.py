"""Leave-one-out and leave-group-out kernel ridge regression at one penalty."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer._data.resampling import Indices, Resampling, as_resampling
from mercer._data.types import Array, Rows
from mercer._data.weights import SampleWeights, as_weights
from mercer._gram.factors import inverse_factor, inverted
from mercer._solvers.ridge import (
    REFINED,
    Ridge,
    factor_solve,
    penalized_factor,
    refined,
    refitted_residuals,
    ridge_factor,
    ridge_of,
)

_IN_SINGLE = 1e-8
"""Relative residual at which coefficients of left-out fits are refined enough, if the system was
inverted in single precision."""


def left_out_residuals(
    gram: Array,
    targets: Array,
    alpha: float,
    weights: SampleWeights | Array | None = None,
    resampling: Resampling | None = None,
    *,
    n_last: int | None = None,
) -> Array:
    """Return leave-one-out residuals of kernel ridge regression at one penalty.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix.
    targets : ndarray of shape (n_samples, n_outputs)
    alpha : float
        Penalty, positive. It is raised above the rounding errors of the Gram matrix.
    weights : SampleWeights or ndarray of shape (n_samples,), default=None
    resampling : Resampling, default=None
        Which samples are left out together; by default each is left out alone.
    n_last : int, default=None
        Residuals are returned for this number of the last samples only, by default for all. Those
        of a half take little more than half of the time, unless they are left out together with
        others.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs) or (n_last, n_outputs)
        NaN for samples that are never left out.

    Raises
    ------
    ValueError
        If the Gram matrix has a negative eigenvalue.

    Examples
    --------
    >>> targets = np.array([[0.0], [0.0], [3.0]])
    >>> left_out_residuals(np.zeros((3, 3)), targets, 1.0).round(12)
    array([[-1.5],
           [-1.5],
           [ 3. ]])
    """
    # An inverse in single precision has no more digits.
    settings: Any = {"n_last": n_last, "tol": _IN_SINGLE}
    return fitted_left_out(gram, targets, alpha, weights, resampling, **settings)[1]


def fitted_left_out(
    gram: Array,
    targets: Array,
    alpha: float,
    weights: SampleWeights | Array | None = None,
    resampling: Resampling | None = None,
    *,
    n_last: int | None = None,
    tol: float = REFINED,
) -> tuple[Ridge, Array]:
    """Return kernel ridge regression at one penalty, and its leave-one-out residuals.

    Parameters
    ----------
    gram, targets, alpha, weights, resampling, n_last : object
        See :func:`left_out_residuals`.
    tol : float, default=1e-12
        Relative residual at which coefficients are refined enough, if the system was factorized in
        single precision.

    Returns
    -------
    ridge : Ridge
        The fit to all samples.
    residuals : ndarray of shape (n_samples, n_outputs) or (n_last, n_outputs)

    Notes
    -----
    One Cholesky factorization and the inverse of the factor are computed; squared norms of the
    columns of this inverse are the diagonal of the inverse of the system. This takes about a tenth
    of the time of an eigendecomposition. The last columns have only zeros above the last rows, so
    that the inverse of the last block gives their norms. For samples that are left out together, a
    linear system with their block of the inverse is solved. If they are more than half of all
    samples, the model is refitted to the others. Large systems with a large penalty are factorized
    in single precision, in half of the time: coefficients are refined, and residuals are multiplied
    by 1 + 3e-4 at most, by rounding.
    """
    weights = as_weights(weights, len(gram))
    resampling = as_resampling(resampling, len(gram))
    first = 0 if n_last is None else len(gram) - n_last
    begin = first if _are_apart(resampling, first) else 0
    factor, alpha = ridge_factor(gram, alpha, weights, constant=1.0)
    settings: Any = {"constant": 1.0, "tol": tol if factor.dtype == np.float32 else REFINED}
    if begin:
        scaled = refined(factor_solve(factor), gram, targets, alpha, weights, **settings)
    inverse = inverse_factor(factor[begin:, begin:])
    if not begin:
        solve = partial(_solved_by, inverse)
        scaled = refined(solve, gram, targets, alpha, weights, **settings)
    ridge = ridge_of(weights.scaled(scaled), targets, alpha, weights)
    if resampling.one_at_a_time:
        diagonal, last = np.einsum("ij,ij->j", inverse, inverse).astype(float), slice(begin, None)
        return ridge, _left_out(diagonal, ridge.dual_coef_[last], alpha, weights, last)

    def of_batches(batches: Sequence[Indices]) -> Iterator[Array]:
        for batch in batches:
            found = np.full((*batch.shape, targets.shape[1]), np.nan)
            some = batch[here := batch[:, 0] >= begin]
            if 2 * batch.shape[1] > len(gram):
                anew = gram, targets, np.array([alpha]), weights
                for k in np.flatnonzero(here):
                    found[k] = refitted_residuals(*anew, batch[k])[0]
            elif len(some):
                columns = inverse.T[some - begin]
                blocks = columns @ columns.transpose(0, 2, 1)
                found[here] = _left_out_together(blocks, scaled[some], some, alpha, weights)
            yield found

    return ridge, resampling.assembled(of_batches)[first:]


def _solved_by(inverse: Array, right: Array) -> Array:
    """Return the solution of a system, given the inverse of its lower Cholesky factor."""
    return np.asarray(inverse.T @ (inverse @ right.astype(inverse.dtype, copy=False)))


def _are_apart(resampling: Resampling, first: int) -> bool:
    """Return whether samples from `first` on are only left out together with one another."""
    if resampling.one_at_a_time:
        return True
    later = [batch >= first for batch, _ in resampling.batches]
    return all(np.array_equal(found.any(axis=1), found.all(axis=1)) for found in later)


@dataclass(frozen=True)
class LeftOutFits:
    """Fits that leave out each of the training samples in turn, in closed form.

    Attributes
    ----------
    ridge : Ridge
        The fit to all samples.
    inverse : ndarray of shape (n_samples, n_samples)
        Inverse of the sum of the Gram matrix, scaled by the square roots of the weights, the
        penalty and an additional penalty on constants. The latter does not change predictions, and
        preserves the digits of leverages.
    weights : SampleWeights
    resampling : Resampling
        Which samples are left out together.
    """

    ridge: Ridge
    inverse: Array
    weights: SampleWeights
    resampling: Resampling

    @property
    def residuals(self) -> Array:
        """Residual of each sample under the fit to all others, shape (n_samples, n_outputs)."""
        diagonal = np.diag(self.inverse)
        return _left_out(diagonal, self.ridge.dual_coef_, self.ridge.alpha, self.weights)

    def _without(self, removed: Indices) -> Array:
        """Return the residuals of parts that are left out, (n_parts, n_removed, n_outputs)."""
        dual = self.ridge.dual_coef_[removed] / self.weights.roots[removed, None]
        blocks = self.inverse[removed[:, :, None], removed[:, None, :]]
        return _left_out_together(blocks, dual, removed, self.ridge.alpha, self.weights)

    def predict(self, rows: Array, output: int = 0) -> Array:
        """Predict one output by the fits that leave out each training sample.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_samples)
            Kernel between new samples and the training samples, centered.
        output : int, default=0

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
            Column i holds the predictions without sample i, minus the mean target of all samples.

        Notes
        -----
        A linear smoother fitted without sample i has the same predictions as the full fit with the
        target of i replaced by its prediction without i. Leaving out i therefore lowers predictions
        by their derivative with respect to this target times the leave-one-out residual, and
        leaving out several samples lowers them by the sum of these products. If more than half of
        the samples are left out together, for example all later samples, the predictions are those
        of the full fit.
        """
        roots = self.weights.roots
        derivatives = ((rows * roots) @ self.inverse) * roots
        derivatives += self.weights.values / self.weights.total
        whole = rows @ self.ridge.dual_coef_[:, [output]]
        if self.resampling.one_at_a_time:
            return np.asarray(whole - derivatives * self.residuals[:, output])

        def of_batches(batches: Sequence[Indices]) -> Iterator[Array]:
            for removed in batches:
                predicted = np.repeat(whole, len(removed), axis=1)
                if 2 * removed.shape[1] <= len(roots):
                    changes = derivatives[:, removed] * self._without(removed)[:, :, output]
                    predicted = predicted - changes.sum(axis=2)
                yield np.repeat(predicted[:, :, None, None], removed.shape[1], axis=2)

        return self.resampling.assembled(of_batches)[:, :, 0]


def left_out_fits(
    gram: Array,
    ridge: Ridge,
    weights: SampleWeights | Array | None,
    resampling: Resampling | None = None,
) -> LeftOutFits:
    """Return the fits of a ridge regression that leave out each of the training samples.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        The centered Gram matrix that the ridge regression was fitted to.
    ridge : Ridge
    weights : SampleWeights or ndarray of shape (n_samples,), or None
    resampling : Resampling, default=None
        Which samples are left out together; by default each is left out alone.
    """
    weights = as_weights(weights, len(gram))
    resampling = as_resampling(resampling, len(gram))
    factor, _ = penalized_factor(gram, ridge.alpha, weights, constant=1.0)
    return LeftOutFits(ridge, inverted(factor, overwrite=True), weights, resampling)


def _left_out(
    diagonal: Array,
    dual: Array,
    alpha: float,
    weights: SampleWeights,
    rows: Rows = slice(None),
) -> Array:
    """Return leave-one-out residuals of some samples from the diagonal of the inverse.

    Let G be the inverse of the system with a penalty on constants, E its part on vectors of zero
    mean, and c the dual coefficients. The residuals of the fit to all samples are alpha c_i / w_i,
    and the leverages are 1 - alpha E_ii.
    """
    values = weights.values[rows]
    remaining = diagonal - values / (weights.total * (1.0 + alpha))
    return np.asarray(dual / (values * remaining)[:, None])


def _left_out_together(
    blocks: Array, scaled: Array, removed: Indices, alpha: float, weights: SampleWeights
) -> Array:
    """Return the residuals of parts that are left out; see :func:`_left_out`.

    Parameters
    ----------
    blocks : ndarray of shape (n_parts, n_removed, n_removed)
        Blocks of the inverse of the system for the samples of each part.
    scaled : ndarray of shape (n_parts, n_removed, n_outputs)
        Dual coefficients divided by the square roots of the weights.
    removed : ndarray of int of shape (n_parts, n_removed)
    alpha : float
    weights : SampleWeights
        Weights of all samples.
    """
    roots = weights.roots[removed, None]
    constants = roots * roots.transpose(0, 2, 1) / (weights.total * (1.0 + alpha))
    return np.asarray(np.linalg.solve(blocks - constants, scaled) / roots)

"""Kernel ridge regression with an intercept: at one penalty, and at every penalty.

Gram matrices are centered by weighted means. With weights W, all linear systems are formed with
W^(1/2) K W^(1/2), so that squared errors are weighted by W. The intercept is not penalized.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.linalg import cho_solve
from sklearn.utils import gen_batches

from mercer._data.resampling import Indices, Resampling, as_resampling
from mercer._data.types import Array
from mercer._data.validation import INDEFINITE_ADVICE
from mercer._data.weights import SampleWeights, as_weights
from mercer._gram.dense import UnitScale
from mercer._gram.factors import definite_factor, symmetric_eigen
from mercer._gram.low_rank import TOLERANCE
from mercer._gram.tiles import CACHED_VALUES


def check_definite(values: Array) -> None:
    """Raise an error if ascending eigenvalues do not belong to a positive semi-definite matrix.

    Raises
    ------
    ValueError
        If the smallest eigenvalue is negative beyond rounding.
    """
    if values[0] < -TOLERANCE * max(values[-1], 0.0):
        raise ValueError(
            "The learned kernel is not positive semi-definite: the smallest eigenvalue of its "
            f"centered Gram matrix is {values[0]:.3g}, the largest {values[-1]:.3g}. "
            + INDEFINITE_ADVICE
        )


@dataclass(frozen=True)
class Ridge:
    """A fitted kernel ridge regression with an intercept.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_fitted,) or (n_fitted, n_outputs)
        Coefficients of the training samples, which sum to zero for each output.
    intercept_ : float or ndarray of shape (n_outputs,)
    alpha : float
        The penalty that was used.
    """

    dual_coef_: Array
    intercept_: Array
    alpha: float

    def predict(self, rows: Array) -> Array:
        """Predict responses.

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_fitted)
            Kernel between new samples and the training samples. Since coefficients sum to zero,
            centering the rows would change only the intercept.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return np.asarray(self.deviations(rows) + self.intercept_)

    def deviations(self, rows: Array) -> Array:
        """Return predictions without the intercept; for centered rows, deviations from the mean."""
        return np.asarray(rows @ self.dual_coef_)

    def linear(self, n_fitted: int) -> tuple[Array, Array]:
        """Return coefficients, shape (n_fitted, n_outputs), and constants, which are zero.

        Parameters
        ----------
        n_fitted : int
            Number of training samples.
        """
        coefficients = self.dual_coef_.reshape(n_fitted, -1)
        return coefficients, np.zeros(coefficients.shape[1])


def fit_ridge(
    gram: Array,
    y: Array,
    alpha: float,
    weights: SampleWeights | Array | None = None,
    means: Array | None = None,
) -> Ridge:
    """Fit kernel ridge regression at one penalty, by a Cholesky factorization.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix.
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    alpha : float
        Penalty, positive. It is raised above the rounding errors of the Gram matrix.
    weights : SampleWeights or ndarray of shape (n_samples,), default=None
    means : ndarray of shape (n_samples,), default=None
        Column means of the Gram matrix before it was centered, if rows of new samples will not be
        centered.

    Raises
    ------
    ValueError
        If the Gram matrix has a negative eigenvalue.

    Examples
    --------
    >>> gram, y = np.array([[0.5, -0.5], [-0.5, 0.5]]), np.array([0.0, 2.0])
    >>> fit_ridge(gram, y, 1.0).predict(gram)
    array([0.5, 1.5])
    """
    weights, targets = as_weights(weights, len(gram)), y.reshape(len(y), -1)
    factor, alpha = ridge_factor(gram, alpha, weights)
    n_steps = _REFINEMENTS if factor.dtype == np.float32 else 0
    scaled = refined(factor_solve(factor), gram, targets, alpha, weights, n_steps=n_steps)
    return ridge_of(weights.scaled(scaled), y, alpha, weights, means)


def ridge_of(
    dual: Array, y: Array, alpha: float, weights: SampleWeights, means: Array | None = None
) -> Ridge:
    """Return kernel ridge regression with an intercept, given its coefficients.

    Parameters
    ----------
    dual : ndarray of shape (n_samples, n_outputs)
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    alpha : float
    weights : SampleWeights
    means : ndarray of shape (n_samples,), default=None
        See :func:`fit_ridge`.
    """
    # Remove the rounding error of the sum in proportion to the weights.
    dual = dual - np.outer(weights.values, dual.sum(axis=0)) / weights.total
    dual = dual.reshape(y.shape)
    intercept = weights.mean(y)
    return Ridge(dual, intercept if means is None else intercept - means @ dual, alpha)


@dataclass(frozen=True)
class RidgePath:
    """Kernel ridge regression with an intercept at every penalty.

    Attributes
    ----------
    values : ndarray of shape (n_samples - 1,)
        Nonnegative eigenvalues of the centered Gram matrix, ascending, without the eigenvalue of
        the constant vector.
    vectors : ndarray of shape (n_samples, n_samples - 1)
        The eigenvectors.
    projected : ndarray of shape (n_samples - 1, n_outputs)
        Products of the eigenvectors with the centered targets.
    mean : ndarray of shape (n_outputs,)
        Means of the targets, which are the intercepts.
    weights : SampleWeights
    gram : ndarray of shape (n_samples, n_samples)
        The centered Gram matrix.
    targets : ndarray of shape (n_samples, n_outputs)
    resampling : Resampling
        Which samples are left out together.
    """

    values: Array
    vectors: Array
    projected: Array
    mean: Array
    weights: SampleWeights
    gram: Array
    targets: Array
    resampling: Resampling

    def left_out_residuals(self, alphas: Array) -> Array:
        r"""Return the leave-one-out residual of each sample at every penalty.

        Parameters
        ----------
        alphas : ndarray of shape (n_alphas,)
            Penalties, positive.

        Returns
        -------
        ndarray of shape (n_alphas, n_samples, n_outputs)
            NaN for samples that are never left out.

        Notes
        -----
        With :math:`K_c = Q \Lambda Q^\top` and the centered target :math:`y_c`, the residuals of
        the fit to all samples and the leverages are

        .. math:: r = Q D Q^\top y_c, \quad 1 - h_i = \sum_k q_{ik}^2 d_k, \quad
                  d_k = \alpha / (\lambda_k + \alpha).

        The sums exclude the constant eigenvector, because the intercept is not penalized. All terms
        are therefore nonnegative, and no digits are lost if :math:`h_i` is close to one. The
        residual of sample i under the fit to all others is then exactly :math:`r_i / (1 - h_i)`,
        for any weights of the samples. The residuals of samples G that are left out together are
        :math:`(I - H_{GG})^{-1} r_G`, which takes O(g^2 n + g^3) for g samples and each penalty. If
        they are more than half of all samples, the model is refitted to the others, which is
        faster.
        """
        n, k = len(self.vectors), self.projected.shape[1]
        shrink = alphas[:, None] / (self.values + alphas[:, None])
        right = shrink.T[:, :, None] * self.projected[:, None, :]
        residuals = (self.vectors @ right.reshape(n - 1, -1)).reshape(n, alphas.size, k)
        if not self.resampling.one_at_a_time:
            return self._left_out_together(shrink, residuals.transpose(1, 0, 2), alphas)
        parts = np.square(self.vectors) @ shrink.T
        residuals /= parts[:, :, None]
        residuals /= self.weights.roots[:, None, None]
        return residuals.transpose(1, 0, 2)

    def _left_out_together(self, shrink: Array, residuals: Array, alphas: Array) -> Array:
        """Return residuals of jointly left-out samples, shape (n_alphas, n_samples, n_outputs).

        Parameters
        ----------
        shrink : ndarray of shape (n_alphas, n_samples - 1)
        residuals : ndarray of shape (n_alphas, n_samples, n_outputs)
            Residuals of the fits to all samples, times the square roots of the weights.
        alphas : ndarray of shape (n_alphas,)
        """
        n = len(self.vectors)

        def of_batches(batches: Sequence[Indices]) -> Iterator[Array]:
            few = [batch for batch in batches if 2 * batch.shape[1] <= n]
            blocks = left_out_blocks(self.vectors, shrink, few)
            for removed in batches:
                if 2 * removed.shape[1] > n:
                    anew = self.gram, self.targets, alphas, self.weights
                    yield np.stack([refitted_residuals(*anew, part) for part in removed], axis=1)
                else:
                    solved = np.linalg.solve(next(blocks), residuals[:, removed])
                    yield solved / self.weights.roots[removed, None]

        return self.resampling.assembled(of_batches)

    def dual(self, alpha: float) -> Array:
        """Return the coefficients of the samples at one penalty, (n_samples, n_outputs)."""
        solved = self.projected / (self.values + alpha)[:, None]
        return self.weights.scaled(self.vectors @ solved)

    def predict(self, rows: Array, alphas: Array) -> Array:
        """Predict new samples at each penalty.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_samples)
            Kernel between new samples and the training samples, centered by the training means.
        alphas : ndarray of shape (n_alphas,)
            Penalties, positive.

        Returns
        -------
        ndarray of shape (n_alphas, n_rows, n_outputs)
        """
        solved = self.projected / (self.values + alphas[:, None])[:, :, None]
        return np.asarray((rows @ self.weights.scaled(self.vectors)) @ solved + self.mean)


def ridge_path(
    gram: Array,
    targets: Array,
    weights: SampleWeights | Array | None = None,
    resampling: Resampling | None = None,
) -> RidgePath:
    """Decompose a centered Gram matrix, for kernel ridge regression at every penalty.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix.
    targets : ndarray of shape (n_samples, n_outputs)
    weights : SampleWeights or ndarray of shape (n_samples,), default=None
    resampling : Resampling, default=None
        Which samples are left out together; by default each is left out alone.

    Raises
    ------
    ValueError
        If the Gram matrix has a negative eigenvalue.

    Notes
    -----
    A multiple of 1 1' that exceeds every eigenvalue is added, so that the last eigenvector is the
    constant one, which is dropped. The other eigenvectors are orthogonal to it up to rounding, and
    are not mixed with it in the null space.

    Examples
    --------
    >>> path = ridge_path(np.zeros((3, 3)), np.array([[0.0], [0.0], [3.0]]))
    >>> path.left_out_residuals(np.array([1.0]))[0].round(12)
    array([[-1.5],
           [-1.5],
           [ 3. ]])
    """
    weights = as_weights(weights, len(gram))
    norm = float(np.linalg.norm(gram)) * float(weights.values.max())
    constant = 2.0 * (norm if norm > 0.0 else 1.0)
    shifted = weights.scaled_gram(gram + constant / weights.total)
    values, vectors = symmetric_eigen(shifted)
    values, vectors = values[:-1], vectors[:, :-1]
    if norm > 0.0:
        check_definite(np.append(values, norm))
    projected, mean = vectors.T @ weights.centered(targets), weights.mean(targets)
    resampling = as_resampling(resampling, len(gram))
    values = np.maximum(values, 0.0)
    return RidgePath(values, vectors, projected, mean, weights, gram, targets, resampling)


def held_out_residuals(
    gram: Array,
    targets: Array,
    rows: Array,
    held_out: Array,
    *,
    alphas: Array,
    weights: SampleWeights | Array | None = None,
) -> Array:
    """Return residuals of held-out samples under ridge regression, at every penalty.

    Parameters
    ----------
    gram : ndarray of shape (n_train, n_train)
        Gram matrix of the training samples, with any centering.
    targets : ndarray of shape (n_train, n_outputs)
    rows : ndarray of shape (n_test, n_train)
        Kernel between held-out and training samples, with the same centering.
    held_out : ndarray of shape (n_test, n_outputs)
        Targets of the held-out samples.
    alphas : ndarray of shape (n_alphas,)
        Penalties, positive.
    weights : SampleWeights or ndarray of shape (n_train,), default=None

    Returns
    -------
    ndarray of shape (n_alphas, n_test, n_outputs)
    """
    weights = as_weights(weights, len(gram))
    unit = UnitScale(weights.mean(gram), 1.0, weights.given)
    path = ridge_path(unit.apply(gram), targets, weights)
    return np.asarray(held_out - path.predict(unit.apply(rows), alphas))


def refitted_residuals(
    gram: Array, targets: Array, alphas: Array, weights: SampleWeights, removed: Indices
) -> Array:
    """Return residuals of some samples under ridge regression refitted to all others.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
    targets : ndarray of shape (n_samples, n_outputs)
    alphas : ndarray of shape (n_alphas,)
    weights : SampleWeights
    removed : ndarray of int of shape (n_removed,)

    Returns
    -------
    ndarray of shape (n_alphas, n_removed, n_outputs)
    """
    rest = np.setdiff1d(np.arange(len(gram)), removed)
    return held_out_residuals(
        gram[np.ix_(rest, rest)],
        targets[rest],
        gram[np.ix_(removed, rest)],
        targets[removed],
        alphas=alphas,
        weights=weights.take(rest),
    )


_SINGLE_ROWS = 500
"""Smaller systems are always factorized in double precision."""

_REFINEMENTS, REFINED = 3, 1e-12
"""Largest number of refinements, and the relative residual at which they end. Each of them
multiplies the error by at most a hundredth."""

SAFE_ALPHA = 1e-5
"""With a penalty below this times the number of samples, for a kernel of unit scale, systems are
factorized in double precision: their condition number is too large for single precision."""


def factor_solve(factor: Array) -> Callable[[Array], Array]:
    """Return a function that solves a system, given its lower Cholesky factor."""

    def solve(right: Array) -> Array:
        right = right.astype(factor.dtype, copy=False)
        return np.asarray(cho_solve((factor, True), right, check_finite=False))

    return solve


def ridge_factor(
    gram: Array, alpha: float, weights: SampleWeights, constant: float = 0.0
) -> tuple[Array, float]:
    """Return the Cholesky factor of the system of kernel ridge regression, and the penalty used.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix.
    alpha : float
        Penalty, positive. It is raised above the rounding errors of the Gram matrix.
    weights : SampleWeights
    constant : float, default=0.0
        An additional penalty on constants.

    Returns
    -------
    factor : ndarray of shape (n_samples, n_samples)
        Lower Cholesky factor, in single precision for a large system with a large penalty: this
        takes half of the time, and solutions can be refined in double precision.
    alpha : float
    """
    safe = SAFE_ALPHA * float(gram.trace())
    in_single = len(gram) >= _SINGLE_ROWS and weights.is_unit and alpha >= safe > 0.0
    precision = np.dtype(np.float32) if in_single else gram.dtype
    return penalized_factor(gram, alpha, weights, constant, precision)


def refined(
    solve: Callable[[Array], Array],
    gram: Array,
    targets: Array,
    alpha: float,
    weights: SampleWeights,
    *,
    constant: float = 0.0,
    n_steps: int = _REFINEMENTS,
    tol: float = REFINED,
) -> Array:
    """Return coefficients divided by roots of weights, refined in double precision.

    Parameters
    ----------
    solve : callable
        Function from a right side to an approximate solution of the system.
    gram, targets, alpha, weights, constant : object
        See :func:`ridge_factor`.
    n_steps : int, default=3
        Largest number of refinements. Each step lowers the error by the condition number times the
        rounding.
    tol : float, default=1e-12
        Relative residual at which they end.
    """
    sums = targets.sum(axis=1)
    # Indicators of classes sum to one, so that the others determine the last column.
    has_last = targets.shape[1] > 1 and bool((sums == sums[0]).all())
    right = weights.centered(targets[:, :-1] if has_last else targets)
    solution = np.asarray(solve(right), dtype=float)
    before = np.abs(right).max(initial=0.0)
    goal = tol * before
    for _ in range(n_steps):
        values = weights.scaled(solution)
        product = gram @ values + constant / weights.total * values.sum(axis=0)
        rest = right - weights.scaled(product) - alpha * solution
        if (size := np.abs(rest).max(initial=0.0)) <= goal:
            break
        solution += solve(rest)
        # Each step divides the residual by about the same number: here, by before / size.
        if 10.0 * size * size <= goal * before:
            break
        before = size
    return np.column_stack([solution, -solution.sum(axis=1)]) if has_last else solution


def penalized_factor(
    gram: Array,
    alpha: float,
    weights: SampleWeights,
    constant: float = 0.0,
    precision: np.dtype[Any] | None = None,
) -> tuple[Array, float]:
    """Return the Cholesky factor of the Gram matrix plus penalties, and the penalty used.

    If rounding errors exceed the penalty, it is raised to their possible size. The factor has the
    given precision; the default is the precision of the Gram matrix.
    """

    def factor(penalty: float) -> Array:
        system = gram.astype(precision or gram.dtype)
        system += constant / weights.total
        system = weights.scaled_gram(system)
        system[np.diag_indices_from(system)] += penalty
        return definite_factor(system)

    try:
        return factor(alpha), alpha
    except ValueError:
        values = np.linalg.eigvalsh(weights.scaled_gram(gram.astype(precision or gram.dtype)))
        # Rounding of kernels to single precision is not an error, and only raises the penalty.
        if values[0] < -10.0 * float(np.finfo(np.float32).eps) * values[-1]:
            check_definite(values)
        alpha = max(-2.0 * float(values[0]), TOLERANCE * float(values[-1]))
        return factor(alpha), alpha


def left_out_blocks(vectors: Array, factors: Array, batches: Sequence[Indices]) -> Iterator[Array]:
    """Yield blocks of V diag(d) V' for the rows of each part.

    Parameters
    ----------
    vectors : ndarray of shape (n_rows, n_vectors)
        V.
    factors : ndarray of shape (n_factors, n_vectors)
        The vectors d as rows, not negative.
    batches : sequence of ndarray of int of shape (n_parts, size)
        Indices of rows of V, with one part in each row of an array.

    Yields
    ------
    ndarray of shape (n_factors, n_parts, size, size)
        Blocks of the parts of one batch.

    Notes
    -----
    For parts with fewer than twice as many samples as there are factors, products of pairs of rows
    are formed once for all factors. For larger parts, rows are multiplied by the square roots of
    each d. Both ways take half the operations of V diag(d) V', because it is symmetric, and the
    choice minimizes the multiplications outside of matrix products. In total, each row takes
    O(n_factors size n_vectors).

    Examples
    --------
    >>> blocks = left_out_blocks(np.eye(3), np.array([[1.0, 2.0, 3.0]]), [np.array([[0, 2]])])
    >>> next(blocks)[0, 0]
    array([[1., 0.],
           [0., 3.]])
    """
    most = 2 * len(factors)
    pairs = [
        batch[:, _triangle(batch.shape[1])[0]].transpose(1, 0, 2).reshape(2, -1)
        for batch in batches
        if batch.shape[1] < most
    ]
    sums = np.empty((len(factors), 0))
    if pairs:
        sums = _pair_sums(np.ascontiguousarray(vectors), factors, *np.concatenate(pairs, axis=1))
    for batch in batches:
        n_parts, size = batch.shape
        if size >= most:
            yield np.array([[_outer(vectors[p] * d) for p in batch] for d in np.sqrt(factors)])
            continue
        above, position = _triangle(size)
        here, sums = np.split(sums, [n_parts * above.shape[1]], axis=1)
        yield here.reshape(len(factors), n_parts, -1)[:, :, position]


@lru_cache(maxsize=64)
def _triangle(size: int) -> tuple[Indices, Indices]:
    """Return indices on and above a diagonal, and the position of each entry among them."""
    above = np.array(np.triu_indices(size))
    position = np.empty((size, size), dtype=np.intp)
    position[*above] = position[*above[::-1]] = np.arange(above.shape[1])
    return above, position


def _outer(rows: Array) -> Array:
    """Return the products of all rows with each other."""
    return np.asarray(rows @ rows.T)


def _pair_sums(vectors: Array, factors: Array, first: Indices, second: Indices) -> Array:
    """Return sums of products of two rows and each d, shape (n_factors, n_pairs)."""
    sums = np.empty((len(first), len(factors)))
    for tile in gen_batches(len(first), max(CACHED_VALUES // vectors.shape[1], 1)):
        products = vectors[first[tile]]
        products *= vectors[second[tile]]
        np.matmul(products, factors.T, out=sums[tile])
    return sums.T

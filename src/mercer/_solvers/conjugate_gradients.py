"""Ridge regressions on one large Gram matrix by preconditioned conjugate gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.linalg
from sklearn.utils import gen_batches

from mercer._data.types import Array
from mercer._gram.dense import with_diagonal
from mercer._gram.threads import one_blas_thread
from mercer._gram.tiles import CACHED_VALUES, map_tiles


def row_batches(matrix: Array) -> Iterator[slice]:
    """Return blocks of rows of a large matrix that fit in the cache of a core.

    Parameters
    ----------
    matrix : ndarray of shape (n_rows, n_columns)
    """
    found: Iterator[slice] = gen_batches(len(matrix), max(4 * CACHED_VALUES // matrix.shape[1], 1))
    return found


_SHIFT = 4.0
"""Preconditioners are shifted by this multiple of the rounding errors of their eigenvalues, because
their smallest eigenvalues may be as small as these errors. The shift is multiplied by this factor
again while a preconditioner is indefinite."""


class PreconditionedRidge:
    """Ridge regressions with several penalties, weights and targets on the same Gram matrix.

    Parameters
    ----------
    gram : ndarray of float32 of shape (n_samples, n_samples)
        Positive semi-definite.
    columns : ndarray of int of shape (n_columns,)
        Indices of the columns of the Gram matrix that the preconditioner is computed from.

    Notes
    -----
    With the square roots r of the weights, D = diag(r) and a penalty a, the coefficients of the
    samples are c = D b, where (D K D + a I) b = D y. Samples of weight zero are left out. The
    preconditioner has the Nyström approximation F F' in place of K, and is inverted by the Woodbury
    identity, (I - D F (F' D^2 F + a I)^(-1) F' D) / a.

    An iteration takes one product of the Gram matrix with a vector for each system, in single
    precision: 2 n^2 operations. All systems share a pass over the matrix.

    References
    ----------
    Rathore, Frangella, Yang, Dereziński, Udell (2024), Have ASKotch: A neat solution for
    large-scale kernel ridge regression, arXiv 2407.10070. Rudi, Carratino, Rosasco (2017), FALKON:
    An optimal large scale kernel method.

    Examples
    --------
    >>> gram, y = np.diag(np.float32([1.0, 3.0])), np.array([[2.0], [2.0]])
    >>> ridge = PreconditionedRidge(gram, np.arange(2))
    >>> ridge.solve(y[None], np.ones((1, 2)), np.array([1.0]))[0, 0, :, 0].round(6)
    array([1. , 0.5], dtype=float32)
    """

    def __init__(self, gram: Array, columns: Array) -> None:
        self.gram = gram
        root = _root(gram[np.ix_(columns, columns)].astype(np.float64)).astype(np.float32)
        self._factor = scipy.linalg.solve_triangular(
            root, gram[columns], lower=True, check_finite=False
        ).T

    def solve(
        self,
        targets: Array,
        roots: Array,
        alphas: Array,
        *,
        tol: float = 1e-3,
        max_iter: int = 1000,
    ) -> Array:
        """Return the coefficients of all fits at all penalties.

        Parameters
        ----------
        targets : ndarray of shape (n_fits, n_samples, n_outputs)
        roots : ndarray of shape (n_fits, n_samples)
            Square roots of the weights of the samples in each fit.
        alphas : ndarray of shape (n_alphas,)
            Positive.
        tol : float, default=1e-3
            Tolerance of the norm of the preconditioned gradient, relative to its value at zero.
        max_iter : int, default=1000
            Maximum number of iterations. Predictions of a system that is not solved by then may be
            far from the predictions of its solution.

        Returns
        -------
        ndarray of float32 of shape (n_fits, n_alphas, n_samples, n_outputs)
        """
        n_fits, n_samples, n_outputs = targets.shape
        scaled = (roots[:, :, None] * targets).astype(np.float32)
        # Systems are rows, ordered by fit, then penalty, then output.
        right = np.repeat(scaled.transpose(0, 2, 1)[:, None], len(alphas), axis=1)
        right, solution, shift = right.reshape(-1, n_samples), None, _SHIFT
        while solution is None:
            systems = _Systems(self._factor, roots.astype(np.float32), alphas, n_outputs, shift)
            solution = self._iterated(systems, right, tol, max_iter)
            shift *= _SHIFT
        coefficients = solution * systems.roots_of(np.arange(len(solution)))
        shaped = coefficients.reshape(n_fits, len(alphas), n_outputs, n_samples)
        return np.asarray(shaped.transpose(0, 1, 3, 2))

    def _iterated(
        self, systems: _Systems, residual: Array, tol: float, max_iter: int
    ) -> Array | None:
        """Return the solutions; None if rounding makes a preconditioner indefinite."""
        solution = np.zeros_like(residual)
        active = np.arange(len(residual))
        direction = conditioned = systems.precondition(residual, active)
        power = _products(residual, conditioned)
        if (power < 0.0).any():
            return None
        limit = tol**2 * power
        active = active[power > limit]
        residual, direction, power = (found[active] for found in (residual, direction, power))
        for _ in range(max_iter):
            if not active.size:
                break
            image = systems.apply(self.gram, direction, active)
            step = (power / _products(direction, image)).astype(np.float32)[:, None]
            solution[active] += step * direction
            residual = residual - step * image
            conditioned = systems.precondition(residual, active)
            before, power = power, _products(residual, conditioned)
            if (power < 0.0).any():
                return None
            direction = conditioned + (power / before).astype(np.float32)[:, None] * direction
            going = power > limit[active]
            active, power = active[going], power[going]
            residual, direction = residual[going], direction[going]
        return solution


class _Systems:
    """The matrices D K D + a I of all fits and penalties, and their preconditioners.

    Parameters
    ----------
    factor : ndarray of float32 of shape (n_samples, rank)
        A factor F such that F F' approximates the Gram matrix.
    roots : ndarray of float32 of shape (n_fits, n_samples)
    alphas : ndarray of shape (n_alphas,)
    n_outputs : int
    shift : float
        Shift of the preconditioners, in units of the rounding errors of products.
    """

    def __init__(
        self, factor: Array, roots: Array, alphas: Array, n_outputs: int, shift: float
    ) -> None:
        self._factor, self._roots, self._n_outputs = factor, roots, n_outputs
        self._alphas = np.tile(alphas, len(roots)).astype(np.float32)
        self._fit = np.repeat(np.arange(len(roots)), len(alphas))
        whole = factor.T @ factor

        def factorized(fit: int) -> Sequence[Array]:
            # Most fits leave out few samples, and products of these are faster than products of the
            # rest.
            others = np.flatnonzero(roots[fit] != 1.0)
            left, weighted = factor[others], roots[fit, others, None] * factor[others]
            gram = (whole - left.T @ left + weighted.T @ weighted).astype(np.float64)
            found = []
            for alpha in alphas:
                shifted = gram + (alpha + shift * _rounding(gram)) * np.eye(len(gram))
                found.append(scipy.linalg.cholesky(shifted, lower=True).astype(np.float32))
            return found

        fits = list(map_tiles(factorized, list(range(len(roots)))))
        self._factors = [factor for of_fit in fits for factor in of_fit]

    def roots_of(self, systems: Array) -> Array:
        """Return the roots of the weights in some systems, shape (n_systems, n_samples)."""
        return self._roots[self._fit[systems // self._n_outputs]]

    def apply(self, gram: Array, vectors: Array, systems: Array) -> Array:
        """Return the products of the matrices of some systems with one vector each.

        The Gram matrix is symmetric, so that vectors may stand on its left. A product with few
        columns on its right would first copy the matrix into another layout.
        """
        roots, alphas = self.roots_of(systems), self._alphas[systems // self._n_outputs]
        return np.asarray(roots * ((roots * vectors) @ gram) + alphas[:, None] * vectors)

    def precondition(self, vectors: Array, systems: Array) -> Array:
        """Return the products of the inverse preconditioners with one vector each."""
        roots, penalized = self.roots_of(systems), systems // self._n_outputs
        projected = (roots * vectors) @ self._factor
        with one_blas_thread():
            for number in np.unique(penalized):
                own, factor = penalized == number, (self._factors[number], True)
                projected[own] = scipy.linalg.cho_solve(
                    factor, projected[own].T, check_finite=False
                ).T
        images = roots * (projected @ self._factor.T)
        return np.asarray((vectors - images) / self._alphas[penalized, None])


def _root(matrix: Array) -> Array:
    """Return a Cholesky factor of a matrix whose values are rounded to single precision.

    The smallest eigenvalues may be negative because of rounding, or because the kernel is
    indefinite.
    """
    # A bound on the absolute values of the eigenvalues (Gershgorin).
    largest = float(np.abs(matrix).sum(axis=0).max()) or 1.0
    part = 1e-6
    while True:
        try:
            shifted = with_diagonal(matrix, part * largest)
            return np.asarray(scipy.linalg.cholesky(shifted, lower=True))
        except np.linalg.LinAlgError:
            part *= 100.0


def _rounding(gram: Array) -> float:
    """Return the rounding error of eigenvalues of products summed in single precision."""
    return float(np.finfo(np.float32).eps * np.trace(gram))


def _products(first: Array, second: Array) -> Array:
    """Return inner products of rows, shape (n_rows,)."""
    return np.einsum("ij,ij->i", first, second, dtype=np.float64)

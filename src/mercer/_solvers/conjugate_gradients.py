"""Ridge regressions on one large Gram matrix by preconditioned conjugate gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from mercer._data.arrays import (
    copied,
    eye_like,
    in_double,
    indices_like,
    is_out_of_memory,
    like,
    namespace,
    to_numpy,
    triangular_inverse,
)
from mercer._data.types import AnyArray, Array
from mercer._gram.factors import definite_factor, inverted, with_diagonal
from mercer._gram.tiles import map_tiles

_SHIFT = 4.0
"""Preconditioners are shifted by this multiple of the rounding errors of their eigenvalues, because
their smallest eigenvalues may be as small as these errors. The shift is multiplied by this factor
again while a preconditioner is indefinite."""


class PreconditionedRidge:
    """Ridge regressions with several penalties, weights and targets on the same Gram matrix.

    Parameters
    ----------
    gram : array of float32 of shape (n_samples, n_samples)
        Positive semi-definite; on a card, the systems are solved there.
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

    def __init__(self, gram: AnyArray, columns: Array) -> None:
        self.gram, xp = gram, namespace(gram)
        # Rows are copied one after the other by libraries without indexing by arrays.
        some = xp.take(gram, indices_like(columns, gram), axis=0)
        corner = xp.take(some, indices_like(columns, gram), axis=1)
        self._factor = _solved(_root(corner), some).T

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
            systems = _Systems(self._factor, roots, alphas, n_outputs, shift)
            if systems.are_definite:
                solution = self._iterated(systems, copied(like(right, self.gram)), tol, max_iter)
            shift *= _SHIFT
        coefficients = solution * np.repeat(roots.astype(np.float32), len(alphas) * n_outputs, 0)
        shaped = coefficients.reshape(n_fits, len(alphas), n_outputs, n_samples)
        return np.asarray(shaped.transpose(0, 1, 3, 2))

    def _iterated(
        self, systems: _Systems, residual: AnyArray, tol: float, max_iter: int
    ) -> Array | None:
        """Return the solutions; None if rounding makes a preconditioner indefinite.

        The residual is overwritten.
        """
        solved = np.zeros(residual.shape, dtype=np.float32)
        active = systems.some(np.arange(len(solved)))
        direction = active.precondition(residual)
        power = _products(residual, direction)
        if (power < 0.0).any():
            return None
        limit, xp = tol**2 * power, namespace(residual)
        found, solution = power > limit, xp.zeros_like(residual)
        for _ in range(max_iter):
            if not found.all():
                solved[active.numbers[~found]] = to_numpy(solution)[~found]
                kept = indices_like(np.flatnonzero(found), residual)
                active, power = systems.some(active.numbers[found]), power[found]
                solution, residual, direction = (
                    xp.take(values, kept, axis=0) for values in (solution, residual, direction)
                )
            if not len(active.numbers):
                break
            image = active.apply(self.gram, direction)
            step = like(power / _products(direction, image), residual)[:, None]
            solution += step * direction
            residual -= step * image
            conditioned = active.precondition(residual)
            before, power = power, _products(residual, conditioned)
            if (power < 0.0).any():
                return None
            direction *= like(power / before, residual)[:, None]
            direction += conditioned
            found = power > limit[active.numbers]
        solved[active.numbers] = to_numpy(solution)
        return solved


class _Systems:
    """The matrices D K D + a I of all fits and penalties, and their preconditioners.

    Parameters
    ----------
    factor : array of float32 of shape (n_samples, rank)
        A factor F such that F F' approximates the Gram matrix.
    roots : ndarray of shape (n_fits, n_samples)
    alphas : ndarray of shape (n_alphas,)
    n_outputs : int
    shift : float
        Shift of the preconditioners, in units of the rounding errors of products.
    """

    def __init__(
        self, factor: AnyArray, roots: Array, alphas: Array, n_outputs: int, shift: float
    ) -> None:
        self.factor, self.roots, self.n_outputs = factor, like(roots, factor), n_outputs
        self.alphas = np.tile(alphas, len(roots)).astype(np.float32)
        self.fit = np.repeat(np.arange(len(roots)), len(alphas))
        xp, whole = namespace(factor), factor.T @ factor

        def factorized(fit: int) -> Sequence[AnyArray | None]:
            # Most fits leave out few samples, and products of these are faster than products of the
            # rest.
            others = np.flatnonzero(roots[fit] != 1.0)
            left = xp.take(factor, indices_like(others, factor), axis=0)
            weighted = like(roots[fit, others, None], factor) * left
            gram = in_double(whole - left.T @ left + weighted.T @ weighted)
            rounding = shift * _rounding(gram)
            return [_inverse(_shifted(gram, alpha + rounding)) for alpha in alphas]

        mapped = map_tiles if isinstance(factor, np.ndarray) else map
        fits = list(mapped(factorized, range(len(roots))))
        found = [inverse for of_fit in fits for inverse in of_fit]
        self.inverses = [inverse for inverse in found if inverse is not None]
        # Rounding may leave no factor.
        self.are_definite = len(self.inverses) == len(found)

    def some(self, numbers: Array) -> _ActiveSystems:
        """Return some of the systems.

        Parameters
        ----------
        numbers : ndarray of int of shape (n_systems,)
            Ascending.
        """
        penalized = numbers // self.n_outputs
        fits = indices_like(self.fit[penalized], self.factor)
        roots = namespace(self.factor).take(self.roots, fits, axis=0)
        alphas = like(self.alphas[penalized, None], self.factor)
        same = np.flatnonzero(np.diff(penalized, prepend=-1, append=-1))
        parts = [slice(*ends) for ends in zip(same[:-1].tolist(), same[1:].tolist(), strict=True)]
        inverses = [self.inverses[penalized[part.start]] for part in parts]
        return _ActiveSystems(numbers, self.factor, roots, alphas, parts, inverses)


@dataclass(frozen=True)
class _ActiveSystems:
    """Some of the systems, on vectors that are rows in the order of the systems.

    Attributes
    ----------
    numbers : ndarray of int of shape (n_systems,)
    factor : array of shape (n_samples, rank)
    roots : array of shape (n_systems, n_samples)
        Square roots of the weights.
    alphas : array of shape (n_systems, 1)
    parts : sequence of slice
        Systems with the same fit and penalty.
    inverses : sequence of array of shape (rank, rank)
        For each part, the inverse of F' D^2 F + a I.
    """

    numbers: Array
    factor: AnyArray
    roots: AnyArray
    alphas: AnyArray
    parts: Sequence[slice]
    inverses: Sequence[AnyArray]

    def apply(self, gram: AnyArray, vectors: AnyArray) -> AnyArray:
        """Return the products of the matrices with one vector each.

        The Gram matrix is symmetric, so that vectors may stand on its left. A product with few
        columns on its right would first copy the matrix into another layout.
        """
        return self.roots * ((self.roots * vectors) @ gram) + self.alphas * vectors

    def precondition(self, vectors: AnyArray) -> AnyArray:
        """Return the products of the inverse preconditioners with one vector each."""
        projected, xp = (self.roots * vectors) @ self.factor, namespace(vectors)
        for part, inverse in zip(self.parts, self.inverses, strict=True):
            solved = in_double(projected[part, :]) @ inverse
            projected[part, :] = xp.astype(solved, vectors.dtype)
        return (vectors - self.roots * (projected @ self.factor.T)) / self.alphas


def _root(matrix: AnyArray) -> AnyArray:
    """Return a Cholesky factor of a matrix whose values are rounded to single precision.

    The smallest eigenvalues may be negative because of rounding, or because the kernel is
    indefinite.
    """
    doubled, xp = in_double(matrix), namespace(matrix)
    # A bound on the absolute values of the eigenvalues (Gershgorin).
    largest = float(xp.max(xp.sum(xp.abs(doubled), axis=0))) or 1.0
    part = 1e-6
    while (factor := _cholesky(_shifted(doubled, part * largest))) is None:
        part *= 100.0
    return xp.astype(factor, matrix.dtype)


def _cholesky(matrix: AnyArray) -> AnyArray:
    """Return the lower Cholesky factor, or None if the matrix is not positive definite."""
    try:
        factor = namespace(matrix).linalg.cholesky(matrix)
    except (np.linalg.LinAlgError, RuntimeError) as error:
        if is_out_of_memory(error):
            raise
        return None
    return factor if float(factor[-1, -1]) > 0.0 else None


def _shifted(matrix: AnyArray, value: float) -> AnyArray:
    """Return A + a I as a new array."""
    if isinstance(matrix, np.ndarray):
        return with_diagonal(matrix, value)
    return matrix + float(value) * eye_like(matrix)


def _solved(root: AnyArray, sides: AnyArray) -> AnyArray:
    """Return the solution of a lower triangular system."""
    if isinstance(root, np.ndarray):
        return scipy.linalg.solve_triangular(root, sides, lower=True, check_finite=False)
    return triangular_inverse(root) @ sides


def _inverse(matrix: AnyArray) -> AnyArray | None:
    """Return the inverse in double precision, or None if the matrix is not positive definite.

    Products with it are faster than the solution of triangular systems, above all on several cores
    or on a card. In single precision, they would lose the digits that cancel in preconditioners.
    """
    if isinstance(matrix, np.ndarray):
        try:
            return inverted(definite_factor(matrix))
        except ValueError:
            return None
    if (factor := _cholesky(matrix)) is None:
        return None
    root = triangular_inverse(factor)
    return root.T @ root


def _rounding(gram: AnyArray) -> float:
    """Return the rounding error of eigenvalues of products summed in single precision."""
    xp = namespace(gram)
    return float(np.finfo(np.float32).eps) * float(xp.sum(xp.linalg.diagonal(gram)))


def _products(first: AnyArray, second: AnyArray) -> Array:
    """Return inner products of rows, shape (n_rows,)."""
    if isinstance(first, np.ndarray):
        return np.einsum("ij,ij->i", first, second, dtype=np.float64)
    xp = namespace(first)
    return to_numpy(xp.sum(first * second, axis=1, dtype=xp.float64))

"""Preconditioned conjugate gradients, and ridge regressions on one large Gram matrix by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TypeAlias

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
from mercer._gram.symmetric import Symmetric
from mercer._gram.tiles import map_tiles

_SHIFT = 4.0
"""Preconditioners are shifted by this multiple of the rounding errors of their eigenvalues, because
their smallest eigenvalues may be as small as these errors. The shift is multiplied by this factor
again while a preconditioner is indefinite."""

Product: TypeAlias = Callable[[AnyArray, Array], AnyArray]
"""Maps vectors, as rows, and the numbers of their systems to a product for each system."""


class PreconditionedRidge:
    """Ridge regressions with several penalties, weights and targets on the same Gram matrix.

    Parameters
    ----------
    gram : UpperTriangle or WholeMatrix
        Positive semi-definite, in single precision; on a card, the systems are solved there.
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
    >>> from mercer._gram.symmetric import WholeMatrix
    >>> gram, y = WholeMatrix(np.diag(np.float32([1.0, 3.0]))), np.array([[2.0], [2.0]])
    >>> ridge = PreconditionedRidge(gram, np.arange(2))
    >>> ridge.solve(y[None], np.ones((1, 2)), np.array([1.0]))[0, 0, :, 0].round(6)
    array([1. , 0.5], dtype=float32)
    """

    def __init__(self, gram: Symmetric, columns: Array) -> None:
        self.gram, some = gram, gram.rows(columns)
        corner = namespace(some).take(some, indices_like(columns, some), axis=1)
        self._factor = _solved(_root(corner), some).T

    def products(self, vectors: Array) -> Array:
        """Return the products of the Gram matrix with vectors, which are rows."""
        return to_numpy(self.gram.product(like(vectors.astype(np.float32), self._factor)))

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
        right = np.repeat(scaled.transpose(0, 2, 1)[:, None], len(alphas), axis=1)
        right, solution, shift = right.reshape(-1, n_samples), None, _SHIFT
        while solution is None:
            with suppress(IndefiniteError):
                systems = _Systems(
                    self.gram, self._factor, roots, alphas, n_outputs=n_outputs, shift=shift
                )
                solution = conjugate_gradients(
                    systems.apply,
                    systems.precondition,
                    copied(like(right, self._factor)),
                    tol=tol,
                    max_iter=max_iter,
                )
            shift *= _SHIFT
        coefficients = solution * np.repeat(roots.astype(np.float32), len(alphas) * n_outputs, 0)
        shaped = coefficients.reshape(n_fits, len(alphas), n_outputs, n_samples)
        return np.asarray(shaped.transpose(0, 1, 3, 2))


class IndefiniteError(ArithmeticError):
    """A preconditioner is indefinite because of rounding."""


def conjugate_gradients(
    apply: Product,
    precondition: Product,
    residual: AnyArray,
    *,
    tol: float,
    max_iter: int,
) -> Array:
    """Solve positive definite systems side by side, by preconditioned conjugate gradients.

    Parameters
    ----------
    apply, precondition : callable
        Map one vector for each of some systems, as rows, and the numbers of these systems to the
        products of the systems' matrices, and of the inverses of their preconditioners.
    residual : array of shape (n_systems, n)
        The right-hand sides, which are overwritten.
    tol : float
        Tolerance of the norm of the preconditioned gradient, relative to its value at zero.
    max_iter : int
        Maximum number of iterations.

    Returns
    -------
    ndarray of shape (n_systems, n)

    Raises
    ------
    IndefiniteError
        If a preconditioner is not positive definite.
    """
    solved, numbers = (
        np.zeros(residual.shape, to_numpy(residual[:0, :]).dtype),
        np.arange(residual.shape[0]),
    )
    direction = precondition(residual, numbers)
    power, xp = _products(residual, direction), namespace(residual)
    limit, solution = tol**2 * power, xp.zeros_like(residual)
    found, n_iter = power > limit, 0
    while True:
        if (power < 0.0).any():
            raise IndefiniteError("A preconditioner is indefinite.")
        if not found.any() or n_iter == max_iter:
            break
        if not found.all():
            solved[numbers[~found]] = to_numpy(solution)[~found]
            kept = indices_like(np.flatnonzero(found), residual)
            numbers, power = numbers[found], power[found]
            solution, residual, direction = (
                xp.take(values, kept, axis=0) for values in (solution, residual, direction)
            )
        image = apply(direction, numbers)
        step = like(power / _products(direction, image), residual)[:, None]
        solution += step * direction
        residual -= step * image
        conditioned = precondition(residual, numbers)
        before, power = power, _products(residual, conditioned)
        direction *= like(power / before, residual)[:, None]
        direction += conditioned
        found, n_iter = power > limit[numbers], n_iter + 1
    solved[numbers] = to_numpy(solution)
    return solved


class _Systems:
    """The matrices D K D + a I of all fits and penalties, and their preconditioners.

    Parameters
    ----------
    gram : UpperTriangle or WholeMatrix
    factor : array of float32 of shape (n_samples, rank)
        A factor F such that F F' approximates the Gram matrix.
    roots : ndarray of shape (n_fits, n_samples)
    alphas : ndarray of shape (n_alphas,)
    n_outputs : int
        Systems are ordered by fit, then penalty, then output.
    shift : float
        Shift of the preconditioners, in units of the rounding errors of products.

    Raises
    ------
    IndefiniteError
        If a preconditioner is not positive definite.
    """

    def __init__(
        self,
        gram: Symmetric,
        factor: AnyArray,
        roots: Array,
        alphas: Array,
        *,
        n_outputs: int,
        shift: float,
    ) -> None:
        self.gram, self.factor, self.roots = gram, factor, like(roots, factor)
        self.penalized = np.repeat(np.arange(len(roots) * len(alphas)), n_outputs)
        self.alphas = np.tile(alphas, len(roots)).astype(np.float32)
        self.fit = np.repeat(np.arange(len(roots)), len(alphas))
        xp, whole = namespace(factor), factor.T @ factor

        def factorized(fit: int) -> Sequence[AnyArray]:
            # Most fits leave out few samples, and products of these are faster than products of the
            # rest.
            others = np.flatnonzero(roots[fit] != 1.0)
            left = xp.take(factor, indices_like(others, factor), axis=0)
            gram = whole - left.T @ left
            if len(some := others[roots[fit, others] > 0.0]):
                part = xp.take(factor, indices_like(some, factor), axis=0)
                weighted = like(roots[fit, some, None], factor) * part
                gram += weighted.T @ weighted
            gram = in_double(gram)
            rounding = shift * _rounding(gram)
            return [_inverse(_shifted(gram, alpha + rounding)) for alpha in alphas]

        mapped = map_tiles if isinstance(factor, np.ndarray) else map
        fits = list(mapped(factorized, range(len(roots))))
        self.inverses = [inverse for of_fit in fits for inverse in of_fit]

    def apply(self, vectors: AnyArray, numbers: Array) -> AnyArray:
        """Return the products of the matrices of some systems with one vector each."""
        roots, alphas = self._of(numbers)
        return roots * self.gram.product(roots * vectors) + alphas * vectors

    def precondition(self, vectors: AnyArray, numbers: Array) -> AnyArray:
        """Return the products of the inverse preconditioners with one vector each.

        The inverses of F' D^2 F + a I are the same for all outputs of a fit at a penalty.
        """
        (roots, alphas), penalized = self._of(numbers), self.penalized[numbers]
        projected, xp = (roots * vectors) @ self.factor, namespace(vectors)
        ends = np.flatnonzero(np.diff(penalized, prepend=-1, append=-1))
        for first, end in pairwise(ends.tolist()):
            solved = in_double(projected[first:end, :]) @ self.inverses[penalized[first]]
            projected[first:end, :] = xp.astype(solved, vectors.dtype)
        return (vectors - roots * (projected @ self.factor.T)) / alphas

    def _of(self, numbers: Array) -> tuple[AnyArray, AnyArray]:
        """Return the square roots of the weights, and the penalties, of some systems."""
        penalized = self.penalized[numbers]
        fits = indices_like(self.fit[penalized], self.factor)
        roots = namespace(self.factor).take(self.roots, fits, axis=0)
        return roots, like(self.alphas[penalized, None], self.factor)


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


def _inverse(matrix: AnyArray) -> AnyArray:
    """Return the inverse in double precision.

    Products with it are faster than the solution of triangular systems, above all on several cores
    or on a card. In single precision, they would lose the digits that cancel in preconditioners.

    Raises
    ------
    IndefiniteError
        If the matrix is not positive definite.
    """
    if isinstance(matrix, np.ndarray):
        try:
            return inverted(definite_factor(matrix))
        except ValueError as error:
            raise IndefiniteError("A preconditioner is indefinite.") from error
    if (factor := _cholesky(matrix)) is None:
        raise IndefiniteError("A preconditioner is indefinite.")
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

"""Ridge regression on many centers by preconditioned conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from mercer._blocks import BlockStatistic
from mercer._gram.dense import definite_factor, to_unit_scale, with_diagonal
from mercer._gram.sample_weights import constant_vector, scaled_rows
from mercer._nystroem.column_products import ColumnProducts, ResidualSums
from mercer._nystroem.feature_ridge import LinearFit, RidgeChoice
from mercer._nystroem.kernel_columns import KernelColumns
from mercer._nystroem.normal_equations import FoldSums
from mercer._nystroem.target_encoding import TargetEncoding
from mercer._typing import Array, Features
from mercer.kernels import Kernel

MOST_DIRECT = 5000
"""With more centers than this, the normal equations cost more than conjugate gradients."""

_FEW = 2000
"""The penalty is first chosen with so many of the centers."""

_STEP = 0.5
"""Then powers of ten around that one are compared, whose exponents differ by this."""

_MOST_WINDOWS = 4
"""If the best of them is the smallest or the largest, others around it are, up to so many times."""

_HELD_OUT = 0
"""The fold on which these penalties are compared."""

_MAX_ITER = 20
"""Most iterations of conjugate gradients, each a pass over all rows."""

_COMPARED, _FITTED = 1e-2, 1e-3
"""Iterations end when the preconditioned gradient is this fraction of that at zero: when penalties
are compared, and in the end."""

_JITTER = 1e-12
"""Fraction of the trace that is added to the Gram matrix of the centers, to factorize it."""

Reduce = Callable[[BlockStatistic[ResidualSums]], ResidualSums]
"""Accumulates a statistic over all rows."""


@dataclass(frozen=True)
class CenterBasis:
    """Features Z = k(X, C) H L^-T of unit scale, for H = I - 11' / m and m centers C.

    L L' = H k(C, C) H + 11' / m, at unit scale: the centers' centered Gram matrix, to which the
    direction of constants is added, so that L is regular. H takes that direction from the features,
    whose products with residuals then never reach it: coefficients of kernel values sum to zero.

    Attributes
    ----------
    columns : KernelColumns
        The kernel between rows and centers, centered at the mean of the centers.
    factor : ndarray of shape (n_centers, n_centers)
        L, lower triangular; what is above the diagonal is not read.
    scale : float
        What the kernel is divided by.
    sampled : ndarray of shape (n_centers, n_centers)
        S'S / s for the centered features S of s sampled rows, weighted like these.
    """

    columns: KernelColumns
    factor: Array
    scale: float
    sampled: Array

    def coefficients(self, solution: Array) -> Array:
        """Coefficients of kernel values, from those of features; H changes neither."""
        solved = solve_triangular(self.factor, solution, lower=True, trans="T", check_finite=False)
        return np.asarray(solved / self.scale)

    def adjoint(self, products: Array) -> Array:
        """Products with features, from those with kernel values."""
        centered = products - products.mean(axis=0)
        solved = solve_triangular(self.factor, centered, lower=True, check_finite=False)
        return np.asarray(solved / self.scale)

    def preconditioner(self, n_rows: float, alpha: float) -> Callable[[Array], Array]:
        """The inverse of n S'S / s + alpha I."""
        inner = definite_factor(with_diagonal(n_rows * self.sampled, alpha))
        return lambda right: np.asarray(cho_solve((inner, True), right, check_finite=False))


def center_basis(
    kernel: Kernel, centers: Features, sample: Features, weights: Array | None = None
) -> CenterBasis:
    """Factorize the centers' Gram matrix, and sum the products of sampled rows' features.

    Parameters
    ----------
    kernel : Kernel
        Bound to the table.
    centers, sample : ndarray or sparse matrix of shape (n_centers, n_features), (n, n_features)
    weights : ndarray of shape (n,), default=None
        Positive weights of the sampled rows.

    Raises
    ------
    ValueError
        If the kernel has values that are not finite, or is not positive semi-definite.
    """
    centers = centers.astype(np.float64, copy=False)
    gram = kernel._shifted(centers, None)
    if not np.isfinite(gram).all():
        raise ValueError(f"Kernel returned NaN or infinity at the centers: {kernel.describe()}.")
    m = len(gram)
    gram, unit = to_unit_scale((gram + gram.T) / 2.0)
    gram += 1.0 / m
    columns = KernelColumns(kernel, centers, unit.means)
    factor = definite_factor(with_diagonal(gram, _JITTER * float(np.trace(gram))))
    products, sums = np.zeros((m, m)), np.zeros(m)
    roots = constant_vector(sample.shape[0], None if weights is None else np.sqrt(weights))
    total = float(roots @ roots)
    for rows in columns.tiles(sample.shape[0]):
        values = columns(sample[rows])
        values -= values.mean(axis=1, keepdims=True)
        values = scaled_rows(values, None if weights is None else weights[rows])
        features = solve_triangular(factor, values.T / unit.scale, lower=True, check_finite=False)
        products += features @ features.T
        sums += features @ roots[rows]
    products -= np.outer(sums, sums / total)
    return CenterBasis(columns, factor, unit.scale, products / total)


def some_centers(centers: Features) -> Features:
    """Evenly spaced rows of the centers, on which a penalty is chosen.

    Parameters
    ----------
    centers : ndarray or sparse matrix of shape (n_centers, n_features)
    """
    return centers[np.linspace(0, centers.shape[0] - 1, _FEW).round().astype(int)]


def ridge_by_conjugate_gradients(
    reduced: Reduce,
    basis: CenterBasis,
    encoding: TargetEncoding,
    *,
    sums: FoldSums,
    start: float,
    alphas: Array | None = None,
) -> RidgeChoice:
    """Fit ridge regression with an intercept on a kernel's values at many centers.

    Parameters
    ----------
    reduced : callable
        Accumulates a statistic over all rows, in one pass.
    basis : CenterBasis
    encoding : TargetEncoding
    sums : FoldSums
        Numbers of rows, or sums of their weights, and sums of targets, by fold.
    start : float
        The penalty that is tried first.
    alphas : ndarray of shape (n_alphas,), default=None
        Penalties that may be chosen; any if None.

    Returns
    -------
    RidgeChoice
        Its losses are errors on one held-out fold.

    Notes
    -----
    The problem is that of :func:`ridge_on_features`: a sum of an intercept, which is not penalized,
    and a function f = sum_j b_j k(., c_j) of the centers c_j with sum_j b_j = 0, whose penalty is
    alpha |f|^2 at unit scale. Exact ridge regression has such coefficients, too; they keep the
    predictions when a constant is added to the kernel, and the digits of wide kernels.

    With the features Z of :class:`CenterBasis`, centered at the mean of the rows, the normal
    equations Z'Z + alpha I are preconditioned by (n / s) S'S + alpha I, for the features S of s
    sampled rows. Falkon takes the centers alone as the sample; more rows save iterations where
    alpha is small. Three penalties within one decade are solved for together, with one
    preconditioner, and compared on a fold that is held out; then the best is solved for on all
    rows.

    A pass over the rows in each iteration, some twenty to forty in all; O(m^3 + s m^2) time and
    memory for four m x m matrices besides.

    References
    ----------
    Rudi, Carratino, Rosasco (2017), FALKON: An optimal large scale kernel method, NeurIPS 30.
    """
    k, n_rows = encoding.n_outputs, float(sums.counts.sum())
    center = _nearest(start, alphas)
    solution: Array = np.zeros((basis.columns.n_centers, k))
    reference: Array | None = None
    losses: dict[float, float] = {}
    found: dict[float, _Solution] = {}
    for _ in range(_MOST_WINDOWS):
        system = _System(reduced, basis, encoding, basis.preconditioner(n_rows, center))
        grid = [a for a in _window(center, alphas) if a not in losses]
        zero = None if reference is None else np.tile(reference, len(grid))
        several = system.solve(
            np.array(grid),
            np.tile(solution, len(grid)),
            zero,
            held_out=_HELD_OUT,
            tolerance=_COMPARED,
        )
        errors = _relative(system.errors(several, _HELD_OUT).reshape(len(grid), k), sums)
        for index, alpha in enumerate(grid):
            losses[alpha] = float(errors[index])
            found[alpha] = several.taken(slice(index * k, (index + 1) * k))
        alpha = min(losses, key=lambda a: (losses[a], -a))
        solution, reference = found[alpha].solution, found[alpha].reference
        if alpha == center or all(a in losses for a in _window(alpha, alphas)):
            break
        center = alpha
    whole = system.solve(np.array([alpha]), solution, reference, held_out=-1, tolerance=_FITTED)
    others: list[LinearFit | None] = [None] * (len(sums.counts) - 1)
    fits = [found[alpha].fit if sums.counts[_HELD_OUT] < n_rows else None, *others]
    compared = np.array(sorted(losses))
    relative = np.array([losses[a] for a in compared.tolist()])
    return RidgeChoice(compared, relative, alpha, whole.fit, fits)


def _nearest(alpha: float, alphas: Array | None) -> float:
    """The given penalty that is nearest in logarithm; any penalty where none is given."""
    if alphas is None:
        return _power(round(np.log10(alpha) / _STEP))
    grid = np.asarray(alphas, dtype=float)
    return float(grid[np.abs(np.log(grid / alpha)).argmin()])


def _window(center: float, alphas: Array | None) -> list[float]:
    """The penalty before one, itself and the next; of those given, or powers of ten."""
    if alphas is None:
        exponent = round(np.log10(center) / _STEP)
        return [_power(exponent + step) for step in (-1, 0, 1)]
    grid = np.unique(np.asarray(alphas, dtype=float))
    at = int(np.searchsorted(grid, center))
    return [float(alpha) for alpha in grid[max(at - 1, 0) : at + 2]]


def _power(exponent: int) -> float:
    return float(10.0 ** (_STEP * exponent))


@dataclass(frozen=True)
class _Solution:
    """Coefficients u of the features Z, and the same as a function of kernel values.

    Attributes
    ----------
    solution : ndarray of shape (n_centers, n_functions)
    fit : LinearFit
    reference : ndarray of shape (n_functions,)
        Squared preconditioned norms of the gradient that convergence is relative to.
    """

    solution: Array
    fit: LinearFit
    reference: Array

    def taken(self, functions: slice) -> _Solution:
        fit = LinearFit(self.fit.coefficients[:, functions], self.fit.intercept[functions])
        return _Solution(self.solution[:, functions], fit, self.reference[functions])


@dataclass(frozen=True)
class _System:
    """The normal equations, whose products are passes over the rows."""

    reduced: Reduce
    basis: CenterBasis
    encoding: TargetEncoding
    precondition: Callable[[Array], Array]

    def solve(
        self,
        alphas: Array,
        start: Array,
        reference: Array | None,
        *,
        held_out: int,
        tolerance: float,
    ) -> _Solution:
        """Preconditioned conjugate gradients, of each output at each penalty."""
        k = self.encoding.n_outputs
        penalties = np.repeat(alphas, k)
        solution = start.copy()
        outputs = np.tile(np.arange(k), alphas.size)
        sums = self._pass(
            self.basis.coefficients(solution), np.zeros(len(outputs)), outputs, held_out
        )
        count = float(sums.counts[0]) or 1.0
        means = sums.columns / count
        values = sums.residuals / count + means @ self.basis.coefficients(solution)
        residual = self._gradient(sums, means) - penalties * solution
        direction = conditioned = self.precondition(residual)
        power = np.einsum("ij,ij->j", residual, conditioned)
        reference = power if reference is None else reference
        none = np.full(len(outputs), -1)
        for _ in range(_MAX_ITER):
            active = power > tolerance**2 * reference
            if not active.any():
                break
            coefficients = self.basis.coefficients(direction)
            sums = self._pass(coefficients, -(means @ coefficients), none, held_out)
            image = penalties * direction - self._gradient(sums, means)
            curvature = np.einsum("ij,ij->j", direction, image)
            step = np.divide(power, curvature, out=np.zeros_like(power), where=active)
            solution += step * direction
            residual -= step * image
            conditioned = self.precondition(residual)
            before, power = power, np.einsum("ij,ij->j", residual, conditioned)
            ratio = np.divide(power, before, out=np.zeros_like(power), where=active)
            direction = conditioned + ratio * direction
        coefficients = self.basis.coefficients(solution)
        fit = LinearFit(coefficients, values - means @ coefficients)
        return _Solution(solution, fit, reference)

    def errors(self, found: _Solution, held_out: int) -> Array:
        """Sums of squared errors on the fold that is held out, shape (n_functions,)."""
        k, fit = self.encoding.n_outputs, found.fit
        outputs = np.arange(len(fit.intercept)) % k
        return self._pass(fit.coefficients, fit.intercept, outputs, held_out).errors

    def _pass(
        self, coefficients: Array, intercepts: Array, outputs: Array, held_out: int
    ) -> ResidualSums:
        return self.reduced(
            ColumnProducts(
                self.basis.columns, self.encoding, coefficients, intercepts, outputs, held_out
            )
        )

    def _gradient(self, sums: ResidualSums, means: Array) -> Array:
        """Z'R for features that are centered at the mean of the rows."""
        return self.basis.adjoint(sums.products - np.outer(means, sums.residuals))


def _relative(errors: Array, sums: FoldSums) -> Array:
    """Errors on the fold that is held out, relative to those of the other folds' means."""
    rest = np.arange(len(sums.counts)) != _HELD_OUT
    mean = sums.values[rest].sum(axis=0) / (float(sums.counts[rest].sum()) or 1.0)
    own = sums.counts[_HELD_OUT], sums.values[_HELD_OUT], sums.squares[_HELD_OUT]
    baseline = own[2] - 2.0 * mean * own[1] + own[0] * mean**2
    ratios = np.divide(errors, baseline, out=np.ones_like(errors), where=baseline > 0.0)
    return np.asarray(ratios.mean(axis=1))

"""Majorizers of an objective at a point, and their second-order models for Newton's method.

Newton's method (Nickisch and Seeger 2011, algorithm 1) minimizes the second-order expansion of a
majorizer jointly in the latent values u and in the weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_solve, cholesky, eigh, solve_triangular

from mercer._data.types import Array
from mercer._data.validation import ARITHMETIC
from mercer._gram.factors import definite_factor, scaled_system, with_diagonal
from mercer._gram.kernel_products import BaseGrams
from mercer._search.weights.weight_sets import LEAST_WEIGHT
from mercer.losses import QuadraticModel
from mercer.losses._smooth import Interpolation
from mercer.probabilistic._bound_widths import DeterminantModel
from mercer.probabilistic._likelihoods import Deviance, Likelihood


@dataclass(frozen=True)
class Point:
    """Weights and dual variables, with quantities derived from them.

    Attributes
    ----------
    weights : ndarray of shape (n_kernels,)
    alpha : ndarray of shape (n_samples, n_problems)
        The dual variables: u = (K + jitter I) alpha, for each problem.
    K : ndarray of shape (n_samples, n_samples)
        The sum of weights_m K_m.
    products : ndarray of shape (n_problems, n_kernels, n_samples)
        The kernel products K_m alpha.
    jitter : ndarray of shape (n_samples,)
        Term added to the diagonal of K, divided by the sample weights.
    """

    weights: Array
    alpha: Array
    K: Array
    products: Array
    jitter: Array

    @property
    def latent(self) -> Array:
        """Latent values u, shape (n_samples, n_problems)."""
        return (self.weights @ self.products + self.jitter * self.alpha.T).T

    @property
    def quadratics(self) -> Array:
        """Sums of alpha'K_m alpha over the problems, shape (n_kernels,)."""
        return np.einsum("cmn,nc->m", self.products, self.alpha)


@dataclass(frozen=True)
class LatentPosterior:
    """Gaussian posteriors of latent functions, one for each problem.

    Attributes
    ----------
    alpha : ndarray of shape (n_samples, n_problems)
        The posterior mean at x is k(x)'alpha.
    factors : tuple of (ndarray of shape (n_samples, n_samples), ndarray of shape (n_samples,))
        L and s of each problem: the variance at x is k(x, x) - |L^-1 (s * k(x))|^2. The tuple is
        empty if the loss has kinks, because its curvature then defines no variance.
    """

    alpha: Array
    factors: tuple[tuple[Array, Array], ...]

    def means(self, across: Array) -> Array:
        """Return the posterior means, shape (n_new, n_problems).

        Parameters
        ----------
        across : ndarray of shape (n_new, n_samples)
            The kernel between new samples and the training samples.
        """
        return across @ self.alpha

    def variances(self, across: Array, diagonal: Array) -> Array:
        """Return the posterior variances, shape (n_new, n_problems).

        Parameters
        ----------
        across : ndarray of shape (n_new, n_samples)
        diagonal : ndarray of shape (n_new,)
            The kernel of new samples with themselves.
        """
        if not self.factors:
            raise ValueError("There are no variances: the loss has no curvature at the mode.")
        result = np.empty((len(across), len(self.factors)))
        for c, (factor, scale) in enumerate(self.factors):
            half = solve_triangular(
                factor, scale[:, None] * across.T, lower=True, check_finite=False
            )
            result[:, c] = diagonal - np.einsum("nm,nm->m", half, half)
        return np.maximum(result, 0.0)


@dataclass(frozen=True)
class Majorizer:
    """An upper bound on an objective, in latent values and weights, that is tight at a point.

    Attributes
    ----------
    deviance : Deviance
    value : float
        The objective at the point.
    slopes : ndarray of shape (n_kernels,)
        Derivatives of the log-determinants with respect to the weights.
    determinants : tuple of DeterminantModel, or None
        Models of ln|K + Gamma| in the widths of bounds, one for each problem; None if the objective
        has no widths.
    gamma : ndarray of shape (n_samples, n_problems), or None
        Widths of the bounds at the point.
    weight_penalty : float or ndarray of shape (n_kernels,)
    norm : float
        The penalty on the weights is sum weight_penalty weights^norm.
    noise_curvature : float
        Second derivative, with respect to the last weight (the noise), of the terms that are not
        determinants. If it is negative, these terms are replaced by their tangent.
    factors : tuple of (ndarray of shape (n_samples, n_samples), ndarray of shape (n_samples,))
        The lower factor L and the scale s for each log-determinant of a matrix A, such that
        A^-1 = S L'^-1 L^-1 S with S = diag(s).
    """

    deviance: Deviance
    value: float
    slopes: Array
    determinants: tuple[DeterminantModel, ...] | None = None
    gamma: Array | None = None
    weight_penalty: float | Array = 0.0
    norm: float = 1.0
    factors: tuple[tuple[Array, Array], ...] = ()
    noise_curvature: float = 0.0

    @property
    def is_smooth(self) -> bool:
        """Whether latent values are found by Newton's method, not by fitting a kernel machine."""
        return self.determinants is not None or self.deviance.loss.is_smooth

    @property
    def damping(self) -> float:
        """The damping of the determinant models; one if there are no such models."""
        return 1.0 if self.determinants is None else self.determinants[0].damping

    def damped(self, damping: float) -> Majorizer:
        """Return the majorizer with another damping of the determinant models.

        Parameters
        ----------
        damping : float
        """
        if self.determinants is None or self.gamma is None or damping == self.damping:
            return self
        determinants = tuple(
            DeterminantModel.fit(gamma, model.slope(gamma), damping)
            for gamma, model in zip(self.gamma.T, self.determinants, strict=True)
        )
        return replace(self, determinants=determinants)

    def expand(self, y: Array, u: Array, problem: int, width: float = 0.0) -> QuadraticModel:
        """Expand the deviance, or its best bound, to second order at latent values of one problem.

        Parameters
        ----------
        y, u : ndarray of shape (n_samples,)
        problem : int
            Index of the problem.
        width : float, default=0.0
            A kink is replaced by a parabola that extends this far to either side.
        """
        if self.determinants is None:
            return self.deviance.quadratic_model(y, u, width)
        assert isinstance(self.deviance, Likelihood)
        return self.deviance.best_bound(y, u, self.determinants[problem])[0]

    def expand_costs(self, weights: Array) -> QuadraticModel:
        """Expand the cost of each weight, the sum of log-determinants and penalty, to second order.

        Parameters
        ----------
        weights : ndarray of shape (n_kernels,)
        """
        value, slope, curvature = self.slopes * weights, self.slopes, np.zeros_like(weights)
        if np.any(self.weight_penalty):
            p, penalty = self.norm, self.weight_penalty
            value = value + penalty * weights**p
            slope = slope + penalty * p * weights ** (p - 1.0)
            if p > 1.0:
                # For norms below two the curvature is infinite at zero.
                away = np.maximum(weights, LEAST_WEIGHT)
                curvature = penalty * p * (p - 1.0) * away ** (p - 2.0)
        if self.noise_curvature > 0.0:
            curvature[-1] += self.noise_curvature
        return QuadraticModel(value, slope, curvature)

    def concavity(self, grams: BaseGrams, probes: Array) -> Array:
        """Estimate the negative Hessian of the log-determinants in the weights.

        Parameters
        ----------
        grams : BaseGrams
        probes : ndarray of shape (n_samples, n_probes)
            Independent standard normal variables.

        Returns
        -------
        ndarray of shape (n_kernels, n_kernels)
            An unbiased, positive semi-definite estimate: tr(A^-1 K_m A^-1 K_l) is the mean of
            w'K_m A^-1 K_l w for random w with covariance A^-1.
        """
        result = np.zeros((self.slopes.size, self.slopes.size))
        for factor, scale in self.factors:
            w = scale[:, None] * solve_triangular(
                factor, probes, lower=True, trans=1, check_finite=False
            )
            products = grams.kernel_products(w).as_array() * scale
            flat = products.reshape(-1, len(w)).T
            E = solve_triangular(factor, flat, lower=True, check_finite=False)
            E = E.reshape(len(w), probes.shape[1], -1)
            result += np.einsum("nkm,nkl->ml", E, E, optimize=True) / probes.shape[1]
        if self.noise_curvature < 0.0:
            result[-1, -1] -= self.noise_curvature
        return result

    def posterior(self, Y: Array, point: Point) -> LatentPosterior:
        """Return the Gaussian posterior that the majorizer implies at the optimal latent values.

        Its noise variances are the widths of the bounds. Without bounds, they are derived from the
        curvature of the deviance, as in Laplace's approximation.

        Parameters
        ----------
        Y : ndarray of shape (n_samples, n_problems)
        point : Point
        """
        if self.determinants is not None or isinstance(self.deviance.loss, Interpolation):
            return LatentPosterior(point.alpha, self.factors)
        if not self.is_smooth:
            return LatentPosterior(point.alpha, ())
        systems = NewtonModel(self, Y, point, 0.0, width=0.0).systems
        return LatentPosterior(point.alpha, tuple((each.factor, each.root) for each in systems))


@dataclass(frozen=True)
class Direction:
    """The step from a point to the minimizer of a second-order model.

    Attributes
    ----------
    weights : ndarray of shape (n_kernels,)
    alpha : ndarray of shape (n_samples, n_problems)
    slope : float
        Derivative, along the step, of the majorizer with the barrier.
    """

    weights: Array
    alpha: Array
    slope: float


class NewtonModel:
    """Second-order model of a majorizer with a barrier, in latent values and weights.

    Parameters
    ----------
    majorizer : Majorizer
    Y : ndarray of shape (n_samples, n_problems)
    point : Point
    barrier : float
        Weight of the logarithmic barrier that keeps the weights positive.
    width : float
        A kink is replaced by a parabola that extends this far to either side.
    """

    def __init__(
        self, majorizer: Majorizer, Y: Array, point: Point, barrier: float, width: float
    ) -> None:
        self.point, self.barrier = point, barrier
        self.costs = majorizer.expand_costs(point.weights)
        K = with_diagonal(point.K, point.jitter) if np.any(point.jitter) else point.K
        U = point.latent
        self.systems = [
            _LatentSystem(
                K,
                majorizer.expand(Y[:, c], U[:, c], c, width),
                point.alpha[:, c],
                optimal=not majorizer.is_smooth,
            )
            for c in range(Y.shape[1])
        ]

    def latent_direction(self) -> Direction:
        """Return the step to the best latent values for the current weights."""
        return self._with_latents(np.zeros_like(self.point.weights), 0.0)

    def direction(self, concavity: Array | None = None, step_extension: float = 1.0) -> Direction:
        """Return the step to the best latent values and weights.

        Parameters
        ----------
        concavity : ndarray of shape (n_kernels, n_kernels), default=None
            The negative Hessian of the log-determinants, which the majorizer neglects. Taking it
            into account makes the step longer.
        step_extension : float, default=1.0
            Largest factor by which a component of the step is extended.
        """
        weights = self.point.weights
        gradient = self.costs.slope - self.point.quadratics - self.barrier / weights
        curvature, shift = np.zeros((weights.size, weights.size)), np.zeros(weights.size)
        for system, V in zip(self.systems, self.point.products, strict=True):
            rows = system.root[:, None] * V.T
            E = solve_triangular(system.factor, rows, lower=True, check_finite=False)
            curvature += 2.0 * E.T @ E
            shift += V @ system.residual
        # In terms of relative changes, the barrier has the same curvature for all weights.
        H = curvature * np.outer(weights, weights)
        H[np.diag_indices_from(H)] += weights**2 * self.costs.curvature + self.barrier
        side = -weights * (gradient + shift)
        scale = 1.0 / np.sqrt(np.diag(H))
        H *= np.outer(scale, scale)
        # The scaled Hessian is singular up to rounding if kernels are linearly dependent.
        factor = cholesky(with_diagonal(H, 0.1 * ARITHMETIC), lower=True, check_finite=False)
        step = solve_triangular(factor, scale * side, lower=True, check_finite=False)
        if concavity is not None:
            # H minus the concavity is diagonal in the basis of these eigenvectors. Because absolute
            # values of the diagonal are used, the step is a descent direction of the majorizer even
            # if the estimate is inaccurate.
            relative = concavity * np.outer(scale * weights, scale * weights)
            half = solve_triangular(factor, relative, lower=True, check_finite=False)
            relative = solve_triangular(factor, half.T, lower=True, check_finite=False)
            values, Q = eigh(0.5 * (relative + relative.T), check_finite=False)
            remaining = np.maximum(np.abs(1.0 - values), 1.0 / step_extension)
            step = Q @ ((Q.T @ step) / remaining)
        step = solve_triangular(factor, step, lower=True, trans=1, check_finite=False)
        step *= scale * weights
        return self._with_latents(step, float(gradient @ step))

    def _with_latents(self, step: Array, slope: float) -> Direction:
        """Complete a step in the weights with the best step in the dual variables."""
        alpha = np.empty_like(self.point.alpha)
        for c, (system, V) in enumerate(zip(self.systems, self.point.products, strict=True)):
            along = step @ V
            alpha[:, c] = -0.5 * system.residual - system.solved(along)
            slope += float(system.gradient @ (along + system.K @ alpha[:, c]))
        return Direction(step, alpha, slope)


class _LatentSystem:
    """Solver of systems in K + 2 / D, by B = I + S K S, where D is the curvature of a deviance."""

    def __init__(self, K: Array, model: QuadraticModel, alpha: Array, *, optimal: bool) -> None:
        self.K = K
        infinite = np.isinf(model.curvature).all()
        self.root = np.ones_like(alpha) if infinite else np.sqrt(0.5 * model.curvature)
        self.factor = definite_factor(scaled_system(K, self.root, 0.0 if infinite else 1.0))
        # Latent values that a kernel machine has found are optimal: their gradient is zero.
        self.gradient = np.zeros_like(alpha) if optimal else 2.0 * alpha + model.slope
        self.residual = self.gradient - self.solved(K @ self.gradient)

    def solved(self, v: Array) -> Array:
        """Return (K + 2 / D)^-1 v, shape (n_samples,)."""
        return self.root * cho_solve((self.factor, True), self.root * v, check_finite=False)

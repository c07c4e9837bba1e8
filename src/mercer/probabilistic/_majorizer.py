"""A point, the function that majorizes an objective there, and the model of Newton's method for it.

Newton's method (Nickisch and Seeger 2011, algorithm 1) minimizes the second-order expansion of a
majorizer jointly in the latent values u and in the weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from mercer._gram.dense import definite_factor, scaled_system, with_diagonal
from mercer._typing import Array
from mercer._validation import ARITHMETIC
from mercer._weights.weight_sets import LEAST_WEIGHT
from mercer.losses import QuadraticModel
from mercer.losses._smooth import Interpolation
from mercer.probabilistic._bound_widths import DeterminantModel
from mercer.probabilistic._likelihoods import Deviance, Likelihood


@dataclass(frozen=True)
class Point:
    """Weights and dual variables, with the quantities that follow from them.

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
        What is added to the diagonal of K; divided by the weights of the samples.
    """

    weights: Array
    alpha: Array
    K: Array
    products: Array
    jitter: Array

    @property
    def latent(self) -> Array:
        """The latent values u, shape (n_samples, n_problems)."""
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
        empty if the loss has kinks, as it has no curvature then that defines a variance.
    """

    alpha: Array
    factors: tuple[tuple[Array, Array], ...]

    def means(self, across: Array) -> Array:
        """Return posterior means, shape (n_new, n_problems).

        Parameters
        ----------
        across : ndarray of shape (n_new, n_samples)
            The kernel between new samples and the training samples.
        """
        return across @ self.alpha

    def variances(self, across: Array, diagonal: Array) -> Array:
        """Return posterior variances, shape (n_new, n_problems).

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
    """A function of latent values and weights that is above an objective, and equal at a point.

    Attributes
    ----------
    deviance : Deviance
    value : float
        The objective at the point.
    slopes : ndarray of shape (n_kernels,)
        Derivatives of the log-determinants in the weights.
    determinants : tuple of DeterminantModel, or None
        Models of ln|K + Gamma| in the widths of bounds, one for each problem; None if the objective
        has no widths.
    gamma : ndarray of shape (n_samples, n_problems), or None
        Widths of the bounds at the point.
    weight_penalty : float or ndarray of shape (n_kernels,)
    norm : float
        The weights also cost sum weight_penalty weights^norm.
    noise_curvature : float
        Second derivative in the last weight, of the noise, of terms that are not determinants. If
        it is negative, their tangent stands for them.
    factors : tuple of (ndarray of shape (n_samples, n_samples), ndarray of shape (n_samples,))
        For each log-determinant of a matrix A the lower factor L and the scale s of
        A^-1 = S L'^-1 L^-1 S, where S = diag(s).
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
        """Whether Newton's method finds latent values; otherwise a kernel machine is solved."""
        return self.determinants is not None or self.deviance.loss.is_smooth

    @property
    def damping(self) -> float:
        """The damping of the determinant models, one if there are none."""
        return 1.0 if self.determinants is None else self.determinants[0].damping

    def damped(self, damping: float) -> Majorizer:
        """Return the majorizer whose determinant models have another damping.

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
        """Expand the deviance or its best bound at latent values of one problem.

        Parameters
        ----------
        y, u : ndarray of shape (n_samples,)
        problem : int
            Index of the problem.
        width : float, default=0.0
            A kink is replaced by a parabola that extends this far on either side.
        """
        if self.determinants is None:
            return self.deviance.quadratic_model(y, u, width)
        assert isinstance(self.deviance, Likelihood)
        return self.deviance.best_bound(y, u, self.determinants[problem])[0]

    def expand_costs(self, weights: Array) -> QuadraticModel:
        """Expand the cost of each weight, of log-determinants and penalty.

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

    def posterior(self, Y: Array, point: Point) -> LatentPosterior:
        """Return the Gaussian posterior that the majorizer implies at the optimal latent values.

        The widths of bounds are its noise variances. Without bounds they come from the curvature of
        the deviance, as in Laplace's approximation.

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
        Derivative of the majorizer with the barrier along the step.
    """

    weights: Array
    alpha: Array
    slope: float


class NewtonModel:
    """The second-order model of a majorizer with a barrier, in latent values and weights.

    Parameters
    ----------
    majorizer : Majorizer
    Y : ndarray of shape (n_samples, n_problems)
    point : Point
    barrier : float
        Weight of the logarithmic barrier that keeps the weights positive.
    width : float
        A kink is replaced by a parabola that extends this far on either side.
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
        """Return the step to the best latent values for the present weights."""
        return self._with_latents(np.zeros_like(self.point.weights), 0.0)

    def direction(self) -> Direction:
        """Return the step to the best latent values and weights."""
        weights = self.point.weights
        gradient = self.costs.slope - self.point.quadratics - self.barrier / weights
        curvature, shift = np.zeros((weights.size, weights.size)), np.zeros(weights.size)
        for system, V in zip(self.systems, self.point.products, strict=True):
            E = system.half_solved(V)
            curvature += 2.0 * E.T @ E
            shift += V @ system.residual
        # In relative changes of the weights, the barrier has the same curvature for all weights.
        H = curvature * np.outer(weights, weights)
        H[np.diag_indices_from(H)] += weights**2 * self.costs.curvature + self.barrier
        side = -weights * (gradient + shift)
        scale = 1.0 / np.sqrt(np.diag(H))
        H *= np.outer(scale, scale)
        # The scaled Hessian is singular up to rounding if kernels are linearly dependent.
        factor = cholesky(with_diagonal(H, 0.1 * ARITHMETIC), lower=True, check_finite=False)
        step = cho_solve((factor, True), scale * side, check_finite=False)
        step *= scale * weights
        return self._with_latents(step, float(gradient @ step))

    def _with_latents(self, step: Array, slope: float) -> Direction:
        """Complete a step in the weights by the best step in the dual variables."""
        alpha = np.empty_like(self.point.alpha)
        for c, (system, V) in enumerate(zip(self.systems, self.point.products, strict=True)):
            along = step @ V
            alpha[:, c] = -0.5 * system.residual - system.solved(along)
            slope += float(system.gradient @ (along + system.K @ alpha[:, c]))
        return Direction(step, alpha, slope)


class _LatentSystem:
    """(K + 2 / D)^-1 for one problem, D the curvature of its deviance, by B = I + S K S."""

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

    def half_solved(self, V: Array) -> Array:
        """Return L^-1 S V', shape (n_samples, n_kernels)."""
        return np.asarray(
            solve_triangular(self.factor, self.root[:, None] * V.T, lower=True, check_finite=False)
        )

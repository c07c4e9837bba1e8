"""The second-order model of an objective in latent values and weights at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, cholesky, eigh, solve_triangular

from mercer._gram.dense import definite_factor, scaled_system, with_diagonal
from mercer._typing import Array
from mercer.probabilistic._latent_losses import Parabola
from mercer.probabilistic._objectives import Majorizer, Point

_RIDGE = 1e-14


@dataclass(frozen=True)
class Direction:
    """Where to go from a point.

    Attributes
    ----------
    theta : ndarray of shape (n_kernels,)
    alpha : ndarray of shape (n_samples, n_problems)
    slope : float
        Derivative of the majorizer with the barrier.
    """

    theta: Array
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
    width : float
        A kink counts as a parabola this wide on either side.
    """

    def __init__(
        self, majorizer: Majorizer, Y: Array, point: Point, barrier: float, width: float
    ) -> None:
        self.point, self.barrier = point, barrier
        self.costs = majorizer.costs(point.theta)
        K = with_diagonal(point.K, point.jitter) if point.jitter else point.K
        U = point.latent
        self.problems = [
            _LatentSystem(
                K,
                majorizer.losses(Y[:, c], U[:, c], c, width),
                point.alpha[:, c],
                direct=majorizer.direct,
            )
            for c in range(Y.shape[1])
        ]

    def settling(self) -> Direction:
        """The model's minimizer for the weights as they are, less the point."""
        return self._with_latents(np.zeros_like(self.point.theta), 0.0)

    def direction(self, bend: Array | None = None, reach: float = 1.0) -> Direction:
        """The model's minimizer, less the point.

        Parameters
        ----------
        bend : ndarray of shape (n_kernels, n_kernels), default=None
            What the concave part takes away from the weights' curvature.
        reach : float, default=1.0
            It makes no part of the step longer by more than this factor.
        """
        theta = self.point.theta
        gradient = self.costs.slope - self.point.quadratics - self.barrier / theta
        curvature, shift = np.zeros((theta.size, theta.size)), np.zeros(theta.size)
        for problem, V in zip(self.problems, self.point.images, strict=True):
            E = problem.half_solved(V)
            curvature += 2.0 * E.T @ E
            shift += V @ problem.residual
        # In relative changes of the weights, in which the barrier's curvature is one and the same.
        H = curvature * np.outer(theta, theta)
        H[np.diag_indices_from(H)] += theta**2 * self.costs.curvature + self.barrier
        side = -theta * (gradient + shift)
        scale = 1.0 / np.sqrt(np.diag(H))
        H *= np.outer(scale, scale)
        factor = cholesky(with_diagonal(H, _RIDGE), lower=True, check_finite=False)
        move = solve_triangular(factor, scale * side, lower=True, check_finite=False)
        if bend is not None:
            bent = bend * np.outer(scale * theta, scale * theta)
            half = solve_triangular(factor, bent, lower=True, check_finite=False)
            bent = solve_triangular(factor, half.T, lower=True, check_finite=False)
            taken, Q = eigh(0.5 * (bent + bent.T), check_finite=False)
            left = np.maximum(np.abs(1.0 - taken), 1.0 / reach)
            move = Q @ ((Q.T @ move) / left)
        move = solve_triangular(factor, move, lower=True, trans=1, check_finite=False)
        move *= scale * theta
        return self._with_latents(move, float(gradient @ move))

    def _with_latents(self, move: Array, slope: float) -> Direction:
        alpha = np.empty_like(self.point.alpha)
        for c, (problem, V) in enumerate(zip(self.problems, self.point.images, strict=True)):
            along = move @ V
            alpha[:, c] = -0.5 * problem.residual - problem.solved(along)
            slope += float(problem.gradient @ (along + problem.K @ alpha[:, c]))
        return Direction(move, alpha, slope)


class _LatentSystem:
    """(K + 2 / D)^-1 for one problem, D the curvature of its losses, through B = I + S K S."""

    def __init__(self, K: Array, loss: Parabola, alpha: Array, direct: bool) -> None:
        self.K = K
        exact = np.isinf(loss.curvature).all()
        self.root = np.ones_like(alpha) if exact else np.sqrt(0.5 * loss.curvature)
        self.factor = definite_factor(scaled_system(K, self.root, 0.0 if exact else 1.0))
        # What is found at once is at its optimum.
        self.gradient = np.zeros_like(alpha) if direct else 2.0 * alpha + loss.slope
        self.residual = self.gradient - self.solved(K @ self.gradient)

    def solved(self, v: Array) -> Array:
        """(K + 2 / D)^-1 v, shape (n_samples,)."""
        return self.root * cho_solve((self.factor, True), self.root * v, check_finite=False)

    def half_solved(self, V: Array) -> Array:
        """L^-1 S V', shape (n_samples, n_kernels)."""
        return np.asarray(
            solve_triangular(self.factor, self.root[:, None] * V.T, lower=True, check_finite=False)
        )

"""Objectives as functions of latent values and weights, and their majorizers.

With K = sum_m weights_m K_m, latent values u and their deviance D, which is -2 ln of the
likelihood, the objectives are (Nickisch and Seeger 2011, section 2):

    MKL   u'K^-1 u + sum D(u) + weight_penalty sum weights^norm
    MAP   u'K_e^-1 u + sum D(u) + ln|K_e|,    K_e = K + jitter I
    VB    u'K^-1 u + sum [bound(u, gamma) - ln gamma] + ln|K + Gamma|,    Gamma = diag(gamma)

The log-determinants are concave in (weights, gamma). If they are replaced by their tangents, MAP
and VB have the same form as MKL: a function that is jointly convex in (u, weights), bounds the
objective from above and equals it at one point. As a function of gamma, a closer model than the
tangent is tried first; see :class:`DeterminantModel`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from mercer._data.types import Array
from mercer._data.weights import SampleWeights, as_weights
from mercer._gram.factors import (
    definite_factor,
    inverted,
    log_determinant,
    scaled_system,
    with_diagonal,
)
from mercer._gram.kernel_products import BaseGrams
from mercer.losses._smooth import Interpolation
from mercer.probabilistic._bound_widths import DeterminantModel
from mercer.probabilistic._likelihoods import Deviance, Likelihood
from mercer.probabilistic._majorizer import Majorizer, Point


class BayesianObjective(ABC):
    """A function of latent values and weights that is minimized.

    Attributes
    ----------
    deviance : Deviance
    jitter : float
        Added to the diagonal of the learned Gram matrix.
    convex : bool
        Whether the objective is its own majorizer.
    """

    deviance: Deviance
    jitter: float = 0.0
    convex: bool = False

    @property
    def is_smooth(self) -> bool:
        """Whether latent values are found by Newton's method, not by fitting a kernel machine."""
        return self.deviance.loss.is_smooth

    @abstractmethod
    def majorize_at(self, problem: Problem, point: Point, previous: Majorizer | None) -> Majorizer:
        """Return a majorizer that equals the objective at a point.

        Parameters
        ----------
        problem : Problem
        point : Point
        previous : Majorizer or None
            The majorizer at a nearby point, whose determinant models give the widths of bounds.
        """

    def lower_bound(self, problem: Problem, point: Point) -> float | None:
        """Return a lower bound on the optimum from dual variables; None if no bound is known.

        Parameters
        ----------
        problem : Problem
        point : Point
        """
        return None

    def affordable(self, weights: Array, n_samples: float) -> Array:
        """Return weights that cost less than the deviance, from which a search can start.

        Parameters
        ----------
        weights : ndarray of shape (n_kernels,)
        n_samples : float
        """
        return weights

    def _penalized_deviance(self, problem: Problem, point: Point) -> float:
        """Return u'K^-1 u + sum D(u), summed over all problems."""
        U = point.latent
        return float(np.sum(point.alpha * U)) + sum(
            self.deviance.value(y, u) for y, u in zip(problem.Y.T, U.T, strict=True)
        )


@dataclass(frozen=True)
class Problem:
    """An objective for the Gram matrices and targets of given samples.

    Attributes
    ----------
    objective : BayesianObjective
    grams : BaseGrams
    Y : ndarray of shape (n_samples, n_problems)
    """

    objective: BayesianObjective
    grams: BaseGrams
    Y: Array

    @property
    def weights(self) -> SampleWeights:
        """Weights of the samples, which are stored by the deviance."""
        return as_weights(self.objective.deviance.weights, len(self.Y))

    @property
    def n_samples(self) -> float:
        """The sum of the sample weights, which is the number of samples if all weights are one."""
        return self.weights.total

    def start(self, weights: Array, alpha: Array | None = None) -> Point:
        """Return a point for given weights.

        Parameters
        ----------
        weights : ndarray of shape (n_kernels,)
        alpha : ndarray of shape (n_samples, n_problems), default=None
            Dual variables; None for zeros.
        """
        n, c = self.Y.shape
        jitter = self.objective.jitter / self.weights.values
        K = self.grams.weighted_sum(weights)
        if alpha is None:
            return Point(weights, np.zeros((n, c)), K, np.zeros((c, weights.size, n)), jitter)
        return Point(weights, alpha, K, self.grams.kernel_products(alpha).as_array(), jitter)

    def majorize_at(self, point: Point, previous: Majorizer | None) -> Majorizer:
        """Return the majorizer at a point; see :meth:`BayesianObjective.majorize_at`.

        Parameters
        ----------
        point : Point
        previous : Majorizer or None
        """
        return self.objective.majorize_at(self, point, previous)


@dataclass(frozen=True)
class PenalizedRisk(BayesianObjective):
    """Multiple kernel learning, u'K^-1 u + sum D(u) + sum weight_penalty weights^norm.

    The objective is jointly convex in the latent values and the weights.

    Parameters
    ----------
    deviance : Deviance
    weight_penalty : float or ndarray of shape (n_kernels,), default=1.0
        A common penalty, or one for each kernel.
    norm : float, default=1.0
    """

    deviance: Deviance
    weight_penalty: float | Array = 1.0
    norm: float = 1.0
    convex = True

    def majorize_at(self, problem: Problem, point: Point, previous: Majorizer | None) -> Majorizer:
        """Return the objective itself; see :meth:`BayesianObjective.majorize_at`."""
        cost = float((self.weight_penalty * point.weights**self.norm).sum())
        value = self._penalized_deviance(problem, point) + cost
        slopes = np.zeros_like(point.weights)
        penalty, norm = self.weight_penalty, self.norm
        return Majorizer(self.deviance, value, slopes, weight_penalty=penalty, norm=norm)

    def affordable(self, weights: Array, n_samples: float) -> Array:
        """Bound the cost of each weight by its share of the samples; see the base class."""
        part = n_samples / (weights.size * self.weight_penalty)
        return np.minimum(weights, part ** (1.0 / self.norm))

    def lower_bound(self, problem: Problem, point: Point) -> float:
        """Return the dual objective of the point's dual variables; see the base class.

        Notes
        -----
        With q_m = alpha'K_m alpha, penalties l_m and norm p, the dual objective is
        -sum D*(-2 alpha) - (p - 1) sum l_m (q_m / (l_m p))^(p / (p - 1)). For p = 1, feasibility
        requires q_m <= l_m for all kernels, and alpha is scaled down accordingly.
        """
        alpha = np.column_stack(
            [
                self.deviance.loss.feasible(y, a)
                for y, a in zip(problem.Y.T, point.alpha.T, strict=True)
            ]
        )
        feasible = np.array_equal(alpha, point.alpha)
        q = (
            point.quadratics
            if feasible
            else problem.grams.kernel_products(alpha).quadratics.sum(axis=1)
        )
        ratio = np.maximum(q, 0.0) / self.weight_penalty
        if self.norm == 1.0:
            alpha = alpha / max(1.0, np.sqrt(ratio.max()))
            cost = 0.0
        else:
            p = self.norm
            terms = self.weight_penalty * (ratio / p) ** (p / (p - 1.0))
            cost = (p - 1.0) * float(terms.sum())
        return (
            sum(self.deviance.dual(y, a) for y, a in zip(problem.Y.T, alpha.T, strict=True)) - cost
        )


@dataclass(frozen=True)
class JointMAP(BayesianObjective):
    """Joint maximum a posteriori, u'K_e^-1 u + sum D(u) + ln|K_e| with K_e = K + jitter I.

    If the loss is `Interpolation` and the jitter is the variance of Gaussian noise, the objective
    is -2 ln of the marginal likelihood (Nickisch and Seeger 2011, equation 6).

    Parameters
    ----------
    deviance : Deviance
    jitter : float
    learns_noise : bool, default=False
        Whether the last Gram matrix is the identity, whose weight adds to the jitter.

    Notes
    -----
    A sample of weight w stands for w samples with independent noise. The mean of their noise has
    the variance noise / w, which is added to the diagonal, and the remainder of ln|K_e| is
    sum ln w + (sum w - n) ln noise.
    """

    deviance: Deviance
    jitter: float
    learns_noise: bool = False

    @classmethod
    def marginal_likelihood(
        cls, noise: float, weights: Array | None = None, *, learns_noise: bool = False
    ) -> JointMAP:
        """Return the objective that is -2 ln of the marginal likelihood for Gaussian noise.

        Parameters
        ----------
        noise : float
            Variance of the noise.
        weights : ndarray of shape (n_samples,), default=None
            Weights of the samples.
        learns_noise : bool, default=False
        """
        deviance = Deviance(Interpolation(), float(np.log(2.0 * np.pi))).with_weights(weights)
        return cls(deviance, noise, learns_noise)

    def majorize_at(self, problem: Problem, point: Point, previous: Majorizer | None) -> Majorizer:
        """Replace ln|K_e| by its tangent with slopes tr(K_e^-1 K_m); see the base class."""
        factor = definite_factor(with_diagonal(point.K, point.jitter))
        n_samples, n_problems = problem.Y.shape
        factors = ((factor, np.ones(n_samples)),) * n_problems
        value = self._penalized_deviance(problem, point) + n_problems * log_determinant(factor)
        n_more = n_problems * (problem.n_samples - n_samples)
        noise = self.jitter + (float(point.weights[-1]) if self.learns_noise else 0.0)
        value += n_problems * float(np.log(problem.weights.values).sum()) + n_more * np.log(noise)
        slopes = n_problems * problem.grams.inner_products(inverted(factor))
        curvature = 0.0
        if self.learns_noise:
            slopes[-1] += n_more / noise
            curvature = -n_more / noise**2
        return Majorizer(self.deviance, value, slopes, factors=factors, noise_curvature=curvature)


@dataclass(frozen=True)
class VariationalBound(BayesianObjective):
    """Variational bound on the marginal likelihood, by Gaussians of free widths.

    Parameters
    ----------
    deviance : Likelihood
    learns_noise : bool, default=False
        Whether the noise of the likelihood is learned.
    """

    deviance: Likelihood
    learns_noise: bool = False

    @property
    def is_smooth(self) -> bool:
        """True, because the best bound is smooth even if the deviance is not."""
        return True

    def majorize_at(self, problem: Problem, point: Point, previous: Majorizer | None) -> Majorizer:
        """Model ln|K + Gamma| by its slopes tr(A^-1 K_m) and diag(A^-1), A = K + Gamma."""
        Y, U = problem.Y, point.latent
        # A sample of weight w contributes the width gamma / w to A.
        w, likelihood = self.deviance.loss.weighted(1.0), self.deviance
        before = [DeterminantModel.of_variance(w * np.diag(point.K))] * Y.shape[1]
        if previous is not None:
            assert previous.determinants is not None
            assert isinstance(previous.deviance, Likelihood)
            before, likelihood = list(previous.determinants), previous.deviance
            if self.learns_noise:
                likelihood = likelihood.fit_noise(Y, U, before)
        gamma, factors = np.empty_like(U), []
        value = float(np.sum(point.alpha * U))
        for c, (y, u, determinant) in enumerate(zip(Y.T, U.T, before, strict=True)):
            best, width = likelihood.best_bound(y, u, determinant)
            bound = best.value - determinant.value(width) + np.log(width)
            scale = np.sqrt(w / width)
            factor = definite_factor(scaled_system(point.K, scale, 1.0))
            value += float(bound.sum()) + log_determinant(factor)
            gamma[:, c] = width
            factors.append((factor, scale))
        determinants, total = [], np.zeros_like(point.K)
        for (factor, scale), determinant, width in zip(factors, before, gamma.T, strict=True):
            inverse = inverted(factor)
            inverse *= scale[:, None]
            inverse *= scale
            slope = np.diag(inverse) / w
            determinants.append(DeterminantModel.fit(width, slope, determinant.damping))
            total += inverse
        slopes = problem.grams.inner_products(total)
        return Majorizer(
            likelihood, value, slopes, tuple(determinants), gamma, factors=tuple(factors)
        )


@dataclass(frozen=True)
class LaplaceApproximation(BayesianObjective):
    """Laplace's approximation of -2 ln of the marginal likelihood, about the mode.

    Parameters
    ----------
    deviance : Likelihood
        A smooth likelihood that provides the derivative of its curvature.
    """

    deviance: Likelihood

    def majorize_at(self, problem: Problem, point: Point, previous: Majorizer | None) -> Majorizer:
        """Return u'K^-1 u + sum D(u), which is minimized by the mode; see the base class."""
        value = self._penalized_deviance(problem, point)
        return Majorizer(self.deviance, value, np.zeros_like(point.weights))

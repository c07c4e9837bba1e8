"""What is minimized over latent values and weights, and its tangent where part of it is concave.

With K = sum_m theta_m K_m, latent values u and their loss l (Nickisch and Seeger 2011, section 2,
on the -2 log scale):

    MKL   u'K^-1 u + sum l(u) + penalty sum theta^norm
    MAP   u'K_e^-1 u + sum l(u) + ln|K_e|,    K_e = K + jitter I
    VB    u'K^-1 u + sum [bound(u, gamma) - ln gamma] + ln|K + Gamma|,    Gamma = diag(gamma)

The log-determinants are concave in (theta, gamma). With their tangents in place of them, MAP and VB
become problems of the form of MKL, jointly convex in (u, theta), that lie above and touch. In gamma
something better than the tangent is tried first: see :class:`Tilt`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from mercer._gram.dense import (
    definite_factor,
    inverted,
    log_determinant,
    scaled_system,
    with_diagonal,
)
from mercer._gram.kernel_products import BaseGrams
from mercer._typing import Array
from mercer.probabilistic._bound_widths import Tilt
from mercer.probabilistic._latent_losses import ConjugateLoss, Loss, Parabola
from mercer.probabilistic._likelihoods import Likelihood

_LEAST = 1e-100
"""Weights below this curve a penalty no more."""


@dataclass(frozen=True)
class Point:
    """Weights and dual variables, with what follows from them.

    Attributes
    ----------
    theta : ndarray of shape (n_kernels,)
    alpha : ndarray of shape (n_samples, n_problems)
        u = (K + jitter I) alpha, for each problem.
    K : ndarray of shape (n_samples, n_samples)
        sum theta_m K_m.
    images : ndarray of shape (n_problems, n_kernels, n_samples)
        K_m alpha.
    jitter : float
    """

    theta: Array
    alpha: Array
    K: Array
    images: Array
    jitter: float

    @property
    def latent(self) -> Array:
        """The latent values u, shape (n_samples, n_problems)."""
        return (self.theta @ self.images).T + self.jitter * self.alpha

    @property
    def quadratics(self) -> Array:
        """Sums of alpha'K_m alpha over the problems, shape (n_kernels,)."""
        return np.einsum("cmn,nc->m", self.images, self.alpha)


@dataclass(frozen=True)
class Majorizer:
    """A function of latent values and weights that touches an objective from above.

    Attributes
    ----------
    loss : Loss
    value : float
        The objective where they touch.
    tilts : tuple of Tilt, or None
        What stands for ln|K + Gamma| in gamma, for each problem; None where there is no such term.
    gamma : ndarray of shape (n_samples, n_problems), or None
        Widths of the bounds where they touch.
    slopes : ndarray of shape (n_kernels,)
        Slopes of the log-determinant in theta.
    penalty, norm : float
        The weights also cost penalty sum theta^norm.
    factors : tuple of (ndarray of shape (n_samples, n_samples), ndarray of shape (n_samples,))
        Of each log-determinant of a matrix C: the lower factor L and scale s of C^-1 = S L'^-1
        L^-1 S, S = diag(s).
    """

    loss: Loss
    value: float
    tilts: tuple[Tilt, ...] | None
    gamma: Array | None
    slopes: Array
    penalty: float
    norm: float
    factors: tuple[tuple[Array, Array], ...] = ()

    @property
    def direct(self) -> bool:
        """Whether the latent values that are best for a Gram matrix are found at once."""
        return self.tilts is None and self.loss.direct

    def losses(self, y: Array, u: Array, which: int, width: float = 0.0) -> Parabola:
        """The losses of one problem's latent values.

        Parameters
        ----------
        y, u : ndarray of shape (n_samples,)
        which : int
            Position of the problem.
        width : float, default=0.0
            A kink counts as a parabola this wide on either side.
        """
        if self.tilts is None:
            return self.loss.parabola(y, u, width)
        assert isinstance(self.loss, Likelihood)
        return self.loss.tilted(y, u, self.tilts[which])[0]

    @property
    def caution(self) -> float:
        """The multiplier m of tilts, one where there are none."""
        return 1.0 if self.tilts is None else self.tilts[0].m

    def cautious(self, m: float) -> Majorizer:
        """The same, its tilts touching at the same widths with another multiplier.

        Parameters
        ----------
        m : float
        """
        if self.tilts is None or self.gamma is None or m == self.caution:
            return self
        tilts = tuple(
            Tilt.at(gamma, tilt.m / (gamma + tilt.c), m)
            for gamma, tilt in zip(self.gamma.T, self.tilts, strict=True)
        )
        return replace(self, tilts=tilts)

    def costs(self, theta: Array) -> Parabola:
        """What the weights cost, each by itself.

        Parameters
        ----------
        theta : ndarray of shape (n_kernels,)
        """
        value, slope, curvature = self.slopes * theta, self.slopes, np.zeros_like(theta)
        if self.penalty:
            p = self.norm
            value = value + self.penalty * theta**p
            slope = slope + self.penalty * p * theta ** (p - 1.0)
            if p > 1.0:
                curvature = self.penalty * p * (p - 1.0) * np.maximum(theta, _LEAST) ** (p - 2.0)
        return Parabola(value, slope, curvature)

    def bend(self, grams: BaseGrams, probes: Array) -> Array:
        """Estimate minus the second derivative of the log-determinants in theta.

        Parameters
        ----------
        grams : BaseGrams
        probes : ndarray of shape (n_samples, n_probes)
            Independent standard normal.

        Returns
        -------
        ndarray of shape (n_kernels, n_kernels)
            Positive semi-definite; its mean is tr(C^-1 K_m C^-1 K_l) = E[w'K_m C^-1 K_l w] for w of
            covariance C^-1.
        """
        result = np.zeros((self.slopes.size, self.slopes.size))
        for factor, scale in self.factors:
            w = scale[:, None] * solve_triangular(
                factor, probes, lower=True, trans=1, check_finite=False
            )
            images = grams.kernel_products(w).as_array() * scale
            flat = images.reshape(-1, len(w)).T
            E = solve_triangular(factor, flat, lower=True, check_finite=False)
            E = E.reshape(len(w), probes.shape[1], -1)
            result += np.einsum("nkm,nkl->ml", E, E, optimize=True) / probes.shape[1]
        return result


class Objective(ABC):
    """A function of latent values and weights to be minimized.

    Attributes
    ----------
    loss : Loss
    jitter : float
        What is added to the diagonal of the learned Gram matrix.
    convex : bool
        Whether it is its own majorizer.
    """

    loss: Loss
    jitter: float = 0.0
    convex: bool = False

    @property
    def direct(self) -> bool:
        """Whether the latent values that are best for a Gram matrix are found at once."""
        return self.loss.direct

    @abstractmethod
    def majorizer(
        self,
        grams: BaseGrams,
        Y: Array,
        point: Point,
        *,
        previous: Majorizer | None,
        most: float = np.inf,
    ) -> Majorizer | None:
        """The function that touches the objective at a point.

        Parameters
        ----------
        grams : BaseGrams
        Y : ndarray of shape (n_samples, n_problems)
        point : Point
        previous : Majorizer, default=None
            That of a point nearby, whose tilts tell the widths of the bounds.
        most : float, default=inf
            None is returned, and its inverse is not computed, where the objective is above this.
        """

    def dual(self, grams: BaseGrams, Y: Array, point: Point) -> float | None:
        """A lower bound on the optimum, from a point's dual variables; None where there is none.

        Parameters
        ----------
        grams : BaseGrams
        Y : ndarray of shape (n_samples, n_problems)
        point : Point
        """
        return None

    def _fit(self, Y: Array, point: Point) -> float:
        """u'K^-1 u + sum l(u), over all problems."""
        U = point.latent
        return float(np.sum(point.alpha * U)) + sum(
            self.loss.value(Y[:, c], U[:, c]) for c in range(Y.shape[1])
        )


@dataclass(frozen=True)
class PenalizedRisk(Objective):
    """Multiple kernel learning, u'K^-1 u + sum l(u) + penalty sum theta^norm: jointly convex.

    Parameters
    ----------
    loss : Loss
    penalty : float, default=1.0
    norm : float, default=1.0
    """

    loss: ConjugateLoss
    penalty: float = 1.0
    norm: float = 1.0
    convex = True

    def majorizer(
        self,
        grams: BaseGrams,
        Y: Array,
        point: Point,
        *,
        previous: Majorizer | None,
        most: float = np.inf,
    ) -> Majorizer | None:
        """The objective itself; see :meth:`Objective.majorizer`."""
        value = self._fit(Y, point) + self.penalty * float((point.theta**self.norm).sum())
        none = np.zeros_like(point.theta)
        return Majorizer(self.loss, value, None, None, none, self.penalty, self.norm)

    def dual(self, grams: BaseGrams, Y: Array, point: Point) -> float:
        """A lower bound on the optimum, from a point's dual variables; see :meth:`Objective.dual`.

        Notes
        -----
        With q_m = alpha'K_m alpha: -sum l*(-2 alpha) - (p - 1) penalty sum (q_m / (penalty p))^(p /
        (p - 1)). For p = 1, where no q_m may be above the penalty, alpha is made that much smaller.
        """
        columns = range(Y.shape[1])
        alpha = np.column_stack([self.loss.feasible(Y[:, c], point.alpha[:, c]) for c in columns])
        same = np.array_equal(alpha, point.alpha)
        q = point.quadratics if same else grams.kernel_products(alpha).quadratics.sum(axis=1)
        if self.norm == 1.0:
            alpha = alpha * min(1.0, np.sqrt(self.penalty / max(q.max(), 1e-300)))
            cost = 0.0
        else:
            p = self.norm
            ratio = np.maximum(q, 0.0) / (self.penalty * p)
            cost = (p - 1.0) * self.penalty * float((ratio ** (p / (p - 1.0))).sum())
        return sum(self.loss.dual(Y[:, c], alpha[:, c]) for c in columns) - cost


@dataclass(frozen=True)
class JointMAP(Objective):
    """Joint maximum a posteriori, u'K_e^-1 u + sum l(u) + ln|K_e| with K_e = K + jitter I.

    With the loss `Interpolation` and Gaussian noise as jitter, minus twice the logarithm of the
    marginal likelihood.

    Parameters
    ----------
    loss : Loss
    jitter : float
    """

    loss: Loss
    jitter: float

    def majorizer(
        self,
        grams: BaseGrams,
        Y: Array,
        point: Point,
        *,
        previous: Majorizer | None,
        most: float = np.inf,
    ) -> Majorizer | None:
        """The tangent of ln|K_e| has slopes tr(K_e^-1 K_m); see :meth:`Objective.majorizer`."""
        factor = definite_factor(with_diagonal(point.K, self.jitter))
        n_problems = Y.shape[1]
        factors = ((factor, np.full(len(Y), 1.0)),) * n_problems
        value = self._fit(Y, point) + n_problems * log_determinant(factor)
        if value > most:
            return None
        slopes = n_problems * grams.inner_products(inverted(factor))
        return Majorizer(self.loss, value, None, None, slopes, 0.0, 1.0, factors)


@dataclass(frozen=True)
class VariationalBound(Objective):
    """The variational bound of the marginal likelihood by Gaussians of free widths.

    Parameters
    ----------
    loss : Likelihood
    learns_noise : bool, default=False
        Whether the noise of the likelihood is free.
    """

    loss: Likelihood
    learns_noise: bool = False
    direct = False

    def majorizer(
        self,
        grams: BaseGrams,
        Y: Array,
        point: Point,
        *,
        previous: Majorizer | None,
        most: float = np.inf,
    ) -> Majorizer | None:
        """The tangent of ln|K + Gamma| has slopes tr(C^-1 K_m) and diag(C^-1); see the base."""
        U = point.latent
        diagonal = np.diag(point.K)
        before = [Tilt.of_variance(diagonal)] * Y.shape[1]
        loss = self.loss
        if previous is not None:
            assert previous.tilts is not None
            assert isinstance(previous.loss, Likelihood)
            before, loss = list(previous.tilts), previous.loss
            if self.learns_noise:
                loss = loss.refitted(Y, U, before)
        gamma, factors = np.empty_like(U), []
        value = float(np.sum(point.alpha * U))
        for c, (y, u, tilt) in enumerate(zip(Y.T, U.T, before, strict=True)):
            tilted, width = loss.tilted(y, u, tilt)
            bound = tilted.value - tilt.value(width) + np.log(width)
            scale = 1.0 / np.sqrt(width)
            factor = definite_factor(scaled_system(point.K, scale, 1.0))
            value += float(bound.sum()) + log_determinant(factor)
            gamma[:, c] = width
            factors.append((factor, scale))
        if value > most:
            return None
        tilts, total = [], np.zeros_like(point.K)
        for (factor, scale), tilt, width in zip(factors, before, gamma.T, strict=True):
            inverse = inverted(factor)
            inverse *= scale[:, None]
            inverse *= scale
            tilts.append(Tilt.at(width, np.diag(inverse), tilt.m))
            total += inverse
        slopes = grams.inner_products(total)
        return Majorizer(loss, value, tuple(tilts), gamma, slopes, 0.0, 1.0, tuple(factors))

"""Losses of latent values on the -2 log scale, of likelihoods and of others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve

from mercer import losses
from mercer._gram.dense import definite_factor
from mercer._typing import Array

_ACCURACY = 1e-9
"""Relative duality gap of support vector machines."""


@dataclass(frozen=True)
class Parabola:
    """A smooth convex function at some points.

    Attributes
    ----------
    value, slope, curvature : ndarray of shape (n_samples,)
    """

    value: Array
    slope: Array
    curvature: Array


class Loss(ABC):
    """A convex loss on the -2 log scale."""

    of_classes: bool = False
    """Whether its targets are the labels -1 and 1."""

    direct: bool = False
    """Whether `solved` finds the latent values of a Gram matrix at once; it must, for kinks."""

    @abstractmethod
    def value(self, y: Array, u: Array) -> float:
        """Sum of the losses of latent values.

        Parameters
        ----------
        y, u : ndarray of shape (n_samples,)
        """

    @abstractmethod
    def parabola(self, y: Array, u: Array, width: float) -> Parabola:
        """The loss at latent values, with its derivatives.

        Parameters
        ----------
        y, u : ndarray of shape (n_samples,)
        width : float
            A kink counts as a parabola this wide on either side; smooth losses ignore it.
        """

    def solved(self, K: Array, y: Array) -> Array:
        """The dual variables alpha for a Gram matrix, u = K alpha, shape (n_samples,).

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
        y : ndarray of shape (n_samples,)
        """
        raise TypeError(f"The latent values of {type(self).__name__} are not found at once.")


class ConjugateLoss(Loss):
    """A loss whose conjugate is known, which gives lower bounds on optima."""

    @abstractmethod
    def dual(self, y: Array, alpha: Array) -> float:
        """Sum of -l*(-2 alpha_i), of the feasible alpha that is nearest.

        Parameters
        ----------
        y, alpha : ndarray of shape (n_samples,)
        """

    @abstractmethod
    def feasible(self, y: Array, alpha: Array) -> Array:
        """The dual variables of finite conjugate that are nearest, shape (n_samples,)."""


@dataclass(frozen=True)
class SupportVectorLoss(ConjugateLoss):
    """Twice the hinge or the epsilon-insensitive loss: no likelihoods, so of MKL alone.

    Parameters
    ----------
    half : mercer.losses.Hinge or mercer.losses.EpsilonInsensitive
    """

    half: losses.Hinge | losses.EpsilonInsensitive
    direct = True

    @property
    def of_classes(self) -> bool:  # type: ignore[override]
        """Of the hinge loss."""
        return isinstance(self.half, losses.Hinge)

    def solved(self, K: Array, y: Array) -> Array:
        """By a support vector machine; see :meth:`Loss.solved`."""
        return self.half.fit(K, y, intercept=False, accuracy=_ACCURACY).c

    def value(self, y: Array, u: Array) -> float:
        """Sum of 2 C max(0, 1 - y u) or 2 C max(0, |y - u| - epsilon); see :meth:`Loss.value`."""
        return 2.0 * self.half.value(y, u)

    def parabola(self, y: Array, u: Array, width: float) -> Parabola:
        """No slope, as latent values are at their optimum; see :meth:`Loss.parabola`."""
        none = np.zeros_like(u)
        return Parabola(none, none, 2.0 / self.half.conjugate_curvature(y, u, width))

    def dual(self, y: Array, alpha: Array) -> float:
        """Sum of 2 y alpha, less 2 epsilon |alpha|; see :meth:`ConjugateLoss.dual`."""
        return -2.0 * self.half.conjugate(y, self.feasible(y, alpha))

    def feasible(self, y: Array, alpha: Array) -> Array:
        """Clipped to the box of the dual; see :meth:`ConjugateLoss.feasible`."""
        low, high, _ = self.half.pieces(y, alpha, y)
        return np.clip(alpha, low, high)


@dataclass(frozen=True)
class Interpolation(Loss):
    """u = y: what is left of Gaussian noise that a kernel stands for.

    With K + noise I for the Gram matrix, u'K^-1 u + ln|K| + n ln 2 pi is -2 ln of the marginal
    likelihood (Nickisch and Seeger 2011, equation 6).
    """

    direct = True

    def solved(self, K: Array, y: Array) -> Array:
        """K^-1 y; see :meth:`Loss.solved`."""
        return np.asarray(cho_solve((definite_factor(K), True), y, check_finite=False))

    def value(self, y: Array, u: Array) -> float:
        """The constant n ln 2 pi; see :meth:`Loss.value`."""
        return len(y) * float(np.log(2.0 * np.pi))

    def parabola(self, y: Array, u: Array, width: float) -> Parabola:
        """Of infinite curvature; see :meth:`Loss.parabola`."""
        none = np.zeros_like(u)
        return Parabola(none, none, np.full_like(u, np.inf))

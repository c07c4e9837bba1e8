"""Losses on the scale of -2 ln p."""

from __future__ import annotations

from copy import copy
from typing import Self

import numpy as np

from mercer._typing import Array
from mercer.losses import Loss, QuadraticModel

_ACCURACY = 1e-9
"""Largest relative duality gap of the kernel machines that give latent values."""


class Deviance:
    """A loss on the scale of -2 ln p: twice the loss, plus a constant for each sample.

    Parameters
    ----------
    loss : mercer.losses.Loss
        Stands for -ln p(y | u) up to a constant.
    constant : float, default=0.0
        -2 ln of the factor that normalizes the likelihood.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Hinge
    >>> from mercer.probabilistic import Deviance
    >>> Deviance(Hinge(C=0.5)).value(np.ones(2), np.array([0.0, 3.0]))
    1.0
    """

    def __init__(self, loss: Loss, constant: float = 0.0) -> None:
        self.loss, self.constant = loss, constant

    @property
    def weights(self) -> Array | None:
        """Weights of the samples, by which their terms are multiplied; None where all are one."""
        return self.loss.weights

    def with_weights(self, weights: Array | None) -> Self:
        """Return the same deviance for samples of other weights.

        Parameters
        ----------
        weights : ndarray of shape (n_samples,), or None
            Positive weights; None where all are one.
        """
        result = copy(self)
        result.loss = self.loss.with_weights(weights)
        return result

    def value(self, y: Array, u: Array) -> float:
        """Return the sum over the samples.

        Parameters
        ----------
        y, u : ndarray of shape (n_samples,)
        """
        return 2.0 * self.loss.value(y, u) + self.loss.total(np.full(len(y), self.constant))

    def quadratic_model(self, y: Array, u: Array, width: float) -> QuadraticModel:
        """Expand to second order at latent values.

        Parameters
        ----------
        y, u : ndarray of shape (n_samples,)
        width : float
            A kink is replaced by a parabola that extends this far on either side.
        """
        model = self.loss.quadratic_model(y, u, width)
        return QuadraticModel(
            2.0 * model.value + self.loss.weighted(self.constant),
            2.0 * model.slope,
            2.0 * model.curvature,
        )

    def dual(self, y: Array, alpha: Array) -> float:
        """Return the sum of -l*(-2 alpha_i) over the samples, l the deviance of one sample.

        Parameters
        ----------
        y, alpha : ndarray of shape (n_samples,)
            Dual variables that are not feasible are replaced by the nearest ones that are.
        """
        feasible = self.loss.feasible(y, alpha)
        constant = self.loss.total(np.full(len(y), self.constant))
        return -2.0 * self.loss.conjugate(y, feasible) + constant

    def solve(self, K: Array, y: Array) -> Array:
        """Return the alpha that minimizes u'K^-1 u plus the deviance, with u = K alpha.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
        y : ndarray of shape (n_samples,)
        """
        return self.loss.fit(K, y, intercept=False, accuracy=_ACCURACY).c

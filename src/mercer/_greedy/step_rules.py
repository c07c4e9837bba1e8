"""Rules that weight the kernels of a dictionary when a kernel joins it."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from mercer._gram.moments import Moments
from mercer._typing import Array
from mercer._weights.alignment_weights import nonnegative_weights


class StepRule(ABC):
    """A rule that updates the weights when a kernel joins the dictionary.

    Parameters
    ----------
    eps : float, default=1e-10
        The gradient of the first step is that at eps I.
    """

    moves_kernels: bool = False
    """Whether a step may also move the parameters of kernels found earlier."""

    def __init__(self, eps: float = 1e-10) -> None:
        self.eps = eps

    @property
    def identity(self) -> float:
        """Coefficient of the identity matrix in the learned Gram matrix."""
        return 0.0

    @abstractmethod
    def update(self, weights: Array, moments: Moments) -> Array:
        """Weights of all kernels, given those of all but the last, and the moments of all."""

    def products(self, weights: Array, moments: Moments) -> tuple[float, float]:
        """<K, L_c> and |K_c|^2 of the learned Gram matrix K, the identity's part included."""
        eps = self.identity
        a = float(weights @ moments.a) + eps * moments.target_trace
        square = float(weights @ moments.M @ weights + 2.0 * eps * (weights @ moments.traces))
        return a, square + eps**2 * (moments.n_samples - 1)

    def alignment(self, weights: Array, moments: Moments) -> float:
        """Centered alignment of the learned Gram matrix with the target, or zero."""
        a, square = self.products(weights, moments)
        if not (square > 0.0 and moments.target_norm > 0.0):
            return 0.0
        return a / (float(np.sqrt(square)) * moments.target_norm)


class CorrectiveStep(StepRule):
    """Fully corrective steps: all weights are solved for anew, as in alignf; widths may move."""

    moves_kernels = True

    def update(self, weights: Array, moments: Moments) -> Array:
        """The non-negative weights of the largest alignment; see :meth:`StepRule.update`."""
        return nonnegative_weights(moments)


class StagewiseStep(StepRule):
    """Steps of forward stagewise additive modeling: earlier weights stay.

    Parameters
    ----------
    eta_max : float, default=1.0
        Largest weight of a new kernel.
    eps : float, default=1e-10
        The learned Gram matrix is eps I before the first step, and keeps this part.

    References
    ----------
    Afkanpour, Szepesvari, Bowling (2013), Algorithm 1 and Proposition 2.
    """

    def __init__(self, eta_max: float = 1.0, eps: float = 1e-10) -> None:
        super().__init__(eps)
        self.eta_max = eta_max

    @property
    def identity(self) -> float:
        """Coefficient of the identity matrix: eps."""
        return self.eps

    def update(self, weights: Array, moments: Moments) -> Array:
        """Append the best of 0, eta* and eta_max; see :meth:`StepRule.update`."""
        a, c = self.products(np.append(weights, 0.0), moments)
        b, e = float(moments.a[-1]), float(moments.M[-1, -1])
        d = float(weights @ moments.M[-1, :-1] + self.identity * moments.traces[-1])
        if not (e > 0.0 and moments.target_norm > 0.0):
            return np.append(weights, 0.0)
        # eta* = (ad - bc) / (bd - ae)
        denominator = b * d - a * e
        best = max(0.0, (a * d - b * c) / denominator) if denominator != 0.0 else 0.0

        def alignment(eta: float) -> float:
            square = c + 2.0 * eta * d + eta**2 * e
            return (a + eta * b) / float(np.sqrt(square)) if square > 0.0 else -np.inf

        eta = max((0.0, min(best, self.eta_max), self.eta_max), key=alignment)
        return np.append(weights, eta)

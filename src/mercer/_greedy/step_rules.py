"""How the weights of a dictionary change when a kernel joins it."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from mercer._gram.moments import Moments
from mercer._typing import Array
from mercer._weights.alignment_weights import nonnegative_weights


class StepRule(ABC):
    """How the weights change when a kernel joins the dictionary."""

    identity: float = 0.0
    """Part of the identity in the learned kernel before the first step."""

    moves_kernels: bool = False
    """Whether a step may also move the parameters of kernels found earlier."""

    @abstractmethod
    def update(self, weights: Array, moments: Moments) -> Array:
        """Weights of all kernels, given those of all but the last.

        Parameters
        ----------
        weights : ndarray of shape (n_kernels - 1,)
        moments : Moments
            Of all kernels.

        Returns
        -------
        ndarray of shape (n_kernels,)
        """


class CorrectiveStep(StepRule):
    """Fully corrective: all weights are solved for anew, as in alignf, and widths may move."""

    moves_kernels = True

    def update(self, weights: Array, moments: Moments) -> Array:
        """The non-negative weights of the largest alignment; see :meth:`StepRule.update`."""
        return nonnegative_weights(moments)


class StagewiseStep(StepRule):
    """The step of forward stagewise additive modeling: earlier weights stay.

    Parameters
    ----------
    eta_max : float, default=1.0
        Largest weight of a new kernel.
    eps : float, default=1e-10
        The loop starts from eps I.

    References
    ----------
    Afkanpour, Szepesvari, Bowling (2013), Algorithm 1 and Proposition 2.
    """

    def __init__(self, eta_max: float = 1.0, eps: float = 1e-10) -> None:
        self.eta_max = eta_max
        self.identity = eps

    def update(self, weights: Array, moments: Moments) -> Array:
        """Append the best of 0, eta* and eta_max; see :meth:`StepRule.update`."""
        old, new = moments.M[:-1, :-1], moments.M[-1, :-1]
        eps, n = self.identity, moments.n_samples
        a = weights @ moments.a[:-1] + eps * moments.target_trace
        b = moments.a[-1]
        c = weights @ old @ weights + 2 * eps * weights @ moments.traces[:-1] + eps**2 * (n - 1)
        d = weights @ new + eps * moments.traces[-1]
        e = moments.M[-1, -1]
        # eta* = (ad - bc) / (bd - ae)
        below = b * d - a * e
        best = max(0.0, (a * d - b * c) / below) if below != 0.0 else 0.0

        def alignment(eta: float) -> float:
            return float((a + eta * b) / np.sqrt(c + 2.0 * eta * d + eta**2 * e))

        eta = max((0.0, min(best, self.eta_max), self.eta_max), key=alignment)
        return np.append(weights, eta)

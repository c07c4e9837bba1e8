"""The objective that a step of CA-1D maximizes over the width, and local searches of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.signal import find_peaks
from scipy.spatial.distance import pdist

from experiments.problems import Array
from mercer._gram.samples import Samples
from mercer._search.kernel_objectives import Sensitivity, TargetProduct
from mercer._search.parameter_search import BestKernel, FamilySearch
from mercer.kernels import Kernel

# The widths that the search of Afkanpour et al. (2013), appendix B.2, starts from.
STARTS: Array = 10.0 ** np.arange(-3, 6)


class RecordingSearch(FamilySearch):
    """A search that delegates to another, and records its queries and results."""

    def __init__(self, inner: FamilySearch) -> None:
        self.family, self.samples = inner.family, inner.samples
        self.inner = inner
        self.asked: list[Array] = []
        self.found: list[float] = []

    def best(self, objective: TargetProduct) -> BestKernel:
        """See :meth:`FamilySearch.best`."""
        candidate = self.inner.best(objective)
        self.asked.append(pair_weights(objective.P, self.samples))
        self.found.append(float(np.exp(candidate.kernel.theta[0])))
        return candidate

    def polish(self, kernels: Sequence[Kernel], P: Sensitivity) -> list[Kernel]:
        """See :meth:`FamilySearch.polish`."""
        return self.inner.polish(kernels, P)


def pair_weights(P: Sensitivity, samples: Samples) -> Array:
    """Return twice the entries of P above the diagonal, in the order of SciPy's distances."""
    matrix = np.zeros((samples.n_samples, samples.n_samples))
    for tile in samples.plan:
        matrix[tile.rows, tile.columns] = P.block(samples, tile)
    return 2.0 * matrix[np.triu_indices(samples.n_samples, 1)]


@dataclass(frozen=True)
class StepObjective:
    """h(s) = -<P, K_s - 1> for Gaussians K_s; constants vanish, since P is centered.

    Attributes
    ----------
    squares : ndarray of shape (n_pairs,)
        The squared distances of the samples.
    weights : ndarray of shape (n_pairs,)
        The sum of the two entries of P that belong to each pair.
    """

    squares: Array
    weights: Array

    @classmethod
    def of(cls, X: Array, weights: Array) -> StepObjective:
        """Return the objective of samples with the weights of a recorded query."""
        return cls(pdist(X, "sqeuclidean"), weights)

    def value(self, width: float) -> float:
        """Return h(s), without rounding errors where the kernel is nearly constant."""
        return -float(self.weights @ np.expm1(-self.squares / width**2))

    def slope(self, width: float) -> float:
        """Return the derivative of h."""
        u = self.squares / width**2
        return -2.0 / width * float(self.weights @ (u * np.exp(-u)))

    def curve(self, widths: Array) -> Array:
        """Return h at several widths."""
        return np.array([self.value(width) for width in widths])

    def descend(self, start: float, bounds: tuple[float, float], *, logarithmic: bool) -> float:
        """Return the least h that a quasi-Newton search finds from one width."""
        scale = abs(self.value(start)) or 1.0

        def in_width(s: Array) -> tuple[float, Array]:
            return self.value(s[0]) / scale, np.array([self.slope(s[0]) / scale])

        def in_logarithm(t: Array) -> tuple[float, Array]:
            width = float(np.exp(t[0]))
            return self.value(width) / scale, np.array([self.slope(width) * width / scale])

        limits = np.log(bounds) if logarithmic else np.array(bounds)
        found = minimize(
            in_logarithm if logarithmic else in_width,
            np.log([start]) if logarithmic else [start],
            jac=True,
            method="L-BFGS-B",
            bounds=[tuple(limits)],
        )
        return scale * float(found.fun)


def minima(values: Array, least: float) -> tuple[int, int]:
    """Count the local minima of at least a given depth: inside, and with the ends included.

    The depth of a minimum is the least climb on the way to a lower value or to an end of the
    interval; the depth of an end is the least climb on the way inside.
    """
    heights = -values
    inside = find_peaks(heights, prominence=least)[0].size
    padded = np.pad(heights, 1, constant_values=heights.min() - 2.0 * least)
    return int(inside), int(find_peaks(padded, prominence=least)[0].size)

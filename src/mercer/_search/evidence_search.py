"""Widths, one per feature, of a kernel or a sum of kernels by the marginal likelihood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from mercer._data.weights import UnitWeights
from mercer._gram.dense import log_determinant
from mercer._gram.samples import Samples, spread_rows
from mercer._gram.tiles import serial_algebra
from mercer._search.evidence import GaussianEvidence, KernelParameters
from mercer._search.parameter_search import Optimum, descend, have_slowed
from mercer._typing import Array, Features
from mercer._validation import ROUNDING
from mercer.kernels import WeightedSum
from mercer.kernels._kernel import Kernel

_value = attrgetter("value")

PRIOR_DEVIATION = 1.0
"""Standard deviation of the prior on log-widths about their mean: weak enough to drop a feature for
a small gain of evidence, strong enough to keep the widths of equivalent features equal."""

TOLERANCE = 1e-4
"""Mean decrease of the objective per observation, over three iterations, at which a search ends;
ten times as much on subsamples."""

LITTLE = 10.0
"""Where the logarithm of the marginal likelihood exceeds that of noise alone by less than this, it
has several maxima of about the same height, and further searches are made."""


@dataclass(frozen=True)
class EvidenceMaximum:
    """Where the search for a high marginal likelihood ended.

    Attributes
    ----------
    kernel : Kernel
        With one width per feature; the first kernel of a sum has the weight one.
    noise : float
        Variance of the noise relative to the amplitude. Ridge regression on the kernel as it is,
        with this penalty, predicts the posterior mean.
    amplitude : float
        Factor of the kernel in the covariance of the target; NaN where nothing was learned.
    log_marginal_likelihood : float
        Of the samples that the search used; NaN if the target or the kernel is constant on them.
    path : tuple of float
        The log marginal likelihood less the prior's cost, for each observation and up to a
        constant, at the start and after each iteration, without those on the subsample.
    converged : bool
        Whether the search ended by its tolerance.
    """

    kernel: Kernel
    noise: float
    amplitude: float
    log_marginal_likelihood: float
    path: tuple[float, ...]
    converged: bool

    @property
    def n_iter(self) -> int:
        """Number of iterations, without those on the subsample."""
        return len(self.path) - 1

    @property
    def last_gain(self) -> float:
        """Gain of the last iteration."""
        return float(np.sum(np.diff(self.path[-2:])))


@serial_algebra()
def marginal_likelihood_widths(
    kernel: Kernel,
    X: Features,
    Y: Array,
    *,
    prior_deviation: float = PRIOR_DEVIATION,
    max_samples: int = 1000,
    max_iter: int = 60,
    tol: float = TOLERANCE,
    like: Kernel | None = None,
    on_step: Callable[[], None] = lambda: None,
) -> EvidenceMaximum:
    """One width per feature by the marginal likelihood of a Gaussian process.

    Parameters
    ----------
    kernel : Kernel
        With `ard=True`, or a `WeightedSum` of such kernels, whose weights are learned too. Its
        bounds hold, its present widths and weights do not matter.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    Y : ndarray of shape (n_samples, n_targets)
        Responses, or indicators of classes. All columns share the kernel and the noise.
    prior_deviation : float
        Standard deviation of the normal prior on the log-widths of each kernel about their mean.
    max_samples : int, default=1000
        Number of samples used, if there are more.
    max_iter : int, default=60
    tol : float, default=1e-4
        The search ends when the last three iterations on the mean raised the log marginal
        likelihood, less the prior's cost, by less than half this fraction of the number of
        observations. A search with a larger one than the default is not repeated on noise.
    like : Kernel, default=None
        A kernel with one width per feature, such as one that was learned from the same samples. The
        search starts from its widths relative to their geometric mean, or their square roots, times
        the best common width. Without it, the search starts from the best common width, and with
        many samples on a subsample of them.
    on_step : callable, default=None
        Called after each iteration.

    Returns
    -------
    EvidenceMaximum

    Notes
    -----
    With A = K + s I, a centered target and the amplitude at its maximum, the search minimizes

        m (n log tr(Y' A^-1 Y) + log|A|) + sum_z (log s_z - mean log s)^2 / prior_deviation^2

    by L-BFGS over the log-widths log s_z and log s, and the logarithms of a sum's weights, where m
    is the rank of Y; a sum has one such cost for each kernel. The gradient in A is
    m A^-1 - m n / tr(Y' A^-1 Y) A^-1 Y Y' A^-1, which the kernel contracts tile by tile. An
    evaluation takes O(n^3 + n^2 d). Samples are taken evenly in the order of the targets, so that
    the order of rows does not matter.

    The best common width is found on 120 samples; from 500 samples on, the search starts on 250.
    It starts from noise of a tenth of the kernel's variance or more: one common width fits noise by
    features that do not matter, and the slope in the logarithm of little noise vanishes with its
    variance. Where the marginal likelihood found is hardly above that of noise alone, a search
    from each common width, on up to 499 samples, says where another one starts.

    References
    ----------
    Rasmussen & Williams (2006), section 5.4.1.
    """
    X, Y = X.astype(np.float64, copy=False), np.asarray(Y, dtype=np.float64)
    kernel = kernel.bind(X)
    rows = spread_rows(X, Y, max_samples)
    whole = _Evidence(kernel, X[rows], Y[rows], prior_deviation)
    few = whole.subsampled(250)
    fewest = whole.subsampled(120, 1.0)
    if whole.is_constant or fewest.is_constant:
        middle = whole.kernel_at(whole.starts[len(whole.starts) // 2])
        return EvidenceMaximum(middle, 1.0, np.nan, np.nan, (0.0,), True)
    start = _start((fewest, few, whole), like, max_iter)
    options: Any = {"tol": tol, "max_iter": max_iter, "on_step": on_step}
    found = _searched(whole, start, whole.bounds, **options)
    # Of noise alone, the objective is zero.
    is_like_noise = whole.n_observations * found.value > -2.0 * LITTLE
    if is_like_noise and like is None and tol <= TOLERANCE:
        again = _searched(whole, few.best_of_widths(max_iter), whole.bounds, **options)
        found = min(found, again, key=_value)
    amplitude, value = whole.best(found.theta)
    return EvidenceMaximum(
        whole.kernel_at(found.theta),
        float(np.exp(found.theta[-1])),
        amplitude,
        value,
        tuple(-0.5 * value for value in found.path),
        found.status not in (1, 2),
    )


def _start(
    problems: tuple[_Evidence, _Evidence, _Evidence], like: Kernel | None, max_iter: int
) -> Array:
    """Where the search on all samples starts; see :func:`marginal_likelihood_widths`.

    Parameters
    ----------
    problems : tuple of _Evidence
        Of the smallest subsample, of a larger one or of all samples, and of all.
    like : Kernel or None
    max_iter : int
    """
    fewest, few, whole = problems
    start = fewest.best_common()
    if like is not None:
        start = fewest.with_relative_widths(start, like)
    start[-1] = max(start[-1], np.log(0.1))
    if like is not None or few is whole:
        return start
    return _searched(few, start, few.bounds, tol=10.0 * TOLERANCE, max_iter=max_iter).theta


class _Evidence(KernelParameters):
    """-2 log marginal likelihood plus the prior's cost, for each observation, and its gradient.

    The first weight of a sum is one, the noise is relative to the kernel's amplitude, and a
    constant is left out.
    """

    def __init__(self, kernel: Kernel, X: Features, Y: Array, prior_deviation: float) -> None:
        self.kernel, self.deviation = kernel, prior_deviation
        self.Y = Y - Y.mean(axis=0)
        largest = float(np.abs(Y).max(initial=0.0))
        self.Y[np.abs(self.Y) <= ROUNDING * largest] = 0.0
        self.rank = int(np.linalg.matrix_rank(self.Y))
        self.scale = float(np.linalg.norm(self.Y)) / np.sqrt(max(self.rank, 1) * len(Y)) or 1.0
        self.Y /= self.scale
        parts = list(kernel.kernels) if isinstance(kernel, WeightedSum) else [kernel]
        self.evidence = GaussianEvidence(self.Y, UnitWeights(len(Y)), self.rank)
        super().__init__(Samples(X), parts, self.evidence, n_fixed=1)
        further = np.zeros(len(parts))
        starts = zip(*(part.starts(X) for part in parts), strict=True)
        self.starts = np.array([np.concatenate([*start, further]) for start in starts])
        self.bounds = np.vstack(
            [part.log_bounds(X) for part in parts]
            # Weights relative to that of the first kernel, and the variance of the noise.
            + [np.log([1e-4, 1e4])] * (len(parts) - 1)
            + [np.log([1e-6, 1e4])]
        )

    @property
    def is_constant(self) -> bool:
        """Whether the target, or the kernel of the narrowest common width, is constant."""
        return self.rank == 0 or float(np.ptp(self.gram(self.starts[0]))) <= ROUNDING

    def subsampled(self, n_rows: int, factor: float = 2.0) -> _Evidence:
        """Return the problem for a subsample, or this one if there are few samples."""
        if len(self.Y) < factor * n_rows:
            return self
        rows = spread_rows(self.samples.X, self.Y, n_rows)
        return _Evidence(self.kernel, self.samples.X[rows], self.Y[rows], self.deviation)

    def kernel_at(self, x: Array) -> Kernel:
        """Return the kernel, or the sum of kernels, with these parameters."""
        parts, weights, _ = self.read(x)
        return WeightedSum(parts, weights) if isinstance(self.kernel, WeightedSum) else parts[0]

    def with_relative_widths(self, x: Array, like: Kernel) -> Array:
        """Return x times widths whose ratios are those of a kernel, or their square roots.

        Of the two, that of the higher marginal likelihood, with the best of a grid of noises.
        """
        log_widths = like.theta[: like.structure.n_widths]
        relative = np.zeros(len(x) - 1)
        for positions in self.widths():
            relative[positions] = log_widths - log_widths.mean()
        points = [x[:-1] + fraction * relative for fraction in (0.5, 1.0)]
        return self._best_noise([np.clip(point, *self.bounds[:-1].T) for point in points])

    def _best_noise(self, points: Sequence[Array]) -> Array:
        """Return the best of some points x without the noise, with the best of four noises."""
        found = []
        for point in points:
            K = self.gram(np.append(point, 0.0))
            for log_noise in np.log([1e-3, 1e-2, 0.1, 1.0]):
                value = self.evidence.value(K, np.exp(log_noise))
                found.append((value, np.append(point, log_noise)))
        return min(found, key=lambda pair: pair[0])[1]

    def best_common(self) -> Array:
        """Return x with one common width in each kernel and a noise of high marginal likelihood.

        The best of a grid is refined by ten iterations along these directions, and the weights.
        """
        start = self._best_noise([start[:-1] for start in self.starts])
        n_parts = len(self.kernels)
        directions = np.zeros((2 * n_parts, start.size))
        for row, positions in enumerate(self.widths()):
            directions[row, positions] = 1.0
        directions[n_parts:, -n_parts:] = np.eye(n_parts)
        firsts = [positions.start for positions in self.widths()]
        bounds = (self.bounds - start[:, None])[[*firsts, *range(-n_parts, 0)]]

        def along(step: Array) -> tuple[float, Array]:
            value, gradient = self(np.clip(start + step @ directions, *self.bounds.T))
            return value, directions @ gradient

        zero = np.zeros(len(directions))
        found = _searched(along, zero, bounds, tol=10.0 * TOLERANCE, max_iter=10)
        return np.clip(start + found.theta @ directions, *self.bounds.T)

    @property
    def n_observations(self) -> int:
        """Number of samples times rank of the target, by which the objective was divided."""
        return len(self.Y) * self.rank

    def best_of_widths(self, max_iter: int) -> Array:
        """Return the best end of searches from each common width, with the best noise for it."""
        starts = [self._best_noise([start[:-1]]) for start in self.starts]
        ends = [_searched(self, x, self.bounds, tol=TOLERANCE, max_iter=max_iter) for x in starts]
        return min(ends, key=_value).theta

    def best(self, x: Array) -> tuple[float, float]:
        """Return the best amplitude, and the logarithm of the marginal likelihood."""
        n, m = len(self.Y), self.rank
        amplitude, factor, _ = self.evidence.amplitude(self.gram(x), np.exp(x[-1]))
        amplitude *= self.scale**2
        constant = n * (np.log(2.0 * np.pi * amplitude) + 1.0)
        return amplitude, -0.5 * m * (constant + log_determinant(factor))

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return value and gradient."""
        value, gradient = super().__call__(x)
        precision = 1.0 / (self.deviation**2 * len(self.Y) * self.rank)
        for positions in self.widths():
            widths = x[positions]
            centered = widths - (widths.mean() if widths.size else 0.0)
            gradient[positions] += 2.0 * precision * centered
            value += precision * float(centered @ centered)
        return value, gradient


def _searched(
    objective: Callable[[Array], tuple[float, Array]],
    start: Array,
    bounds: Array,
    *,
    tol: float,
    max_iter: int,
    on_step: Callable[[], None] = lambda: None,
) -> Optimum:
    """Return where a search ends; evaluations are expensive, and twenty steps are stored."""
    return descend(
        objective,
        start,
        bounds,
        has_ended=lambda path: have_slowed(path, tol),
        on_step=on_step,
        maxiter=max_iter,
        ftol=0.0,
        gtol=0.1 * tol,
        maxcor=20,
    )

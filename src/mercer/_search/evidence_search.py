"""Search by marginal likelihood for one width per feature, in a kernel or a sum of kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from mercer._data.copies import without_copies
from mercer._data.types import Array, Features
from mercer._data.validation import ROUNDING
from mercer._data.weights import UnitWeights
from mercer._gram.factors import log_determinant
from mercer._gram.samples import Samples, spread_rows
from mercer._gram.tiles import serial_algebra
from mercer._search.evidence import GaussianEvidence, KernelParameters
from mercer._search.parameter_search import Optimum, descend, have_slowed
from mercer.kernels import WeightedSum
from mercer.kernels._kernel import Kernel

_value = attrgetter("value")

PRIOR_DEVIATION = 1.0
"""Standard deviation of the prior on log-widths about their mean. The prior is weak enough to drop
a feature for a small gain of evidence, and strong enough to keep the widths of equivalent features
equal."""

TOLERANCE = 1e-4
"""A search ends when the objective per observation decreases by less than this, on average over
three iterations; on subsamples, the threshold is ten times as large."""

_HALF = 500
"""With twice as many samples or more, a search from the widths of another kernel begins on this
many. Fewer than half of its iterations are then on all samples."""

LITTLE = 10.0
"""If the log marginal likelihood exceeds the log marginal likelihood of pure noise by less than
this, it has several maxima of about the same height, and further searches are made."""


@dataclass(frozen=True)
class EvidenceMaximum:
    """Result of a search for the maximum of the marginal likelihood.

    Attributes
    ----------
    kernel : Kernel
        The kernel with one width per feature; the first kernel of a sum has weight one.
    noise : float
        Variance of the noise relative to the amplitude. Ridge regression on `kernel` with this
        value as the penalty predicts the posterior mean.
    amplitude : float
        Factor of the kernel in the covariance of the target; NaN if nothing was learned.
    log_marginal_likelihood : float
        Log marginal likelihood of the samples used by the search; NaN if the target or the kernel
        is constant on them.
    n_samples : int
        Number of samples used by the search.
    path : tuple of float
        The log marginal likelihood minus the cost of the prior, per observation and up to a
        constant, at the start and after each iteration. Iterations on the subsample are not
        included.
    converged : bool
        Whether the search reached its tolerance.
    """

    kernel: Kernel
    noise: float
    amplitude: float
    log_marginal_likelihood: float
    n_samples: int
    path: tuple[float, ...]
    converged: bool

    @property
    def n_iter(self) -> int:
        """Number of iterations, not counting iterations on the subsample."""
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
    starts: Sequence[Kernel] = (),
    on_step: Callable[[], None] = lambda: None,
) -> EvidenceMaximum:
    """Learn one width per feature by the marginal likelihood of a Gaussian process.

    Parameters
    ----------
    kernel : Kernel
        A kernel with `ard=True`, or a `WeightedSum` of such kernels, whose weights are also
        learned. The bounds of the kernel apply; its current widths and weights are ignored.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    Y : ndarray of shape (n_samples, n_targets)
        Responses, or indicators of classes. All columns share the kernel and the noise.
    prior_deviation : float
        Standard deviation of the normal prior on the log-widths of each kernel about their mean.
    max_samples : int, default=1000
        Maximum number of samples used.
    max_iter : int, default=60
    tol : float, default=1e-4
        The search ends when, on average over the last three iterations, the log marginal likelihood
        minus the cost of the prior rises by less than half this fraction of the number of
        observations. With a tolerance above the default, the search is not repeated if the target
        looks like noise.
    like : Kernel, default=None
        A kernel with one width per feature, such as one learned from the same samples, from whose
        widths the search starts. If None, it starts from a common width and, with many samples,
        on a subsample.
    starts : sequence of Kernel, default=()
        Kernels of the same form; the search starts from the one of the highest likelihood.
    on_step : callable, default=None
        Called after each iteration.

    Returns
    -------
    EvidenceMaximum

    Notes
    -----
    With A = K + s I, a centered target of rank m and the optimal amplitude, the search minimizes

        m (n log tr(Y' A^-1 Y) + log|A|) + sum_z (log s_z - mean log s)^2 / prior_deviation^2

    by L-BFGS over the log-widths log s_z, the log-noise log s and the log-weights of a sum. For a
    sum, the last term is summed over the kernels. The gradient with respect to A is
    m A^-1 - m n / tr(Y' A^-1 Y) A^-1 Y Y' A^-1, which the kernel contracts tile by tile. An
    evaluation takes O(n^3 + n^2 d). Subsamples are spaced evenly in the order of the targets, so
    that the order of rows does not matter. Copies of a row are used once: as several observations
    without noise, they would make the marginal likelihood increase without bound as the noise
    vanishes.

    The search starts from a width common to all features, the best for 120 samples and noise of the
    kernel's variance; with 500 samples or more, it starts on 250. The initial noise is a tenth of
    that, because a common width fits noise with irrelevant features, and the derivative with
    respect to the logarithm of a small noise variance vanishes with the variance. If the marginal
    likelihood is barely better than the marginal likelihood of pure noise, short searches start
    from each width common to all features, on at most 499 samples, and a second search starts from
    the best result.

    References
    ----------
    Rasmussen & Williams (2006), section 5.4.1.
    """
    X, Y = X.astype(np.float64, copy=False), np.asarray(Y, dtype=np.float64)
    if len(rows := without_copies(X, Y)) < len(Y):
        X, Y = X[rows], Y[rows]
    kernel = kernel.bind(X)
    rows = spread_rows(X, Y, max_samples)
    whole = _Evidence(kernel, X[rows], Y[rows], prior_deviation, in_single=tol > TOLERANCE)
    few, fewest = whole.subsampled(250), whole.subsampled(120, 1.0)
    # If the target, or the kernel, is constant on all samples, then also on some of them.
    if fewest.is_constant:
        middle = whole.kernel_at(whole.middle)
        return EvidenceMaximum(middle, 1.0, np.nan, np.nan, len(rows), (0.0,), True)
    first = fewest.best_start if like is None else whole.with_widths_like(like)
    if starts:
        first = whole.best_noise([first[:-1], *map(whole.point_of, starts)])
    elif like is None and few is not whole:
        first = _searched(few, first, few.bounds, tol=10.0 * TOLERANCE, max_iter=max_iter).theta
    elif like is not None and (half := whole.subsampled(_HALF)) is not whole:
        first = _searched(half, first, half.bounds, tol=tol, max_iter=max_iter).theta
    options: Any = {"tol": tol, "max_iter": max_iter, "on_step": on_step}
    found = _searched(whole, first, whole.bounds, **options)
    # The objective of pure noise is zero.
    is_like_noise = len(whole.Y) * whole.rank * found.value > -2.0 * LITTLE
    if is_like_noise and like is None and tol <= TOLERANCE:
        again = _searched(whole, few.best_of_widths(max_iter), whole.bounds, **options)
        found = min(found, again, key=_value)
    amplitude, value = whole.best(found.theta)
    return EvidenceMaximum(
        whole.kernel_at(found.theta),
        float(np.exp(found.theta[-1])),
        amplitude,
        value,
        len(rows),
        tuple(-0.5 * value for value in found.path),
        found.status != 1 and (found.status != 2 or have_slowed(found.path, tol, last=1)),
    )


class _Evidence(KernelParameters):
    """-2 log marginal likelihood plus the cost of the prior, per observation, with its gradient.

    The first weight of a sum is one, the noise is relative to the kernel's amplitude, and an
    additive constant is left out. The starts and the bounds of a search are read off the samples;
    a problem for some of the samples of another problem has its starts and bounds.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Features,
        Y: Array,
        prior_deviation: float,
        *,
        in_single: bool,
        like: _Evidence | None = None,
    ) -> None:
        self.kernel, self.deviation = kernel, prior_deviation
        self.Y = Y - Y.mean(axis=0)
        largest = float(np.abs(Y).max(initial=0.0))
        self.Y[np.abs(self.Y) <= ROUNDING * largest] = 0.0
        self.rank = int(np.linalg.matrix_rank(self.Y))
        self.scale = float(np.linalg.norm(self.Y)) / np.sqrt(max(self.rank, 1) * len(Y)) or 1.0
        self.Y /= self.scale
        parts = list(kernel.kernels) if isinstance(kernel, WeightedSum) else [kernel]
        self.evidence = GaussianEvidence(self.Y, UnitWeights(len(Y)), self.rank)
        super().__init__(Samples(X), parts, self.evidence, n_fixed=1, in_single=in_single)
        self.starts: Array
        self.bounds: Array
        if like is not None:
            self.starts, self.bounds = like.starts, like.bounds
            return
        further = np.zeros(len(parts))
        starts = zip(*(part.starts(X) for part in parts), strict=True)
        self.starts = np.array([np.concatenate([*start, further]) for start in starts])
        self.bounds = np.vstack(
            [part.log_bounds(X) for part in parts]
            # Weights relative to the weight of the first kernel, and the noise variance.
            + [np.log([1e-4, 1e4])] * (len(parts) - 1)
            + [np.log([1e-6, 1e4])]
        )

    @property
    def is_constant(self) -> bool:
        """Whether the target, or the kernel of the narrowest common width, is constant."""
        return self.rank == 0 or float(np.ptp(self.gram(self.starts[0]))) <= ROUNDING

    def subsampled(self, n_rows: int, factor: float = 2.0) -> _Evidence:
        """Return the problem for a subsample, or this problem if there are few samples."""
        if len(self.Y) < factor * n_rows:
            return self
        rows = spread_rows(self.samples.X, self.Y, n_rows)
        X, Y = self.samples.X[rows], self.Y[rows]
        return _Evidence(self.kernel, X, Y, self.deviation, in_single=self.in_single, like=self)

    def kernel_at(self, x: Array) -> Kernel:
        """Return the kernel, or the sum of kernels, with these parameters."""
        parts, weights, _ = self.read(x)
        return WeightedSum(parts, weights) if isinstance(self.kernel, WeightedSum) else parts[0]

    @property
    def middle(self) -> Array:
        """The middle of the starts, with a tenth of the kernel's variance as the noise."""
        return np.append(self.starts[len(self.starts) // 2, :-1], np.log(0.1))

    @property
    def best_start(self) -> Array:
        """The best of the starts for noise of the kernel's variance, with a tenth of that noise."""
        return np.append(min(self.starts, key=self.value)[:-1], np.log(0.1))

    def with_widths_like(self, like: Kernel) -> Array:
        """Return the middle, with widths that differ from it as those of a kernel from its own."""
        start, sizes = self.middle, like.structure.n_widths
        own = like.starts(self.samples.X)
        change = like.theta[:sizes] - own[len(own) // 2, :sizes]
        for positions in self.widths():
            start[positions] += change
        return np.clip(start, *self.bounds.T)

    def point_of(self, kernel: Kernel) -> Array:
        """Return the parameters of a kernel of the same form, without noise."""
        parts, logs = [kernel], np.empty(0)
        if isinstance(kernel, WeightedSum):
            parts, weights = list(kernel.kernels), np.asarray(kernel.weights)
            logs = np.log(weights[1:] / weights[0])
        point = np.concatenate([*(part.theta for part in parts), logs])
        return np.clip(point, *self.bounds[:-1].T)

    def best_noise(self, points: Sequence[Array]) -> Array:
        """Return the best of several points, extended by the best of four noise variances."""
        found = []
        for point in points:
            K = self.gram(np.append(point, 0.0))
            for log_noise in np.log([1e-3, 1e-2, 0.1, 1.0]):
                value = self.evidence.value(K, np.exp(log_noise))
                found.append((value, np.append(point, log_noise)))
        return min(found, key=lambda pair: pair[0])[1]

    def best_of_widths(self, max_iter: int) -> Array:
        """Return the best result of searches, one from each common width with its best noise."""
        starts = [self.best_noise([start[:-1]]) for start in self.starts]
        ends = [_searched(self, x, self.bounds, tol=TOLERANCE, max_iter=max_iter) for x in starts]
        return min(ends, key=_value).theta

    def best(self, x: Array) -> tuple[float, float]:
        """Return the best amplitude and the log marginal likelihood."""
        n, m = len(self.Y), self.rank
        amplitude, factor, _ = self.evidence.amplitude(self.gram(x), np.exp(x[-1]))
        amplitude *= self.scale**2
        constant = n * (np.log(2.0 * np.pi * amplitude) + 1.0)
        return amplitude, -0.5 * m * (constant + log_determinant(factor))

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the value and the gradient."""
        value, gradient = super().__call__(x)
        precision = 1.0 / (self.deviation**2 * len(self.Y) * self.rank)
        for positions in self.width_groups():
            widths = x[positions]
            centered = widths - widths.mean()
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
    """Run L-BFGS with twenty stored steps, because evaluations are expensive."""
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

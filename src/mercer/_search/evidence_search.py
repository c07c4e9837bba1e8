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
        A kernel with one width per feature, such as one learned from the same samples. The search
        starts from its widths relative to their geometric mean, or from the square roots of these
        ratios, times the best common width. If None, the search starts from the best common width
        and, with many samples, on a subsample.
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

    The best common width is found on 120 samples; with 500 samples or more, the search starts on
    250. The initial noise is at least a tenth of the kernel's variance, for two reasons: a common
    width fits noise with irrelevant features, and the derivative with respect to the logarithm of a
    small noise variance vanishes with the variance. If the marginal likelihood is barely better
    than the marginal likelihood of pure noise, short searches start from each width common to all
    features, on at most 499 samples, and a second search starts from the best result.

    References
    ----------
    Rasmussen & Williams (2006), section 5.4.1.
    """
    X, Y = X.astype(np.float64, copy=False), np.asarray(Y, dtype=np.float64)
    if len(rows := without_copies(X, Y)) < len(Y):
        X, Y = X[rows], Y[rows]
    kernel = kernel.bind(X)
    rows = spread_rows(X, Y, max_samples)
    whole = _Evidence(kernel, X[rows], Y[rows], prior_deviation)
    few = whole.subsampled(250)
    fewest = whole.subsampled(120, 1.0)
    # If the target, or the kernel, is constant on all samples, then also on some of them.
    if fewest.is_constant:
        middle = whole.kernel_at(whole.starts[len(whole.starts) // 2])
        return EvidenceMaximum(middle, 1.0, np.nan, np.nan, len(rows), (0.0,), True)
    start = _start((fewest, few, whole), like, max_iter)
    options: Any = {"tol": tol, "max_iter": max_iter, "on_step": on_step}
    found = _searched(whole, start, whole.bounds, **options)
    # The objective of pure noise is zero.
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
        len(rows),
        tuple(-0.5 * value for value in found.path),
        found.status != 1 and (found.status != 2 or have_slowed(found.path, tol, last=1)),
    )


def _start(
    problems: tuple[_Evidence, _Evidence, _Evidence], like: Kernel | None, max_iter: int
) -> Array:
    """Return the start of the search on all samples; see :func:`marginal_likelihood_widths`.

    Parameters
    ----------
    problems : tuple of _Evidence
        Problems on the smallest subsample, on a larger subsample (or all samples), and on all
        samples.
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
    """-2 log marginal likelihood plus the cost of the prior, per observation, with its gradient.

    The first weight of a sum is one, the noise is relative to the kernel's amplitude, and an
    additive constant is left out.
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
        return _Evidence(self.kernel, self.samples.X[rows], self.Y[rows], self.deviation)

    def kernel_at(self, x: Array) -> Kernel:
        """Return the kernel, or the sum of kernels, with these parameters."""
        parts, weights, _ = self.read(x)
        return WeightedSum(parts, weights) if isinstance(self.kernel, WeightedSum) else parts[0]

    def with_relative_widths(self, x: Array, like: Kernel) -> Array:
        """Multiply the widths in x by the width ratios of a kernel, or by their square roots.

        The candidate with the higher marginal likelihood and the best noise of a grid is returned.
        """
        log_widths = like.theta[: like.structure.n_widths]
        relative = np.zeros(len(x) - 1)
        for positions in self.widths():
            relative[positions] = log_widths - log_widths.mean()
        points = [x[:-1] + fraction * relative for fraction in (0.5, 1.0)]
        return self._best_noise([np.clip(point, *self.bounds[:-1].T) for point in points])

    def _best_noise(self, points: Sequence[Array]) -> Array:
        """Return the best of several points, extended by the best of four noise variances."""
        found = []
        for point in points:
            K = self.gram(np.append(point, 0.0))
            for log_noise in np.log([1e-3, 1e-2, 0.1, 1.0]):
                value = self.evidence.value(K, np.exp(log_noise))
                found.append((value, np.append(point, log_noise)))
        return min(found, key=lambda pair: pair[0])[1]

    def best_common(self) -> Array:
        """Return x of high marginal likelihood, with a common width in each kernel.

        The best point of a grid is refined by ten iterations over common widths, weights and noise.
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
        """Divisor of the objective: the number of samples times the rank of the target."""
        return len(self.Y) * self.rank

    def best_of_widths(self, max_iter: int) -> Array:
        """Return the best result of searches, one from each common width with its best noise."""
        starts = [self._best_noise([start[:-1]]) for start in self.starts]
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

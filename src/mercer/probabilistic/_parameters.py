"""Parameters of kernels, weights and noise that maximize the marginal likelihood together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.linalg import cho_solve
from scipy.optimize import OptimizeResult
from scipy.optimize import minimize as descend

from mercer._gram.dense import definite_factor, inverted, log_determinant
from mercer._gram.kernel_products import DenseGram, base_grams
from mercer._gram.samples import Samples
from mercer._gram.tiles import Tile, map_tiles, serial_algebra
from mercer._typing import Array
from mercer.kernels._kernel import Kernel, gram_tile_vjp
from mercer.probabilistic._descent import minimize
from mercer.probabilistic._likelihoods import Likelihood
from mercer.probabilistic._objectives import Problem, VariationalBound

_LOG_RADIUS = 20.0
"""Natural logarithms of weights and noise stay within this distance of their starting values."""
_WIDTH_SHIFTS = (0.0, -1.2, 1.2)
"""The search starts from the best of the given widths and of widths that differ by these shifts of
their natural logarithms."""
_SUBSAMPLE = 250
"""The search starts on this many samples, if there are at least twice as many."""
_ROUGH = 1e-4
"""Relative precision of the search on the subsample."""
_INNER = 1e-8
"""Relative precision of the latent values within one evaluation of the objective."""
_INNER_ITERATIONS = 100
"""The latent values within one evaluation are improved by at most this many steps."""
_PAIRS = 20
"""Number of pairs of steps and gradients that L-BFGS stores."""


@dataclass(frozen=True)
class Noise:
    """The likelihood, and its noise if it has any.

    Attributes
    ----------
    likelihood : Likelihood, or None
        None for Gaussian noise, whose marginal likelihood is in closed form.
    variance : float
        Starting value of the search; without meaning for a likelihood without noise.
    free : bool
        Whether the variance is learned.
    """

    likelihood: Likelihood | None
    variance: float
    free: bool


@dataclass(frozen=True)
class LearnedParameters:
    """Kernels, weights and noise of a high marginal likelihood.

    Attributes
    ----------
    kernels : list of Kernel
    weights : ndarray of shape (n_kernels,)
    noise : float
        Variance of the noise; without meaning for a likelihood without noise.
    history : list of float
        Objective after each step, on the -2 log scale.
    converged : bool
    """

    kernels: list[Kernel]
    weights: Array
    noise: float
    history: list[float]
    converged: bool


@dataclass(frozen=True)
class _Evidence:
    """The objective of a Gram matrix, and its derivatives.

    `slope` is the derivative in the logarithm of the noise variance; the derivative in the matrix
    is `inverse` less alpha alpha'.
    """

    value: float
    slope: float
    inverse: Array
    alpha: Array


def learn_parameters(
    samples: Samples,
    kernels: Sequence[Kernel],
    Y: Array,
    weights: Array,
    *,
    noise: Noise,
    tol: float,
    max_iter: int,
    on_step: Callable[..., None] | None = None,
) -> LearnedParameters:
    """Maximize the marginal likelihood, or its variational bound, over all parameters together.

    Parameters
    ----------
    samples : Samples
    kernels : sequence of Kernel
        Bound to the samples; their bounds are kept.
    Y : ndarray of shape (n_samples, n_problems)
    weights : ndarray of shape (n_kernels,)
        Positive weights to start from.
    noise : Noise
    tol : float
        The search ends when a step changes the objective by less than this fraction.
    max_iter : int
    on_step : callable, default=None
        Called after each step.

    Notes
    -----
    L-BFGS searches in logarithms, from the best of three scales of the widths, and on a subsample
    first. With A = K + Gamma the gradient is <A^-1 - alpha alpha', dK>, which every kernel
    contracts tile by tile. An evaluation is O(n^3 + p n^2 d), its memory a few n x n matrices.
    """
    whole = _EvidenceProblem(samples, list(kernels), Y, noise)
    log_weights = np.log(weights)
    bounds = whole.bounds(log_weights)
    starts = [np.clip(whole.start(log_weights, shift), *bounds.T) for shift in _WIDTH_SHIFTS]
    history: list[float] = []

    def search(problem: _EvidenceProblem, start: Array, tol: float) -> OptimizeResult:
        return descend(  # type: ignore[call-overload]
            problem,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            callback=after_step if problem is whole else None,
            options={"maxiter": max_iter, "ftol": tol, "gtol": 0.0, "maxcor": _PAIRS},
        )

    def after_step(intermediate_result: OptimizeResult) -> None:
        history.append(float(intermediate_result.fun))
        if on_step is not None:
            on_step()

    subsample = whole.subsampled()
    with serial_algebra():
        start = min(starts, key=subsample.value) if whole.is_width.any() else starts[0]
        if subsample is not whole:
            start = search(subsample, start, max(tol, _ROUGH)).x
    found = search(whole, start, tol)
    history = history or [float(found.fun)]
    learned, weights, variance = whole.read(found.x)
    return LearnedParameters(learned, weights, variance, history, bool(found.success))


class _EvidenceProblem:
    """The objective as a function of log-parameters: of weights, of the noise, and of kernels."""

    def __init__(self, samples: Samples, kernels: list[Kernel], Y: Array, noise: Noise) -> None:
        self.samples, self.kernels, self.Y, self.noise = samples, kernels, Y, noise
        sizes = [kernel.theta.size for kernel in kernels]
        first = len(kernels) + noise.free
        edges = first + np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        self.slices = [slice(int(a), int(b)) for a, b in pairwise(edges)]
        self.is_width = np.zeros(int(edges[-1]), dtype=bool)
        for kernel, own in zip(kernels, self.slices, strict=True):
            self.is_width[own.start : own.start + kernel.structure.n_widths] = True
        self._alpha: Array | None = None

    def subsampled(self) -> _EvidenceProblem:
        """Return the problem for a subsample, or this one if there are few samples."""
        n = self.samples.n_samples
        if n < 2 * _SUBSAMPLE:
            return self
        rows = np.unique(np.linspace(0, n - 1, _SUBSAMPLE).round().astype(int))
        samples, noise = self.samples.take(rows), self.noise
        if noise.likelihood is not None:
            noise = replace(noise, likelihood=noise.likelihood.with_weights(samples.weights.given))
        return _EvidenceProblem(samples, self.kernels, self.Y[rows], noise)

    def start(self, log_weights: Array, shift: float) -> Array:
        """Return the log-parameters at a start, those of widths shifted."""
        noise = [np.log([self.noise.variance])] if self.noise.free else []
        x = np.concatenate([log_weights, *noise, *(kernel.theta for kernel in self.kernels)])
        return np.asarray(x + shift * self.is_width)

    def bounds(self, log_weights: Array) -> Array:
        """Return bounds of the log-parameters, shape (n_parameters, 2)."""
        center = self.start(log_weights, 0.0)
        bounds = np.stack([center - _LOG_RADIUS, center + _LOG_RADIUS], axis=1)
        for kernel, own in zip(self.kernels, self.slices, strict=True):
            bounds[own] = kernel.log_bounds(self.samples.repeated)
        return bounds

    def read(self, x: Array) -> tuple[list[Kernel], Array, float]:
        """Return the kernels, the weights and the noise variance of log-parameters."""
        p = len(self.kernels)
        noise = float(np.exp(x[p])) if self.noise.free else self.noise.variance
        learned = [
            kernel.with_theta(x[own]) for kernel, own in zip(self.kernels, self.slices, strict=True)
        ]
        return learned, np.exp(x[:p]), noise

    def value(self, x: Array) -> float:
        """Return the objective."""
        kernels, weights, noise = self.read(x)
        K = base_grams(self.samples, kernels, centered=False).weighted_sum(weights)
        if self.noise.likelihood is not None:
            return self._bound(self.noise.likelihood, K, noise).value
        return self._gaussian(K, noise)[0]

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the objective and its gradient."""
        kernels, weights, noise = self.read(x)
        K = base_grams(self.samples, kernels, centered=False).weighted_sum(weights)
        if self.noise.likelihood is None:
            evidence = self._evidence(K, noise)
        else:
            evidence = self._bound(self.noise.likelihood, K, noise)
        most = max(own.stop - own.start for own in self.slices)

        def contract(tile: Tile) -> Array:
            P = evidence.inverse[tile.rows, tile.columns] - (
                evidence.alpha[tile.rows] @ evidence.alpha[tile.columns].T
            )
            result = np.zeros((len(kernels), 1 + most))
            for k, kernel in enumerate(kernels):
                value, slopes = gram_tile_vjp(kernel, self.samples.X, P, tile.rows, tile.columns)
                result[k, 0], result[k, 1 : 1 + slopes.size] = value, slopes
            return tile.count * result

        total = np.sum(list(map_tiles(contract, self.samples.plan)), axis=0)
        total *= weights[:, None]
        gradient = np.empty_like(x)
        gradient[: len(weights)] = total[:, 0]
        if self.noise.free:
            gradient[len(weights)] = evidence.slope
        for k, own in enumerate(self.slices):
            gradient[own] = total[k, 1 : 1 + own.stop - own.start]
        return evidence.value, gradient

    def _gaussian(self, K: Array, noise: float) -> tuple[float, Array, Array]:
        """Return the objective, the Cholesky factor of K + noise I, and the dual variables."""
        weights, total = self.samples.weights.given, self.samples.total
        K[np.diag_indices_from(K)] += noise if weights is None else noise / weights
        n, m = self.Y.shape
        factor = definite_factor(K)
        alpha = cho_solve((factor, True), self.Y, check_finite=False)
        constant = log_determinant(factor) + total * np.log(2.0 * np.pi)
        if weights is not None:
            # What the noise of several equal samples adds to that of their mean; see JointMAP.
            constant += float(np.log(weights).sum()) + (total - n) * np.log(noise)
        return float(np.sum(self.Y * alpha)) + m * constant, factor, alpha

    def _evidence(self, K: Array, noise: float) -> _Evidence:
        """Return the marginal likelihood of Gaussian noise."""
        value, factor, alpha = self._gaussian(K, noise)
        inverse = inverted(factor)
        if self.Y.shape[1] > 1:
            inverse *= self.Y.shape[1]
        by_sample = np.diag(inverse) - np.sum(alpha * alpha, axis=1)
        weights, (n, m) = self.samples.weights.given, self.Y.shape
        slope = noise * float((by_sample if weights is None else by_sample / weights).sum())
        slope += m * (self.samples.total - n)
        return _Evidence(value, slope, inverse, alpha)

    def _bound(self, likelihood: Likelihood, K: Array, noise: float) -> _Evidence:
        """Return the variational bound of the marginal likelihood."""
        likelihood = likelihood.of_variance(noise).with_weights(likelihood.weights)
        problem = Problem(VariationalBound(likelihood), DenseGram(K), self.Y)
        point = problem.start(np.ones(1))
        if self._alpha is not None:
            products = (K @ self._alpha).T[:, None]
            point = replace(point, alpha=self._alpha, products=products)
        found = minimize(problem, point, free=False, tol=_INNER, max_iter=_INNER_ITERATIONS)
        self._alpha = found.point.alpha
        inverse = np.zeros_like(K)
        for factor, scale in found.majorizer.factors:
            inverse += inverted(factor) * scale * scale[:, None]
        assert found.majorizer.gamma is not None
        slope = likelihood.log_variance_slope(found.majorizer.gamma)
        return _Evidence(found.value, slope, inverse, self._alpha)

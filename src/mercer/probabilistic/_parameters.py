"""The parameters of kernels, with their weights and the noise, by marginal likelihood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import cho_solve
from scipy.optimize import OptimizeResult
from scipy.optimize import minimize as descend

from mercer._gram.dense import definite_factor, inverted, log_determinant
from mercer._gram.kernel_products import DenseGram, base_grams
from mercer._gram.tiles import Samples, Tile, map_tiles, serial_algebra
from mercer._typing import Array
from mercer.kernels._kernel import Kernel, gram_tile_vjp
from mercer.probabilistic._descent import minimize
from mercer.probabilistic._likelihoods import LaplaceLikelihood, Likelihood
from mercer.probabilistic._objectives import VariationalBound
from mercer.probabilistic._problem import Problem

_REACH = 20.0
"""Logarithms of weights and noise stay within this of where they start."""
_LADDER = (0.0, -1.2, 1.2)
"""Widths are tried as they are, and a factor e^1.2 narrower and wider."""
_FEW = 250
"""Samples that the search starts on, where there are at least twice as many."""
_ROUGH = 1e-4
"""Relative precision of that start."""
_INNER = 1e-8
"""Relative precision of latent values, within one evaluation."""
_PAIRS = 20


@dataclass(frozen=True)
class Noise:
    """What is known of the noise.

    Attributes
    ----------
    likelihood : Likelihood, or None
        None for Gaussian noise, whose marginal likelihood is in closed form.
    variance : float
        Where the search starts; of no meaning where there is no noise.
    free : bool
        Whether it is learned.
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
    theta : ndarray of shape (n_kernels,)
        Their weights.
    noise : float
        Variance of the noise; NaN where there is none.
    history : list of float
        Objective after each step, on the -2 log scale.
    converged : bool
    """

    kernels: list[Kernel]
    theta: Array
    noise: float
    history: list[float]
    converged: bool


@dataclass(frozen=True)
class _Evidence:
    """What a Gram matrix says of the data, and how that changes with the matrix.

    `slope` is the derivative in the logarithm of the noise, `inverse` less alpha alpha' that in the
    matrix.
    """

    value: float
    slope: float
    inverse: Array
    alpha: Array


def learn_parameters(
    samples: Samples,
    kernels: Sequence[Kernel],
    Y: Array,
    theta: Array,
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
    theta : ndarray of shape (n_kernels,)
        Positive weights to start from.
    noise : Noise
    tol : float
        Stop where a step changes the objective by less than this part of it.
    max_iter : int
    on_step : callable, default=None
        Called after each step.

    Notes
    -----
    L-BFGS in logarithms, from the best of three scales of the widths, on some hundred samples
    first. With C = K + Gamma the gradient is <C^-1 - alpha alpha', dK>, which every kernel
    contracts tile by tile. An evaluation is O(n^3 + p n^2 d), its memory a few n x n matrices.
    """
    problem = _Problem(samples, list(kernels), Y, noise)
    bounds = problem.bounds(np.log(theta))
    starts = [np.clip(problem.start(np.log(theta), shift), *bounds.T) for shift in _LADDER]
    history: list[float] = []

    def descended(problem: _Problem, start: Array, tol: float, max_iter: int) -> Any:
        return descend(  # type: ignore[call-overload]
            problem,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            callback=after if problem.is_whole else None,
            options={"maxiter": max_iter, "ftol": tol, "gtol": 0.0, "maxcor": _PAIRS},
        )

    def after(intermediate_result: OptimizeResult) -> None:
        history.append(float(intermediate_result.fun))
        if on_step is not None:
            on_step()

    few = problem.of_few()
    with serial_algebra():
        start = min(starts, key=few.value) if problem.widths.any() else starts[0]
        if few is not problem:
            start = descended(few, start, max(tol, _ROUGH), max_iter).x
    found = descended(problem, start, tol, max_iter)
    history = history or [float(found.fun)]
    learned, weights, variance = problem.read(found.x)
    return LearnedParameters(learned, weights, variance, history, bool(found.success))


class _Problem:
    """The objective as a function of the logarithms of weights, noise and parameters."""

    def __init__(
        self,
        samples: Samples,
        kernels: list[Kernel],
        Y: Array,
        noise: Noise,
    ) -> None:
        self.samples, self.kernels, self.Y = samples, kernels, Y
        self.likelihood, self.noise, self.learns_noise = (
            noise.likelihood,
            noise.variance,
            noise.free,
        )
        sizes = [kernel.theta.size for kernel in kernels]
        first = len(kernels) + noise.free
        edges = first + np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        self.parts = [slice(int(a), int(b)) for a, b in pairwise(edges)]
        self.widths = np.zeros(int(edges[-1]), dtype=bool)
        for kernel, part in zip(kernels, self.parts, strict=True):
            self.widths[part.start : part.start + kernel.structure.n_widths] = True
        self.is_whole = True
        self._alpha: Array | None = None

    def of_few(self) -> _Problem:
        """The same problem for some of the samples, where there are many."""
        n = self.samples.n_samples
        if n < 2 * _FEW:
            return self
        rows = np.unique(np.linspace(0, n - 1, _FEW).round().astype(int))
        noise = Noise(self.likelihood, self.noise, self.learns_noise)
        few = _Problem(Samples(self.samples.X[rows]), self.kernels, self.Y[rows], noise)
        few.is_whole = False
        return few

    def start(self, log_theta: Array, shift: float) -> Array:
        own = [np.log([self.noise])] if self.learns_noise else []
        x = np.concatenate([log_theta, *own, *(kernel.theta for kernel in self.kernels)])
        return np.asarray(x + shift * self.widths)

    def bounds(self, log_theta: Array) -> Array:
        center = self.start(log_theta, 0.0)
        bounds = np.stack([center - _REACH, center + _REACH], axis=1)
        for kernel, part in zip(self.kernels, self.parts, strict=True):
            bounds[part] = kernel.log_bounds(self.samples.X)
        return bounds

    def read(self, x: Array) -> tuple[list[Kernel], Array, float]:
        p = len(self.kernels)
        noise = float(np.exp(x[p])) if self.learns_noise else self.noise
        learned = [
            kernel.with_theta(x[part])
            for kernel, part in zip(self.kernels, self.parts, strict=True)
        ]
        return learned, np.exp(x[:p]), noise

    def value(self, x: Array) -> float:
        kernels, theta, noise = self.read(x)
        K = base_grams(self.samples, kernels, centered=False).weighted_sum(theta)
        if self.likelihood is not None:
            return self._bound(K, noise).value
        return self._gaussian(K, noise)[0]

    def __call__(self, x: Array) -> tuple[float, Array]:
        kernels, theta, noise = self.read(x)
        K = base_grams(self.samples, kernels, centered=False).weighted_sum(theta)
        evidence = self._evidence(K, noise) if self.likelihood is None else self._bound(K, noise)
        widest = max(part.stop - part.start for part in self.parts)

        def contract(tile: Tile) -> Array:
            part = evidence.inverse[tile.rows, tile.columns] - (
                evidence.alpha[tile.rows] @ evidence.alpha[tile.columns].T
            )
            result = np.zeros((len(kernels), 1 + widest))
            for k, kernel in enumerate(kernels):
                value, slopes = gram_tile_vjp(kernel, self.samples.X, part, tile.rows, tile.columns)
                result[k, 0], result[k, 1 : 1 + slopes.size] = value, slopes
            return tile.count * result

        total = np.sum(list(map_tiles(contract, self.samples.plan)), axis=0)
        total *= theta[:, None]
        gradient = np.empty_like(x)
        gradient[: len(theta)] = total[:, 0]
        if self.learns_noise:
            gradient[len(theta)] = evidence.slope
        for k, part in enumerate(self.parts):
            gradient[part] = total[k, 1 : 1 + part.stop - part.start]
        return evidence.value, gradient

    def _gaussian(self, K: Array, noise: float) -> tuple[float, Array, Array]:
        """The objective, the Cholesky factor of K with the noise, and the dual variables."""
        K[np.diag_indices_from(K)] += noise
        n, m = self.Y.shape
        factor = definite_factor(K)
        alpha = cho_solve((factor, True), self.Y, check_finite=False)
        constant = m * (log_determinant(factor) + n * np.log(2.0 * np.pi))
        return float(np.sum(self.Y * alpha)) + constant, factor, alpha

    def _evidence(self, K: Array, noise: float) -> _Evidence:
        value, factor, alpha = self._gaussian(K, noise)
        inverse = inverted(factor)
        if self.Y.shape[1] > 1:
            inverse *= self.Y.shape[1]
        slope = noise * (float(np.trace(inverse)) - float(np.sum(alpha * alpha)))
        return _Evidence(value, slope, inverse, alpha)

    def _bound(self, K: Array, noise: float) -> _Evidence:
        assert self.likelihood is not None
        likelihood, slope = self.likelihood, 0.0
        if isinstance(likelihood, LaplaceLikelihood):
            likelihood = LaplaceLikelihood.of_variance(noise)
        problem = Problem(VariationalBound(likelihood), DenseGram(K), self.Y)
        point = problem.start(np.ones(1))
        if self._alpha is not None:
            images = (K @ self._alpha).T[:, None]
            point = replace(point, alpha=self._alpha, images=images)
        found = minimize(problem, point, free=False, tol=_INNER, max_iter=100)
        self._alpha = found.point.alpha
        inverse = np.zeros_like(K)
        for factor, scale in found.majorizer.factors:
            inverse += inverted(factor) * scale * scale[:, None]
        if isinstance(likelihood, LaplaceLikelihood):
            assert found.majorizer.gamma is not None
            slope = self.Y.size - likelihood.rate**2 * float(found.majorizer.gamma.sum())
        return _Evidence(found.majorizer.value, slope, inverse, self._alpha)

"""Parameters of kernels, weights and noise that maximize the marginal likelihood together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult

from mercer._gram.dense import inverted
from mercer._gram.kernel_products import DenseGram
from mercer._gram.samples import Samples, spread_rows
from mercer._gram.tiles import serial_algebra
from mercer._search.evidence import (
    GaussianEvidence,
    GramObjective,
    KernelParameters,
    Slopes,
    minimized,
)
from mercer._typing import Array
from mercer.kernels._kernel import Kernel
from mercer.probabilistic._descent import minimize_latents
from mercer.probabilistic._likelihoods import Likelihood
from mercer.probabilistic._objectives import Problem, VariationalBound


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


@dataclass
class _Bound:
    """The variational bound of -2 log marginal likelihood, as a function of a Gram matrix.

    The dual variables of an evaluation are where the next one starts.
    """

    likelihood: Likelihood
    Y: Array
    alpha: Array | None = None

    def value(self, K: Array, noise: float) -> float:
        return self.slopes(K, noise).value

    def slopes(self, K: Array, noise: float) -> Slopes:
        likelihood = self.likelihood.of_variance(noise).with_weights(self.likelihood.weights)
        problem = Problem(VariationalBound(likelihood), DenseGram(K), self.Y)
        found = minimize_latents(problem, problem.start(np.ones(1), self.alpha), tol=1e-8)
        self.alpha = found.point.alpha
        inverse = np.zeros_like(K)
        for factor, scale in found.majorizer.factors:
            inverse += inverted(factor) * scale * scale[:, None]
        assert found.majorizer.gamma is not None
        log_noise = likelihood.log_variance_slope(found.majorizer.gamma)
        return Slopes(found.value, log_noise, inverse, self.alpha)


def learn_parameters(
    samples: Samples,
    kernels: Sequence[Kernel],
    Y: Array,
    weights: Array,
    *,
    likelihood: Likelihood | None,
    noise: float,
    learns_noise: bool,
    tol: float,
    max_iter: int,
    on_step: Callable[..., None] | None = None,
    log_radius: float = 20.0,
    width_shifts: Sequence[float] = (0.0, -1.2, 1.2),
    n_rough: int = 250,
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
    likelihood : Likelihood or None
        None for Gaussian noise, whose marginal likelihood is in closed form.
    noise : float
        Variance of the noise to start from; without meaning for a likelihood without noise.
    learns_noise : bool
    tol : float
        The search ends when a step changes the objective by less than this fraction.
    max_iter : int
    on_step : callable, default=None
        Called after each step.
    log_radius : float, default=20.0
        Natural logarithms of weights and noise stay within this distance of their starting values.
    width_shifts : sequence of float, default=(0.0, -1.2, 1.2)
        The search starts from the best of the given widths shifted by these on the log scale.
    n_rough : int, default=250
        A rough search on this many samples comes first, if there are at least twice as many.

    Notes
    -----
    L-BFGS searches in logarithms, from the best of three scales of the widths, and with many
    samples on a subsample first. With A = K + Gamma the gradient is <A^-1 - alpha alpha', dK>. An
    evaluation is O(n^3 + p n^2 d), its memory a few n x n matrices.
    """

    def objective(samples: Samples, Y: Array) -> KernelParameters:
        evidence: GramObjective = GaussianEvidence(Y, samples.weights)
        if likelihood is not None:
            evidence = _Bound(likelihood.with_weights(samples.weights.given), Y)
        known = None if learns_noise else noise
        return KernelParameters(samples, kernels, evidence, noise=known)

    whole = objective(samples, Y)
    center = np.concatenate([*(kernel.theta for kernel in kernels), np.log(weights)])
    center = np.append(center, np.log(noise)) if learns_noise else center
    bounds = np.stack([center - log_radius, center + log_radius], axis=1)
    limits = [kernel.log_bounds(samples.repeated) for kernel in kernels]
    bounds[: whole.ends[-1]] = np.concatenate(limits).reshape(-1, 2)
    is_width = np.isin(np.arange(center.size), np.r_[*whole.widths()])
    history: list[float] = []

    def after_step(intermediate_result: OptimizeResult) -> None:
        history.append(float(intermediate_result.fun))
        if on_step is not None:
            on_step()

    few = whole
    if samples.n_samples >= 2 * n_rough:
        rows = np.sort(spread_rows(samples.X, Y, n_rough))
        few = objective(samples.take(rows), Y[rows])
    options: dict[str, float] = {"maxiter": max_iter, "gtol": 0.0}
    with serial_algebra():
        starts = [np.clip(center + shift * is_width, *bounds.T) for shift in width_shifts]
        start = min(starts, key=few.value) if is_width.any() else starts[0]
        if few is not whole:
            rough = max(tol, 1e-4)
            start = minimized(
                few,
                start,
                bounds,
                after_step=lambda intermediate_result: None,
                ftol=rough,
                **options,
            ).x
    found = minimized(whole, start, bounds, after_step=after_step, ftol=tol, **options)
    learned, weights, variance = whole.read(found.x)
    steps = history or [float(found.fun)]
    return LearnedParameters(learned, weights, variance, steps, bool(found.success))

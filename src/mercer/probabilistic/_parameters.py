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
    *,
    likelihood: Likelihood | None,
    noise: float,
    learns_noise: bool,
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

    Notes
    -----
    L-BFGS searches in logarithms, from equal weights and the best of three scales of the widths;
    from 500 samples on, a rough search on 250 of them comes first. With A = K + Gamma the gradient
    is <A^-1 - alpha alpha', dK>. An evaluation is O(n^3 + p n^2 d), its memory a few n x n
    matrices.
    """

    def objective(samples: Samples, Y: Array) -> KernelParameters:
        evidence: GramObjective = GaussianEvidence(Y, samples.weights)
        if likelihood is not None:
            evidence = _Bound(likelihood.with_weights(samples.weights.given), Y)
        known = None if learns_noise else noise
        return KernelParameters(samples, kernels, evidence, noise=known)

    whole = objective(samples, Y)
    weight = float(samples.weights.mean(Y * Y).mean()) / len(kernels)
    center, bounds = _box(samples, kernels, [weight] * len(kernels) + [noise] * learns_noise)
    is_width = np.isin(np.arange(center.size), np.r_[*whole.widths()])
    history: list[float] = []

    def after_step(intermediate_result: OptimizeResult) -> None:
        history.append(float(intermediate_result.fun))
        if on_step is not None:
            on_step()

    few = whole
    if samples.n_samples >= 500:
        rows = np.sort(spread_rows(samples.X, Y, 250))
        few = objective(samples.take(rows), Y[rows])
    options: dict[str, float] = {"maxiter": max_iter, "gtol": 0.0}
    with serial_algebra():
        starts = [np.clip(center + shift * is_width, *bounds.T) for shift in (0.0, -1.2, 1.2)]
        start = min(starts, key=few.value) if is_width.any() else starts[0]
        if few is not whole:
            rough = {**options, "ftol": max(tol, 1e-4)}
            start = minimized(few, start, bounds, after_step=_ignored, **rough).x
    found = minimized(whole, start, bounds, after_step=after_step, ftol=tol, **options)
    return LearnedParameters(
        *whole.read(found.x), history or [float(found.fun)], bool(found.success)
    )


def _box(
    samples: Samples, kernels: Sequence[Kernel], others: Sequence[float]
) -> tuple[Array, Array]:
    """The logarithms of parameters to start from, and their bounds.

    Weights and noise, the others, stay within a factor of exp(20) of where they start.
    """
    logs = np.log(others)
    limits = [kernel.log_bounds(samples.repeated).reshape(-1, 2) for kernel in kernels]
    center = np.concatenate([*(kernel.theta for kernel in kernels), logs])
    return center, np.concatenate([*limits, logs[:, None] + [-20.0, 20.0]])


def _ignored(intermediate_result: OptimizeResult) -> None:
    """Do nothing after a step."""

"""Kernels, weights, noise and posterior, learned together by one of the four objectives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from mercer._gram.dense import definite_factor, with_diagonal
from mercer._gram.kernel_products import GramsWithIdentity, base_grams
from mercer._gram.tiles import Samples
from mercer._history import ObjectiveStep
from mercer._typing import Array
from mercer.kernels._kernel import Kernel
from mercer.probabilistic._descent import Minimum, minimize
from mercer.probabilistic._likelihoods import (
    GaussianLikelihood,
    LaplaceLikelihood,
    Likelihood,
    LogisticLikelihood,
)
from mercer.probabilistic._parameters import Noise, learn_parameters
from mercer.probabilistic._posterior import (
    LatentPosterior,
    ObjectiveName,
    as_objective,
    latent_posterior,
)
from mercer.probabilistic._problem import Problem
from mercer.probabilistic._weight_learning import (
    PRECISE,
    learn_theta,
    starting_scales,
    with_zeros,
)

LikelihoodName: TypeAlias = Literal["gaussian", "laplace", "logistic"]

_SMALLEST_NOISE = 1e-10
"""Variance of Gaussian noise that is always there, in mean squares of the targets."""
_DESCENT = 3e-2
"""Parameters change the objective by less than this part of the tolerance at the last step."""
_MAX_ITER = 100
_COLLAPSE = 1e-3
_INDEFINITE = 1e-8
"""A learned Gram matrix may be this far from definite, in mean squares of the targets."""
_FIRST_NOISE = 0.1
"""Part of the targets' mean square that is taken for noise at first."""


@dataclass(frozen=True)
class Settings:
    """What is minimized, and how.

    Attributes
    ----------
    objective : {"mlm", "vb", "map", "mkl"}
    likelihood : {"gaussian", "laplace", "logistic"}
    noise : float, or None
        Variance, in the squared unit of the targets; None where it is learned or there is none.
    jitter : float
        Of "map", in mean diagonals of the kernels.
    penalty, norm : float
        Of "mkl".
    learns_parameters : bool
    n_starts : int
    tol : float
    max_iter : int
    """

    objective: ObjectiveName
    likelihood: LikelihoodName
    noise: float | None
    jitter: float
    penalty: float
    norm: float
    learns_parameters: bool
    n_starts: int
    tol: float
    max_iter: int

    @property
    def exact(self) -> bool:
        """Whether the marginal likelihood is in closed form."""
        return self.likelihood == "gaussian" and self.objective in ("mlm", "vb")

    @property
    def learns_noise(self) -> bool:
        """Whether there is noise, and the objective knows how much of it."""
        bounded = self.objective in ("mlm", "vb")
        return self.noise is None and self.likelihood != "logistic" and bounded

    def given(self, noise: float) -> Likelihood:
        """The likelihood of a noise."""
        if self.likelihood == "gaussian":
            return GaussianLikelihood(noise)
        if self.likelihood == "laplace":
            return LaplaceLikelihood.of_variance(noise)
        return LogisticLikelihood()


@dataclass(frozen=True)
class LearnedModel:
    """What an objective made of the data.

    Attributes
    ----------
    kernels : list of Kernel
    weights : ndarray of shape (n_kernels,)
        Coefficients of the kernels as they are.
    traces : ndarray of shape (n_kernels,)
        Of the kernels' Gram matrices.
    K : ndarray of shape (n_samples, n_samples)
        The learned Gram matrix, without noise or jitter.
    noise : float, or None
        Variance; None where there is none.
    value : float
        The objective, on the -2 log scale.
    gap : float, or None
        Relative duality gap of a convex objective; None for others.
    posterior : LatentPosterior
    history : list of ObjectiveStep
    converged : bool
    collapsed : bool
        Whether no kernel is as good as the learned ones.
    """

    kernels: list[Kernel]
    weights: Array
    traces: Array
    K: Array
    noise: float | None
    value: float
    gap: float | None
    posterior: LatentPosterior
    history: list[ObjectiveStep]
    converged: bool
    collapsed: bool


def learn_model(
    samples: Samples,
    kernels: Sequence[Kernel],
    Y: Array,
    settings: Settings,
    on_step: Callable[..., None] | None = None,
) -> LearnedModel:
    """Learn weights, and noise and parameters where they are free.

    Parameters
    ----------
    samples : Samples
    kernels : sequence of Kernel
        Bound to the samples.
    Y : ndarray of shape (n_samples, n_problems)
    settings : Settings
    on_step : callable, default=None
        Called after each step.
    """
    if settings.noise is None and settings.objective in ("map", "mkl"):
        settings = replace(settings, noise=_likely_noise(samples, kernels, Y, settings, on_step))
    size = float(np.mean(Y * Y))
    noise = _FIRST_NOISE * size if settings.noise is None else settings.noise
    if settings.learns_parameters:
        theta = np.full(len(kernels), size / len(kernels))
        learned = learn_parameters(
            samples,
            kernels,
            Y,
            theta,
            noise=Noise(
                None if settings.exact else settings.given(noise), noise, settings.learns_noise
            ),
            tol=_DESCENT * settings.tol,
            max_iter=settings.max_iter,
            on_step=on_step,
        )
        kernels, noise = learned.kernels, learned.noise
        problem = _Weighing(samples, kernels, Y, settings, noise=noise, size=size)
        found = problem.at(learned.theta)
        found = replace(
            found,
            history=[ObjectiveStep(value, 0.0, np.nan) for value in learned.history],
            converged=learned.converged,
        )
    else:
        problem = _Weighing(samples, kernels, Y, settings, noise=noise, size=size)
        found = problem.learned(on_step)
    return problem.summary(found, noise)


def _likely_noise(
    samples: Samples,
    kernels: Sequence[Kernel],
    Y: Array,
    settings: Settings,
    on_step: Callable[..., None] | None,
) -> float | None:
    """The noise of the highest marginal likelihood: MAP and MKL would let it vanish."""
    if settings.likelihood == "logistic":
        return None
    bounded = replace(settings, objective="vb", learns_parameters=False)
    return learn_model(samples, kernels, Y, bounded, on_step).noise


class _Weighing:
    """The problem of finding weights, with kernels scaled to a mean diagonal of one."""

    def __init__(
        self,
        samples: Samples,
        kernels: Sequence[Kernel],
        Y: Array,
        settings: Settings,
        *,
        noise: float,
        size: float,
    ) -> None:
        self.kernels, self.settings, self.size, self.noise = list(kernels), settings, size, noise
        plain = base_grams(samples, self.kernels, centered=False)
        self.traces = plain.traces()
        if (self.traces < 0.0).any():
            name = self.kernels[int(self.traces.argmin())].describe()
            raise ValueError(
                f"A kernel is not positive semi-definite: the trace of {name} is negative."
            )
        # Weights of kernels that are zero on the samples would cost nothing, and grow for ever.
        self.empty = not self.traces.any()
        self.used = np.arange(1) if self.empty else np.flatnonzero(self.traces)
        traces = self.traces[self.used]
        self.scales = np.zeros(1) if self.empty else samples.n_samples / traces
        if self.used.size < len(self.kernels):
            plain = base_grams(samples, [self.kernels[k] for k in self.used], centered=False)
        self.plain = plain.scaled(self.scales)
        self.noisy = settings.exact and settings.learns_noise
        jitter = noise if settings.exact else settings.jitter
        grams = self.plain
        if self.noisy:
            jitter, grams = _SMALLEST_NOISE * size, GramsWithIdentity(self.plain, samples.n_samples)
        goal = as_objective(
            "mlm" if settings.exact else settings.objective,
            settings.given(noise),
            jitter=jitter,
            penalty=settings.penalty,
            norm=settings.norm,
            learns_noise=settings.learns_noise,
        )
        self.problem = Problem(goal, grams, Y)

    def learned(self, on_step: Callable[..., None] | None) -> Minimum:
        """The best weights that the starts lead to."""
        p, settings = self.used.size, self.settings
        if self.empty:
            # All is noise, whose most likely variance is what the targets have.
            self.noise = self.size
            return self._inferred(self._with_noise(np.zeros(p)))
        equal = np.full(p, self.size / p)
        return learn_theta(
            self.problem,
            [self._with_noise(scale * equal) for scale in starting_scales(settings.n_starts)],
            tol=settings.tol,
            max_iter=settings.max_iter,
            on_step=on_step,
        )

    def at(self, weights: Array) -> Minimum:
        """The posterior for weights of the kernels as they are, zero where they add nothing."""
        if self.empty:
            return self.learned(None)
        theta = weights[self.used] / self.scales
        return with_zeros(self.problem, self._inferred(self._with_noise(theta)), self.settings.tol)

    def _inferred(self, theta: Array) -> Minimum:
        start = self.problem.start(theta)
        return minimize(self.problem, start, free=False, tol=PRECISE, max_iter=_MAX_ITER)

    def _with_noise(self, theta: Array) -> Array:
        if not self.noisy:
            return theta
        return np.append(theta, max(self.noise - self.problem.objective.jitter, 0.0))

    def summary(self, found: Minimum, noise: float) -> LearnedModel:
        """What users want to know of a minimum."""
        p, settings = self.used.size, self.settings
        theta, value = found.point.theta, found.majorizer.value
        loss = found.majorizer.loss
        if settings.exact:
            noise = float(theta[p:].sum()) + self.problem.objective.jitter
        elif isinstance(loss, LaplaceLikelihood):
            noise = 2.0 / loss.rate**2
        if found.majorizer.direct:
            # Support vector machines take any matrix, without a word.
            least = _INDEFINITE * self.size
            definite_factor(with_diagonal(found.point.K, self.problem.objective.jitter + least))
        bound = self.problem.dual(found.point)
        gap = None if bound is None else max(value - bound, 0.0) / max(abs(value), 1.0)
        weights = np.zeros(len(self.kernels))
        weights[self.used] = theta[:p] * self.scales
        return LearnedModel(
            kernels=self.kernels,
            weights=weights,
            traces=self.traces,
            K=self.plain.weighted_sum(theta[:p]),
            noise=None if settings.likelihood == "logistic" else noise,
            value=value,
            gap=gap,
            posterior=latent_posterior(found, self.problem.Y),
            history=found.history,
            converged=found.converged,
            collapsed=settings.objective == "map" and self._collapsed(value),
        )

    def _collapsed(self, value: float) -> bool:
        """Whether the objective without any kernel is as low."""
        empty = self._inferred(np.zeros(self.used.size))
        return empty.majorizer.value - value <= _COLLAPSE * abs(value)

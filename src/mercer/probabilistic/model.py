"""Kernels, weights, noise and posterior, learned together by one of the four objectives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from mercer._typing import Array
from mercer.gram.combination import WithIdentity, base_grams
from mercer.gram.tiles import Samples
from mercer.history import ObjectiveStep
from mercer.kernels.base import Kernel
from mercer.probabilistic.descent import Minimum, minimize
from mercer.probabilistic.learning import (
    PRECISE,
    learn_theta,
    starting_point,
    starting_scales,
    with_zeros,
)
from mercer.probabilistic.likelihoods import (
    GaussianLikelihood,
    LaplaceLikelihood,
    Likelihood,
    LogisticLikelihood,
)
from mercer.probabilistic.parameters import learn_parameters
from mercer.probabilistic.posterior import (
    LatentPosterior,
    ObjectiveName,
    as_objective,
    latent_posterior,
)

LikelihoodName: TypeAlias = Literal["gaussian", "laplace", "logistic"]

_SMALLEST_NOISE = 1e-10
"""Variance of Gaussian noise that is always there, in mean squares of the targets."""
_DESCENT = 1e-2
"""Parameters change the objective by less than this part of the tolerance at the last step."""
_MAX_ITER = 100
_COLLAPSE = 1e-3
_FIRST_NOISE = 0.1
"""Part of the targets' mean square that is taken for noise at first."""


@dataclass(frozen=True)
class Settings:
    """What is minimised, and how.

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
            likelihood=None if settings.exact else settings.given(noise),
            noise=noise,
            learns_noise=settings.learns_noise,
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
        self.kernels, self.Y, self.settings, self.size = list(kernels), Y, settings, size
        plain = base_grams(samples, self.kernels, centred=False)
        self.traces = plain.traces()
        means = self.traces / samples.n_samples
        self.scales = np.divide(1.0, means, out=np.zeros_like(means), where=means > 0.0)
        self.plain = plain.scaled(self.scales)
        self.grams, self.noise = self.plain, noise
        jitter = settings.jitter
        if settings.exact:
            jitter = noise
            if settings.learns_noise:
                jitter = _SMALLEST_NOISE * size
                self.grams = WithIdentity(self.plain, samples.n_samples)
        self.goal = as_objective(
            "mlm" if settings.exact else settings.objective,
            settings.given(noise),
            jitter=jitter,
            penalty=settings.penalty,
            norm=settings.norm,
            learns_noise=settings.learns_noise,
        )

    def learned(self, on_step: Callable[..., None] | None) -> Minimum:
        """The best weights that the starts lead to."""
        p, settings = len(self.kernels), self.settings
        equal = np.full(p, self.size / p)
        return learn_theta(
            self.goal,
            self.grams,
            self.Y,
            [self._with_noise(scale * equal) for scale in starting_scales(settings.n_starts)],
            tol=settings.tol,
            max_iter=settings.max_iter,
            on_step=on_step,
        )

    def at(self, weights: Array) -> Minimum:
        """The posterior for weights of the kernels as they are, zero where they add nothing."""
        theta = np.divide(weights, self.scales, out=np.zeros_like(weights), where=self.scales > 0.0)
        point = starting_point(
            self.grams, self.Y.shape[1], self._with_noise(theta), self.goal.jitter
        )
        found = minimize(
            self.goal, self.grams, self.Y, point, free=False, tol=PRECISE, max_iter=_MAX_ITER
        )
        return with_zeros(self.goal, self.grams, self.Y, found, self.settings.tol)

    def _with_noise(self, theta: Array) -> Array:
        if self.grams is self.plain:
            return theta
        return np.append(theta, max(self.noise - self.goal.jitter, 0.0))

    def summary(self, found: Minimum, noise: float) -> LearnedModel:
        """What users want to know of a minimum."""
        p, goal, settings = len(self.kernels), self.goal, self.settings
        theta, value = found.point.theta, found.majorizer.value
        loss = found.majorizer.loss
        if settings.exact:
            noise = float(theta[p:].sum()) + goal.jitter
        elif isinstance(loss, LaplaceLikelihood):
            noise = 2.0 / loss.rate**2
        bound = goal.dual(self.grams, self.Y, found.point)
        gap = None if bound is None else max(value - bound, 0.0) / max(abs(value), 1.0)
        return LearnedModel(
            kernels=self.kernels,
            weights=theta[:p] * self.scales,
            traces=self.traces,
            K=self.plain.combined(theta[:p]),
            noise=None if settings.likelihood == "logistic" else noise,
            value=value,
            gap=gap,
            posterior=latent_posterior(found, self.Y),
            history=found.history,
            converged=found.converged,
            collapsed=settings.objective == "map" and self._collapsed(value),
        )

    def _collapsed(self, value: float) -> bool:
        """Whether the objective without any kernel is as low."""
        none = np.zeros(len(self.kernels))
        point = starting_point(self.grams, self.Y.shape[1], none, self.goal.jitter)
        empty = minimize(
            self.goal, self.grams, self.Y, point, free=False, tol=PRECISE, max_iter=_MAX_ITER
        )
        return empty.majorizer.value - value <= _COLLAPSE * abs(value)

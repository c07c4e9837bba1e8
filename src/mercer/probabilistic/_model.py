"""Joint learning of kernels, weights, noise and posterior by one of several objectives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from mercer._data.types import Array
from mercer._data.validation import INDEFINITE_ADVICE, check_number, check_positive
from mercer._gram.factors import definite_factor, with_diagonal
from mercer._gram.kernel_products import BaseGrams, GramsWithIdentity, base_grams
from mercer._gram.samples import Samples
from mercer._search.weights.mkl import Machines
from mercer.kernels._kernel import Kernel
from mercer.probabilistic._descent import Minimum, minimize_latents
from mercer.probabilistic._likelihoods import (
    Deviance,
    GaussianLikelihood,
    LaplaceLikelihood,
    Likelihood,
    LogisticLikelihood,
)
from mercer.probabilistic._majorizer import LatentPosterior
from mercer.probabilistic._objectives import (
    BayesianObjective,
    JointMAP,
    LaplaceApproximation,
    PenalizedRisk,
    Problem,
    VariationalBound,
)
from mercer.probabilistic._searches import (
    learn_parameters,
    optimize_laplace,
    optimize_weights,
    with_zeros,
)

ObjectiveName: TypeAlias = Literal["marginal_likelihood", "vb", "laplace", "map", "mkl"]
OBJECTIVES: tuple[ObjectiveName, ...] = get_args(ObjectiveName)
"""Names of the objectives."""
LikelihoodName: TypeAlias = Literal["gaussian", "laplace", "logistic"]

_LIKELIHOODS: dict[LikelihoodName, type[Likelihood]] = {
    "gaussian": GaussianLikelihood,
    "laplace": LaplaceLikelihood,
    "logistic": LogisticLikelihood,
}
"""Likelihoods by name."""


@dataclass(frozen=True)
class Settings:
    """Settings of the objective and of the search that minimizes it.

    Attributes
    ----------
    objective : {"marginal_likelihood", "vb", "laplace", "map", "mkl"}
    likelihood : {"gaussian", "laplace", "logistic"}
    noise : float, or None
        Variance of the noise, in the squared unit of the targets; None if it is learned or there is
        no noise.
    jitter : float
        White noise used by "map", relative to the mean diagonals of the kernels.
    weight_penalty, norm : float
        Used by "mkl" only.
    learns_parameters : bool
    n_starts : int
    tol : float
    max_iter : int
    """

    objective: ObjectiveName
    likelihood: LikelihoodName
    noise: float | None
    jitter: float
    weight_penalty: float
    norm: float
    learns_parameters: bool
    n_starts: int
    tol: float
    max_iter: int

    @property
    def bounds_evidence(self) -> bool:
        """Whether the objective is the marginal likelihood or its variational bound."""
        return self.objective in ("marginal_likelihood", "vb")

    @property
    def exact(self) -> bool:
        """Whether the objective is the marginal likelihood in closed form."""
        return self.likelihood == "gaussian" and self.bounds_evidence

    @property
    def learns_noise(self) -> bool:
        """Whether the objective learns the variance of the noise."""
        return self.noise is None and self.likelihood != "logistic" and self.bounds_evidence

    @property
    def needs_noise(self) -> bool:
        """Whether there is noise whose variance the objective cannot learn.

        The objectives of MAP and MKL decrease without bound as the noise vanishes.
        """
        return self.likelihood != "logistic" and not self.bounds_evidence

    def of_noise(self, noise: float, weights: Array | None) -> Likelihood:
        """Return the likelihood for a noise variance and weights of the samples."""
        return _LIKELIHOODS[self.likelihood].of_variance(noise).with_weights(weights)


def as_objective(
    name: ObjectiveName,
    deviance: Deviance,
    *,
    jitter: float = 0.0,
    weight_penalty: float = 1.0,
    norm: float = 1.0,
    scales: float | Array = 1.0,
    learns_noise: bool = False,
) -> BayesianObjective:
    """Return the objective with a given name.

    Parameters
    ----------
    name : {"marginal_likelihood", "vb", "laplace", "map", "mkl"}
    deviance : Deviance
        A likelihood, unless the name is "mkl".
    jitter : float, default=0.0
        White noise in the latent function, used by "map" only.
    weight_penalty, norm : float, default=1.0
        Used by "mkl" only.
    scales : float or ndarray of shape (n_kernels,), default=1.0
        Used by "mkl" only: factors by which the kernels were multiplied. The penalty applies to the
        weights of the unscaled kernels.
    learns_noise : bool, default=False
        Used by "vb" only.

    Raises
    ------
    ValueError
        If the objective does not support the likelihood, if a setting is out of its range, or if
        the penalty is not a finite number.
    """
    check_positive("weight_penalty", weight_penalty)
    check_number("norm", norm, low=1.0)
    check_number("jitter", jitter)
    if name == "mkl":
        with np.errstate(over="ignore", under="ignore"):
            penalties = np.asarray(weight_penalty * scales**norm)
        if not (np.isfinite(penalties) & (penalties > 0.0)).all():
            raise ValueError(
                f"weights^{norm:g} is not a finite number for kernels of such values: divide the "
                "kernels by their mean diagonals."
            )
        return PenalizedRisk(deviance, penalties, norm)
    if not isinstance(deviance, Likelihood):
        raise ValueError(f'A loss that is not a likelihood needs objective="mkl"; got {name!r}.')
    if name == "map":
        check_positive("jitter", jitter)
        return JointMAP(deviance, jitter)
    if name == "laplace":
        if not deviance.loss.is_smooth:
            raise ValueError(
                'objective="laplace" expands the likelihood about its mode, and needs one without '
                "kinks."
            )
        return LaplaceApproximation(deviance)
    if name == "vb":
        return VariationalBound(deviance, learns_noise)
    if not isinstance(deviance, GaussianLikelihood):
        raise ValueError(
            'objective="marginal_likelihood" is in closed form for Gaussian noise only: '
            'objective="vb" bounds it for other likelihoods.'
        )
    return JointMAP.marginal_likelihood(deviance.noise, deviance.weights)


@dataclass(frozen=True, kw_only=True)
class LearnedModel(Machines):
    """Kernels, weights and posterior that minimize an objective, on the -2 log scale.

    The Gram matrix does not include noise or jitter.

    Attributes
    ----------
    kernels : list of Kernel
    weights : ndarray of shape (n_kernels,)
        Coefficients of the kernels as given.
    traces : ndarray of shape (n_kernels,)
        Traces of the kernels' Gram matrices.
    noise : float
        Variance of the noise; NaN if the model has no noise.
    posterior : LatentPosterior
    converged : bool
    collapsed : bool
        Whether the objective is about as low without any kernel.
    """

    kernels: list[Kernel]
    weights: Array
    traces: Array
    noise: float
    posterior: LatentPosterior
    converged: bool
    collapsed: bool


def learn_model(
    samples: Samples,
    kernels: Sequence[Kernel],
    Y: Array,
    settings: Settings,
    on_step: Callable[..., None] = lambda *_: None,
    *,
    observed: Samples | None = None,
) -> LearnedModel:
    """Learn the weights and, if they are free, the noise and the parameters of the kernels.

    Parameters
    ----------
    samples : Samples
    kernels : sequence of Kernel
        Bound to the samples.
    Y : ndarray of shape (n_samples, n_problems)
    settings : Settings
    on_step : callable, default=None
        Called after each step.
    observed : Samples, default=None
        The samples, weighted by their numbers of independent observations. If these are not the
        weights, noise is learned first, from them: if copies and weights counted as observations,
        the likelihood would increase without bound as the noise vanishes.
    """
    observed = samples if observed is None else observed
    given, counted = samples.weights.values, observed.weights.values
    if settings.noise is None and (settings.needs_noise or not np.array_equal(given, counted)):
        settings = replace(settings, noise=_learned_noise(observed, kernels, Y, settings, on_step))
    size = float(samples.weights.mean(Y * Y).mean())
    noise = 0.1 * size if settings.noise is None else settings.noise
    if not settings.learns_parameters:
        dictionary = _WeightedDictionary(samples, kernels, Y, settings, noise)
        return dictionary.model(dictionary.learned(on_step))
    # A smaller tolerance is used because L-BFGS stops after a single step of little progress.
    learned_kernels, weights, noise, history, converged = learn_parameters(
        samples,
        kernels,
        Y,
        likelihood=None if settings.exact else settings.of_noise(noise, samples.weights.given),
        noise=noise,
        learns_noise=settings.learns_noise,
        tol=3e-2 * settings.tol,
        max_iter=settings.max_iter,
        on_step=on_step,
    )
    dictionary = _WeightedDictionary(samples, learned_kernels, Y, settings, noise)
    found = dictionary.minimum_at(weights)
    return dictionary.model(replace(found, history=history, converged=converged))


def _learned_noise(
    samples: Samples,
    kernels: Sequence[Kernel],
    Y: Array,
    settings: Settings,
    on_step: Callable[..., None],
) -> float:
    """Return the variance of the noise that maximizes the marginal likelihood, or its bound."""
    if settings.needs_noise:
        settings = replace(settings, objective="vb", learns_parameters=False)
    return learn_model(samples, kernels, Y, settings, on_step).noise


class _WeightedDictionary:
    """The problem of finding the weights of kernels that are scaled to a mean diagonal of one."""

    def __init__(
        self,
        samples: Samples,
        kernels: Sequence[Kernel],
        Y: Array,
        settings: Settings,
        noise: float,
    ) -> None:
        self.kernels, self.settings, self.noise = list(kernels), settings, noise
        self.size = float(samples.weights.mean(Y * Y).mean())
        plain = base_grams(samples, self.kernels, centered=False)
        self.traces = plain.traces(samples.weights.given)
        if (self.traces < 0.0).any():
            name = self.kernels[int(self.traces.argmin())].describe()
            raise ValueError(
                f"A kernel is not positive semi-definite: the trace of {name} is negative. "
                + INDEFINITE_ADVICE
            )
        # Kernels that are zero on the samples are left out, because their weights are unbounded.
        self.empty = not self.traces.any()
        self.used = np.arange(1) if self.empty else np.flatnonzero(self.traces)
        self.scales = np.zeros(1) if self.empty else samples.total / self.traces[self.used]
        if self.used.size < len(self.kernels):
            plain = base_grams(samples, [self.kernels[k] for k in self.used], centered=False)
        self.plain = plain.scaled(self.scales)
        # Learned Gaussian noise is treated as the weight of one more kernel, the identity.
        self.noise_is_weight = settings.exact and settings.learns_noise
        objective: BayesianObjective
        grams: BaseGrams = self.plain
        if self.noise_is_weight:
            # This much noise keeps the Gram matrix plus noise positive definite.
            smallest, weights = 1e-10 * self.size, samples.weights.given
            objective = JointMAP.marginal_likelihood(smallest, weights, learns_noise=True)
            grams = GramsWithIdentity(self.plain, samples.n_samples, weights=weights)
        else:
            objective = as_objective(
                "marginal_likelihood" if settings.exact else settings.objective,
                settings.of_noise(noise, samples.weights.given),
                jitter=settings.jitter,
                weight_penalty=settings.weight_penalty,
                norm=settings.norm,
                scales=1.0 if self.empty else self.scales,
                learns_noise=settings.learns_noise,
            )
        self.problem = Problem(objective, grams, Y)

    def learned(self, on_step: Callable[..., None]) -> Minimum:
        """Return the lowest of the minima that are reached from the starting weights."""
        p, settings = self.used.size, self.settings
        if self.empty:
            # The targets are pure noise, whose most likely variance is their mean square.
            self.noise = self.size
            return self._minimum(self._with_noise(np.zeros(p)))
        equal = self.problem.objective.affordable(np.full(p, self.size / p), self.problem.n_samples)
        search = optimize_laplace if settings.objective == "laplace" else optimize_weights
        return search(
            self.problem,
            [self._with_noise(scale * equal) for scale in starting_scales(settings.n_starts)],
            tol=settings.tol,
            max_iter=settings.max_iter,
            on_step=on_step,
        )

    def minimum_at(self, weights: Array) -> Minimum:
        """Minimize over the latent values, for given weights of the original kernels.

        Weights that contribute nothing are set to zero.
        """
        if self.empty:
            return self.learned(lambda *_: None)
        found = self._minimum(self._with_noise(weights[self.used] / self.scales))
        return with_zeros(self.problem, found, self.settings.tol)

    def model(self, found: Minimum) -> LearnedModel:
        """Return the model that a minimum defines."""
        p, settings = self.used.size, self.settings
        learned, objective = found.point.weights, self.problem.objective
        if settings.exact:
            noise = float(learned[p:].sum()) + objective.jitter
        else:
            assert isinstance(found.majorizer.deviance, Likelihood)
            noise = found.majorizer.deviance.variance
        if not found.majorizer.is_smooth:
            # Check definiteness here: solvers of support vector machines do not detect violations.
            rounding = float(np.sqrt(np.finfo(float).eps)) * self.size
            definite_factor(with_diagonal(found.point.K, objective.jitter + rounding))
        bound = objective.lower_bound(self.problem, found.point)
        weights = np.zeros(len(self.kernels))
        weights[self.used] = learned[:p] * self.scales
        posterior = found.majorizer.posterior(self.problem.Y, found.point)
        # The kernels lower the objective by at most a thousandth of its size.
        collapsed = settings.objective == "map" and (
            self._minimum(np.zeros(p)).value - found.value <= 1e-3 * abs(found.value)
        )
        return LearnedModel(
            kernels=self.kernels,
            weights=weights,
            traces=self.traces,
            gram=self.plain.weighted_sum(learned[:p]),
            dual=posterior.alpha,
            noise=noise,
            objective=found.value,
            gap=None if bound is None else max(found.value - bound, 0.0) / found.size,
            posterior=posterior,
            history=found.history,
            converged=found.converged,
            collapsed=collapsed,
        )

    def _minimum(self, weights: Array) -> Minimum:
        """Minimize over the latent values."""
        return minimize_latents(self.problem, self.problem.start(weights))

    def _with_noise(self, weights: Array) -> Array:
        """Append the weight of the identity, if the noise is a weight."""
        if not self.noise_is_weight:
            return weights
        return np.append(weights, max(self.noise - self.problem.objective.jitter, 0.0))


def starting_scales(n_starts: int) -> Array:
    """Return the scales of the learned Gram matrix at the starts: 1, 0.1, 10, 0.01, ..."""
    powers = [(k + 1) // 2 * (-1) ** k for k in range(n_starts)]
    return 10.0 ** np.array(powers, dtype=float)

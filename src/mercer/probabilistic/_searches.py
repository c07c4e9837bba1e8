"""Searches for the weights alone, or jointly for weights, noise and kernel parameters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mercer._data.types import Array
from mercer._gram.factors import inverted, log_determinant
from mercer._gram.kernel_products import DenseGrams
from mercer._gram.samples import Samples, spread_rows
from mercer._gram.tiles import serial_algebra
from mercer._search.evidence import (
    GaussianEvidence,
    GramObjective,
    KernelParameters,
    Slopes,
)
from mercer._search.parameter_search import descend
from mercer._search.records import ObjectiveStep
from mercer.kernels._kernel import Kernel
from mercer.probabilistic._descent import Minimum, minimize, minimize_latents
from mercer.probabilistic._likelihoods import Likelihood
from mercer.probabilistic._majorizer import NewtonModel, Point
from mercer.probabilistic._objectives import Problem, VariationalBound

_value = attrgetter("value")

_MODE_TOLERANCE = 1e-10
"""Relative precision of the mode; an error in the mode affects the gradient in the weights."""


def optimize_weights(
    problem: Problem,
    starts: list[Array],
    *,
    tol: float,
    max_iter: int,
    on_step: Callable[..., None] = lambda *_: None,
) -> Minimum:
    """Find the weights with the lowest objective, by searches from several starts.

    Parameters
    ----------
    problem : Problem
    starts : list of ndarray of shape (n_kernels,)
        Positive weights. Only the first start is used for a convex objective.
    tol : float
        See :func:`minimize`.
    max_iter : int
        Maximum number of steps from each start.
    on_step : callable, default=None
        Called after each step.

    Returns
    -------
    Minimum
        Weights that only the barrier kept positive are set to zero.
    """

    def search(point: Point, tol: float, earlier: Minimum | None = None) -> Minimum:
        return minimize(
            problem,
            point,
            barrier=None if earlier is None else earlier.history[-1].barrier,
            previous=None if earlier is None else earlier.majorizer,
            tol=tol,
            max_iter=max_iter,
            on_step=on_step,
        )

    points = (problem.start(weights) for weights in starts)
    if problem.objective.convex or len(starts) == 1:
        best = search(next(points), tol)
    else:
        # Rough searches come first. Only the best result is kept, because each holds some n x n
        # matrices.
        best = min((search(point, max(tol, 1e-3)) for point in points), key=_value)
        if tol < 1e-3:
            fine = search(best.point, tol, best)
            best = replace(fine, history=best.history + fine.history)
    precise = _with_precise_latents(problem, best.point, best, tol)
    for _ in range(3):
        # The gradient in the weights is inaccurate if the latent values are not quite optimal.
        if not best.converged or precise.residual <= tol * precise.size:
            break
        more = search(precise.point, tol, replace(precise, history=best.history))
        best = replace(more, history=best.history + more.history)
        precise = _with_precise_latents(problem, best.point, best, tol)
    return with_zeros(problem, precise if _is_certified(problem, precise, tol) else best, tol)


def with_zeros(problem: Problem, found: Minimum, tol: float) -> Minimum:
    """Set weights that contribute nothing to zero, unless that increases the objective.

    Parameters
    ----------
    problem : Problem
    found : Minimum
    tol : float
        A weight contributes nothing if its term of the log-determinant or penalty is below this
        fraction of the objective, and the objective increases with it.
    """
    weights = found.point.weights
    slopes = found.majorizer.expand_costs(weights).slope

    def at(sparse: Array) -> Minimum:
        point = replace(found.point, weights=sparse, K=problem.grams.weighted_sum(sparse))
        return _with_precise_latents(problem, point, found, tol)

    def is_accepted(trial: Minimum) -> bool:
        # The residual of the other weights may grow a little.
        stationary = trial.residual <= 2.0 * tol * found.size
        return trial.value <= found.value and stationary and _is_certified(problem, trial, tol)

    terms = np.where(found.gradient > 0.0, weights * slopes, np.inf)
    return _sparse(found, terms, tol, at, is_accepted)


def _sparse(
    found: Minimum,
    terms: Array,
    tol: float,
    at: Callable[[Array], Minimum],
    is_accepted: Callable[[Minimum], bool],
) -> Minimum:
    """Try to set the weights of small terms to zero.

    All small terms are tried first, and then only the smallest. The first change that is accepted
    is kept.
    """
    weights, size = found.point.weights, found.size
    # Many small terms may add up to a large one: if not all of their weights can be set to zero,
    # only the smallest terms are tried.
    for bound in (tol * size, tol * size / weights.size):
        if not (terms <= bound).any():
            break
        trial = at(np.where(terms <= bound, 0.0, weights))
        if is_accepted(trial):
            last = replace(found.history[-1], objective=trial.value, residual=trial.residual)
            return replace(trial, history=[*found.history[:-1], last], converged=found.converged)
    return found


def _is_certified(problem: Problem, found: Minimum, tol: float) -> bool:
    """Return whether the duality gap is small, as is required only if the search has converged."""
    bound = problem.objective.lower_bound(problem, found.point)
    return bound is None or not found.converged or found.value - bound <= tol * found.size


def _with_precise_latents(problem: Problem, point: Point, found: Minimum, tol: float) -> Minimum:
    """Minimize precisely over the latent values, for the weights of a point."""
    final = minimize_latents(problem, point, previous=found.majorizer, tol=tol)
    return replace(final, history=found.history, converged=found.converged)


def laplace_at(problem: Problem, weights: Array, alpha: Array | None = None) -> Minimum:
    """Find the mode for given weights, and evaluate Laplace's approximation and its gradient there.

    Parameters
    ----------
    problem : Problem
        A problem with the objective :class:`LaplaceApproximation`.
    weights : ndarray of shape (n_kernels,)
    alpha : ndarray of shape (n_samples, n_problems), default=None
        Initial dual variables.

    Notes
    -----
    The likelihood is expanded to second order about the mode u of the posterior. With the curvature
    D'' = 2 W of the deviance at the mode and B = I + S K S, S = W^(1/2), the approximation on the
    -2 log scale is

        phi = u'K^-1 u + sum D(u) + ln|B|

    (Rasmussen and Williams 2006, equation 3.32). Its derivatives with respect to the weights are

        d phi = tr(R K_m) - alpha'K_m alpha + z'K_m alpha,    R = S B^-1 S,  z = s - R K s,

    where alpha = K^-1 u. The vector s_i = V_ii dW_i / du_i, with V = K - K R K, accounts for the
    change of the mode with the weights (equations 5.22 to 5.24). An evaluation consists of a few
    Newton steps and one inverse. For p kernels, it takes O(n^3 + p n^2) time and the memory of a
    few n x n matrices.
    """
    mode = minimize_latents(problem, problem.start(weights, alpha), tol=_MODE_TOLERANCE)
    likelihood, point = problem.objective.deviance, mode.point
    assert isinstance(likelihood, Likelihood)
    value, U = mode.value, point.latent
    gradient, total = np.zeros_like(weights), np.zeros_like(point.K)
    model = NewtonModel(mode.majorizer, problem.Y, point, 0.0, width=0.0)
    for c, system in enumerate(model.systems):
        value += log_determinant(system.factor)
        half = solve_triangular(
            system.factor, system.root[:, None] * system.K, lower=True, check_finite=False
        )
        variances = np.diag(system.K) - np.einsum("ij,ij->j", half, half)
        moved = variances * 0.5 * likelihood.curvature_slope(problem.Y[:, c], U[:, c])
        z = moved - system.solved(system.K @ moved)
        gradient += point.products[c] @ (z - point.alpha[:, c])
        inverse = inverted(system.factor)
        inverse *= system.root
        inverse *= system.root[:, None]
        total += inverse
    gradient += problem.grams.inner_products(total)
    return replace(mode, majorizer=replace(mode.majorizer, value=value), gradient=gradient)


@serial_algebra()
def optimize_laplace(
    problem: Problem,
    starts: list[Array],
    *,
    tol: float,
    max_iter: int,
    on_step: Callable[..., None] = lambda *_: None,
) -> Minimum:
    """Find the weights with the largest approximate marginal likelihood by L-BFGS.

    Parameters
    ----------
    problem : Problem
        A problem with the objective :class:`LaplaceApproximation`.
    starts : list of ndarray of shape (n_kernels,)
        Positive weights. One search starts from each of these arrays.
    tol : float
        A search ends when each weight times its derivative is at most a tenth of this fraction of
        the objective.
    max_iter : int
        Maximum number of steps from each start.
    on_step : callable, default=None
        Called after each step.

    Returns
    -------
    Minimum
        Weights that contribute nothing are set to zero.
    """
    best = min((_searched(problem, w, tol, max_iter, on_step) for w in starts), key=_value)
    weights = best.point.weights
    unneeded = (best.gradient > 0.0) & (weights < tol * weights.max())
    return _sparse(
        best,
        np.where(unneeded, weights * best.gradient, np.inf),
        tol,
        lambda sparse: laplace_at(problem, sparse, best.point.alpha),
        lambda trial: trial.value <= best.value + _MODE_TOLERANCE * best.size,
    )


def _searched(
    problem: Problem, start: Array, tol: float, max_iter: int, on_step: Callable[..., None]
) -> Minimum:
    """Minimize over the logarithms of the weights from one start."""
    latest = laplace_at(problem, start)
    center, residuals = np.log(start), list[float]()

    def objective(log_weights: Array) -> tuple[float, Array]:
        nonlocal latest
        latest = laplace_at(problem, np.exp(log_weights), latest.point.alpha)
        return latest.value, latest.point.weights * latest.gradient

    def record() -> None:
        residuals.append(latest.residual)
        on_step()

    found = descend(
        objective,
        center,
        np.stack([center - 25.0, center + 25.0], axis=1),
        on_step=record,
        maxiter=max_iter,
        ftol=1e-3 * tol**2,
        gtol=0.1 * tol * latest.size,
    )
    final = laplace_at(problem, np.exp(found.theta), latest.point.alpha)
    steps = zip(found.path[1:] or (final.value,), residuals or [final.residual], strict=True)
    history = [ObjectiveStep(value, 0.0, residual) for value, residual in steps]
    return replace(final, history=history, converged=final.residual <= tol * final.size)


@dataclass
class _Bound:
    """Variational bound on -2 log marginal likelihood as a function of a Gram matrix.

    Each evaluation starts from the dual variables of the previous one.
    """

    likelihood: Likelihood
    Y: Array
    alpha: Array | None = None

    def value(self, K: Array, noise: float) -> float:
        return self.slopes(K, noise).value

    def slopes(self, K: Array, noise: float) -> Slopes:
        likelihood = self.likelihood.of_variance(noise).with_weights(self.likelihood.weights)
        problem = Problem(VariationalBound(likelihood), DenseGrams(K[None]), self.Y)
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
    on_step: Callable[..., None] = lambda *_: None,
) -> tuple[list[Kernel], Array, float, list[ObjectiveStep], bool]:
    """Maximize the marginal likelihood, or its variational bound, jointly over all parameters.

    Parameters
    ----------
    samples : Samples
    kernels : sequence of Kernel
        Bound to the samples; their bounds are kept.
    Y : ndarray of shape (n_samples, n_problems)
    likelihood : Likelihood or None
        None for Gaussian noise, for which the marginal likelihood has a closed form.
    noise : float
        Initial variance of the noise; ignored for a likelihood without noise.
    learns_noise : bool
    tol : float
        The search ends when a step changes the objective by less than this fraction.
    max_iter : int
    on_step : callable, default=None
        Called after each step.

    Returns
    -------
    kernels : list of Kernel
    weights : ndarray of shape (n_kernels,)
    noise : float
        Variance of the noise; meaningless for a likelihood without noise.
    history : list of ObjectiveStep
    converged : bool

    Notes
    -----
    L-BFGS searches over the logarithms of the parameters. It starts from equal weights and the best
    of three scales of the widths. With 500 samples or more, a rough search on 250 of them comes
    first. With A = K + Gamma, the gradient is <A^-1 - alpha alpha', dK>. An evaluation takes
    O(n^3 + p n^2 d) time and the memory of a few n x n matrices.
    """

    def objective(samples: Samples, Y: Array) -> KernelParameters:
        evidence: GramObjective = GaussianEvidence(Y, samples.weights)
        if likelihood is not None:
            evidence = _Bound(likelihood.with_weights(samples.weights.given), Y)
        known = None if learns_noise else noise
        return KernelParameters(samples, kernels, evidence, noise=known)

    whole = objective(samples, Y)
    weight = float(samples.weights.mean(Y * Y).mean()) / len(kernels)
    # Weights and noise stay within a factor of exp(20) of their initial values.
    logs = np.log([weight] * len(kernels) + [noise] * learns_noise)
    limits = [kernel.log_bounds(samples.repeated).reshape(-1, 2) for kernel in kernels]
    center = np.concatenate([*(kernel.theta for kernel in kernels), logs])
    bounds = np.concatenate([*limits, logs[:, None] + [-20.0, 20.0]])
    few = whole
    if samples.n_samples >= 500:
        rows = np.sort(spread_rows(samples.X, Y, 250))
        few = objective(samples.take(rows), Y[rows])
    options: Any = {"maxiter": max_iter, "gtol": 0.0, "maxcor": 20}
    start = _best_scale(few, center, bounds)
    if few is not whole:
        with serial_algebra():
            start = descend(few, start, bounds, ftol=max(tol, 1e-4), **options).theta
    if on_step is not None:
        options["on_step"] = on_step
    found = descend(whole, start, bounds, ftol=tol, **options)
    history = [ObjectiveStep(value, 0.0, np.nan) for value in found.path[1:] or found.path]
    return *whole.read(found.theta), history, found.status == 0


@serial_algebra()
def _best_scale(objective: KernelParameters, center: Array, bounds: Array) -> Array:
    """Return the log-parameters at the center, with widths scaled by the best of three factors."""
    is_width = np.isin(np.arange(center.size), np.r_[*objective.widths()])
    starts = [np.clip(center + shift * is_width, *bounds.T) for shift in (0.0, -1.2, 1.2)]
    return min(starts, key=objective.value) if is_width.any() else starts[0]

"""Kernel weights and a kernel machine together, to a duality gap."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from mercer._typing import Array
from mercer.gram.combination import BaseGrams, Images
from mercer.gram.tiles import n_threads, serial_algebra
from mercer.losses import Loss, Machine
from mercer.weights.lp_norm import WeightSet

_INNER = 0.01
"""Part of the tolerance that the machines' own duality gap may take."""
_JITTER = 1e-12
_HALVINGS = 12
_SUFFICIENT = 1e-4
"""Part of the decrease that the slope promises, from which a step is taken."""


@dataclass(frozen=True)
class WeightStep:
    """One step of one-stage learning.

    Attributes
    ----------
    objective : float
        The machines' objective at the weights.
    gap : float
        How much of it, at most, is above the optimum, relative to it.
    n_kernels : int
        Kernels of non-zero weight.
    """

    objective: float
    gap: float
    n_kernels: int


@dataclass(frozen=True)
class LearnedWeights:
    """What one-stage learning returns.

    Attributes
    ----------
    theta : ndarray of shape (n_kernels,)
        Weights of the scaled kernels.
    dual : ndarray of shape (n_samples, n_problems)
    intercepts : ndarray of shape (n_problems,)
    quadratics : ndarray of shape (n_kernels,)
        c'K_k c, summed over the problems.
    objective : float
        Primal objective.
    gap : float
        Its proven distance from the optimum, relative to it.
    history : list of WeightStep
    status : {"converged", "limit"}
    """

    theta: Array
    dual: Array
    intercepts: Array
    quadratics: Array
    objective: float
    gap: float
    history: list[WeightStep]
    status: str


@dataclass(frozen=True)
class Problems:
    """Kernel machines that share a kernel: one for each class, or each response.

    Attributes
    ----------
    loss : Loss
    Y : ndarray of shape (n_samples, n_problems)
    intercept : bool
    """

    loss: Loss
    Y: Array
    intercept: bool

    def fit(self, K: Array, accuracy: float, start: list[Machine] | None) -> list[Machine]:
        """All machines for a Gram matrix, as many at the same time as there are threads.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
        accuracy : float
        start : list of Machine, or None
        """
        columns = self.Y.T
        starts = start if start is not None else [None] * len(columns)
        fit = partial(self.loss.fit, K, intercept=self.intercept, accuracy=accuracy)

        def one(job: tuple[Array, Machine | None]) -> Machine:
            return fit(job[0], start=job[1])

        jobs = list(zip(columns, starts, strict=True))
        if len(jobs) == 1:
            return [one(jobs[0])]
        with ThreadPoolExecutor(n_threads()) as pool:
            return list(pool.map(one, jobs))


@serial_algebra()
def learn_weights(
    problems: Problems,
    grams: BaseGrams,
    weights: WeightSet,
    *,
    tol: float = 1e-3,
    max_iter: int = 100,
    start: Array | None = None,
    on_step: Callable[[WeightStep], None] | None = None,
) -> LearnedWeights:
    """Minimise over the weights what the kernel machines reach with them.

    Parameters
    ----------
    problems : Problems
    grams : BaseGrams
    weights : WeightSet
    tol : float, default=1e-3
        Duality gap to reach, relative to the objective.
    max_iter : int, default=100
        Steps at most.
    start : ndarray of shape (n_kernels,), default=None
        Weights to begin with.
    on_step : callable, default=None
        Told of each step.

    Returns
    -------
    LearnedWeights

    Notes
    -----
    The objective G(theta) = max_c -sum l*(-c) - 1/2 sum_k theta_k q_k, q_k = c'K_k c, is convex,
    with gradient -q / 2; its second derivatives come from the samples whose dual variables are free
    to move. Any c bounds the optimum from below by -sum l*(-c) - 1/2 max_theta theta'q.
    A step costs the machines, O(p n^2) for the products K_k c, and O(n_free^3 + p n_free^2 + p^2
    n_free) for the second derivatives.
    """
    search = _Search(problems, grams, weights)
    accuracy = _INNER * tol
    state = search.at(weights.start(grams.n_kernels) if start is None else start, accuracy)
    bound, width = search.lower_bound(state), float(np.std(problems.Y))
    history: list[WeightStep] = []
    while True:
        gap = (state.primal - bound) / max(abs(state.primal), np.finfo(float).tiny)
        history.append(WeightStep(state.primal, gap, int(np.count_nonzero(state.theta))))
        if on_step is not None:
            on_step(history[-1])
        if gap <= tol or len(history) > max_iter:
            break
        found = search.descended(state, accuracy, width)
        if found is None:
            # Nothing better within the machines' own precision: ask for more of it.
            if accuracy < np.finfo(float).eps:
                break
            accuracy *= _INNER
            found = search.at(state.theta, accuracy, state.machines)
        else:
            width = float(np.sqrt(np.mean((found.f - state.f) ** 2)))
        state = found
        bound = max(bound, search.lower_bound(state))
    intercepts = np.array([machine.intercept for machine in state.machines])
    status = "converged" if gap <= tol else "limit"
    return LearnedWeights(
        state.theta, state.C, intercepts, state.q, state.primal, gap, history, status
    )


@dataclass(frozen=True)
class _State:
    """Weights, their machines, and what every kernel makes of the dual variables C."""

    theta: Array
    K: Array
    machines: list[Machine]
    primal: float
    C: Array
    f: Array
    images: Images
    q: Array


@dataclass(frozen=True)
class _Search:
    problems: Problems
    grams: BaseGrams
    weights: WeightSet

    def at(self, theta: Array, accuracy: float, start: list[Machine] | None = None) -> _State:
        """The machines for some weights."""
        problems, K = self.problems, self.grams.combined(theta)
        machines = problems.fit(K, accuracy, start)
        pairs = zip(problems.Y.T, machines, strict=True)
        primal = sum(problems.loss.objective(K, y, machine)[0] for y, machine in pairs)
        C = np.column_stack([machine.c for machine in machines])
        f = K @ C + np.array([machine.intercept for machine in machines])
        images = self.grams.images(C)
        q = images.quadratics.sum(axis=1)
        return _State(theta, K, machines, float(primal), C, f, images, q)

    def lower_bound(self, state: _State) -> float:
        """What no weights and no machines can get below."""
        pairs = zip(self.problems.Y.T, state.C.T, strict=True)
        conjugate = sum(self.problems.loss.conjugate(y, c) for y, c in pairs)
        return -conjugate - 0.5 * self.weights.support(state.q)

    def descended(self, state: _State, accuracy: float, width: float) -> _State | None:
        """A state of lower objective, or None if no step leads to one."""
        curvature = partial(self._curvature, state, width)
        for path in self.weights.steps(state.theta, state.q, curvature):
            part = 1.0
            for _ in range(_HALVINGS):
                theta = path(part)
                slope = -0.5 * float(state.q @ (theta - state.theta))
                if slope >= 0.0:
                    break
                trial = self.at(theta, accuracy, state.machines)
                allowed = _SUFFICIENT * slope + accuracy * abs(state.primal)
                excess = trial.primal - state.primal
                if excess <= allowed:
                    return trial
                # The minimum of the parabola through both values with the slope at the first.
                part *= float(np.clip(-0.5 * slope / (excess - slope), 0.1, 0.5))
        return None

    def _curvature(self, state: _State, width: float, which: Array) -> Array:
        """Second derivatives of the objective in some weights, shape (n_which, n_which)."""
        H = np.zeros((which.size, which.size))
        for position, y in enumerate(self.problems.Y.T):
            flexibility = self.problems.loss.flexibility(y, state.f[:, position], width)
            free = np.flatnonzero(np.isfinite(flexibility))
            system = state.K[np.ix_(free, free)] + np.diag(flexibility[free])
            L = _factor(system)
            if L is None:
                continue
            image = state.images.of(which, free, position).T
            solved = solve_triangular(L, image, lower=True, check_finite=False)
            if self.problems.intercept:
                ones = solve_triangular(L, np.ones(free.size), lower=True, check_finite=False)
                ones /= np.linalg.norm(ones)
                solved -= np.outer(ones, ones @ solved)
            H += solved.T @ solved
        return H


def _factor(system: Array) -> Array | None:
    """A Cholesky factor; None where there is nothing to factor or the matrix is not definite."""
    if not system.size:
        return None
    jitter = _JITTER * float(np.abs(np.diag(system)).max())
    try:
        return np.asarray(
            cholesky(system + jitter * np.eye(len(system)), lower=True, check_finite=False)
        )
    except LinAlgError:
        return None

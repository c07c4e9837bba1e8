"""Kernel weights and a kernel machine together, to a duality gap."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from mercer._gram.kernel_products import BaseGrams, KernelProducts
from mercer._gram.tiles import n_threads, serial_algebra
from mercer._history import WeightStep
from mercer._typing import Array
from mercer._weights.weight_sets import WeightSet
from mercer.losses import Loss, Machine

_INNER = 0.01
"""Part of the tolerance that the machines' own duality gap may take."""
_JITTER = 1e-12
_ATTEMPTS = 12
"""Steps tried, half of them Newton's, before the machines are asked for more precision."""
_WIDER = 1.5
_PATIENCE = 12
"""Steps after which kinks are what slows them down, where there are any."""
_SADDLE, _FINEST = 0.01, 1e-10
"""Part of the tolerance asked of the method for kinks, and the least that is."""
_MOST_CUTS = 40
"""Dual variables kept for the bound."""
_SUFFICIENT = 1e-4
"""Part of the decrease that the slope promises, from which a step is taken."""


@dataclass(frozen=True)
class LearnedWeights:
    """What one-stage learning returns.

    Attributes
    ----------
    theta : ndarray of shape (n_kernels,)
        Weights of the scaled kernels.
    dual : ndarray of shape (n_samples, n_problems)
    values : ndarray of shape (n_samples, n_problems)
        What the machines predict for the samples themselves.
    witness : ndarray of shape (n_samples, n_problems)
        Dual variables that prove the gap: the machines' own, or where the objective has a kink in
        the weights, a blend of some nearby.
    quadratics : ndarray of shape (n_kernels,)
        c'K_k c of the witness, summed over the problems.
    objective : float
        Primal objective.
    gap : float
        Its proven distance from the optimum, relative to it.
    gram : ndarray of shape (n_samples, n_samples)
        The weighted sum of the kernels, centered where the machines have intercepts.
    history : list of WeightStep
    """

    theta: Array
    dual: Array
    values: Array
    witness: Array
    quadratics: Array
    objective: float
    gap: float
    gram: Array
    history: list[WeightStep]


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
    """Minimize over the weights what the kernel machines reach with them.

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
    accuracy, width = _INNER * tol, float(np.std(problems.Y))
    state = search.at(weights.start(grams.n_kernels) if start is None else start, accuracy)
    cuts, proof, bound = [state.cut()], state.machines, -np.inf
    # With more features than samples, each a kernel, weights meet kinks at once.
    patience = 0 if grams.rank_one and grams.n_kernels > len(problems.Y) else _PATIENCE
    history: list[WeightStep] = []
    while True:
        blend = search.blend(cuts, state.primal - tol * abs(state.primal))
        if search.bound(cuts, blend) > bound:
            bound = search.bound(cuts, blend)
            proof = state.machines if blend[-1] == 1.0 else _blended(cuts, blend)
        gap = _relative(state.primal - bound, state.primal)
        history.append(WeightStep(state.primal, gap, int(np.count_nonzero(state.theta))))
        if on_step is not None:
            on_step(history[-1])
        if gap <= tol or len(history) >= max_iter:
            break
        if len(history) == patience + 1:
            jumped = search.saddle(state, tol)
            if jumped is not None:
                state, cut = jumped
                cuts = [*cuts[2 - _MOST_CUTS :], cut, state.cut()]
                continue
        found, width = search.descended(state, accuracy, width)
        if found is None:
            # Nothing better within the machines' own precision: ask for more of it.
            if accuracy < np.finfo(float).eps:
                break
            accuracy *= _INNER
            found = search.at(state.theta, accuracy, state.machines)
        state = found
        cuts = [*cuts[1 - _MOST_CUTS :], state.cut()]
    return search.result(state, proof, bound, tol, history)


@dataclass(frozen=True)
class _Cut:
    """Dual variables, and what the bound on the objective needs of them."""

    C: Array
    intercepts: Array
    conjugate: float
    q: Array


@dataclass(frozen=True)
class _State:
    """Weights, their machines, and what every kernel makes of the dual variables C."""

    theta: Array
    K: Array
    machines: list[Machine]
    primal: float
    conjugate: float
    C: Array
    f: Array
    images: KernelProducts
    q: Array

    @property
    def intercepts(self) -> Array:
        return np.array([machine.intercept for machine in self.machines])

    def cut(self) -> _Cut:
        return _Cut(self.C, self.intercepts, self.conjugate, self.q)


@dataclass(frozen=True)
class _Search:
    problems: Problems
    grams: BaseGrams
    weights: WeightSet

    def at(self, theta: Array, accuracy: float, start: list[Machine] | None = None) -> _State:
        """The machines for some weights."""
        K = self.grams.weighted_sum(theta)
        return self._with(theta, K, self.problems.fit(K, accuracy, start))

    def _with(self, theta: Array, K: Array, machines: list[Machine]) -> _State:
        loss, targets = self.problems.loss, self.problems.Y.T
        C = np.column_stack([machine.c for machine in machines])
        pairs = list(zip(targets, machines, strict=True))
        primal = sum(loss.objective(K, y, machine)[0] for y, machine in pairs)
        conjugate = sum(loss.conjugate(y, machine.c) for y, machine in pairs)
        f = K @ C + [machine.intercept for machine in machines]
        images = self.grams.kernel_products(C)
        q = np.maximum(images.quadratics.sum(axis=1), 0.0)
        return _State(theta, K, machines, float(primal), float(conjugate), C, f, images, q)

    def bound(self, cuts: list[_Cut], blend: Array) -> float:
        """What no weights and no machines can get below: the dual objective is concave."""
        conjugates = np.array([cut.conjugate for cut in cuts])
        q = blend @ np.array([cut.q for cut in cuts])
        return -float(blend @ conjugates) - 0.5 * self.weights.support(q)

    def blend(self, cuts: list[_Cut], goal: float) -> Array:
        """Parts of the dual variables found so far that make the bound high.

        The last ones alone, where their bound reaches the goal. Where the objective has a kink in
        the weights, no single ones do.
        """
        last = np.eye(len(cuts))[-1]
        if self.bound(cuts, last) >= goal:
            return last
        conjugates = np.array([cut.conjugate for cut in cuts])
        blend = self.weights.blend(conjugates, np.array([cut.q for cut in cuts]))
        return max(last, blend, key=lambda parts: self.bound(cuts, parts))

    def result(
        self,
        state: _State,
        proof: list[Machine],
        bound: float,
        tol: float,
        history: list[WeightStep],
    ) -> LearnedWeights:
        """The machines that prove the bound, unless they are worse than the tolerance allows."""
        own = proof is state.machines
        witness = state if own else self._with(state.theta, state.K, proof)
        proven = _relative(witness.primal - bound, witness.primal)
        chosen = witness if proven <= tol or witness.primal <= state.primal else state
        gap = _relative(chosen.primal - bound, chosen.primal)
        history[-1] = WeightStep(chosen.primal, gap, history[-1].n_kernels)
        return LearnedWeights(
            state.theta,
            chosen.C,
            chosen.f,
            witness.C,
            witness.q,
            chosen.primal,
            gap,
            state.K,
            history,
        )

    def saddle(self, state: _State, tol: float) -> tuple[_State, _Cut] | None:
        """A state near the saddle point, and dual variables there; None where there is no need."""
        problems = self.problems
        boxes = problems.loss.boxes(problems.Y, intercept=problems.intercept)
        if boxes is None:
            return None
        found = self.weights.saddle(boxes, self.grams, max(_SADDLE * tol, _FINEST))
        if found is None or not np.isfinite(np.concatenate([part.ravel() for part in found])).all():
            return None
        theta, C, intercepts = found
        machines = [Machine(c, b) for c, b in zip(C.T, intercepts.tolist(), strict=True)]
        near = self._with(theta, self.grams.weighted_sum(theta), machines)
        cut = near.cut()
        proven = _relative(near.primal - self.bound([cut], np.ones(1)), near.primal) <= tol
        return near if proven or near.primal < state.primal else state, cut

    def descended(
        self, state: _State, accuracy: float, width: float
    ) -> tuple[_State | None, float]:
        """A state of lower objective, or None if no step leads to one; and the kinks' width."""
        newton = partial(self.weights.newton, state.theta, state.q)
        path, part = newton(_Curvature(self.problems, state, width)), 1.0
        for attempt in range(_ATTEMPTS):
            if attempt == _ATTEMPTS // 2:
                path, part = self.weights.closed_form(state.theta, state.q), 1.0
            theta = path(part)
            slope = -0.5 * float(state.q @ (theta - state.theta))
            if slope >= 0.0:
                part *= 0.5
                continue
            trial = self.at(theta, accuracy, state.machines)
            change = float(np.sqrt(np.mean((trial.f - state.f) ** 2)))
            excess = trial.primal - state.primal
            if excess <= _SUFFICIENT * slope + accuracy * abs(state.primal):
                return trial, change
            if change > _WIDER * width and attempt < _ATTEMPTS // 2 - 1:
                width = change
                path = newton(_Curvature(self.problems, state, width))
            else:
                # The minimum of the parabola through both values with the slope at the first.
                part *= float(np.clip(-0.5 * slope / (excess - slope), 0.1, 0.5))
        return None, width


@dataclass(frozen=True)
class _Curvature:
    """Second derivatives of the objective in the weights, given the width of kinks."""

    problems: Problems
    state: _State
    width: float

    def among(self, which: Array) -> Array:
        """Those in some of the weights, shape (n_which, n_which)."""
        H = np.zeros((which.size, which.size))
        for position in range(self.problems.Y.shape[1]):
            free, L = self._system(position)
            if L is not None:
                image = self.state.images.block(which, free, position).T
                solved = self._solved(L, image)
                H += solved.T @ solved
        return H

    def along(self, direction: Array) -> float:
        """The one along a direction, of shape (n_kernels,)."""
        total = 0.0
        for position in range(self.problems.Y.shape[1]):
            free, L = self._system(position)
            if L is not None:
                image = self.state.images.summed(direction, position)[free]
                total += float(np.sum(self._solved(L, image[:, None]) ** 2))
        return total

    def _system(self, position: int) -> tuple[Array, Array | None]:
        """Samples whose dual variables are free to move, and the factor of their system."""
        y, f = self.problems.Y[:, position], self.state.f[:, position]
        conjugate_curvature = self.problems.loss.conjugate_curvature(y, f, self.width)
        free = np.flatnonzero(np.isfinite(conjugate_curvature))
        return free, _factor(self.state.K[np.ix_(free, free)] + np.diag(conjugate_curvature[free]))

    def _solved(self, L: Array, image: Array) -> Array:
        """What images are in the metric of the system, without what an intercept takes up."""
        solved = solve_triangular(L, image, lower=True, check_finite=False)
        if self.problems.intercept:
            ones = solve_triangular(L, np.ones(len(L)), lower=True, check_finite=False)
            ones /= np.linalg.norm(ones)
            solved -= np.outer(ones, ones @ solved)
        return np.asarray(solved)


def _blended(cuts: list[_Cut], blend: Array) -> list[Machine]:
    """Machines whose dual variables are a blend of those found so far."""
    C = np.tensordot(blend, [cut.C for cut in cuts], axes=1)
    intercepts = blend @ np.array([cut.intercepts for cut in cuts])
    return [Machine(c, b) for c, b in zip(C.T, intercepts.tolist(), strict=True)]


def _relative(gap: float, primal: float) -> float:
    """A gap as part of the objective; below zero it is rounding."""
    return max(gap, 0.0) / max(abs(primal), float(np.finfo(float).tiny))


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

"""Multiple kernel learning: joint fit of kernel weights and machines up to a duality gap."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from scipy.linalg import LinAlgError

from mercer._data.types import Array
from mercer._data.validation import ARITHMETIC
from mercer._gram.kernel_products import BaseGrams, KernelProducts
from mercer._gram.tiles import serial_algebra
from mercer._search.records import WeightStep
from mercer._search.weights.interior_point import interior_point_weights
from mercer._search.weights.weight_sets import Curvature, Path, WeightSet
from mercer.losses import Machine
from mercer.losses._loss import Problems

Solver = Literal["auto", "newton", "interior_point", "alternating"]
SOLVERS = get_args(Solver)
"""Names of the solvers of :func:`learn_weights`."""

INNER_TOL = 0.01
"""Duality gap of the machines and of the interior-point method, as a fraction of the tolerance. The
gap of the machines is reduced by this factor again whenever no step decreases the objective."""


@dataclass(frozen=True, kw_only=True)
class Machines:
    """A weighted sum of kernels, and the machines that use it.

    Attributes
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Gram matrix of the weighted sum. If the machines have intercepts, it is centered, or equal
        to the centered one up to terms that centering removes.
    dual : ndarray of shape (n_samples, n_problems)
        The machines' coefficients of the samples.
    objective : float
    gap : float, or None
        Bound on how far a convex objective is above its optimum, relative to the objective.
    history : list
        The steps taken.
    """

    gram: Array
    dual: Array
    objective: float
    gap: float | None
    history: list[Any]


@dataclass(frozen=True, kw_only=True)
class LearnedWeights(Machines):
    """Weights and machines found by :func:`learn_weights`.

    Attributes
    ----------
    weights : ndarray of shape (n_kernels,)
        Weights of the scaled kernels.
    values : ndarray of shape (n_samples, n_problems)
        The machines' predictions for the training samples.
    dual_certificate : ndarray of shape (n_samples, n_problems)
        Dual variables that prove the gap: those of the machines or, at a kink of the objective, a
        convex combination of the dual variables of recent steps.
    quadratics : ndarray of shape (n_kernels,)
        c'K_k c of the dual certificate, summed over the problems.
    intercepts : ndarray of shape (n_problems,), default=None
        Intercepts of machines that were fitted to kernels which are not centered.
    """

    weights: Array
    values: Array
    dual_certificate: Array
    quadratics: Array
    gap: float
    intercepts: Array | None = None


@serial_algebra()
def learn_weights(
    problems: Problems,
    grams: BaseGrams,
    weight_set: WeightSet,
    *,
    solver: Solver = "auto",
    tol: float = 1e-3,
    max_iter: int = 100,
    start: Array | None = None,
    on_step: Callable[[WeightStep], None] | None = None,
    patience: int = 12,
) -> LearnedWeights:
    """Minimize the objective of the kernel machines over the weights of the kernels.

    Parameters
    ----------
    problems : Problems
    grams : BaseGrams
    weight_set : WeightSet
    solver : {"auto", "newton", "interior_point", "alternating"}, default="auto"
        "newton" takes Newton steps, or the closed-form step if a Newton step fails. "alternating"
        takes closed-form steps only. "interior_point" starts with the interior-point method and
        continues with Newton steps if rounding errors prevent it from reaching the tolerance.
        "auto" takes Newton steps and, if the problem allows it, runs the interior-point method
        after a dozen steps, or at once if there are more kernels of rank one than samples.
    tol : float, default=1e-3
        Duality gap to reach, relative to the objective.
    max_iter : int, default=100
        Maximum number of steps.
    start : ndarray of shape (n_kernels,), default=None
        Initial weights; None for the start of `weight_set`.
    on_step : callable, default=None
        Called with each step.
    patience : int, default=12
        Number of Newton steps before "auto" uses the interior-point method. If more are needed, it
        is usually because kinks of the objective slow them down.

    Returns
    -------
    LearnedWeights

    Notes
    -----
    The objective G(w) = max_c -sum l*(-c) - 1/2 sum_k w_k q_k, q_k = c'K_k c, is convex in the
    weights w, with gradient -q / 2. Its second derivatives depend only on samples whose dual
    variables c are free to move. Every c gives a lower bound -sum l*(-c) - 1/2 max_w w'q on the
    optimum. The cost of a step is the fit of the machines, O(p n^2) for the products K_k c, and
    O(n_free^3 + p n_free^2 + p^2 n_free) for the second derivatives. The lower bound combines the
    dual variables of the last forty steps.
    """
    objective = WeightObjective(problems, grams, weight_set)
    # A single kernel needs no search for weights, and the machines alone determine the gap.
    accuracy = tol if grams.n_kernels == 1 else INNER_TOL * tol
    width = problems.weights.spread(problems.Y)
    descent = WeightDescent(objective, solver != "alternating", accuracy, width)
    # With one kernel per feature and more features than samples, kinks occur from the start.
    at_once = grams.rank_one and grams.n_kernels > problems.weights.total
    n_before = {"auto": 0 if at_once else patience, "interior_point": 0}.get(solver, np.inf)
    state = objective.at(weight_set.start(grams.n_kernels) if start is None else start, accuracy)
    cuts, proof, bound = [state.cut], state.machines, -np.inf
    history: list[WeightStep] = []
    while True:
        combination = objective.best_combination(cuts, state.primal - tol * abs(state.primal))
        if objective.bound(cuts, combination) > bound:
            bound = objective.bound(cuts, combination)
            proof = state.machines if combination[-1] == 1.0 else _combined(cuts, combination)
        gap = relative_gap(state.primal - bound, state.primal)
        history.append(WeightStep(state.primal, gap, int(np.count_nonzero(state.weights))))
        if on_step is not None:
            on_step(history[-1])
        if gap <= tol or len(history) >= max_iter:
            break
        found = objective.interior_point(state, tol) if len(history) == n_before + 1 else None
        if found is None:
            found = descent.step(state)
        if found is None:
            break
        state, new_cuts = found
        cuts = [*cuts, *new_cuts][-40:]
    return objective.result(state, proof, bound, tol, history)


@dataclass(frozen=True)
class Cut:
    """Dual variables and the terms of the lower bound on the objective that they define."""

    dual: Array
    intercepts: Array
    conjugate: float
    q: Array


@dataclass(frozen=True)
class WeightState:
    """Weights, the machines fitted for them, and products of the kernels with dual variables."""

    weights: Array
    K: Array
    machines: list[Machine]
    primal: float
    values: Array
    products: KernelProducts
    cut: Cut


@dataclass(frozen=True)
class WeightObjective:
    """The objective as a function of the weights, and lower bounds on its optimum."""

    problems: Problems
    grams: BaseGrams
    weight_set: WeightSet

    def at(
        self, weights: Array, accuracy: float, start: list[Machine] | None = None
    ) -> WeightState:
        """Fit the machines for given weights."""
        K = self._gram(weights)
        return self._state(weights, K, self.problems.fit(K, accuracy, start))

    def _gram(self, weights: Array) -> Array:
        grams, loss = self.grams, self.problems.loss
        return grams.weighted_sum(weights) if loss.is_smooth else grams.uncentered_sum(weights)

    def _state(self, weights: Array, K: Array, machines: list[Machine]) -> WeightState:
        loss, pairs = self.problems.loss, list(zip(self.problems.Y.T, machines, strict=True))
        dual = np.column_stack([machine.c for machine in machines])
        primal = sum(loss.objective(K, y, machine)[0] for y, machine in pairs)
        conjugate = sum(loss.conjugate(y, machine.c) for y, machine in pairs)
        intercepts = np.array([machine.intercept for machine in machines])
        products = self.grams.kernel_products(dual)
        q = np.maximum(products.quadratics.sum(axis=1), 0.0)
        cut = Cut(dual, intercepts, float(conjugate), q)
        return WeightState(
            weights, K, machines, float(primal), K @ dual + intercepts, products, cut
        )

    def bound(self, cuts: list[Cut], coefficients: Array) -> float:
        """Return the lower bound that a convex combination of dual variables gives by concavity."""
        conjugates = np.array([cut.conjugate for cut in cuts])
        q = coefficients @ np.array([cut.q for cut in cuts])
        return -float(coefficients @ conjugates) - 0.5 * self.weight_set.support(q)

    def best_combination(self, cuts: list[Cut], goal: float) -> Array:
        """Return coefficients of a convex combination of dual variables with a high lower bound.

        The last cut alone is used if its bound reaches the goal. At a kink of the objective, no
        single cut does.
        """
        last = np.eye(len(cuts))[-1]
        if self.bound(cuts, last) >= goal:
            return last
        conjugates, Q = np.array([cut.conjugate for cut in cuts]), np.array([cut.q for cut in cuts])
        best = self.weight_set.best_combination(conjugates, Q)
        return max(last, best, key=partial(self.bound, cuts))

    def interior_point(
        self, state: WeightState, tol: float
    ) -> tuple[WeightState, list[Cut]] | None:
        """Find a state near the saddle point; None if the method does not apply or fails."""
        boxes = self.problems.boxes()
        if boxes is None or not self.weight_set.has_interior_point:
            return None
        try:
            # The method reaches a precision of a thousand times the rounding errors.
            finest = max(INNER_TOL * tol, 1e3 * ARITHMETIC)
            weights, dual, intercepts = interior_point_weights(boxes, self.grams, finest)
        except LinAlgError:
            return None
        if not all(np.isfinite(found).all() for found in (weights, dual, intercepts)):
            return None
        machines = _machines(dual, intercepts)
        near = self._state(weights, self._gram(weights), machines)
        gap = relative_gap(near.primal - self.bound([near.cut], np.ones(1)), near.primal)
        better = gap <= tol or near.primal < state.primal
        return (near if better else state), [near.cut, (near if better else state).cut]

    def result(
        self,
        state: WeightState,
        proof: list[Machine],
        bound: float,
        tol: float,
        steps: list[WeightStep],
    ) -> LearnedWeights:
        """Return a result with the machines that prove the bound, unless `tol` rules them out."""
        own = proof is state.machines
        proving = state if own else self._state(state.weights, state.K, proof)
        proven = relative_gap(proving.primal - bound, proving.primal)
        chosen = proving if proven <= tol or proving.primal <= state.primal else state
        gap = relative_gap(chosen.primal - bound, chosen.primal)
        steps[-1] = WeightStep(chosen.primal, gap, steps[-1].n_kernels)
        return LearnedWeights(
            weights=state.weights,
            dual=chosen.cut.dual,
            values=chosen.values,
            dual_certificate=proving.cut.dual,
            quadratics=proving.cut.q,
            objective=chosen.primal,
            gap=gap,
            gram=state.K,
            history=list(steps),
        )


@dataclass
class WeightDescent:
    """Descent in the weights by Newton steps, or closed-form steps if those fail or are disabled.

    Attributes
    ----------
    objective : WeightObjective
    newton : bool
        Whether to take Newton steps.
    accuracy : float
        Relative duality gap of the machines.
    width : float
        Kinks of the loss are smoothed over predictions within this distance.
    trials : int, default=6
        Number of step sizes tried along a direction before it is abandoned.
    widening : float, default=1.5
        A Newton step is computed again if it changes the predictions by more than this multiple of
        the width.
    sufficient : float, default=1e-4
        A step is accepted if it reaches this fraction of the decrease that the slope predicts
        (Armijo).
    """

    objective: WeightObjective
    newton: bool
    accuracy: float
    width: float
    trials: int = 6
    widening: float = 1.5
    sufficient: float = 1e-4

    def step(self, state: WeightState) -> tuple[WeightState, list[Cut]] | None:
        """Find a state with a lower objective; None if rounding errors prevent a decrease."""
        found = self._searched(state, newton=True) if self.newton else None
        if found is None:
            found = self._searched(state, newton=False)
        if found is None:
            # No better weights exist within the accuracy of the machines, so this is increased.
            if self.accuracy < np.finfo(float).eps:
                return None
            self.accuracy *= INNER_TOL
            found = self.objective.at(state.weights, self.accuracy, state.machines)
        return found, [found.cut]

    def _searched(self, state: WeightState, *, newton: bool) -> WeightState | None:
        path, size = self._path(state, newton=newton), 1.0
        for trial in range(self.trials):
            found, change, shrinkage = self._tried(state, path(size))
            if found is not None:
                return found
            if newton and change > self.widening * self.width and trial < self.trials - 1:
                self.width = change
                path = self._path(state, newton=True)
            else:
                size *= shrinkage
        return None

    def _path(self, state: WeightState, *, newton: bool) -> Path:
        weight_set, q = self.objective.weight_set, state.cut.q
        if not newton:
            return weight_set.closed_form(state.weights, q)
        problems = self.objective.problems
        curvature = Curvature(problems, state.K, state.values, state.products, self.width)
        return weight_set.newton(state.weights, q, curvature)

    def _tried(self, state: WeightState, weights: Array) -> tuple[WeightState | None, float, float]:
        """Return the state at other weights if the objective decreases sufficiently, else None.

        Also return the root mean square change of the predictions, and the factor by which a
        rejected step is shortened.
        """
        slope = -0.5 * float(state.cut.q @ (weights - state.weights))
        if slope >= 0.0:
            return None, 0.0, 0.5
        found = self.objective.at(weights, self.accuracy, state.machines)
        squares = np.square(found.values - state.values)
        change = float(np.sqrt(self.objective.problems.weights.mean(squares).mean()))
        excess = found.primal - state.primal
        if excess <= self.sufficient * slope + self.accuracy * abs(state.primal):
            self.width = change
            return found, change, 1.0
        # Shorten to the minimum of the parabola that has both values and the slope at the first.
        return None, change, float(np.clip(-0.5 * slope / (excess - slope), 0.1, 0.5))


def _combined(cuts: list[Cut], coefficients: Array) -> list[Machine]:
    """Return machines whose dual variables are a convex combination of the cuts' dual variables."""
    dual = np.tensordot(coefficients, [cut.dual for cut in cuts], axes=1)
    return _machines(dual, coefficients @ np.array([cut.intercepts for cut in cuts]))


def _machines(dual: Array, intercepts: Array) -> list[Machine]:
    return [Machine(c, b) for c, b in zip(dual.T, intercepts.tolist(), strict=True)]


def relative_gap(gap: float, primal: float) -> float:
    """Divide the gap by the objective, treating a negative gap as a rounding error."""
    return max(gap, 0.0) / max(abs(primal), float(np.finfo(float).tiny))

"""Descent on an objective, step by step of Newton's method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mercer._gram.dense import with_diagonal
from mercer._gram.tiles import serial_algebra
from mercer._history import ObjectiveStep
from mercer._typing import Array
from mercer.probabilistic._newton import Direction, NewtonModel
from mercer.probabilistic._objectives import Majorizer, Point
from mercer.probabilistic._problem import Problem

_BOUNDARY = 0.99
"""A step goes at most this part of the way to where a weight would vanish."""
_ARMIJO = 1e-4
_FAITHFUL = 0.4
"""Half of the slope is what the model expects a whole step to gain."""
_SHORTER = 0.25
_SHORTEST_STEP = 1e-8
_FIRST_BARRIER = 1e-2
_BARRIER_FACTOR = 0.1
_SETTLED = 1e-2
"""The latent values have settled where a step in them alone lowers the objective by no more."""
_PROBES = 4
_FIRST_REACH = 2.0
_ADVANCE = 2.0
_RETREAT = 4.0
_EXACT = 1e-14
"""Relative change of the objective that is rounding."""
_PATIENCE = 12
"""Steps without a decrease, each of a lower barrier, after which rounding is to blame."""
_ROUNDING = 1e-6
"""Residual, for each sample, that rounding may leave."""
_CAUTION = 1e3
_MOST_CAUTIOUS = 1e6
"""Multipliers of tilts grow by the one up to the other, which is the tangent but for rounding."""
_LONGEST_REACH = 64.0
"""Steps are made longer by up to a factor, which grows while that succeeds."""


@dataclass(frozen=True)
class Minimum:
    """Where an objective was left.

    Attributes
    ----------
    point : Point
    majorizer : Majorizer
        The one that touches the objective there.
    gradient : ndarray of shape (n_kernels,)
        d objective / d theta, the latent values at their optimum.
    history : list of ObjectiveStep
    converged : bool
    """

    point: Point
    majorizer: Majorizer
    gradient: Array
    history: list[ObjectiveStep]
    converged: bool


@serial_algebra()
def minimize(
    problem: Problem,
    point: Point,
    *,
    free: bool = True,
    barrier: float | None = None,
    previous: Majorizer | None = None,
    tol: float,
    max_iter: int,
    on_step: Callable[..., None] | None = None,
) -> Minimum:
    """Minimize an objective over latent values and, where asked for, weights.

    Parameters
    ----------
    problem : Problem
    point : Point
        Where to start; its weights are positive where they are free.
    free : bool, default=True
        Whether the weights are free.
    barrier : float, default=None
        Of where to start; None for a hundredth of the objective.
    previous : Majorizer, default=None
        That of a point nearby.
    tol : float
        Stop where barrier, decrease, residual and, of a convex objective, duality gap are below
        this part of the objective.
    max_iter : int
    on_step : callable, default=None
        Called after each step.

    Notes
    -----
    Each step minimizes the second-order model of the majorizer, jointly in latent values and
    weights, with a logarithmic barrier on the weights (Nickisch and Seeger 2011, algorithm 1). Two
    things are added to that algorithm. Latent values follow the weights by a Newton step of their
    own, or by an exact kernel machine where the loss has kinks. And the curvature that the concave
    part takes away, which a tangent neglects, is estimated from a few random probes; it lengthens
    steps as far as they have lowered the objective so far, and a step that does not is replaced by
    one of the majorizer's own, which must.

    A step is O(n^3 + p n^2 + p^2 n) for each problem, where p is the number of kernels, and nothing
    is multiplied by the inverse of the learned Gram matrix.
    """
    search = _Search(problem, point, free=free, barrier=barrier, previous=previous)
    for _ in range(max_iter):
        search.step()
        if on_step is not None:
            on_step()
        if search.has_converged(tol) or search.is_stuck():
            break
    return search.result(tol)


class _Search:
    """A descent: where it is, and what it has learned of its own steps."""

    def __init__(
        self,
        problem: Problem,
        point: Point,
        *,
        free: bool,
        barrier: float | None,
        previous: Majorizer | None,
    ) -> None:
        self.problem, self.grams, self.Y, self.free = problem, problem.grams, problem.Y, free
        # Latent values that are found at once are at their optimum throughout.
        self.point = self._solved(point) if problem.objective.direct else point
        self.majorizer = self.problem.touching(self.point, previous)
        first = _FIRST_BARRIER * self._size() / point.theta.size
        self.barrier = 0.0 if not free else first if barrier is None else barrier
        self.probes = np.random.default_rng(0).normal(size=(len(self.Y), _PROBES))
        self.reach = 1.0 if problem.objective.convex else _FIRST_REACH
        self.width = float(np.std(self.Y))
        self.settled = not free or problem.objective.direct
        self.decrease = self.moved = np.inf
        self.stalled = 0
        self.history: list[ObjectiveStep] = []

    def step(self) -> None:
        """Go down, first in the latent values alone; lower the barrier after a short step."""
        before = self.point.latent
        if self.free and self.settled:
            self._step_in_weights()
        else:
            self._step_in_latents()
        change = np.abs(self.point.latent - before)
        self.moved = float(change.max() / max(np.abs(before).max(), 1e-300))
        self.width = float(change.max()) or self.width
        self.history.append(ObjectiveStep(self.majorizer.value, self.barrier, self._residual()))
        self.stalled = self.stalled + 1 if self.decrease <= 0.0 else 0
        if not self.settled:
            self.settled = self.decrease <= _SETTLED * self._size()
        elif self.decrease < 0.5 * self.point.theta.size * self.barrier:
            self.barrier *= _BARRIER_FACTOR

    def has_converged(self, tol: float) -> bool:
        """Whether barrier, decrease, residual and, where there is one, the gap are small."""
        small = tol * self._size()
        if not self.settled:
            return False
        if not self.free:
            return self.decrease <= small and self.moved <= tol
        if self.is_stuck():
            return self._residual() <= _ROUNDING * len(self.Y)
        return (
            max(self.point.theta.size * self.barrier, self.decrease, self._residual()) <= small
            and self.gap() <= small
        )

    def is_stuck(self) -> bool:
        """Whether rounding ends the search: no step has lowered the objective for a while."""
        return self.stalled >= _PATIENCE

    def gap(self) -> float:
        """How far above the optimum a convex objective is at most; zero for others."""
        bound = self.problem.dual(self.point)
        return 0.0 if bound is None else self.majorizer.value - bound

    def result(self, tol: float) -> Minimum:
        """Where the search has come to."""
        return Minimum(
            self.point, self.majorizer, self._gradient(), self.history, self.has_converged(tol)
        )

    def _step_in_latents(self) -> None:
        if self.majorizer.direct:
            self.decrease = 0.0
            return
        trial = self._followed(self.point)
        majorizer = self.problem.touching(trial, self.majorizer)
        decrease = self.majorizer.value - majorizer.value
        if abs(decrease) <= _EXACT * self._size():
            decrease = 0.0
        if decrease < 0.0 and self.majorizer.caution < _MOST_CAUTIOUS:
            self._grow_cautious()
            self.decrease = np.inf
        elif decrease < 0.0 and self.history:
            self.decrease = 0.0
        else:
            self.point, self.majorizer, self.decrease = trial, majorizer, decrease

    def _step_in_weights(self) -> None:
        """Take the longest step tried that lowers the objective, with the barrier and without."""
        model = self._model()
        bend = self.majorizer.bend(self.grams, self.probes) if self.reach > 1.0 else None
        value = self.majorizer.value + self._bar(self.point)
        step, stretched = 1.0, bend is not None
        while step > _SHORTEST_STEP:
            direction = model.direction(bend, self.reach) if stretched else model.direction()
            trial, length = self._moved(direction, step)
            most = value + _ARMIJO * length * direction.slope - self._bar(trial)
            majorizer = self.problem.touching_below(trial, self.majorizer, most)
            if majorizer is not None and majorizer.value <= most:
                break
            if stretched:
                self.reach, stretched = max(self.reach / _RETREAT, _FIRST_REACH), False
            elif self.majorizer.caution < _MOST_CAUTIOUS and self.majorizer.tilts is not None:
                self._grow_cautious()
                model = self._model()
            else:
                step *= _SHORTER
        else:
            self.decrease = 0.0
            return
        if majorizer.value > self.majorizer.value:
            # Only the barrier went down: it is too strong for where the search is.
            self.decrease = 0.0
            return
        if stretched:
            self.reach = min(self.reach * _ADVANCE, _LONGEST_REACH)
        self.decrease = value - majorizer.value - self._bar(trial)
        self.point, self.majorizer = trial, majorizer

    def _model(self) -> NewtonModel:
        return NewtonModel(self.majorizer, self.Y, self.point, self.barrier, self.width)

    def _grow_cautious(self) -> None:
        self.majorizer = self.majorizer.cautious(_CAUTION * self.majorizer.caution)

    def _moved(self, direction: Direction, step: float) -> tuple[Point, float]:
        """The point after a step, its latent values following; and how long the step was."""
        length = step * _longest(self.point.theta, direction.theta)
        theta = self.point.theta + length * direction.theta
        alpha = self.point.alpha + length * direction.alpha
        images = self.point.images + length * self.grams.kernel_products(direction.alpha).as_array()
        point = Point(theta, alpha, self.grams.weighted_sum(theta), images, self.point.jitter)
        if self.problem.objective.convex and not self.majorizer.direct:
            # Values cost next to nothing here, and tell whether the step's own latents will do.
            reached = self.problem.touching(point, self.majorizer).value + self._bar(point)
            expected = -_FAITHFUL * length * direction.slope
            if self.majorizer.value + self._bar(self.point) - reached >= expected:
                return point, length
        return self._followed(point), length

    def _followed(self, point: Point) -> Point:
        """Latent values nearer to their optimum for the majorizer and a point's weights."""
        if self.majorizer.direct:
            return self._solved(point)
        model = NewtonModel(self.majorizer, self.Y, point, 0.0, self.width)
        direction = model.settling()
        images = self.grams.kernel_products(direction.alpha).as_array()
        value, step = self._majorized(point), 1.0
        while step > _SHORTEST_STEP:
            trial = replace(
                point,
                alpha=point.alpha + step * direction.alpha,
                images=point.images + step * images,
            )
            if self._majorized(trial) <= value + _ARMIJO * step * direction.slope:
                return trial
            step *= 0.5
        return point

    def _solved(self, point: Point) -> Point:
        K = with_diagonal(point.K, point.jitter)
        loss = self.problem.objective.loss
        alpha = np.column_stack([loss.solved(K.copy(), y) for y in self.Y.T])
        return replace(point, alpha=alpha, images=self.grams.kernel_products(alpha).as_array())

    def _majorized(self, point: Point) -> float:
        """The majorizer as a function of the latent values, up to a constant."""
        U = point.latent
        return float(np.sum(point.alpha * U)) + sum(
            float(self.majorizer.losses(self.Y[:, c], U[:, c], c).value.sum())
            for c in range(U.shape[1])
        )

    def _bar(self, point: Point) -> float:
        return -self.barrier * float(np.log(point.theta).sum())

    def _gradient(self) -> Array:
        return self.majorizer.costs(self.point.theta).slope - self.point.quadratics

    def _residual(self) -> float:
        if not self.free:
            return 0.0
        return float(np.abs(self.point.theta * self._gradient()).max())

    def _size(self) -> float:
        return max(abs(self.majorizer.value), 1.0)


def _longest(theta: Array, move: Array) -> float:
    """The whole step, or as much of it as keeps the weights positive."""
    shrinking = move < 0.0
    return min(1.0, _BOUNDARY * float((-theta[shrinking] / move[shrinking]).min(initial=np.inf)))

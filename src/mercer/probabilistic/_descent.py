"""Minimization of an objective by majorization and Newton's method."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mercer._data.types import Array
from mercer._data.validation import ARITHMETIC
from mercer._gram.factors import with_diagonal
from mercer._gram.tiles import serial_algebra
from mercer._search.records import ObjectiveStep
from mercer.probabilistic._majorizer import Direction, Majorizer, NewtonModel, Point
from mercer.probabilistic._objectives import Problem


@dataclass(frozen=True)
class StepRules:
    """Rules that choose steps, and that end a search when only rounding errors remain.

    Attributes
    ----------
    boundary : float
        A step goes at most this fraction of the way to the point where a weight becomes zero.
    armijo : float
        A step is accepted if it reaches this fraction of the decrease that the slope predicts.
    faithful : float
        The latent values after a step are kept if the step reaches this fraction of the predicted
        decrease; for a quadratic objective, the fraction is one half.
    backtracking : float
        A step in the weights that is not accepted is shortened by this factor.
    first_barrier : float
        Initial barrier, as a fraction of the initial objective divided by the number of kernels.
    barrier_factor : float
        The barrier is lowered by this factor when steps decrease the objective by less than the
        barrier.
    latent_decrease : float
        The weights are free to change once a step in the latent values alone decreases the
        objective by at most this fraction.
    extension, longest_extension : float
        Steps are initially extended by up to the first factor. The limit is multiplied by this
        factor after an extended step is accepted, up to the longest extension, and divided by its
        square after an extended step is rejected.
    damping, largest_damping : float
        The damping of determinant models grows by this factor after a step is rejected, until the
        models are tangents up to rounding errors.
    patience : int
        The search ends after this many successive steps without a decrease.
    rounded_residual : float
        A search that rounding errors end has converged if its residual per sample is at most this.
    n_probes : int
        Number of random probes that estimate the concavity of the log-determinants. A few are
        enough, because the estimate only affects the length of steps.
    """

    boundary: float = 0.99
    armijo: float = 1e-4
    faithful: float = 0.4
    backtracking: float = 0.25
    first_barrier: float = 1e-2
    barrier_factor: float = 0.1
    latent_decrease: float = 1e-2
    extension: float = 2.0
    longest_extension: float = 64.0
    damping: float = 1e3
    largest_damping: float = 1e6
    patience: int = 12
    rounded_residual: float = 1e-6
    n_probes: int = 4


_SHORTEST_STEP = float(np.sqrt(np.finfo(float).eps))
"""A line search fails if no step of at least this size is accepted."""


@dataclass(frozen=True)
class Minimum:
    """Result of a minimization.

    Attributes
    ----------
    point : Point
    majorizer : Majorizer
        The majorizer at the point.
    gradient : ndarray of shape (n_kernels,)
        Gradient of the objective in the weights, at the optimal latent values.
    history : list of ObjectiveStep
    converged : bool
    """

    point: Point
    majorizer: Majorizer
    gradient: Array
    history: list[ObjectiveStep]
    converged: bool

    @property
    def value(self) -> float:
        """The objective."""
        return self.majorizer.value

    @property
    def size(self) -> float:
        """The absolute value of the objective, at least one, which scales relative tolerances."""
        return max(abs(self.value), 1.0)

    @property
    def residual(self) -> float:
        """The largest |weight * gradient|, which is zero at an optimum."""
        return float(np.abs(self.point.weights * self.gradient).max())


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
    on_step: Callable[..., None] = lambda *_: None,
) -> Minimum:
    """Minimize an objective over latent values and, unless they are fixed, weights.

    Parameters
    ----------
    problem : Problem
    point : Point
        The starting point; free weights must be positive.
    free : bool, default=True
        Whether the weights are free.
    barrier : float, default=None
        Initial weight of the barrier; None for a hundredth of the objective per kernel.
    previous : Majorizer, default=None
        The majorizer at a nearby point.
    tol : float
        The search ends when barrier, decrease, residual and, for a convex objective, duality gap
        are below this fraction of the objective.
    max_iter : int
    on_step : callable, default=None
        Called after each step.

    Notes
    -----
    Each step minimizes the second-order model of the majorizer, jointly in latent values and
    weights, with a logarithmic barrier on the weights (Nickisch and Seeger 2011, algorithm 1).
    There are two additions to that algorithm. First, after each step in the weights, the latent
    values are improved by a separate Newton step, or by fitting a kernel machine if the loss is not
    smooth. Second, the concavity of the log-determinants, which their tangents neglect, is
    estimated from a few random probes. It extends steps by a factor that grows as long as extended
    steps decrease the objective. An extended step that fails to decrease the objective is replaced
    by a step of the majorizer, which is guaranteed to decrease it.

    Each step takes O(n^3 + p n^2 + p^2 n) time for each problem, where p is the number of kernels.
    No product with the inverse of the learned Gram matrix is computed.
    """
    search = _Search(problem, point, free=free, barrier=barrier, previous=previous)
    for _ in range(max_iter):
        search.step()
        on_step()
        if search.has_converged(tol) or search.is_stuck():
            break
    return search.result(tol)


def minimize_latents(
    problem: Problem,
    point: Point,
    *,
    previous: Majorizer | None = None,
    tol: float = 1e-7,
    max_iter: int = 100,
) -> Minimum:
    """Minimize an objective over the latent values, to the precision that predictions need.

    Parameters
    ----------
    problem : Problem
    point : Point
    previous : Majorizer, default=None
        The majorizer at a nearby point.
    tol : float, default=1e-7
        Relative tolerance; larger values are replaced by the default.
    max_iter : int, default=100
    """
    tol = min(tol, 1e-7)
    return minimize(problem, point, free=False, previous=previous, tol=tol, max_iter=max_iter)


class _Search:
    """The state of a minimization: a point, its majorizer, and the sizes of the next steps."""

    rules = StepRules()

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
        # Latent values found by a kernel machine are optimal at every step.
        self.point = point if problem.objective.is_smooth else self._solve_latents(point)
        self.majorizer = self.problem.majorize_at(self.point, previous)
        first = self.rules.first_barrier * self._size() / point.weights.size
        self.barrier = 0.0 if not free else first if barrier is None else barrier
        self.probes = np.random.default_rng(0).normal(size=(len(self.Y), self.rules.n_probes))
        self.step_extension = 1.0 if problem.objective.convex else self.rules.extension
        self.kink_width = problem.weights.spread(self.Y)
        self.latents_converged = not free or not problem.objective.is_smooth
        self.decrease = self.relative_change = np.inf
        self.n_stalled = 0
        self.history: list[ObjectiveStep] = []

    def step(self) -> None:
        """Take a step, at first in the latent values alone; small decreases lower the barrier."""
        before = self.point.latent
        if self.free and self.latents_converged:
            self._step_in_weights()
        else:
            self._step_in_latents()
        change = np.abs(self.point.latent - before)
        self.relative_change = float(change.max() / max(np.abs(before).max(), 1e-300))
        self.kink_width = float(change.max()) or self.kink_width
        self.history.append(ObjectiveStep(self.majorizer.value, self.barrier, self._residual()))
        self.n_stalled = self.n_stalled + 1 if self.decrease <= 0.0 else 0
        if not self.latents_converged:
            self.latents_converged = self.decrease <= self.rules.latent_decrease * self._size()
        elif self.decrease < 0.5 * self.point.weights.size * self.barrier:
            self.barrier *= self.rules.barrier_factor

    def has_converged(self, tol: float) -> bool:
        """Return whether barrier, decrease, residual and duality gap are within the tolerance."""
        small = tol * self._size()
        if not self.latents_converged:
            return False
        if not self.free:
            return self.decrease <= small and self.relative_change <= tol
        if self.is_stuck():
            return self._residual() <= self.rules.rounded_residual * self.problem.n_samples
        total_barrier = self.point.weights.size * self.barrier
        return max(total_barrier, self.decrease, self._residual()) <= small and self._gap() <= small

    def is_stuck(self) -> bool:
        """Return whether several successive steps have failed to decrease the objective."""
        return self.n_stalled >= self.rules.patience

    def result(self, tol: float) -> Minimum:
        """Return the current point as the minimum."""
        return Minimum(
            self.point, self.majorizer, self._gradient(), self.history, self.has_converged(tol)
        )

    def _gap(self) -> float:
        """Return the duality gap of a convex objective, or zero for other objectives."""
        bound = self.problem.objective.lower_bound(self.problem, self.point)
        return 0.0 if bound is None else self.majorizer.value - bound

    def _step_in_latents(self) -> None:
        if not self.majorizer.is_smooth:
            self.decrease = 0.0
            return
        trial = self._improve_latents(self.point)
        majorizer = self.problem.majorize_at(trial, self.majorizer)
        decrease = self.majorizer.value - majorizer.value
        if abs(decrease) <= ARITHMETIC * self._size():
            decrease = 0.0
        if decrease < 0.0 and self.majorizer.damping < self.rules.largest_damping:
            self._increase_damping()
            self.decrease = np.inf
        elif decrease < 0.0:
            self.decrease = 0.0
        else:
            self.point, self.majorizer, self.decrease = trial, majorizer, decrease

    def _step_in_weights(self) -> None:
        """Take the first step that decreases the sum of the objective and its barrier.

        A rejected step is tried again without the extension, then with more damping, and finally
        with smaller step sizes.
        """
        model = self._newton_model()
        extended = self.step_extension > 1.0
        concavity = self.majorizer.concavity(self.grams, self.probes) if extended else None
        value = self.majorizer.value + self._barrier_value(self.point)
        step_size = 1.0
        while step_size >= _SHORTEST_STEP:
            direction = (
                model.direction(concavity, self.step_extension) if extended else model.direction()
            )
            trial, length = self._after_step(direction, step_size)
            most = value + self.rules.armijo * length * direction.slope - self._barrier_value(trial)
            majorizer = self.problem.majorize_at(trial, self.majorizer)
            if majorizer.value <= most:
                break
            if extended:
                shorter = self.step_extension / self.rules.extension**2
                self.step_extension, extended = max(shorter, self.rules.extension), False
            elif (
                self.majorizer.damping < self.rules.largest_damping
                and self.majorizer.determinants is not None
            ):
                self._increase_damping()
                model = self._newton_model()
            else:
                step_size *= self.rules.backtracking
        else:
            self.decrease = 0.0
            return
        if majorizer.value > self.majorizer.value:
            # Only the barrier term decreased, so the barrier is too high for this point.
            self.decrease = 0.0
            return
        if extended:
            longer = self.step_extension * self.rules.extension
            self.step_extension = min(longer, self.rules.longest_extension)
        self.decrease = value - majorizer.value - self._barrier_value(trial)
        self.point, self.majorizer = trial, majorizer

    def _newton_model(self) -> NewtonModel:
        return NewtonModel(self.majorizer, self.Y, self.point, self.barrier, self.kink_width)

    def _increase_damping(self) -> None:
        self.majorizer = self.majorizer.damped(self.rules.damping * self.majorizer.damping)

    def _after_step(self, direction: Direction, step_size: float) -> tuple[Point, float]:
        """Return the point after a step, with improved latent values, and the step length."""
        shrinking = direction.weights < 0.0
        to_zero = -self.point.weights[shrinking] / direction.weights[shrinking]
        length = step_size * min(1.0, self.rules.boundary * float(to_zero.min(initial=np.inf)))
        weights = self.point.weights + length * direction.weights
        alpha = self.point.alpha + length * direction.alpha
        products = (
            self.point.products + length * self.grams.kernel_products(direction.alpha).as_array()
        )
        point = Point(weights, alpha, self.grams.weighted_sum(weights), products, self.point.jitter)
        if self.problem.objective.convex and self.majorizer.is_smooth:
            # The value of a convex objective costs next to nothing and shows whether the latent
            # values of the step itself are good enough.
            value = self.problem.majorize_at(point, self.majorizer).value
            value += self._barrier_value(point)
            expected = -self.rules.faithful * length * direction.slope
            if self.majorizer.value + self._barrier_value(self.point) - value >= expected:
                return point, length
        return self._improve_latents(point), length

    def _improve_latents(self, point: Point) -> Point:
        """Take a Newton step in the latent values, or optimize them by fitting a kernel machine."""
        if not self.majorizer.is_smooth:
            return self._solve_latents(point)
        model = NewtonModel(self.majorizer, self.Y, point, 0.0, self.kink_width)
        direction = model.latent_direction()
        products = self.grams.kernel_products(direction.alpha).as_array()
        value, step_size = self._latent_value(point), 1.0
        while step_size >= _SHORTEST_STEP:
            trial = replace(
                point,
                alpha=point.alpha + step_size * direction.alpha,
                products=point.products + step_size * products,
            )
            if self._latent_value(trial) <= value + self.rules.armijo * step_size * direction.slope:
                return trial
            step_size *= 0.5
        return point

    def _solve_latents(self, point: Point) -> Point:
        K = with_diagonal(point.K, point.jitter)
        deviance = self.problem.objective.deviance
        alpha = np.column_stack([deviance.solve(K.copy(), y) for y in self.Y.T])
        return replace(point, alpha=alpha, products=self.grams.kernel_products(alpha).as_array())

    def _latent_value(self, point: Point) -> float:
        """Return the majorizer as a function of the latent values, up to a constant."""
        U = point.latent
        return float(np.sum(point.alpha * U)) + sum(
            float(self.majorizer.expand(self.Y[:, c], U[:, c], c).value.sum())
            for c in range(U.shape[1])
        )

    def _barrier_value(self, point: Point) -> float:
        return -self.barrier * float(np.log(point.weights).sum())

    def _gradient(self) -> Array:
        return self.majorizer.expand_costs(self.point.weights).slope - self.point.quadratics

    def _residual(self) -> float:
        if not self.free:
            return 0.0
        return float(np.abs(self.point.weights * self._gradient()).max())

    def _size(self) -> float:
        return max(abs(self.majorizer.value), 1.0)

"""Searches for weights: joint Newton steps, alternation, and quasi-Newton on the profile."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import minimize as descend
from sklearn.preprocessing import StandardScaler

from experiments.experiment import Measures
from experiments.problems import Array, whole
from mercer._gram.kernel_products import DenseGrams, base_grams
from mercer._gram.samples import Samples
from mercer._gram.tiles import serial_algebra
from mercer.kernels import Gaussian
from mercer.probabilistic._descent import Minimum, minimize
from mercer.probabilistic._majorizer import Majorizer, Point
from mercer.probabilistic._objectives import (
    BayesianObjective,
    Problem,
)
from mercer.probabilistic._searches import optimize_weights

# The widths of the ten Gaussian kernels.
WIDTHS: Array = np.geomspace(1.0, 30.0, 10)
# Relative tolerance of the searches, far below the precision to which they are compared.
TIGHT = 1e-7
# Relative tolerance of the latent values for fixed weights.
INNER = 1e-5
# Upper bound of the logarithms of weights.
LARGEST_LOGARITHM = 15.0
# The variance of the white noise of joint MAP.
JITTER = 2.0


@dataclass
class Trace:
    """The objective values of a search, with the seconds after which they were known."""

    start: float = field(default_factory=time.perf_counter)
    seconds: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    inner_steps: int = 0

    def add(self, value: float) -> None:
        """Append the current objective value."""
        self.seconds.append(time.perf_counter() - self.start)
        self.values.append(value)

    def measures(self) -> Measures:
        """Return values, times, and the number of inner steps, or of steps if there are none."""
        steps = self.inner_steps or len(self.values)
        return {"values": self.values, "seconds": self.seconds, "inner_steps": steps}


@dataclass(frozen=True)
class WithoutCurvature(BayesianObjective):
    """An objective without the curvature of its log-determinants, which lengthens steps."""

    of: BayesianObjective

    def __post_init__(self) -> None:
        object.__setattr__(self, "deviance", self.of.deviance)
        object.__setattr__(self, "jitter", self.of.jitter)
        object.__setattr__(self, "convex", self.of.convex)

    @property
    def is_smooth(self) -> bool:
        """Whether Newton's method finds latent values."""
        return self.of.is_smooth

    def majorize_at(self, problem: Problem, point: Point, previous: Majorizer | None) -> Majorizer:
        """Return the objective's majorizer without the factors of its log-determinants."""
        found = self.of.majorize_at(problem, point, previous)
        return replace(found, factors=())


class RecordingGram(DenseGrams):
    """A Gram matrix that keeps the matrix with which it was last contracted."""

    def __init__(self, K: Array) -> None:
        super().__init__(K[None])
        self.P: Array | None = None

    def inner_products(self, P: Array) -> Array:
        """Return the inner product with a matrix, which is kept."""
        self.P = P
        return super().inner_products(P)


class Profile:
    """The minimum over latent values as a function of weights; searches start at the last one."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.trace = problem, Trace()
        self.last: Minimum | None = None

    def __call__(self, theta: Array) -> tuple[float, Array, Array]:
        """Return the value, slopes of penalty or log-determinant, and alpha'K_m alpha."""
        grams = self.problem.grams
        gram = RecordingGram(grams.weighted_sum(theta))
        inner = replace(self.problem, grams=gram)
        point, majorizer = inner.start(np.ones(1)), None
        if self.last is not None:
            alpha, majorizer = self.last.point.alpha, self.last.majorizer
            point = replace(point, alpha=alpha, products=gram.kernel_products(alpha).as_array())
        found = minimize(inner, point, free=False, previous=majorizer, tol=INNER, max_iter=100)
        self.last = found
        # A sum of weights is all that MKL adds, and the Gram matrix has a weight of one itself.
        convex = self.problem.objective.convex
        value = found.majorizer.value + (float(theta.sum()) - 1.0 if convex else 0.0)
        slopes = np.ones_like(theta) if gram.P is None else grams.inner_products(gram.P)
        self.trace.inner_steps += len(found.history)
        self.trace.add(value)
        return value, slopes, grams.kernel_products(found.point.alpha).quadratics[:, 0]


def equal_weights(problem: Problem) -> Array:
    """Return equal weights of sum one."""
    return np.full(problem.grams.n_kernels, 1.0 / problem.grams.n_kernels)


def newton(problem: Problem, *, most: int, plain: bool = False) -> Measures:
    """Take joint Newton steps; plain ones are not lengthened by an estimate of curvature."""
    if plain:
        problem = replace(problem, objective=WithoutCurvature(problem.objective))
    trace = Trace()
    seconds: list[float] = []
    found = optimize_weights(
        problem,
        [equal_weights(problem)],
        tol=TIGHT,
        max_iter=most,
        on_step=lambda: seconds.append(time.perf_counter() - trace.start),
    )
    trace.seconds = seconds
    trace.values = [step.objective for step in found.history[: len(seconds)]]
    return trace.measures()


@serial_algebra()
def quasi_newton(problem: Problem, *, most: int, logarithms: bool) -> Measures:
    """Minimize the profile by L-BFGS-B, in the weights or in their logarithms."""
    profile = Profile(problem)

    def objective(x: Array) -> tuple[float, Array]:
        theta = np.exp(x) if logarithms else x
        value, slopes, quadratics = profile(theta)
        gradient = slopes - quadratics
        return value, theta * gradient if logarithms else gradient

    first = equal_weights(problem)
    descend(
        objective,
        np.log(first) if logarithms else first,
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, LARGEST_LOGARITHM) if logarithms else (0.0, None)] * len(first),
        options={"ftol": 1e-10, "gtol": 0.0, "maxiter": most, "maxfun": most},
    )
    return profile.trace.measures()


@serial_algebra()
def alternation(problem: Problem, *, most: int) -> Measures:
    """Alternate between latent values for fixed weights and weights in closed form.

    With the parts f_m = theta_m K_m alpha of u fixed, f_m'K_m^-1 f_m / theta_m + t_m theta_m is
    least for theta_m sqrt(q_m / t_m), t_m the penalty or the slope of the log-determinant.
    """
    profile, theta = Profile(problem), equal_weights(problem)
    for _ in range(most):
        _, slopes, quadratics = profile(theta)
        theta = theta * np.sqrt(quadratics / slopes)
    return profile.trace.measures()


def case(repeat: int, *, name: str, n_samples: int, objective: BayesianObjective) -> Problem:
    """Return an objective on random samples, with standardized features and responses."""
    X, y = whole(name)
    rows = np.random.default_rng(repeat).permutation(len(y))[:n_samples]
    X, y = StandardScaler().fit_transform(X[rows]), y[rows].astype(float)
    if not objective.deviance.loss.for_labels:
        y = (y - y.mean()) / y.std()
    kernels = [Gaussian(width) for width in WIDTHS]
    grams = base_grams(Samples(X, len(kernels)), kernels, centered=False)
    grams.traces()
    return Problem(objective, grams, y[:, None])

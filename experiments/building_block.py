"""The building block of joint MAP for given latent values, and optima of real problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from experiments.experiment import Measures
from experiments.learned_objectives import Sample
from experiments.problems import Array
from mercer._gram.factors import definite_factor, log_determinant
from mercer.kernels import Gaussian
from mercer.probabilistic._objectives import BayesianObjective, JointMAP, PenalizedRisk
from mercer.probabilistic._searches import optimize_weights

BLOCK = "building block"
# The variance of the building block's white noise, which keeps it finite at zero weights.
NOISE = 1e-3
# The weights at which the building block is evaluated.
GRID: Array = np.r_[0.0, np.geomspace(1e-4, 30.0, 60)]
# The powers of weights in the penalties.
NORMS = (1.0, 2.0)
# The numbers of latent values of the building block.
N_LATENT = (3, 10, 30)
# Stationary values that differ by more than this, relatively, are counted as several.
APART = 1e-3
# At a stationary point, slopes (times weights, where these are positive) are at most this
# fraction of the value.
STATIONARY = 1e-4
# A descent is started again at its end at most this often.
RESTARTS = 10


@dataclass(frozen=True)
class Block:
    """The building block u'K^-1 u + ln|K|: two kernels, and given latent values u."""

    grams: tuple[Array, Array]
    u: Array

    def gram(self, theta: Array) -> Array:
        """Return K = theta_1 K_1 + theta_2 K_2 + noise."""
        K = theta[0] * self.grams[0] + theta[1] * self.grams[1]
        return np.asarray(K + NOISE * np.eye(len(self.u)))

    def terms(self, theta: Array) -> tuple[float, float]:
        """Return u'K^-1 u and ln|K|."""
        factor = definite_factor(self.gram(theta))
        half = solve_triangular(factor, self.u, lower=True)
        return float(half @ half), log_determinant(factor)

    def gradients(self, theta: Array) -> tuple[Array, Array]:
        """Return the gradients of both terms in the weights."""
        inverse = np.linalg.inv(self.gram(theta))
        alpha = inverse @ self.u
        square = np.array([-alpha @ K @ alpha for K in self.grams])
        return square, np.array([np.sum(inverse * K) for K in self.grams])


def blocks(repeat: int, *, n_samples: int, n_draws: int) -> list[Block]:
    """Return blocks on random points, with u drawn from the equal mixture of both kernels."""
    generator = np.random.default_rng(repeat)
    found = []
    for _ in range(n_draws):
        x = generator.uniform(-2.0, 2.0, size=(n_samples, 1))
        grams = Gaussian(0.3)(x), Gaussian(1.5)(x)
        covariance = 0.5 * (grams[0] + grams[1]) + NOISE * np.eye(n_samples)
        u = np.linalg.cholesky(covariance) @ generator.normal(size=n_samples)
        found.append(Block(grams, u))
    return found


def along_a_line(drawn: Sequence[Block]) -> Measures:
    """Return both terms and bounds of ln|K| along equal weights (t, t): Figure 1."""
    data = drawn[0]
    line = GRID[1:]
    terms = np.array([data.terms(np.full(2, t)) for t in line])
    middle = float(line[len(line) // 2])
    height, slope = data.terms(np.full(2, middle))[1], data.gradients(np.full(2, middle))[1]
    bounds = {
        f"bound_{p:g}": height + slope.sum() * (line**p - middle**p) / (p * middle ** (p - 1.0))
        for p in NORMS
    }
    return {"t": line, "square": terms[:, 0], "log_determinant": terms[:, 1], **bounds}


def surface(drawn: Sequence[Block]) -> Measures:
    """Return ln|K| + u'K^-1 u, and u'K^-1 u with a penalty, over both weights: Figure 2."""
    data = drawn[0]
    grid = GRID[::3]
    terms = np.array([[data.terms(np.array([a, b])) for b in grid] for a in grid])
    return {
        "weights": grid,
        "map": terms.sum(axis=-1),
        "mkl": terms[..., 0] + grid[:, None] + grid[None, :],
    }


# A cost of weights, with its gradient.
Cost = Callable[[Block, Array], tuple[float, Array]]

# The weights at which ln|K| has its tangent.
EQUAL: Array = np.full(2, 0.5)


def _penalty(norm: float) -> Cost:
    """Return the sum of powers of the weights as a cost."""
    return lambda data, theta: (float(np.sum(theta**norm)), norm * theta ** (norm - 1.0))


def _tangent(data: Block, theta: Array) -> tuple[float, Array]:
    """Return the tangent of ln|K| at equal weights, and its slopes."""
    slopes = data.gradients(EQUAL)[1]
    return float(slopes @ (theta - EQUAL)) + data.terms(EQUAL)[1], slopes


# ln|K| of joint MAP, its tangent at equal weights, and penalties on powers of the weights.
COSTS: dict[str, Cost] = {
    "map": lambda data, theta: (data.terms(theta)[1], data.gradients(theta)[1]),
    "tangent": _tangent,
    **{f"mkl_{p:g}": _penalty(p) for p in NORMS},
}


def stationary(drawn: Sequence[Block], *, n_starts: int) -> Measures:
    """Count local minima from many starts, and zero weights in the best one, for each u."""
    found: dict[str, list[int]] = {}
    for name, cost in COSTS.items():
        ends = [local_minima(block, cost, n_starts) for block in drawn]
        found[f"{name}_minima"] = [len(minima) for minima in ends]
        found[f"{name}_zeros"] = [
            int(np.sum(minima[0].x <= 1e-5 * minima[0].x.max())) for minima in ends
        ]
    return found


@dataclass(frozen=True)
class End:
    """The weights at which a descent ended, and their objective."""

    x: Array
    fun: float


def local_minima(data: Block, cost: Cost, n_starts: int) -> list[End]:
    """Return distinct local minima of u'K^-1 u plus a cost of the weights, lowest first."""

    def objective(x: Array) -> tuple[float, Array]:
        theta = np.maximum(x, 0.0)
        value, slopes = cost(data, theta)
        return data.terms(theta)[0] + value, data.gradients(theta)[0] + slopes

    generator = np.random.default_rng(0)
    starts = 10.0 ** generator.uniform(-3.0, 1.5, size=(n_starts, 2))
    ends = [descended(objective, start) for start in starts]
    kept: list[End] = []
    for end in sorted(ends, key=lambda end: end.fun):
        gradient = objective(end.x)[1]
        slack = max(
            float(np.abs(end.x * gradient).max()), -float(gradient[end.x == 0.0].min(initial=0.0))
        )
        apart = not kept or end.fun - kept[-1].fun > APART * max(abs(kept[-1].fun), 1.0)
        if apart and (not kept or slack <= STATIONARY * max(abs(end.fun), 1.0)):
            kept.append(end)
    return kept


def descended(objective: Callable[[Array], tuple[float, Array]], start: Array) -> End:
    """Descend, again from each end until that changes nothing; tiny weights become zero."""
    x, value = start, np.inf
    for _ in range(RESTARTS):
        end = minimize(
            objective,
            x,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, None)] * 2,
            options={"ftol": 1e-13, "gtol": 1e-8},
        )
        gained, x, value = value - float(end.fun), end.x, float(end.fun)
        if gained <= 1e-9 * max(abs(value), 1.0):
            break
    rounded = np.where(x <= 1e-8 * x.max(), 0.0, x)
    least = objective(rounded)[0]
    return End(rounded, least) if least <= value + 1e-9 else End(x, value)


def optima(data: Sample, *, n_starts: int) -> Measures:
    """Return the values that joint MAP and multiple kernel learning reach from random weights."""
    generator = np.random.default_rng(data.seed)
    p = len(data.kernels)
    starts = 10.0 ** generator.uniform(-3.0, 0.5, size=(n_starts, p))
    goals: dict[str, BayesianObjective] = {
        "map": JointMAP(data.likelihood, 0.1),
        "map_2": JointMAP(data.likelihood, 2.0),
        "mkl": PenalizedRisk(data.likelihood),
    }
    found: dict[str, list[float] | list[int]] = {}
    for name, goal in goals.items():
        problem = data.problem(goal)
        ends = [optimize_weights(problem, [theta], tol=1e-6, max_iter=500) for theta in starts]
        found[name] = [end.majorizer.value for end in ends]
        found[f"{name}_kernels"] = [int(np.count_nonzero(end.point.weights)) for end in ends]
    return found

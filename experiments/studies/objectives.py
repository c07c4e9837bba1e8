"""Shapes of joint MAP and multiple kernel learning: Nickisch and Seeger (2011), Figures 1 and 2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from experiments.experiment import Experiment, Measures, Method
from experiments.problems import Array
from experiments.reporting.figures import panels
from experiments.reporting.results import Results, flat, stacked
from experiments.reporting.section import Finding, Section, claim, rough, table
from experiments.studies.taxonomy import PROBLEMS, Sample, sample
from mercer._gram.dense import definite_factor, log_determinant
from mercer.kernels import Gaussian
from mercer.probabilistic._objectives import JointMAP, Objective, PenalizedRisk
from mercer.probabilistic._weight_search import optimize_weights

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
    goals: dict[str, Objective] = {
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


def experiment(small: bool) -> Experiment:
    """Declare the building block with given latent values, and real problems."""
    sizes = {"n_train": 40, "n_test": 1} if small else {"n_train": 150, "n_test": 1}
    drawn = {
        f"{BLOCK}, n = {n}": partial(blocks, n_samples=n, n_draws=3 if small else 20)
        for n in ((3, 10) if small else N_LATENT)
    }
    real = {
        name: partial(sample, name=data, likelihood=likelihood, **sizes)
        for name, (data, likelihood) in PROBLEMS.items()
    }
    on_blocks: dict[str, Method] = {
        "line": along_a_line,
        "surface": surface,
        "stationary points": partial(stationary, n_starts=5 if small else 15),
    }
    return Experiment(
        title="Shapes of the objectives",
        source="Nickisch, Seeger (2011), sections 2.2, Figures 1 and 2",
        problems={**drawn, **real},
        methods={**on_blocks, "optima": partial(optima, n_starts=2 if small else 10)},
        limits={
            **{(name, method): 0 for name in real for method in on_blocks},
            **{(name, "optima"): 0 for name in drawn},
            **{(name, "optima"): 3 for name in real},
            **{(name, "stationary points"): 3 for name in drawn},
            **{(name, method): 1 for name in drawn for method in ("line", "surface")},
        },
    )


SOURCE = "Nickisch, Seeger 2011"
# Values that differ by more than this, relatively, are different optima; searches are precise to
# 1e-6.
DISTINCT = 1e-4
LEVELS = 25
# Descriptions of the costs of weights.
DESCRIPTIONS = {
    "map": "MAP, ln det K",
    "tangent": "its tangent at equal weights",
    "mkl_1": "MKL, sum of weights",
    "mkl_2": "MKL, sum of squared weights",
}


def block_problems(results: Results) -> list[str]:
    """Return the problems with given latent values."""
    return [name for name in results.problems if name.startswith(BLOCK)]


def real(results: Results) -> list[str]:
    """Return the problems of real data."""
    return [name for name in results.problems if results.repeats(name, "optima")]


def section(results: Results) -> Section:
    """Write Figures 1 and 2, stationary points, and optima of real problems."""
    figures = {}
    body = (
        "The building block u'K^-1 u + ln det K of joint MAP for given latent values u, with two "
        "Gaussian kernels of widths .3 and 1.5 on n random points in [-2, 2], u drawn from their "
        "equal mixture, and white noise of 1e-3. Both terms along equal weights (left), and "
        "ln det K below its bounds by weights to the powers 1 and 2 (right; the paper's Figure 1, "
        "as far as its text describes it).\n\n"
    )
    shown = block_problems(results)[-1:]
    if shown and results.repeats(shown[0], "line") and results.repeats(shown[0], "surface"):
        figures = {"objectives_line": lines(results, shown[0])}
        figures["objectives_surface"] = surfaces(results, shown[0])
        body += (
            "![Terms of the building block and bounds of ln det K](figure:objectives_line)\n\nOver "
            "both weights (the paper's Figure 2), joint MAP's block and MKL's, logarithms of the "
            "distance from the least value on the grid:\n\n![Joint MAP and MKL over two "
            "weights](figure:objectives_surface)\n\n"
        )
    body += (
        "Local minima of the block over both weights, from 15 starts for each draw of u: how many "
        "draws have more than one, and how many have a zero weight at the "
        f"lowest.\n\n{block_table(results)}\nSearches from ten random weights each for the "
        "problems of the section before, with 150 samples: how many optima of different value they "
        f"end in, and how far the worst is above the best, relative (values within {DISTINCT:g} "
        f"count as one).\n\n{optima_table(results)}"
    )
    return Section(body, [terms(results), several_optima(results), sparsity(results)], figures)


def lines(results: Results, problem: str) -> Figure:
    """Draw both terms and the bounds along equal weights."""
    t, square, height, first, second = (
        stacked(results, name, problem, "line")[0]
        for name in ("t", "square", "log_determinant", "bound_1", "bound_2")
    )
    picture, (left, right) = panels(2, width=4.4)
    left.semilogx(t, square, color="tab:blue", label="u'K^-1 u")
    left.semilogx(t, height, color="tab:orange", label="ln det K")
    left.semilogx(t, square + height, color="tab:red", label="sum")
    least = float((square + height).min())
    spread = float(np.ptp(height))
    left.set(xlabel="both weights", ylim=(height.min() - 0.1 * spread, least + 2.0 * spread))
    left.legend(fontsize=7)
    right.plot(t, height, color="tab:orange", label="ln det K")
    right.plot(t, first, color="tab:blue", label="bound, power 1")
    right.plot(t, second, color="tab:green", label="bound, power 2")
    tangent_at = t[len(t) // 2]
    shown = t < 8.0 * tangent_at
    right.set(
        xlabel="both weights", xlim=(0.0, 8.0 * tangent_at), ylim=(height.min(), first[shown].max())
    )
    right.legend(fontsize=7)
    return picture


def surfaces(results: Results, problem: str) -> Figure:
    """Draw both objectives over both weights."""
    weights = stacked(results, "weights", problem, "surface")[0]
    picture, axes = panels(2, width=4.2)
    for panel, (name, title) in zip(axes, (("map", "MAP"), ("mkl", "MKL")), strict=True):
        values = stacked(results, name, problem, "surface")[0]
        height = np.log10(values - values.min() + 1.0)
        panel.contourf(weights, weights, height, LEVELS)
        best = np.unravel_index(values.argmin(), values.shape)
        panel.plot(weights[best[1]], weights[best[0]], "r*", ms=9, clip_on=False, zorder=5)
        panel.set_xscale("symlog", linthresh=float(weights[1]))
        panel.set_yscale("symlog", linthresh=float(weights[1]))
        panel.set(xlabel="weight of the wide kernel", title=title)
    axes[0].set_ylabel("weight of the narrow kernel")
    return picture


def block_table(results: Results) -> str:
    """Return a table of draws with several minima and with zero weights."""
    rows = []
    for problem in block_problems(results):
        for name in COSTS:
            minima = flat(results, f"{name}_minima", problem, "stationary points")
            zeros = flat(results, f"{name}_zeros", problem, "stationary points")
            if minima.size:
                several, sparse = int((minima > 1).sum()), int((zeros > 0).sum())
                rows.append(
                    [f"{problem}: {DESCRIPTIONS[name]}", f"{several} of {minima.size}", f"{sparse}"]
                )
    return table(["weights cost", "several minima", "zero weight"], rows)


def of_blocks(results: Results, measure: str) -> Array:
    """Return a measure of stationary points over all blocks."""
    found = [flat(results, measure, name, "stationary points") for name in block_problems(results)]
    return np.concatenate(found) if found else np.empty(0)


def distinct(values: Array) -> int:
    """Return the number of distinct values."""
    ordered = np.sort(values)
    size = max(float(np.abs(ordered).max()), 1.0)
    return 1 + int((np.diff(ordered) > DISTINCT * size).sum())


# Descriptions of the objectives of real problems.
GOALS = {"map": "MAP, e = 0.1", "map_2": "MAP, e = 2", "mkl": "MKL"}


def optima_of(results: Results, problem: str, goal: str) -> tuple[Array, Array]:
    """Return the number of optima, and how far the worst is above the best, by repeat."""
    values = stacked(results, goal, problem, "optima")
    counts = np.array([distinct(row) for row in values])
    size = np.maximum(np.abs(values).max(axis=1), 1.0)
    return counts, np.ptp(values, axis=1) / size


def optima_table(results: Results) -> str:
    """Return a table of optima by problem and objective."""
    rows = []
    for problem in real(results):
        for goal, label in GOALS.items():
            counts, above = optima_of(results, problem, goal)
            rows.append([f"{problem}: {label}", f"{counts.mean():.1f}", rough(float(above.max()))])
    return table(["problem: objective", "optima", "worst above best"], rows)


@claim(
    f"{SOURCE}, section 2.2, Figures 1 and 2",
    "signs of first and second differences of u'K^-1 u and ln det K along equal weights, and "
    "of the distance of both bounds from ln det K; true for each",
)
def terms(results: Results) -> Finding | None:
    """Joint MAP's block is the sum of a decreasing convex term and an increasing concave one;
    weights to the powers 1 and 2 bound the latter from above.
    """
    conditions = []
    shown = [name for name in block_problems(results) if results.repeats(name, "line")]
    for problem in shown:
        t, square, height, *bounds = (
            stacked(results, name, problem, "line")[0]
            for name in ("t", "square", "log_determinant", "bound_1", "bound_2")
        )
        step = np.diff(t)
        falling, rising = np.diff(square) / step, np.diff(height) / step
        above = [bool((bound >= height - 1e-6 * np.abs(height)).all()) for bound in bounds]
        conditions += [
            bool((falling < 0).all() and (np.diff(falling) > 0).all()),
            bool((rising > 0).all() and (np.diff(rising) < 0).all()),
            *above,
        ]
    return (
        conditions,
        f"{sum(conditions)} of {len(conditions)} hold, for n = "
        f"{', '.join(name.rpartition(' ')[2] for name in shown)} points",
        "",
    )


@claim(
    f"{SOURCE}, sections 2.1 and 2.2, Figure 2",
    "local minima of the block from 15 starts, and of real problems from ten; true if MAP has "
    "several at least once and MKL never, in both",
)
def several_optima(results: Results) -> Finding | None:
    """MKL is jointly convex, with one optimum; joint MAP can have several stationary points."""
    if not (block_problems(results) and real(results)):
        return None
    several = {name: int((of_blocks(results, f"{name}_minima") > 1).sum()) for name in COSTS}
    drawn = of_blocks(results, "map_minima").size
    counts = {
        goal: np.concatenate([optima_of(results, name, goal)[0] for name in real(results)])
        for goal in GOALS
    }
    fixed = [several["map"] > 0, several["mkl_1"] == several["mkl_2"] == several["tangent"] == 0]
    learned = [bool((counts["map"] > 1).any()), bool((counts["mkl"] == 1).all())]
    text = ", ".join(f"{GOALS[goal]}: {int((n > 1).sum())}" for goal, n in counts.items())
    return (
        fixed + learned,
        f"block: MAP has several in {several['map']} of {drawn} draws, its tangent in "
        f"{several['tangent']}, MKL in {several['mkl_1']} and {several['mkl_2']}; of "
        f"{counts['map'].size} real problems there are several optima with {text}",
        "The more white noise e there is, the smaller is the curvature of ln det K, so that "
        "fewer optima are expected.",
    )


@claim(
    f"{SOURCE}, section 2.2, Figure 2",
    "number of draws of u whose lowest minimum has a zero weight; true if MAP has such, more "
    "than its own tangent at equal weights, and more than MKL with a penalty of 1",
)
def sparsity(results: Results) -> Finding | None:
    """MAP's block yields sparse solutions, even sparser than MKL's with a sum of weights."""
    zeros = {name: int((of_blocks(results, f"{name}_zeros") > 0).sum()) for name in COSTS}
    total, joint = of_blocks(results, "map_zeros").size, zeros["map"]
    if not total:
        return None
    return (
        [joint > 0, joint > zeros["tangent"], joint > zeros["mkl_1"]],
        f"of {total}: MAP {joint}, tangent {zeros['tangent']}, MKL {zeros['mkl_1']}, MKL with "
        f"squared weights {zeros['mkl_2']}",
        "Here u is drawn from a mixture with both weights positive. MKL's penalty is the same for "
        "both kernels, but ln det K rises more with the weight of the narrow one, which has more "
        "eigenvalues above the noise: sparsity at a penalty of 1 is a matter of scale, and only "
        "the comparison with the tangent is independent of that scale. Learned dictionaries are "
        "compared in the section before.",
    )

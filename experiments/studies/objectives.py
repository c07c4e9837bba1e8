"""Shapes of joint MAP and multiple kernel learning: Nickisch and Seeger (2011), Figures 1 and 2."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from experiments.building_block import (
    BLOCK,
    COSTS,
    N_LATENT,
    along_a_line,
    blocks,
    optima,
    stationary,
    surface,
)
from experiments.experiment import Experiment, Method
from experiments.learned_objectives import PROBLEMS, sample
from experiments.problems import Array
from experiments.reporting.figures import panels
from experiments.reporting.results import Results, flat, stacked
from experiments.reporting.section import Finding, claim, rough, table


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


def drawn_block(results: Results) -> str | None:
    """Return the problem whose terms are drawn, if it has records."""
    shown = block_problems(results)[-1:]
    tried = shown and all(results.repeats(shown[0], name) for name in ("line", "surface"))
    return shown[0] if tried else None


def lines(results: Results) -> Figure | None:
    """Draw both terms and the bounds along equal weights."""
    problem = drawn_block(results)
    if problem is None:
        return None
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


def surfaces(results: Results) -> Figure | None:
    """Draw both objectives over both weights."""
    problem = drawn_block(results)
    if problem is None:
        return None
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
    "Along equal weights, the signs of the first and second differences of u'K^-1 u and of "
    "ln det K are as stated, and neither bound is below ln det K; for each number of points",
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
        f"{sum(conditions)} of {len(conditions)} conditions hold, for n = "
        f"{', '.join(name.rpartition(' ')[2] for name in shown)} points",
        "",
    )


@claim(
    f"{SOURCE}, sections 2.1 and 2.2, Figure 2",
    "Searches from 15 starts for the block, and from ten for real data, find several local minima "
    "of MAP at least once and of MKL never, for the block and for real data",
)
def several_optima(results: Results) -> Finding | None:
    """MKL is jointly convex, with one optimum; joint MAP can have several stationary points."""
    several = {name: int((of_blocks(results, f"{name}_minima") > 1).sum()) for name in COSTS}
    drawn = of_blocks(results, "map_minima").size
    counts = {
        goal: np.concatenate([optima_of(results, name, goal)[0] for name in real(results)])
        for goal in GOALS
    }
    one = [several["mkl_1"] == several["mkl_2"] == 0, bool((counts["mkl"] == 1).all())]
    more = [several["map"] > 0, bool((counts["map"] > 1).any())]
    text = ", ".join(f"{GOALS[goal]}: {int((n > 1).sum())}" for goal, n in counts.items())
    return (
        {"MKL has one": one, "joint MAP can have several": more},
        f"block: of {drawn} draws, there are several minima of MAP in {several['map']}, of MAP's "
        f"tangent in {several['tangent']}, of MKL with a sum of weights in {several['mkl_1']} and "
        f"of squared weights in {several['mkl_2']}; real data: of {counts['map'].size} samples, "
        f"the numbers with several optima are {text}",
        "The larger the variance e of the white noise is, the smaller is the curvature of "
        "ln det K, so that fewer optima are expected.",
    )


@claim(
    f"{SOURCE}, section 2.2, Figure 2",
    "The number of draws of u for which the lowest minimum has a zero weight is positive for MAP; "
    "and it is larger for MAP than for MAP's tangent at equal weights, and than for MKL with a "
    "penalty of 1 on the sum of weights",
)
def sparsity(results: Results) -> Finding | None:
    """MAP's block yields sparse solutions, even sparser than MKL's with a sum of weights."""
    zeros = {name: int((of_blocks(results, f"{name}_zeros") > 0).sum()) for name in COSTS}
    total, joint = of_blocks(results, "map_zeros").size, zeros["map"]
    return (
        {"sparse": [joint > 0], "sparser": [joint > zeros["tangent"], joint > zeros["mkl_1"]]},
        f"of {total} draws: MAP {joint}, tangent {zeros['tangent']}, MKL {zeros['mkl_1']}, MKL "
        f"with squared weights {zeros['mkl_2']}",
        "Here u is drawn from a Gaussian distribution for which both weights are positive. MKL's "
        "penalty is the same for both kernels. In contrast, ln det K rises more with the weight of "
        "the narrow kernel, which has more eigenvalues above the noise. Sparsity at a penalty of 1 "
        "is therefore a matter of scale, and only the comparison with the tangent is independent "
        "of that scale. [Four objectives and the bounds between them](taxonomy_in_detail.md) "
        "compares learned dictionaries.",
    )


CLAIMS = (terms, several_optima, sparsity)
FIGURES = {"objectives_line": lines, "objectives_surface": surfaces}

"""The objective of each step of CA-1D as a function of the width, and searches of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.experiment import Draw, Experiment, Measures, collected
from experiments.problems import Array, Part, three_parts, two_classes
from experiments.reporting.figures import panels
from experiments.reporting.results import Results
from experiments.reporting.section import Finding, claim, table
from experiments.step_objective import STARTS, RecordingSearch, StepObjective, minima
from mercer import ContinuousAlignment
from mercer._gram.samples import Samples
from mercer._search.family_search import family_searches
from mercer._search.greedy_alignment import grow_dictionary
from mercer._search.targets import as_target
from mercer.kernels import Gaussian

DIGITS = ((0, 6), (1, 7), (2, 3), (2, 7), (3, 5), (3, 8), (4, 9), (7, 9))
LETTERS = ("BE", "BF", "CG", "CO", "IJ", "MN", "OQ", "UV")
BOUNDS = (float(STARTS[0]), float(STARTS[-1]))
WIDTHS: Array = np.geomspace(*BOUNDS, 321)
# The figures show curves at every fourth of these widths.
DRAWN = slice(None, None, 4)
# A minimum counts if it is deeper than this fraction of the objective's range.
DEPTHS = (1e-2, 1e-3, 1e-6)


@dataclass(frozen=True)
class Task:
    """A training set, and whether to keep the curves."""

    part: Part
    draws: bool


def draw(repeat: int, *, name: str, first: Sequence[Any], second: Sequence[Any], size: int) -> Task:
    """Return two classes of a set, with raw features."""
    split = three_parts(*two_classes(name, first, second), (size, 0, 0), repeat)
    return Task(split.train, repeat == 0)


def follow(task: Task, *, learner: ContinuousAlignment) -> Measures:
    """Grow the dictionary, then examine the objective of each step."""
    X, y = task.part
    samples, target = Samples(X), as_target(y)
    growth = learner._growth()
    inner = family_searches(
        [Gaussian(bounds=BOUNDS)],
        samples,
        target.centered,
        starts=[None],
        movable=growth.corrective,
    )
    search = RecordingSearch(inner[0])
    grown = grow_dictionary([search], samples, target.centered, growth)
    steps = [
        examine(StepObjective.of(X, weights), found)
        for weights, found in zip(search.asked, search.found, strict=True)
    ]
    measures = dict(collected(steps))
    curves = measures.pop("curve")
    return {**measures, "taken": len(grown.history), "curves": curves if task.draws else []}


def examine(objective: StepObjective, found: float) -> dict[str, Any]:
    """Return the minima of one objective, and how far above the least value searches end.

    Shortfalls are relative to the least value that any search or the grid found.
    """
    values = objective.curve(WIDTHS)
    span = float(np.ptp(values))
    counts = [minima(values, depth * span) for depth in DEPTHS]
    ends = {
        scale: np.array([objective.descend(s, BOUNDS, logarithmic=scale == "log") for s in STARTS])
        for scale in ("width", "log")
    }
    here = objective.value(found)
    least = min(here, float(values.min()), *(float(end.min()) for end in ends.values()))

    def shortfall(value: Any) -> Any:
        return (np.asarray(value) - least) / abs(least)

    return {
        "inside": [inside for inside, _ in counts],
        "minima": [both for _, both in counts],
        "found": found,
        "least": least,
        "global": float(shortfall(here)),
        "from_widths": shortfall(ends["width"]),
        "from_logarithms": shortfall(ends["log"]),
        "curve": values[DRAWN],
    }


def experiment(small: bool) -> Experiment:
    """Declare the experiment of appendix B.1, Figure 9."""
    problems: dict[str, Draw] = {
        f"digits {a} and {b}": partial(
            draw, name="mnist20k", first=[a], second=[b], size=100 if small else 500
        )
        for a, b in DIGITS[: 1 if small else None]
    }
    for pair in LETTERS[: 1 if small else None]:
        problems[f"letters {pair[0]} and {pair[1]}"] = partial(
            draw, name="letter", first=pair[0], second=pair[1], size=100 if small else 300
        )
    return Experiment(
        title="The objective of one step",
        source="Afkanpour et al. 2013, appendix B.1, Figure 9",
        problems=problems,
        methods={
            "stagewise": partial(follow, learner=ContinuousAlignment(step="stagewise")),
            "corrective": partial(follow, learner=ContinuousAlignment()),
        },
        repeats=3,
    )


SOURCE = "Afkanpour et al. 2013, appendix B.1, Figure 9"
RULES = ("stagewise", "corrective")
# A search has reached the least value if its shortfall is at most this fraction of it.
REACHED = 0.01
# This fraction of the steps counts as most of them.
MOST = 0.95
MOST_MINIMA = 2
DRAWN_PROBLEMS = ("digits 3 and 8", "digits 1 and 7", "letters B and E", "letters O and Q")
DRAWN_STEPS = 4


def steps_by_rule(results: Results) -> dict[str, pd.DataFrame]:
    """Return the steps of each kind that were taken, one in each row."""
    taken = {rule: steps(results, rule) for rule in RULES}
    return {rule: found for rule, found in taken.items() if len(found)}


def steps(results: Results, rule: str) -> pd.DataFrame:
    """Return all steps that were taken, one in each row."""
    rows = []
    for _, run in results.frame[results.frame["method"] == rule].iterrows():
        for step in range(int(run["taken"])):
            row = {
                "problem": run["problem"],
                "step": step,
                "inside": run["inside"][step],
                "minima": run["minima"][step],
                "global": run["global"][step],
                "from_widths": np.asarray(run["from_widths"][step], dtype=float),
                "from_logarithms": np.asarray(run["from_logarithms"][step], dtype=float),
            }
            rows.append(row)
    return pd.DataFrame(rows)


def counts(found: pd.DataFrame, name: str, depth: int) -> Array:
    """Return the number of minima of each step that are at least so deep."""
    return np.array([entry[depth] for entry in found[name]])


def minima_table(results: Results) -> str:
    """Return a table of the numbers of minima."""
    rows = []
    for rule, found in steps_by_rule(results).items():
        for kind, name in (("inside", "inside"), ("with the ends", "minima")):
            for position, depth in enumerate(DEPTHS):
                number = counts(found, name, position)
                shares = [f"{100 * (number == k).mean():.0f}" for k in (0, 1, 2)]
                more = f"{100 * (number > MOST_MINIMA).mean():.0f}"
                rows.append([f"{rule}, {kind}, depth {depth:g}", *shares, more, f"{number.max()}"])
    return table(["steps, %, by number of local minima", "0", "1", "2", "more", "most"], rows)


def searches_table(results: Results) -> str:
    """Return a table of how often searches reach the least value."""
    rows = []
    for rule, found in steps_by_rule(results).items():
        for name, shortfall in searches(found).items():
            reached = 100.0 * (shortfall <= REACHED).mean()
            rows.append([f"{rule}, {name}", f"{reached:.0f}", percentage(100.0 * shortfall.max())])
    return table(["search", "least value reached, % of steps", "worst shortfall, %"], rows)


def percentage(value: float) -> str:
    """Format a percentage without an exponent."""
    if value < 0.01:
        return "< 0.01"
    return f"{value:.0f}" if value >= 10.0 else f"{value:.2g}"


def searches(found: pd.DataFrame) -> dict[str, Array]:
    """Return the shortfall of each step, by search."""
    widths = np.stack(list(found["from_widths"]))
    logarithms = np.stack(list(found["from_logarithms"]))
    return {
        "global search of mercer": found["global"].to_numpy(dtype=float),
        "best of nine starts, in the width": widths.min(axis=1),
        "best of nine starts, in its logarithm": logarithms.min(axis=1),
        "one start, in the width": widths.ravel(),
        "one start, in its logarithm": logarithms.ravel(),
    }


@claim(
    SOURCE,
    "In no step of the published method does the objective have more than two local minima inside "
    "the interval, nor more than two if minima at the ends count; minima with a depth below "
    f"{DEPTHS[1]:g} of the range of the objective do not count",
    explained=True,
)
def few_minima(results: Results) -> Finding | None:
    """As a function of the width the objective of a step has no more than two local minima."""
    conditions, parts = [], []
    for rule, found in steps_by_rule(results).items():
        for kind, name in (("inside", "inside"), ("with the ends", "minima")):
            number = counts(found, name, 1)
            if rule == "stagewise":
                conditions.append(bool(number.max() <= MOST_MINIMA))
            parts.append(
                f"{rule}, {kind}: {number.max()} at most, more than two in "
                f"{100 * (number > MOST_MINIMA).mean():.0f} % of the steps"
            )
    return (
        conditions,
        "; ".join(parts),
        "The paper looks at plots of some steps. Here, an end of the interval counts as a minimum "
        "where the objective falls towards it. This happens on the plateau at small widths, where "
        "kernel matrices are the identity, or where the objective approaches zero at large widths, "
        "where they are constant.",
    )


@claim(
    "Afkanpour et al. 2013, appendices B.1 and B.2",
    "The best of nine quasi-Newton searches, which start from the widths 10^-3, ..., 10^5, reaches "
    f"the lowest value to within {100 * REACHED:.0f} % in at least {100 * MOST:.0f} % of the steps "
    "of the published method, and in all steps; for searches in the width and in its logarithm",
)
def not_difficult(results: Results) -> Finding | None:
    """Minimizing it does not seem very difficult: local searches from nine starts do."""
    found = searches(steps_by_rule(results)["stagewise"])
    parts = [
        f"{name}: {100 * (shortfall <= REACHED).mean():.0f} %" for name, shortfall in found.items()
    ]
    several = [
        shortfall <= REACHED for name, shortfall in found.items() if name.startswith("best of nine")
    ]
    return (
        [bool(share >= goal) for share in map(np.mean, several) for goal in (MOST, 1.0)],
        f"share of searches that reach the lowest value: {'; '.join(parts)}",
        "Most starts are on a plateau, where the gradient vanishes: at widths below the smallest "
        "distance between samples, all kernel matrices are the identity, and at widths far above "
        "the largest distance, they are constant. Where all nine searches miss the lowest value, "
        "it is perhaps in a narrow dip.",
    )


@claim(
    "Afkanpour et al. 2013, section 3.2, training times",
    "With published steps, the method takes fewer than ten steps in the median over runs, and in "
    "every run",
    explained=True,
)
def few_steps(results: Results) -> Finding | None:
    """On MNIST and Letter the method converges in less than ten iterations."""
    conditions, parts = [], []
    for rule in RULES:
        rows = results.frame[results.frame["method"] == rule]["taken"].to_numpy(dtype=float)
        if rows.size:
            if rule == "stagewise":
                conditions.append(bool(rows.max() < 10))
                conditions.append(bool(np.median(rows) < 10))
            parts.append(
                f"{rule}: {np.median(rows):.0f} in the median, {rows.max():.0f} at most, ten or "
                f"more in {int((rows >= 10).sum())} of {rows.size} runs"
            )
    return (
        conditions,
        f"steps: {'; '.join(parts)}",
        "The published step does not change earlier weights, so that in many steps the "
        "alignment grows by little more than the tolerance of 10^-3. With corrective steps, this "
        "does not happen.",
    )


def curves_of(results: Results) -> tuple[pd.DataFrame, list[str]]:
    """Return the runs of published steps that have curves, and the problems that are drawn."""
    frame = results.frame[results.frame["method"] == "stagewise"]
    frame = frame[frame["curves"].map(len).to_numpy(dtype=float) > 0]
    known = [name for name in results.problems if name in set(frame["problem"])]
    return frame, [name for name in DRAWN_PROBLEMS if name in known] or known[:2]


def drawn(results: Results) -> Figure | None:
    """Draw the objective of the first steps on some problems."""
    frame, shown = curves_of(results)
    if not shown:
        return None
    figure, panes = panels(len(shown), width=3.4)
    for axes, problem in zip(panes, shown, strict=True):
        run = frame[frame["problem"] == problem].iloc[0]
        for step, curve in enumerate(run["curves"][: min(int(run["taken"]), DRAWN_STEPS)]):
            values = np.asarray(curve, dtype=float)
            axes.plot(
                WIDTHS[DRAWN], values / np.abs(values).max(), lw=1.2, label=f"step {step + 1}"
            )
        axes.set(xscale="log", xlabel="width", title=problem)
    panes[0].set_ylabel("objective, largest value 1")
    panes[0].legend(fontsize="x-small")
    return figure


CLAIMS = (few_minima, not_difficult, few_steps)
FIGURES = {"search-objective": drawn}

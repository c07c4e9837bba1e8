"""The objective of each step of CA-1D as a function of the width, and searches of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from experiments.experiment import Draw, Experiment, Measures, collected
from experiments.problems import Array, Part, three_parts, two_classes
from experiments.step_objective import STARTS, RecordingSearch, StepObjective, minima
from mercer import ContinuousAlignment
from mercer._gram.samples import Samples
from mercer._greedy.alignment import grow_dictionary
from mercer._search.family_search import family_searches
from mercer._targets import as_target
from mercer.kernels import Gaussian

DIGITS = ((0, 6), (1, 7), (2, 3), (2, 7), (3, 5), (3, 8), (4, 9), (7, 9))
LETTERS = ("BE", "BF", "CG", "CO", "IJ", "MN", "OQ", "UV")
BOUNDS = (float(STARTS[0]), float(STARTS[-1]))
WIDTHS: Array = np.geomspace(*BOUNDS, 321)
DRAWN = slice(None, None, 4)
"""The figures show curves at every fourth of these widths."""
DEPTHS = (1e-2, 1e-3, 1e-6)
"""A minimum counts if it is deeper than this fraction of the objective's range."""


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
        movable=growth.rule.moves_kernels,
    )
    search = RecordingSearch(inner[0])
    grown = grow_dictionary([search], samples, target.centered, growth)
    steps = [
        examine(StepObjective.of(X, weights), found)
        for weights, found in zip(search.asked, search.found, strict=True)
    ]
    measures = dict(collected(steps))
    curves = measures.pop("curve")
    return {**measures, "taken": grown.n_iter, "curves": curves if task.draws else []}


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

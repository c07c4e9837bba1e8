"""Binary tasks from MNIST: Afkanpour et al. (2013), Figure 5."""

from __future__ import annotations

from functools import partial

from experiments.c_search import C_GRID
from experiments.compared_methods import (
    common,
    evenly_spaced,
    published_line_search,
    raw_kernels,
    read_off,
    two_stage,
    width_search,
)
from experiments.experiment import Experiment, at_most
from experiments.problems import Split, three_parts, two_classes
from mercer import ContinuousAlignment

TASKS = {
    "odd-even": ([1, 3, 5, 7, 9], [0, 2, 4, 6, 8]),
    "0-6": ([0], [6]),
    "1-7": ([1], [7]),
    "2-3": ([2], [3]),
    "2-9": ([2], [9]),
    "3-8": ([3], [8]),
    "4-7": ([4], [7]),
    "4-9": ([4], [9]),
}
"""The digits of both classes of each task; the text of the paper does not name its eight."""

SIZES = (500, 1000, 2000)
SMALL_SIZES = (100, 100, 200)


def draw(task: str, sizes: tuple[int, int, int], repeat: int) -> Split:
    """Return three parts of a task, with raw pixels from 0 to 255."""
    X, y = two_classes("mnist20k", *TASKS[task])
    return three_parts(X, y, sizes, repeat)


def experiment(small: bool) -> Experiment:
    """Declare eight tasks, or two."""
    tasks = ["odd-even", "3-8"] if small else list(TASKS)
    sizes = SMALL_SIZES if small else SIZES
    kernels = evenly_spaced(500.0, 50_000.0)
    return Experiment(
        title="Digits",
        source="Afkanpour et al. 2013, Figure 5 and Table 2",
        problems={task: partial(draw, task, sizes) for task in tasks},
        methods={
            **common(kernels),
            "CA-1D, stagewise": two_stage(ContinuousAlignment(step="stagewise")),
            "CR-1D, stagewise": published_line_search,
            **raw_kernels(kernels),
            **read_off(),
            "grid search": width_search,
        },
        limits={
            **at_most(2, tasks, ["CR-1D, stagewise"]),
            **at_most(3, tasks, ["grid search", *raw_kernels(kernels)]),
        },
        timed=5,
        untimed=(
            "CA-1D, stagewise",
            "CR-1D, stagewise",
            "grid search",
            *raw_kernels(kernels),
            *read_off(),
        ),
        grids={"C": C_GRID},
    )

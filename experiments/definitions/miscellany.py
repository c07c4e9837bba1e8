"""Eleven sets: Afkanpour et al. (2013), Figure 8 and Table 3."""

from __future__ import annotations

from functools import partial

import numpy as np

from experiments.c_search import C_GRID
from experiments.compared_methods import (
    ard_alignment,
    automatic,
    common,
    evenly_spaced,
    one_stage,
    two_stage,
    validated_ard_alignment,
    width_search,
)
from experiments.experiment import Experiment, at_most
from experiments.problems import Part, Split, scaled, three_parts, whole
from mercer import ContinuousMKLClassifier
from mercer._model_selection.penalty_choice import PENALTIES
from mercer.datasets import make_ringnorm
from mercer.kernels import Gaussian

SETS = {
    "banana": ("banana", (500, 1000, 2000)),
    "breast cancer": ("breast_cancer_ljubljana", (52, 78, 133)),
    "diabetes": ("diabetes_pima", (153, 230, 385)),
    "german": ("german", (200, 300, 500)),
    "heart": ("heart", (54, 81, 135)),
    "image": ("image", (400, 600, 1000)),
    "ringnorm": ("ringnorm", (500, 1000, 2000)),
    "sonar": ("sonar", (41, 62, 105)),
    "splice": ("splice", (500, 1000, 1491)),
    "thyroid": ("thyroid", (43, 64, 108)),
    "waveform": ("waveform", (500, 1000, 2000)),
}
"""The names of the sets in the data folder, and the sizes of Table 3."""

RAW = ("diabetes", "heart", "sonar")
"""Sets with features on different scales, which are also tried raw."""

SMALL = ("heart", "heart, raw")
SMALL_SIZES = (40, 40, 80)


def samples(name: str, size: int, repeat: int) -> Part:
    """Return a set with labels -1 and 1; ringnorm is drawn anew, with as many samples as needed."""
    if name == "ringnorm":
        return make_ringnorm(size, random_state=repeat)
    X, y = whole(name)
    return X, np.where(y == y.max(), 1, -1)


def draw(problem: str, sizes: tuple[int, int, int], repeat: int) -> Split:
    """Return three parts of a set, standardized by the first unless the problem is raw."""
    X, y = samples(SETS[problem.removesuffix(", raw")][0], sum(sizes), repeat)
    split = three_parts(X, y, sizes, repeat)
    return split if problem.endswith(", raw") else scaled(split)


def experiment(small: bool) -> Experiment:
    """Declare eleven sets, some of them also raw; or one, in both ways."""
    every = {**SETS, **{f"{name}, raw": SETS[name] for name in RAW}}
    problems = {
        problem: partial(draw, problem, SMALL_SIZES if small else sizes)
        for problem, (_, sizes) in every.items()
        if not small or problem in SMALL
    }
    spaced = common(evenly_spaced(1.0, 200.0))
    return Experiment(
        title="Eleven sets",
        source="Afkanpour et al. 2013, Figure 8 and Tables 2 and 3",
        problems=problems,
        methods={
            **common(),
            **{f"{name}, 1 to 200": method for name, method in spaced.items() if name[0] == "D"},
            "CA-nD": validated_ard_alignment(PENALTIES[1:]),
            "CR-nD": one_stage(ContinuousMKLClassifier(Gaussian(ard=True))),
            "CA-nD, no penalty": two_stage(ard_alignment()),
            "CA-nD, stagewise": validated_ard_alignment(PENALTIES[1:], step="stagewise"),
            'CA-nD, penalty="auto"': two_stage(ard_alignment("auto")),
            'learner="auto"': automatic(validated=True),
            "grid search": width_search,
        },
        limits={
            **at_most(2, problems, ['learner="auto"']),
            **at_most(3, problems, ("grid search", "CR-nD", "CA-nD, stagewise")),
        },
        grids={"C": C_GRID, "penalty": PENALTIES},
    )

"""Pairs of letters: Afkanpour et al. (2013), Figures 6 and 7."""

from __future__ import annotations

from functools import partial

from experiments.c_search import C_GRID
from experiments.compared_methods import (
    ard_alignment,
    automatic,
    common,
    evenly_spaced,
    grid_search,
    one_stage,
    published_line_search,
    raw_kernels,
    read_off,
    two_stage,
    validated_ard_alignment,
)
from experiments.experiment import Experiment, at_most
from experiments.problems import Split, three_parts, two_classes
from mercer import ContinuousAlignment, ContinuousMKLClassifier
from mercer._model_selection.penalty_choice import PENALTIES
from mercer.kernels import Gaussian

PAIRS = ("BE", "BF", "CG", "CO", "DO", "EF", "IJ", "KX", "MN", "OQ", "PR", "UV")
"""The pairs of letters; the first four are in the paper, whose text does not name the others."""

SIZES = (300, 200, 1000)
SMALL_SIZES = (60, 40, 100)


def draw(pair: str, sizes: tuple[int, int, int], repeat: int) -> Split:
    """Return three parts of a pair, with features as they are, integers from 0 to 15."""
    X, y = two_classes("letter", *pair)
    return three_parts(X, y, sizes, repeat)


def experiment(small: bool) -> Experiment:
    """Declare twelve pairs, or one."""
    pairs = PAIRS[:1] if small else PAIRS
    names = {pair: "-".join(pair) for pair in pairs}
    sizes = SMALL_SIZES if small else SIZES
    kernels = evenly_spaced(1.0, 200.0)
    return Experiment(
        title="Letters",
        source="Afkanpour et al. 2013, Figures 6 and 7 and Table 2",
        problems={name: partial(draw, pair, sizes) for pair, name in names.items()},
        methods={
            **common(kernels),
            "CA-nD": validated_ard_alignment(PENALTIES[1:]),
            "CR-nD": one_stage(ContinuousMKLClassifier(Gaussian(ard=True))),
            "CA-nD, no penalty": two_stage(ard_alignment()),
            "CA-1D, stagewise": two_stage(ContinuousAlignment(step="stagewise")),
            "CA-nD, stagewise": validated_ard_alignment(PENALTIES[1:], step="stagewise"),
            "CR-1D, stagewise": published_line_search,
            **raw_kernels(kernels),
            **read_off(),
            'CA-nD, penalty="auto"': two_stage(ard_alignment("auto")),
            'learner="auto"': automatic(validated=True),
            "grid search": grid_search,
        },
        limits={
            **at_most(2, names.values(), ("CR-1D, stagewise", 'learner="auto"')),
            **at_most(3, names.values(), ("grid search", "CR-nD", "CA-nD, stagewise")),
        },
        timed=5,
        untimed=(
            'learner="auto"',
            "CA-1D, stagewise",
            "CA-nD, stagewise",
            'CA-nD, penalty="auto"',
            "CR-1D, stagewise",
            *raw_kernels(kernels),
            *read_off(),
        ),
        grids={"C": C_GRID, "penalty": PENALTIES},
    )

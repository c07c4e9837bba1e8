"""Errors and times for growing numbers of samples or kernels, where few features matter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from experiments.c_search import C_GRID
from experiments.compared_methods import (
    ard_alignment,
    geometric,
    one_stage,
    two_stage,
    validated_ard_alignment,
)
from experiments.experiment import Experiment, Method
from experiments.problems import Array, Split, relevance
from mercer import (
    AlignmentMaximization,
    ContinuousAlignment,
    ContinuousMKLClassifier,
    MKLClassifier,
    UniformCombination,
)
from mercer._model_selection.penalty_choice import PENALTIES
from mercer.kernels import Gaussian

GAMMA = 40
SAMPLES = (50, 100, 200, 400, 800, 1600)
KERNELS = (50, 100, 200, 500, 1000, 2000)
GRID: Array = 10.0 ** np.arange(-2, 2)
"""The values of C of one-stage methods."""
FINITE = ("DA", "D1", "D2", "DU")
OTHER_D1 = ("D1, not normalized", "D1, stopped early")
"""Other settings of D1, which are tried with many kernels."""
EARLY = 0.1
"""The duality gap at which the solver that is stopped early ends."""
LIMITS = {
    ("n=1600", "CA-nD"): 1,
    ("n=1600", "CR-nD"): 1,
    ("n=1600", "D1"): 2,
    ("n=1600", "D2"): 2,
    ("n=800", "CA-nD"): 2,
    ("n=800", "CR-nD"): 3,
}
"""The largest numbers of repeats of slow methods."""


@dataclass(frozen=True)
class Sized:
    """A split, and the number of kernels that finite methods are given."""

    split: Split
    n_kernels: int


def draw(repeat: int, *, n_train: int, n_kernels: int, others: tuple[int, int]) -> Sized:
    """Return data that do not depend on the number of kernels."""
    return Sized(relevance(n_train, GAMMA, repeat, others=others), n_kernels)


def of_split(method: Method) -> Method:
    """Return a method that takes no dictionary."""
    return lambda data: method(data.split)


def of_kernels(make: Callable[[list[Any]], Method]) -> Method:
    """Return a method that takes a dictionary."""
    return lambda data: make(geometric(data.n_kernels))(data.split)


two = partial(two_stage, align=False)
"""Two-stage learning whose alignment is not measured."""
one = partial(one_stage, grid=GRID, every=True, align=False)
"""One-stage learning whose alignment is not measured."""


def experiment(small: bool) -> Experiment:
    """Declare the experiment of section 3.1.1, Figure 4."""
    others = (100, 200) if small else (1000, 2000)
    samples, kernels = ((50, 100), (50, 100)) if small else (SAMPLES, KERNELS)
    penalties = PENALTIES[::5] if small else PENALTIES
    draw_sized = partial(draw, others=others)
    methods: dict[str, Method] = {
        "CA-1D": of_split(two(ContinuousAlignment())),
        "CA-nD": of_split(validated_ard_alignment(penalties, every=True, align=False)),
        "CA-nD, no penalty": of_split(two(ard_alignment())),
        "CR-1D": of_split(one(ContinuousMKLClassifier())),
        "CR-nD": of_split(one(ContinuousMKLClassifier(Gaussian(ard=True)))),
        "DA": of_kernels(lambda given: two(AlignmentMaximization(given))),
        "D1": of_kernels(lambda given: one(MKLClassifier(given, norm=1))),
        "D2": of_kernels(lambda given: one(MKLClassifier(given, norm=2))),
        "D1, not normalized": of_kernels(
            lambda given: one(MKLClassifier(given, norm=1, normalize=None))
        ),
        "D1, stopped early": of_kernels(lambda given: one(MKLClassifier(given, norm=1, tol=EARLY))),
        "DU": of_kernels(lambda given: two(UniformCombination(given))),
    }
    by_samples = {f"n={n}": partial(draw_sized, n_train=n, n_kernels=KERNELS[0]) for n in samples}
    by_kernels = {
        f"kernels={p}": partial(draw_sized, n_train=SAMPLES[0], n_kernels=p) for p in kernels[1:]
    }
    given = (*FINITE, *OTHER_D1)
    flat = {(name, method): 0 for name in by_kernels for method in methods if method not in given}
    flat |= {(name, method): 0 for name in list(by_samples)[1:] for method in OTHER_D1}
    return Experiment(
        title="Growing numbers of samples and kernels",
        source="Afkanpour et al. 2013, section 3.1.1, Figure 4",
        problems={**by_samples, **by_kernels},
        methods=methods,
        limits={**LIMITS, **flat},
        timed=5,
        grids={"C": C_GRID, "penalty": PENALTIES},
    )

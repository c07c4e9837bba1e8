"""The sign of a sum of three sines: the frequencies that are found, and the errors."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np
from sklearn.base import clone

from experiments.c_search import C_GRID
from experiments.compared_methods import Step, one_stage, two_stage
from experiments.experiment import Experiment, Measures, Method
from experiments.problems import Array, Split, sines
from mercer import (
    AlignmentMaximization,
    ContinuousAlignment,
    ContinuousMKLClassifier,
    MKLClassifier,
    UniformCombination,
)
from mercer.datasets import SINE_FREQUENCIES
from mercer.kernels import Dirichlet

HIGHEST = 20.0
"""The upper end of the paper's range of frequencies, [0, 20]."""
STEPS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02)
"""Spacings of dictionaries, which begin with frequency 0: a constant, which centering removes."""
GRID: Array = 10.0 ** np.arange(-3, 1)
"""The values of C of one-stage methods; with larger ones CR selects ever more frequencies."""
LOWEST = 0.01
"""The lower end of CR's frequencies, above zero because its kernels must not be constant."""


def true_name(frequencies: tuple[float, ...]) -> str:
    """Return the name of the uniform combination of some true frequencies."""
    return " + ".join(f"√{frequency**2:.0f}" for frequency in frequencies)


def true_sets() -> list[tuple[float, ...]]:
    """Return the true frequencies alone, in pairs and together."""
    return [chosen for size in (1, 2, 3) for chosen in combinations(SINE_FREQUENCIES, size)]


def discrete_name(method: str, step: float) -> str:
    """Return the name of a method on a dictionary of some spacing."""
    return method if step == 1.0 else f"{method}, step {step:g}"


def dictionary(step: float) -> list[Dirichlet]:
    """Return Dirichlet kernels with frequencies from 0 to 9, as in section 3.1."""
    return [Dirichlet(float(s)) for s in step * np.arange(round(9.0 / step) + 1)]


def continuous(step: Step) -> Method:
    """Return CA, which also measures the frequencies that it finds, and their weights."""
    learner = ContinuousAlignment(Dirichlet(bounds=(0.0, HIGHEST)), step=step)
    measure_kernel = two_stage(learner)

    def measure(split: Split) -> Measures:
        fitted = clone(learner).fit(*split.train)
        return {
            **measure_kernel(split),
            "frequencies": [kernel.frequency for kernel in fitted.kernel_.kernels],
            "weights": fitted.weights_,
            "path": [step.alignment for step in fitted.history_],
        }

    return measure


def experiment(small: bool) -> Experiment:
    """Declare the experiment of section 3.1, Figure 2."""
    sizes = (100, 100, 200) if small else (500, 500, 1000)
    grid = GRID[:2] if small else GRID
    methods: dict[str, Method] = {
        true_name(chosen): two_stage(UniformCombination([Dirichlet(s) for s in chosen]))
        for chosen in true_sets()
    }
    methods["CA-1D"] = continuous("corrective")
    methods["CA-1D, stagewise"] = continuous("stagewise")
    family = Dirichlet(bounds=(LOWEST, HIGHEST))
    methods["CR-1D"] = one_stage(ContinuousMKLClassifier(family), grid, every=True)
    for step in STEPS[:2] if small else STEPS:
        kernels = dictionary(step)
        methods[discrete_name("DA", step)] = two_stage(AlignmentMaximization(kernels))
        methods[discrete_name("DU", step)] = two_stage(UniformCombination(kernels))
        if step in (1.0, 0.1):
            for norm in (1, 2):
                machine = MKLClassifier(kernels, norm=norm)
                methods[discrete_name(f"D{norm}", step)] = one_stage(machine, grid, every=True)
    slow = ("CR-1D", "D1, step 0.1", "D2, step 0.1", "DU, step 0.02")
    limits = {("sine", method): 3 for method in slow}
    return Experiment(
        title="Frequencies of a sum of sines",
        source="Afkanpour et al. 2013, section 3.1, Figure 2",
        problems={"sine": partial(sines, sizes)},
        methods=methods,
        limits=limits,
        grids={"C": C_GRID},
    )

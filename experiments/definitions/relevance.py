"""Fifty features of unequal relevance, with one width for all or one for each."""

from __future__ import annotations

from functools import partial

import numpy as np

from experiments.c_search import C_GRID
from experiments.compared_methods import (
    ard_alignment,
    automatic,
    geometric,
    grid_search,
    one_stage,
    two_stage,
    validated_ard_alignment,
)
from experiments.experiment import Draw, Experiment, Method
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

GAMMAS = (0, 1, 2, 5, 10, 20, 40)
"""The exponents of relevance; the larger gamma is, the fewer features matter."""
ENDS = (0, 5, 40)
"""The values of gamma at which methods beyond the paper's, and other data, are tried."""
GRID: Array = 10.0 ** np.arange(-3, 3)
"""The values of C of one-stage methods."""
N_KERNELS = 50
N_FEATURES = 50
RHO = 1.75
UNSCALED = ("CA-1D", "CA-nD", "CA-nD, no penalty", "CR-1D", "DA", "D1", "D2", "DU")
"""Methods that are tried on class means that are not normalized."""
PUBLISHED_CR = "CR-1D, stagewise"
"""CR-1D with a line search for the weight of each new kernel, as published."""
PUBLISHED_ARD = "CA-nD, stagewise"
"""CA-nD with the published steps."""
SLOW = ("CA-nD, automatic penalty on logarithms", "TwoStageClassifier(auto)")
"""Methods that are left out of the small experiment."""


def unscaled(repeat: int, *, gamma: float, others: tuple[int, int]) -> Split:
    """Return the problem with class means at rho theta in place of rho theta / |theta|."""
    theta = (np.arange(1, N_FEATURES + 1) / N_FEATURES) ** gamma
    length = float(np.linalg.norm(theta))
    return relevance(50, gamma, repeat, others=others, rho=RHO * length)


def experiment(small: bool) -> Experiment:
    """Declare the experiment of section 3.1, Figures 3 and 10."""
    others = (100, 200) if small else (1000, 2000)
    gammas = (0, 40) if small else GAMMAS
    kernels = geometric(10 if small else N_KERNELS)
    one = partial(one_stage, grid=GRID[::3] if small else GRID, every=True)
    ard = Gaussian(ard=True)
    methods: dict[str, Method] = {
        "CA-1D": two_stage(ContinuousAlignment()),
        "CA-1D, stagewise": two_stage(ContinuousAlignment(step="stagewise")),
        "CA-nD": validated_ard_alignment(PENALTIES[::5] if small else PENALTIES, every=True),
        "CA-nD, no penalty": two_stage(ard_alignment()),
        "CR-1D": one(ContinuousMKLClassifier()),
        "CR-nD": one(ContinuousMKLClassifier(ard)),
        PUBLISHED_CR: one(ContinuousMKLClassifier(step="stagewise")),
        PUBLISHED_ARD: validated_ard_alignment(
            PENALTIES[::5] if small else PENALTIES, step="stagewise", every=True
        ),
        "DA": two_stage(AlignmentMaximization(kernels)),
        "D1": one(MKLClassifier(kernels, norm=1)),
        "D2": one(MKLClassifier(kernels, norm=2)),
        "DU": two_stage(UniformCombination(kernels)),
        "CA-nD, automatic penalty": two_stage(ard_alignment("auto")),
        "CA-nD, automatic penalty on logarithms": two_stage(
            ard_alignment("auto", width_penalty_on="log_widths")
        ),
        "TwoStageClassifier(auto)": automatic(),
        "grid search": grid_search,
    }
    if small:
        for name in SLOW:
            del methods[name]
    problems: dict[str, Draw] = {
        f"gamma={gamma}": partial(relevance, 50, gamma, others=others) for gamma in gammas
    }
    problems |= {
        f"unscaled, gamma={gamma}": partial(unscaled, gamma=gamma, others=others)
        for gamma in gammas
        if gamma in ENDS
    }
    few = [f"gamma={gamma}" for gamma in gammas if gamma not in ENDS]
    return Experiment(
        title="Features of unequal relevance",
        source="Afkanpour et al. 2013, section 3.1, Figures 3 and 10",
        problems=problems,
        methods=methods,
        limits={
            **{
                (problem, method): 3 for problem in problems for method in SLOW if method in methods
            },
            **{(problem, method): 0 for problem in few for method in (SLOW[0], PUBLISHED_CR)},
            **{
                (problem, method): 0
                for problem in problems
                for method in methods
                if problem.startswith("unscaled") and method not in UNSCALED
            },
        },
        timed=5,
        untimed=(*SLOW, PUBLISHED_CR, PUBLISHED_ARD),
        grids={"C": C_GRID, "penalty": PENALTIES},
    )

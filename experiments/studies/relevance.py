"""Fifty features of unequal relevance, with one width for all or one for each."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.figure import Figure

import mercer
from experiments import compared_methods as compared
from experiments.c_search import C_GRID
from experiments.compared_methods import automatic
from experiments.experiment import Draw, Experiment, Method
from experiments.problems import Split, relevance
from experiments.reporting.figures import draw_curves, errors_on_logarithms, legend_below, panels
from experiments.reporting.results import Axis, Results, axis, curves
from experiments.reporting.section import along, mean_and_error, table
from experiments.studies import _relevance_claims as claims
from experiments.studies._relevance_claims import (
    ARD,
    GRID,
    ONE_WIDTH,
    PUBLISHED_ARD,
    PUBLISHED_CR,
    PUBLISHED_FREE,
    UNSCALED,
)
from mercer._model_selection.penalty_choice import PENALTIES
from mercer.kernels import Gaussian

# The exponents of relevance; the larger gamma is, the fewer features matter.
GAMMAS = (0, 1, 2, 5, 10, 20, 40)
# The values of gamma at which methods beyond the paper's, and other data, are tried.
ENDS = (0, 5, 40)
N_KERNELS = 50
N_FEATURES = 50
RHO = 1.75
# Methods that are left out of the small experiment.
SLOW = ("CA-nD, automatic penalty on logarithms", "TwoStageClassifier(auto)")


def unscaled(repeat: int, *, gamma: float, others: tuple[int, int]) -> Split:
    """Return the problem with class means at rho theta in place of rho theta / |theta|."""
    theta = (np.arange(1, N_FEATURES + 1) / N_FEATURES) ** gamma
    length = float(np.linalg.norm(theta))
    return relevance(50, gamma, repeat, others=others, rho=RHO * length)


def experiment(small: bool) -> Experiment:
    """Declare the experiment of section 3.1, Figures 3 and 10."""
    others = (100, 200) if small else (1000, 2000)
    gammas = (0, 40) if small else GAMMAS
    kernels = compared.geometric(10 if small else N_KERNELS)
    one = partial(compared.one_stage, grid=GRID[::3] if small else GRID, every=True)
    ard = Gaussian(ard=True)
    methods: dict[str, Method] = {
        "CA-1D": compared.two_stage(mercer.ContinuousAlignment()),
        "CA-1D, stagewise": compared.two_stage(mercer.ContinuousAlignment(step="stagewise")),
        "CA-nD": compared.validated_ard_alignment(
            PENALTIES[::5] if small else PENALTIES, every=True
        ),
        "CA-nD, no penalty": compared.two_stage(compared.ard_alignment()),
        "CR-1D": one(mercer.ContinuousMKLClassifier()),
        "CR-nD": one(mercer.ContinuousMKLClassifier(ard)),
        PUBLISHED_CR: one(mercer.ContinuousMKLClassifier(step="stagewise")),
        PUBLISHED_ARD: compared.validated_ard_alignment(
            PENALTIES[::5] if small else PENALTIES, step="stagewise", every=True
        ),
        PUBLISHED_FREE: compared.two_stage(compared.ard_alignment(step="stagewise")),
        "DA": compared.two_stage(mercer.AlignmentMaximization(kernels)),
        "D1": one(mercer.MKLClassifier(kernels, norm=1)),
        "D2": one(mercer.MKLClassifier(kernels, norm=2)),
        "DU": compared.two_stage(mercer.UniformCombination(kernels)),
        "CA-nD, automatic penalty": compared.two_stage(compared.ard_alignment("auto")),
        "CA-nD, automatic penalty on logarithms": compared.two_stage(
            compared.ard_alignment("auto", width_penalty_on="log_widths")
        ),
        "TwoStageClassifier(auto)": automatic(),
        "grid search": compared.grid_search,
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
        untimed=SLOW,
        grids={"C": C_GRID, "penalty": PENALTIES},
    )


BEYOND = (
    "CA-1D, stagewise",
    PUBLISHED_ARD,
    PUBLISHED_FREE,
    PUBLISHED_CR,
    "CA-nD, automatic penalty",
    *SLOW,
    "grid search",
)


def places_of(results: Results) -> Axis:
    """Return the values of gamma by problem."""
    return axis(results, "gamma")


def drawn(results: Results) -> Figure:
    """Draw errors, alignments and, where they were measured, times."""
    shown, places = (*ONE_WIDTH, *ARD), places_of(results)
    ranks = {problem: float(rank) for rank, problem in enumerate(places)}
    lines = {
        "test error, %": curves(results, "error", shown, ranks, 100.0),
        "alignment with test labels": curves(results, "alignment", shown, ranks),
        "training time, s": curves(results, "seconds", shown, ranks),
    }
    lines = {label: found for label, found in lines.items() if found}
    figure, panes = panels(max(len(lines), 1), height=3.6)
    labels = [f"{place:g}" for place in places.values()]
    for axes, (label, found) in zip(panes, lines.items(), strict=False):
        draw_curves(axes, found)
        axes.set(xlabel="gamma", ylabel=label, xticks=list(ranks.values()), xticklabels=labels)
        if label.startswith("training"):
            axes.set_yscale("log")
        if label.startswith("test error"):
            errors_on_logarithms(axes)
    legend_below(figure, panes[0])
    return figure


def errors_table(results: Results, places: Axis) -> str:
    """Return the errors of all methods."""
    rows = []
    for method in results.methods:
        cells = [
            mean_and_error(results.values("error", problem, method), 100.0) for problem in places
        ]
        if any(cell != "-" for cell in cells):
            rows.append([method, *cells])
    return table(["error, %, at gamma =", *(f"{place:g}" for place in places.values())], rows)


def all_errors(results: Results) -> str:
    """Return errors where class means are normalized."""
    return errors_table(results, places_of(results))


def unscaled_errors(results: Results) -> str:
    """Return errors where class means are not normalized, if there are any."""
    places = axis(results, "unscaled, gamma")
    if not places:
        return ""
    head = "The same with class means that are not normalized, ±1.75 theta:"
    return f"\n{head}\n\n{errors_table(results, places)}"


def other_errors(results: Results) -> str:
    """Return the errors of methods beyond the paper's, as text."""
    names = [name for name in BEYOND if name in results.methods]
    parts = []
    for name in names:
        where = [
            problem for problem in places_of(results) if results.values("error", problem, name).size
        ]
        errors = ", ".join(
            f"{100 * results.mean('error', problem, name):.1f} % ({problem})" for problem in where
        )
        parts.append(f"* {name}: {errors}.")
    return "\n".join(parts)


CLAIMS = tuple(
    along(places_of, test)
    for test in (
        claims.rising,
        claims.coping,
        claims.overfitting,
        claims.one_stage_slower,
        claims.tuning_time,
        claims.edge,
        claims.fine_enough,
    )
)
FIGURES = {"relevance": drawn}

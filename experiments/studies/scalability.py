"""Errors and times for growing numbers of samples or kernels, where few features matter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import mercer
from experiments import compared_methods as compared
from experiments.c_search import C_GRID
from experiments.experiment import Experiment, Method
from experiments.problems import Array, Split, relevance
from experiments.reporting.figures import draw_curves, errors_on_logarithms, legend_below, panels
from experiments.reporting.results import Axis, Results, axis, curves
from experiments.reporting.section import along, mean_and_error, table
from experiments.studies import _scalability_claims as claims
from experiments.studies._scalability_claims import (
    EARLY,
    FINITE,
    METHODS,
    OTHER_D1,
    PUBLISHED_ARD,
    PUBLISHED_CA,
    PUBLISHED_FREE,
)
from mercer._model_selection.penalty_choice import PENALTIES
from mercer.kernels import Gaussian

GAMMA = 40
SAMPLES = (50, 100, 200, 400, 800, 1600)
KERNELS = (50, 100, 200, 500, 1000, 2000)
# The values of C of one-stage methods.
GRID: Array = 10.0 ** np.arange(-2, 2)
# The largest numbers of repeats of slow methods.
LIMITS = {
    ("n=1600", "CA-nD"): 1,
    ("n=1600", PUBLISHED_ARD): 1,
    ("n=1600", "CR-nD"): 1,
    ("n=1600", "D1"): 2,
    ("n=1600", "D2"): 2,
    ("n=800", "CA-nD"): 2,
    ("n=800", PUBLISHED_ARD): 2,
    ("n=800", "CR-nD"): 3,
}


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
    return lambda data: make(compared.geometric(data.n_kernels))(data.split)


# Two-stage learning whose alignment is not measured.
two = partial(compared.two_stage, align=False)
# One-stage learning whose alignment is not measured.
one = partial(compared.one_stage, grid=GRID, every=True, align=False)


def experiment(small: bool) -> Experiment:
    """Declare the experiment of section 3.1.1, Figure 4."""
    others = (100, 200) if small else (1000, 2000)
    samples, kernels = ((50, 100), (50, 100)) if small else (SAMPLES, KERNELS)
    penalties = PENALTIES[::5] if small else PENALTIES
    draw_sized = partial(draw, others=others)
    methods: dict[str, Method] = {
        "CA-1D": of_split(two(mercer.ContinuousAlignment())),
        PUBLISHED_CA: of_split(two(mercer.ContinuousAlignment(step="stagewise"))),
        "CA-nD": of_split(compared.validated_ard_alignment(penalties, every=True, align=False)),
        PUBLISHED_ARD: of_split(
            compared.validated_ard_alignment(penalties, step="stagewise", every=True, align=False)
        ),
        "CA-nD, no penalty": of_split(two(compared.ard_alignment())),
        PUBLISHED_FREE: of_split(two(compared.ard_alignment(step="stagewise"))),
        "CR-1D": of_split(one(mercer.ContinuousMKLClassifier())),
        "CR-nD": of_split(one(mercer.ContinuousMKLClassifier(Gaussian(ard=True)))),
        "DA": of_kernels(lambda given: two(mercer.AlignmentMaximization(given))),
        "D1": of_kernels(lambda given: one(mercer.MKLClassifier(given, norm=1))),
        "D2": of_kernels(lambda given: one(mercer.MKLClassifier(given, norm=2))),
        "D1, not normalized": of_kernels(
            lambda given: one(mercer.MKLClassifier(given, norm=1, normalize=None))
        ),
        "D1, stopped early": of_kernels(
            lambda given: one(mercer.MKLClassifier(given, norm=1, tol=EARLY))
        ),
        "DU": of_kernels(lambda given: two(mercer.UniformCombination(given))),
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


# Title, scale and digits of each measure.
SHOWN = {"error": ("error, %", 100.0, 1), "seconds": ("seconds", 1.0, 2)}


def tables(results: Results) -> str:
    """Return errors and times along both axes."""
    axes = by_samples(results), by_kernels(results)
    return "".join(values_table(results, measure, places) for places in axes for measure in SHOWN)


def drawn(results: Results) -> Figure:
    """Draw errors and, where they were measured, times."""
    samples, kernels = by_samples(results), by_kernels(results)
    lines = [
        (measure, places, curves(results, measure, names, places, SHOWN[measure][1]))
        for places, names in ((samples, METHODS), (kernels, FINITE))
        for measure in SHOWN
    ]
    lines = [entry for entry in lines if entry[2]]
    figure, panes = panels(max(len(lines), 1), width=3.6, height=3.6)
    for axes, (measure, places, found) in zip(panes, lines, strict=False):
        draw_curves(axes, found)
        axes.set_xscale("log")
        axes.set_xlabel("training points" if places is samples else "kernels, 50 training points")
        axes.set_ylabel("test error, %" if measure == "error" else "training time, s")
        if measure == "seconds":
            axes.set_yscale("log")
        else:
            errors_on_logarithms(axes)
    legend_below(figure, panes[0])
    return figure


def by_samples(results: Results) -> dict[str, float]:
    """Return the problems of growing training sets."""
    return axis(results, "n")


def by_kernels(results: Results) -> dict[str, float]:
    """Return the problems of growing dictionaries, with the smallest training set."""
    least = f"n={SAMPLES[0]}"
    start = {least: float(KERNELS[0])} if least in results.problems else {}
    return {**start, **axis(results, "kernels")}


def values_table(results: Results, measure: str, places: Axis) -> str:
    """Return a measure of all methods along an axis, or nothing if it was never measured."""
    title, scale, digits = SHOWN[measure]
    counted = "kernels" if any("kernels" in problem for problem in places) else "training points"
    rows = []
    for method in (*METHODS, *OTHER_D1):
        cells = [
            mean_and_error(results.values(measure, problem, method), scale, digits)
            for problem in places
        ]
        if sum(cell != "-" for cell in cells) > 1:
            rows.append([method, *cells])
    if not rows:
        return ""
    header = [f"{title}, {counted}", *(f"{place:g}" for place in places.values())]
    return table(header, rows) + "\n"


CLAIMS = (
    along(by_samples, claims.similar),
    along(by_samples, claims.small_sets),
    along(by_samples, claims.ard_has_least_error),
    along(by_samples, claims.fastest),
    along(by_samples, claims.ard_alignment_is_faster),
    along(by_kernels, claims.no_gain),
    along(by_kernels, claims.worse),
    along(by_kernels, claims.linear),
    along(by_kernels, claims.cubic),
)
FIGURES = {"scalability": drawn}

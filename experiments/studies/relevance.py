"""Fifty features of unequal relevance, with one width for all or one for each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

import mercer
from experiments import compared_methods as compared
from experiments.c_search import C_GRID
from experiments.compared_methods import automatic
from experiments.experiment import Draw, Experiment, Method
from experiments.problems import Array, Split, relevance
from experiments.reporting.figures import draw_curves, errors_on_logarithms, legend_below, panels
from experiments.reporting.results import LEVEL, Axis, Results, axis, compare, curves, trend
from experiments.reporting.section import (
    Finding,
    Section,
    by_name,
    claim,
    listed,
    mean_and_error,
    table,
)
from mercer._model_selection.penalty_choice import PENALTIES
from mercer.kernels import Gaussian

# The exponents of relevance; the larger gamma is, the fewer features matter.
GAMMAS = (0, 1, 2, 5, 10, 20, 40)
# The values of gamma at which methods beyond the paper's, and other data, are tried.
ENDS = (0, 5, 40)
# The values of C of one-stage methods.
GRID: Array = 10.0 ** np.arange(-3, 3)
N_KERNELS = 50
N_FEATURES = 50
RHO = 1.75
# Methods that are tried on class means that are not normalized.
UNSCALED = ("CA-1D", "CA-nD", "CA-nD, no penalty", "CR-1D", "DA", "D1", "D2", "DU")
# CR-1D with a line search for the weight of each new kernel, as published.
PUBLISHED_CR = "CR-1D, stagewise"
# CA-nD with the published steps.
PUBLISHED_ARD = "CA-nD, stagewise"
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
        untimed=(*SLOW, PUBLISHED_CR, PUBLISHED_ARD),
        grids={"C": C_GRID, "penalty": PENALTIES},
    )


SOURCE = "Afkanpour et al. 2013, section 3.1, Figure 3"
ONE_WIDTH = ("CA-1D", "CR-1D", "DA", "D1", "D2", "DU")
ARD = ("CA-nD", "CA-nD, no penalty", "CR-nD")
UNREGULARIZED = ARD[1:]
BEYOND = (
    "CA-1D, stagewise",
    PUBLISHED_ARD,
    PUBLISHED_CR,
    "CA-nD, automatic penalty",
    *SLOW,
    "grid search",
)
# A difference in error of at least this counts.
POINT = 0.01
# Overfitting is drastic if the error is at least this many points above that of CA-1D.
DRASTIC = 3
# Claims on small and on large gamma are tested up to the first value, and from the second on.
SMALL, LARGE = 2.0, 10.0


def section(results: Results) -> Section:
    """Write errors, alignments and times against gamma."""
    places = axis(results, "gamma")
    made = (
        rising(results, places),
        coping(results, places),
        overfitting(results, places),
        one_stage_slower(results, places),
        tuning_time(results, places),
        edge(results, places),
        fine_enough(results, places),
    )
    body = BODY.format(
        errors=errors_table(results, places),
        unscaled=unscaled_table(results),
        beyond=beyond(results, places),
    )
    return Section(body, made, {"relevance": drawn(results, places)})


def drawn(results: Results, places: Axis) -> Figure:
    """Draw errors, alignments and, where they were measured, times."""
    shown = (*ONE_WIDTH, *ARD)
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


def unscaled_table(results: Results) -> str:
    """Return errors where class means are not normalized, if there are any."""
    places = axis(results, "unscaled, gamma")
    if not places:
        return ""
    head = "The same with class means that are not normalized, ±1.75 theta:"
    return f"\n{head}\n\n{errors_table(results, places)}"


def measured(results: Results, measure: str, names: Sequence[str], places: Axis) -> list[str]:
    """Return the methods that have the measure on every problem."""
    return [
        name
        for name in names
        if all(results.values(measure, problem, name).size for problem in places)
    ]


@claim(
    SOURCE,
    "the error rises from the least gamma to the largest by at least a percentage "
    "point, by a line through all repeats whose slope is not zero at the 5 % level",
)
def rising(results: Results, places: Axis) -> Finding | None:
    """The error of methods with one width for all features grows with gamma, the number of
    irrelevant features.
    """
    names = measured(results, "error", ONE_WIDTH, places)
    if not names or len(places) < 2:
        return None
    trends = {name: trend(results, "error", name, places) for name in names}
    if any(np.isnan(change) for change, _ in trends.values()):
        return None
    conditions = [change >= POINT and p < LEVEL for change, p in trends.values()]
    changes = ", ".join(f"{name} {100 * t[0]:+.1f}" for name, t in trends.items())
    return (
        conditions,
        f"change in points: {changes}",
        "It cannot grow on the data as the text describes them. The means of the classes are "
        "±rho theta / |theta| and the covariance is the identity, so that two values of gamma "
        "differ by a rotation, and a kernel of |x - x'| does not see rotations: these methods' "
        "errors have the same distribution for every gamma, and where a line through some samples "
        f"rises it is by chance. {unscaled_changes(results)}",
    )


def unscaled_changes(results: Results) -> str:
    """State how errors change with gamma where class means are not normalized."""
    places = axis(results, "unscaled, gamma")
    problems = list(places)
    names = measured(results, "error", (*ONE_WIDTH, *ARD), places)
    if len(problems) < 2 or not names:
        return ""
    ends = ", ".join(
        f"{name} {100 * results.mean('error', problems[0], name):.1f} to "
        f"{100 * results.mean('error', problems[-1], name):.1f} %"
        for name in names
    )
    return (
        "With means at ±rho theta, not normalized, so that the classes come nearer as gamma grows, "
        f"errors go from gamma = {places[problems[0]]:g} to {places[problems[-1]]:g} like this: "
        f"{ends}; the best possible error grows there too. Perhaps the paper's samples were drawn "
        "that way"
        + (
            f", but then {' and '.join(rise)}, which the paper finds to improve, err more as well."
            if (rise := unscaled_rise(results, problems, names))
            else "."
        )
    )


def unscaled_rise(results: Results, problems: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return ARD methods whose error rises by a point or more on unnormalized means."""
    first, last = problems[0], problems[-1]
    return [
        name
        for name in names
        if name in ARD
        and results.mean("error", last, name) - results.mean("error", first, name) >= POINT
    ]


@claim(
    SOURCE,
    "the error of each falls from the least gamma to the largest, by the same line "
    f"as above, and is below CA-1D's for each gamma of {LARGE:g} or more",
)
def coping(results: Results, places: Axis) -> Finding | None:
    """Methods with a width for each feature cope with irrelevant features, and even improve."""
    names = measured(results, "error", ARD, places)
    large = [problem for problem, place in places.items() if place >= LARGE]
    if not names or not large or not measured(results, "error", ["CA-1D"], places):
        return None
    conditions, parts = [], []
    for name in names:
        change, p = trend(results, "error", name, places)
        better = [
            results.mean("error", problem, name) < results.mean("error", problem, "CA-1D")
            for problem in large
        ]
        conditions += [change < 0.0 and p < LEVEL, all(better)]
        parts.append(
            f"{name} {100 * change:+.1f} points (p = {p:.2g}), {sum(better)} of {len(better)} "
            "below CA-1D"
        )
    return (
        conditions,
        "; ".join(parts),
        "The fewer features matter, the more an ARD kernel gains by ignoring the others; where "
        "relevance is spread over some, 50 samples perhaps hardly tell which.",
    )


@claim(
    SOURCE,
    f"error less CA-1D's: at least {DRASTIC} percentage points without the penalty, at "
    f"most one with it, for each gamma up to {SMALL:g}",
)
def overfitting(results: Results, places: Axis) -> Finding | None:
    """Without regularization CA-nD and CR-nD drastically overfit for small gamma; with it CA-nD
    does not.
    """
    small = [problem for problem, place in places.items() if place <= SMALL]
    names = measured(results, "error", ("CA-1D", *ARD), places)
    if not small or len(names) < 4:
        return None
    automatic = [results.mean("error", problem, "CA-nD, automatic penalty") for problem in small]
    conditions, parts = [], []
    for name in ARD:
        more = [
            compare(*results.pairs("error", problem, name, "CA-1D")).difference for problem in small
        ]
        conditions += [
            each >= DRASTIC * POINT if name in UNREGULARIZED else each <= POINT for each in more
        ]
        parts.append(f"{name}: {listed(f'{100 * each:+.1f}' for each in more)}")
    return (
        conditions,
        f"{'; '.join(parts)} (points, {listed(small)})",
        "A penalty large enough makes kernels isotropic, which is best where all features "
        "matter. The paper chooses it by alignment on validation data, and a higher alignment can "
        "come with a higher error"
        + (
            "; chosen on the training data, errors are "
            f"{listed(f'{100 * each:.1f}' for each in automatic)} % ({listed(small)})."
            if np.isfinite(automatic).all()
            else "."
        ),
    )


def ratios(results: Results, first: str, second: str, places: Axis) -> list[float]:
    """Return the times of one method relative to another's, where both are known."""
    found = [
        results.mean("seconds", problem, first) / results.mean("seconds", problem, second)
        for problem in places
    ]
    return [ratio for ratio in found if np.isfinite(ratio)]


def extent(values: Sequence[float]) -> str:
    """Format the least and the largest value."""
    return f"{min(values):.1f} to {max(values):.1f}"


@claim(SOURCE, "the ratio of training times, for one C, is above one for every gamma")
def one_stage_slower(results: Results, places: Axis) -> Finding | None:
    """CR-1D is slower than CA-1D, and CR-nD than CA-nD without regularization."""
    found = {
        "CR-1D / CA-1D": ratios(results, "CR-1D", "CA-1D", places),
        "the same, stagewise": ratios(results, PUBLISHED_CR, "CA-1D, stagewise", places),
        "CR-nD / CA-nD, no penalty": ratios(results, "CR-nD", "CA-nD, no penalty", places),
    }
    found = {name: values for name, values in found.items() if values}
    if not found:
        return None
    return (
        [ratio > 1.0 for values in found.values() for ratio in values],
        "; ".join(f"{name}: {extent(values)}" for name, values in found.items()),
        "Stagewise steps are the published ones of both. Mean seconds with 50 training points: "
        f"{by_name(mean_seconds(results, places), '.2f')}; the times for more points are in the "
        "next section.",
    )


def mean_seconds(results: Results, places: Axis) -> dict[str, float]:
    """Return the mean training time over gamma of each method that has one."""
    times = {
        name: np.array([results.mean("seconds", problem, name) for problem in places])
        for name in (*ONE_WIDTH, *ARD)
    }
    return {name: float(np.nanmean(t)) for name, t in times.items() if np.isfinite(t).any()}


@claim(SOURCE, "the ratio of training times, tuning included, is between 1/3 and 3 for each gamma")
def tuning_time(results: Results, places: Axis) -> Finding | None:
    """CA-nD takes about as long as CR-nD, since it tunes its penalty as well."""
    found = ratios(results, "CA-nD", "CR-nD", places)
    if not found:
        return None
    return (
        [1.0 / 3.0 <= ratio <= 3.0 for ratio in found],
        f"CA-nD / CR-nD: {extent(found)}",
        f"CA-nD learns {len(PENALTIES)} kernels, one for each penalty on trial, each with its "
        "1-D start, and evaluates them on 1,000 validation points; CR-nD's time is that of one C "
        f"of the {len(GRID)} that are tried.",
    )


@claim(
    "Afkanpour et al. 2013, appendix B.2, Figure 10",
    f"each is above all with one width, for each gamma of {LARGE:g} or more",
)
def edge(results: Results, places: Axis) -> Finding | None:
    """Where many features are irrelevant, methods with a width for each have an edge in alignment
    on test data.
    """
    large = {problem: place for problem, place in places.items() if place >= LARGE}
    names = measured(results, "alignment", ARD, large)
    isotropic = measured(results, "alignment", ONE_WIDTH, large)
    if not large or not names or not isotropic:
        return None
    best = [max(results.mean("alignment", p, name) for name in isotropic) for p in large]
    mine = {name: [results.mean("alignment", p, name) for p in large] for name in names}
    conditions = [
        value > most for each in mine.values() for value, most in zip(each, best, strict=True)
    ]
    parts = [
        f"{name} {listed(f'{value:.2f}' for value in each)}"
        for name, each in {**mine, "one width at most": best}.items()
    ]
    return (
        conditions,
        f"{'; '.join(parts)} ({listed(large)})",
        ""
        if all(conditions)
        else "The largest with one width is of the best of several methods, by test alignment.",
    )


@claim(
    "Afkanpour et al. 2013, appendix B.2, Figure 10",
    "mean alignments on test data differ by less than 0.01 for each gamma",
)
def fine_enough(results: Results, places: Axis) -> Finding | None:
    """With 50 widths DA reaches the same alignment as CA-1D."""
    if len(measured(results, "alignment", ("DA", "CA-1D"), places)) < 2:
        return None
    found = [
        results.mean("alignment", problem, "DA") - results.mean("alignment", problem, "CA-1D")
        for problem in places
    ]
    return (
        [abs(value) < 0.01 for value in found],
        f"at most {max(map(abs, found)):.2g} apart",
        "DA can differ where a width between its own is better."
        if any(abs(value) >= 0.01 for value in found)
        else "",
    )


def beyond(results: Results, places: Axis) -> str:
    """Return the errors of methods beyond the paper's, as text."""
    names = [name for name in BEYOND if name in results.methods]
    parts = []
    for name in names:
        where = [problem for problem in places if results.values("error", problem, name).size]
        errors = ", ".join(
            f"{100 * results.mean('error', problem, name):.1f} % ({problem})" for problem in where
        )
        parts.append(f"* {name}: {errors}.")
    return "\n".join(parts)


BODY = """Two Gaussian classes in 50 dimensions, identity covariance, means at ±1.75 theta / |theta|
with theta_i = (i / 50)^gamma: the larger gamma, the fewer features matter. The best possible error
is 4.0 % for every gamma. 50 training, 1,000 validation and 2,000 test points. Finite methods have
50 widths from 10^-3 to 10^3 in geometric progression. CA-nD's penalty, on the differences between
widths, is the one of 0, 10^-5, ..., 10^14 with the best alignment on the validation points.
One-stage methods choose C from 10^-3, ..., 10^2 on validation data, the others' machines from the
paper's grid. Times are of one fit of kernel and machine, and of tuning the penalty for CA-nD.

{errors}
![Error, alignment on test data, and training time; the paper's Figures 3 and 10](figure:relevance)

Besides: stagewise steps as published (the others are fully corrective), penalties and forms of the
kernel chosen on the training data alone, and a grid search over the width and C of one Gaussian on
the validation data:

{beyond}
{unscaled}"""

"""Claims on fifty features of unequal relevance, tested by errors, alignments and times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.problems import Array
from experiments.reporting.results import LEVEL, Axis, Results, axis, compare, trend
from experiments.reporting.section import Finding, by_name, claim, listed
from experiments.reporting.speed_claims import NO_PUBLISHED_STEPS
from experiments.reporting.verdicts import NOT_MEASURED, Compared
from mercer._model_selection.penalty_choice import PENALTIES

# The values of C of one-stage methods.
GRID: Array = 10.0 ** np.arange(-3, 3)
# CR-1D with a line search for the weight of each new kernel, as published.
PUBLISHED_CR = "CR-1D, stagewise"
# CA-nD with the published steps, and the same without penalty.
PUBLISHED_ARD, PUBLISHED_FREE = "CA-nD, stagewise", "CA-nD, no penalty, stagewise"
SOURCE = "Afkanpour et al. 2013, section 3.1, Figure 3"
ONE_WIDTH = ("CA-1D", "CR-1D", "DA", "D1", "D2", "DU")
ARD = ("CA-nD", "CA-nD, no penalty", "CR-nD")
# The same, with the published steps of CA, by which claims are judged. CR minimizes a convex
# objective, so that its steps matter little to what it learns.
PUBLISHED_CA = "CA-1D, stagewise"
PUBLISHED_ONE_WIDTH = (PUBLISHED_CA, *ONE_WIDTH[1:])
PUBLISHED_EACH = (PUBLISHED_ARD, PUBLISHED_FREE, "CR-nD")
UNREGULARIZED = (*ARD[1:], PUBLISHED_FREE)
# Methods that are tried on class means that are not normalized.
UNSCALED = (*ONE_WIDTH, *ARD[:2])
# A difference in error of at least this counts.
POINT = 0.01
# Overfitting is drastic if the error is at least this many points above that of CA-1D.
DRASTIC = 3
# Claims on small and on large gamma are tested up to the first value, and from the second on.
SMALL, LARGE = 2.0, 10.0


@claim(
    SOURCE,
    "The error of each method rises from the smallest gamma to the largest by at least one "
    "percentage point, on a line fitted to the errors of all repeats by the rank of gamma; the "
    "slope is significant at 5 % (CA with published steps)",
)
def rising(results: Results, places: Axis) -> Finding | None:
    """The error of methods with one width for all features grows with gamma, the number of
    irrelevant features.
    """
    trends = {name: trend(results, "error", name, places) for name in PUBLISHED_ONE_WIDTH}
    own = trend(results, "error", "CA-1D", places)[0]
    if any(np.isnan(change) for change, _ in trends.values()):
        return None
    conditions = [change >= POINT and p < LEVEL for change, p in trends.values()]
    changes = ", ".join(f"{name} {100 * t[0]:+.1f}" for name, t in trends.items())
    return (
        conditions,
        f"change in error in points: {changes}; CA-1D with corrective steps {100 * own:+.1f}",
        "On data as the paper's text describes them, the error cannot grow with gamma. The means "
        "of the classes are ±rho theta / |theta| and the covariance is the identity, so that the "
        "data for two values of gamma differ by a rotation. A kernel of |x - x'| does not depend "
        "on rotations. Therefore the errors of these methods have the same distribution for every "
        f"gamma, and a fitted line rises only by chance. {unscaled_changes(results)}",
    )


def unscaled_changes(results: Results) -> str:
    """State how errors change with gamma where class means are not normalized."""
    places = axis(results, "unscaled, gamma")
    problems = list(places)
    ends = ", ".join(
        f"{name} {100 * results.mean('error', problems[0], name):.1f} to "
        f"{100 * results.mean('error', problems[-1], name):.1f} %"
        for name in UNSCALED
    )
    return (
        "If the means are ±rho theta, not normalized, the classes come nearer to each other as "
        f"gamma grows. Errors then change from gamma = {places[problems[0]]:g} to "
        f"{places[problems[-1]]:g} as follows: {ends}; the best possible error grows as well. "
        "Perhaps the paper's samples were drawn that way"
        + (
            f", but then the errors of {' and '.join(rise)} grow as well, whereas they fall in the "
            "paper."
            if (rise := unscaled_rise(results, problems))
            else "."
        )
    )


def unscaled_rise(results: Results, problems: Sequence[str]) -> list[str]:
    """Return ARD methods whose error rises by a point or more on unnormalized means."""
    first, last = problems[0], problems[-1]
    return [
        name
        for name in UNSCALED
        if name in ARD
        and results.mean("error", last, name) - results.mean("error", first, name) >= POINT
    ]


@claim(
    SOURCE,
    "The error of each method falls from the smallest gamma to the largest, on a line fitted to "
    "the errors of all repeats by the rank of gamma, whose slope is significant at 5 %; and its "
    f"mean error is below that of CA-1D for each gamma of {LARGE:g} or more, where each difference "
    "is tested by a paired t-test (CA with published steps)",
)
def coping(results: Results, places: Axis) -> Finding | None:
    """Methods with a width for each feature cope with irrelevant features, and even improve."""
    copes, improves, parts = coping_of(results, places, PUBLISHED_EACH, PUBLISHED_CA)
    own = coping_of(results, places, ARD[:2], "CA-1D")[2]
    return (
        {"cope": copes, "improve": improves},
        "change in error, and at how many values of gamma it is lower: "
        f"{'; '.join(parts)}. With corrective steps: {'; '.join(own)}",
        "The fewer features matter, the more an ARD kernel gains by ignoring the others. Where "
        "several features matter, 50 samples are perhaps too few to tell which.",
    )


def coping_of(
    results: Results, places: Axis, names: Sequence[str], rival: str
) -> tuple[list[Compared], list[bool], list[str]]:
    """Return whether methods err less than a rival for large gamma, whether errors fall, texts."""
    large = [problem for problem, place in places.items() if place >= LARGE]
    copes: list[Compared] = []
    improves, parts = [], []
    for name in names:
        change, p = trend(results, "error", name, places)
        found = [compare(*results.pairs("error", each, name, rival)) for each in large]
        better = [Compared.lower(each) for each in found]
        copes += better
        improves.append(change < 0.0 and p < LEVEL)
        parts.append(
            f"{name} {100 * change:+.1f} points (p = {p:.2g}), {sum(map(bool, better))} of "
            f"{len(better)} below {rival}"
        )
    return copes, improves, parts


@claim(
    SOURCE,
    f"For each gamma up to {SMALL:g}, the error without the penalty is at least {DRASTIC} "
    "percentage points above that of CA-1D, and the error with the penalty is at most one point "
    "above it (CA with published steps; means, not tested)",
)
def overfitting(results: Results, places: Axis) -> Finding | None:
    """Without regularization CA-nD and CR-nD drastically overfit for small gamma; with it CA-nD
    does not.
    """
    small = [problem for problem, place in places.items() if place <= SMALL]
    automatic = [results.mean("error", problem, "CA-nD, automatic penalty") for problem in small]
    conditions: dict[str, list[bool]] = {"without penalty": [], "with it": []}
    parts = []
    rivals = {**dict.fromkeys(PUBLISHED_EACH, PUBLISHED_CA), **dict.fromkeys(ARD[:2], "CA-1D")}
    for name, rival in rivals.items():
        more = [
            compare(*results.pairs("error", problem, name, rival)).difference for problem in small
        ]
        parts.append(f"{name}: {listed(f'{100 * each:+.1f}' for each in more)}")
        if name in PUBLISHED_EACH and name in UNREGULARIZED:
            conditions["without penalty"] += [each >= DRASTIC * POINT for each in more]
        elif name in PUBLISHED_EACH:
            conditions["with it"] += [each <= POINT for each in more]
    return (
        conditions,
        f"error minus that of CA-1D: {'; '.join(parts[:3])}; with corrective steps "
        f"{'; '.join(parts[3:])} (points, {listed(small)})",
        "A large enough penalty makes kernels isotropic, which is best where all features "
        "matter. The paper chooses the penalty by alignment on validation data, and a higher "
        "alignment can come with a higher error"
        + (
            ". If the penalty is chosen on the training data, the errors are "
            f"{listed(f'{100 * each:.1f}' for each in automatic)} % ({listed(small)})."
            if np.isfinite(automatic).all()
            else "."
        ),
    )


def ratios(results: Results, first: str, second: str, places: Axis) -> list[float]:
    """Return the times of one method relative to another's, where both are known."""
    return list(results.ratios("seconds", first, second, places).values())


def extent(values: Sequence[float]) -> str:
    """Format the least and the largest value."""
    return f"{min(values):.1f} to {max(values):.1f}"


@claim(
    SOURCE,
    "For every gamma, the mean training time of CR-1D, for one C, is longer than that of CA-1D, "
    "both with published steps, and the time of CR-nD is longer than that of CA-nD without penalty "
    f"(not tested). {NO_PUBLISHED_STEPS}",
)
def one_stage_slower(results: Results, places: Axis) -> Finding | None:
    """CR-1D is slower than CA-1D, and CR-nD than CA-nD without regularization."""
    found = {
        "CR-1D / CA-1D": ratios(results, "CR-1D", "CA-1D", places),
        "the same, stagewise": ratios(results, PUBLISHED_CR, "CA-1D, stagewise", places),
        "CR-nD / CA-nD, no penalty": ratios(results, "CR-nD", "CA-nD, no penalty", places),
        "CR-nD / CA-nD, stagewise, no penalty": ratios(results, "CR-nD", PUBLISHED_FREE, places),
    }
    found = {name: values for name, values in found.items() if values}
    if not found:
        return None
    published = found.get("the same, stagewise", [])
    return (
        {"CR-1D": [ratio > 1.0 for ratio in published], "CR-nD": []},
        "ratios of times with corrective steps, "
        + "; ".join(f"{name}: {extent(values)}" for name, values in found.items()),
        "The published steps were not timed here. "
        * (not published)
        + "The mean times with 50 training samples, in seconds, were: "
        f"{by_name(mean_seconds(results, places), '.2f')}. Another experiment measures "
        "[times for more training samples](scalability_in_detail.md).",
    )


def mean_seconds(results: Results, places: Axis) -> dict[str, float]:
    """Return the mean training time over gamma of each method that has one."""
    times = {
        name: np.array([results.mean("seconds", problem, name) for problem in places])
        for name in (*ONE_WIDTH, *ARD)
    }
    return {name: float(np.nanmean(t)) for name, t in times.items() if np.isfinite(t).any()}


@claim(
    SOURCE,
    "For each gamma, the mean training time of CA-nD, including the choice of its penalty, is "
    f"between a third and three times that of CR-nD for one C (not tested). {NO_PUBLISHED_STEPS}",
)
def tuning_time(results: Results, places: Axis) -> Finding | None:
    """CA-nD takes about as long as CR-nD, since it tunes its penalty as well."""
    found = ratios(results, "CA-nD", "CR-nD", places)
    if not found:
        return None
    published = ratios(results, PUBLISHED_ARD, "CR-nD", places)
    return (
        NOT_MEASURED,
        f"ratio of times, CA-nD / CR-nD, with corrective steps: {extent(found)}"
        + (f"; with published steps of CA-nD only: {extent(published)}" if published else ""),
        f"CA-nD learns {len(PENALTIES)} kernels, one for each penalty, each with its own 1-D "
        "start, and evaluates them on 1,000 validation samples. The time of CR-nD does not "
        f"include its tuning: it is that of one of the {len(GRID)} values of C that are tried, and "
        "all of them together take longer.",
    )


@claim(
    "Afkanpour et al. 2013, appendix B.2, Figure 10",
    "The mean alignment on test data of each method with a width for each feature is above that of "
    f"all methods with one width, for each gamma of {LARGE:g} or more (CA with published steps; "
    "not tested)",
)
def edge(results: Results, places: Axis) -> Finding | None:
    """Where many features are irrelevant, methods with a width for each have an edge in alignment
    on test data.
    """
    large = [problem for problem, place in places.items() if place >= LARGE]
    best = [max(results.mean("alignment", p, name) for name in PUBLISHED_ONE_WIDTH) for p in large]
    mine = {name: [results.mean("alignment", p, name) for p in large] for name in PUBLISHED_EACH}
    conditions = [
        value > most for each in mine.values() for value, most in zip(each, best, strict=True)
    ]
    parts = [
        f"{name} {listed(f'{value:.2f}' for value in each)}"
        for name, each in {**mine, "largest with one width": best}.items()
    ]
    return (
        conditions,
        f"{'; '.join(parts)} ({listed(large)})",
        ""
        if all(conditions)
        else "The largest alignment with one width is that of the best of several methods on the "
        "test data.",
    )


@claim(
    "Afkanpour et al. 2013, appendix B.2, Figure 10",
    "The mean alignments of the two methods on test data differ by less than 0.01 for each gamma "
    "(CA-1D with published steps)",
)
def fine_enough(results: Results, places: Axis) -> Finding | None:
    """With 50 widths DA reaches the same alignment as CA-1D."""
    found = [
        results.mean("alignment", problem, "DA") - results.mean("alignment", problem, PUBLISHED_CA)
        for problem in places
    ]
    own = [
        results.mean("alignment", problem, "DA") - results.mean("alignment", problem, "CA-1D")
        for problem in places
    ]
    return (
        [abs(value) < 0.01 for value in found],
        f"largest difference {max(map(abs, found)):.2g}; with corrective steps "
        f"{max(map(abs, own)):.2g}",
        "DA can differ where a width between those of its dictionary is better."
        if any(abs(value) >= 0.01 for value in found)
        else "",
    )

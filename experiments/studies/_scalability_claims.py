"""Claims on growing numbers of samples or kernels, tested by errors and times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.reporting.results import LEVEL, Axis, Results, compare, curve, growth_exponent
from experiments.reporting.section import Finding, by_name, claim, listed
from experiments.reporting.speed_claims import NO_PUBLISHED_STEPS
from experiments.reporting.verdicts import NOT_MEASURED, Compared

FINITE = ("DA", "D1", "D2", "DU")
# Other settings of D1, which are tried with many kernels.
OTHER_D1 = ("D1, not normalized", "D1, stopped early")
# CA-1D with the published steps.
PUBLISHED_CA = "CA-1D, stagewise"
# CA-nD with the published steps, and the same without penalty.
PUBLISHED_ARD, PUBLISHED_FREE = "CA-nD, stagewise", "CA-nD, no penalty, stagewise"
# The duality gap at which the solver that is stopped early ends.
EARLY = 0.1
SOURCE = "Afkanpour et al. 2013, section 3.1.1, Figure 4"
ONE_WIDTH = ("CA-1D", "CR-1D", *FINITE)
ARD = ("CA-nD", "CA-nD, no penalty", "CR-nD")
METHODS = (*ONE_WIDTH, *ARD)
# The same, with the published steps of CA, by which claims are judged.
PUBLISHED_ONE_WIDTH = (PUBLISHED_CA, *ONE_WIDTH[1:])
PUBLISHED_EACH = (PUBLISHED_ARD, PUBLISHED_FREE, "CR-nD")
# A difference in error of at least this counts.
POINT = 0.01
# An error of at least this is close to chance.
CHANCE = 0.4
# Training sets of up to this size are small.
FEW = 100
# The growth of times is estimated from this number of kernels on.
MANY_KERNELS = 200


def known(results: Results, measure: str, names: Sequence[str], problem: str) -> dict[str, float]:
    """Return the means of the methods that have the measure."""
    means = {name: results.mean(measure, problem, name) for name in names}
    return {name: value for name, value in means.items() if np.isfinite(value)}


@claim(
    SOURCE,
    "The mean errors of all methods are in a range that is at most half as wide for the largest "
    "training set as for the smallest (CA with published steps)",
)
def similar(results: Results, places: Axis) -> Finding | None:
    """The methods' errors become similar as the training set grows."""
    spans, own = (
        [
            float(np.ptp(list(known(results, "error", names, list(places)[end]).values())))
            for end in (0, -1)
        ]
        for names in ((*PUBLISHED_ONE_WIDTH, *PUBLISHED_EACH), METHODS)
    )
    first, *_, last = places.values()
    return (
        [spans[1] <= 0.5 * spans[0]],
        f"{100 * spans[0]:.1f} percentage points with {first:g} training samples and "
        f"{100 * spans[1]:.1f} with {last:g}; with corrective steps {100 * own[0]:.1f} and "
        f"{100 * own[1]:.1f}",
        "With many samples, the methods differ more than half as much as with few."
        if spans[1] > 0.5 * spans[0]
        else "",
    )


@claim(
    SOURCE,
    "The mean errors of CA-1D and DA are both below that of each other method with one width, for "
    f"up to {FEW} training samples; each difference is tested by a paired t-test (CA-1D with "
    "published steps)",
)
def small_sets(results: Results, places: Axis) -> Finding | None:
    """For small training sets CA-1D and DA have the lowest errors among methods with one width."""
    conditions: list[Compared] = []
    parts = []
    names = (PUBLISHED_CA, "DA")
    for problem in (name for name, size in places.items() if size <= FEW):
        means = known(results, "error", (*PUBLISHED_ONE_WIDTH, "CA-1D"), problem)
        rest = [name for name in PUBLISHED_ONE_WIDTH if name in means and name not in names]
        conditions += [
            Compared.lower(compare(*results.pairs("error", problem, name, other)))
            for name in names
            for other in rest
        ]
        each = by_name(means, ".1f", 100.0)
        parts.append(f"{problem}: {each} %")
    return (
        conditions,
        "; ".join(parts),
        f"With the fewest training samples, the errors minus that of {PUBLISHED_CA} are: "
        f"{differences(results, places)}."
        + (
            f" There the error of DU is {100 * CHANCE:.0f} % or more in {listed(chance)}."
            if (chance := at_chance(results, places))
            else ""
        ),
    )


def at_chance(results: Results, places: Axis) -> list[str]:
    """Return the repeats of the smallest training set on which DU is close to chance."""
    errors = results.series("error", next(iter(places)), "DU")
    return [f"repeat {repeat}" for repeat, error in errors.items() if error >= CHANCE]


def differences(results: Results, places: Axis) -> str:
    """Return paired differences in error from CA-1D on the smallest set, as text."""
    problem = next(iter(places))
    found = {
        name: compare(*results.pairs("error", problem, name, PUBLISHED_CA))
        for name in PUBLISHED_ONE_WIDTH
        if name != PUBLISHED_CA
    }
    return ", ".join(
        f"{name} {100 * each.difference:+.1f} points (p = {each.p_value:.2f})"
        for name, each in found.items()
    )


@claim(
    SOURCE,
    f"The mean error of each of these methods is below that of the best method with one width, for "
    f"each number n of training samples: {'; '.join(PUBLISHED_EACH)} (means, not tested)",
)
def ard_has_least_error(results: Results, places: Axis) -> Finding | None:
    """Methods with a width for each feature have the best errors where few features matter."""
    conditions, parts, own = [], [], 0
    for problem in places:
        isotropic = known(results, "error", PUBLISHED_ONE_WIDTH, problem)
        ard = known(results, "error", PUBLISHED_EACH, problem)
        best = min(isotropic.values())
        conditions += [value < best for value in ard.values()]
        lower = sum(value < best for value in ard.values())
        parts.append(f"{problem}: {lower} of {len(ard)} below {100 * best:.1f} %")
        least = min(known(results, "error", ONE_WIDTH, problem).values())
        own += sum(value < least for value in known(results, "error", ARD, problem).values())
    last = list(places.values())[-1]
    return (
        conditions,
        f"{'; '.join(parts)}. With corrective steps, {own} of {len(ARD) * len(places)} errors are "
        "lower",
        "The best possible error is 4.0 %; the lowest mean error with one width and "
        f"{last:g} training samples is {100 * best:.1f} %.",
    )


@claim(
    SOURCE,
    "For each number n of training samples, no method except DU is faster than CA-1D, and CA-1D "
    "takes at most twice as long as DU (CA-1D with published steps; mean times, not tested)",
)
def fastest(results: Results, places: Axis) -> Finding | None:
    """CA-1D is the fastest method that learns; its training time is almost that of DU."""
    conditions: dict[str, list[bool]] = {"the fastest that learns": [], "almost that of DU": []}
    parts, own = [], []
    for problem in places:
        times = known(results, "seconds", METHODS, problem)
        published = results.mean("seconds", problem, PUBLISHED_CA)
        if {"CA-1D", "DU"} <= set(times) and np.isfinite(published):
            own.append(times.pop("CA-1D") / times["DU"])
            unit = times.pop("DU")
            faster = [name for name, value in times.items() if value < published]
            parts.append(
                f"{problem}: {published / unit:.1f} times that of DU"
                + (f", slower than {', '.join(faster)}" if faster else "")
            )
            conditions["the fastest that learns"].append(not faster)
            conditions["almost that of DU"].append(published <= 2.0 * unit)
    if not parts:
        return None
    ends = {
        name: f"{seconds[0]:.3f} to {seconds[-1]:.3f}"
        for name in (PUBLISHED_CA, "DU")
        if (seconds := [s for p in places if np.isfinite(s := results.mean("seconds", p, name))])
    }
    return (
        conditions,
        f"training time with published steps, {'; '.join(parts)}. With mercer's corrective steps, "
        f"CA-1D takes {by_size(own)} times as long as DU",
        "The times in seconds, from the smallest training set to the largest, were "
        f"{ends[PUBLISHED_CA]} for CA-1D with published steps and {ends['DU']} for DU. The search "
        "of CA-1D has a certain cost even with very few samples; the cost of DU is that of 50 Gram "
        "matrices.",
    )


@claim(
    SOURCE,
    "For each number n of training samples, CR-nD takes longer than CA-nD with and without "
    "penalty; for the largest n, it takes at least five times as long as CA-nD without penalty "
    f"(mean times, not tested). {NO_PUBLISHED_STEPS}",
)
def ard_alignment_is_faster(results: Results, places: Axis) -> Finding | None:
    """CA-nD, with and without regularization, is faster than CR-nD, without almost ten times."""
    plain, tuned, free, penalized = (
        list(results.ratios("seconds", "CR-nD", name, places).values())
        for name in ("CA-nD, no penalty", "CA-nD", PUBLISHED_FREE, PUBLISHED_ARD)
    )
    if not plain:
        return None
    return (
        NOT_MEASURED,
        "with corrective steps, the time of CR-nD as a multiple of that of CA-nD without penalty: "
        f"{by_size(plain)}; with penalty: {by_size(tuned)}"
        + f"; of CA-nD with published steps without penalty: {by_size(free)}; with penalty: "
        f"{by_size(penalized)}" * bool(free and penalized),
        "The time of CR-nD is that of one C, the best; the time of CA-nD includes the choice "
        "from 21 penalties, as in the paper. mercer's CR-nD optimizes all weights in each step, "
        "which perhaps takes fewer steps than the published line search.",
    )


def by_size(values: Sequence[float]) -> str:
    """Format ratios by n."""
    return listed(f"{value:.1f}" for value in values)


def change(results: Results, places: Axis, name: str) -> tuple[float, float]:
    """Return the change in error from the fewest kernels to the most, and its p-value."""
    first, *_, last = places
    ends = [results.series("error", problem, name) for problem in (last, first)]
    both = ends[0].index.intersection(ends[1].index)
    found = compare(*(end.loc[both].to_numpy(dtype=float) for end in ends))
    return found.difference, found.p_value


@claim(
    SOURCE,
    "The mean error of each method with the most kernels is less than one percentage point below "
    "the error with the fewest kernels, on the same data",
)
def no_gain(results: Results, places: Axis) -> Finding | None:
    """Finite methods do not improve with more kernels."""
    found = {name: change(results, places, name) for name in FINITE}
    return (
        [difference > -POINT for difference, _ in found.values()],
        f"change in error: {shifts(found)}",
        "Perhaps fifty widths are already so close to each other that more of them do not matter.",
    )


def shifts(found: dict[str, tuple[float, float]]) -> str:
    """Format changes in error."""
    return ", ".join(
        f"{name} {100 * difference:+.2f} points (p = {p:.2f})"
        for name, (difference, p) in found.items()
    )


@claim(
    SOURCE,
    "The mean error of D1 with the most kernels is above its error with the fewest kernels, on the "
    "same data; the difference is tested by a paired t-test at the 5 % level",
)
def worse(results: Results, places: Axis) -> Finding | None:
    """D1 gets worse with more kernels."""
    found = change(results, places, "D1")
    tried = shifts({name: change(results, places, name) for name in OTHER_D1})
    return (
        [Compared(found[0] > 0.0, int(np.sign(found[0])) * (found[1] < LEVEL))],
        f"change in error: {shifts({'D1': found})}",
        "A kernel whose width is between two widths of the dictionary is close to a combination of "
        "their kernels. More kernels therefore hardly change the best combination, and the "
        "combination that mercer finds is within 10^-3 of the best. With kernels that are not "
        f"normalized, and with a solver that stops at a duality gap of {EARLY:g}, as less exact "
        f"solvers may, the change is: {tried}.",
    )


def exponents(results: Results, names: Sequence[str], places: Axis) -> dict[str, float]:
    """Return the exponents with which times grow with the number of kernels."""
    large = {problem: place for problem, place in places.items() if place >= MANY_KERNELS}
    found = {name: curve(results, "seconds", name, large) for name in names}
    return {
        name: growth_exponent(line)
        for name, line in found.items()
        if line is not None and len(line[0]) > 1
    }


@claim(
    SOURCE,
    "The slope of the logarithm of time against the logarithm of the number of kernels, from "
    f"{MANY_KERNELS} kernels on, is between 0.7 and 1.3",
)
def linear(results: Results, places: Axis) -> Finding | None:
    """Training times of D1 and D2 grow linearly with the number of kernels."""
    found = exponents(results, ("D1", "D2"), places)
    if not found:
        return None
    return (
        [0.7 <= value <= 1.3 for value in found.values()],
        by_name(found, ".2f"),
        "mercer finds the weights by a few Newton steps, each of which is a quadratic program in "
        "the weights of all kernels. The linear part is the cost of the Gram matrices.",
    )


@claim(
    SOURCE,
    "The slope of the logarithm of time against the logarithm of the number of kernels, from "
    f"{MANY_KERNELS} kernels on, is above 2 for DA and above 0.5 for DU",
)
def cubic(results: Results, places: Axis) -> Finding | None:
    """DA is a quadratic program, typically of cubic cost in the number of kernels; DU's time grows
    too, by the Gram matrices.
    """
    found = exponents(results, ("DA", "DU"), places)
    if "DA" not in found:
        return None
    return (
        {
            "DA's cost is cubic": [found["DA"] > 2.0],
            "DU's time grows": [found["DU"] > 0.5] if "DU" in found else [],
        },
        by_name(found, ".2f"),
        "Perhaps the cubic part of DA's cost has a small constant. It consists of a factorization "
        "of the matrix of inner products, and of non-negative least squares, in which few weights "
        "become positive.",
    )

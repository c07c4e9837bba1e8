"""Claims of Afkanpour et al. (2013) that several experiments test."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from experiments.problems import Array
from experiments.reporting.ranking import Gap, gap, of_tasks, present
from experiments.reporting.results import LEVEL, Results
from experiments.reporting.section import Claim, Claims, by_name, judged, listed

SOURCE = "Afkanpour et al. 2013, section 3.2"
FINITE = ("DA", "D1", "D2", "DU")
# Two-stage methods with one width for all features.
ALIKE = ("CA-1D", "CA-1D, stagewise", "DA", "DU", "DA, widths read off", "DU, widths read off")

# A very large improvement removes at least this fraction of the errors.
LARGE = 0.2
# Alignment indicates the error if their median rank correlation is at most this.
INDICATES = -0.5
# The sign behind a significant gap, and its legend.
MARK = "*"
MARKED = f"points, {MARK}: p < {LEVEL:g}"
# CA must take fewer steps.
FEW_STEPS = 10
# At least this many steps are counted as "around 50".
MANY_STEPS = 25


def outperforms(
    results: Results,
    first: Sequence[str],
    second: Sequence[str],
    problems: Sequence[str] | None = None,
) -> tuple[list[bool], str]:
    """Return whether each method errs clearly less than each other one, and the gaps as text."""
    conditions, texts = [], []
    for one in present(results, first):
        gaps = {
            other: gap(results, one, other, problems)
            for other in present(results, second)
            if one != other
        }
        conditions += [found.clearly_lower for found in gaps.values()]
        texts.append(f"{one} less {listed(map(brief, gaps, gaps.values()))}")
    return conditions, "; ".join(texts)


def brief(other: str, found: Gap) -> str:
    """Format a gap, with a mark if it is significant."""
    return f"{other} {found.points:+.2f}{MARK * (found.p_value < LEVEL)}"


def continuous_over_finite(
    results: Results, continuous: Sequence[str], sets: str, why: str
) -> Claim | None:
    """Return the claim that continuous dictionaries beat finite ones."""
    conditions, text = outperforms(results, continuous, FINITE)
    return judged(
        f"On {sets}, methods that choose widths from a continuous set outperform those with a "
        "finite set of widths",
        SOURCE,
        f"differences in error between each of {', '.join(present(results, continuous))} and each "
        f"of {', '.join(present(results, FINITE))}, Wilcoxon's test over tasks; all negative "
        "and significant at 5 %",
        conditions,
        f"{sum(conditions)} of {len(conditions)} differences are clear: {text} ({MARKED})",
        why=why,
        explained=True,
    )


def relative_reduction(
    results: Results, first: str, second: str, problems: Sequence[str] | None
) -> float:
    """Part of a method's mean error that another takes away."""
    ours, theirs = (of_tasks(results, "error", name, problems).mean() for name in (first, second))
    return float(1.0 - ours / theirs)


def over_uniform(
    results: Results,
    sets: str,
    methods: Sequence[str],
    uniform: Sequence[str],
    *,
    beside: str = "",
    problems: Sequence[str] | None = None,
) -> Claim | None:
    """Return the claim that learning beats uniform weights: clearly, and somewhere by much.

    Parameters
    ----------
    results : Results
    sets : str
        The name of the tasks.
    methods : sequence of str
        The methods that learn.
    uniform : sequence of str
        Uniform weights on each dictionary that the claim may mean.
    beside : str, default=""
        Uniform weights on another dictionary, for comparison.
    problems : sequence of str, default=None
        The tasks; all if None.
    """
    names, others = present(results, methods), present(results, uniform)
    clear, text = outperforms(results, names, others, problems)
    reductions = [
        relative_reduction(results, one, other, problems) for one in names for other in others
    ]
    large = any(part >= LARGE and sure for part, sure in zip(reductions, clear, strict=True))
    own = outperforms(results, names, [beside], problems)[1]
    return judged(
        f"On {sets}, kernel learning has a clear advantage over uniform weights, which can be "
        "very large",
        "Afkanpour et al. 2013, sections 1 and 3.2",
        f"differences in error between each of {listed(names)} and {' or '.join(others)}; each "
        "negative and significant at 5 % by Wilcoxon's test over tasks, and one of at least "
        f"{100 * LARGE:.0f} % of the errors",
        [*clear, large],
        f"{text} ({MARKED}); {100 * min(reductions):.0f} to {100 * max(reductions):.0f} % of the "
        "errors",
        why=(
            "The paper adds that the advantage seems to come from the right set of kernels."
            + " It does not name its dictionary for these sets; both are this page's."
            * (len(others) > 1)
            + f" Over uniform weights of 20 widths read off the data it is: {own} ({MARKED})."
            * bool(present(results, [beside]))
        ),
    )


def dictionary_over_weights(results: Results, sets: str, widths: str) -> Claim | None:
    """Return the claim that the dictionary matters more than its combination."""
    means = {
        name: of_tasks(results, "error", name).mean() * 100.0
        for name in ("CA-1D", "DA", "DU", "DA, widths read off", "DU, widths read off")
    }
    by_dictionary = [abs(means[name] - means[f"{name}, widths read off"]) for name in ("DA", "DU")]
    by_weights = [
        means[f"DA{widths_of}"] - means[f"DU{widths_of}"] for widths_of in ("", ", widths read off")
    ]
    conditions = [float(change) > float(np.mean(np.abs(by_weights))) for change in by_dictionary]
    less = {name: mean - means["CA-1D"] for name, mean in means.items() if name != "CA-1D"}
    less_dependent = bool(by_dictionary[0] < by_dictionary[1])
    return judged(
        f"On {sets}, the choice of the dictionary matters more than how its kernels are combined",
        "Afkanpour et al. 2013, sections 1 and 4",
        f"change of the mean error of DA and of DU from the paper's widths ({widths}) to 20 widths "
        "read off the data, against the mean change between DA and DU on one dictionary; larger "
        "for both",
        conditions,
        f"the dictionary moves DA by {by_dictionary[0]:.2f} points and DU by "
        f"{by_dictionary[1]:.2f}; DA less DU is {by_weights[0]:+.2f} on the paper's widths and "
        f"{by_weights[1]:+.2f} on those read off",
        why=(
            "Learned weights depend less on the dictionary than uniform ones. " * less_dependent
            + f"Mean errors less CA-1D's, in points: {by_name(less, '+.2f')}."
        ),
    )


def correlations(
    results: Results, methods: Sequence[str], problems: Sequence[str] | None = None
) -> Array:
    """Return Spearman's correlation of alignment and error over methods, on each task."""
    tasks = results.problems if problems is None else list(problems)
    names = present(results, methods)
    frames = [results.means(measure).loc[tasks, names] for measure in ("alignment", "error")]
    found = []
    for task in tasks:
        pair = pd.concat([frame.loc[task] for frame in frames], axis=1).dropna().to_numpy()
        if len(pair) > 2 and np.ptp(pair, axis=0).all():
            found.append(spearmanr(pair[:, 0], pair[:, 1]).statistic)
    return np.array(found)


def alignment_indicates(
    results: Results, sets: str, methods: Sequence[str], problems: Sequence[str] | None = None
) -> Claim | None:
    """Return the claim that alignment on test data is a good, but not monotone, indicator."""
    tasks = results.problems if problems is None else list(problems)
    names = present(results, methods)
    isotropic = [name for name in names if "nD" not in name]
    alike = present(results, ALIKE)
    found = [correlations(results, some, tasks) for some in (names, isotropic, alike)]
    middle = [float(np.median(each)) if each.size else np.nan for each in found]
    negative = [f"{int((each < 0).sum())} of {each.size}" for each in found]
    errors, alignments = (
        results.means(measure).loc[tasks, names] for measure in ("error", "alignment")
    )
    crossed = int((errors.idxmin(axis=1) != alignments.idxmax(axis=1)).sum())
    return judged(
        f"On {sets}, alignment on test data is generally a good indicator of the error, but a "
        "larger alignment need not mean a smaller error",
        "Afkanpour et al. 2013, sections 3.2 and 4",
        "Spearman correlation of mean error and mean alignment on test data over methods, by "
        f"task, median at most {INDICATES:g}, both over all methods and over those with one width "
        "for all features",
        [value <= INDICATES for value in middle[:2]],
        f"median correlation {middle[0]:.2f} over all, {middle[1]:.2f} over those with one width "
        f"(negative on {negative[0]} and {negative[1]}); the largest alignment is not the least "
        f"error on {crossed} of {len(tasks)}",
        why=(
            f"Over two-stage methods with one width alone ({listed(alike)}) the median correlation "
            f"is {middle[2]:.2f}. Mean alignments and errors: {both_of(results, names, tasks)}."
        ),
    )


def both_of(results: Results, methods: Sequence[str], tasks: Sequence[str]) -> str:
    """Return mean test alignment and error of methods, as text."""
    return "; ".join(
        f"{name} {of_tasks(results, 'alignment', name, tasks).mean():.3f} and "
        f"{100 * of_tasks(results, 'error', name, tasks).mean():.2f} %"
        for name in methods
    )


def speed(results: Results, sets: str) -> Claims:
    """Return the claims on times, or none if no times were recorded."""
    seconds = {
        name: values
        for name in present(results)
        if (values := of_tasks(results, "seconds", name)).size
    }
    if not {"CA-1D", "DU", "DA", "D1", "D2", "CR-1D"} <= set(seconds):
        return []
    means = {name: float(values.mean()) for name, values in seconds.items()}
    listed = ", ".join(f"{name} {1e3 * mean:.0f} ms" for name, mean in means.items())
    fastest = sorted(means, key=lambda name: means[name])
    order = [fastest[0] == "DU", next(name for name in fastest if name != "DU") == "CA-1D"]
    return [
        _order_claim(sets, order, listed),
        _one_stage_claim(sets, means, listed, results),
        _dimension_claim(sets, means),
    ]


def _order_claim(sets: str, order: list[bool], listed: str) -> Claim | None:
    """Return the claim on the order of the fastest methods."""
    return judged(
        f"On {sets}, DU is the fastest method and CA-1D the fastest of the rest",
        f"{SOURCE}, Table 2",
        "mean over tasks of the time to learn a kernel and one machine, C being known",
        order,
        listed,
        why=(
            "DA costs one pass over 20 Gram matrices and a small quadratic program, of which DU "
            "needs the sum alone; CA-1D costs a pass over the distances for each step, and its "
            "corrective steps move all widths together at the end. The paper's solvers are "
            "general-purpose ones, whose overhead is perhaps what ordered its methods."
        ),
        explained=True,
    )


def _one_stage_claim(
    sets: str, means: dict[str, float], listed: str, results: Results
) -> Claim | None:
    """Return the claim that one-stage methods are slower."""
    slower = max(means["CA-1D"], means["DA"])
    conditions = [means[name] > slower for name in ("D1", "D2", "CR-1D")]
    searches = {
        name: 1e3 * values.mean()
        for name in ("D1", "D2", "CR-1D")
        if (values := of_tasks(results, "seconds_search", name)).size
    }
    return judged(
        f"On {sets}, one-stage methods (D1, D2, CR) are slower than two-stage ones (CA, DA)",
        f"{SOURCE}, Table 2",
        "each of D1, D2 and CR-1D takes longer than both CA-1D and DA, C being known",
        conditions,
        listed,
        why=(
            "Newton steps for the weights need the machines of a few weights only. One stage pays "
            "in the search for C, for each of which it learns the kernel anew"
            + f"; in milliseconds, with it: {by_name(searches, '.0f')}" * bool(searches)
            + "."
        ),
        explained=True,
    )


def _dimension_claim(sets: str, means: dict[str, float]) -> Claim | None:
    """Return the claim that methods with a width for each feature are slower."""
    if not {"CA-nD", "CR-nD"} <= set(means):
        return None
    ratios = [means[f"{name}-nD"] / means[f"{name}-1D"] for name in ("CA", "CR")]
    conditions = [ratio >= 2.0 for ratio in ratios]
    return judged(
        f"On {sets}, CA-nD and CR-nD are significantly slower than CA-1D and CR-1D",
        f"{SOURCE}, Table 2",
        "ratio of mean times, that of CA-nD with the choice of its penalty; at least 2",
        conditions,
        f"CA {ratios[0]:.1f} times (paper: {770 / 9:.0f}), CR {ratios[1]:.1f} times (paper: "
        f"{1550 / 590:.1f})",
        why=(
            "The gradient in all widths costs one matrix product, whatever their number, and "
            "the choice of CA-nD's penalty ends at the first that makes widths equal. CR has "
            "no penalty to choose, and its machines and weights cost the same in either search."
        ),
        explained=True,
    )


def steps(results: Results, sets: str) -> Claim | None:
    """Return the claim on the number of steps of CA and CR."""
    names = ("CA-1D", "CA-1D, stagewise", "CR-1D", "CR-1D, stagewise")
    found = {
        name: np.concatenate([results.values("steps", task, name) for task in results.problems])
        for name in names
        if name in results.methods
    }
    few = [values.max() < FEW_STEPS for name, values in found.items() if name.startswith("CA")]
    published = found.get("CR-1D, stagewise", np.empty(0))
    many = [float(np.median(published)) >= MANY_STEPS] if published.size else []
    conditions = [*map(bool, few), *many]
    listed = "; ".join(
        f"{name}: median {np.median(values):.0f}, {values.min():.0f} to {values.max():.0f}"
        for name, values in found.items()
    )
    return judged(
        f"On {sets}, CA converges in fewer than ten iterations and CR in around 50",
        SOURCE,
        f"steps taken: fewer than {FEW_STEPS} on every split with corrective and with published "
        f"steps, and a median of at least {MANY_STEPS} with the published line search of CR",
        conditions,
        listed,
        why=(
            "Steps depend on the tolerance and on C. Here CR ends once no kernel lowers its "
            "objective by more than a thousandth, with the C that is best on validation data; "
            "corrective steps, which solve for all weights anew, take fewer than the published "
            "line search, whose steps are limited to 50."
        ),
        explained=True,
    )


def rest_of(results: Results, method: str, problems: Sequence[str] | None = None) -> list[Gap]:
    """Return the gaps from a method to each of the paper's others."""
    return [gap(results, method, name, problems) for name in present(results) if name != method]

"""Claims of Afkanpour et al. (2013) that several experiments test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from experiments.problems import Array
from experiments.reporting.ranking import METHODS, Gap, gap, of_tasks, present, replaced
from experiments.reporting.results import LEVEL, Results
from experiments.reporting.section import Claim, by_name, judged, listed
from experiments.reporting.verdicts import Compared

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
MARKED = f"in percentage points; {MARK}: p < {LEVEL:g}"
# What the judged settings are called in measures.
AS_PUBLISHED = "CA with its published steps, D1 and D2 with raw kernels"


def outperforms(
    results: Results,
    first: Sequence[str],
    second: Sequence[str],
    problems: Sequence[str] | None = None,
) -> tuple[list[Compared], str]:
    """Return whether each method has a clearly lower error than each other one, and the gaps."""
    conditions: list[Compared] = []
    texts = []
    for one in present(results, first):
        gaps = {
            other: gap(results, one, other, problems)
            for other in present(results, second)
            if one != other
        }
        conditions += [found.clear for found in gaps.values()]
        texts.append(f"{one} minus {listed(map(brief, gaps, gaps.values()))}")
    return conditions, "; ".join(texts)


def brief(other: str, found: Gap) -> str:
    """Format a gap, with a mark if it is significant."""
    return f"{other} {found.points:+.2f}{MARK * (found.p_value < LEVEL)}"


def continuous_over_finite(
    results: Results,
    continuous: Sequence[str],
    sets: str,
    published: Mapping[str, str],
    why: str,
) -> Claim | None:
    """Return the claim that continuous dictionaries beat finite ones.

    Parameters
    ----------
    results : Results
    continuous : sequence of str
        The methods with a continuous dictionary.
    sets : str
        The name of the tasks.
    published : dict of str to str
        The published settings, by method, of those whose own settings differ.
    why : str
    """
    names, others = replaced(continuous, published), replaced(FINITE, published)
    conditions, text = outperforms(results, names, others)
    own, own_text = outperforms(results, continuous, FINITE)
    return judged(
        f"On {sets}, methods that choose widths from a continuous set outperform those with a "
        "finite set of widths",
        SOURCE,
        f"The error of each of {', '.join(names)} is significantly lower than that of each of "
        f"{', '.join(others)} ({AS_PUBLISHED}; Wilcoxon's test over tasks at 5 %)",
        conditions,
        f"{sum(map(bool, conditions))} of {len(conditions)} differences are clear: {text} "
        f"({MARKED}). With mercer's corrective steps and kernels of unit trace, "
        f"{sum(map(bool, own))} of {len(own)} differences are clear: {own_text}",
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
    corrective = outperforms(results, ["CA-1D"], others, problems)[1]
    return judged(
        f"On {sets}, kernel learning has a clear advantage over uniform weights, which can be "
        "very large",
        "Afkanpour et al. 2013, sections 1 and 3.2",
        f"The error of each of {listed(names)} is significantly lower than that of "
        f"{' and of '.join(others)} (Wilcoxon's test over tasks at 5 %), and at least one of these "
        f"differences is {100 * LARGE:.0f} % or more of the error with uniform weights",
        {"clear": clear, "very large": [large]},
        f"{text} ({MARKED}); learning lowers the mean error by {100 * min(reductions):.0f} to "
        f"{100 * max(reductions):.0f} %. With corrective steps, {corrective}",
        why=(
            "The paper adds that the advantage seems to come from the right set of kernels."
            + " It does not name its dictionary for these sets; this experiment chose both."
            * (len(others) > 1)
            + f" Relative to uniform weights of 20 widths read off the data: {own} ({MARKED})."
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
        f"If 20 widths read off the data replace the paper's widths ({widths}), the mean errors of "
        "DA and of DU each change by more than the difference between DA and DU on the same "
        "dictionary, on average over both dictionaries (changes of means, not tested)",
        conditions,
        f"the dictionary changes the error of DA by {by_dictionary[0]:.2f} points and that of DU "
        f"by {by_dictionary[1]:.2f}; the error of DA minus that of DU is {by_weights[0]:+.2f} with "
        f"the paper's widths and {by_weights[1]:+.2f} with widths read off the data",
        why=(
            "Errors of learned weights depend less on the dictionary than errors of uniform "
            "weights. "
            * less_dependent
            + f"Mean errors minus that of CA-1D, in points: {by_name(less, '+.2f')}."
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
    steps, _, _ = AS_PUBLISHED.partition(",")
    settings = AS_PUBLISHED if any("raw" in name for name in names) else steps
    crossed = errors.idxmin(axis=1) != alignments.idxmax(axis=1)
    return judged(
        f"On {sets}, alignment on test data is generally a good indicator of the error, but a "
        "larger alignment need not mean a smaller error",
        "Afkanpour et al. 2013, sections 3.2 and 4",
        f"Over methods ({settings}), Spearman's correlation between mean error and mean alignment "
        f"on test data has a median over tasks of at most {INDICATES:g}, both for all methods and "
        "for methods with one width for all features; and, on each task, the method with the "
        "lowest error is not the method with the largest alignment",
        {
            "a good indicator": [value <= INDICATES for value in middle[:2]],
            "larger need not be better": [bool(value) for value in crossed],
        },
        f"the median correlation is {middle[0]:.2f} over all methods and {middle[1]:.2f} over "
        f"methods with one width (correlations are negative on {negative[0]} and on {negative[1]} "
        "tasks); the method with the largest alignment does not have the lowest error on "
        f"{int(crossed.sum())} of {len(tasks)} tasks",
        why=(
            f"Over two-stage methods with one width only ({listed(alike)}), the median correlation "
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


def rest_of(
    results: Results,
    method: str,
    problems: Sequence[str] | None = None,
    published: Mapping[str, str] | None = None,
) -> dict[str, Gap]:
    """Return the gaps from a method to each of the paper's others, in their published settings."""
    names = present(results, replaced(METHODS, published or {}))
    return {name: gap(results, method, name, problems) for name in names if name != method}

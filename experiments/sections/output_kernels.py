"""Section on several classes: Wang & Li (2018), sections 3.1 and 4.2.2."""

from __future__ import annotations

import numpy as np

from experiments.reporting.error_tables import Errors
from experiments.reporting.results import Results
from experiments.reporting.section import Claim, Section, explained_claim, judge

PAIRS = "HSIC, a width per pair"


def section(results: Results) -> Section:
    """Write one width against one per pair, and three output kernels."""
    found = Errors(results)
    body = f"""The sets of more than two classes, drawn as before. *A width per pair*: each machine
of two classes has a Gaussian kernel of its own width, of the largest HSIC on the samples of these
two, and one C serves all; the others share one width. The output kernel is 1 for equal labels and
-1 for others (equation 6), 1 and *0*, or *balanced*: 1 and 0, each class divided by its number of
samples. With HSIC and centered alignment, -1 and 0 give the same kernel, because centering takes
the constant away; without centering they do not.

Error in %, mean ± standard deviation; + and - where HSIC with one width for all is significantly
better or worse.

{found.table(tuple(results.methods), "HSIC")}"""
    return Section(body, [*claims_on_pairs(found), *claims_on_targets(found)])


def claims_on_pairs(found: Errors) -> list[Claim]:
    """Return the claim that one width for all classes suffices."""
    outcomes = list(found.outcomes(PAIRS, "HSIC").values())
    if not outcomes:
        return []
    spread = []
    for problem in found.both(PAIRS):
        for widths in found.results.series("widths", problem, PAIRS):
            spread.append(max(widths) / min(widths))
    mean = np.mean([found.mean(p, PAIRS) - found.mean(p, "HSIC") for p in found.both(PAIRS)])
    return [
        explained_claim(
            "One kernel parameter for all classes performs like one for each pair.",
            "Wang & Li 2018, section 4.2.2, after Chen et al. 2005",
            "No significant difference in error on any set.",
            f"win-tie-loss of a width per pair against one width: {found.tally(PAIRS, 'HSIC')}, "
            f"mean difference {mean:+.2f} points; the largest width of a set is "
            f"{np.median(spread):.1f} times its smallest (median)",
            judge([outcome == 0 for outcome in outcomes]),
            why="Perhaps, on the sets that differ, pairs of classes differ in the width that suits "
            "them, or have too few samples for a width of their own.",
        )
    ]


def claims_on_targets(found: Errors) -> list[Claim]:
    """Return the claims on the output kernel of equation 6."""
    claims = []
    for criterion, other in (("HSIC", "HSIC, balanced"), ("KA", "KA, 0/1")):
        outcomes = found.outcomes(criterion, other)
        if not outcomes:
            continue
        worse = [
            f"{p} ({found.mean(p, criterion):.1f} and {found.mean(p, other):.1f} %)"
            for p, outcome in outcomes.items()
            if outcome == -1
        ]
        claims.append(
            explained_claim(
                "The output kernel of 1 and -1 reveals the ideal similarities of samples "
                f"({criterion}).",
                "Wang & Li 2018, section 3.1, equation 6",
                f"{criterion} significantly worse than *{other}* on no set.",
                f"win-tie-loss of {criterion}: {found.tally(criterion, other)}"
                + (f"; worse on {', '.join(worse)}" if worse else ""),
                judge([outcome != -1 for outcome in outcomes.values()]),
                why="With many classes most pairs of samples differ in class, so that the target "
                "is mostly -1 and a kernel that is nearly the identity comes nearest to it. "
                "Centering, or 0 in place of -1, removes that."
                if criterion == "KA"
                else "Small classes count for little in HSIC; where errors on them matter, a "
                "balanced kernel finds another width.",
            )
        )
    return claims

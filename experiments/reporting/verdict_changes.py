"""Verdicts that differ from those of an earlier page, each with the reason."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.reporting.section import Claim, Verdict, table

EARLIER = Path(__file__).parents[1] / "records" / "earlier_verdicts.json"
"""Verdicts by statement, before claims were judged by shares of their conditions and tests were
corrected for shared rows."""

_SHARE = "Fewer than half of its conditions are met, which had been enough for a part."
_CORRECTED = "Fewer differences are significant with the test that is corrected for shared rows."
_TIMES = "Times are means of five runs, one at a time but beside other work, and not of one run."

REASONS: dict[str, str] = {
    "align significantly improves both the alignment and the error over unif": _CORRECTED,
    "On MNIST, CA-1D has the best median rank (1) and CR-1D the second (2)": _SHARE,
    "With proper capacity control, overfitting of the alignment can be overcome (on Letter)": (
        "On the published scale of the penalty CA-nD errs significantly less than without one."
    ),
    "align is an inexpensive heuristic": _TIMES,
    "CA-nD, with and without regularization, is faster than CR-nD, without almost ten times": (
        f"{_SHARE} {_TIMES}"
    ),
    "On MNIST, one-stage methods (D1, D2, CR) are slower than two-stage ones (CA, DA)": _TIMES,
    "On Letter, DU is the fastest method and CA-1D the fastest of the rest": _TIMES,
    "On Letter, one-stage methods (D1, D2, CR) are slower than two-stage ones (CA, DA)": _TIMES,
    "On the eleven sets, alignment on test data is generally a good indicator of the error, but a "
    "larger alignment need not mean a smaller error": (
        "CA-nD's penalty is on the published scale, and its kernels differ."
    ),
    "Cross-validation always has the lowest error": _SHARE,
    "CKA and HSIC do not differ significantly on any set": _CORRECTED,
    "ARD kernels: HSIC is better than KA or comparable on all sets": _CORRECTED,
    "ARD kernels have lower errors on all sets but zoo and sonar": _SHARE,
    "The difference between the two forms is not stably significant": (
        f"{_CORRECTED} Ties on some sets are no longer a condition of their own."
    ),
    "Isotropic kernels must be preferred: they perform comparably": (
        "To be significantly better is not to be comparable."
    ),
    "HSIC takes the shortest time on all sets": f"{_SHARE} {_TIMES}",
    "ARD kernels: HSIC is the most efficient of the three": f"{_SHARE} {_TIMES}",
    "ARD kernels take clearly longer than isotropic kernels": _TIMES,
    "One kernel parameter for all classes performs like one for each pair": _CORRECTED,
}
"""Why a verdict has changed, by statement."""


def summary(counts: Mapping[Verdict, int]) -> str:
    """Say how many claims hold, hold in part and do not hold."""
    several = {Verdict.HOLDS: "hold", Verdict.IN_PART: "hold in part", Verdict.FAILS: "do not hold"}
    return ", ".join(f"{counts.get(verdict, 0)} {label}" for verdict, label in several.items())


def statement_of(claim: Claim) -> str:
    """Return the statement of a claim in one line, without a full stop."""
    return " ".join(claim.statement.split()).rstrip(".")


def verdict_changes(claims: Sequence[Claim]) -> str:
    """Return the numbers of verdicts before and now, and a table of those that have changed.

    Raises
    ------
    ValueError
        If a verdict has changed and no reason is known.
    """
    earlier = {text: Verdict(verdict) for text, verdict in json.loads(EARLIER.read_text()).items()}
    rows, added = [], 0
    for number, claim in enumerate(claims, start=1):
        statement = statement_of(claim)
        before = earlier.get(statement)
        added += before is None
        if before in (None, claim.verdict):
            continue
        if statement not in REASONS:
            raise ValueError(
                f"no reason is known for the change from {before!r} to {str(claim.verdict)!r}: "
                f"{statement}"
            )
        rows.append([str(number), statement, before, claim.verdict, REASONS[statement]])
    body = (
        "## Verdicts that changed\n\nA claim holds if all of its conditions are met, in part if "
        "at least half of them are. Tests "
        "over random divisions of the same rows are corrected for the rows that they share "
        "(Nadeau & Bengio 2003). On an earlier page any condition sufficed for a claim to hold in "
        "part, tests were not corrected, and the penalty of CA-nD was on a scale of its own. Then, "
        f"of {len(earlier)} claims, {summary(Counter(earlier.values()))}; now, of {len(claims)}, "
        f"{added} of them new, {summary(Counter(claim.verdict for claim in claims))}.\n\n"
    )
    return body + table(["", "claim", "before", "now", "why"], rows, text=True)

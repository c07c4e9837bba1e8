"""The part of the page that an experiment contributes: text, tables, figures and claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Verdict(StrEnum):
    """The outcome of testing a claim."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"


def verdict_of(conditions: Sequence[bool]) -> Verdict:
    """Return whether all conditions of a claim are met, some of them, or none.

    Raises
    ------
    ValueError
        If there is no condition, since nothing then tests the claim.
    """
    if not conditions:
        raise ValueError("a claim needs at least one condition")
    if all(conditions):
        return Verdict.HOLDS
    return Verdict.IN_PART if any(conditions) else Verdict.FAILS


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, and the evidence that was found.

    Attributes
    ----------
    statement : str
        What the paper says, close to its own words.
    source : str
        The place in the paper, such as "Afkanpour et al. 2013, section 3.2".
    measure : str
        What was computed to test the claim, and when it counts as true.
    result : str
        The numbers that were found.
    verdict : Verdict
    why : str
        A paragraph on a claim that does not hold, or only in part: the reason, as far as it is
        known, and the numbers of other settings that were tried.
    """

    statement: str
    source: str
    measure: str
    result: str
    verdict: Verdict
    why: str = ""

    def __post_init__(self) -> None:
        if self.verdict is Verdict.FAILS and not self.why:
            raise ValueError(f"a claim that does not hold needs a reason: {self.statement}")


def explained_claim(
    statement: str, source: str, measure: str, result: str, verdict: Verdict, *, why: str
) -> Claim:
    """Return a claim that gives its reasons only where it does not wholly hold."""
    return Claim(
        statement, source, measure, result, verdict, "" if verdict is Verdict.HOLDS else why
    )


@dataclass(frozen=True)
class Section:
    """A section of the page.

    Attributes
    ----------
    body : str
        Markdown with what was done, tables, and figures as ``![caption](figure:NAME)``.
    claims : sequence of Claim
    figures : dict of str to Figure
        The figures by name, which is unique over all sections.
    """

    body: str
    claims: Sequence[Claim] = ()
    figures: Mapping[str, Figure] = field(default_factory=dict)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, text: bool = False) -> str:
    """Return a Markdown table; columns after the first are flush right unless they hold text."""
    marks = ["---", *["---" if text else "---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, marks, *rows)) + "\n"

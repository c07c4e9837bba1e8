"""What an experiment contributes to the page: text, tables, figures, and verdicts on claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Verdict(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"


def judge(conditions: Sequence[bool]) -> Verdict:
    """All conditions met, some, or none.

    Raises
    ------
    ValueError
        If there is no condition: a claim that nothing measures cannot be judged.
    """
    if not conditions:
        raise ValueError("a claim needs at least one condition")
    if all(conditions):
        return Verdict.HOLDS
    return Verdict.IN_PART if any(conditions) else Verdict.FAILS


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, and what was found.

    Attributes
    ----------
    statement : str
        What the paper says, in our words, close to its own.
    source : str
        Where: "Afkanpour et al. 2013, section 3.2".
    measure : str
        What was computed to judge it, and when it counts as true.
    result : str
        The figures.
    verdict : Verdict
    why : str
        A paragraph, where the claim does not hold or only in part: the reason as far as it is
        known, and the other settings that were tried, with their figures.
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


def judged(
    statement: str, source: str, measure: str, result: str, verdict: Verdict, *, why: str
) -> Claim:
    """A claim that gives its reasons only where it does not wholly hold."""
    return Claim(
        statement, source, measure, result, verdict, "" if verdict is Verdict.HOLDS else why
    )


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes
    ----------
    body : str
        Markdown: what was done, tables, and figures as ``![caption](figure:NAME)``.
    claims : sequence of Claim
    figures : dict of str to Figure
        By name, unique over all sections.
    """

    body: str
    claims: Sequence[Claim] = ()
    figures: Mapping[str, Figure] = field(default_factory=dict)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, words: bool = False) -> str:
    """A Markdown table; columns after the first are flush right unless they hold words."""
    marks = ["---", *["---" if words else "---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, marks, *rows)) + "\n"

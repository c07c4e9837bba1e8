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


LEAST_SHARE = 0.5
"""A claim holds in part if at least this share of its conditions is met."""


@dataclass(frozen=True)
class Judgment:
    """A verdict, and the number of a claim's conditions that are met.

    Attributes
    ----------
    verdict : Verdict
    n_met, n_conditions : int
    """

    verdict: Verdict
    n_met: int
    n_conditions: int

    def __str__(self) -> str:
        return f"**{self.verdict}** ({self.n_met} of {self.n_conditions})"


def judge(conditions: Sequence[bool]) -> Judgment:
    """Judge a claim by its conditions: it holds if all are met, in part if at least half are.

    Parameters
    ----------
    conditions : sequence of bool
        Whether each condition is met.

    Raises
    ------
    ValueError
        If there is no condition, since nothing then tests the claim.
    """
    if not conditions:
        raise ValueError("a claim needs at least one condition")
    met = sum(map(bool, conditions))
    if met == len(conditions):
        verdict = Verdict.HOLDS
    else:
        verdict = Verdict.IN_PART if met >= LEAST_SHARE * len(conditions) else Verdict.FAILS
    return Judgment(verdict, met, len(conditions))


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
    judgment : Judgment
    why : str
        A paragraph on a claim that does not hold, or only in part: the reason, as far as it is
        known, and the numbers of other settings that were tried.
    """

    statement: str
    source: str
    measure: str
    result: str
    judgment: Judgment
    why: str = ""

    @property
    def verdict(self) -> Verdict:
        """Whether the claim holds."""
        return self.judgment.verdict

    def __post_init__(self) -> None:
        if self.verdict is Verdict.FAILS and not self.why:
            raise ValueError(f"a claim that does not hold needs a reason: {self.statement}")


def explained_claim(
    statement: str, source: str, measure: str, result: str, judgment: Judgment, *, why: str
) -> Claim:
    """Return a claim that gives its reasons only where it does not wholly hold."""
    return Claim(
        statement,
        source,
        measure,
        result,
        judgment,
        "" if judgment.verdict is Verdict.HOLDS else why,
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

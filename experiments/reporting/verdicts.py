"""Verdicts: what conditions and tests of a claim, in each of its statements, amount to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from experiments.reporting.results import MIN_PAIRS, Comparison


class Verdict(StrEnum):
    """The outcome of testing a claim."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    UNMEASURED = "not measured"
    UNDECIDED = "cannot be judged"


# A statement holds in part if at least this share of its conditions is met.
LEAST_SHARE = 0.5


@dataclass(frozen=True)
class Compared:
    """A condition on the difference between two means, and what a test of the difference finds.

    Attributes
    ----------
    met : bool
        Whether the condition is met.
    sign : {1, 0, -1}
        1 if the difference is significant and as the claim has it, -1 if it is significant and
        the other way round, 0 if it is not significant, which is called a tie.
    by_mean : bool, default=True
        Whether the condition is met by the sign of the difference alone, significant or not.
    """

    met: bool
    sign: int
    by_mean: bool = True

    def __bool__(self) -> bool:
        return self.met

    @classmethod
    def lower(cls, found: Comparison) -> Compared:
        """Return the condition that the first mean is below the second."""
        return cls(found.difference < 0.0, -found.sign)

    @classmethod
    def higher(cls, found: Comparison) -> Compared:
        """Return the condition that the first mean is above the second."""
        return cls(found.difference > 0.0, found.sign)

    @classmethod
    def never(cls, found: Comparison, *unwanted: int) -> Compared | None:
        """Return the condition that a difference has none of some signs; None without a test."""
        if found.n_pairs < MIN_PAIRS:
            return None
        against = found.sign in unwanted
        return cls(not against, -1 if against else abs(found.sign), by_mean=False)


# Whether a condition is met; None if the records do not show it.
Condition = bool | Compared | None
# The conditions of a claim; if it makes several statements, those of each by its name. A statement
# without conditions was not measured.
Conditions = Sequence[Condition] | Mapping[str, Sequence[Condition]]

# The conditions of a claim whose quantity was not measured.
NOT_MEASURED: Conditions = {"the claim": ()}


@dataclass(frozen=True)
class Judgment:
    """A verdict, and the number of a claim's conditions that are met.

    Attributes
    ----------
    verdict : Verdict
    n_met, n_conditions : int
        They are of all statements together.
    text : str
        The verdict as pages show it, with its counts.
    """

    verdict: Verdict
    n_met: int
    n_conditions: int
    text: str

    def __str__(self) -> str:
        return self.text


def judge(conditions: Conditions) -> Judgment:
    """Judge a claim by its conditions.

    A statement holds if all of its conditions are met, in part if at least half are. It cannot be
    judged if too few conditions are known, or if all of them compare means and no difference is
    significant. A claim of several statements holds if each does, fails if none holds or holds in
    part, and holds in part otherwise.

    Parameters
    ----------
    conditions : sequence of bool, Compared or None, or dict of str to such a sequence
        Whether each condition is met; see `Conditions`.

    Raises
    ------
    ValueError
        If there is no condition, since nothing then tests the claim.
    """
    if not conditions:
        raise ValueError("a claim needs at least one condition")
    if not isinstance(conditions, Mapping):
        verdict, counts = _statement(conditions)
        met = sum(map(bool, conditions))
        return Judgment(verdict, met, len(conditions), f"**{verdict}** ({counts})")
    parts = {name: _statement(each) for name, each in conditions.items()}
    verdict = _together([part for part, _ in parts.values()])
    every = [condition for each in conditions.values() for condition in each]
    text = "; ".join(f"{name}: {counts}" for name, (_, counts) in parts.items())
    shown = f"**{verdict}**" + f" ({text})" * bool(every)
    return Judgment(verdict, sum(map(bool, every)), len(every), shown)


def _statement(conditions: Sequence[Condition]) -> tuple[Verdict, str]:
    """Return the verdict on one statement, and its counts as text."""
    if not conditions:
        return Verdict.UNMEASURED, "not measured"
    met, unknown = sum(map(bool, conditions)), sum(each is None for each in conditions)
    failed = len(conditions) - met - unknown
    text = f"{met} of {len(conditions)}" + f", {unknown} cannot be judged" * bool(unknown)
    tested = [each for each in conditions if isinstance(each, Compared)]
    if tested:
        signs = [each.sign for each in tested]
        ties = f"tie{'s' * (signs.count(0) != 1)}"
        kinds = {1: "clear", -1: "clearly against", 0: ties}
        known = [f"{signs.count(sign)} {kind}" for sign, kind in kinds.items() if sign in signs]
        text += f": {', '.join(known)}"
    if len(tested) == len(conditions) and all(t.by_mean and t.sign == 0 for t in tested):
        return Verdict.UNDECIDED, text
    if met == len(conditions):
        return Verdict.HOLDS, text
    if met and met >= LEAST_SHARE * len(conditions):
        return Verdict.IN_PART, text
    if failed > LEAST_SHARE * len(conditions) or not unknown:
        return Verdict.FAILS, text
    return Verdict.UNDECIDED, text


def _together(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict on a claim of several statements."""
    found = set(verdicts)
    if len(found) == 1:
        return verdicts[0]
    if found & {Verdict.HOLDS, Verdict.IN_PART}:
        return Verdict.IN_PART
    return Verdict.FAILS if Verdict.FAILS in found else Verdict.UNDECIDED

"""Claims, verdicts, tables, and numbers in sentences."""

import pytest

from experiments.reporting.section import (
    Claim,
    Finding,
    Section,
    Verdict,
    claim,
    judge,
    judged,
)


@pytest.mark.parametrize(
    ("conditions", "verdict"),
    [
        ([True, True], Verdict.HOLDS),
        ([True, False], Verdict.IN_PART),
        ([True, False, False], Verdict.FAILS),
        ([False], Verdict.FAILS),
    ],
)
def test_a_claim_holds_in_part_if_half_of_its_conditions_are_met(
    conditions: list[bool], verdict: Verdict
) -> None:
    found = judge(conditions)
    assert found.verdict is verdict
    assert str(found) == f"**{verdict}** ({sum(conditions)} of {len(conditions)})"


def test_a_claim_needs_conditions_and_where_it_does_not_hold_a_reason() -> None:
    with pytest.raises(ValueError, match="at least one condition"):
        judge([])
    with pytest.raises(ValueError, match="needs a reason"):
        Claim("The moon is a cheese", "nowhere", "a look", "it is not", judge([False]))


@pytest.mark.parametrize("conditions", [[True], [True, False], [False]])
def test_reasons_are_given_only_where_a_claim_does_not_wholly_hold(conditions: list[bool]) -> None:
    found = judged("One", "Two", "Three", conditions, "Four", why="Five", explained=True)
    assert found.why == ("" if all(conditions) else "Five")


def test_the_docstring_of_a_test_is_the_claim() -> None:
    @claim("nowhere", "a look")
    def cheese(seen: list[bool] | None) -> Finding | None:
        """The moon
        is a cheese.
        """
        return None if seen is None else (seen, "it is", "")

    assert cheese([True]) == judged("The moon is a cheese", "nowhere", "a look", [True], "it is")
    assert cheese(None) is None
    assert cheese([]) is None
    assert Section("", [cheese([True]), None]).claims == [cheese([True])]

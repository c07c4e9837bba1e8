"""Claims, verdicts and tables of a section."""

from __future__ import annotations

import pytest

from experiments.reporting.section import (
    Claim,
    Verdict,
    explained_claim,
    table,
    verdict_of,
)


def test_a_verdict_counts_the_conditions_that_are_met() -> None:
    assert verdict_of([True, True]) is Verdict.HOLDS
    assert verdict_of([True, False]) is Verdict.IN_PART
    assert verdict_of([False]) is Verdict.FAILS
    with pytest.raises(ValueError, match="at least one condition"):
        verdict_of([])


def test_a_claim_that_does_not_hold_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="needs a reason"):
        Claim("The moon is a cheese", "nowhere", "a look", "it is not", Verdict.FAILS)


@pytest.mark.parametrize("verdict", Verdict)
def test_reasons_are_given_only_where_a_claim_does_not_wholly_hold(verdict: Verdict) -> None:
    claim = explained_claim("One", "Two", "Three", "Four", verdict, why="Five")
    assert claim.why == ("" if verdict is Verdict.HOLDS else "Five")


def test_columns_after_the_first_are_flush_right() -> None:
    assert table(["a", "b"], [["x", "1"]]) == "| a | b |\n| --- | ---: |\n| x | 1 |\n"

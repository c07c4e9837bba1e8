"""Claims, verdicts, tables, texts, and numbers in sentences."""

from pathlib import Path
from types import ModuleType

import pytest
from matplotlib.figure import Figure
from synthetic_results import synthetic_results

from experiments.reporting.section import (
    Claim,
    Finding,
    Section,
    Verdict,
    claim,
    judge,
    judged,
    named_texts,
    section_of,
    table_of,
    text_of,
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


@pytest.fixture
def study(tmp_path: Path) -> ModuleType:
    """A module whose text has a constant, and the number of methods."""
    module = ModuleType("study")
    module.__file__ = str(tmp_path / "study.py")
    (tmp_path / "study.md").write_text("Of {LEVEL:.1f}, {n_methods} in {{braces}}.\n")
    module.LEVEL = 0.25
    module.n_methods = lambda results: len(results.methods)
    return module


def test_names_in_a_text_are_constants_and_functions_of_the_evidence(study: ModuleType) -> None:
    results = synthetic_results({"p": {"a": {"error": [0.1]}, "b": {"error": [0.2]}}})
    assert text_of(study, results) == "Of 0.2, 2 in {braces}.\n"
    study.n_methods = "three"
    assert text_of(study, results) == "Of 0.2, three in {braces}.\n"
    del study.LEVEL
    with pytest.raises(AttributeError, match="LEVEL"):
        text_of(study, results)


def test_a_section_has_the_claims_of_complete_records_and_the_figures(study: ModuleType) -> None:
    complete = synthetic_results({"p": {"a": {"error": [0.1]}, "b": {"error": [0.2]}}})
    frame = complete.frame[complete.frame["method"] == "a"]
    partial = type(complete)(complete.experiment, frame)
    assert section_of(study, complete).claims == []

    def judged_by(number: int) -> Claim | None:
        return judged(f"{number} methods", "nowhere", "a look", [True], "so it is")

    study.EVIDENCE = study.n_methods
    study.n_methods = lambda number: number
    study.CLAIMS = (judged_by, lambda number: [judged_by(number + 1), None], lambda number: None)
    study.FIGURES = {"drawn": lambda number: Figure(), "left out": lambda number: None}
    found = section_of(study, complete)
    assert [claim.statement for claim in found.claims] == ["2 methods", "3 methods"]
    assert list(found.figures) == ["drawn"]
    assert found.body == "Of 0.2, 2 in {braces}.\n"
    assert section_of(study, partial).claims == []
    assert section_of(study, partial).body == "Of 0.2, 1 in {braces}.\n"


def test_texts_follow_their_names(tmp_path: Path) -> None:
    path = tmp_path / "texts.md"
    path.write_text("<!-- one -->\nFirst.\n\n<!-- two -->\nSecond\nline.\n")
    assert named_texts(path) == {"one": "First.\n", "two": "Second\nline."}


def test_a_table_has_a_cell_for_each_row_and_column() -> None:
    found = table_of("set", ["p", "q"], ["a"], lambda row, column: row + column)
    assert found == "| set | a |\n| --- | ---: |\n| p | pa |\n| q | qa |\n"

"""The pages that are written from the committed records."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from experiments import catalog
from experiments.__main__ import DOCS, RECORDS
from experiments.reporting import reproduction_page
from experiments.reporting.choosing_page import choosing
from experiments.reporting.reproduction_page import (
    DETAILS,
    Chapter,
    anchor,
    own_page,
    read,
    summary_text,
    text,
)
from experiments.reporting.section import Claim, judge
from experiments.running import Archive


@pytest.fixture(scope="module")
def chapters() -> Sequence[Chapter]:
    return read(Archive(RECORDS), small=False)


def test_claims_lead_to_their_details(chapters: Sequence[Chapter]) -> None:
    page, details = ((DOCS / name).read_text() for name in ("reproduction.md", DETAILS))
    assert summary_text(chapters) == page
    headings = {anchor(line.lstrip("# ")) for line in details.splitlines() if line.startswith("#")}
    links = re.findall(rf"\]\({DETAILS}#([^)]*)\)", page)
    assert set(links) <= headings
    n_claims = sum(len(chapter.section.claims) for chapter in chapters)
    assert len(links) == n_claims + len(chapters)
    assert len(page.split()) < 5000


def test_reproduction_is_what_the_records_say(chapters: Sequence[Chapter]) -> None:
    page = (DOCS / DETAILS).read_text()
    assert text(chapters) == page
    assert {chapter.name for chapter in chapters} == set(catalog.names())
    assert sum(len(chapter.section.claims) for chapter in chapters) >= 24
    headings = {anchor(line.lstrip("# ")) for line in page.splitlines() if line.startswith("#")}
    assert set(re.findall(r"\]\(#([^)]*)\)", page)) <= headings
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]*)\)", page):
        assert (DOCS / picture).exists()


def test_the_choice_of_methods_is_argued_from_the_records(chapters: Sequence[Chapter]) -> None:
    page = choosing({chapter.name: chapter.results for chapter in chapters})
    assert page == (DOCS / "choosing.md").read_text()


@pytest.mark.parametrize("name", catalog.PAGES)
def test_an_experiment_with_a_page_of_its_own_is_linked(
    name: str, chapters: Sequence[Chapter]
) -> None:
    [chapter] = [chapter for chapter in chapters if chapter.name == name]
    page = (DOCS / catalog.PAGES[name]).read_text()
    assert own_page(chapter) == page
    assert f"({catalog.PAGES[name]})" in text(chapters)
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]*)\)", page):
        assert (DOCS / picture).exists()


def claim(statement: str, *conditions: bool) -> Claim:
    return Claim(statement, "somewhere", "a look", "something", judge(conditions), "a reason")


@pytest.fixture
def earlier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "earlier.json"
    one, two = {"verdict": "holds", "reason": "It rains."}, {"verdict": "holds in part"}
    path.write_text(json.dumps({"One": one, "Two": two}))
    monkeypatch.setattr(reproduction_page, "EARLIER", path)


@pytest.mark.usefixtures("earlier")
def test_changes_are_counted_and_explained() -> None:
    found = reproduction_page.verdict_changes(
        [claim("One.", False), claim("Two", True, False), claim("Three", True)]
    )
    assert "| 1 | One | holds | does not hold | It rains. |" in found
    assert "of 2 claims, 1 hold, 1 hold in part, 0 do not hold" in found
    assert "of 3, 1 of them new, 1 hold, 1 hold in part, 1 do not hold" in found
    assert "Three" not in found


@pytest.mark.usefixtures("earlier")
def test_a_change_without_a_reason_is_refused() -> None:
    with pytest.raises(ValueError, match="no reason is known"):
        reproduction_page.verdict_changes([claim("Two", True)])

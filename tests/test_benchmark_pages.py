"""Pages that benchmarks write say what the committed records say."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.trusted_page import SECTIONS, page

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def cells() -> list[dict[str, Any]]:
    lines = (ROOT / "benchmarks" / "trusted_scores.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_trusted_scores_are_what_the_records_say(cells: list[dict[str, Any]]) -> None:
    text = page(cells)
    assert text == (ROOT / "docs" / "trusted_scores.md").read_text()
    assert {cell["part"] for cell in cells} == set(SECTIONS)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == len(cells) + 2 * len(SECTIONS)


def test_another_record_is_another_page(cells: list[dict[str, Any]]) -> None:
    beyond = dict(cells[0]) | {name: 9.0 for name, v in cells[0].items() if isinstance(v, float)}
    assert page([beyond, *cells[1:]]) != page(cells)

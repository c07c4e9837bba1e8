"""The guide's page on other programs shows what the tests of tests/neighbors found."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "guide" / "neighbors.md").read_text(encoding="utf-8")
FILES = sorted((ROOT / "tests" / "neighbors").glob("test_*.py"))


def test_more_than_thirty_programs_are_tried() -> None:
    assert len(FILES) > 30


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_program_has_a_row_that_its_test_wrote(path: Path) -> None:
    name = path.stem.removeprefix("test_").replace("_", "[-_]")
    row = rf"^\| {name} \| \d[\d.]+ \| \d{{4}}-\d\d-\d\d \| [^|]*\d[^|]* \| [^|]+ \|$"
    assert len(re.findall(row, PAGE, re.MULTILINE | re.IGNORECASE)) == 1


def test_no_cell_waits_for_a_number() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("|") and "*passing" not in line]
    assert not [row for row in rows if "|  |" in row]

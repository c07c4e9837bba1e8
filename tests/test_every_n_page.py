"""The page of errors and times as rows grow says what the committed records say."""

import json
from pathlib import Path

import pytest

from benchmarks.every_n_page import means, page, ratio

ROOT = Path(__file__).parents[1]
LINES = (ROOT / "benchmarks" / "every_n.jsonl").read_text().splitlines()
RECORDS = [json.loads(line) for line in LINES]


def test_the_page_is_what_the_records_say() -> None:
    assert page(RECORDS) == (ROOT / "docs" / "every_n.md").read_text()


def test_another_record_is_another_page() -> None:
    assert page([RECORDS[0] | {"error": 9.0}, *RECORDS[1:]]) != page(RECORDS)


def test_ratios_of_few_wrong_labels_are_damped() -> None:
    stack = {"task": "classification", "error": 0.005, "fit": 2.0}
    other = {"task": "classification", "error": 0.0, "fit": 1.0}
    assert ratio(stack, other, "error") == pytest.approx(2.0)
    assert ratio(stack, other, "fit") == 2.0


def test_means_are_over_splits() -> None:
    some = RECORDS[0]
    [found] = means([some | {"error": 1.0}, some | {"error": 2.0}]).values()
    assert found[some["method"]]["error"] == 1.5
    assert found[some["method"]]["splits"] == 2

"""The page of errors and times as rows grow says what the committed records say."""

import json
from pathlib import Path

import pytest

from benchmarks.every_n_page import figure, means, page, ratio

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


def test_the_figure_has_a_line_for_each_table_and_their_means() -> None:
    some = next(record for record in RECORDS if record["task"] == "regression")
    made = [
        some | {"table": table, "rows": rows, "method": method, "error": error}
        for rows in (400, 1000)
        for table, factor in (("a", 0.5), ("b", 2.0))
        for method, error in (("CatBoost", 0.2), ("stacking", 0.2 * factor))
    ]
    [axes] = figure(made).axes
    lines = {str(line.get_label()): line.get_xydata().tolist() for line in axes.lines[:3]}
    assert lines["a"] == [[400, 0.5], [1000, 0.5]]
    assert lines["b"] == [[400, 2.0], [1000, 2.0]]
    assert lines["geometric mean"] == [pytest.approx([400, 1.0]), pytest.approx([1000, 1.0])]


def test_all_rows_are_one_size() -> None:
    some = RECORDS[0] | {"method": "stacking", "whole": True}
    found = means([some | {"table": "a", "rows": 9}, some | {"table": "b", "rows": 8}])
    assert {cell["stacking"]["size"] for cell in found.values()} == {"all"}

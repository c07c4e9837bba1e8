"""Pages that benchmarks write say what the committed records say."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import probabilities_page
from benchmarks.trusted_page import SECTIONS, page, pooled

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


def test_probabilities_are_what_the_records_say() -> None:
    lines = (ROOT / "benchmarks" / "probabilities.jsonl").read_text().splitlines()
    text = probabilities_page.page([json.loads(line) for line in lines])
    assert text == (ROOT / "docs" / "probabilities.md").read_text()


def test_probabilities_are_worse_where_the_interval_of_the_ratio_is_above_one() -> None:
    worse, better = "L1SVM()", "KernelStackingClassifier()"
    records = [
        {"set": f"set {number}", "rows": 300, "split": split, "estimator": name}
        | {"n": 300, "classes": 2, "scores": {"own": _scores(own), "sigmoid": _scores(0.2)}}
        for number in range(3)
        for split in range(2)
        for name, own in ((worse, 0.3), (better, 0.1), ("SVC, grid search", 0.2))
    ]
    text = probabilities_page.page(records)
    (verdict,) = re.findall(r"\* `(.+)`: log-loss: sigmoid \((.+?)\)", text)
    assert verdict == (worse, "1.500")
    assert f"| `{better}` | Brier score | 3 | 0.500 (0.500, 0.500) |" in text


def test_the_excess_of_log_loss_on_noise_is_marked_beyond_two_standard_errors() -> None:
    records = [
        {"set": name, "rows": 300, "split": split, "estimator": estimator}
        | {"n": 300, "classes": 2, "scores": {"own": _scores(value)}}
        for name in ("heart", "noise, 50:50")
        for split in range(4)
        for estimator, value in (
            ("class frequencies", 0.7),
            ("L1SVM()", 0.71 + 0.001 * (split - 1.5)),
            ("MKLClassifier(norm=2)", 0.7 + 0.001 * (split - 1.5)),
        )
    ]
    text = probabilities_page.page(records)
    assert "| `L1SVM()` | 10.0 ± 0.6 * |" in text
    assert "| `MKLClassifier(norm=2)` | 0.0 ± 0.6 |" in text
    assert "above that of the class frequencies: `L1SVM()`." in text


def _scores(value: float) -> dict[str, float]:
    return {"log_loss": value, "brier": value, "calibration_error": value}


def test_draws_are_added_to_those_of_a_record() -> None:
    values = np.random.default_rng(0).normal(size=30)

    def cell(some: np.ndarray) -> dict[str, Any]:
        error = some.std(ddof=1) / np.sqrt(len(some))
        return {"method": "one", "draws": len(some), "width": some.mean(), "width, error": error}

    found = pooled(cell(values[:10]), cell(values[10:]))
    assert found["draws"] == 30
    for name, value in cell(values).items():
        assert found[name] == value or abs(found[name] - value) < 6e-5

"""Pages that benchmarks write say what the committed records say."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import (
    every_n_page,
    machines_page,
    probabilities_page,
    rivals_page,
    runtimes_page,
)
from benchmarks.trusted_page import page, pooled

ROOT = Path(__file__).parents[1]


def records(name: str) -> list[dict[str, Any]]:
    lines = (ROOT / "benchmarks" / f"{name}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("trusted_scores", page),
        ("probabilities", probabilities_page.page),
        ("every_n", every_n_page.page),
        ("machines", machines_page.page),
        ("rivals", rivals_page.page),
        ("runtimes", runtimes_page.page),
    ],
)
def test_pages_are_what_the_records_say(name: str, written: Callable[[Any], str]) -> None:
    assert written(records(name)) == (ROOT / "docs" / f"{name}.md").read_text()


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_first_pages_quote_what_the_records_say(page: str) -> None:
    assert every_n_page.claim(records("every_n")) in (ROOT / page).read_text()


def test_the_guide_quotes_what_the_records_of_runtimes_say() -> None:
    text = (ROOT / "docs" / "guide" / "production.md").read_text()
    assert f"\n\n{runtimes_page.summary(records('runtimes'))}\n\n" in text


def test_runtimes_that_are_absent_or_refuse_are_said() -> None:
    one = {"model": "one", "runtime": "quick", "bytes": 2_000}
    times = {"row": 0.1, "predict_row": 0.3, "rows": 2.0, "predict_rows": 1.0}
    found = [
        {"machine": "a processor, 2 cores", "rows": 1000},
        {"runtime": "quick", "version": "1.2"},
        {"runtime": "strict", "version": "3.4"},
        {"runtime": "rare", "version": None},
        one | times | {"difference": 2e-12},
        one | {"runtime": "strict", "refused": "No conversion rule found: ai.onnx.ml.LabelEncoder"},
        {"model": "other", "runtime": "quick", "not_exported": "Columns of texts: 'said'."},
    ]
    text = runtimes_page.page(found)
    assert "\n* Not installed where this was measured: rare.\n" in text
    assert "\n| quick | 2e-12 | 0.1 | 3 | 2 | 0.5 |\n| strict | refused |" in text
    assert "\n* strict: It has no operator `LabelEncoder`, which reads categories." in text
    assert "## other\n\n`to_onnx` refuses the model" in text
    lines = runtimes_page.summary(found).splitlines()
    assert lines[2] == "| quick | 1.2 | 2e-12 | 3 | 0.5 |  |"
    assert lines[3:] == ["| strict | 3.4 |  |  |  | one |", "| rare | absent |  |  |  |  |"]


def test_a_claim_without_the_most_favorable_table_is_weaker() -> None:
    rows = [row.split(" | ") for row in every_n_page.claim(records("every_n")).splitlines()[2:7]]
    for cell in (cell for row in rows for cell in row[1:5]):
        mean, without = (float(number) for number in re.findall(r"[\d.]+", cell))
        assert mean <= without


def test_a_card_has_a_table_of_its_own() -> None:
    card = {
        "what": "card",
        "machine": "a card, 80 GiB",
        "torch": "2.9",
        "name": "TwoStageRegressor()",
        "rows": 36_000,
        "card": 1.5,
        "processor": None,
        "card_error": 0.25,
        "processor_error": None,
        "difference": None,
    }
    text = machines_page.page([*records("machines"), card])
    assert "### a card, 80 GiB" in text
    assert "| TwoStageRegressor() | 36,000 | 1.50 |  | 0.2500 |  |  |" in text
    assert "no times of fits on a card" not in text


def test_ratios_of_few_wrong_labels_are_damped() -> None:
    stack = {"task": "classification", "error": 0.005, "fit": 2.0}
    other = {"task": "classification", "error": 0.0, "fit": 1.0}
    assert every_n_page.ratio(stack, other, "error") == pytest.approx(2.0)
    assert every_n_page.ratio(stack, other, "fit") == 2.0


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

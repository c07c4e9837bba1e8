"""Verdicts that differ from those of an earlier page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.reporting import verdict_changes
from experiments.reporting.section import Claim, judge


def claim(statement: str, *conditions: bool) -> Claim:
    return Claim(statement, "somewhere", "a look", "something", judge(conditions), "a reason")


@pytest.fixture(autouse=True)
def _earlier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "earlier.json"
    path.write_text(json.dumps({"One": "holds", "Two": "holds in part"}))
    monkeypatch.setattr(verdict_changes, "EARLIER", path)
    monkeypatch.setattr(verdict_changes, "REASONS", {"One": "It rains."})


def test_changes_are_counted_and_explained() -> None:
    found = verdict_changes.verdict_changes(
        [claim("One.", False), claim("Two", True, False), claim("Three", True)]
    )
    assert "| 1 | One | holds | does not hold | It rains. |" in found
    assert "of 2 claims, 1 hold, 1 hold in part, 0 do not hold" in found
    assert "of 3, 1 of them new, 1 hold, 1 hold in part, 1 do not hold" in found
    assert "Three" not in found


def test_a_change_without_a_reason_is_refused() -> None:
    with pytest.raises(ValueError, match="no reason is known"):
        verdict_changes.verdict_changes([claim("Two", True)])

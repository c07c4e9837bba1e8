"""Runs that cannot be carried out are skipped with the reason, or fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import experiments.__main__ as command
from experiments import catalog
from experiments.experiment import Experiment, Measures, Run, Unavailable
from experiments.running.records import Archive, Record
from experiments.running.runner import Failure, Outcome, Skipped, attempt


def missing(_: Any) -> Measures:
    raise Unavailable("no such package")


def wrong(_: Any) -> Measures:
    raise RuntimeError("a mistake")


METHODS = {"missing": missing, "wrong": wrong, "right": lambda _: {"error": 0.5}}
EXPERIMENT = Experiment("A title", "a source", {"p": lambda repeat: repeat}, METHODS, repeats=1)


@pytest.fixture(autouse=True)
def _declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "experiment", lambda name, small=False: EXPERIMENT)


def outcome(method: str) -> Outcome:
    return attempt(Run("made up", "p", method, 0), alone=False, small=False)


def test_a_missing_package_is_no_failure() -> None:
    found = outcome("missing")
    assert isinstance(found, Skipped)
    assert found.reason == "no such package"
    assert isinstance(outcome("wrong"), Failure)
    assert isinstance(outcome("right"), Record)


def test_skipped_runs_are_counted_by_reason_and_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def carry_out(runs: list[Run], *_: Any, **__: Any) -> Iterator[Outcome]:
        for run in runs:
            if run.method != "wrong":
                yield outcome(run.method)

    monkeypatch.setattr(command, "carry_out", carry_out)
    given = ["run", "made up", "--records", str(tmp_path)]
    found = CliRunner().invoke(command.app, given)
    assert found.exit_code == 0, found.output
    assert "skipped 1 run: no such package" in found.output
    assert Archive(tmp_path).records("made up") == []

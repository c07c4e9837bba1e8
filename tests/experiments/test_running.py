"""Records that survive interruptions, and runs that give them."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import experiments.__main__ as command
from experiments import catalog
from experiments.experiment import Experiment, Measures, Run, Unavailable
from experiments.running import Archive, Failure, Outcome, Record, Skipped, attempt, without_times

RUN = Run("toy", "easy", "CA-1D", 0)


RECORD = Record(
    RUN, {"error": 0.25, "found": [1.0, 2.0]}, alone=False, seconds=1.5, cpu_seconds=1.0
)


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "records")


def test_a_record_is_read_as_it_was_written(archive: Archive) -> None:
    archive.append(RECORD)
    assert archive.records("toy") == [RECORD]


def test_measures_of_numpy_and_without_a_value_are_written(archive: Archive) -> None:
    measures = {
        "a": np.float64(1 / 3),
        "b": np.arange(2),
        "c": np.nan,
        "d": np.bool_(True),
        "e": {"f": (np.int64(3),)},
    }
    archive.append(replace(RECORD, measures=measures))
    (found,) = archive.records("toy")
    expected = {"a": 0.3333333, "b": [0, 1], "c": None, "d": True, "e": {"f": [3]}}
    assert found.measures == expected


def test_an_incomplete_line_is_dropped_and_its_run_repeated(archive: Archive) -> None:
    archive.append(RECORD)
    second = replace(RUN, repeat=1)
    with archive.path("toy").open("a") as file:
        file.write(replace(RECORD, run=second).line()[:40])
    assert archive.missing([RUN, second], alone=False) == [second]
    archive.append(replace(RECORD, run=second))
    lines = archive.path("toy").read_text().splitlines()
    assert [json.loads(line)["repeat"] for line in lines] == [0, 1]


def test_a_run_alone_counts_for_both_and_is_preferred(archive: Archive) -> None:
    archive.append(RECORD)
    assert archive.missing([RUN], alone=False) == []
    assert archive.missing([RUN], alone=True) == [RUN]
    alone = replace(RECORD, alone=True, measures={"error": 0.25, "seconds": 0.1})
    archive.append(alone)
    archive.append(RECORD)
    assert archive.missing([RUN], alone=True) == []
    assert archive.latest("toy") == {RUN: alone}


def test_times_of_runs_beside_others_are_dropped() -> None:
    assert without_times({"error": 0.1, "seconds": 1, "seconds_search": 2}) == {"error": 0.1}


def test_a_line_that_is_no_record_is_named(archive: Archive) -> None:
    archive.append(RECORD)
    with archive.path("toy").open("a") as file:
        file.write("{}\n")
    with pytest.raises(ValueError, match=r"toy\.jsonl, line 2 is no record"):
        archive.records("toy")


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

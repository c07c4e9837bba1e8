"""Records that survive interruptions, runs that give them, and the command that starts them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import experiments.__main__ as main
from experiments import catalog
from experiments.__main__ import app
from experiments.experiment import Experiment, Measures, Run, Unavailable
from experiments.running import Archive, Outcome, Record, attempt

ROOT = Path(__file__).parents[2]
# An experiment on synthetic data.
WITHOUT_DATA = "relevance"
CHEAP = ("DA", "DU")
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


def missing(_: Any) -> Measures:
    raise Unavailable("no such package")


METHODS = {"missing": missing, "right": lambda _: {"error": 0.5}}
EXPERIMENT = Experiment("A title", "a source", {"p": lambda repeat: repeat}, METHODS, repeats=1)


def test_skipped_runs_are_counted_by_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "experiment", lambda name, small=False: EXPERIMENT)

    def carry_out(runs: list[Run], *_: Any, **__: Any) -> Iterator[Outcome]:
        for run in runs:
            yield attempt(run, alone=False, small=False)

    monkeypatch.setattr(main, "carry_out", carry_out)
    given = ["run", "made up", "--records", str(tmp_path)]
    found = CliRunner().invoke(app, given)
    assert found.exit_code == 0, found.output
    assert "skipped 1 run: no such package" in found.output


def test_killed_runs_continue_and_are_listed_and_reported(tmp_path: Path) -> None:
    archive = tmp_path / "records"
    run = ["run", WITHOUT_DATA, "--small", "--repeats", "1", "--jobs", "1"]
    run += ["--records", str(archive), *(f"--method={method}" for method in CHEAP)]
    path = Archive(archive).path(WITHOUT_DATA)
    command = [sys.executable, "-m", "experiments", *run]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, start_new_session=True)
    while process.poll() is None and not (path.exists() and path.read_text().count("\n") > 1):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    begun = path.read_text().splitlines()[:2]
    runner = CliRunner()
    ended = runner.invoke(app, run)
    assert ended.exit_code == 0, ended.output
    assert re.search(r"runs, [1-9]\d* of them recorded before", ended.output)
    records = Archive(archive).records(WITHOUT_DATA)
    planned = catalog.experiment(WITHOUT_DATA, small=True).runs(WITHOUT_DATA, 1)
    some = sorted(run.method for run in planned if run.method in CHEAP)
    assert sorted(record.run.method for record in records) == some
    assert set(some) == {*CHEAP}
    assert path.read_text().splitlines()[:2] == begun
    assert not any("seconds" in json.loads(line)["measures"] for line in begun)

    small = ["--small", "--records", str(archive)]
    listed = runner.invoke(app, ["list", *small], env={"COLUMNS": "200"})
    assert WITHOUT_DATA in listed.output
    reported = runner.invoke(app, ["report", *small, "--out", str(tmp_path / "docs")])
    assert reported.exit_code == 0, reported.output
    page = (tmp_path / "docs" / "reproduction.md").read_text()
    assert catalog.experiment(WITHOUT_DATA, small=True).title in page
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]*)\)", page):
        assert (tmp_path / "docs" / picture).stat().st_size > 0


def test_unknown_names_and_folders_are_rejected() -> None:
    unknown = CliRunner().invoke(app, ["run", WITHOUT_DATA, "--method", "alchemy"])
    assert unknown.exit_code == 2
    assert "alchemy" in unknown.output
    unknown = CliRunner().invoke(app, ["run", "alchemy"])
    assert unknown.exit_code == 2
    assert "alchemy" in unknown.output
    nowhere = CliRunner().invoke(app, ["run", WITHOUT_DATA, "--data", "/nowhere/at/all"])
    assert nowhere.exit_code == 2

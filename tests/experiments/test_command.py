"""The experiments as a command, and the page that it wrote."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments import catalog
from experiments.__main__ import DOCS, RECORDS, app
from experiments.reporting.page import anchor, read, text
from experiments.running.records import Archive

ROOT = Path(__file__).parents[2]
WITHOUT_DATA = "relevance"
"""An experiment on synthetic data."""


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "experiments", *arguments]


def test_killed_in_the_middle_it_goes_on(tmp_path: Path) -> None:
    run = command("run", WITHOUT_DATA, "--small", "--repeats", "1", "--jobs", "1")
    run += ["--records", str(tmp_path)]
    path = Archive(tmp_path).path(WITHOUT_DATA)
    process = subprocess.Popen(run, cwd=ROOT, stderr=subprocess.DEVNULL, start_new_session=True)
    while process.poll() is None and not (path.exists() and path.read_text().count("\n") > 1):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    begun = path.read_text().splitlines()[:2]
    ended = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True)
    assert re.search(r"runs, [1-9]\d* of them recorded before", ended.stderr)
    records = Archive(tmp_path).records(WITHOUT_DATA)
    planned = list(catalog.experiment(WITHOUT_DATA, small=True).runs(WITHOUT_DATA, 1))
    assert sorted(record.run.method for record in records) == sorted(run.method for run in planned)
    assert path.read_text().splitlines()[:2] == begun
    assert not any("seconds" in json.loads(line)["measures"] for line in begun)


def test_what_was_run_is_listed_and_reported(tmp_path: Path) -> None:
    small = ["--small", "--records", str(tmp_path / "records")]
    runner = CliRunner()
    run = ["run", WITHOUT_DATA, *small, "--repeats", "1", "--jobs", "2"]
    assert runner.invoke(app, run).exit_code == 0
    listed = runner.invoke(app, ["list", *small], env={"COLUMNS": "200"})
    assert WITHOUT_DATA in listed.output
    reported = runner.invoke(app, ["report", *small, "--out", str(tmp_path / "docs")])
    assert reported.exit_code == 0, reported.output
    page = (tmp_path / "docs" / "reproduction.md").read_text()
    assert catalog.experiment(WITHOUT_DATA, small=True).title in page
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]*)\)", page):
        assert (tmp_path / "docs" / picture).stat().st_size > 0


def test_unknown_names_and_folders_are_refused() -> None:
    unknown = CliRunner().invoke(app, ["run", "alchemy"])
    assert unknown.exit_code == 2
    assert "alchemy" in unknown.output
    nowhere = CliRunner().invoke(app, ["run", WITHOUT_DATA, "--data", "/nowhere/at/all"])
    assert nowhere.exit_code == 2


@pytest.mark.parametrize("name", catalog.names())
def test_every_method_sees_the_same_data(name: str, data: Any) -> None:
    del data
    for draw in catalog.experiment(name, small=True).problems.values():
        assert same(draw(1), draw(1))


@pytest.mark.parametrize("name", catalog.names())
def test_limits_are_of_problems_and_methods_that_there_are(name: str) -> None:
    experiment = catalog.experiment(name)
    assert {problem for problem, _ in experiment.limits} <= set(experiment.problems)
    assert {method for _, method in experiment.limits} <= set(experiment.methods)


def same(first: Any, second: Any) -> bool:
    """Whether two draws are equal, whatever they are made of."""
    if hasattr(first, "__dict__"):
        return same(vars(first), vars(second))
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, tuple | list):
        return all(same(*pair) for pair in zip(first, second, strict=True))
    return bool(np.array_equal(first, second))


def test_names_are_files() -> None:
    for folder in ("definitions", "sections"):
        files = {path.stem for path in (ROOT / "experiments" / folder).glob("[!_]*.py")}
        assert files == set(catalog.names())


def test_the_page_is_what_the_records_say() -> None:
    chapters = read(Archive(RECORDS), small=False)
    page = (DOCS / "reproduction.md").read_text()
    assert text(chapters) == page
    assert {chapter.name for chapter in chapters} == set(catalog.names())
    assert sum(len(chapter.section.claims) for chapter in chapters) >= 24
    headings = {anchor(line.lstrip("# ")) for line in page.splitlines() if line.startswith("#")}
    assert set(re.findall(r"\]\(#([^)]*)\)", page)) <= headings
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]*)\)", page):
        assert (DOCS / picture).exists()

"""The command `python -m experiments`: runs, their list, and the report."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from typer.testing import CliRunner

from experiments import catalog
from experiments.__main__ import app
from experiments.running import Archive

ROOT = Path(__file__).parents[2]
# An experiment on synthetic data.
WITHOUT_DATA = "relevance"
CHEAP = ("CA-1D", "DA", "DU")


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "experiments", *arguments]


def test_killed_runs_continue_and_are_listed_and_reported(tmp_path: Path) -> None:
    archive = tmp_path / "records"
    run = command("run", WITHOUT_DATA, "--small", "--repeats", "1", "--jobs", "2")
    run += ["--records", str(archive), *(f"--method={method}" for method in CHEAP)]
    path = Archive(archive).path(WITHOUT_DATA)
    process = subprocess.Popen(run, cwd=ROOT, stderr=subprocess.DEVNULL, start_new_session=True)
    while process.poll() is None and not (path.exists() and path.read_text().count("\n") > 1):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    begun = path.read_text().splitlines()[:2]
    runner = CliRunner()
    ended = runner.invoke(app, run[3:])
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

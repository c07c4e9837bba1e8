"""Runs that are interrupted or killed at random moments leave the old file or the new one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_cases import call, class_table, pd

from mercer_command.files import check_outputs, load_model

_N_RUNS = 20

_CHILDREN = """
import json, os, signal, sys, time
from pathlib import Path
from random import Random
from mercer_command.app import app
from mercer_command.files import load_model, save_model

models = [load_model(Path(name)) for name in ("a.skops", "b.skops")]

def write():
    try:
        while True:
            for model, name in zip(models, ("a.skops", "b.skops")):
                save_model(model, Path("m.skops"))
                try:
                    app(["predict", name, "table.csv", "--out", "p.csv"])
                except SystemExit as done:
                    if done.code:
                        os._exit(done.code)
    except KeyboardInterrupt:
        os._exit(130)

random = Random(0)
for run in range(int(sys.argv[1])):
    number = signal.SIGKILL if run % 2 else signal.SIGINT
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        write()
    time.sleep(random.uniform(0.05, 1.5))
    ended, status = 0, 0
    while not ended:  # Python ignores an interruption in a destructor, so that users repeat it.
        os.kill(child, number)
        for _ in range(50):
            time.sleep(0.01)
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
    print(json.dumps([run, number, os.waitstatus_to_exitcode(status)]), flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two models of a table, with their predictions, in the current folder."""
    monkeypatch.chdir(tmp_path)
    class_table().to_csv("table.csv", index=False)
    found = []
    for name, learner in (("a", "uniform"), ("b", "alignf")):
        call("fit", "table.csv", "--target", "kind", "--learner", learner, "--out", f"{name}.skops")
        call("predict", f"{name}.skops", "table.csv", "--out", f"{name}.csv")
        found.append(Path(f"{name}.csv").read_text())
    assert found[0] != found[1]
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_every_file_is_the_old_or_the_new_one(models: list[str]) -> None:
    Path("m.skops").write_bytes(Path("a.skops").read_bytes())
    Path("p.csv").write_text(models[0])
    table, ends, seen = pd.read_csv("table.csv"), [], set()
    decisions = [load_model(Path(f"{n}.skops")).decision_function(table) for n in "ab"]
    command = [sys.executable, "-c", _CHILDREN, str(_N_RUNS)]
    with subprocess.Popen(
        command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as runs:
        assert runs.stdin is not None
        assert runs.stdout is not None
        for line in runs.stdout:
            _, number, code = json.loads(line)
            ends.append((number, code))
            found = load_model(Path("m.skops")).decision_function(table)
            assert any(np.array_equal(found, expected) for expected in decisions)
            assert Path("p.csv").read_text() in models
            seen.add(Path("p.csv").read_text())
            # The next run removes what this one left, and nothing else.
            check_outputs(Path("p.csv"))
            names = {path.name for path in Path().iterdir()}
            assert names == {
                "a.csv",
                "a.skops",
                "b.csv",
                "b.skops",
                "m.skops",
                "p.csv",
                "table.csv",
            }
            runs.stdin.write("\n")
            runs.stdin.flush()
    assert len(ends) == _N_RUNS
    assert set(ends) == {(2, 130), (9, -9)}
    assert len(seen) == 2

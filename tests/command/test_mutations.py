"""A thousand damaged and forged models, and damaged tables: nothing runs, nothing is lost silently.

What is asserted of each model: no code is executed, loading takes less than 2 seconds and 500 MB,
and the command ends with predictions or one line and exit code 2, within 20 seconds and 2 GB.
Damaged models are refused, and so are those whose structure was forged, if they do not predict what
they did.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import call, class_table, done, response_table
from mutation_worker import outcome
from mutations import BYTES, Random

Mutation = Callable[[bytes, Random], bytes]
WORKER = Path(__file__).parents[1] / "mutation_worker.py"

_PATIENCE = 600
"""Seconds after which a process is ended that does not end by itself."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables, models, their predictions, and a module that must not be imported."""
    path = tmp_path_factory.mktemp("mutations")
    tables = {"classes": class_table(), "responses": response_table()}
    fits = [
        ("classes", "classes", "kind", "uniform"),
        ("classes2", "classes", "kind", "stacking"),
        ("responses", "responses", "y", "stacking"),
        ("responses2", "responses", "y", "ca"),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        for name, table, target, learner in fits:
            tables[table].to_csv(f"{name}.csv", index=False)
            model = ("--learner", learner, "--out", f"{name}.skops")
            done("fit", f"{name}.csv", "--target", target, *model)
            done("predict", f"{name}.skops", f"{name}.csv", "--out", f"{name}-p.csv")
    (path / "canary.py").write_text("open('canary-sang', 'w').close()\ndef sing(*_): pass\n")
    return path


def run(folder: Path, mutation: str, seeds: list[int]) -> dict[int, Any]:
    """Return what was found of each seed: outcome, problem, processor seconds, bytes of memory."""
    known: dict[int, Any] = {}
    while waiting := [seed for seed in seeds if seed not in known]:
        command = [sys.executable, str(WORKER), str(folder), mutation, *map(str, waiting)]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=_PATIENCE + len(waiting),
                check=False,
            )
            output, end = done.stdout, f"exit code {done.returncode}: {done.stderr[-300:]}"
        except subprocess.TimeoutExpired as late:
            output, end = (late.stdout or b"").decode(), "did not end"
        lines = [json.loads(line) for line in output.splitlines()]
        assert lines, end
        known |= {seed: found or ["ended", end, 0.0, 0] for seed, *found in lines}
    return known


@pytest.mark.parametrize(
    "n_cases", [100, pytest.param(1000, marks=pytest.mark.campaign)], ids=["tenth", "all"]
)
@pytest.mark.parametrize("mutation", ["damaged_model", "forged_model"])
def test_mutated_models_do_no_harm(folder: Path, mutation: str, n_cases: int) -> None:
    found = run(folder, mutation, list(range(n_cases)))
    outcomes = Counter(outcome for outcome, *_ in found.values())
    slowest, largest = (max(values[n] for values in found.values()) for n in (2, 3))
    print(json.dumps(outcomes, indent=1, sort_keys=True))  # noqa: T201
    print(f"slowest {slowest:.2f} s, largest {largest / 1e6:.1f} MB")  # noqa: T201
    problems = {seed: [o, problem] for seed, (o, problem, *_) in found.items() if problem}
    assert not problems, json.dumps(problems, indent=1)
    assert not (folder / "canary-sang").exists()
    assert len(found) == n_cases
    assert any("refused" in outcome for outcome in outcomes)
    assert largest < 500e6
    if mutation == "damaged_model":
        assert not any("otherwise" in outcome for outcome in outcomes)
    else:
        assert any("answered the same" in outcome for outcome in outcomes)
    if n_cases == 1000:
        assert slowest < 2.0


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
@pytest.mark.parametrize("mutation", BYTES, ids=lambda mutation: mutation.__name__)
def test_damaged_tables_are_refused_in_one_line_or_predicted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, mutation: Mutation
) -> None:
    monkeypatch.chdir(folder)
    path, frame = Path(f"damaged{suffix}"), class_table()
    write = frame.to_parquet if suffix == ".parquet" else frame.to_csv
    write(path, index=False)
    content = path.read_bytes()
    for seed in range(3):
        path.write_bytes(mutation(content, np.random.default_rng(seed)))
        outcome(call("predict classes.skops", path, "--out", "p.csv"))

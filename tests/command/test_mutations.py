"""A thousand damaged and forged models, and damaged tables: nothing runs, nothing is lost silently.

What is asserted of each model: no code is executed, the command ends with predictions or one line
and exit code 2, within 20 seconds and 2 GB. Models that were damaged, without a valid checksum,
predict what they did or are refused.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command_cases import call, class_table, response_table
from mutation_worker import outcome
from mutations import BYTES, Random

Mutation = Callable[[bytes, Random], bytes]
WORKER = Path(__file__).parents[1] / "mutation_worker.py"

_PATIENCE = 120
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
            assert call("fit", f"{name}.csv", "--target", target, *model).exit_code == 0
            result = call("predict", f"{name}.skops", f"{name}.csv", "--out", f"{name}-p.csv")
            assert result.exit_code == 0
    (path / "canary.py").write_text("open('canary-sang', 'w').close()\ndef sing(*_): pass\n")
    return path


def run(folder: Path, seeds: list[int]) -> tuple[Counter[str], dict[int, str]]:
    """Return how often which outcome was found, and the problems by their seeds."""
    outcomes, problems = Counter[str](), dict[int, str]()
    while seeds:
        command = [sys.executable, str(WORKER), str(folder), *map(str, seeds)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_PATIENCE + len(seeds), check=False
            )
            output, end = done.stdout, f"exit code {done.returncode}: {done.stderr[-300:]}"
        except subprocess.TimeoutExpired as late:
            output, end = (late.stdout or b"").decode(), "did not end"
        lines = [json.loads(line) for line in output.splitlines()]
        tried = {seed: found for seed, *found in lines}
        for seed, found in tried.items():
            outcomes[found[0] if found else "ended"] += 1
            if not found or found[1] is not None:
                problems[seed] = found[1] if found else end
        assert tried, end
        seeds = [seed for seed in seeds if seed not in tried]
    return outcomes, problems


@pytest.mark.parametrize(
    "n_cases", [100, pytest.param(1000, marks=pytest.mark.campaign)], ids=["tenth", "all"]
)
def test_mutated_models_do_no_harm(folder: Path, n_cases: int) -> None:
    # A tenth of the cases, of every kind.
    seeds = list(range(1000))[:n_cases] if n_cases == 1000 else list(range(0, 1000, 9))[:n_cases]
    outcomes, problems = run(folder, seeds)
    print(json.dumps(outcomes, indent=1, sort_keys=True))  # noqa: T201
    assert not problems, json.dumps(problems, indent=1)
    assert not (folder / "canary-sang").exists()
    assert sum(outcomes.values()) == len(seeds)
    assert any("refused" in outcome for outcome in outcomes)
    assert any("answered" in outcome for outcome in outcomes)


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
        outcome(call("predict", "classes.skops", path, "--out", "p.csv"))

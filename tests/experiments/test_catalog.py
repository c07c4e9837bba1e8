"""What every experiment of the catalog must satisfy."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments import catalog
from experiments.experiment import Experiment
from experiments.problems import three_parts

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", catalog.names())
def test_every_method_sees_the_same_data(name: str, data: Any) -> None:
    del data
    for draw in catalog.experiment(name, small=True).problems.values():
        assert same(draw(1), draw(1))


def same(first: Any, second: Any) -> bool:
    """Whether two draws are equal, whatever they are made of."""
    if isinstance(first, pd.DataFrame):
        return bool(first.equals(second))
    if hasattr(first, "__dict__"):
        return same(vars(first), vars(second))
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, tuple | list):
        return all(same(*pair) for pair in zip(first, second, strict=True))
    return bool(np.array_equal(first, second))


def test_every_experiment_has_one_file() -> None:
    files = {path.stem for path in (ROOT / "experiments" / "studies").glob("[!_]*.py")}
    assert files == set(catalog.names())


def test_runs_go_round_by_round_and_slow_methods_stop_early() -> None:
    toy = Experiment(
        "A toy",
        "nowhere",
        problems=dict.fromkeys("pq", lambda repeat: repeat),
        methods=dict.fromkeys("ab", lambda data: {"value": data}),
        limits={("p", "b"): 1, ("q", "a"): 0},
    )
    runs = [(run.repeat, run.problem, run.method) for run in toy.runs("toy", 2)]
    assert runs == [(0, "p", "a"), (0, "p", "b"), (0, "q", "b"), (1, "p", "a"), (1, "q", "b")]
    alone = replace(toy, untimed=("b",)).runs("toy", 1, timing=True)
    assert [(run.problem, run.method) for run in alone] == [("p", "a")]


def test_parts_do_not_overlap_and_repeat() -> None:
    X = np.arange(50.0)[:, None]
    first, again = (three_parts(X, np.arange(50), (10, 15, 20), seed=3) for _ in range(2))
    rows = np.concatenate([part[1] for part in (first.train, first.valid, first.test)])
    assert len(set(rows)) == 45
    np.testing.assert_array_equal(first.train[0], again.train[0])

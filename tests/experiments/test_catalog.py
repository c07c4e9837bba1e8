"""What every experiment of the catalog must satisfy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments import catalog

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", catalog.names())
def test_every_method_sees_the_same_data(name: str, data: Any) -> None:
    del data
    for draw in catalog.experiment(name, small=True).problems.values():
        assert same(draw(1), draw(1))


@pytest.mark.parametrize("name", catalog.names())
def test_limits_name_problems_and_methods_of_the_experiment(name: str) -> None:
    experiment = catalog.experiment(name)
    assert {problem for problem, _ in experiment.limits} <= set(experiment.problems)
    assert {method for _, method in experiment.limits} <= set(experiment.methods)


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

"""What the experiments on public sets share: one-stage trials, gaps, ranks beside the paper's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments.experiment import Experiment
from experiments.methods import automatic, grid_search, validated_ellipsoids, width_search
from experiments.problems import Split
from experiments.reporting.ranking import gap, ranks, table_2
from experiments.reporting.results import Results
from experiments.validation import best_trial, trials
from mercer import MKLClassifier
from mercer.datasets import make_ringnorm


@pytest.fixture(scope="module")
def split() -> Split:
    return Split(*(make_ringnorm(40, n_features=3, random_state=seed) for seed in range(3)))


def test_trials_end_where_no_dual_variable_reaches_C(split: Split) -> None:
    found = trials(lambda C: MKLClassifier(C=C), split, 10.0 ** np.arange(-1, 9))
    largest = [np.abs(trial.model.dual_coef_).max() / trial.model.C for trial in found]
    assert len(found) < 10
    assert largest[-1] < 0.999
    assert min(largest[:-1]) >= 0.999
    assert best_trial(found).loss == min(trial.loss for trial in found)
    assert len(trials(lambda C: MKLClassifier(C=C), split, [1e7, 1e8], every=True)) == 2


@pytest.mark.filterwarnings("ignore:Solver terminated early")
def test_both_grid_searches_find_the_same(split: Split) -> None:
    search = grid_search(split)
    found = width_search(split)
    assert 0.0 <= found["error"] < 0.5
    for name, value in found.items():
        assert search[name] == pytest.approx(value)


def test_penalties_beyond_spheres_change_nothing(split: Split) -> None:
    penalties = 10.0 ** np.arange(-2, 9, 2)
    found, every = (validated_ellipsoids(penalties, every=every)(split) for every in (False, True))
    assert found["penalty"] in penalties
    assert every["penalty"] >= found["penalty"]
    assert found["error"] == pytest.approx(every["error"])


def test_the_automatic_kernel_is_the_same_with_either_C(split: Split) -> None:
    found = [automatic(validated=validated)(split) for validated in (False, True)]
    assert found[0]["kernels"] == found[1]["kernels"]
    assert all(0.0 <= each["error"] < 0.5 for each in found)


def results(errors: dict[str, list[float]]) -> Results:
    """Records of two repeats on as many tasks as there are errors."""
    rows = [
        {"problem": f"task {task}", "method": method, "repeat": repeat, "error": error}
        for method, values in errors.items()
        for task, error in enumerate(values)
        for repeat in range(2)
    ]
    tasks = {f"task {task}": lambda repeat: None for task in range(6)}
    methods = {method: lambda data: {} for method in errors}
    return Results(Experiment("", "", tasks, methods), pd.DataFrame(rows))


def test_gap_is_in_points_over_tasks() -> None:
    found = gap(
        results({"CA-1D": [0.1] * 6, "DU": [0.15, 0.16, 0.17, 0.18, 0.19, 0.2]}), "CA-1D", "DU"
    )
    assert found.points == pytest.approx(-7.5)
    assert (found.lower, found.n_tasks) == (6, 6)
    assert found.clearly_lower
    alone = gap(results({"CA-1D": [0.1], "DU": [0.2]}), "CA-1D", "DU")
    assert alone.p_value == 1.0
    assert gap(results({"CA-1D": [0.1]}), "CA-1D", "DU").n_tasks == 0


def test_table_2_has_ranks_beside_the_papers() -> None:
    one = results({"CA-1D": [0.1, 0.1], "DU": [0.2, 0.3]})
    assert ranks(one).to_dict() == {"CA-1D": 1.0, "DU": 2.0}
    assert "| CA-1D | 1 (1) |" in table_2({"digits": one})

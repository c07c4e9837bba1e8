"""Figures of what a model learned show the numbers that they name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from command_cases import pd, recorded_axes

from mercer_command.fitting import LearnedKernel, learned_shares
from mercer_command.importance import ColumnImportance
from mercer_command.methods import make_model
from mercer_command.model_figures import (
    _horizontal,
    importance_section,
    kernel_section,
    partial_section,
)
from mercer_command.problem import as_problem

N = 60


@pytest.fixture
def axes(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The axes of all figures that are drawn."""
    return recorded_axes(monkeypatch)


def fitted(learner: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    minutes = rng.integers(0, 24 * 60, N)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=N),
            "clock": [f"{m // 60:02d}:{m % 60:02d}" for m in minutes],
            "y": np.sin(minutes / 230.0),
        }
    )
    problem = as_problem(frame, "y")
    model = make_model(learner, problem, np.arange(N))
    return model.fit(problem.features, problem.target), problem.features


def test_times_of_day_are_drawn_in_hours(axes: list[Any]) -> None:
    model, X = fitted("uniform")
    partial_section(model, X, ["clock"])
    hours = axes[0].lines[0].get_xdata()
    assert 0.0 <= hours.min() < 3.0
    assert 21.0 < hours.max() <= 24.0


def test_shares_of_kernels_are_drawn(axes: list[Any]) -> None:
    model, _ = fitted("uniform")
    kernels = learned_shares(model)
    kernel_section(model, LearnedKernel(alignment=0.5, test_alignment=0.5, kernels=kernels))
    (drawn,) = axes
    shares = [share for _, _, share in kernels]
    assert np.ptp(shares) > 0.01
    np.testing.assert_allclose(sorted(bar.get_width() for bar in drawn.patches), sorted(shares))


def test_a_column_that_misleads_has_a_bar_to_the_left(axes: list[Any]) -> None:
    found = [ColumnImportance(*values) for values in (("a", 0.5, 0.3, 0.1), ("b", 0.5, -0.2, 0.1))]
    importance_section(found, "classification", "")
    (drawn,) = axes
    np.testing.assert_allclose([bar.get_width() for bar in drawn.patches], [30.0, -20.0])
    assert drawn.get_xlim()[0] <= -30.0


def test_dates_stand_at_the_second_that_was_read() -> None:
    times = np.datetime64("2024-01-12T00:00:00") + np.arange(86_400).astype("timedelta64[s]")
    days = (times - np.datetime64(0, "s")) / np.timedelta64(1, "D")
    np.testing.assert_array_equal(_horizontal(days, "date"), times)

"""The objective of one step of CA-1D."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.step_objective import RecordingSearch, StepObjective, minima
from mercer._gram.samples import Samples
from mercer._greedy.alignment import Growth, grow_dictionary
from mercer._greedy.step_rules import CorrectiveStep
from mercer._search.family_search import family_searches
from mercer._targets import as_target
from mercer.kernels import Gaussian


def test_minima_are_counted_inside_and_with_the_ends_unless_shallow() -> None:
    assert minima(np.array([0.0, -1.0, 0.0, -0.5, 0.0]), 0.1) == (2, 2)
    assert minima(np.array([0.0, -1.0, 0.0, -0.05, 0.0]), 0.1) == (1, 1)
    assert minima(np.array([-1.0, 0.0, -1.0, 0.0, -1.0]), 0.1) == (1, 3)


def test_the_recorded_objective_is_minimal_at_the_width_that_the_search_finds() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.choice([-1, 1], 40)
    samples, target = Samples(X), as_target(y)
    inner = family_searches([Gaussian()], samples, target.centered, starts=[None])
    search = RecordingSearch(inner[0])
    grow_dictionary([search], samples, target.centered, Growth(CorrectiveStep(), max_kernels=2))
    objective = StepObjective.of(X, search.asked[0])
    assert objective.value(search.found[0]) <= objective.curve(np.geomspace(0.1, 100, 50)).min()
    step = 1e-5
    rise = objective.value(1.5 + step) - objective.value(1.5 - step)
    assert objective.slope(1.5) == pytest.approx(rise / (2.0 * step), rel=1e-5)

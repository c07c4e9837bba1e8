"""What the experiments on synthetic data rest on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments.definitions.sine_scan import features
from experiments.experiment import Experiment
from experiments.reporting.curves import axis, trend
from experiments.reporting.results import Results
from experiments.search import Objective, RecordingSearch, minima
from mercer import ContinuousAlignment
from mercer._greedy.alignment import Growth, grow_dictionary
from mercer._search.family_search import family_searches
from mercer.datasets import make_sine
from mercer.kernels import Dirichlet, Gaussian


def test_features_of_a_frequency() -> None:
    """The Dirichlet kernel is one and twice their inner product."""
    X, _ = make_sine(20, random_state=0)
    Z = features(X, 1.7)
    np.testing.assert_allclose(1.0 + 2.0 * Z @ Z.T, Dirichlet(1.7)(X))


def test_minima() -> None:
    """Inside, and with ends; shallow ones do not count."""
    assert minima(np.array([0.0, -1.0, 0.0, -0.5, 0.0]), 0.1) == (2, 2)
    assert minima(np.array([0.0, -1.0, 0.0, -0.05, 0.0]), 0.1) == (1, 1)
    assert minima(np.array([-1.0, 0.0, -1.0, 0.0, -1.0]), 0.1) == (1, 3)


def test_recorded_objective() -> None:
    """What a search was asked is what the learner maximizes, and its slope is right."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.choice([-1, 1], 40)
    learner = ContinuousAlignment()
    samples, target = learner.problem(X, y)
    rule = learner.growth().rule
    inner = family_searches([Gaussian()], samples, target.centered, starts=[None])
    search = RecordingSearch(inner[0])
    grow_dictionary([search], samples, target.centered, Growth(rule, max_kernels=2))
    objective = Objective.of(X, search.asked[0])
    assert objective.value(search.found[0]) <= objective.curve(np.geomspace(0.1, 100, 50)).min()
    step = 1e-5
    rise = objective.value(1.5 + step) - objective.value(1.5 - step)
    assert objective.slope(1.5) == pytest.approx(rise / (2.0 * step), rel=1e-5)


def test_trend() -> None:
    """From the first place to the last."""
    problems = {f"gamma={gamma}": lambda repeat: repeat for gamma in (0, 5, 40)}
    rows = [
        {"problem": name, "method": "DA", "repeat": repeat, "error": rank + 0.01 * repeat}
        for rank, name in enumerate(problems)
        for repeat in range(3)
    ]
    results = Results(Experiment("", "", problems, {"DA": lambda data: {}}), pd.DataFrame(rows))
    places = axis(results, "gamma")
    assert list(places.values()) == [0.0, 5.0, 40.0]
    change, p_value = trend(results, "error", "DA", places)
    assert change == pytest.approx(2.0)
    assert p_value < 1e-6

"""Experiments on dependence maximization: starts of the search, votes of pairs, paired tests."""

import numpy as np
import pandas as pd
import pytest

from experiments.definitions.output_kernels import learned_pairs, votes
from experiments.definitions.starts import Objective, bfgs, from_features, from_grid
from experiments.experiment import Experiment
from experiments.reporting.errors import Errors
from experiments.reporting.results import Results
from mercer import KernelOptimization


def objective(n_features, *, ard=False):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.random((40, n_features)) * 0.5 + 0.5 * y[:, None]
    samples, target = KernelOptimization().problem(X, y)
    return Objective("hsic", samples, target, ard)


def test_a_start_far_below_all_distances_stays_and_one_among_them_does_not():
    problem = objective(60)
    stuck, found = from_features(problem), from_grid(problem)
    assert stuck.log_widths == pytest.approx(-np.log(60))
    assert found.value > 1.5 * stuck.value
    best = KernelOptimization().fit(problem.samples.X, np.arange(40) % 2).objective_
    assert found.value == pytest.approx(39**2 * best, rel=1e-4)


def test_slopes_are_those_of_the_criterion():
    problem, start = objective(3, ard=True), np.log([0.5, 1.0, 2.0])
    gradient = problem(start)[1]
    steps = 1e-6 * np.eye(3)
    numeric = [(problem(start + h)[0] - problem(start - h)[0]) / 2e-6 for h in steps]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-7)


def test_widths_too_large_for_a_double_leave_features_out():
    problem = objective(3, ard=True)
    far = problem.kernel(np.array([0.0, 0.0, 800.0]))
    X = problem.samples.X
    near = problem.kernel(np.array([0.0, 0.0, 100.0]))
    np.testing.assert_allclose(far(X), near(X))
    assert bfgs(problem, np.zeros(3)).value >= problem(np.zeros(3))[0]


def test_pairs_vote_for_separated_classes():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 10)
    X = np.eye(3)[y] + 0.1 * rng.normal(size=(30, 3))
    pairs = learned_pairs(X, y)
    assert [(pair.first, pair.second) for pair in pairs] == [(0, 1), (0, 2), (1, 2)]
    np.testing.assert_array_equal(votes(pairs, (X, y), X, np.array([1.0]))[0], y)


def test_two_repeats_are_never_significant():
    experiment = Experiment("", "", {"a": lambda _: None}, {"x": lambda _: {}, "y": lambda _: {}})
    rows = [
        {"problem": "a", "method": name, "repeat": repeat, "error": error}
        for name, error in (("x", 0.1), ("y", 0.2))
        for repeat in range(3)
    ]
    three = Errors(Results(experiment, pd.DataFrame(rows)))
    assert three.outcomes("x", "y") == {"a": 1}
    assert three.count("x", "y") == "1-0-0"
    two = Errors(Results(experiment, pd.DataFrame([r for r in rows if r["repeat"] < 2])))
    assert two.outcomes("x", "y") == {"a": 0}

"""Formulas of experiments, against naive evaluations of the same."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from experiments.building_block import COSTS, blocks
from experiments.step_objective import RecordingSearch, StepObjective, minima
from experiments.studies.concentration import drawn_alignments
from experiments.studies.output_kernels import learned_pairs, votes
from experiments.studies.second_order import newton, second_derivatives
from experiments.studies.sine_scan import features
from experiments.studies.starts import Objective, bfgs, from_features, from_grid
from mercer import KernelOptimization
from mercer._gram.samples import Samples
from mercer._search.family_search import family_searches
from mercer._search.greedy_alignment import Growth, grow_dictionary
from mercer._search.targets import as_target
from mercer.datasets import make_sine
from mercer.kernels import Dirichlet, Gaussian
from mercer.metrics import centered_alignment


def test_draws_have_the_alignment_of_their_gram_matrix() -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(20, 3))
    y = np.sign(X[:, 0] - 0.5)
    K = Gaussian(2.0)(X)
    counts = generator.multinomial(15, np.full(20, 0.05), size=4).T
    expected = []
    for draw in counts.T:
        rows = np.repeat(np.arange(20), draw)
        expected.append(centered_alignment(K[np.ix_(rows, rows)], y[rows]))
    assert_allclose(drawn_alignments(K, y, counts.astype(float)), expected, rtol=1e-10)


@pytest.mark.parametrize("name", COSTS)
def test_gradients_of_costs_match_central_differences(name: str) -> None:
    [block] = blocks(0, n_samples=5, n_draws=1)
    at, step = np.array([0.7, 0.4]), 1e-6
    for k, move in enumerate(step * np.eye(2)):
        rise = (COSTS[name](block, at + move)[0] - COSTS[name](block, at - move)[0]) / (2.0 * step)
        assert_allclose(COSTS[name](block, at)[1][k], rise, rtol=1e-4)
        rise = (block.terms(at + move)[0] - block.terms(at - move)[0]) / (2.0 * step)
        assert_allclose(block.gradients(at)[0][k], rise, rtol=1e-4)


def objective(n_features, *, ard=False):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.random((40, n_features)) * 0.5 + 0.5 * y[:, None]
    return Objective("hsic", X, y, ard)


def test_a_start_far_below_all_distances_stays_and_one_among_them_does_not():
    problem = objective(60)
    stuck, found = from_features(problem), from_grid(problem)
    assert stuck.log_widths == pytest.approx(-np.log(60))
    assert found.value > 1.5 * stuck.value
    best = KernelOptimization().fit(problem.X, np.arange(40) % 2).objective_
    assert found.value == pytest.approx(39**2 * best, rel=1e-4)


def test_gradients_of_the_criterion_match_central_differences():
    problem, start = objective(3, ard=True), np.log([0.5, 1.0, 2.0])
    gradient = problem(start)[1]
    steps = 1e-6 * np.eye(3)
    numeric = [(problem(start + h)[0] - problem(start - h)[0]) / 2e-6 for h in steps]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("n_widths", [1, 3])
def test_second_derivatives_match_differences_of_the_gradient(n_widths):
    problem = objective(3, ard=n_widths > 1)
    at, step = np.log([0.5, 1.0, 2.0])[:n_widths], 1e-5
    target = np.where(problem.y[:, None] == problem.y, 1.0, -1.0)
    H = np.eye(40) - 1.0 / 40.0
    moves = step * np.eye(n_widths)
    numeric = [(problem(at + h)[1] - problem(at - h)[1]) / (2.0 * step) for h in moves]
    found = second_derivatives(problem.X, H @ target @ H, at)
    np.testing.assert_allclose(found, numeric, rtol=1e-6, atol=1e-6 * np.abs(found).max())


@pytest.mark.parametrize("ard", [False, True])
def test_newton_s_method_ends_at_a_maximum(ard):
    problem = objective(3, ard=ard)
    found = newton(problem, np.zeros(3 if ard else 1))
    assert found.value >= (1.0 - 1e-3) * bfgs(problem, 0.0).value
    assert found.value == pytest.approx(problem(found.log_widths)[0])


def test_pairs_vote_for_separated_classes():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 10)
    X = np.eye(3)[y] + 0.1 * rng.normal(size=(30, 3))
    pairs = learned_pairs(X, y)
    assert [(pair.first, pair.second) for pair in pairs] == [(0, 1), (0, 2), (1, 2)]
    np.testing.assert_array_equal(votes(pairs, (X, y), X, np.array([1.0]))[0], y)


def test_the_dirichlet_kernel_is_one_and_twice_the_inner_product_of_features() -> None:
    X, _ = make_sine(20, random_state=0)
    Z = features(X, 1.7)
    np.testing.assert_allclose(1.0 + 2.0 * Z @ Z.T, Dirichlet(1.7)(X))


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
    grow_dictionary([search], samples, target.centered, Growth(True, max_kernels=2))
    objective = StepObjective.of(X, search.asked[0])
    assert objective.value(search.found[0]) <= objective.curve(np.geomspace(0.1, 100, 50)).min()
    step = 1e-5
    rise = objective.value(1.5 + step) - objective.value(1.5 - step)
    assert objective.slope(1.5) == pytest.approx(rise / (2.0 * step), rel=1e-5)

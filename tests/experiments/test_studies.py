"""Formulas of experiments against naive evaluations, and methods that several compare."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

from experiments.building_block import COSTS, blocks
from experiments.c_search import C_GRID, Grams, alignment_of_kernel, machines
from experiments.problems import three_parts
from experiments.studies.concentration import drawn_alignments
from experiments.studies.second_order import second_derivatives
from experiments.studies.starts import Objective
from mercer.kernels import Gaussian
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


def test_alignment_reads_many_numbered_classes_as_classes() -> None:
    X, y = np.arange(60.0)[:, None], np.arange(60) % 26
    names = np.array([chr(97 + code) for code in y])
    kernel = Gaussian(20.0)
    found = alignment_of_kernel(kernel, (X, y))
    assert_allclose(found, centered_alignment(kernel(X), names), rtol=1e-12)


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


def test_machines_left_out_would_have_been_the_same() -> None:
    """All of the grid, by scikit-learn alone, gives the same accuracies as the grid cut short."""
    X, y = make_blobs(180, centers=2, n_features=3, cluster_std=4.0, random_state=0)
    blobs = three_parts(X, 2 * y - 1, (60, 60, 60), seed=0)
    grams = Grams.of(Gaussian(20.0), blobs)
    y = blobs.train[1]
    tried = list(machines(grams.train, y))
    full = [SVC(kernel="precomputed", C=C).fit(grams.train, y) for C in C_GRID]
    assert 0 < len(tried) <= len(full)
    for got, expected in zip(tried, full, strict=False):
        np.testing.assert_allclose(
            got.decision_function(grams.test), expected.decision_function(grams.test), atol=1e-8
        )
    for expected in full[len(tried) :]:
        last = tried[-1].decision_function(grams.test)
        np.testing.assert_allclose(expected.decision_function(grams.test), last, atol=1e-2)

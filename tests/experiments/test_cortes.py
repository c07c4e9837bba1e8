"""What the experiments of Cortes et al. (2010) and Nickisch and Seeger (2011) rest on."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from experiments.definitions.concentration import drawn_alignments
from experiments.definitions.objectives import COSTS, blocks
from experiments.folds import folds_of
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


@pytest.mark.parametrize("name", COSTS)
def test_costs_of_weights_have_their_gradients(name: str) -> None:
    [block] = blocks(0, n_samples=5, n_draws=1)
    at, step = np.array([0.7, 0.4]), 1e-6
    for k, move in enumerate(step * np.eye(2)):
        rise = (COSTS[name](block, at + move)[0] - COSTS[name](block, at - move)[0]) / (2.0 * step)
        assert_allclose(COSTS[name](block, at)[1][k], rise, rtol=1e-4)
        rise = (block.terms(at + move)[0] - block.terms(at - move)[0]) / (2.0 * step)
        assert_allclose(block.gradients(at)[0][k], rise, rtol=1e-4)


def test_each_sample_is_tested_once() -> None:
    X = np.arange(23.0)[:, None]
    splits = folds_of(X, X.ravel(), 23, seed=1)
    tested = np.concatenate([split.test[1] for split in splits])
    assert_allclose(np.sort(tested), np.arange(23.0))
    for split in splits:
        parts = [split.train[1], split.valid[1], split.test[1]]
        assert_allclose(np.sort(np.concatenate(parts)), np.arange(23.0))

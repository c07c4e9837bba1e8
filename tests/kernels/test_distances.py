"""Distances between samples, and the intervals that are derived from them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import median_distance as dense_median

from mercer.kernels._distances import distance_range, median_distance, squared_distances


def test_median_distance_of_many_samples_in_any_order() -> None:
    X = np.random.default_rng(1).normal(size=(1000, 4))
    order = np.random.default_rng(2).permutation(1000)
    assert_allclose(median_distance(X), dense_median(X), rtol=0.05)
    assert_allclose(median_distance(X[order]), median_distance(X), rtol=1e-9)
    assert_allclose(median_distance(1e8 * X), 1e8 * median_distance(X), rtol=1e-9)


def test_median_distance_ignores_duplicates_and_is_one_for_equal_samples() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    assert_allclose(median_distance(np.vstack([X, X])), dense_median(X), rtol=1e-9)
    assert median_distance(np.full((9, 2), 0.1)) == 1.0


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_range_of_distances_is_positive_and_ends_at_the_largest(scale: float) -> None:
    x = scale * np.array([[0.0], [1.0], [1.0], [5.0]])
    low, high = distance_range(x)
    assert scale <= low < 1.5 * scale
    assert_allclose(high, 5.0 * scale, rtol=1e-14)
    assert distance_range(np.full((9, 2), 0.1)) == (1.0, 1.0)


@pytest.mark.parametrize("n_samples", [12, 300])
def test_a_row_that_is_far_away_costs_the_others_no_digits(n_samples: int) -> None:
    X = np.random.default_rng(0).normal(size=(n_samples, 3))
    X[4] = 1e6
    rest = np.delete(X, 4, axis=0)
    pairs = np.triu_indices(len(rest), 1)
    expected = ((rest[:, None] - rest) ** 2).sum(axis=2)[pairs]
    whole = np.delete(np.delete(squared_distances(X), 4, axis=0), 4, axis=1)
    assert_allclose(whole[pairs], expected, rtol=1e-9)
    assert_allclose(squared_distances(rest, X)[:, [0]], squared_distances(rest, X[:1]), rtol=1e-9)

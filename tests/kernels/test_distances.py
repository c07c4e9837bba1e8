"""Distances between samples, and the intervals that are derived from them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import median_distance as dense_median

from mercer.kernels._distances import distance_range, median_distance


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
    assert high == 5.0 * scale
    assert distance_range(np.full((9, 2), 0.1)) == (1.0, 1.0)

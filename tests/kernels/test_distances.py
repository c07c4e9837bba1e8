"""Distances between samples, and the intervals that are derived from them."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from reference import median_distance as dense_median

from mercer.kernels._distances import distance_range, median_distance, squared_distances
from mercer.kernels._minkowski import minkowski_squared, weighted_powers


def test_median_distance_of_many_samples_in_any_order() -> None:
    X = np.random.default_rng(1).normal(size=(1000, 4))
    assert_allclose(median_distance(X), dense_median(X), rtol=0.05)
    assert_allclose(median_distance(1e8 * X[::-1]), 1e8 * median_distance(X), rtol=1e-9)


def test_median_distance_ignores_duplicates_and_is_one_for_equal_samples() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    assert_allclose(median_distance(np.vstack([X, X])), dense_median(X), rtol=1e-9)
    equal = np.full((9, 2), 0.1)
    assert median_distance(equal) == 1.0
    assert distance_range(equal) == (1.0, 1.0)
    twice = np.vstack([X, X + 1e-9])
    assert_allclose(distance_range(twice), distance_range(X), rtol=0.05)
    assert_allclose(median_distance(twice), median_distance(X), rtol=1e-3)


def test_a_row_that_is_far_away_costs_the_others_no_digits() -> None:
    X = np.random.default_rng(0).normal(size=(300, 3))
    X[4] = 1e6
    rest = np.delete(X, 4, axis=0)
    pairs = np.triu_indices(len(rest), 1)
    expected = ((rest[:, None] - rest) ** 2).sum(axis=2)[pairs]
    whole = np.delete(np.delete(squared_distances(X), 4, axis=0), 4, axis=1)
    assert_allclose(whole[pairs], expected, rtol=1e-9)
    assert_allclose(squared_distances(rest, X)[:, [0]], squared_distances(rest, X[:1]), rtol=1e-9)


NORMS = [0.5, 1.0, 1.7]
CONTAINERS = [np.asarray, sp.csr_array, sp.csr_matrix]
every_norm = pytest.mark.parametrize("norm", NORMS)


def powers(X: np.ndarray, Z: np.ndarray, norm: float) -> np.ndarray:
    """|x_j - z_j|^p, shape (n_x, n_z, d)."""
    return np.asarray(np.abs(X[:, None, :] - Z[None, :, :]) ** norm)


def assert_weighted_sums(x: Any, z: Any, norm: float, tensor: np.ndarray) -> None:
    """The sums for each feature are those of the tensor of all differences."""
    W = np.random.default_rng(1).normal(size=tensor.shape[:2])
    expected = np.einsum("ab,abj->j", W, tensor)
    size = np.einsum("ab,abj->j", np.abs(W), tensor) + 1e-300
    assert_allclose(weighted_powers(x, W, z, norm) / size, expected / size, atol=1e-10)


@every_norm
@pytest.mark.parametrize("n_numbers", [0, 3])
def test_columns_of_two_values(norm: float, n_numbers: int) -> None:
    """Zeros and ones, other values of very different sizes, and constants, beside numbers."""
    rng = np.random.default_rng(2)
    values = rng.integers(0, 2, size=(90, 9)) * [1.0, 1.0, 1e-9, 1e-3, 7.0, 1e4, 1.0, 0.0, -2.0]
    values += [0.0, 0.0, 0.0, 5.0, 0.3, 0.0, 0.0, 4.0, 1.0]
    table = np.hstack([values, rng.normal(size=(90, n_numbers))])[:, rng.permutation(9 + n_numbers)]
    table[45:60] = table[:15]
    X, Z = table[:50], table[40:]
    tensor = powers(X, Z, norm)
    found = minkowski_squared(X, Z, norm)
    assert_allclose(found ** (norm / 2), tensor.sum(axis=2), rtol=1e-9, atol=1e-10)
    assert_array_equal(found[np.arange(40, 50), np.arange(10)], 0.0)
    assert_array_equal(found[np.arange(15), np.arange(5, 20)], 0.0)
    assert_weighted_sums(X, Z, norm, tensor)


def test_rounding_does_not_separate_equal_rows() -> None:
    """Inner products alone leave 1e-16, whose fourth root is 1e-4; and nearly equal rows count."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 20))
    X[30:] = X[:30]
    X[40] += 1e-9
    for container in CONTAINERS:
        squared = squared_distances(container(X))
        equal = np.setdiff1d(np.arange(30), [10])
        assert_array_equal(squared[equal, equal + 30], 0.0)
        assert_allclose(squared[10, 40], np.sum((X[10] - X[40]) ** 2), rtol=1e-6)

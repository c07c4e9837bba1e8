"""Copies of rows are found; equal rows of categories are data."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from mercer._data.copies import copies, rounded_keys, with_copies, without_copies
from mercer._data.sample import Sample


def table(n: int = 40, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and one category, and responses."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 3, n)]), rng.normal(size=n)


def joined(X: np.ndarray, y: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate([X, X[rows]]), np.concatenate([y, y[rows]])


@pytest.mark.parametrize("factor", [1e-316, 1e-8, 1.0, 1e8, 1e307])
def test_copies_have_one_number(factor: float) -> None:
    X, y = joined(*table(), rows=np.arange(15))
    X[40:] *= 1.0 + 1e-14
    found = copies(factor * X, y)
    assert found is not None
    assert_array_equal(found[40:], found[:15])
    assert len(np.unique(found)) == 40
    assert_array_equal(with_copies(Sample.of((factor * X).tolist(), y)).groups, found)


def test_equal_rows_of_categories_and_of_designed_values_are_data() -> None:
    rng = np.random.default_rng(0)
    X, labels = rng.integers(0, 3, size=(60, 4)).astype(float), rng.integers(0, 2, 60)
    assert len(np.unique(X, axis=0)) < 60
    assert copies(X, labels) is None
    assert copies(X, rng.normal(size=60)) is None
    # A category that another one determines.
    assert copies(np.column_stack([X[:, 0], X[:, 0] > 1]), labels) is None
    assert copies(np.repeat(np.arange(5.0), 8)[:, None], rng.normal(size=40)) is None


def test_responses_tell_copies_of_rows_of_categories() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, size=(30, 4)).astype(float), rng.normal(size=30)
    found = copies(*joined(X, y, np.arange(10)))
    assert found is not None
    assert_array_equal(found[30:], found[:10])
    assert len(np.unique(found)) == 30


@pytest.mark.parametrize(
    "sample",
    [
        Sample.of(*table()),
        Sample.of(*joined(*table(), rows=np.arange(5)), groups=np.arange(45)),
        Sample.of(np.array([["a"], ["b"], ["a"]], dtype=object), np.arange(3.0)),
        Sample.of(np.eye(3)[[0, 1, 1]][:, [0, 1, 1]], np.arange(3.0), pairwise=True),
        Sample.of(np.ones((4, 2)), np.arange(4.0)),
    ],
    ids=["no copies", "groups", "text", "Gram matrix", "one row"],
)
def test_samples_without_copies_stay(sample: Sample) -> None:
    assert with_copies(sample) is sample


@pytest.mark.parametrize("seed", range(5))
def test_sparse_tables_have_the_copies_of_dense_ones(seed: int) -> None:
    """Of numbers, of numbers with many zeros, and of zeros, which only targets tell."""
    X, y = joined(*table(seed=seed), rows=np.arange(15))
    for factor, targets in ((1.0, y > 0), (X > 0, y > 0), (0.0, y), (0.0, y > 0)):
        dense, sparse = (copies(kind(factor * X), targets) for kind in (np.array, sp.csc_array))
        assert (dense is None) == (sparse is None)
        assert dense is None or np.array_equal(dense, sparse)


def test_missing_values_do_not_hide_differences() -> None:
    X, y = table()
    X = X[:, :2]
    X[::4, 0] = X[1::4, 1] = np.nan
    assert copies(X, y) is None
    found = copies(*joined(X, y, np.arange(15)))
    assert found is not None
    assert_array_equal(found[40:], found[:15])


def test_observations_without_their_copies() -> None:
    X, y = joined(*table(), rows=np.arange(15))
    X[40:] *= 1.0 + 1e-14
    y[40:45] *= 1.0 + 1e-14
    y[50:] += 1.0
    for features in (X, sp.csr_array(X)):
        assert_array_equal(without_copies(features, y), [*range(40), *range(50, 55)])
    assert_array_equal(without_copies(*table()), np.arange(40))
    categories = np.zeros((6, 1))
    assert_array_equal(without_copies(categories, np.zeros(6)), np.arange(6))


def test_a_large_offset_does_not_make_copies() -> None:
    """Seconds since 1970 are no copies if they differ by a second."""
    X = 1.7e9 + np.arange(30.0)[:, None]
    assert len(np.unique(rounded_keys(X, np.zeros(30)))) == 30


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_table_without_copies_is_not_copied(dtype: type) -> None:
    X = np.random.default_rng(0).normal(size=(40_000, 40)).astype(dtype)
    sample = Sample.of(X, X[:, 0])
    tracemalloc.start()
    assert with_copies(sample) is sample
    assert tracemalloc.get_traced_memory()[1] < X.nbytes / 2
    tracemalloc.stop()

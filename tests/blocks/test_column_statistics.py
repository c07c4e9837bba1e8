"""Moments and ranges of columns, against NumPy on the whole table."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from block_cases import table
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from mercer._blocks import ColumnStatistics, block_source, reduce_blocks

EPS = np.finfo(float).eps


def variance(x) -> float:
    """The exact variance of floating-point numbers, rounded once."""
    values = [Fraction(value) for value in x.tolist()]
    mean = sum(values) / len(values)
    return float(sum((value - mean) ** 2 for value in values) / len(values))


class TestColumnStatistics:
    @given(st.integers(1, 50), arrays(float, (50, 2), elements=st.floats(-1e3, 1e3)))
    def test_any_division_gives_the_same_moments(self, block_rows, X) -> None:
        found = reduce_blocks(block_source(X, block_rows=block_rows), ColumnStatistics())
        size = np.abs(X).max(axis=0)
        assert found.n_rows == 50
        assert np.all(np.abs(found.mean - X.mean(axis=0)) <= 1e-12 * size)
        exact = np.array([variance(column) for column in X.T])
        assert np.all(np.abs(found.variance - exact) <= 1e-12 * exact + (EPS * size) ** 2)
        assert_array_equal(found.smallest, X.min(axis=0))
        assert_array_equal(found.largest, X.max(axis=0))

    def test_a_large_mean_costs_no_digits(self) -> None:
        X = 1e8 + table(1000)[0]
        found = reduce_blocks(block_source(X, block_rows=10), ColumnStatistics())
        assert_allclose(found.variance, (X - 1e8).var(axis=0), rtol=1e-12)

    def test_single_precision_is_accumulated_in_double(self) -> None:
        X = (100.0 + table(10_000)[0]).astype(np.float32)
        found = reduce_blocks(block_source(X, block_rows=64), ColumnStatistics())
        assert_allclose(found.variance, X.astype(float).var(axis=0), rtol=1e-12)

    def test_sparse_tables(self) -> None:
        X = sp.random(50, 6, 0.3, format="csr", random_state=0)
        found = reduce_blocks(block_source(X, block_rows=7), ColumnStatistics())
        dense = X.toarray()
        assert_allclose(found.mean, dense.mean(axis=0), rtol=1e-12)
        assert_allclose(found.variance, dense.var(axis=0), rtol=1e-12)
        assert_array_equal(found.smallest, dense.min(axis=0))
        assert_array_equal(found.largest, dense.max(axis=0))

    @pytest.mark.parametrize("n_outputs", [None, 2])
    def test_of_responses(self, n_outputs: int | None) -> None:
        X, y = table(50)
        y = y if n_outputs is None else np.column_stack([y, -3.0 * y])
        found = reduce_blocks(block_source(X, y, block_rows=7), ColumnStatistics(of_target=True))
        assert_allclose(found.mean, y.reshape(50, -1).mean(axis=0))

    def test_no_rows_have_no_moments(self) -> None:
        assert reduce_blocks(block_source(np.empty((0, 2))), ColumnStatistics()) is None

    def test_responses_are_needed(self) -> None:
        with pytest.raises(ValueError, match="has no target"):
            reduce_blocks(block_source(np.zeros((3, 2))), ColumnStatistics(of_target=True))

"""Accumulation of statistics over blocks: equal to one pass over the whole table."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from block_cases import NormalSums, Starts, table
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from mercer._blocks import block_source, map_blocks, reduce_blocks


class TestReduceBlocks:
    @given(
        st.integers(1, 60),
        st.integers(1, 70),
        st.integers(1, 4),
        arrays(float, (60, 3), elements=st.floats(-1e3, 1e3)),
    )
    def test_any_division_gives_the_same_sums(self, n_rows, block_rows, threads, X) -> None:
        X = X[:n_rows]
        source = block_source(X, X[:, 0] + 1.0, block_rows=block_rows)
        with threadpool_limits(threads):
            n, XtX, Xty = reduce_blocks(source, NormalSums())
        assert n == n_rows
        scale = np.abs(X).T @ np.abs(X)
        assert np.all(np.abs(XtX - X.T @ X) <= 1e-12 * scale)
        assert np.all(np.abs(Xty - X.T @ (X[:, 0] + 1.0)) <= 1e-12 * (scale + np.abs(X).sum()))

    def test_results_do_not_depend_on_timing(self) -> None:
        X, y = table(5000, 20)
        source = block_source(X, y, block_rows=64)
        with threadpool_limits(4):
            runs = [reduce_blocks(source, NormalSums()) for _ in range(3)]
        for run in runs[1:]:
            assert_array_equal(run[1], runs[0][1])

    def test_every_row_is_in_one_block(self) -> None:
        X, y = table(50)
        starts = reduce_blocks(block_source(X, y, block_rows=8), Starts())
        assert sorted(starts) == [(start, min(8, 50 - start)) for start in range(0, 50, 8)]

    def test_it_reports_rows_in_the_calling_thread(self) -> None:
        X, y = table(50)
        rows: list[int] = []
        reduce_blocks(block_source(X, y, block_rows=8), NormalSums(), on_rows=rows.append)
        assert rows == [8] * 6 + [2]

    def test_no_rows_give_the_first_state(self) -> None:
        source = block_source(np.empty((0, 3)), np.empty(0))
        assert reduce_blocks(source, NormalSums()) == NormalSums().start()

    @pytest.mark.parametrize("threads", [1, 3])
    def test_errors_of_a_block_reach_the_caller(self, threads: int) -> None:
        X, y = table(50)
        X[33, 1] = np.nan
        with threadpool_limits(threads), pytest.raises(ValueError, match="X contains NaN"):
            reduce_blocks(block_source(X, y, block_rows=8), NormalSums())

    def test_missing_responses_are_refused(self) -> None:
        X, y = table(50)
        y[7] = np.nan
        with pytest.raises(ValueError, match="y contains NaN"):
            reduce_blocks(block_source(X, y, block_rows=8), NormalSums())


class TestMapBlocks:
    @pytest.mark.parametrize("threads", [1, 3])
    def test_results_are_in_the_order_of_rows(self, threads: int) -> None:
        X, _ = table(100)
        with threadpool_limits(threads):
            sums = list(map_blocks(block_source(X, block_rows=7), lambda b: b.X.sum(axis=1)))
        assert_allclose(np.concatenate(sums), X.sum(axis=1))

    def test_sparse_blocks_are_sparse(self) -> None:
        X = sp.random(50, 6, 0.3, format="csc", random_state=0)
        sums = map_blocks(block_source(X, block_rows=7), lambda b: b.X.sum(axis=1))
        assert_allclose(np.concatenate(list(sums)), X.sum(axis=1))

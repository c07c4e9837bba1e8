"""Blocks of rows, trees of merges, and streams of blocks in threads: order, read-ahead, errors."""

from collections.abc import Iterator
from itertools import islice
from threading import Barrier, current_thread

import numpy as np
import pytest
import scipy.sparse as sp
from block_cases import NormalSums, Starts, table
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from threadpoolctl import threadpool_limits

from mercer._blocks.passes import run_in_threads
from mercer._blocks.tables import block_source


@pytest.fixture(scope="module", autouse=True)
def many_cores() -> Iterator[None]:
    """The machine has as many cores as any test has threads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mercer._gram.tiles.n_given_cores", lambda: 8)
        yield


X, Y = table(60)


class TestReduce:
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
            n, XtX, Xty = source.reduce(NormalSums())
        assert n == n_rows
        scale = np.abs(X).T @ np.abs(X)
        assert np.all(np.abs(XtX - X.T @ X) <= 1e-12 * scale)
        assert np.all(np.abs(Xty - X.T @ (X[:, 0] + 1.0)) <= 1e-12 * (scale + np.abs(X).sum()))

    def test_every_row_is_in_one_block_and_reported_in_the_calling_thread(self) -> None:
        rows: list[int] = []
        source = block_source(*table(50), block_rows=8)
        source.on_rows = rows.append
        starts = source.reduce(Starts())
        assert sorted(starts) == [(start, min(8, 50 - start)) for start in range(0, 50, 8)]
        assert rows == [8] * 6 + [2]

    @pytest.mark.parametrize("threads", [1, 3])
    @pytest.mark.parametrize("of", ["X", "y"])
    def test_missing_numbers_of_a_block_are_refused(self, threads: int, of: str) -> None:
        X, y = table(50)
        (X if of == "X" else y[:, None])[33, 0] = np.nan
        with threadpool_limits(threads), pytest.raises(ValueError, match=f"{of} contains NaN"):
            block_source(X, y, block_rows=8).reduce(NormalSums())


class TestArguments:
    def test_wide_tables_have_smaller_blocks(self) -> None:
        assert block_source(np.zeros((1, 20))).block_rows == 4096
        assert block_source(np.zeros((1, 4096))).block_rows == 1024
        assert block_source(sp.csr_array((1, 10**6))).block_rows == 256
        with pytest.raises(ValueError, match="block_rows must be at least 1"):
            block_source(X, block_rows=0)

    def test_floats_are_not_copied(self) -> None:
        assert all(np.shares_memory(block.X, X) for block in block_source(X, block_rows=7))

    @pytest.mark.parametrize(
        ("Z", "y", "message"),
        [
            (X[0], None, r"rows and columns; its shape is \(3,\)"),
            (X, Y[:5], r"X has 60 rows, and y has the shape \(5,\)"),
            (X, np.zeros((60, 2, 2)), r"y has the shape \(60, 2, 2\)"),
        ],
    )
    def test_shapes_are_checked(self, Z, y, message) -> None:
        with pytest.raises(ValueError, match=message):
            block_source(Z, y)


@given(st.integers(0, 30), st.integers(1, 4))
def test_results_are_in_order_and_lanes_accumulate(n: int, threads: int) -> None:
    with threadpool_limits(threads):
        found = list(run_in_threads(lambda item, before: [*(before or []), item], range(n)))
    assert [result[-1] for _, result in found] == list(range(n))
    for lane, result in found:
        assert result == list(range(lane, result[-1] + 1, threads if n > 1 else 1))


def test_lanes_run_at_the_same_time() -> None:
    meeting = Barrier(3, timeout=30.0)
    with threadpool_limits(3):
        found = list(
            run_in_threads(lambda item, _: (meeting.wait(), current_thread().name), range(6))
        )
    assert len({name for _, (_, name) in found}) == 3


@pytest.mark.parametrize("threads", [1, 3])
def test_few_items_are_read_ahead(threads: int) -> None:
    read, done = [0], 0

    def items() -> Iterator[int]:
        for item in range(100):
            read[0] += 1
            yield item

    with threadpool_limits(threads):
        for _ in run_in_threads(lambda item, _: item, items()):
            done += 1
            assert read[0] - done <= 2 * threads


@pytest.mark.parametrize("threads", [1, 3])
def test_errors_reach_the_caller_in_order(threads: int) -> None:
    with threadpool_limits(threads):
        results = run_in_threads(lambda item, _: 1 / (7 - item), range(100))
        seen = [result for _, result in islice(results, 7)]
        with pytest.raises(ZeroDivisionError):
            next(results)
    assert seen == [1 / (7 - item) for item in range(7)]

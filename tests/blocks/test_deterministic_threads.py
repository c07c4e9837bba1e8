"""Streams of items in threads: order, read-ahead, errors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from threading import Barrier, current_thread

import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from mercer._blocks.deterministic_threads import run_in_threads


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


def test_a_single_item_needs_no_thread() -> None:
    with threadpool_limits(3):
        ((_, thread),) = run_in_threads(lambda item, _: current_thread(), [0])
    assert thread is current_thread()


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
def test_endless_streams_can_be_abandoned(threads: int) -> None:
    with threadpool_limits(threads):
        results = run_in_threads(lambda item, _: item, count())
        assert [next(results), next(results)] == [(0, 0), (1 % threads, 1)]
        results.close()


@pytest.mark.parametrize("threads", [1, 3])
def test_errors_reach_the_caller_in_order(threads: int) -> None:
    with threadpool_limits(threads):
        results = run_in_threads(lambda item, _: 1 / (7 - item), range(100))
        seen = [result for _, result in islice(results, 7)]
        with pytest.raises(ZeroDivisionError):
            next(results)
    assert seen == [1 / (7 - item) for item in range(7)]


def test_errors_of_the_stream_reach_the_caller() -> None:
    def items() -> Iterator[int]:
        yield from range(5)
        raise OSError("the file is gone")

    with threadpool_limits(3), pytest.raises(OSError, match="file is gone"):
        list(run_in_threads(lambda item, _: item, items()))

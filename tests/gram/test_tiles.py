"""Tiles of Gram matrices, and the threads that compute them."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from gram_cases import SEVERAL_TILES
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from threadpoolctl import OpenBLASController, threadpool_info, threadpool_limits

from mercer._gram import memory, threads, tiles
from mercer._gram.devices import Device, computing_on, current_device
from mercer._gram.samples import Samples
from mercer._gram.tiles import map_tiles, n_threads, serial_algebra, spare_threads, tile_plan
from mercer.kernels._structure import Distance


@given(n=st.integers(1, 900), p=st.sampled_from([1, 20, 5000]))
@settings(max_examples=10)
def test_tiles_cover_the_matrix_once(n: int, p: int) -> None:
    covered = np.zeros((n, n), dtype=int)
    for tile in tile_plan(n, p):
        covered[tile.rows, tile.columns] += 1
        if tile.count == 2.0:
            covered[tile.columns, tile.rows] += 1
        else:
            assert tile.rows == tile.columns
    assert (covered == 1).all()
    assert len(tile_plan(SEVERAL_TILES)) > 1


def test_results_come_in_the_order_of_the_plan_and_errors_are_raised() -> None:
    def fail(tile: Any) -> None:
        raise KeyError(tile.start)

    plan = tile_plan(2000, 20)
    with threadpool_limits(limits=3):
        assert list(map_tiles(lambda tile: tile.start, plan)) == [tile.start for tile in plan]
        with pytest.raises(KeyError):
            list(map_tiles(fail, plan))


def pool_sizes(user_api: str) -> set[int]:
    """The numbers of threads of the libraries of a kind."""
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == user_api}


@pytest.fixture
def three_threads() -> Iterator[None]:
    """Three threads of the linear-algebra library, which any thread of the process may change."""
    limit = threadpool_limits(3)
    let_others_set_limits()
    yield
    after = pool_sizes("blas")
    limit.restore_original_limits()
    let_others_set_limits()
    assert after == {3}


def let_others_set_limits() -> None:
    """End the control of this thread, which newer versions of threadpoolctl give to the first."""
    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread()


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("fails", [False, True])
def test_the_last_of_several_threads_restores_the_limit(fails: bool) -> None:
    steps = [Event() for _ in range(4)]

    def first() -> None:
        with serial_algebra():
            steps[0].set()
            assert steps[1].wait(60)
            if fails:
                raise KeyError

    def second() -> None:
        with serial_algebra(), serial_algebra():
            steps[2].set()
            assert steps[3].wait(60)

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(first)
        assert steps[0].wait(60)
        other = pool.submit(second)
        assert steps[2].wait(60)
        steps[1].set()
        assert isinstance(one.exception(60), KeyError) == fails
        inside = pool_sizes("blas")
        steps[3].set()
        other.result(60)
    assert inside == {1}
    assert pool_sizes("blas") == {3}
    with ThreadPoolExecutor(1) as pool, serial_algebra():
        assert pool_sizes("blas") == {1}
        assert pool.submit(limited).result(60) == {1}
    assert limited() == {1}


def limited() -> set[int]:
    """The numbers of threads inside."""
    with serial_algebra():
        return pool_sizes("blas")


@pytest.mark.usefixtures("three_threads")
@pytest.mark.skipif(
    not hasattr(OpenBLASController, "clear_controlling_thread"),
    reason="this threadpoolctl lets every thread change the limits of the others",
)
def test_a_limit_that_is_set_meanwhile_is_restored_by_its_own_thread() -> None:
    inside, left = Event(), Event()

    def fit() -> None:
        with serial_algebra():
            inside.set()
            assert left.wait(60)

    with ThreadPoolExecutor(1) as pool:
        with threadpool_limits(2):
            fitting = pool.submit(fit)
            assert inside.wait(60)
        let_others_set_limits()
        left.set()
        fitting.result(60)


def test_each_thread_restores_its_own_limit_of_openmp() -> None:
    """Other packages, which an earlier test may have imported, bring an OpenMP of their own."""
    together, pools = [Barrier(2), Barrier(2)], threads._pools("openmp").lib_controllers

    def limits(turn: int) -> list[set[int]]:
        with threadpool_limits(2 + turn, user_api="openmp"):
            with serial_algebra():
                together[0].wait(60)
                inside = {pool.num_threads for pool in pools}
            together[1].wait(60)
            return [inside, {pool.num_threads for pool in pools}]

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(limits, range(2))) == [[{1}, {2}], [{1}, {3}]]


@pytest.mark.parametrize(("container", "keep"), [(np.asarray, True), (sp.csr_array, False)])
def test_distances_of_several_norms_and_columns(container: Any, keep: bool) -> None:
    """They are told apart where they are kept."""
    X = np.random.default_rng(0).normal(size=(400, 4))
    samples = Samples(container(X), keep=keep)
    for _ in range(2):
        for norm in (1.0, 1.5, 2.0):
            for columns in (None, (2, 0)):
                chosen = X if columns is None else X[:, list(columns)]
                expected = cdist(chosen, chosen, "minkowski", p=norm) ** 2
                for tile in samples.plan:
                    found = samples.squared_distances(Distance(columns, norm), tile)
                    assert_allclose(found, expected[tile.rows, tile.columns], atol=1e-12)


def test_the_kernel_of_many_new_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 2.0**30)
    memory.check_rows_memory(10_000, 3000)
    message = (
        "1,000,000 new rows need about 22 GiB of memory for their kernel with 3,000 training "
        "samples, and 1.0 GiB are available; pass fewer rows at a time"
    )
    with pytest.raises(MemoryError, match=message):
        memory.check_rows_memory(1_000_000, 3000)


def test_memory_that_a_gram_matrix_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_UNCHECKED", 0.0)
    monkeypatch.setattr(memory, "available_memory", lambda: 16e6)
    memory.check_gram_memory(1000)
    message = "1,001 rows need about 8 MiB of memory for a Gram matrix, and 15 MiB are available"
    with pytest.warns(UserWarning, match=message):
        memory.check_gram_memory(1001)
    with pytest.raises(MemoryError, match="for 3 Gram matrices, and 15 MiB are available; use x"):
        memory.check_gram_memory(1415, 3, "use x")
    with pytest.raises(MemoryError):
        memory.check_gram_memory(1415)
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    memory.check_gram_memory(10**9)


def test_the_last_task_has_the_threads_of_those_that_are_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tiles, "n_given_cores", lambda: 4)
    monkeypatch.setattr(tiles, "blas_threads", lambda: [4])
    done, seen = Event(), dict[int, list[int]]()

    def task(number: int) -> int:
        seen[number] = [n_threads()]
        if number == 1:
            done.wait(10.0)
            seen[number].append(n_threads())
            inner = list(map_tiles(lambda _: n_threads(), range(2)))
            # Two tasks share what the outer tasks leave.
            assert inner[0] in (2, 4)
            assert max(inner) <= 4
        return number

    outer = map_tiles(task, [0, 1])
    assert next(outer) == 0
    done.set()
    assert list(outer) == [1]
    assert seen[1][1] == 4
    assert n_threads() == 4


def test_tasks_have_the_context_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "n_threads", lambda: 2)
    device = Device(np, "a card")
    with computing_on(device):
        assert list(map_tiles(lambda _: current_device(), range(3))) == [device] * 3
    assert list(map_tiles(lambda _: current_device(), range(3))) == [None] * 3


def test_tiles_of_few_values_stay_in_the_calling_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "n_threads", lambda: 2)
    for n_samples, alone in ((400, True), (1000, False)):
        plan = tile_plan(n_samples)
        assert len(plan) > 1
        names = set(map_tiles(lambda _: threading.get_ident(), plan))
        assert (names == {threading.get_ident()}) == alone


@pytest.mark.usefixtures("three_threads")
def test_spare_threads_are_lent_to_the_library_and_taken_back() -> None:
    spare = n_threads()
    with serial_algebra():
        assert pool_sizes("blas") == {1}
        with spare_threads(), spare_threads():
            assert pool_sizes("blas") == {spare}
        assert pool_sizes("blas") == {1}
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(lent, spare).result(60) == {spare}
        assert pool_sizes("blas") == {1}
    assert pool_sizes("blas") == {3}
    with spare_threads():
        assert pool_sizes("blas") == {3}


def lent(n_threads: int) -> set[int]:
    """The numbers of threads while another thread than the first lends some."""
    with threads.more_blas_threads(n_threads):
        return pool_sizes("blas")

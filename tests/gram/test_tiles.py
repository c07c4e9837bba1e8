"""Tiles of Gram matrices, and the threads that compute them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from gram_cases import SEVERAL_TILES
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from mercer._gram import tiles
from mercer._gram.samples import Samples, centered_features
from mercer._gram.tiles import Tile, assembled, map_tiles, tile_plan
from mercer.kernels._radial import Distance


@given(n=st.integers(1, 900), p=st.sampled_from([1, 2, 20, 5000]))
def test_tiles_cover_the_matrix_once(n: int, p: int) -> None:
    covered = np.zeros((n, n), dtype=int)
    for tile in tile_plan(n, p):
        covered[tile.rows, tile.columns] += 1
        if tile.count == 2.0:
            covered[tile.columns, tile.rows] += 1
        else:
            assert tile.rows == tile.columns
    assert (covered == 1).all()


def test_many_samples_have_several_tiles() -> None:
    assert len(tile_plan(SEVERAL_TILES)) > 1


@pytest.mark.parametrize("threads", [1, 3])
def test_results_come_in_the_order_of_the_plan(threads: int) -> None:
    plan = tile_plan(2000, 20)
    with threadpool_limits(limits=threads):
        assert list(map_tiles(lambda tile: tile.start, plan)) == [tile.start for tile in plan]


def test_an_error_in_a_thread_is_raised() -> None:
    def fail(tile: Any) -> None:
        raise KeyError(tile.start)

    with threadpool_limits(limits=3), pytest.raises(KeyError):
        list(map_tiles(fail, tile_plan(2000, 20)))


def test_features_constant_up_to_rounding_are_centered_to_zero() -> None:
    X = np.column_stack([np.full(7, 0.1), np.arange(7.0), np.full(7, 1e8 / 3)])
    assert_array_equal(centered_features(X)[:, [0, 2]], 0.0)
    assert_allclose(centered_features(X)[:, 1], np.arange(7) - 3.0)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("keep", [True, False])
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


def test_large_matrices_beyond_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "available_memory", lambda: 1e6)

    def block(tile: Tile) -> np.ndarray:
        raise AssertionError("work began")

    with pytest.raises(
        MemoryError, match="100,000 rows need about 75 GiB of memory for a Gram matrix"
    ):
        assembled(tile_plan(3), 100_000, block)


def test_the_kernel_of_many_new_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "available_memory", lambda: 2.0**30)
    tiles.check_rows_memory(10_000, 3000)
    message = (
        "1,000,000 new rows need about 22 GiB of memory for their kernel with 3,000 training "
        "samples, and 1.0 GiB are available; pass fewer rows at a time"
    )
    with pytest.raises(MemoryError, match=message):
        tiles.check_rows_memory(1_000_000, 3000)


def test_the_message_says_what_is_needed_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "available_memory", lambda: 3.0 * 2**30)
    with pytest.raises(MemoryError) as error:
        tiles.check_gram_memory(200_000, 1, "use approximation='nystroem'")
    assert str(error.value) == (
        "200,000 rows need about 298 GiB of memory for a Gram matrix, and 3.0 GiB are available; "
        "use approximation='nystroem'."
    )
    with pytest.raises(MemoryError, match="for 3 Gram matrices"):
        tiles.check_gram_memory(200_000, 3)


def test_available_memory_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal:  100 kB\nMemAvailable:   50 kB\n")
    monkeypatch.setattr(tiles, "_MEMINFO", tmp_path / "meminfo")
    assert tiles.available_memory() == 50 * 1024
    monkeypatch.setattr(tiles, "_MEMINFO", tmp_path / "none")
    found = tiles.available_memory()
    assert found is None or found > 0.0


def test_memory_that_a_gram_matrix_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "available_memory", lambda: 16e6)
    tiles.check_gram_memory(1000)
    message = "1,001 rows need about 8 MiB of memory for a Gram matrix, and 15 MiB are available"
    with pytest.warns(UserWarning, match=message):
        tiles.check_gram_memory(1001)
    with pytest.raises(MemoryError):
        tiles.check_gram_memory(1415)
    monkeypatch.setattr(tiles, "available_memory", lambda: None)
    tiles.check_gram_memory(10**9)

"""Tiles of Gram matrices, and the threads that compute them."""

from __future__ import annotations

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

from mercer._gram import memory
from mercer._gram.samples import Samples, centered_features
from mercer._gram.tiles import Tile, assembled, map_tiles, tile_plan
from mercer.kernels._structure import Distance


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
    monkeypatch.setattr(memory, "available_memory", lambda: 1e6)

    def block(tile: Tile) -> np.ndarray:
        raise AssertionError("work began")

    with pytest.raises(
        MemoryError, match="100,000 rows need about 75 GiB of memory for a Gram matrix"
    ):
        assembled(tile_plan(3), 100_000, block)

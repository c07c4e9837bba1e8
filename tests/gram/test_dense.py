"""Centering, alignment and parts of a trace of Gram matrices in memory."""

from __future__ import annotations

import numpy as np
from gram_cases import SEVERAL_TILES, table, targets
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import center, centered_alignment, gaussian

from mercer._gram.dense import center_tiles, centered, gram_alignment
from mercer._gram.tiles import tile_plan


@given(n=st.integers(1, 12), seed=st.integers(0, 1000))
def test_centering(n: int, seed: int) -> None:
    K = np.random.default_rng(seed).normal(size=(n, n))
    before = K.copy()
    found = centered(K)
    assert_array_equal(K, before)
    assert_allclose(found, center(K), atol=1e-13)
    assert_allclose(centered(found), found, atol=1e-13)
    assert_allclose(found.sum(axis=0), 0.0, atol=1e-12)


def test_centered_tiles_make_up_the_centered_matrix() -> None:
    X = table(SEVERAL_TILES)
    K = np.stack([gaussian(X, 1.0), gaussian(X, 3.0)])
    for tile in tile_plan(SEVERAL_TILES, 2):
        blocks = K[:, tile.rows, tile.columns].copy()
        center_tiles(blocks, K.mean(axis=2), tile)
        for block, matrix in zip(blocks, K, strict=True):
            assert_allclose(block, center(matrix)[tile.rows, tile.columns], atol=1e-13)


def test_alignment_is_that_of_the_centered_matrices() -> None:
    X, Y = table(30), targets(30)
    for width in (0.5, 1.0, 2.0):
        K = gaussian(X, width)
        assert_allclose(gram_alignment(K, Y), centered_alignment(K, Y @ Y.T), rtol=1e-11)
    assert gram_alignment(np.full((30, 30), 0.1), Y) == 0.0

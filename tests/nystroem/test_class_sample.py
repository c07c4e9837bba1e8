"""A sample of each class, drawn during a pass."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mercer._blocks import Block, GivenWeights, block_source, reduce_blocks, row_folds, weighted
from mercer._nystroem.class_sample import ClassSample, SampledRows
from mercer._nystroem.target_encoding import TargetEncoding
from mercer._typing import Features

RNG = np.random.default_rng(0)
X = np.arange(200.0).reshape(100, 2)
Y = np.where(RNG.random(100) < 0.9, "often", "rare")
WEIGHTS = RNG.uniform(0.5, 2.0, 100)
SAMPLE = ClassSample(TargetEncoding.of_classes(Y), n_rows=40, n_folds=5)


def drawn(table: Features = X, n_rows: int | None = None) -> SampledRows:
    statistic = weighted(SAMPLE, GivenWeights(WEIGHTS))
    return reduce_blocks(block_source(table, Y, block_rows=n_rows), statistic)


def test_each_class_has_equally_many_rows_or_all_it_has() -> None:
    found = drawn()
    assert np.bincount(found.codes).tolist() == [20, min(20, np.sum(Y == "rare"))]


@pytest.mark.parametrize("n_rows", [9, 100])
def test_rows_keep_their_labels_folds_and_weights(n_rows: int) -> None:
    found = drawn(n_rows=n_rows)
    assert isinstance(found.X, np.ndarray)
    rows = (found.X[:, 0] / 2.0).astype(int)
    assert len(set(rows)) == len(rows)
    np.testing.assert_array_equal(SAMPLE.encoding.codes(Y)[rows], found.codes)
    np.testing.assert_array_equal(row_folds(0, 0, 100, 5)[rows], found.folds)
    np.testing.assert_array_equal(WEIGHTS[rows], found.weights)


@given(st.sets(st.integers(0, 100), max_size=8))
def test_any_division_into_blocks_gives_the_same(cuts: set[int]) -> None:
    state = SAMPLE.start()
    for first, last in pairwise([0, *sorted(cuts), 100]):
        block = Block(X[first:last], Y[first:last], first)
        state = SAMPLE.merge(SAMPLE.add(SAMPLE.start(), block), state)
    np.testing.assert_array_equal(state.X, drawn().X)


@pytest.mark.parametrize("n_rows", [1, 9, 100])
def test_a_pass_over_a_source_gives_the_same(n_rows: int) -> None:
    np.testing.assert_array_equal(drawn(n_rows=n_rows).X, drawn().X)


def test_sparse_rows() -> None:
    np.testing.assert_array_equal(drawn(sp.csr_array(X), 7).X.toarray(), drawn().X)


def test_no_rows() -> None:
    state = SAMPLE.merge(SAMPLE.start(), SAMPLE.start())
    assert len(state.codes) == 0

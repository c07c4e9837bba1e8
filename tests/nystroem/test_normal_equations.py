"""Sums of kernel values over the rows of each fold, for any division into blocks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mercer._blocks import Block, block_source, reduce_blocks, row_folds
from mercer._nystroem.normal_equations import FoldSums, NormalEquations, n_folds_for
from mercer._nystroem.nystroem_features import nystroem_features
from mercer._nystroem.target_encoding import TargetEncoding
from mercer.kernels import CallableKernel, Gaussian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = RNG.normal(size=(60, 2))
ENCODING = TargetEncoding(np.zeros(2), np.ones(2))
STATISTIC = NormalEquations(nystroem_features(Gaussian(2.0), X[:7]), ENCODING)


def assert_equal_sums(found: FoldSums, expected: FoldSums) -> None:
    for name, sums in vars(expected).items():
        size = float(np.abs(sums).max())
        np.testing.assert_allclose(getattr(found, name), sums, rtol=1e-12, atol=1e-12 * size)


def whole() -> FoldSums:
    return STATISTIC.add(STATISTIC.start(), Block(X, Y))


def test_sums_are_those_of_the_rows_of_each_fold() -> None:
    found, folds = whole(), row_folds(0, 0, 60, 5)
    K = STATISTIC.features.columns(X)
    for fold in range(5):
        rows = folds == fold
        np.testing.assert_allclose(found.gram[fold], K[rows].T @ K[rows])
        np.testing.assert_allclose(found.cross[fold], K[rows].T @ Y[rows])
        np.testing.assert_allclose(found.features[fold], K[rows].sum(axis=0))
        np.testing.assert_allclose(found.values[fold], Y[rows].sum(axis=0))
        np.testing.assert_allclose(found.squares[fold], (Y[rows] ** 2).sum(axis=0))
        assert found.counts[fold] == rows.sum()


@pytest.mark.parametrize("width", [2.0, 50.0])
def test_weighted_sums_are_those_of_repeated_rows(width: float) -> None:
    statistic = NormalEquations(nystroem_features(Gaussian(width), X[:7]), ENCODING, n_folds=1)
    counts = np.random.default_rng(1).integers(1, 4, 60)
    found = statistic.add(statistic.start(), Block(X, Y, weights=counts))
    repeated = Block(X.repeat(counts, axis=0), Y.repeat(counts, axis=0))
    assert_equal_sums(found, statistic.add(statistic.start(), repeated))


@given(st.sets(st.integers(0, 60), max_size=8))
def test_any_division_into_blocks_gives_the_same(cuts: set[int]) -> None:
    state = STATISTIC.start()
    for first, last in pairwise([0, *sorted(cuts), 60]):
        block = Block(X[first:last], Y[first:last], first)
        state = STATISTIC.merge(state, STATISTIC.add(STATISTIC.start(), block))
    assert_equal_sums(state, whole())


@pytest.mark.parametrize("rows", [1, 7, 100])
def test_a_pass_over_a_source_gives_the_same(rows: int) -> None:
    assert_equal_sums(reduce_blocks(block_source(X, Y, block_rows=rows), STATISTIC), whole())


def test_tiles_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = whole()
    monkeypatch.setattr("mercer._nystroem.normal_equations.TILE_ROWS", 5)
    assert_equal_sums(whole(), expected)


def test_sparse_and_single_precision_rows() -> None:
    sparse = STATISTIC.add(STATISTIC.start(), Block(sp.csr_array(X), Y))
    assert_equal_sums(sparse, whole())
    single = STATISTIC.add(STATISTIC.start(), Block(X.astype(np.float32), Y))
    np.testing.assert_allclose(single.gram, whole().gram, atol=1e-4)


def test_merging_leaves_both_states() -> None:
    first, second = whole(), whole()
    STATISTIC.merge(first, second)
    assert_equal_sums(first, whole())
    assert_equal_sums(second, whole())


def test_ill_conditioned_centers_have_rows_whitened() -> None:
    features = nystroem_features(Gaussian(50.0), X[:7])
    assert features.whitens_rows
    assert not STATISTIC.features.whitens_rows
    statistic = NormalEquations(features, ENCODING)
    found = statistic.add(statistic.start(), Block(X, Y))
    Z = features.transform(X)
    np.testing.assert_allclose(found.gram.sum(axis=0), Z.T @ Z, rtol=1e-10)


def test_a_kernel_that_is_not_finite_on_a_block_is_refused() -> None:
    def values(A: Any, B: Any) -> Any:
        return np.where(A[:, :1] > 5.0, np.nan, A @ B.T)

    features = nystroem_features(CallableKernel(values), X[:7])
    statistic = NormalEquations(features, ENCODING)
    with pytest.raises(ValueError, match="NaN or infinity"):
        statistic.add(statistic.start(), Block(X + 10.0, Y))


def test_many_centers_have_two_folds() -> None:
    assert [n_folds_for(m) for m in (1, 2500, 2501)] == [5, 5, 2]

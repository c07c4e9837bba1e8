"""Blocks of rows, and trees of merges."""

from __future__ import annotations

import numpy as np
from block_cases import table
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.preprocessing import FunctionTransformer

from mercer._blocks import Block, block_source
from mercer._blocks.blocks import merged


def test_a_tree_merges_neighbors() -> None:
    assert merged(list("abcdefg"), lambda a, b: f"({a}{b})") == "(((ab)(cd))((ef)g))"


def test_a_block_is_split_without_copies() -> None:
    X, y = table(10)
    parts = list(Block(X, y, 5).split(4))
    assert [(part.start, part.n_rows) for part in parts] == [(5, 4), (9, 4), (13, 2)]
    assert all(np.shares_memory(part.X, X) for part in parts)
    assert_array_equal(np.concatenate([part.y for part in parts]), y)


@given(st.integers(1, 40))
def test_a_tree_keeps_the_order_and_is_balanced(n: int) -> None:
    leaves = [((i,), 0) for i in range(n)]
    order, depth = merged(leaves, lambda a, b: (a[0] + b[0], 1 + max(a[1], b[1])))
    assert order == tuple(range(n))
    assert depth == int(np.ceil(np.log2(n)))


def test_encoders_without_names_of_features() -> None:
    X, _ = table(10)
    encoder = FunctionTransformer(lambda X: np.hstack([X, X[:, :1]]).astype(np.float32)).fit(X)
    source = block_source(X, encoder=encoder)
    assert source.n_features == 4
    assert source.dtype == np.float32

"""Blocks of every kind of table in memory are those of the same array."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from block_cases import sample_blocks, table
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler

from mercer._blocks import block_source

X, Y = table(60)


def kinds(tmp_path):
    """Tables of the same numbers, by name."""
    np.save(tmp_path / "x.npy", X)
    yield "list", X.tolist()
    yield "array", X
    yield "Fortran order", np.asfortranarray(X)
    yield "memory map", np.load(tmp_path / "x.npy", mmap_mode="r")
    yield "sparse", sp.csc_array(X)
    for library in ("pandas", "polars"):
        frames = pytest.importorskip(library)
        yield library, frames.DataFrame(dict(zip("abc", X.T, strict=True)))


@pytest.mark.parametrize(
    "kind", ["list", "array", "Fortran order", "memory map", "sparse", "pandas", "polars"]
)
class TestKinds:
    @pytest.fixture
    def source(self, tmp_path, kind):
        return block_source(dict(kinds(tmp_path))[kind], Y.tolist(), block_rows=7)

    def test_blocks(self, source, kind) -> None:
        blocks = list(source)
        assert [block.n_rows for block in blocks] == [7] * 8 + [4]
        dense = [block.X.toarray() if kind == "sparse" else block.X for block in blocks]
        assert_array_equal(np.concatenate(dense), X)
        assert_array_equal(np.concatenate([block.y for block in blocks]), Y)
        assert (source.count_rows(), source.n_features, blocks[0].X.dtype) == (60, 3, np.float64)

    def test_features_without_the_target(self, source, kind) -> None:
        blocks = list(source.without_target())
        assert len(blocks) == 9
        assert all(block.y is None for block in blocks)
        assert all(block.y is not None for block in source)

    def test_samples(self, source, kind) -> None:
        rows, y = sample_blocks(source, 20, random_state=0)
        expected, z = sample_blocks(block_source(X, Y), 20, random_state=0)
        assert_array_equal(rows.toarray() if kind == "sparse" else rows, expected)
        assert_array_equal(y, z)

    def test_encoders_are_applied_to_rows_as_they_are_given(self, source, kind) -> None:
        encoder = MaxAbsScaler().fit(source.X)
        encoded = source.with_encoder(encoder)
        blocks = [block.X.toarray() if kind == "sparse" else block.X for block in encoded]
        assert_allclose(np.concatenate(blocks), X / np.abs(X).max(axis=0), rtol=1e-14)
        assert encoded.n_features == 3
        assert [block.n_rows for block in encoded] == [7] * 8 + [4]
        assert source.encoder is None


def test_many_rows_are_encoded_together() -> None:
    calls = []

    class Counting(FunctionTransformer):
        def transform(self, X):
            calls.append(len(X))
            return X

    source = block_source(np.zeros((70_000, 2)), encoder=Counting().fit(X))
    blocks = [block.n_rows for block in source]
    assert sum(blocks) == 70_000
    assert max(blocks) == 4096
    assert [n_rows for n_rows in calls if n_rows > 1] == [2**15, 2**15, 70_000 - 2**16]

"""Blocks of every kind of table in memory are those of the same array."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from block_cases import table
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import MaxAbsScaler

from mercer._blocks import block_source, reduce_blocks, sample_blocks
from mercer._blocks.column_statistics import ColumnStatistics

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
        assert (source.n_rows, source.n_features, source.dtype) == (60, 3, np.float64)
        assert source.count_rows() == 60

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
        assert source.encoder is None


class TestNumbers:
    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_columns_without_numbers_are_named(self, library) -> None:
        frames = pytest.importorskip(library)
        source = block_source(frames.DataFrame({"a": [1, 2], "city": ["x", "y"], "b": [0.5, 1.0]}))
        with pytest.raises(ValueError, match=r"not hold numbers: city\."):
            reduce_blocks(source, ColumnStatistics())

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_truth_values_and_whole_numbers(self, library) -> None:
        frames = pytest.importorskip(library)
        frame = frames.DataFrame({"a": [True, False], "b": [3, 4]})
        assert next(iter(block_source(frame))).X.tolist() == [[1.0, 3.0], [0.0, 4.0]]

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_single_precision_is_kept_where_all_columns_have_it(self, library) -> None:
        frames = pytest.importorskip(library)
        columns = {"a": np.float32([1.0, 2.0]), "b": np.float32([0.1, 0.2])}
        assert next(iter(block_source(frames.DataFrame(columns)))).X.dtype == np.float32
        columns["b"] = columns["b"].astype(float)
        assert next(iter(block_source(frames.DataFrame(columns)))).X.dtype == np.float64

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_missing_numbers_are_refused(self, library) -> None:
        frames = pytest.importorskip(library)
        dtype = {"dtype": "Int64"} if library == "pandas" else {}
        column = frames.Series([1, None, 3], **dtype)
        with pytest.raises(ValueError, match="X contains NaN"):
            list(block_source(frames.DataFrame({"a": column})))

    def test_many_columns_are_not_all_named(self) -> None:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame({f"c{i}": ["x"] for i in range(15)})
        with pytest.raises(ValueError, match="c9 and 5 others"):
            list(block_source(frame))

    @pytest.mark.parametrize("dtype", ["U1", "M8[s]", complex])
    def test_arrays_of_other_types_are_refused(self, dtype) -> None:
        with pytest.raises(ValueError, match="X must hold numbers"):
            list(block_source(np.zeros((3, 2), dtype=dtype)))

    def test_arrays_of_other_libraries_stay_there(self) -> None:
        xp = pytest.importorskip("array_api_strict")
        Z = xp.asarray(X)
        blocks = list(block_source(Z, xp.asarray(Y), block_rows=7))
        assert all(type(block.X) is type(Z) for block in blocks)
        assert_array_equal(np.concatenate([np.asarray(block.X) for block in blocks]), X)
        Z, z = sample_blocks(block_source(Z, xp.asarray(Y)), 20, random_state=0)
        expected, y = sample_blocks(block_source(X, Y), 20, random_state=0)
        assert_array_equal(np.asarray(Z), expected)
        assert_array_equal(np.asarray(z), y)


class TestArguments:
    def test_wide_tables_have_smaller_blocks(self) -> None:
        assert block_source(np.zeros((1, 20))).block_rows == 4096
        assert block_source(np.zeros((1, 4096))).block_rows == 1024
        assert block_source(sp.csr_array((1, 10**6))).block_rows == 256

    def test_a_source_is_returned_as_it_is(self) -> None:
        source = block_source(X)
        assert block_source(source) is source

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

    def test_block_rows_are_positive(self) -> None:
        with pytest.raises(ValueError, match="block_rows must be at least 1"):
            block_source(X, block_rows=0)

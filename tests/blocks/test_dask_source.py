"""Dask arrays and data frames of any partitions, with Dask's scheduler of this process."""

import numpy as np
import pytest
import scipy.sparse as sp
from block_cases import NormalSums, Starts, sample_blocks, table
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mercer._blocks.row_sample import class_counts
from mercer._blocks.tables import block_source
from mercer.preprocessing import table_encoder

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

X, Y = table(60)
LABELS = np.repeat(["a", "b", "c"], [30, 25, 5])
"""Classes in the order of rows, so that partitions lack some of them."""


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def partitions(lengths, y=Y, *, known=True):
    """Dask arrays with partitions of these lengths, of which the sum is at most 60."""
    rows = sum(lengths)
    arrays = [da.from_array(z[:rows], (tuple(lengths), *z.shape[1:])) for z in (X, y)]
    if not known:
        for array in arrays:
            array._chunks = ((np.nan,) * len(lengths), *array.chunks[1:])
    return arrays


def frame(lengths, y=Y):
    """A Dask data frame with partitions of these lengths, some of which may be empty."""
    ends = np.cumsum(lengths)
    table = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    parts = [table.iloc[end - n : end] for n, end in zip(lengths, ends, strict=True)]
    return dd.from_map(lambda part: parts[part], range(len(parts)), meta=table.iloc[:0])


class TestSums:
    @settings(max_examples=15)
    @given(st.lists(st.integers(0, 12), min_size=1, max_size=5), st.booleans(), st.integers(1, 20))
    def test_any_partitions_give_the_same_sums(self, lengths, known, block_rows) -> None:
        source = block_source(*partitions(lengths, known=known), block_rows=block_rows)
        n, XtX, Xty = source.reduce(NormalSums())
        Z, z = X[: sum(lengths)], Y[: sum(lengths)]
        assert n == len(Z)
        if n:
            assert np.all(np.abs(XtX - Z.T @ Z) <= 1e-12 * (np.abs(Z).T @ np.abs(Z)))
            assert np.all(np.abs(Xty - Z.T @ z) <= 1e-12 * (np.abs(Z).T @ np.abs(z)))

    @pytest.mark.parametrize("known", [True, False])
    def test_blocks_know_their_positions(self, known) -> None:
        source = block_source(*partitions([5, 0, 1, 20, 34], known=known), block_rows=16)
        starts = source.reduce(Starts())
        assert starts == ((0, 5), (5, 1), (6, 16), (22, 4), (26, 16), (42, 16), (58, 2))
        assert source.count_rows() == 60

    @pytest.mark.skipif(
        dask.__version__.startswith("2025.1."), reason="This Dask concatenates no sparse arrays."
    )
    def test_sparse_partitions(self) -> None:
        parts = [sp.csc_array(part) for part in np.split(X, [20, 50])]
        delayed = [
            da.from_delayed(dask.delayed(part), part.shape, meta=sp.csr_array((0, 0)))
            for part in parts
        ]
        source = block_source(da.concatenate(delayed), Y)
        assert_allclose(source.reduce(NormalSums())[2], X.T @ Y, rtol=1e-12)
        rows, _ = sample_blocks(source, 20, 0)
        assert_array_equal(rows.toarray(), sample_blocks(block_source(X), 20, 0)[0])

    def test_chunks_of_columns_are_brought_together(self) -> None:
        source = block_source(da.from_array(X, (20, 1)), Y)
        assert_allclose(source.reduce(NormalSums())[2], X.T @ Y, rtol=1e-12)

    def test_targets_with_other_known_chunks_are_divided_anew(self) -> None:
        source = block_source(da.from_array(X, (20, 3)), da.from_array(Y, 7))
        assert_allclose(source.reduce(NormalSums())[2], X.T @ Y, rtol=1e-12)

    def test_several_outputs(self) -> None:
        outputs = np.column_stack([Y, -Y])
        source = block_source(da.from_array(X, (20, 3)), da.from_array(outputs, (20, 1)))
        assert_allclose(source.reduce(NormalSums())[2], X.T @ outputs, rtol=1e-12)


class TestClasses:
    @pytest.mark.parametrize("lengths", [[60], [1] * 60, [30, 0, 25, 5], [29, 31]])
    def test_a_partition_may_lack_some(self, lengths) -> None:
        source = block_source(*partitions(lengths, LABELS, known=False))
        found = class_counts(source)
        assert found.classes.tolist() == ["a", "b", "c"]
        assert found.counts.tolist() == [30, 25, 5]


class TestSamples:
    def test_frames_stay_frames_and_are_encoded_in_blocks(self) -> None:
        parts = frame([29, 0, 31])
        parts["city"] = parts["a"].gt(0).astype(str)
        source = block_source(parts[["city", "b"]], parts["y"])
        with pytest.raises(ValueError, match="not hold numbers: city"):
            source.reduce(NormalSums())
        sample, y = sample_blocks(source, 40, 0, raw=True)
        encoder = table_encoder().fit(sample, y)
        encoded = source.with_encoder(encoder)
        whole = encoder.transform(parts[["city", "b"]].compute())
        assert encoded.n_features == whole.shape[1]
        assert_allclose(encoded.reduce(NormalSums())[2], whole.T @ Y, rtol=1e-12)
        assert_array_equal(sample_blocks(encoded, 40, 0)[0], encoder.transform(sample))

    def test_no_rows(self) -> None:
        rows, y = sample_blocks(block_source(*partitions([0, 0], known=False)), 20)
        assert rows.shape == (0, 3)
        assert y is not None
        assert y.shape == (0,)


class TestLazyResults:
    @pytest.mark.parametrize("known", [True, False])
    def test_an_array_gives_a_lazy_array(self, known) -> None:
        calls: list[int] = []

        def sums(block):
            calls.append(block.n_rows)
            return block.X.sum(axis=1)

        Z, _ = partitions([5, 0, 1, 20, 34], known=known)
        result = block_source(Z, block_rows=16).map(sums)
        assert calls == [1]
        assert isinstance(result, da.Array)
        assert result.dtype == float
        assert_allclose(result.compute(), X.sum(axis=1))
        assert sorted(calls[1:]) == [1, 2, 4, 5, 16, 16, 16]
        if known:
            assert result.chunks == ((5, 1, 20, 34),)

    def test_several_columns_of_results(self) -> None:
        result = block_source(frame([29, 0, 31])[["a", "b"]]).map(lambda block: 2 * block.X)
        assert result.shape[1] == 2
        assert_array_equal(result.compute(), 2 * X[:, :2])

    def test_text_as_results(self) -> None:
        signs = np.array(["negative", "positive"])
        source = block_source(partitions([5, 55])[0])
        result = source.map(lambda block: signs[(block.X[:, 0] > 0).astype(int)])
        assert_array_equal(result.compute(), signs[(X[:, 0] > 0).astype(int)])


class TestErrors:
    def test_partitions_must_match(self) -> None:
        Z, y = partitions([5, 55], known=False)[0], partitions([5, 5, 50], known=False)[1]
        with pytest.raises(ValueError, match="X has 2 partitions, and y has 3"):
            block_source(Z, y)

    def test_rows_of_partitions_must_match(self) -> None:
        Z, y = partitions([5, 55], known=False)[0], partitions([10, 50], known=False)[1]
        with pytest.raises(ValueError, match=r"X has 55? rows, and y has the shape \((10|50),\)"):
            block_source(Z, y).reduce(NormalSums())

    def test_numbers_of_rows_must_match(self) -> None:
        with pytest.raises(ValueError, match="X has 60 rows"):
            block_source(da.from_array(X), Y[:50])
        with pytest.raises(ValueError, match="X has 60 rows"):
            block_source(da.from_array(X), da.from_array(Y[:50]))

    def test_a_target_in_memory_needs_known_chunks(self) -> None:
        with pytest.raises(ValueError, match="y must be a Dask collection"):
            block_source(frame([60])[["a"]], Y)

    def test_a_table_in_memory_needs_a_target_in_memory(self) -> None:
        with pytest.raises(ValueError, match="y is a Dask collection, and X is not"):
            block_source(X, da.from_array(Y))

    def test_a_table_has_two_dimensions(self) -> None:
        with pytest.raises(ValueError, match="rows and columns"):
            block_source(da.from_array(Y))
        with pytest.raises(ValueError, match="not a series"):
            block_source(frame([60])["a"])

    def test_missing_numbers_are_refused(self) -> None:
        Z = X.copy()
        Z[33, 1] = np.nan
        with pytest.raises(ValueError, match="X contains NaN"):
            block_source(da.from_array(Z, (20, 3)), Y).reduce(NormalSums())

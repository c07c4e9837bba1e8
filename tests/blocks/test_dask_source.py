"""Dask arrays and data frames of any partitions, with Dask's scheduler of this process."""

import numpy as np
import pytest
import scipy.sparse as sp
from block_cases import NormalSums, sample_blocks, table
from numpy.testing import assert_allclose, assert_array_equal

from mercer._blocks.tables import block_source
from mercer.preprocessing import table_encoder

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

X, Y = table(60)


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def chunked(z, *lengths):
    """A Dask array whose chunks have unknown lengths."""
    array = da.from_array(z, (lengths, *z.shape[1:]))
    array._chunks = ((np.nan,) * len(lengths), *array.chunks[1:])
    return array


def partitions(lengths, *, known=True):
    """Dask arrays with partitions of these lengths, of which the sum is at most 60."""
    tables = [z[: sum(lengths)] for z in (X, Y)]
    if not known:
        return [chunked(z, *lengths) for z in tables]
    return [da.from_array(z, (tuple(lengths), *z.shape[1:])) for z in tables]


def frame(lengths):
    """A Dask data frame with partitions of these lengths, some of which may be empty."""
    ends = np.cumsum(lengths)
    table = pd.DataFrame(X, columns=list("abc")).assign(y=Y)
    parts = [table.iloc[end - n : end] for n, end in zip(lengths, ends, strict=True)]
    return dd.from_map(lambda part: parts[part], range(len(parts)), meta=table.iloc[:0])


class TestSums:
    @pytest.mark.skipif(
        dask.__version__.startswith("2025.1."), reason="This Dask concatenates no sparse arrays."
    )
    def test_sparse_partitions(self) -> None:
        parts = [sp.csc_array(part) for part in np.split(X, [20, 50])]
        delayed = [
            da.from_delayed(dask.delayed(part), part.shape, meta=sp.csr_array((0, 0)))
            for part in parts
        ]
        source = block_source(da.concatenate(delayed), da.from_array(Y, ((20, 30, 10),)))
        assert_allclose(source.reduce(NormalSums())[2], X.T @ Y, rtol=1e-12)
        rows, _ = sample_blocks(source, 20, 0)
        assert_array_equal(rows.toarray(), sample_blocks(block_source(X), 20, 0)[0])

    def test_chunks_are_brought_together(self) -> None:
        """Chunks of columns, and of several outputs."""
        Z = np.column_stack([Y, -Y])
        source = block_source(da.from_array(X, (20, 1)), da.from_array(Z, (20, 1)))
        assert_allclose(source.reduce(NormalSums())[2], X.T @ Z, rtol=1e-12)


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


class TestLazyResults:
    @pytest.mark.parametrize("known", [True, False])
    def test_an_array_gives_a_lazy_array(self, known, monkeypatch) -> None:
        calls: list[int] = []

        monkeypatch.setattr("mercer._blocks.blocks._BLOCK_ROWS", 16)

        def sums(block):
            calls.append(block.n_rows)
            return block.X.sum(axis=1)

        Z, _ = partitions([5, 0, 1, 20, 34], known=known)
        result = block_source(Z).map(sums)
        assert calls == [1]
        assert isinstance(result, da.Array)
        assert result.dtype == float
        assert_allclose(result.compute(), X.sum(axis=1))
        assert sorted(calls[1:]) == [1, 2, 4, 5, 16, 16, 16]
        if known:
            assert result.chunks == ((5, 1, 20, 34),)

    def test_columns_and_text_as_results(self) -> None:
        signs = np.array(["negative", "positive"])
        source = block_source(frame([29, 0, 31])[["a", "b"]])
        for function in (lambda X: 2 * X, lambda X: signs[(X[:, 0] > 0).astype(int)]):
            result = source.map(lambda block, function=function: function(block.X))
            expected = function(X[:, :2])
            assert result.ndim == expected.ndim
            assert_array_equal(result.compute(), expected)


WITH_NAN = np.where(np.arange(60)[:, None] == 33, np.nan, X)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: (chunked(X, 5, 55), chunked(Y, 5, 5, 50)),
            "X has 2 partitions, and y has 3",
        ),
        (
            lambda: (chunked(X, 5, 55), chunked(Y, 10, 50)),
            r"X has 55? rows, and y has the shape \((10|50),\)",
        ),
        (lambda: (da.from_array(X), da.from_array(Y[:50])), "X has 60 rows"),
        (lambda: (frame([60])[["a"]], Y), "X is a Dask collection, and y is not"),
        (lambda: (X, da.from_array(Y)), "y is a Dask collection, and X is not"),
        (lambda: (da.from_array(Y), None), "rows and columns"),
        (lambda: (frame([60])["a"], None), "not a series"),
        (lambda: (da.from_array(WITH_NAN), da.from_array(Y)), "X contains NaN"),
    ],
)
def test_tables_and_targets_that_do_not_fit(make, message) -> None:
    with pytest.raises(ValueError, match=message):
        block_source(*make()).reduce(NormalSums())

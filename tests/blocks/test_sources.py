"""Blocks of every kind of table are those of the same array, in threads and in order."""

from collections.abc import Iterator
from itertools import islice
from threading import Barrier, current_thread
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from block_cases import NormalSums, Starts, sample_blocks, table
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import MaxAbsScaler
from threadpoolctl import threadpool_limits

from mercer import ParquetSource
from mercer._blocks import blocks as blocks_module
from mercer._blocks.blocks import run_in_threads
from mercer._blocks.tables import block_source

X, Y = table(60)
LABELS = np.repeat(["a", "b", "c"], [30, 25, 5])
"""Classes in the order of rows, so that blocks lack some of them."""

IN_MEMORY = ["list", "array", "Fortran order", "memory map", "sparse", "pandas"]
KINDS = [*IN_MEMORY, "parquet", "dask array", "dask array of unknown chunks", "dask frame"]
every_kind = pytest.mark.parametrize("kind", KINDS)
LENGTHS = (5, 0, 1, 20, 34)
"""Rows of the partitions of Dask's collections."""


def features(kind: str, folder: Any) -> Any:
    """A table in memory of the numbers X."""
    if kind == "pandas":
        return pytest.importorskip("pandas").DataFrame(X, columns=list("abc"))
    if kind == "memory map":
        np.save(folder / "x.npy", X)
        return np.load(folder / "x.npy", mmap_mode="r")
    made = {"list": np.ndarray.tolist, "Fortran order": np.asfortranarray, "sparse": sp.csc_array}
    return made.get(kind, np.asarray)(X)


def source_of(kind: str, y: Any, folder: Any) -> Any:
    """A source of the rows X and the targets y."""
    if kind in IN_MEMORY:
        return block_source(features(kind, folder), y.tolist())
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abc")).assign(y=y)
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(folder / "x.parquet", row_group_size=16)
        return ParquetSource(folder, target="y")
    pytest.importorskip("dask").config.set(scheduler="synchronous")
    if kind == "dask frame":
        ends = np.cumsum(LENGTHS)
        parts = [frame.iloc[end - n : end] for n, end in zip(LENGTHS, ends, strict=True)]
        whole = pytest.importorskip("dask.dataframe").from_map(
            lambda part: parts[part], range(len(parts)), meta=frame.iloc[:0]
        )
        return block_source(whole[list("abc")], whole["y"])
    da = pytest.importorskip("dask.array")
    arrays = [da.from_array(z, (LENGTHS, *z.shape[1:])) for z in (X, y)]
    if kind == "dask array of unknown chunks":
        for array in arrays:
            array._chunks = ((np.nan,) * len(LENGTHS), *array.chunks[1:])
    return block_source(*arrays)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks have at most seven rows."""
    monkeypatch.setattr(blocks_module, "_BLOCK_ROWS", 7)


def dense(rows: Any) -> Any:
    return rows.toarray() if sp.issparse(rows) else rows


@every_kind
@pytest.mark.usefixtures("small_blocks")
def test_blocks(kind: str, tmp_path: Any) -> None:
    source = source_of(kind, Y, tmp_path)
    blocks = list(source)
    assert_array_equal(np.concatenate([dense(block.X) for block in blocks]), X)
    assert_array_equal(np.concatenate([block.y for block in blocks]), Y)
    ends = np.cumsum([block.n_rows for block in blocks])
    assert [block.start for block in blocks] == [0, *ends[:-1]]
    assert max(block.n_rows for block in blocks) == 7
    assert all(block.y is None for block in source.without_target())
    assert_array_equal(source.targets(), Y)
    assert (source.count_rows(), source.n_features, blocks[0].X.dtype) == (60, 3, np.float64)
    starts = [(block.start, block.n_rows) for block in blocks]
    assert sorted(source.reduce(Starts())) == starts
    found = source.reduce(NormalSums())
    for one, expected in zip(found, (60, X.T @ X, X.T @ Y), strict=True):
        assert_allclose(dense(one), expected, rtol=1e-12)


@every_kind
def test_samples(kind: str, tmp_path: Any) -> None:
    source = source_of(kind, LABELS, tmp_path)
    rows, y = sample_blocks(source, 20, 0, stratify=True)
    expected, z = sample_blocks(block_source(X, LABELS), 20, 0, stratify=True)
    assert_array_equal(dense(rows), expected)
    assert_array_equal(y, z)


@every_kind
@pytest.mark.usefixtures("small_blocks")
def test_encoders_are_applied_to_rows_as_they_are_given(kind: str, tmp_path: Any) -> None:
    source = source_of(kind, Y, tmp_path)
    encoded = source.with_encoder(MaxAbsScaler().fit(sample_blocks(source, 60, raw=True)[0]))
    blocks = list(encoded)
    scaled = X / np.abs(X).max(axis=0)
    assert_allclose(np.concatenate([dense(block.X) for block in blocks]), scaled, rtol=1e-14)
    assert encoded.n_features == 3
    assert max(block.n_rows for block in blocks) == 7
    rows = sample_blocks(encoded, 20, 0)[0]
    assert_allclose(dense(rows), sample_blocks(block_source(scaled), 20, 0)[0], rtol=1e-14)


# --- numbers ------------------------------------------------------------------------------------


def test_columns_of_data_frames_become_numbers() -> None:
    frames = pytest.importorskip("pandas")
    frame = frames.DataFrame({"a": [True, False], "b": [3, 4]})
    assert next(iter(block_source(frame))).X.tolist() == [[1.0, 3.0], [0.0, 4.0]]
    columns = {"a": np.float32([1.0, 2.0]), "b": np.float32([0.1, 0.2])}
    assert next(iter(block_source(frames.DataFrame(columns)))).X.dtype == np.float32
    columns["b"] = columns["b"].astype(float)
    assert next(iter(block_source(frames.DataFrame(columns)))).X.dtype == np.float64
    missing = frames.DataFrame({"a": frames.Series([1, None, 3], dtype="Int64")})
    with pytest.raises(ValueError, match="X contains NaN"):
        list(block_source(missing))
    with pytest.raises(ValueError, match=r"not hold numbers: city\."):
        list(block_source(frame.assign(city=["x", "y"])))


@pytest.mark.parametrize("dtype", ["U1", "M8[s]", complex])
def test_arrays_of_other_types_are_refused(dtype: Any) -> None:
    with pytest.raises(ValueError, match="not hold numbers: X"):
        list(block_source(np.zeros((3, 2), dtype=dtype)))


@pytest.fixture(scope="module", autouse=True)
def many_cores() -> Iterator[None]:
    """The machine has as many cores as any test has threads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mercer._gram.tiles.n_given_cores", lambda: 8)
        yield


class TestReduce:
    @given(
        st.integers(1, 60),
        st.integers(1, 70),
        st.integers(1, 4),
        arrays(float, (60, 3), elements=st.floats(-1e3, 1e3)),
    )
    def test_any_division_gives_the_same_sums(self, n_rows, block_rows, threads, X) -> None:
        X = X[:n_rows]
        source = block_source(X, X[:, 0] + 1.0)
        with pytest.MonkeyPatch.context() as patch, threadpool_limits(threads):
            patch.setattr(blocks_module, "_BLOCK_ROWS", block_rows)
            n, XtX, Xty = source.reduce(NormalSums())
        assert n == n_rows
        scale = np.abs(X).T @ np.abs(X)
        assert np.all(np.abs(XtX - X.T @ X) <= 1e-12 * scale)
        assert np.all(np.abs(Xty - X.T @ (X[:, 0] + 1.0)) <= 1e-12 * (scale + np.abs(X).sum()))

    @pytest.mark.usefixtures("small_blocks")
    def test_rows_are_reported_in_the_calling_thread(self) -> None:
        rows: list[int] = []
        source = block_source(*table(50))
        source.on_rows = rows.append
        source.reduce(NormalSums())
        assert rows == [7] * 7 + [1]

    @pytest.mark.usefixtures("small_blocks")
    @pytest.mark.parametrize("threads", [1, 3])
    @pytest.mark.parametrize("of", ["X", "y"])
    def test_missing_numbers_of_a_block_are_refused(self, threads: int, of: str) -> None:
        X, y = table(50)
        (X if of == "X" else y[:, None])[33, 0] = np.nan
        with threadpool_limits(threads), pytest.raises(ValueError, match=f"{of} contains NaN"):
            block_source(X, y).reduce(NormalSums())


def test_wide_tables_have_smaller_blocks() -> None:
    for X, n_rows in ((np.zeros((9000, 20)), 8192), (sp.csr_array((5000, 10**6)), 256)):
        assert next(iter(block_source(X))).n_rows == n_rows


@pytest.mark.usefixtures("small_blocks")
def test_floats_are_not_copied() -> None:
    assert all(np.shares_memory(block.X, X) for block in block_source(X))


@pytest.mark.parametrize("y", [Y[:5], np.zeros((60, 2, 2))])
def test_shapes_are_checked(y: Any) -> None:
    with pytest.raises(ValueError, match=r"X has 60 rows, and y has the shape \(\d+,"):
        block_source(X, y)


@given(st.integers(0, 30), st.integers(1, 4))
def test_results_are_in_order_and_lanes_accumulate(n: int, threads: int) -> None:
    with threadpool_limits(threads):
        found = list(run_in_threads(lambda item, before: [*(before or []), item], range(n)))
    assert [result[-1] for _, result in found] == list(range(n))
    for lane, result in found:
        assert result == list(range(lane, result[-1] + 1, threads if n > 1 else 1))


def test_lanes_run_at_the_same_time() -> None:
    meeting = Barrier(3, timeout=30.0)
    with threadpool_limits(3):
        found = list(
            run_in_threads(lambda item, _: (meeting.wait(), current_thread().name), range(6))
        )
    assert len({name for _, (_, name) in found}) == 3


@pytest.mark.parametrize("threads", [1, 3])
def test_few_items_are_read_ahead(threads: int) -> None:
    read, done = [0], 0

    def items() -> Iterator[int]:
        for item in range(100):
            read[0] += 1
            yield item

    with threadpool_limits(threads):
        for _ in run_in_threads(lambda item, _: item, items()):
            done += 1
            assert read[0] - done <= 2 * threads


@pytest.mark.parametrize("threads", [1, 3])
def test_errors_reach_the_caller_in_order(threads: int) -> None:
    with threadpool_limits(threads):
        results = run_in_threads(lambda item, _: 1 / (7 - item), range(100))
        seen = [result for _, result in islice(results, 7)]
        with pytest.raises(ZeroDivisionError):
            next(results)
    assert seen == [1 / (7 - item) for item in range(7)]

"""Passes over rows on a cluster of processes, some of which fail."""

import logging
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from block_cases import NormalSums, Starts, table
from numpy.testing import assert_allclose

from mercer import ParquetSource
from mercer._blocks.blocks import Block
from mercer._blocks.dask_source import DaskSource
from mercer._blocks.tables import block_source

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
pd = pytest.importorskip("pandas")

X, Y = table(60)
LENGTHS = (5, 0, 1, 10, 10, 10, 1, 23)
"""An empty partition, and partitions of one row."""


def parts(y: Any = Y, lengths: tuple[int, ...] = LENGTHS, *, known: bool = True) -> tuple[Any, Any]:
    """Dask arrays with partitions of these lengths."""
    arrays = tuple(da.from_array(z, (lengths, *z.shape[1:])) for z in (X, y))
    if not known:
        for array in arrays:
            array._chunks = ((np.nan,) * len(lengths), *array.chunks[1:])
    return arrays


@pytest.fixture(scope="module")
def expected() -> list[Any]:
    """Sums over the partitions, in this process."""
    with dask.config.set(scheduler="synchronous"):
        return block_source(*parts()).reduce(NormalSums())


def assert_equal_sums(found: list[Any], expected: list[Any]) -> None:
    """Equal up to rounding, which differs with the alignment of arrays in memory."""
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-13)


@dataclass(frozen=True)
class Failing(NormalSums):
    """Sums, in which the worker dies that adds the rows from 26 on, once or each time."""

    marks: Path
    always: bool = False

    def add(self, state: list[Any], block: Block) -> list[Any]:
        mark = self.marks / "died"
        if block.start == 26 and (self.always or not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().add(state, block)


class TestCluster:
    def test_a_given_client_is_used(self, client, expected) -> None:
        before = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)
        with dask.config.set(scheduler="synchronous"):
            found = DaskSource(*parts(), None, client).reduce(NormalSums())
        assert_equal_sums(found, expected)
        after = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)
        assert after > before

    def test_blocks_are_merged_in_order(self, client) -> None:
        found = block_source(*parts(known=False), block_rows=8).reduce(Starts())
        starts = [start for start, _ in found]
        assert starts == sorted(starts) == np.cumsum([0, *(n for _, n in found)])[:-1].tolist()

    def test_rows_are_reported(self, client, expected) -> None:
        rows: list[int] = []
        source = block_source(*parts(known=False))
        source.on_rows = rows.append
        found = source.reduce(NormalSums())
        assert_equal_sums(found, expected)
        assert sorted(rows) == sorted(LENGTHS)

    def test_errors_of_a_block_reach_the_caller(self, client) -> None:
        Z = X.copy()
        Z[33, 1] = np.inf
        source = block_source(da.from_array(Z, (9, 3)), Y)
        for on_rows in (None, lambda n_rows: None):
            source.on_rows = on_rows
            with pytest.raises(ValueError, match="X contains infinity"):
                source.reduce(NormalSums())

    def test_row_groups_are_read_on_the_cluster(self, client, tmp_path, monkeypatch) -> None:
        frame = pd.DataFrame(X, columns=list("abc")).assign(y=Y)
        frame.loc[3, "y"] = np.nan
        frame.to_parquet(tmp_path / "x.parquet", row_group_size=7)
        original = ParquetSource.pieces
        monkeypatch.setattr(ParquetSource, "pieces", lambda self: original(self, 14))
        rows: list[int] = []
        here = ParquetSource(tmp_path, "y", block_rows=5)
        source = ParquetSource(tmp_path, "y", block_rows=5, client=client, on_rows=rows.append)
        n, XtX, _ = source.reduce(NormalSums())
        assert n == 59
        assert_allclose(XtX, here.reduce(NormalSums())[1], rtol=1e-12)
        assert sorted(rows) == [4, 13, 14, 14, 14]
        assert source.reduce(Starts())[-1] == (55, 4)


class TestFailures:
    def test_a_worker_dies_and_the_result_is_the_same(self, client, expected, tmp_path) -> None:
        found = block_source(*parts()).reduce(Failing(tmp_path))
        assert (tmp_path / "died").exists()
        assert_equal_sums(found, expected)

    def test_workers_that_die_each_time(self, cluster, client, tmp_path, monkeypatch) -> None:
        monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
        # Dask knows tasks by their data, and remembers those that killed workers.
        others = da.from_array(-X, (LENGTHS, 3))
        with pytest.raises(RuntimeError, match=r"Several workers .* smaller partitions"):
            block_source(others, Y).reduce(Failing(tmp_path, always=True))

    def test_a_closed_client_is_refused_before_any_work(self, cluster) -> None:
        with distributed.Client(cluster, set_as_default=False) as client:
            assert DaskSource(*parts(), None, client).count_rows() == 60
        with pytest.raises(RuntimeError, match=r"client is closed\. Connect a new client"):
            DaskSource(*parts(), None, client).reduce(NormalSums())

    def test_a_cluster_is_closed_meanwhile(self) -> None:
        with (
            distributed.LocalCluster(
                n_workers=1, processes=False, dashboard_address=":0", silence_logs=logging.CRITICAL
            ) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            source = DaskSource(*parts(), None, client)
            source.on_rows = lambda n_rows: cluster.close()
            with pytest.raises(RuntimeError, match=r"cluster was lost .* Connect a new client"):
                source.reduce(NormalSums())

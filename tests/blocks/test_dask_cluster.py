"""Passes over the rows of Dask's collections on a cluster of processes, one of which fails."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from block_cases import NormalSums, Starts, table
from numpy.testing import assert_allclose

from mercer._blocks.blocks import Block
from mercer._blocks.tables import block_source

pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

X, Y = table(60)
LENGTHS = (5, 0, 1, 10, 10, 10, 1, 23)
"""An empty partition, and partitions of one row."""


@dataclass(frozen=True)
class Failing(NormalSums):
    """Sums, in which the worker dies once that adds the rows from 26 on."""

    marks: Path

    def add(self, state: list[Any], block: Block) -> list[Any]:
        mark = self.marks / "died"
        if block.start == 26 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().add(state, block)


@pytest.mark.parametrize("known", [True, False])
def test_a_worker_dies_and_the_sums_are_the_same(client: Any, known: bool, tmp_path: Path) -> None:
    arrays = [da.from_array(z, (LENGTHS, *z.shape[1:])) for z in (X, Y)]
    if not known:
        for array in arrays:
            array._chunks = ((np.nan,) * len(LENGTHS), *array.chunks[1:])
    source = block_source(*arrays)
    found = source.reduce(Failing(tmp_path))
    assert (tmp_path / "died").exists()
    for one, expected in zip(found, (60, X.T @ X, X.T @ Y), strict=True):
        assert_allclose(one, expected, rtol=1e-12)
    starts = np.cumsum([0, *LENGTHS])[:-1]
    rows = [pair for pair in zip(starts.tolist(), LENGTHS, strict=True) if pair[1]]
    assert list(source.reduce(Starts())) == rows

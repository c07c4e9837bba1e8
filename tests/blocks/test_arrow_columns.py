"""Columns of Arrow tables as arrays and data frames."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer._blocks.arrow_columns import (
    arrow_numbers,
    as_frame,
    is_arrow_number,
    is_arrow_single,
    target_array,
)

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pandas")

NUMBERS = {
    "whole": pa.array([1, None, 3], pa.int32()),
    "fractional": pa.array([0.5, 1.5, None], pa.float32()),
    "truth": pa.array([True, None, False]),
    "decimal": pa.array([Decimal("1.25"), None, Decimal("2.50")]),
    "nothing": pa.nulls(3),
}
OTHERS = {
    "text": pa.array(["a", None, "b"]),
    "category": pa.array(["a", None, "b"]).dictionary_encode(),
    "day": pa.array([0, 1, None], pa.date32()),
}
NAN = np.nan


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name) -> None:
    assert is_arrow_number(NUMBERS[name].type)


@pytest.mark.parametrize("name", OTHERS)
def test_others(name) -> None:
    assert not is_arrow_number(OTHERS[name].type)


def test_single_precision() -> None:
    kinds = (pa.float16(), pa.float32(), pa.float64(), pa.int8())
    assert [is_arrow_single(kind) for kind in kinds] == [True, True, False, False]


@pytest.mark.parametrize("of", [pa.RecordBatch.from_pydict, pa.Table.from_pydict])
def test_missing_numbers_become_nan(of) -> None:
    expected = [[1, 0.5, 1, 1.25, NAN], [NAN, 1.5, NAN, NAN, NAN], [3, NAN, 0, 2.5, NAN]]
    assert_array_equal(arrow_numbers(of(NUMBERS), np.dtype(float)), expected)


def test_tables_of_several_batches() -> None:
    batch = pa.RecordBatch.from_pydict(NUMBERS)
    twice = arrow_numbers(pa.Table.from_batches([batch, batch]), np.dtype(float))
    once = arrow_numbers(batch, np.dtype(float))
    assert_array_equal(twice, np.concatenate([once, once]))


def test_targets() -> None:
    known = {name: column.drop_null() for name, column in {**NUMBERS, **OTHERS}.items()}
    assert target_array([known["whole"]]).tolist() == [1, 3]
    assert target_array([known["text"]]).tolist() == ["a", "b"]
    assert target_array([known["category"]]).tolist() == ["a", "b"]
    assert target_array([known["truth"]]).tolist() == [True, False]
    assert target_array([known["decimal"]]).tolist() == [1.25, 2.5]
    assert target_array([known["whole"], known["fractional"]]).tolist() == [[1.0, 0.5], [3.0, 1.5]]


def test_frames_of_batches_with_different_categories() -> None:
    batches = [
        pa.RecordBatch.from_pydict({"kind": pa.array(values).dictionary_encode()})
        for values in (["a", "b"], ["c", "a"])
    ]
    assert as_frame(pa.Table.from_batches(batches))["kind"].tolist() == ["a", "b", "c", "a"]

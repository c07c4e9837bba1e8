"""What columns hold, and their conversion, for arrays and for data frames of pandas and polars."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from mercer.preprocessing import convert, kind_of, table_encoder
from mercer.preprocessing._column_kinds import FEW

CELLS: list[tuple[list[Any], str]] = [
    ([Decimal("1.5"), None, 2], "number"),
    ([True, False, None], "category"),
    ([True, 2, None], "category"),
    (["a", 1, 2.5], "category"),
    ([date(2020, 1, 1), None, datetime(2021, 1, 1)], "date"),
    ([timedelta(hours=1), None, timedelta(0)], "date"),
    ([None, np.nan, None], "empty"),
    ([[1], [2], None], "other"),
    ([1j, 2.0, None], "other"),
    ([(1, 2), (3, 4), (1, 2)], "category"),
    ([f"row {i}" for i in range(FEW + 1)], "identifier"),
    ([f"row {i}" for i in range(FEW)], "category"),
    ([f"code{i % 30}" for i in range(40)], "text"),
    ([f"{'fair' if i % 3 else 'poor'} meal at table {i}" for i in range(FEW + 1)], "text"),
    ([f"row {i // 2}" for i in range(2 * FEW + 2)], "category"),
]


def column(cells: list[Any]) -> Any:
    """Return an array of objects, whatever the cells are."""
    values = np.empty(len(cells), dtype=object)
    values[:] = cells
    return values


class TestKind:
    @pytest.mark.parametrize(("cells", "kind"), CELLS)
    def test_of_cells(self, cells: list[Any], kind: str) -> None:
        """In an array of objects, and in a series of pandas and polars that can hold them."""
        pl = pytest.importorskip("polars")
        objects = column(cells)
        found = [kind_of(objects), kind_of(pd.Series(objects, dtype=object))]
        if kind != "other" and not isinstance(cells[0], tuple):
            found.append(kind_of(pd.Series(objects).convert_dtypes()))
            if len({type(cell) for cell in cells if cell is not None}) == 1:
                found.append(kind_of(pl.Series(cells)))
        assert set(found) == {kind}

    def test_of_a_type(self) -> None:
        for dtype, kind in ((bool, "category"), ("S2", "number"), ("timedelta64[s]", "date")):
            assert kind_of(np.array([0, 1, 0]).astype(dtype)) == kind
        assert kind_of(np.array(["01002", "90210"] * 9)) == "category"

    def test_of_what_pandas_calls_categories(self) -> None:
        assert kind_of(pd.Series([1, 2, 1], dtype="category")) == "category"


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (column([f"row {i}" for i in range(FEW + 1)])[:, None], "No column can be used"),
        (np.ones((0, 2)), "must have rows and columns"),
        (np.ones(3), "must have rows and columns"),
        (csr_array(np.eye(3)), "dense"),
    ],
)
def test_unsuitable_tables_are_refused(X: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        table_encoder().fit(X)


def test_names_that_occur_twice_are_refused() -> None:
    with pytest.raises(ValueError, match=r"same name|unique column names"):
        table_encoder().fit(pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]))


class TestConversion:
    def test_numbers(self) -> None:
        X = column([Decimal("1.5"), None, 2, np.float32(3)])[:, None]
        np.testing.assert_array_equal(convert(X, "number"), [[1.5], [np.nan], [2.0], [3.0]])
        assert convert(np.ones((2, 3), np.float32), "number").dtype == np.float32

    def test_columns_of_other_kinds_are_named(self) -> None:
        frame = pd.DataFrame({"a": [1, 2], "b": ["1", "tall"], "c": pd.to_datetime(["2020"] * 2)})
        with pytest.raises(ValueError, match=r"text where numbers are needed: b, c\."):
            convert(frame, "number")
        with pytest.raises(ValueError, match=r"infinite numbers: 1\."):
            convert(np.array([[1.0, 2.0], [3.0, -np.inf]]), "number")
        with pytest.raises(ValueError, match=r"neither dates nor durations, which are needed: 0\."):
            convert(column(["today", None])[:, None], "date")

    def test_dates_are_days_since_1970(self) -> None:
        cells = [date(1970, 1, 3), None, datetime(1969, 12, 31, 12), np.datetime64("1970-01-01")]
        expected = [[2.0], [np.nan], [-0.5], [0.0]]
        np.testing.assert_array_equal(convert(column(cells)[:, None], "date"), expected)
        frame = pd.DataFrame({"a": pd.to_datetime(["1970-01-02 00:00+02:00", None])})
        np.testing.assert_allclose(convert(frame, "date"), [[1.0 - 2 / 24], [np.nan]])

    def test_durations_are_days(self) -> None:
        cells = column([timedelta(hours=6), None, np.timedelta64(1, "D")])[:, None]
        np.testing.assert_array_equal(convert(cells, "date"), [[0.25], [np.nan], [1.0]])

    def test_categories_are_text_without_a_decimal_point(self) -> None:
        cells = column([1.0, 2.5, None, "x", True, 3])[:, None]
        expected = ["1", "2.5", np.nan, "x", "True", "3"]
        assert convert(cells, "text")[:, 0].tolist() == expected
        assert convert(np.array([[3], [4]]), "text")[:, 0].tolist() == ["3", "4"]


def test_empty_text_is_a_missing_category() -> None:
    cells = np.array([["a", ""], ["", " "], [None, 1.0]], dtype=object)
    found = convert(cells, "category")
    assert [[value == value for value in row] for row in found] == [  # noqa: PLR0124
        [True, False],
        [False, True],
        [False, True],
    ]
    assert found[1, 1] == " "

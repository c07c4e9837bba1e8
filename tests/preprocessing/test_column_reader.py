"""Text in data frames is read as in the fit, in the frames of pandas and polars; arrays are not."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import mercer
from mercer import TwoStageRegressor
from mercer.preprocessing import (
    CellReading,
    cell_readings,
    numbers_rows,
    parse_cells,
    table_encoder,
)
from mercer.preprocessing._column_reader import ColumnReader

N = 40
DAYS = [f"{1 + k % 28:02}.{1 + k % 12:02}.2021" for k in range(N)]
PRICES = [f"{k % 17},50 €" for k in range(N)]


def frame() -> Any:
    return pd.DataFrame({"day": DAYS, "price": PRICES, "town": ["Bern", "Chur"] * (N // 2)})


def test_text_is_encoded_as_what_it_says() -> None:
    typed = frame().assign(
        day=pd.to_datetime(DAYS, format="%d.%m.%Y"), price=[k % 17 + 0.5 for k in range(N)]
    )
    encoder, expected = table_encoder().fit(frame()), table_encoder().fit(typed)
    assert_array_equal(encoder.transform(frame()), expected.transform(typed))
    assert_array_equal(encoder.transform(typed), expected.transform(typed))
    assert_array_equal(clone(encoder).fit_transform(frame()), expected.transform(typed))


def test_rows_are_read_in_the_notation_of_the_fit() -> None:
    """Other rows alone may be read otherwise: these have no day after the twelfth."""
    encoder = table_encoder().fit(frame())
    rows = encoder.transform(frame())
    few = [k for k in range(N) if 1 + k % 28 <= 12][:3]
    assert_array_equal(encoder.transform(frame().iloc[few]), rows[few])


def test_arrays_and_categories_stay() -> None:
    array = frame().to_numpy(dtype=object)
    assert ColumnReader().fit(array).transform(array) is array
    categories = frame().astype("category")
    assert ColumnReader().fit(categories).columns_ == []


def test_cells_that_cannot_be_read_are_missing_with_a_warning() -> None:
    encoder = table_encoder().fit(frame().assign(price=[None, *PRICES[1:]]))
    new = frame().assign(price=["many", *PRICES[1:]])
    with pytest.warns(UserWarning, match=r"1 cells of column 'price' are no numbers .*: 'many'"):
        found = encoder.transform(new)
    expected = encoder.transform(frame().assign(price=["?", *PRICES[1:]]))
    assert_array_equal(found, expected)


def test_guesses_are_warnings() -> None:
    with pytest.warns(UserWarning, match=r"column 'x': the comma is taken for a separator"):
        table_encoder().fit(pd.DataFrame({"x": ["1,234", "5,678", "9,012"]}))
    with pytest.warns(UserWarning, match=r"column 'd': .*days and months may be swapped"):
        table_encoder().fit(pd.DataFrame({"d": ["01/02/2024", "03/04/2024"]}))


@pytest.mark.parametrize(
    ("name", "numbers", "expected"),
    [
        ("x", [3, 1, 2], True),
        ("x", [1999, 2000, 2001], False),
        ("x", [3, 1, 5], False),
        ("order_id", [30, 10, 5], True),
        ("id", [30, 10, 10], False),
        ("id", [30, np.nan, 5], False),
        ("idea", [30, 10, 5], False),
    ],
)
def test_numbers_of_rows(name: str, numbers: list[float], expected: bool) -> None:
    assert numbers_rows(name, np.array(numbers)) is expected


def test_columns_that_number_rows_are_left_out_of_frames_only() -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame({"x": random.normal(size=N), "row": random.permutation(N)})
    with pytest.warns(UserWarning, match="columns that number rows are left out: 'row'"):
        assert table_encoder().fit_transform(table).shape == (N, 1)
    assert table_encoder().fit_transform(table.to_numpy()).shape == (N, 2)
    assert table_encoder().fit_transform(table[["row"]]).shape == (N, 1)


def test_saved_models_and_graphs(tmp_path: Any) -> None:
    y = np.arange(N) % 17 + 3.0 * (np.arange(N) % 2)
    model = make_pipeline(table_encoder(), TwoStageRegressor()).fit(frame(), y)
    mercer.save(model, tmp_path / "m.mercer")
    loaded = mercer.load(tmp_path / "m.mercer")
    assert_array_equal(loaded.predict(frame()), model.predict(frame()))
    pytest.importorskip("skl2onnx")
    with pytest.raises(TypeError, match=r"read as numbers or dates .* ONNX: 'day', 'price'"):
        mercer.to_onnx(model, frame())


COMMAS, POINTS = ["1,5", "2,25"], ["1.5", "2.25"]
DAYS_FIRST, MONTHS_FIRST = ["13/02/2024", "14/02/2024"], ["02/13/2024", "02/14/2024"]


def readings(**columns: list[str]) -> dict[str, CellReading]:
    return cell_readings(pd.DataFrame(columns), dict.fromkeys(columns, (None, "")))


def test_a_decimal_comma_in_other_columns_leaves_decimal_points_as_they_are() -> None:
    found = readings(a=POINTS, b=COMMAS, c=COMMAS)
    assert [reading.format for reading in found.values()] == ["point", "comma", "comma"]
    assert parse_cells(pd.Series(POINTS), found["a"])[0].tolist() == [1.5, 2.25]
    assert found["a"].facts == ()


@pytest.mark.parametrize(("first", "others"), [(POINTS, COMMAS), (COMMAS, POINTS)])
def test_most_columns_decide_on_a_decimal_mark(first: list[str], others: list[str]) -> None:
    cells = ["1,234", "5,678"]
    found = readings(a=first, b=others, c=others, d=cells)["d"]
    expected = [1.234, 5.678] if others == COMMAS else [1234.0, 5678.0]
    assert parse_cells(pd.Series(cells), found)[0].tolist() == expected


@pytest.mark.parametrize(
    ("first", "others", "month"), [(DAYS_FIRST, MONTHS_FIRST, 1), (MONTHS_FIRST, DAYS_FIRST, 2)]
)
def test_most_columns_decide_on_the_order_of_days_and_months(
    first: list[str], others: list[str], month: int
) -> None:
    cells = ["01/02/2024", "01/02/2025"]
    found = readings(a=first, b=others, c=others, d=cells)["d"]
    assert parse_cells(pd.Series(cells), found)[0].dt.month.tolist() == [month, month]


def test_truth_values_may_come_back_as_numbers_or_text() -> None:
    known = pd.DataFrame({"flag": [True, False, True], "x": [1.0, 2.0, 3.0]})
    reader = ColumnReader().fit(known)
    for cells in ([1, 0, 1], [1.0, 0.0, 1.0], ["TRUE", "FALSE", "TRUE"], ["yes", "no", "yes"]):
        found = reader.transform(known.assign(flag=cells))["flag"]
        assert found.tolist() == [True, False, True]
    for missing in (np.nan, None, ""):
        assert reader.transform(known.assign(flag=missing))["flag"].tolist() == [None] * 3
    with pytest.warns(UserWarning, match="1 cells of column 'flag' are no truth values .* '7'"):
        assert reader.transform(known.assign(flag=[1, 0, 7]))["flag"].tolist() == [
            True,
            False,
            None,
        ]


def test_points_before_three_digits_may_separate_thousands() -> None:
    found = readings(c=["51.037", "517", "2.250"])["c"]
    assert found.warnings == ("the point is taken for a decimal mark",)
    assert readings(c=["51.037", "0.517", "2.250"])["c"].warnings == ()

"""Numbers, dates and times in cells of text, in the notations of several countries."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mercer.preprocessing import CellReading, cell_readings, parse_cells
from mercer.preprocessing._notation import (
    date_formats,
    decimal_marks,
    is_compact,
    known_cells,
    parse_dates,
    parse_numbers,
    parse_times,
    time_format,
)


@pytest.mark.parametrize(
    ("cell", "decimal", "number"),
    [
        ("1234.5", "point", 1234.5),
        ("1,234.5", "point", 1234.5),
        ("1.234,5", "comma", 1234.5),
        ("1\N{NARROW NO-BREAK SPACE}234,5", "comma", 1234.5),
        ("1'234.5", "point", 1234.5),
        ("-0,5", "comma", -0.5),
        ("\N{MINUS SIGN}7", "point", -7.0),
        ("5.", "point", 5.0),
        ("1.200 €", "comma", 1200.0),
        ("-$1,200.50", "point", -1200.5),
        ("($1,200.50)", "point", -1200.5),
        ("(3,5 €)", "comma", -3.5),
        ("12.5-", "point", -12.5),
        ("-12-", "point", np.nan),
        ("(12", "point", np.nan),
        ("inf", "point", np.inf),
        ("12,34,567", "point", np.nan),
        ("1_000", "point", np.nan),
        ("2024-01-01", "point", np.nan),
    ],
)
def test_a_cell_is_read(cell: str, decimal: str, number: float) -> None:
    np.testing.assert_array_equal(parse_numbers(pd.Series([cell]), decimal), [number])


@pytest.mark.parametrize(
    ("cells", "decimals"),
    [
        (["1,5", "2,25"], ["comma"]),
        (["1,234", "5,678"], ["point", "comma"]),
        (["1.234.567", "2"], ["comma"]),
        (["0,123", "4,567"], ["comma"]),
        (["1", "2"], ["point", "comma"]),
        (["12,5", *map(str, range(30))], ["comma"]),
    ],
)
def test_the_cells_tell_the_decimal_mark(cells: list[str], decimals: list[str]) -> None:
    assert decimal_marks(known_cells(pd.Series(cells))) == decimals


WRITTEN = st.from_regex(r"[+-]?[0-9]{1,5}(\.[0-9]{1,4})?(e-?[0-9])?", fullmatch=True)


@settings(deadline=None, max_examples=25)
@given(cells=st.lists(WRITTEN, min_size=1, max_size=6))
def test_plain_numbers_are_read_as_beside_others(cells: list[str]) -> None:
    """A cell of another notation leaves the short cut of plain numbers aside."""
    found = parse_numbers(pd.Series([*cells, "1,234.5"]), "point")
    assert_array_equal(parse_numbers(pd.Series(cells), "point"), found[:-1])
    assert_array_equal(found, [*map(float, cells), 1234.5])


def test_other_cells_are_no_numbers() -> None:
    for cells in (["a", "b"], ["$1", "€2"], ["1/2", "3/4"], []):
        assert decimal_marks(known_cells(pd.Series(cells, dtype=str))) == []


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        (["2024-01-12", "2024-02-13"], "2024-01-12"),
        (["2024-01-12T10:30:00", "2024-01-13T00:00:00"], "2024-01-12T10:30"),
        (["2024-01-12T10:30:00+02:00", "2024-01-13T00:00:00Z"], "2024-01-12T08:30"),
        (["12.1.2024", "31.12.2024"], "2024-01-12"),
        (["12.01.24", "31.12.24"], "2024-01-12"),
        (["01/12/2024", "12/31/2024"], "2024-01-12"),
        (["12/01/2024", "31/12/2024"], "2024-01-12"),
        (["January 12, 2024", "December 31, 2024"], "2024-01-12"),
        (["12-Jan-24", "31-Dec-24"], "2024-01-12"),
        (["1/12/24 3:04 PM", "12/31/24 3:05 AM"], "2024-01-12T15:04"),
    ],
)
def test_formats_are_recognized(cells: list[str], first: str) -> None:
    found = date_formats(pd.Series(cells))
    assert parse_dates(pd.Series(cells), found[0])[0] == np.datetime64(first)
    orders = {str(parse_dates(pd.Series(cells), name)[0]) for name in found}
    assert len(orders) == 1


def test_other_text_is_no_date() -> None:
    for cells in (["a", "b"], ["room 1", "room 2"], ["3-4", "5-6"], ["may", "june"]):
        assert date_formats(pd.Series(cells)) == []
    assert not is_compact(pd.Series(["20240131", "20241331", "12345678"]))
    assert is_compact(pd.Series(["20240131", "20231231"]))


def test_times_of_day() -> None:
    cells = pd.Series(["08:30", "23:59"])
    assert time_format(cells) == "%H:%M"
    assert time_format(pd.Series(["08:30:15", "23:59:00"])) == "%H:%M:%S"
    assert time_format(pd.Series(["8:30 AM", "11:59 PM"])) == "%I:%M %p"
    assert time_format(pd.Series(["25:00", "99:99"])) is None
    assert parse_times(cells, "%H:%M")[0] == np.datetime64("1970-01-01T08:30")


def read(*cells: str | None) -> tuple[CellReading, list[str]]:
    """Return how a column is read, and its values as text."""
    frame = pd.DataFrame({"c": pd.Series([*cells, None], dtype=object)})
    reading = cell_readings(frame)["c"]
    values, odd = parse_cells(frame["c"], reading)
    assert odd.empty
    return reading, [str(value) for value in values[:-1]]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["31JAN2024", "01FEB2023"], ["2024-01-31", "2023-02-01"]),
        (["31-JAN-2024", "01-FEB-2023"], ["2024-01-31", "2023-02-01"]),
        (["31JAN24", "01FEB55"], ["2024-01-31", "1955-02-01"]),
        (["31JAN2024:08:30:00", "01FEB2024:09:00:00"], ["2024-01-31 08:30", "2024-02-01 09:00"]),
        (["31-JAN-2024 08:30:00", "01-FEB-2024 9:00:00"], ["2024-01-31 08:30", "2024-02-01 09:00"]),
        (["01/31/55", "12/24/70", "03/02/01"], ["1955-01-31", "1970-12-24", "2001-03-02"]),
        (["31.12.29", "31.12.30"], ["2029-12-31", "1930-12-31"]),
        (["2023Q1", "2022Q4"], ["2023-01-01", "2022-10-01"]),
        (["2023-Q1", "2022-Q4"], ["2023-01-01", "2022-10-01"]),
        (["Q1 2023", "Q4 2022"], ["2023-01-01", "2022-10-01"]),
        (["Jan 2023", "Feb 2024"], ["2023-01-01", "2024-02-01"]),
        (
            ["2024-01-31 08:30 CET", "2024-07-31 09:00 CEST"],
            ["2024-01-31 08:30", "2024-07-31 09:00"],
        ),
        (["2024-07-31 08:30:00 Europe/Berlin"] * 2, ["2024-07-31 08:30"] * 2),
        (["2024-07-31T08:30:00+02:00[Europe/Berlin]"] * 2, ["2024-07-31 08:30+02:00"] * 2),
    ],
)
def test_dates_as_programs_write_them(cells: list[str], expected: list[str]) -> None:
    reading, found = read(*cells)
    assert reading.read_as == "date"
    assert found == [str(pd.Timestamp(text)) for text in expected]


@pytest.mark.parametrize(
    ("cells", "hours"),
    [
        (["25:30", "8:15", "102:00"], [25.5, 8.25, 102.0]),
        (["25:30:36", "8:15:00", "-0:30:00"], [25.51, 8.25, -0.5]),
        (["3 days 04:00:00", "1 day", "0 days 00:30:00"], [76.0, 24.0, 0.5]),
        (["3 days, 4:00:00", "12:00:00"], [76.0, 12.0]),
        (["-1 days +23:00:00", "2 days 00:00:00"], [-1.0, 48.0]),
    ],
)
def test_durations(cells: list[str], hours: list[float]) -> None:
    reading, found = read(*cells)
    assert reading.read_as == "duration"
    np.testing.assert_allclose([pd.Timedelta(text) / pd.Timedelta("1h") for text in found], hours)


@pytest.mark.parametrize(
    ("cells", "read_as"),
    [
        (["08:15", "23:30"], "time"),
        (["1:2", "26:1"], "text"),
        (["5 days", "many days", "sunny days"], "text"),
        (["2023Q5", "2023Q7"], "text"),
        (["12ABC2024", "13DEF2024"], "text"),
    ],
)
def test_what_only_looks_like_a_date_or_a_duration(cells: list[str], read_as: str) -> None:
    assert cell_readings(pd.DataFrame({"c": cells}))["c"].read_as == read_as

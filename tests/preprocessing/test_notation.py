"""Numbers, dates and times in cells of text, in the notations of several countries."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mercer.preprocessing._notation import (
    date_formats,
    is_compact,
    known_cells,
    number_readings,
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
    readings = number_readings(known_cells(pd.Series(cells)))
    assert readings is not None
    assert readings.decimals == decimals
    assert (readings.differ and len(decimals) > 1) == (cells == ["1,234", "5,678"])


WRITTEN = st.from_regex(r"[+-]?[0-9]{1,5}(\.[0-9]{1,4})?(e-?[0-9])?", fullmatch=True)


@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cells=st.lists(WRITTEN | st.sampled_from(["", "1,5", "7%"]), min_size=1, max_size=6))
def test_plain_numbers_are_read_as_in_other_notations(
    cells: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    column = pd.Series(cells, dtype=str)
    known = known_cells(column)
    found, numbers = number_readings(known), parse_numbers(column, "point")
    with monkeypatch.context() as patched:
        patched.setattr("mercer.preprocessing._notation._are_plain", lambda cells: False)
        expected = number_readings(known)
        assert_array_equal(numbers, parse_numbers(column, "point"))
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert found.decimals == expected.decimals
        assert found.facts[found.decimals[0]] == expected.facts[found.decimals[0]]


def test_other_cells_are_no_numbers() -> None:
    for cells in (["a", "b"], ["$1", "€2"], ["1/2", "3/4"], []):
        assert number_readings(known_cells(pd.Series(cells, dtype=str))) is None


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

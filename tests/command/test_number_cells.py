"""Numbers in cells of text, in the notations of several countries."""

from __future__ import annotations

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from mercer_command.number_cells import known_cells, number_readings, parse_numbers  # noqa: E402


@pytest.mark.parametrize(
    ("cell", "decimal", "number"),
    [
        ("1234.5", "point", 1234.5),
        ("1,234.5", "point", 1234.5),
        ("1.234,5", "comma", 1234.5),
        ("1 234,5", "comma", 1234.5),
        ("1\N{NARROW NO-BREAK SPACE}234,5", "comma", 1234.5),
        ("1'234.5", "point", 1234.5),
        ("-0,5", "comma", -0.5),
        ("\N{MINUS SIGN}7", "point", -7.0),
        ("+3e-2", "point", 0.03),
        (".5", "point", 0.5),
        ("5.", "point", 5.0),
        ("12 %", "point", 12.0),
        ("$1,200", "point", 1200.0),
        ("1.200 €", "comma", 1200.0),
        ("-$1,200.50", "point", -1200.5),
        ("($1,200.50)", "point", -1200.5),
        ("(3,5 €)", "comma", -3.5),
        ("(12)", "point", -12.0),
        ("12.5-", "point", -12.5),
        ("-12-", "point", np.nan),
        ("(12", "point", np.nan),
        ("inf", "point", np.inf),
        ("1,23", "point", np.nan),
        ("12,34,567", "point", np.nan),
        ("1.2.3", "comma", np.nan),
        ("0x10", "point", np.nan),
        ("1_000", "point", np.nan),
        ("", "point", np.nan),
        ("abc", "point", np.nan),
        ("2024-01-01", "point", np.nan),
    ],
)
def test_a_cell_is_read(cell: str, decimal: str, number: float) -> None:
    np.testing.assert_array_equal(parse_numbers(pd.Series([cell]), decimal), [number])


@pytest.mark.parametrize(
    ("cells", "decimals"),
    [
        (["1,5", "2,25"], ["comma"]),
        (["1.5", "2.25"], ["point"]),
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


def test_other_cells_are_no_numbers() -> None:
    for cells in (["a", "b"], ["$1", "€2"], ["1/2", "3/4"], []):
        assert number_readings(known_cells(pd.Series(cells, dtype=str))) is None


def test_few_other_cells_among_numbers_are_allowed() -> None:
    cells = [*map(str, range(40)), "unknown"]
    readings = number_readings(known_cells(pd.Series(cells)))
    assert readings is not None
    assert np.isnan(parse_numbers(pd.Series(cells), "point")[-1])


def test_unusual_signs_are_told() -> None:
    readings = number_readings(known_cells(pd.Series(["(3)", "4"])))
    assert readings is not None
    assert readings.facts("point") == ["negative in parentheses"]
    readings = number_readings(known_cells(pd.Series(["3-", "4", "-5"])))
    assert readings is not None
    assert readings.facts("point") == ["the minus comes last"]

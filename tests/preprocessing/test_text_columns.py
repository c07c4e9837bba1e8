"""Columns of text: each is read by its own cells, and most others decide where these do not."""

import pytest

pd = pytest.importorskip("pandas")

from mercer.preprocessing import CellReading, cell_readings, parse_cells  # noqa: E402

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

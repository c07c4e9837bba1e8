"""What columns hold, and a user's choices for them."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import class_table, done, pd

from mercer.preprocessing import convert
from mercer_command.columns import Choice, Column, read_choices, recognize_columns
from mercer_command.messages import InputError
from mercer_command.values import converted

N = 60
RNG = np.random.default_rng(0)


def recognized(cells: Any, name: str = "c", **others: Any) -> Column:
    frame = pd.DataFrame({name: cells, **others})
    return recognize_columns(frame)[1][0]


@pytest.mark.parametrize(
    ("name", "cells", "role"),
    [
        ("c", [str(i) for i in range(N)], "identifier"),
        ("c", [str(i) for i in RNG.permutation(N) + 100_001], "identifier"),
        ("year", [str(i) for i in range(1960, 1960 + N)], "number"),
        ("customer_id", [str(i) for i in RNG.choice(10**6, N, replace=False)], "identifier"),
        ("income", [str(i) for i in RNG.choice(10**6, N, replace=False)], "number"),
        ("c", [f"{i / 2}" for i in range(N)], "number"),
        ("c", [f"A-{i:04d}" for i in range(N)], "identifier"),
        ("c", [f"very {a}d car{i}" for i, a in enumerate("re" * 30)], "text"),
        ("c", ["the red car"] * 30 + ["a blue boat"] * 30, "category"),
        ("zip", [f"{501 + 37 * (i % 9):05d}" for i in range(N)], "category"),
        ("zip", [f"{501 + 37 * i:05d}" for i in range(N)], "identifier"),
        ("phone", ["030123", "0221456", "0891"] * 20, "category"),
        ("at", [f"{i % 24:02d}{(7 * i) % 60:02d}" for i in range(N)], "time"),
        ("month", [f"{i % 12 + 1:02d}" for i in range(N)], "number"),
        ("length", [f"{7.5 * i:05.1f}" for i in range(N)], "number"),
        ("c", ["0", "00", "000", "0.5", "1"] * 12, "number"),
        ("c", ["07", *map(str, range(8, 8 + N // 2)), *map(str, range(9, 8 + N // 2))], "number"),
        ("c", ["x"] * N, "constant"),
        ("c", [""] * N, "empty"),
        ("c", ["true", "FALSE"] * (N // 2), "category"),
        ("c", [f"2024010{i % 9 + 1}" for i in range(N)], "date"),
        ("c", [f"{i % 24:02d}:15" for i in range(N)], "time"),
        ("c", pd.to_timedelta(np.arange(N), "h"), "duration"),
        ("c", [f"{i}:15" for i in range(N)], "duration"),
        ("c", [f"{i % 9} days 04:00:00" for i in range(N)], "duration"),
        ("c", [f"{2000 + i % 20}Q{i % 4 + 1}" for i in range(N)], "date"),
        ("c", [bytes([i]) for i in range(N)], "unusable"),
    ],
)
def test_roles(name: str, cells: Any, role: str) -> None:
    assert recognized(cells, name).role == role


def test_a_guess_is_a_warning() -> None:
    typed, [column] = recognize_columns(pd.DataFrame({"c": ["1,234", "5,678"]}), separator=";")
    assert typed["c"].tolist() == [1.234, 5.678]
    assert "the comma is taken for a decimal mark" in column.warnings[0]
    column = recognized(["1,234", "5,678"])
    assert "the comma is taken for a separator of thousands" in column.warnings[0]
    column = recognized(["01/02/2024", "03/04/2024"])
    assert "days and months may be swapped" in column.warnings[0]
    assert column.format == "%m/%d/%Y"
    # Where decimals have a comma, days stand before months.
    column = recognized(["01/02/2024", "03/04/2024"], other=["1,5", "2,25"])
    assert column.format == "%d/%m/%Y"


def test_cells_that_cannot_be_read_are_named() -> None:
    column = recognized([*map(str, range(0, 200, 3)), "unknown"])
    assert column.role == "number"
    assert column.warnings == ("1 cell counts as missing, not being a number: 'unknown'",)
    assert "missing" in column.describe()


def test_digits_with_leading_zeros_are_codes_unless_a_choice_says_otherwise(
    tmp_path: Path,
) -> None:
    frame = pd.DataFrame({"zip": ["01002", "90210", "00501"] * 20})
    frame.to_parquet(tmp_path / "t.parquet")
    for table in (frame, pd.read_parquet(tmp_path / "t.parquet")):
        typed, [column] = recognize_columns(table)
        assert set(typed["zip"]) == {"01002", "90210", "00501"}
        assert column.facts == ("codes with leading zeros", "3 levels")
        assert "--columns 'zip=number' reads them as numbers" in column.warnings[0]
    typed, [column] = recognize_columns(frame, {"zip": Choice("number")})
    assert (column.role, column.warnings) == ("number", ())
    assert set(typed["zip"]) == {1002.0, 90210.0, 501.0}


def test_choices_are_followed_and_checked() -> None:
    frame = pd.DataFrame({"c": [str(i) for i in range(N)], "d": ["1.2.2024", "2.2.2024"] * 30})
    _, [number, date] = recognize_columns(
        frame, {"c": Choice("number"), "d": Choice("date", "%m.%d.%Y")}
    )
    assert (number.role, date.role, date.format) == ("number", "date", "%m.%d.%Y")
    _, [category, ignored] = recognize_columns(
        frame, {"c": Choice("category"), "d": Choice("ignored")}
    )
    assert category.role == "category"
    assert not ignored.is_used
    with pytest.raises(InputError, match="'d' cannot be read as a number, as --columns says"):
        recognize_columns(frame, {"d": Choice("number")})
    typed = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=9)})
    with pytest.raises(InputError, match="'day' cannot be read as a number"):
        recognize_columns(typed, {"day": Choice("number")})


def test_choices_are_pairs() -> None:
    names = ["day", "a, b", "x=y", "price"]
    given = 'day=date %d.%m.%Y, "a, b=text",x=y=ignored,price=number comma'
    assert read_choices(given, names) == {
        "day": Choice("date", "%d.%m.%Y"),
        "a, b": Choice("text"),
        "x=y": Choice("ignored"),
        "price": Choice("number", "comma"),
    }
    assert read_choices(None, names) == {}
    with pytest.raises(InputError, match="takes pairs such as StoreID=category; got"):
        read_choices("c.csv", names)


def test_durations_and_quarters_are_read_again_at_prediction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    hours = RNG.integers(0, 60, 80)
    frame = pd.DataFrame({"took": [f"{hour}:30" for hour in hours], "x": RNG.normal(size=80)})
    frame["quarter"] = [f"{2001 + k % 19}Q{k % 4 + 1}" for k in range(80)]
    frame["y"] = hours / 10.0 + frame["x"]
    roles = [column.role for column in recognize_columns(frame.astype(str))[1]]
    assert roles[:3] == ["duration", "number", "date"]
    chosen = ("--columns", "quarter=date,took=duration")
    done("fit t.csv --target y --learner cka --out m.skops --no-refit", *chosen, table=frame)
    frame.drop(columns="y").head(20).to_csv("new.csv", index=False)
    done("predict m.skops new.csv --out p.csv")
    found = pd.read_csv("p.csv")["prediction"]
    assert np.corrcoef(found, frame["y"][:20])[0, 1] > 0.9


def test_spellings_that_differ_in_case_or_spaces_are_one_category() -> None:
    cells = ["yes"] * 20 + ["YES ", "Yes", "no", "NO", " n  o"] + ["no"] * 20 + ["n o"] * 2
    typed, [column] = recognize_columns(pd.DataFrame({"c": cells}))
    assert set(typed["c"]) == {"yes", "no", "n o"}
    assert column.facts == ("3 levels",)
    assert "'YES as yes', 'Yes as yes', 'NO as no', 'n  o as n o'" in column.warnings[0]
    assert "--columns 'c=category' keeps them apart" in column.warnings[0]
    typed, [column] = recognize_columns(pd.DataFrame({"c": cells}), {"c": Choice("category")})
    assert len(set(typed["c"])) == 7
    assert column.warnings == ()
    codes = [f"{a}{b}" for a in "abcABC" for b in "xyXY"] * 3
    assert len(set(recognize_columns(pd.DataFrame({"c": codes}))[0]["c"])) == 24


def test_a_value_that_may_stand_for_missing_cells_is_told_with_its_rows() -> None:
    cells = np.r_[RNG.normal(size=50), [-200.0] * 7]
    for choices in (None, {"c": Choice("number")}):
        _, [column] = recognize_columns(pd.DataFrame({"c": cells}), choices)
        assert column.sentinel == -200.0
        assert "-200 in 12.3% of the rows is far from all other values" in column.warnings[0]
    column = recognized(RNG.normal(size=50))
    assert column.sentinel is None


@pytest.mark.parametrize("notation", ["%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%dT%H:%M:%S", None])
@pytest.mark.parametrize("chosen", [False, True])
def test_a_far_date_is_told_and_can_be_taken_for_missing(
    notation: str | None, chosen: bool
) -> None:
    days = pd.date_range("2023-01-02", periods=60).to_numpy("datetime64[us]").copy()
    days[::4] = np.datetime64("9999-12-31")
    cells = pd.Series(days if notation is None else pd.Series(days).dt.strftime(notation))
    choices = {"until": Choice("date")} if chosen else None
    _, [column] = recognize_columns(cells.to_frame("until"), choices)
    assert column.sentinel == 2932896.0
    assert column.warnings == (
        "9999-12-31 in 25.0% of the rows is far from all other dates (2023-01-03 to 2023-03-02); "
        "if it stands for a missing or an open date, say --missing 'until=9999-12-31'",
    )
    missing = {"until": ["9999-12-31"]}
    typed, [column] = recognize_columns(cells.to_frame("until"), choices, missing=missing)
    assert (column.sentinel, column.missing, column.warnings) == (None, 0.25, ())
    assert typed["until"].isna().tolist() == [row % 4 == 0 for row in range(60)]


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "Int64", "bool", "object"])
def test_single_columns_are_converted_like_tables(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers of NumPy are converted without a data frame, of which many columns need many."""
    cells = pd.Series([1, 0, 1], dtype=dtype)
    missing = pd.Series([1.5, np.nan], dtype="float64" if dtype == "float64" else object)
    for one in (cells, missing):
        expected = convert(one.to_frame(), "number")[:, 0]
        np.testing.assert_array_equal(converted(one, "number"), expected)
    with pytest.raises(ValueError, match="infinite"):
        converted(pd.Series([1.0, np.inf]), "number")
    days = pd.Series(pd.to_datetime(["1970-01-11", None]))
    np.testing.assert_array_equal(converted(days, "date"), [10.0, np.nan])
    monkeypatch.setattr("mercer_command.values.convert", None)
    if dtype in ("int64", "float32", "float64"):
        converted(cells, "number")


def test_columns_are_shown_without_what_learning_needs(tmp_path: Path) -> None:
    class_table().to_csv(tmp_path / "t.csv", index=False)
    script = """
import sys
from mercer_command import main
try:
    main()
finally:
    print({"sklearn", "skrub", "skops", "matplotlib", "duckdb"} & {*sys.modules})
"""
    command = [sys.executable, "-c", script, "columns", str(tmp_path / "t.csv")]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "How the columns were read" in ended.stdout
    assert ended.stdout.splitlines()[-1] == "set()"

"""A last row of totals is left out, and a last row of data is not."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from command_cases import Run, pd

from mercer_command import totals
from mercer_command.problem import as_problem
from mercer_command.table_files import Cells, read_cells
from mercer_command.totals import without_totals

Frame = Any


def towns(n: int = 40) -> Frame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "town": [f"town {k % 7}" for k in range(n)],
            "sales": rng.integers(1, 90, n),
            "costs": rng.gamma(2.0, 30.0, n).round(2),
            "balance": rng.normal(size=n).round(3),
        }
    )


def with_totals(frame: Frame, columns: str, label: str = "") -> Frame:
    row = {name: frame[name].sum() for name in columns.split()}
    return pd.concat([frame, pd.DataFrame([{"town": label, **row}])], ignore_index=True)


def left_out(frame: Frame, path: Path | None = None) -> str:
    """The note on the last row, from typed cells or from a file of text."""
    cells = Cells(frame)
    if path is not None:
        frame.to_csv(path, index=False)
        cells = read_cells(path)
    found = without_totals(cells)
    assert len(found.frame) == len(frame) - len(found.notes)
    return " ".join(found.notes)


@pytest.mark.parametrize(
    ("columns", "label", "named"),
    [
        ("sales costs", "", "'sales', 'costs'"),
        ("sales", "Total", "'sales'"),
        ("costs", "Gesamt:", "'costs'"),
    ],
)
def test_totals_are_left_out(tmp_path: Path, columns: str, label: str, named: str) -> None:
    frame = with_totals(towns(), columns, label)
    told = f"the last row holds totals of {named} and is left out"
    assert left_out(frame) == told
    assert left_out(frame, tmp_path / "t.csv") == told
    # Cells are rounded after they were summed.
    frame.loc[40, columns.split()] += 1 if label == "Total" else 0.01 * (label != "")
    assert left_out(frame) == told


@pytest.mark.parametrize(
    "cells",
    [
        ["1.234,50"] * 8 + ["9.876,00"],
        ["1.5", "", "-"] * 6 + ["9.0"],
        ["-2.5"] * 8 + ["-20.00"],
        ["1 000"] * 8 + ["8000"],
    ],
    ids=["thousands", "missing", "negative", "spaces"],
)
def test_totals_are_found_in_any_notation(cells: list[str]) -> None:
    frame = pd.DataFrame({"x": cells, "name": ["a"] * (len(cells) - 1) + ["Total"]})
    assert "totals of 'x'" in left_out(frame)
    frame.loc[len(frame) - 1, "x"] = cells[0]
    assert left_out(frame) == ""


def test_rows_of_data_stay(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    zeros = pd.DataFrame(0, index=range(30), columns=list("abc"))
    flags = pd.DataFrame(rng.integers(0, 2, (30, 4)), columns=list("abcd"))
    short = pd.DataFrame({"a": [1, 2, 3], "b": [1, 1, 2]})
    one = with_totals(towns(), "sales")
    multiples = one[["sales"]].assign(double=2 * one["sales"])
    labeled = towns().assign(town="Total")
    for frame in (zeros, flags, short, one, multiples, labeled, towns()):
        assert left_out(frame) == left_out(frame, tmp_path / "t.csv") == ""


def test_few_tables_of_noise_have_totals() -> None:
    """Signs differ, so that sums are often as small as a number."""
    rng = np.random.default_rng(2)
    for _ in range(300):
        frame = pd.DataFrame(rng.integers(-3, 4, (12, 5)), columns=list("abcde"))
        assert left_out(frame) == ""


def test_totals_of_numbers_with_three_decimals_are_left_out(tmp_path: Path) -> None:
    """A point before three digits may separate thousands."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(1.0, 2.0, (20, 3)).round(3), columns=list("abc"))
    frame = pd.concat([frame, frame.sum().round(3).to_frame().T], ignore_index=True)
    assert "totals of 'a', 'b', 'c'" in left_out(frame, tmp_path / "t.csv")


@pytest.mark.parametrize("decimals", [3, 4])
def test_only_columns_that_end_with_their_largest_number_are_read(
    tmp_path: Path, decimals: int
) -> None:
    table = np.random.default_rng(0).normal(size=(60, 300)).round(decimals)
    table[:2] = [[-9.0], [9.0]]
    table[-1, :2] = 10.0
    np.savetxt(tmp_path / "t.csv", table, f"%.{decimals}f", ",", header="x," * 299 + "x")
    cells = read_cells(tmp_path / "t.csv")
    with patch.object(totals, "cell_readings", wraps=totals.cell_readings) as read:
        assert without_totals(cells) is cells
    assert read.call_count <= 4


def test_the_row_is_not_learned_from_and_is_still_predicted(run: Run) -> None:
    frame = with_totals(towns().assign(y=np.arange(40) % 7 + 0.5), "sales costs", "Total")
    frame.to_csv("t.csv", index=False)
    assert len(as_problem(frame.fillna({"y": 3.5}), "y").target) == 40
    result = run("fit t.csv --target y --learner uniform --out m.skops")
    assert "totals of 'sales', 'costs' and is left out" in result.noted
    result = run("explain m.skops t.csv")
    assert "totals of 'sales', 'costs' and is left out" in " ".join(result.told.split())
    run("predict m.skops t.csv --out p.csv")
    assert len(pd.read_csv("p.csv")) == 41

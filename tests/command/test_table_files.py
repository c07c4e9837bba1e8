"""Reading tables, inferring the task, and preparing columns."""

import json
from datetime import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_cases import Run, read_table, write_folder

from mercer import ParquetSource
from mercer.preprocessing._column_kinds import kind_of
from mercer_command.files import appended_table, load_model
from mercer_command.messages import InputError
from mercer_command.options import Fit
from mercer_command.problem import as_problem
from mercer_command.streaming import streamed_table
from mercer_command.table_files import read_cells

pytest.importorskip("pyarrow")


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"] * 10, "classification"),
        ([True, False] * 10, "classification"),
        ([1, 2] * 10, "classification"),
        ([1.0, 2.0] * 10, "classification"),
        ([0.5, 2.0] * 10, "regression"),
        ([*range(21), *range(21)], "regression"),
    ],
)
def test_the_task_is_inferred_from_the_target(values: list[Any], task: str) -> None:
    frame = pd.DataFrame({"x": np.arange(len(values)) / 2, "y": values})
    assert as_problem(frame, "y").task == task


def test_whole_numbers_that_could_be_either_get_a_note() -> None:
    def notes(y: Any, task: str = "auto") -> tuple[str, ...]:
        return as_problem(pd.DataFrame({"x": np.arange(len(y)) / 2, "y": y}), "y", task).notes

    assert notes([1, 2] * 30) == notes([0.5, *range(59)]) == notes([*range(60)] * 2) == ()
    assert (
        "3 to 8, which are taken for classes without an order; --task"
        in notes([3, 4, 5, 6, 7, 8] * 10)[0]
    )
    assert "are taken for quantities; --task" in notes([*range(30)] * 2)[0]
    assert notes([3, 4, 5, 6, 7, 8] * 10, "regression") == ()


def test_columns_without_information_are_left_out_and_named() -> None:
    n = 60
    frame = pd.DataFrame(
        {
            "x": np.arange(n) / 2,
            "name": [f"person {i}" for i in range(n)],
            "when": pd.date_range("2020-01-01", periods=n),
            "void": [None] * n,
            "list": [[i] for i in range(n)],
            "y": ["a", "b"] * (n // 2),
        }
    )
    problem = as_problem(frame, "y")
    assert list(problem.features) == ["x", "when"]
    assert "a code of its own in every row: 'name'" in problem.notes[0]
    assert "neither numbers nor categories: 'list'" in " ".join(problem.notes)
    assert "no cell is filled: 'void'" in " ".join(problem.notes)


def test_numbers_that_a_computer_does_not_resolve_or_hold() -> None:
    rng = np.random.default_rng(0)
    near, x = 2**62 + rng.integers(0, 1000, 80), rng.normal(size=80)
    for cells in (near, near.astype(str)):
        with pytest.raises(InputError, match=r"'y' holds numbers near 4\.61169e\+18 that differ"):
            as_problem(pd.DataFrame({"x": x, "y": cells}), "y")
        problem = as_problem(pd.DataFrame({"id": cells, "x": x, "y": x}), "y")
        assert problem.features.columns.tolist() == ["x"]
        assert any("differ by less than a computer resolves: 'id'" in n for n in problem.notes)
    with pytest.raises(InputError, match=r"numbers beyond 1e\+38 are in 'x'"):
        as_problem(pd.DataFrame({"x": np.append(x, 1e300), "y": np.append(x, 0.5)}), "y")


def test_types_of_parquet_are_read(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "text": pd.array(["a", None, "b"], dtype="string"),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "code": pd.Categorical(["u", "v", "u"]),
            "price": [Decimal("1.5"), None, Decimal("2")],
            "count": pd.array([1, None, 3], dtype="Int64"),
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet")
    kinds = ["category", "category", "category", "number", "number"]
    assert [kind_of(read[name]) for name in read] == kinds
    flags = pd.DataFrame({"x": np.arange(12) / 2, "flag": pd.array([True, False] * 6, "boolean")})
    np.testing.assert_array_equal(as_problem(flags, "flag").target, [True, False] * 6)


@pytest.mark.parametrize(
    "told",
    [
        {"index_columns": ["gone"]},
        {"index_columns": None},
        {"index_columns": [3]},
        {"columns": None},
        {"column_indexes": [{"name": None, "pandas_type": "int99", "numpy_type": "int99"}]},
        b"[]",
        b"{",
        b"\xff",
    ],
)
def test_what_pandas_noted_in_parquet_may_not_fit_the_columns(tmp_path: Path, told: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"x": [0.5, None, 2.0], "kind": ["a", "b", None]})
    table = pa.Table.from_pandas(frame)
    noted = json.loads(table.schema.metadata[b"pandas"])
    noted = told if isinstance(told, bytes) else json.dumps({**noted, **told}).encode()
    path = tmp_path / "t.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(
        table.replace_schema_metadata({b"pandas": noted}), path
    )
    pd.testing.assert_frame_equal(read_cells(path).frame, frame)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.parquet"])
def test_a_table_is_written_part_by_part(tmp_path: Path, name: str) -> None:
    frame = pd.DataFrame({"x": np.arange(7.0), "name": list("abcdefg")})
    with appended_table(tmp_path / name) as append:
        append(frame[:3])
        append(frame[3:])
        assert not (tmp_path / name).exists()
    pd.testing.assert_frame_equal(read_table(tmp_path / name), frame, check_dtype=False)


def indexed(n: int = 80) -> Any:
    """A response to an index of two named levels, and to a column."""
    rng = np.random.default_rng(0)
    days = pd.date_range("2020-01-01", periods=n, name="day")
    index = pd.MultiIndex.from_arrays([days, rng.choice(["u", "v"], n)], names=["day", "site"])
    a = rng.normal(size=n)
    y = a + np.linspace(0.0, 6.0, n) + 3.0 * (index.get_level_values("site") == "u")
    return pd.DataFrame({"a": a, "y": y}, index=index)


def test_named_levels_of_an_index_are_columns_everywhere(run: Run) -> None:
    frame = indexed()
    frame.to_parquet("t.parquet")
    write_folder(frame, Path("t"))
    used = {"a", "day", "site"}
    for table in (frame, read_cells(Path("t.parquet"))):
        assert {*as_problem(table, "y").features} == used
    assert {*streamed_table(Fit(Path("t"), "y")).problem.features} == used
    run("fit t.parquet --target y --learner uniform --random --out m.skops")
    model = load_model(Path("m.skops"))
    assert {*model.feature_names_in_} == used
    np.testing.assert_array_equal(model.predict(frame), model.predict(frame.reset_index()))
    for table in ("t", "t.parquet"):
        run("predict m.skops", table, "--out", "p.csv")
        predicted = pd.read_csv("p.csv")["prediction"]
        np.testing.assert_allclose(predicted, model.predict(frame), atol=1e-5)
        assert np.std(predicted - frame["y"].to_numpy()) < 0.5
    run("explain m.skops t.parquet")


def test_years_that_are_a_range_of_an_index_are_a_column(run: Run) -> None:
    """Files have no column of a range."""
    years = pd.RangeIndex(1940, 2020, name="year")
    frame = indexed().reset_index(drop=True).set_index(years)
    frame["y"] = frame["a"] + 0.1 * (years - 1980)
    frame.to_parquet("t.parquet")
    run("fit t.parquet --target y --learner uniform --random --out m.skops")
    run("predict m.skops t.parquet --out p.csv")
    assert np.std(pd.read_csv("p.csv")["prediction"] - frame["y"].to_numpy()) < 0.3


@pytest.mark.parametrize("name", [None, "__null_dask_index__", "a"])
def test_an_index_without_a_name_of_its_own_is_left_out(tmp_path: Path, name: str | None) -> None:
    frame = indexed().set_index(pd.Index(np.arange(80) * 2.0, name=name))
    frame.to_parquet(tmp_path / "t.parquet")
    write_folder(frame, tmp_path / "t")
    assert list(read_cells(tmp_path / "t.parquet").frame) == ["a", "y"]
    for path in ("t.parquet", "t"):
        assert ParquetSource(tmp_path / path, "y").column_names == ("a",)


def test_times_of_day_of_parquet_are_read_as_those_of_text(run: Run) -> None:
    hours = np.random.default_rng(0).integers(0, 24, 100)
    frame = pd.DataFrame({"at": [time(hour, 30) for hour in hours]})
    frame = frame.assign(y=3.0 * np.sin(hours / 12 * np.pi))
    frame.to_parquet("t.parquet")
    frame.to_csv("t.csv", index=False)
    [column] = as_problem(read_cells(Path("t.parquet")), "y").columns
    assert (column.role, column.format) == ("time", "%H:%M:%S")
    predicted = []
    for name in ("t.csv", "t.parquet"):
        options = ("--target", "y", "--learner", "uniform", "--random", "--out", "m.skops")
        run("fit", name, *options, "--report", "r.html")
        for table in ("t.csv", "t.parquet"):
            run("predict m.skops", table, "--out", "p.csv")
            predicted.append(pd.read_csv("p.csv")["prediction"])
    assert np.std(predicted[0] - frame["y"]) < 0.3
    for other in predicted[1:]:
        np.testing.assert_allclose(other, predicted[0], atol=1e-9)


def test_frames_of_arrow_types_are_predicted_as_others(run: Run) -> None:
    frame = indexed().reset_index().assign(day=lambda table: table["day"].dt.strftime("%d.%m.%Y"))
    run("fit t.csv --target y --learner uniform --random --out m.skops", table=frame)
    model = load_model(Path("m.skops"))
    arrow = frame.convert_dtypes(dtype_backend="pyarrow")
    np.testing.assert_allclose(model.predict(arrow), model.predict(frame))

"""Reading tables, inferring the task, and preparing columns."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mercer_command.pipelines import make_model

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from command_cases import read_table  # noqa: E402

from mercer.preprocessing._column_kinds import kind_of  # noqa: E402
from mercer_command.files import appended_table  # noqa: E402
from mercer_command.messages import InputError  # noqa: E402
from mercer_command.problem import as_problem  # noqa: E402
from mercer_command.table_files import read_cells  # noqa: E402


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
    assert "--task ordinal keeps the order of grades, and" in notes([3, 4, 5, 6, 7, 8] * 10)[0]
    assert "of grades, --task count expects counts, and" in notes([0, 1, 2, 3, 5] * 10)[-1]
    assert "are taken for quantities; --task class" in notes([*range(30)] * 2)[0]
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


def test_columns_whose_names_clash_after_encoding_are_kept() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": ["b", "c"] * 20, "a_b": rng.normal(size=40), "y": rng.choice(["u", "v"], size=40)}
    )
    problem = as_problem(frame, "y")
    model = make_model("uniform", problem, np.arange(40)).fit(problem.features, problem.target)
    assert model[-1].n_features_in_ == 3


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

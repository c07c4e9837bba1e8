"""Reading tables, deciding what to learn, and writing files."""

from __future__ import annotations

import contextlib
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from mercer._cli.comparison import Comparison  # noqa: E402
from mercer._cli.errors import one_line  # noqa: E402
from mercer._cli.files import replacing  # noqa: E402
from mercer._cli.methods import make_model  # noqa: E402
from mercer._cli.tables import as_problem, as_text, is_number, read_table  # noqa: E402


class TestTables:
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
    def test_the_task_is_read_off_the_target(self, values: list[Any], task: str) -> None:
        frame = pd.DataFrame({"x": np.arange(len(values)), "y": values})
        assert as_problem(frame, "y").task == task

    def test_rows_without_a_target_are_left_out(self) -> None:
        frame = pd.DataFrame({"x": np.arange(12), "y": [None, *["a", "b"] * 5, "a"]})
        problem = as_problem(frame, "y")
        assert problem.features["x"].tolist() == list(range(1, 12))
        assert problem.notes == ("1 rows without 'y' are left out",)

    def test_useless_columns_are_left_out_and_named(self) -> None:
        n = 60
        frame = pd.DataFrame(
            {
                "x": np.arange(n),
                "name": [f"person {i}" for i in range(n)],
                "when": pd.date_range("2020-01-01", periods=n),
                "void": [None] * n,
                "list": [[i] for i in range(n)],
                "y": ["a", "b"] * (n // 2),
            }
        )
        problem = as_problem(frame, "y")
        assert list(problem.features) == ["x"]
        assert "text that differs in most rows: 'name'" in problem.notes[0]
        assert "neither numbers nor categories: 'when', 'list'" in " ".join(problem.notes)
        assert "empty: 'void'" in " ".join(problem.notes)

    def test_separators_and_compression(self, tmp_path: Path) -> None:
        frame = pd.DataFrame({"a": [1.5, 2.5], "b": ["x, y", "z"]})
        for name, separator in [("a.csv", ";"), ("b.tsv", "\t"), ("c.csv.gz", ","), ("d.txt", "|")]:
            frame.to_csv(tmp_path / name, index=False, sep=separator)
            pd.testing.assert_frame_equal(read_table(tmp_path / name), frame)

    def test_names_that_clash_after_encoding(self) -> None:
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(
            {
                "a": ["b", "c"] * 20,
                "a_b": rng.normal(size=40),
                "y": rng.choice(["u", "v"], size=40),
            }
        )
        problem = as_problem(frame, "y")
        model = make_model("uniform", problem, np.arange(40)).fit(problem.features, problem.target)
        assert model[-1].n_features_in_ == 3

    def test_text_of_every_sort(self) -> None:
        column = pd.Series([1.0, 2.5, None, "x"], dtype=object)
        assert as_text(column).tolist()[:2] == ["1", "2.5"]
        assert as_text(column).isna().tolist() == [False, False, True, False]
        assert as_text(pd.Series([3, 4])).tolist() == ["3", "4"]

    def test_types_of_parquet(self, tmp_path: Path) -> None:
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
        assert [is_number(read[name]) for name in read] == [False, False, False, True, True]
        assert read["code"].tolist() == ["u", "v", "u"]
        assert np.isnan(read["text"][1])
        assert np.isnan(read["flag"][1])


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    path.write_text("old")

    with contextlib.suppress(KeyboardInterrupt), replacing(path) as aside:
        aside.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_ranks_share_ties() -> None:
    errors = np.array([[0.1, 0.2], [0.1, 0.1], [0.3, 0.3]])
    comparison = Comparison(("a", "b", "c"), errors, errors, errors)
    np.testing.assert_array_equal(comparison.ranks, [1.75, 1.25, 3.0])
    assert comparison.best_first() == [1, 0, 2]


def test_faults_of_ours_keep_their_traceback() -> None:
    assert one_line(AttributeError("no attribute")) is None
    assert one_line(ImportError("cannot import", name="mercer.kernels.absent")) is None
    assert one_line(ValueError("first\nsecond")) == "first"
    assert one_line(MemoryError()) == "out of memory; --max-rows learns from fewer rows"

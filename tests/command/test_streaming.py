"""Tables in Parquet files that are read in parts: training and test rows, and their fits."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import Run, call, class_table, error_line, pd, response_table, write_folder

from mercer_command.division import splits
from mercer_command.files import load_model
from mercer_command.messages import InputError
from mercer_command.options import Fit
from mercer_command.problem import as_problem
from mercer_command.streaming import is_streamed, streamed_table

pytest.importorskip("pyarrow")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call the command in an empty folder; more than 40 rows are approximated."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mercer._blocks.approximation.EXACT_ROWS", 40)
    return call


def table_of(
    folder: Path, target: str, task: str = "auto", *, test_size: float = 0.25, n: int = 20_000
) -> Any:
    return streamed_table(Fit(folder, target, task, test_size=test_size), n_sampled=n)


class TestRows:
    @pytest.mark.parametrize("target", ["kind", "height"])
    def test_few_rows_are_divided_as_in_memory(self, tmp_path: Path, target: str) -> None:
        frame = class_table()
        write_folder(frame, tmp_path / "t")
        found, expected = table_of(tmp_path / "t", target), as_problem(frame, target)
        [(train, test)] = splits(expected, test_size=0.25, repeats=1, seed=0)
        np.testing.assert_array_equal(found.problem.target, expected.target)
        np.testing.assert_array_equal(found.test, test)
        np.testing.assert_array_equal(found.train, train)
        np.testing.assert_array_equal(
            np.concatenate([y for _, y in found.source.targets()]), expected.target[np.sort(train)]
        )
        assert found.problem.features.columns.tolist() == expected.features.columns.tolist()

    @pytest.mark.parametrize("target", ["kind", "y"])
    def test_test_rows_are_not_learned_from(self, tmp_path: Path, target: str) -> None:
        frame = pd.DataFrame({"row": np.arange(200.0) / 2, "y": np.linspace(0, 1, 200) ** 2})
        frame["kind"] = np.where(frame["row"] % 25 == 3.5, "rare", "common")
        write_folder(frame, tmp_path / "t")
        found = table_of(tmp_path / "t", target, test_size=0.1, n=30)
        tested = found.problem.features["row"].to_numpy()[found.test]
        learned = np.concatenate(
            [found.source.as_input(b.X)["row"] for b in found.source.raw_blocks()]
        )
        assert len(tested) == 20
        assert len(found.train) == 30
        np.testing.assert_array_equal(np.sort(np.concatenate([tested, learned])), frame["row"])
        assert found.problem.n_rows == 200
        assert "30 rows that are drawn from 200" in " ".join(found.problem.notes)


class TestTask:
    @pytest.mark.parametrize(("n_values", "task"), [(20, "classification"), (21, "regression")])
    def test_all_rows_tell_whether_whole_numbers_are_classes(
        self, tmp_path: Path, n_values: int, task: str
    ) -> None:
        y = np.r_[np.zeros(160, dtype=int), np.tile(np.arange(n_values), 2)]
        write_folder(pd.DataFrame({"x": np.arange(len(y)) ** 0.5, "y": y}), tmp_path / "t")
        assert table_of(tmp_path / "t", "y", n=25).problem.task == task

    def test_unsuitable_targets(self, tmp_path: Path) -> None:
        frame = class_table().assign(when=pd.date_range("2020-01-01", periods=80), dull=1.0)
        frame["span"] = frame["when"] - frame["when"].min()
        frame["wide"] = frame.pop("width of it")
        write_folder(frame, tmp_path / "t")
        for target, task, message in (
            ("sort", "auto", "no column 'sort'; it has 'height'"),
            ("span", "auto", "neither numbers nor categories"),
            ("dull", "auto", "the same value in every row"),
            ("wide", "classification", "cannot be the target of classification"),
        ):
            with pytest.raises(InputError, match=message):
                table_of(tmp_path / "t", target, task)


def test_classes_of_one_row_are_left_out(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": np.arange(200.0) / 2, "kind": ["a"] * 150 + ["b"] * 50})
    frame.loc[[3, 70, 199], "kind"] = ["c", None, "d"]
    write_folder(frame, tmp_path / "t")
    found = table_of(tmp_path / "t", "kind", n=20)
    assert (
        "2 rows are left out, because 'kind' has one row only of classes 'c', 'd'"
        in found.problem.notes
    )
    assert found.problem.n_rows == 197
    tested = found.problem.features["x"].to_numpy()[found.test]
    learned = np.concatenate([found.source.as_input(b.X)["x"] for b in found.source.raw_blocks()])
    np.testing.assert_array_equal(
        np.sort(np.concatenate([tested, learned])), frame["x"].drop([3, 70, 199])
    )


class TestFit:
    @pytest.mark.parametrize("learner", ["stacking", "cka"])
    def test_a_folder_is_fitted_and_its_report_is_written(self, run: Run, learner: str) -> None:
        frame = class_table()
        frame.loc[7, "kind"] = None
        write_folder(frame, Path("t"))
        arguments = ("--learner", learner, "--out", "m.skops", "--report", "r.html")
        result = run("fit", "t", "--target", "kind", *arguments)
        assert result.exit_code == 0, result.output
        assert "79 rows, 4 columns to learn from, 2 classes" in result.stdout
        assert "59 training rows" in result.stdout
        assert "1 row without 'kind' is left out" in result.stderr
        told = "the saved model is the tested one, without the 20 rows of the test"
        assert told in " ".join(result.stderr.split())
        model = load_model(Path("m.skops"))
        accuracy = (model.predict(frame) == frame["kind"]).mean()
        assert accuracy > 0.8

    def test_a_small_folder_is_fitted_exactly(self, run: Run) -> None:
        frame = response_table()[:30]
        write_folder(frame, Path("t"))
        frame.to_parquet("t.parquet")
        lines = {}
        for table in ("t", "t.parquet"):
            result = run("fit", table, "--target", "y", "--learner", "cka", "--seed", 3)
            assert result.exit_code == 0, result.output
            [lines[table]] = [
                line for line in result.stdout.splitlines() if line.startswith(" model  ")
            ]
        assert lines["t"] == lines["t.parquet"]

    def test_folders_and_large_files_are_read_in_parts(self, tmp_path: Path) -> None:
        response_table().to_parquet(tmp_path / "t.parquet")
        assert is_streamed(tmp_path)
        assert not is_streamed(tmp_path / "t.parquet")
        assert not is_streamed(tmp_path / "none.csv")
        assert is_streamed(tmp_path / "t.parquet", max_values=209)

    def test_methods_that_need_all_rows_are_refused(self, run: Run) -> None:
        write_folder(class_table(), Path("t"))
        line = error_line(run("fit", "t", "--target", "kind", "--learner", "mkl"))
        assert "mkl needs all rows in memory; for this table, choose from stacking, ca, " in line

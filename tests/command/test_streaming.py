"""Tables in Parquet files that are read in parts: training and test rows, and their fits."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import Run, class_table, done, error_line, pd, response_table, write_folder

from mercer_command import models
from mercer_command.division import splits
from mercer_command.files import load_model
from mercer_command.messages import InputError
from mercer_command.options import Fit
from mercer_command.output import progress_bar
from mercer_command.problem import as_problem
from mercer_command.streaming import Training, is_streamed, streamed_table

pytest.importorskip("pyarrow")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call the command in an empty folder; more than 40 rows are approximated."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mercer._blocks.approximation.EXACT_ROWS", 40)
    return done


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
        np.testing.assert_array_equal(found.train, np.sort(train))
        np.testing.assert_array_equal(found.source.targets(), expected.target[found.train])
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

    @pytest.mark.parametrize("n", [20_000, 60])
    @pytest.mark.parametrize("left_out", ["empty", "code", "totals"])
    def test_rows_without_a_usable_target_shift_no_others(
        self, tmp_path: Path, left_out: str, n: int
    ) -> None:
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"row": np.arange(200.0) / 2, "y": rng.random(200).round(3)})
        given: dict[str, Any] = {"missing": None}
        lost = np.arange(200) % 7 == 2
        if left_out == "empty":
            frame["y"] = np.where(lost, "", np.where(frame["y"] > 0.5, "high", "low"))
        elif left_out == "code":
            frame["y"], given["missing"] = np.where(lost, -9.0, frame["y"]), "y=-9"
        else:
            lost, n = np.arange(200) == 199, 20_000
            frame.loc[199] = frame[:199].sum()
        write_folder(frame, tmp_path / "t")
        options = Fit(tmp_path / "t", "y", test_size=0.25, **given)
        found = streamed_table(options, n_sampled=n)
        rows = found.problem.features["row"].to_numpy()
        blocks = list(found.source.raw_blocks())
        learned = np.concatenate([found.source.as_input(block.X)["row"] for block in blocks])
        both = np.sort(np.concatenate([learned, rows[found.test]]))
        np.testing.assert_array_equal(both, frame["row"][~lost])
        assert len(found.test) == round(0.25 * len(both))
        assert found.problem.n_rows == len(both)
        truth = frame.set_index("row")["y"]
        assert truth[rows].tolist() == found.problem.target.tolist()
        assert truth[learned].tolist() == np.concatenate([b.y for b in blocks]).tolist()

    def test_labels_with_needless_spaces_are_refused(self, tmp_path: Path) -> None:
        frame = class_table().assign(kind=["yes", "yes ", "no", " no"] * 20)
        write_folder(frame, tmp_path / "t")
        with pytest.raises(InputError, match="needless spaces, such as ' no', 'yes '; a table"):
            table_of(tmp_path / "t", "kind")


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
            ("sort", "auto", "has no column sort; it has height"),
            ("span", "auto", "neither numbers nor categories"),
            ("dull", "auto", "the same value in every row"),
            ("wide", "classification", "cannot be the target of classification"),
        ):
            with pytest.raises(InputError, match=message):
                table_of(tmp_path / "t", target, task)


def test_notes_on_the_target_are_of_all_rows(tmp_path: Path) -> None:
    y = np.where(np.arange(400) % 40 == 7, -999.0, np.random.default_rng(0).normal(size=400))
    write_folder(pd.DataFrame({"x": np.arange(400.0) / 2, "y": y}), tmp_path / "t")
    problem = table_of(tmp_path / "t", "y", n=60).problem
    [note] = [text for text in problem.notes if text.startswith("'y'")]
    assert "-999 in 2.5% of the rows" in note
    assert problem.target_column.sentinel == -999.0


def test_text_of_digits_is_classes_whatever_is_chosen(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": np.arange(200.0) / 2, "y": ["1", "2"] * 100})
    write_folder(frame, tmp_path / "t")
    for columns in (None, "y=number"):
        found = streamed_table(Fit(tmp_path / "t", "y", columns=columns))
        assert found.problem.task == "classification"
        assert set(found.problem.target) == {"1", "2"}


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


def _memory_and_parts(path: Path, target: str, **given: Any) -> tuple[Training, Training, Fit]:
    """The same training and test rows, in memory and read in parts."""
    options = Fit(path, target, random=True, test_size=0.25, **given)
    parts = streamed_table(options)
    return replace(parts, source=None), parts, options


def _reported(training: Training, options: Fit) -> dict[str, float]:
    """Scores of held-out rows and of left-out training rows."""
    with progress_bar() as bar:
        found = models.fit(training, options, bar, lambda model: None).report
    assert found is not None
    shown = [one for one in (found.held_out[0], found.left_out) if one is not None]
    return {f"{k} {n}": e.value for k, one in enumerate(shown) for n, e in one.scores.items()}


class TestScores:
    @pytest.mark.parametrize(
        ("learner", "target", "is_folder"),
        [
            ("stacking", "y", False),
            ("stacking", "kind", True),
            ("cka", "y", True),
            ("cka", "kind", False),
        ],
    )
    def test_rows_read_in_parts_have_the_scores_of_memory(
        self, tmp_path: Path, learner: str, target: str, is_folder: bool
    ) -> None:
        frame = response_table().assign(kind=lambda rows: np.where(rows.a > 0, "high", "low"))
        frame = frame.drop(columns={"y", "kind"} - {target})
        path = tmp_path / "t"
        if is_folder:
            write_folder(frame, path)
        else:
            frame.to_parquet(path := tmp_path / "t.parquet")
        memory, parts, options = _memory_and_parts(path, target, learner=learner)
        expected, found = _reported(memory, options), _reported(parts, options)
        assert found == pytest.approx(expected, rel=1e-6)
        assert any(name.startswith("1 ") for name in found) or learner == "cka"

    @pytest.mark.parametrize("n", [20_000, 40])
    def test_left_out_rows_are_scored_if_the_sample_has_all_of_them(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int
    ) -> None:
        given, report = dict[str, Any](), models.report

        def noted(*rows: Any, **settings: Any) -> Any:
            given.update(settings)
            return report(*rows, **settings)

        monkeypatch.setattr(models, "report", noted)
        write_folder(response_table(), tmp_path / "t")
        options = Fit(tmp_path / "t", "y", random=True, learner="cka")
        with progress_bar() as bar:
            training = streamed_table(options, n_sampled=n)
            found = models.fit(training, options, bar, lambda model: None).report
        assert found is not None
        assert given["sampled"] is (n == 40)
        assert any("from a sample of 40 train" in text for text in found.remarks) is (n == 40)


class TestFit:
    @pytest.mark.parametrize("learner", ["stacking", "cka"])
    def test_a_folder_is_fitted_and_its_report_is_written(self, run: Run, learner: str) -> None:
        frame = class_table()
        frame.loc[7, "kind"] = None
        write_folder(frame, Path("t"))
        arguments = ("--learner", learner, "--out", "m.skops", "--report", "r.html")
        result = run("fit t --target kind", *arguments)
        assert "79 rows, 4 columns to learn from, 2 classes" in result.stdout
        assert "59 training rows" in result.stdout
        assert "1 row without 'kind' is left out" in result.stderr
        assert "the saved model is the tested one, without the 20 rows of the test" in result.noted
        model = load_model(Path("m.skops"))
        accuracy = (model.predict(frame) == frame["kind"]).mean()
        assert accuracy > 0.8

    def test_folders_and_large_files_are_read_in_parts(self, tmp_path: Path) -> None:
        response_table().to_parquet(tmp_path / "t.parquet")
        assert is_streamed(tmp_path)
        assert not is_streamed(tmp_path / "t.parquet")
        assert not is_streamed(tmp_path / "none.csv")
        assert is_streamed(tmp_path / "t.parquet", max_values=209)

    def test_methods_that_need_all_rows_are_refused(self, run: Run) -> None:
        write_folder(class_table(), Path("t"))
        line = error_line("fit t --target kind --learner mkl")
        assert "mkl needs all rows in memory; choose from stacking, ca, " in line

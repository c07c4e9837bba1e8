"""The command line, end to end on small tables, and its one-line refusals."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_cases import Run, call, class_table, pd, refused, response_table
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from mercer._cli import main
from mercer._cli.models import load_model, save_model
from mercer._cli.tables import read_table


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return call


@pytest.fixture
def classes() -> Any:
    return class_table()


@pytest.fixture
def responses() -> Any:
    return response_table()


class TestFit:
    def test_a_model_and_a_report(self, run: Run, classes: Any) -> None:
        classes.to_csv("table.csv", index=False)
        result = run(
            "fit", "table.csv", "--target", "kind", "--out", "m.skops", "--report", "r.html"
        )
        assert result.exit_code == 0, result.output
        assert "80 rows, 4 columns to learn from, 2 classes" in result.stdout
        assert "Kernels found by ca" in result.stdout
        assert "error (share misclassified)" in result.stdout
        assert "alignment with the target" in result.stdout
        assert max(map(len, result.stdout.splitlines())) <= 80
        assert sorted(path.name for path in Path().iterdir()) == ["m.skops", "r.html", "table.csv"]

    def test_the_report_needs_nothing_else(self, run: Run, classes: Any) -> None:
        classes.to_csv("table.csv", index=False)
        run("fit", "table.csv", "--target", "kind", "--learner", "ca-nd", "--report", "r.html")
        page = Path("r.html").read_text(encoding="utf-8")
        assert page.count("data:image/svg+xml;base64,") >= 4
        assert not re.search(r'(src|href)="(?!data:)|url\(', page)
        assert "How strongly the kernel reads each column" in page

    def test_equal_runs_give_equal_reports(self, run: Run, classes: Any) -> None:
        classes.to_csv("table.csv", index=False)
        for name in ("1.html", "2.html"):
            run("fit", "table.csv", "--target", "kind", "--report", name)
        assert Path("1.html").read_bytes() == Path("2.html").read_bytes()

    def test_regression(self, run: Run, responses: Any) -> None:
        responses.to_csv("table.csv", index=False)
        result = run("fit", "table.csv", "--target", "y", "--report", "r.html")
        assert result.exit_code == 0, result.output
        assert "a response to predict" in result.stdout
        assert "R², variance explained" in result.stdout

    def test_rows_beyond_the_most_are_drawn_and_said(self, run: Run, classes: Any) -> None:
        classes.to_csv("table.csv", index=False)
        result = run(
            "fit", "table.csv", "--target", "kind", "--learner", "uniform", "--max-rows", 30
        )
        assert result.exit_code == 0, result.output
        assert "30 rows to learn from and 20 to test on are drawn" in " ".join(
            result.stderr.split()
        )

    def test_names_are_escaped_in_the_report(self, run: Run, classes: Any) -> None:
        classes.rename(columns={"kind": "<b>kind</b>"}).to_csv("table.csv", index=False)
        run("fit", "table.csv", "--target", "<b>kind</b>", "--report", "r.html")
        page = Path("r.html").read_text(encoding="utf-8")
        assert "<b>kind" not in page
        assert "&lt;b&gt;kind&lt;/b&gt;" in page


class TestPredict:
    @pytest.fixture
    def model(self, run: Run, classes: Any) -> str:
        classes.to_csv("table.csv", index=False)
        run("fit", "table.csv", "--target", "kind", "--learner", "uniform", "--out", "m.skops")
        return "m.skops"

    def test_the_target_may_be_there(self, run: Run, model: str) -> None:
        result = run("predict", model, "table.csv", "--out", "p.csv")
        assert result.exit_code == 0, result.output
        assert "ignored, as the model does not use them: 'kind'" in " ".join(result.stderr.split())
        predictions = pd.read_csv("p.csv")
        assert list(predictions) == ["prediction", "decision_cat & dog"]
        assert set(predictions["prediction"]) == {"cat & dog", "<none>"}
        assert ((predictions["prediction"] == "cat & dog") == (predictions.iloc[:, 1] > 0)).all()

    def test_the_same_as_in_python(self, run: Run, model: str, classes: Any) -> None:
        run("predict", model, "table.csv", "--out", "p.parquet")
        expected = load_model(Path(model)).decision_function(read_table(Path("table.csv")))
        np.testing.assert_array_equal(pd.read_parquet("p.parquet").iloc[:, 1], expected)

    def test_new_categories_are_named(self, run: Run, model: str, classes: Any) -> None:
        classes.assign(color="violet").to_csv("new.csv", index=False)
        result = run("predict", model, "new.csv", "--out", "p.csv")
        assert result.exit_code == 0, result.output
        assert "80 rows hold categories of 'color' that the model never saw" in " ".join(
            result.stderr.split()
        )

    def test_several_classes(self, run: Run, classes: Any) -> None:
        classes["kind"] = classes["color"].fillna("red")
        classes.to_csv("table.csv", index=False)
        run("fit", "table.csv", "--target", "kind", "--learner", "uniform", "--out", "m.skops")
        run("predict", "m.skops", "table.csv", "--out", "p.csv")
        names = ["prediction", "decision_blue", "decision_green", "decision_red"]
        assert list(pd.read_csv("p.csv")) == names

    def test_regression(self, run: Run, responses: Any) -> None:
        responses.to_csv("table.csv", index=False)
        run("fit", "table.csv", "--target", "y", "--learner", "cka", "--out", "m.skops")
        run("predict", "m.skops", "table.csv", "--out", "p.csv")
        predictions = pd.read_csv("p.csv")
        assert list(predictions) == ["prediction"]
        assert np.corrcoef(predictions["prediction"], responses["y"])[0, 1] > 0.9

    def test_missing_columns_are_named(self, run: Run, model: str, classes: Any) -> None:
        classes.drop(columns=["color", "flag"]).to_csv("new.csv", index=False)
        line = refused(run("predict", model, "new.csv", "--out", "p.csv"))
        assert "lacks columns the model was fitted on: 'color', 'flag'" in line
        assert not Path("p.csv").exists()

    def test_text_for_numbers(self, run: Run, model: str, classes: Any) -> None:
        classes.assign(height="tall").to_csv("new.csv", index=False)
        line = refused(run("predict", model, "new.csv", "--out", "p.csv"))
        assert "no numbers, as the model was fitted on, in 'height'" in line

    def test_untrusted_types_are_named(self, run: Run, model: str) -> None:
        save_model(Pipeline([("model", _Stranger())]), Path("strange.skops"))
        line = refused(run("predict", "strange.skops", "table.csv", "--out", "p.csv"))
        assert "holds types not trusted" in line
        assert "_Stranger" in line

    def test_files_that_are_no_models(self, run: Run, model: str, classes: Any) -> None:
        line = refused(run("predict", "none.skops", "table.csv", "--out", "p.csv"))
        assert "there is no model file none.skops" in line
        line = refused(run("predict", "table.csv", "table.csv", "--out", "p.csv"))
        assert "table.csv is not a model of mercer fit" in line
        save_model(Pipeline([("model", PCA())]), Path("other.skops"))
        line = refused(run("predict", "other.skops", "table.csv", "--out", "p.csv"))
        assert "not a model of mercer fit" in line
        Path("broken.skops").write_bytes(Path(model).read_bytes()[:-200])
        line = refused(run("predict", "broken.skops", "table.csv", "--out", "p.csv"))
        assert "not a model of mercer fit" in line

    def test_inputs_survive(self, run: Run, model: str) -> None:
        before = Path("table.csv").read_bytes()
        line = refused(run("predict", model, "table.csv", "--out", "table.csv"))
        assert "would overwrite" in line
        assert Path("table.csv").read_bytes() == before

    def test_the_format_of_the_output(self, run: Run, model: str) -> None:
        line = refused(run("predict", model, "table.csv", "--out", "p.xlsx"))
        assert "must end in .csv" in line


class _Stranger(DecisionTreeClassifier):
    """An estimator that no one vouches for."""


class TestCompare:
    def test_methods_side_by_side(self, run: Run, classes: Any) -> None:
        classes.to_csv("table.csv", index=False)
        result = run(
            *("compare", "table.csv", "--target", "kind", "--methods", "uniform, cka,grid"),
            *("--repeats", 2, "--csv", "c.csv", "--report", "r.html"),
        )
        assert result.exit_code == 0, result.output
        assert max(map(len, result.stdout.splitlines())) <= 80
        table = pd.read_csv("c.csv")
        assert set(table["method"]) == {"uniform", "cka", "grid"}
        np.testing.assert_allclose(
            table["error"], table[["error_split_1", "error_split_2"]].mean(axis=1)
        )
        assert table["rank"].is_monotonic_increasing
        assert table["rank"].sum() == 6
        assert table["test_alignment"].between(0, 1).all()
        page = Path("r.html").read_text(encoding="utf-8")
        assert page.count("data:image/svg+xml;base64,") == 2
        assert "grid search" in page

    def test_regression_against_kernel_ridge(self, run: Run, responses: Any) -> None:
        responses[:30].to_csv("table.csv", index=False)
        result = run(
            *("compare", "table.csv", "--target", "y", "--methods", "align,grid", "--repeats", 1)
        )
        assert result.exit_code == 0, result.output
        assert "Test rows of 1 split, best first" in result.stdout

    def test_unknown_methods(self, run: Run, classes: Any) -> None:
        classes.to_csv("table.csv", index=False)
        line = refused(run("compare", "table.csv", "--target", "kind", "--methods", "ca,girdd"))
        assert "no method 'girdd'" in line
        line = refused(run("compare", "table.csv", "--target", "kind", "--methods", ","))
        assert "no method was named" in line


def test_the_demo_compares_then_fits(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer._cli.app.DEMONSTRATED", ("uniform", "hsic"))
    result = run("demo", "--repeats", 1)
    assert result.exit_code == 0, result.output
    assert "569 rows, 30 columns" in result.stdout
    assert "one width, HSIC" in result.stdout
    assert "Kernels found by ca" in result.stdout


class TestBadInput:
    """One readable line and exit code 2 for whatever is wrong with the input."""

    def fit(self, run: Run, frame: Any, *arguments: object) -> str:
        frame.to_csv("table.csv", index=False)
        return refused(run("fit", "table.csv", *arguments))

    def test_files(self, run: Run) -> None:
        assert "there is no file none.csv" in refused(run("fit", "none.csv", "--target", "y"))
        Path("folder.csv").mkdir()
        assert "is a folder" in refused(run("fit", "folder.csv", "--target", "y"))
        Path("table.xlsx").touch()
        assert "must end in .csv" in refused(run("fit", "table.xlsx", "--target", "y"))
        Path("empty.csv").touch()
        assert "cannot read empty.csv" in refused(run("fit", "empty.csv", "--target", "y"))
        Path("header.csv").write_text("a,y\n")
        assert "has no rows" in refused(run("fit", "header.csv", "--target", "y"))
        Path("ragged.csv").write_text("a,y\n1,2\n1,2,3,4\n")
        assert "cannot read ragged.csv" in refused(run("fit", "ragged.csv", "--target", "y"))
        Path("noise.parquet").write_bytes(b"no parquet")
        assert "cannot read noise.parquet" in refused(run("fit", "noise.parquet", "--target", "y"))
        Path("noise.csv").write_bytes(bytes(range(256)))
        assert "cannot read noise.csv" in refused(run("fit", "noise.csv", "--target", "y"))

    def test_rows(self, run: Run, classes: Any) -> None:
        line = self.fit(run, classes[:1], "--target", "kind")
        assert "the table has 1 row; 10 are the least" in line
        classes.loc[5:, "kind"] = None
        assert "'kind' is known in 5 rows" in self.fit(run, classes, "--target", "kind")

    def test_target(self, run: Run, classes: Any) -> None:
        line = self.fit(run, classes, "--target", "sort")
        assert "no column 'sort'; it has 'height', 'width of it', 'color', 'flag', 'kind'" in line
        assert "the same value in every row" in self.fit(
            run, classes.assign(kind="cat"), "--target", "kind"
        )
        names = [f"row {i}" for i in range(80)]
        line = self.fit(run, classes.assign(kind=names), "--target", "kind")
        assert "another value in every row, as an identifier" in line
        line = self.fit(run, classes.assign(kind=range(80)), "--target", "kind")
        assert "numbers the rows, as an identifier does" in line
        line = self.fit(run, classes.assign(kind=["cat"] * 79 + ["dog"]), "--target", "kind")
        assert "one row alone of class 'dog'" in line
        line = self.fit(run, classes.assign(kind=[0.5] * 79 + [np.inf]), "--target", "kind")
        assert "infinite" in line

    def test_task(self, run: Run, classes: Any) -> None:
        line = self.fit(run, classes, "--target", "kind", "--task", "regression")
        assert "holds no numbers: regression does not fit it" in line
        arguments = ("--target", "width of it", "--task", "classification")
        assert "classification does not fit it" in self.fit(run, classes, *arguments)
        line = self.fit(run, classes, "--target", "kind", "--task", "ranking")
        assert "choose from auto, classification, regression" in line

    def test_features(self, run: Run, classes: Any) -> None:
        classes["dull"] = 1
        line = self.fit(run, classes[["dull", "kind"]], "--target", "kind")
        assert "no column is left to learn from" in line
        assert "the same in every row: 'dull'" in line
        classes.loc[2, "height"] = np.inf
        assert "infinite numbers, or beyond 1e+100, in 'height'" in self.fit(
            run, classes, "--target", "kind"
        )

    def test_options(self, run: Run, classes: Any) -> None:
        line = self.fit(run, classes, "--target", "kind", "--learner", "alinf")
        assert "there is no learner 'alinf' (did you mean 'alignf'?); choose from ca" in line
        assert "Missing option '--target'" in refused(run("fit", "table.csv"))
        assert "test-size" in self.fit(run, classes, "--target", "kind", "--test-size", 2)
        assert "too few for 2 classes" in self.fit(
            run, classes, "--target", "kind", "--test-size", 0.01
        )
        assert "No such command" in refused(run("fti"))

    def test_outputs(self, run: Run, classes: Any) -> None:
        line = self.fit(run, classes, "--target", "kind", "--out", "none/m.skops")
        assert "the folder none for m.skops does not exist" in line
        Path("there").mkdir()
        line = self.fit(run, classes, "--target", "kind", "--report", "there")
        assert "there is a folder" in line
        line = self.fit(run, classes, "--target", "kind", "--report", "a", "--out", "a")
        assert "would overwrite another file" in line

    @pytest.mark.parametrize(("package", "extra"), [("matplotlib", "plot"), ("skops", "cli")])
    def test_missing_packages(
        self, run: Run, classes: Any, monkeypatch: pytest.MonkeyPatch, package: str, extra: str
    ) -> None:
        monkeypatch.setitem(sys.modules, package, None)
        arguments = ("--target", "kind", "--learner", "uniform")
        line = self.fit(run, classes, *arguments, "--out", "m.skops", "--report", "r.html")
        assert f"the package '{package}' is missing" in line
        assert f'pip install "mercer[{extra}]"' in line
        assert not list(Path().glob("*.skops"))

    def test_missing_typer(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setitem(sys.modules, "typer", None)
        monkeypatch.delitem(sys.modules, "mercer._cli.app")
        with pytest.raises(SystemExit) as exit_:
            main()
        assert exit_.value.code == 2
        expected = "mercer: the package 'typer' is missing; pip install \"mercer[cli]\" brings it\n"
        assert capsys.readouterr().err == expected


def test_an_interrupted_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer._cli.app.read_table", interrupt)
    assert run("fit", "table.csv", "--target", "y").exit_code == 130


def test_no_command_shows_the_help(run: Run) -> None:
    result = run()
    assert result.exit_code == 0
    assert "compare" in result.stdout

"""The command line, end to end on small tables, and its one-line error messages."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import Run, call, class_table, done, error_line, pd, refused

import mercer
from mercer_command import comparison, main
from mercer_command.files import load_model
from mercer_command.methods import METHODS


@pytest.fixture
def classes() -> Any:
    return class_table()


class TestFit:
    def test_equal_runs_give_equal_reports_that_embed_all_they_show(
        self, run: Run, classes: Any
    ) -> None:
        classes.to_csv("table.csv", index=False)
        pages = []
        for _ in range(2):
            run("fit table.csv --target kind --learner uniform --report r.html")
            pages.append(Path("r.html").read_bytes())
        assert pages[0] == pages[1]
        page = pages[0].decode()
        assert page.count("<svg") >= 7
        assert not re.search(r'(src|href)="(?!data:|#)|url\((?!#)', page)
        names = re.findall(r' id="([^"]*)"', page)
        assert len(names) == len(set(names)) > 0
        assert set(re.findall(r'(?:href="|url\()#([^")]*)', page)) <= set(names)
        assert '<th class="n">Error rises by</th>' in page
        # Addresses in memory would make the reports of two processes differ.
        assert " at 0x" not in page

    def test_a_report_that_fails_leaves_the_model_and_the_result(
        self, run: Run, classes: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*arguments: Any) -> None:
            raise AttributeError("no such font\nmore")

        monkeypatch.setattr("mercer_command.pages.write_page", fail)
        classes.to_csv("table.csv", index=False)
        options = ("--learner", "uniform", "--out", "m.skops", "--report", "r.html", "--no-refit")
        result = refused("fit table.csv --target kind", *options)
        assert "cannot write the report r.html (AttributeError: no such font)" in result.stderr
        assert "model in m.skops" in result.stdout
        assert "report in" not in result.stdout
        assert load_model(Path("m.skops"))

    def test_a_full_disk_leaves_the_old_model_and_shows_the_result(
        self, run: Run, classes: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(fd: int) -> None:
            raise OSError(28, "No space left on device")

        classes.to_csv("table.csv", index=False)
        Path("m.skops").write_text("old")
        monkeypatch.setattr("os.fsync", full)
        options = ("--learner", "uniform", "--out", "m.skops", "--report", "r.html")
        result = refused("fit table.csv --target kind", *options)
        assert "cannot write m.skops: No space left on device; cannot write r.html" in result.stderr
        assert "Error (share misclassified)" in result.stdout
        assert Path("m.skops").read_text() == "old"
        assert sorted(path.name for path in Path().iterdir()) == ["m.skops", "table.csv"]


class TestPredict:
    def test_every_failure_to_predict_is_one_line(
        self, run: Run, model: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*arguments: Any) -> None:
            raise AttributeError("no attribute\nmore")

        monkeypatch.setattr("mercer_command.predictions.predict", fail)
        line = error_line("predict", model, "table.csv", "--out", "p.csv")
        assert "cannot predict table.csv by m.skops (AttributeError: no attribute)" in line
        assert not Path("p.csv").exists()

    def test_inputs_are_not_overwritten(self, run: Run, model: str) -> None:
        before = Path("table.csv").read_bytes()
        arguments = ("predict", model, "table.csv", "--out")
        for words, message in (
            (("p.csv", "--interval", 0.9), "the model predicts no intervals"),
            (("table.csv",), "would overwrite"),
            (("p.csv.xz",), "p.csv.xz would not be compressed; write .csv or .csv.gz"),
        ):
            assert message in error_line(*arguments, *words)
        assert Path("table.csv").read_bytes() == before
        assert not Path("p.csv").exists()


def test_methods_are_compared_by_rank(run: Run, classes: Any) -> None:
    classes.to_csv("table.csv", index=False)
    options = "--methods 'uniform, cka,hsic' --repeats 2 --csv c.csv --report r.html"
    result = run(f"compare table.csv --target kind {options}")
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "±" in result.stdout
    table = pd.read_csv("c.csv")
    lines = re.findall(r"(\w+): Error ([0-9.]+)% ± [0-9.]+% on 2 splits, ", result.stderr)
    errors = table.set_index("method")["error"]
    assert sorted(name for name, _ in lines) == ["cka", "hsic", "uniform"]
    for name, percent in lines:
        assert float(percent) == pytest.approx(100.0 * errors[name], abs=0.051)
    assert set(table["method"]) == {"uniform", "cka", "hsic"}
    np.testing.assert_allclose(
        table["error"], table[["error_split_1", "error_split_2"]].mean(axis=1)
    )
    assert table["rank"].is_monotonic_increasing
    assert table["rank"].sum() == 6
    assert table["test_alignment"].between(0, 1).all()
    assert METHODS["hsic"].description in Path("r.html").read_text(encoding="utf-8")


def test_an_interrupted_comparison_shows_and_writes_what_is_done(
    run: Run, classes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = comparison._measure

    def interrupted(problem: Any, name: str, *others: Any) -> Any:
        if name == "forest":
            raise KeyboardInterrupt
        return measure(problem, name, *others)

    monkeypatch.setattr(comparison, "_measure", interrupted)
    line = "compare table.csv --target kind --methods linear,forest,cka --repeats 1 --csv c.csv"
    result = call(line, table=classes)
    assert result.exit_code == 130
    assert "linear" in result.stdout
    assert "interrupted, without 'forest', 'cka'" in result.stderr
    assert pd.read_csv("c.csv")["method"].tolist() == ["linear"]


def test_the_demo_is_short_and_shows_a_table_on_which_the_method_is_best(run: Run) -> None:
    result = run("demo --out m.skops")
    assert "600 rows, 5 columns" in result.stdout
    assert "Verdict: use it." in result.stdout
    assert "warning" not in result.stderr
    lines = [line for line in result.stdout.splitlines() if line != "model in m.skops"]
    assert len(lines) <= 40
    rows = re.findall(r"^ (\S.*?) {2,}([0-9.]+) ", result.stdout, re.MULTILINE)
    errors = {name: float(error) for name, error in rows}
    assert errors["model"] < 0.3 * errors["histogram boosting"]


class TestInvalidInput:
    """Every invalid input ends with one readable line and exit code 2."""

    def fit(self, run: Run, frame: Any, *arguments: object) -> str:
        return error_line("fit table.csv --target", *arguments, table=frame)

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("table.xlsx", b"", "must end in .csv"),
            ("empty.csv", b"", "cannot read empty.csv as a table: the file is empty"),
            ("lines.csv", b"\n\n", "the file is empty"),
            ("header.csv", b"a,y\n", "has no rows"),
            ("ragged.csv", b"a,y\n1,2\n1,2,3,4\n", "line 3 has 4 cells, and the lines above it"),
            ("noise.parquet", b"no parquet", "cannot read noise.parquet"),
            ("noise.csv", bytes(range(256)), "NUL bytes, as no text does"),
        ],
    )
    def test_unreadable_files(self, run: Run, name: str, content: bytes, message: str) -> None:
        Path(name).write_bytes(content)
        assert message in error_line("fit", name, "--target", "y")

    def test_absent_files_and_folders(self, run: Run) -> None:
        assert "there is no file none.csv" in error_line("fit none.csv --target y")
        Path("folder.csv").mkdir()
        line = error_line("fit folder.csv --target y")
        assert "There is no Parquet file in the folder folder.csv" in line
        assert "is a folder" in error_line("compare folder.csv --target y")

    @pytest.mark.parametrize(
        ("kind", "message"),
        [
            ("cat", "the same value in every row"),
            ([f"row {i}" for i in range(80)], "a different value in every row, as an identifier"),
            (range(80), "numbers the rows, as an identifier does"),
            (["cat"] * 79 + ["dog"], "'kind' has one class only that has two rows or more"),
            ([0.5] * 79 + [np.inf], "infinite"),
            (["cat"] * 5 + [None] * 75, "'kind' is known in 5 rows; 10 are needed"),
        ],
    )
    def test_unsuitable_targets(self, run: Run, classes: Any, kind: Any, message: str) -> None:
        assert message in self.fit(run, classes.assign(kind=kind), "kind")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (
                ("sort",),
                "names 'sort', which cannot be chosen; choose from 'height', 'width of it',",
            ),
            (("kind", "--task", "regression"), "no numbers: it cannot be the target of regression"),
            (
                ("width of it", "--task", "classification"),
                "it cannot be the target of classification",
            ),
            (("kind", "--task", "ranking"), "choose from auto, classification, regression"),
            (("kind", "--learner", "alinf"), "no learner 'alinf' (did you mean 'alignf'?); choose"),
            (("kind", "--device", "gpu"), "no device 'gpu' (did you mean 'cpu'?); choose from cpu"),
            (("kind", "--test-size", 2), "test-size"),
            (("kind", "--test-size", 0.01), "too few for 2 classes"),
            (("kind", "--out", "none/m.skops"), "the folder none for m.skops does not exist"),
            (("kind", "--report", "there"), "there is a folder"),
            (("kind", "--report", "a", "--out", "a"), "would overwrite another file"),
        ],
    )
    def test_unsuitable_options(
        self, run: Run, classes: Any, arguments: tuple[object, ...], message: str
    ) -> None:
        Path("there").mkdir()
        assert message in self.fit(run, classes, *arguments)

    def test_unsuitable_features(self, run: Run, classes: Any) -> None:
        assert "the table has 1 row; at least 10 are needed" in self.fit(run, classes[:1], "kind")
        classes["dull"] = 1
        line = self.fit(run, classes[["dull", "kind"]], "kind")
        assert "no column is left to learn from" in line
        assert "the same in every row: 'dull'" in line
        classes.loc[2, "height"] = np.inf
        assert "infinite numbers: height" in self.fit(run, classes, "kind")

    def test_commands_and_their_methods(self, run: Run, classes: Any) -> None:
        classes.to_csv("table.csv", index=False)
        compared = ("compare", "table.csv", "--target", "kind", "--methods")
        for words, message in (
            (("fit", "table.csv"), "Missing option '--target'"),
            (("fti",), "No such command"),
            ((*compared, "ca,girdd"), "no method 'girdd'"),
            ((*compared, ","), "no method was named"),
        ):
            assert message in error_line(*words)

    @pytest.mark.parametrize(("package", "extra"), [("matplotlib", "plot"), ("skops", "cli")])
    def test_missing_packages(
        self, run: Run, classes: Any, monkeypatch: pytest.MonkeyPatch, package: str, extra: str
    ) -> None:
        monkeypatch.setitem(sys.modules, package, None)
        files = ("--out", "m.skops", "--report", "r.html")
        line = self.fit(run, classes, "kind", "--learner", "uniform", *files)
        assert f"the package '{package}' is missing" in line
        assert f'pip install "mercer[{extra}]"' in line
        assert not list(Path().glob("*.skops"))

    def test_the_device_of_a_fit(
        self, run: Run, classes: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        classes.to_csv("table.csv", index=False)
        fit = ("fit", "table.csv", "--target", "kind", "--out", "m.skops")
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "torch", None)
            line = error_line(*fit, "--device", "cuda")
        assert "the package 'torch' is missing; install it with" in line
        assert 'pip install "mercer[gpu]"' in line
        run(*fit, "--device", "auto")
        assert load_model(Path("m.skops"))[-1].device == "auto"

    def test_missing_typer(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setitem(sys.modules, "typer", None)
        monkeypatch.delitem(sys.modules, "mercer_command.app")
        with pytest.raises(SystemExit) as exit_:
            main()
        assert exit_.value.code == 2
        install = 'pip install "mercer[cli]"'
        expected = f"mercer: the package 'typer' is missing; install it with {install}\n"
        assert capsys.readouterr().err == expected


def test_help_and_version(run: Run) -> None:
    assert "compare" in run().stdout
    assert run("--version").stdout == f"mercer {mercer.__version__}\n"
    command = [sys.executable, "-m", "mercer_command", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == (
        f"mercer {mercer.__version__}\n"
    )


@pytest.mark.parametrize(
    ("command", "packages"),
    [
        ("columns", ("mercer._estimators", "mercer.inspection", "mercer.kernels", "matplotlib")),
        ("predict", ("mercer.inspection", "matplotlib")),
    ],
)
def test_what_a_command_does_not_need_is_not_imported(command: str, packages: Any) -> None:
    script = f"""
import sys
import mercer_command.commands.{command}_command
print([name for name in {packages} if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_tables_on_the_standard_input(run: Run, classes: Any) -> None:
    text = classes.to_csv(index=False)
    result = done("fit - --target kind --learner uniform --report r.html", text=text)
    assert "80 rows, 4 columns to learn from" in result.stdout
    page = Path("r.html").read_text(encoding="utf-8")
    assert page.index("import sys") < page.index("pd.read_csv(sys.stdin, ")

"""Reports: what they show, and that names are text in them."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from command_cases import Run, class_table, error_line, pd, response_table
from ten_tables import LONG_NAME, odd_names

import mercer
from mercer_command.output import Section, Table, Text, write_page

KINDS = ("p", "note", "code", "warning")


class Elements(HTMLParser):
    """The elements of a page, and the text outside of its style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data if self.tags and self.tags[-1] != "style" else ""


def written() -> Elements:
    return Elements(Path("r.html").read_text(encoding="utf-8"))


def fit(run: Run, *arguments: object) -> Elements:
    result = run("fit", "table.csv", *arguments, "--report", "r.html")
    assert result.exit_code == 0, result.output
    return written()


def test_classification(run: Run) -> None:
    class_table().to_csv("table.csv", index=False)
    arguments = ("--target", "kind", "--out", "m.skops", "--report", "r.html", "--seed", 3)
    result = run("fit", "table.csv", *arguments)
    assert result.exit_code == 0, result.output
    assert "80 rows, 4 columns to learn from, 2 classes" in result.stdout
    assert "Kernels found by stacking" in result.stdout
    assert "Error (share misclassified)" in result.stdout
    assert "error, leave-one-out" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert sorted(path.name for path in Path().iterdir()) == ["m.skops", "r.html", "table.csv"]
    page = written()
    for told in (
        "Predicting kind: error",
        "histogram boosting",
        "logistic regression",
        "Precision",
        "Confusion matrix",
        "ROC curve",
        "Calibration",
        "Columns that matter",
        "Partial dependence",
        "Kernels found",
        "How the columns were read and used",
        "mercer fit table.csv --target kind --report r.html --seed 3 --out m.skops",
        "mercer.load('m.skops')",
        "scikit-learn",
        "random_state",
    ):
        assert told in page.text
    assert page.tags.count("svg") >= 8
    assert "script" not in page.tags


def test_regression(run: Run) -> None:
    response_table().to_csv("table.csv", index=False)
    page = fit(run, "--target", "y")
    for told in ("Residuals", "Predicted and true", "Coverage of intervals", "RBF kernel ridge"):
        assert told in page.text
    assert "Confusion" not in page.text


def test_names_are_text_everywhere(run: Run) -> None:
    table = odd_names()
    Path("table.csv").write_bytes(table.content)
    page = fit(run, "--target", table.target, "--learner", "uniform")
    assert not {"script", "b!", "img"} & set(page.tags)
    assert "<script>alert(1)</script>" in page.text
    assert "cost $ in_$x_1$" in page.text
    assert "\N{BANANA} price" in page.text
    assert "two↵lines" in page.text
    assert LONG_NAME[:100] not in page.text
    assert "$x_1^$" in page.text


def test_a_model_that_learned_nothing_is_said_to_have(run: Run) -> None:
    rng = np.random.default_rng(0)
    pd.DataFrame({"a": rng.normal(size=90), "y": rng.normal(size=90)}).to_csv("table.csv")
    result = run("fit", "table.csv", "--target", "y", "--learner", "cka", "--report", "r.html")
    assert "not better than a constant prediction" in " ".join(result.stderr.split())
    assert "not better than a constant prediction" in Path("r.html").read_text(encoding="utf-8")


def test_a_saved_model_is_explained(run: Run, model: str) -> None:
    result = run("explain", "m.skops", "table.csv", "--report", "e.html")
    assert result.exit_code == 0, result.output
    assert "Columns that matter" in result.stdout
    assert "tried on 80 rows with their targets" in " ".join(result.stdout.split())
    page = Elements(Path("e.html").read_text(encoding="utf-8"))
    assert "Confusion matrix" in page.text
    class_table().drop(columns="kind").to_csv("new.csv", index=False)
    result = run("explain", "m.skops", "new.csv", "--report", "e.html")
    assert result.exit_code == 0, result.output
    assert "not measured" in result.stdout
    assert "Confusion matrix" not in Path("e.html").read_text(encoding="utf-8")
    class_table().drop(columns="height").to_csv("new.csv", index=False)
    assert "lacks columns of the model" in error_line(run("explain", "m.skops", "new.csv"))


def test_a_model_is_loaded_in_python(run: Run) -> None:
    response_table().to_csv("table.csv", index=False)
    run("fit", "table.csv", "--target", "y", "--out", "m.skops")
    run("predict", "m.skops", "table.csv", "--out", "p.csv", "--intervals")
    written = pd.read_csv("p.csv")
    assert list(written) == ["prediction", "lower", "upper"]
    assert (written["lower"] < written["upper"]).all()
    text = pd.read_csv("table.csv", dtype=str, keep_default_na=False)
    np.testing.assert_allclose(mercer.load("m.skops").predict(text), written["prediction"])
    with pytest.raises(FileNotFoundError):
        mercer.load("none.skops")


def test_the_version_is_shown(run: Run) -> None:
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout == f"mercer {mercer.__version__}\n"


def test_one_repeat_has_no_deviation(run: Run) -> None:
    class_table().to_csv("table.csv", index=False)
    arguments = ("compare", "table.csv", "--target", "kind", "--methods", "uniform,cka")
    result = run(*arguments, "--repeats", 1)
    assert "±" not in result.stdout
    assert re.search(r"^Rank: ", result.stdout, flags=re.MULTILINE)
    assert "±" in run(*arguments, "--repeats", 2).stdout


def test_axes_of_dates_are_labeled_by_dates(run: Run) -> None:
    frame = response_table()
    frame["y"] = pd.Timestamp("2024-03-01") + pd.to_timedelta(np.round(40 * frame["y"]), "D")
    frame.to_csv("table.csv", index=False)
    run("fit", "table.csv", "--target", "y", "--learner", "uniform", "--report", "r.html")
    page = Path("r.html").read_text(encoding="utf-8")
    labels = set(re.findall(r"<!-- (.*?) -->", page)) | set(re.findall(r">([^<>]+)</text>", page))
    assert labels & {"Jan", "Feb", "Mar", "Apr", "May", "2024"}
    assert not {label for label in labels if label.startswith(("197", "198"))}
    assert "Rise of the error, in days" in labels


def test_the_title_and_all_parts_of_a_page_are_text(tmp_path: Path) -> None:
    marked = "<b>&</b>"
    table = Table([marked], [[marked]])
    parts = [marked, table, replace(table, summary=marked), *(Text(marked, kind) for kind in KINDS)]
    write_page(tmp_path / "r.html", marked, marked, [Section(marked, parts)])
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<b>" not in page
    assert page.count("&lt;b&gt;&amp;&lt;/b&gt;") == 14
    assert (page.count("<table>"), page.count("<details>")) == (2, 1)

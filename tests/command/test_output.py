"""Results in reports, where names are text, and in the terminal; progress bars."""

import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import Elements, Run, class_table, pd, response_table
from rich.console import Console

from mercer_command import output
from mercer_command.output import Figure, Section, Table, Text
from mercer_command.pages import write_page

KINDS = ("p", "note", "code", "warning")


def test_classification(run: Run) -> None:
    class_table().to_csv("table.csv", index=False)
    result = run("fit table.csv --target kind --out m.skops --report r.html --seed 3 --details")
    assert "80 rows, 4 columns to learn from, 2 classes" in result.stdout
    assert "Kernels found by stacking" in result.stdout
    assert "Error (share misclassified)" in result.stdout
    assert "model, left-out rows" in result.said
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert sorted(path.name for path in Path().iterdir()) == ["m.skops", "r.html", "table.csv"]
    page = Elements("r.html")
    for told in (
        "Predicting kind",
        "histogram boosting",
        "Confusion matrix: numbers of rows",
        "Calibration: rows by predicted probability",
        "Coverage of 90% intervals or sets",
        "Nothing found by the checks of: leakage, copies, shift",
        "Columns that matter",
        "Kernels found",
        "How the columns were read and used",
        "mercer fit table.csv --target kind --report r.html --seed 3 --out m.skops",
        "mercer.load('m.skops')",
    ):
        assert told in page.text
    assert "ROC AUC: area under the ROC curve, which is 1 for a perfect ranking" in page.text
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    written = Path("r.html").read_text(encoding="utf-8")
    assert all(word in written for word in ("prefers-color-scheme: dark", "max-width: 600px"))


def test_axes_of_dates_are_labeled_by_dates(run: Run) -> None:
    frame = response_table()
    frame["y"] = pd.Timestamp("2024-03-01") + pd.to_timedelta(np.round(40 * frame["y"]), "D")
    run("fit table.csv --target y --learner uniform --report r.html", table=frame)
    page = Path("r.html").read_text(encoding="utf-8")
    labels = set(re.findall(r"<!-- (.*?) -->", page)) | set(re.findall(r">([^<>]+)</text>", page))
    assert labels & {"Jan", "Feb", "Mar", "Apr", "May", "2024"}
    assert not {label for label in labels if label.startswith(("197", "198"))}
    assert "The error is the mean absolute error, in days." in page


def test_the_title_and_all_parts_of_a_page_are_text(tmp_path: Path) -> None:
    marked = "<b>&</b>"
    table = Table([marked], [[marked]])
    parts: list[output.Part] = [marked, table]
    parts += [
        Figure(lambda ax: None, marked),
        *(Text(marked, kind) for kind in KINDS),
    ]
    write_page(tmp_path / "r.html", marked, marked, [Section(marked, parts)])
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<b>" not in page
    assert page.count("&lt;b&gt;&amp;&lt;/b&gt;") == 12


@pytest.mark.parametrize("marked", ["[bold]a[/]", "titer 1:100:2"])
def test_marks_of_the_terminal_are_text(capsys: pytest.CaptureFixture[str], marked: str) -> None:
    output.show([Section(marked, [Table([marked], [[marked]]), marked])])
    output.print_notes([marked])
    told = capsys.readouterr()
    assert (told.out.count(marked), told.err.count(marked)) == (4, 1)


def shown(monkeypatch: pytest.MonkeyPatch, is_terminal: bool) -> str:
    """Return what a bar shows after some rows, and rows of a further step of unknown length."""
    written = StringIO()
    console = Console(file=written, force_terminal=is_terminal, width=120)
    monkeypatch.setattr(output, "Console", lambda stderr, emoji: console)
    with output.progress_bar() as bar:
        bar.step("fitting all rows", 4000)
        bar.advance(1000)
        bar.advance(200)
        bar.step("learning", unit="rows read")
        bar.advance(70_000)
    return written.getvalue()


def test_rows_are_counted_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, is_terminal=True)
    assert "learning" in text
    assert " 70,000 rows read" in text
    assert shown(monkeypatch, is_terminal=False).strip() == ""


def test_labels_beside_long_names_stay_inside_their_picture(tmp_path: Path) -> None:
    def draw(ax: Any) -> None:
        ax.barh([0, 1], [1.0, 2.0])
        ax.set_yticks([0, 1], ["a name of thirty-six letters or so", "b"])
        ax.set(xlabel="Multiplies the expected count by", title="Contributions of both columns")

    write_page(tmp_path / "r.html", "", "", [Section("", [Figure(draw, "")])])
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    [width] = [float(text) for text in re.findall(r'<svg[^>]* width="([\d.]+)pt"', page)]
    for told in ("Multiplies the expected", "Contributions of both"):
        # They begin and end inside the picture.
        [x] = re.findall(rf'translate\(([\d.]+) [\d.]+\)">{told}[^<]*</text>', page)
        assert 0.0 < float(x) < width - 5.5 * len(told)


def test_characters_that_an_encoding_lacks_are_replaced() -> None:
    """A file or a terminal of another encoding gets question marks."""
    code = "from mercer_command.app import app; app(['--version'])"
    marked = "import atexit; atexit.register(print, 'R\u00b2 \u00b1 \u2588 \u2849'); " + code
    command, variables = [sys.executable, "-c", marked], {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert result.stdout.splitlines()[-1] == "R? ? ? ?"
    assert result.returncode == 0, result.stderr

"""Calls of the command line, and small tables for it."""

from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from shlex import split
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from mercer_command.app import app
from mercer_command.columns import recognize_columns
from mercer_command.output import Figure, Section
from mercer_command.table_files import read_cells

pytest.importorskip("skops.io")

Run = Callable[..., Any]


@dataclass(frozen=True)
class Ended:
    """What a run has written: as it is, and in one line, on stdout, stderr and both."""

    stdout: str
    stderr: str
    said: str
    noted: str

    @property
    def told(self) -> str:
        return f"{self.said} {self.noted}"


def call(line: str = "", *others: object, text: str | None = None, table: Any = None) -> Any:
    """Run the command in the current folder.

    A text is its standard input; a table is written to the file that the line names first.
    """
    words = [*split(line), *map(str, others)]
    if table is not None:
        table.to_csv(words[1], index=False)
    return CliRunner().invoke(app, words, input=text)


def done(line: str = "", *others: object, **given: Any) -> Ended:
    """Run the command, which must succeed."""
    found = call(line, *others, **given)
    assert found.exit_code == 0, found.output
    said, noted = (" ".join(each.split()) for each in (found.stdout, found.stderr))
    return Ended(found.stdout, found.stderr, said, noted)


def refused(line: str, *others: object, **given: Any) -> Any:
    """Run the command, which must end with one line on stderr."""
    result = call(line, *others, **given)
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stderr.startswith("mercer: ")
    assert result.stderr.count("\n") == 1
    return result


def error_line(line: str, *others: object, **given: Any) -> str:
    """Return the one line on stderr of a run that must fail."""
    return str(refused(line, *others, **given).stderr)


def read_table(path: Path) -> Any:
    """The cells of a table, converted to what they are recognized as."""
    cells = read_cells(path)
    return recognize_columns(cells.frame, separator=cells.separator)[0]


def class_table() -> Any:
    """Two overlapping classes, with missing numbers, a category and a flag."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    frame = pd.DataFrame(
        {
            "height": rng.normal(size=80) + 2.0 * y,
            "width of it": rng.normal(size=80) - y,
            "color": rng.choice(["red", "green", "blue"], size=80),
            "flag": rng.random(80) < 0.5,
            "kind": np.where(y == 1, "cat & dog", "<none>"),
        }
    )
    frame.loc[3, "height"] = np.nan
    frame.loc[5, "color"] = None
    return frame


def response_table() -> Any:
    """A smooth response to two numbers."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(70, 2))
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": np.sin(X[:, 0]) + 0.1 * X[:, 1]})


class Elements(HTMLParser):
    """The elements of a page, and the text outside of its style."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(Path(name).read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data if self.tags and self.tags[-1] != "style" else ""


def drawn_axes(section: Section) -> list[Any]:
    """The axes of the figures of a section."""
    from matplotlib.figure import Figure as Drawing

    axes = []
    for part in section.parts:
        if isinstance(part, Figure):
            axes.append(Drawing().subplots())
            part.draw(axes[-1])
    return axes


def write_folder(frame: Any, folder: Path, n_parts: int = 3) -> None:
    """Write a table as a folder of Parquet files, in several row groups each."""
    folder.mkdir()
    for part, rows in enumerate(np.array_split(np.arange(len(frame)), n_parts)):
        frame.iloc[rows].to_parquet(folder / f"part.{part}.parquet", row_group_size=20)

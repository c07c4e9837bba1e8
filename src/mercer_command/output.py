"""Sections of tables, lines and figures, which rich writes to the terminal, and `pages` as HTML.

In the terminal, results are on stdout; progress and notes are on stderr.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

from rich import box, markup, progress
from rich.console import Console
from rich.table import Table as Grid

from mercer_command.messages import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes
    ----------
    header : sequence of str
    rows : sequence of sequences of str
    numeric : collection of int
        Positions of numeric columns, which are aligned to the right.
    bold : collection of int
        Positions of the rows that are highlighted.
    lengths : sequence of float
        Lengths of bars beside the rows; the bars of negative ones have another color.
    n_shown : int or None
        Number of rows that the terminal shows; None for all.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Collection[int] = ()
    bold: Collection[int] = ()
    lengths: Sequence[float] = ()
    n_shown: int | None = None


@dataclass(frozen=True)
class Figure:
    """A figure of a report.

    Attributes
    ----------
    draw : callable
        Function that draws on the axes passed to it.
    caption : str
    height : float
        Height in inches; the width is `FIGURE_WIDTH`.
    """

    draw: Callable[[Axes], object]
    caption: str
    height: float = 3.2


FIGURE_WIDTH = 4.4
"""Width of figures in inches. In a window of 400 pixels, their letters then are 11 pixels high."""


@dataclass(frozen=True)
class Text:
    """A paragraph of a report.

    Attributes
    ----------
    text : str
    kind : {"p", "note", "heading", "code", "warning", "summary"}
        Kind of the paragraph. The terminal shows only warnings and summaries.
    """

    text: str
    kind: str = "p"


@dataclass(frozen=True)
class Folded:
    """Parts of a report that are shown on demand.

    Attributes
    ----------
    summary : str
        Line that is always shown.
    parts : sequence of Part
    """

    summary: str
    parts: Sequence[Part]


# Lines, tables, warnings and summaries are also shown in the terminal; other parts in reports only.
Part: TypeAlias = str | Table | Figure | Text | Folded


@dataclass(frozen=True)
class Section:
    """A part of a result under a headline.

    Attributes
    ----------
    title : str
    parts : sequence of Part
    """

    title: str
    parts: Sequence[Part]


# Colors of text, of less important parts, and of lines; dark pages replace them.
INK, SOFT, LINE = "#1d2733", "#5b6875", "#e3e8ed"

COLORS = ("#2f6f9f", "#c0531e", "#3b8a5a", "#8a5ea8", "#9a7b1f")
"""Colors of several curves; color-blind people can distinguish them by the legend's order."""

# Colors of marks, and of highlighted marks.
ACCENT, WARM = COLORS[:2]


class Bar:
    """A progress bar, or lines of progress if the output is a file or a pipe.

    Parameters
    ----------
    bar : Progress
    unit : str
        Unit that is counted, such as "rows".
    seconds : float, default=10.0
        Shortest time between two lines.
    """

    def __init__(self, bar: progress.Progress, unit: str, seconds: float = 10.0) -> None:
        self._bar, self._unit, self._counted, self._seconds = bar, unit, unit, seconds
        self._next = monotonic() + seconds
        self._task = bar.add_task("starting", total=None, done="")

    def step(self, description: str, total: int | None = None, unit: str = "") -> None:
        """Begin a step.

        Parameters
        ----------
        description : str
        total : int, default=None
            Number of units of the step; None if it is unknown.
        unit : str, default=""
            Unit that is counted; by default, the unit of the bar.
        """
        self._say(description)
        self._counted = unit or self._unit
        self._bar.reset(self._task, description=_as_markup(description), done="")
        self._bar.tasks[0].total = total

    def advance(self, number: int = 1, description: str = "") -> None:
        """Report completed units.

        Parameters
        ----------
        number : int, default=1
        description : str, default=""
            Description of the next task, if it differs from the current one.
        """
        task = self._bar.tasks[0]
        text = _as_markup(description) or task.description
        ready, total = task.completed + number, task.total or 0
        of_all = f" of {total:,.0f}" if total else ""
        done = f"{ready:,.0f}{of_all} {self._counted}"
        self._say(f"{text}, {done}")
        self._bar.update(self._task, advance=number, description=text, done=done)

    def report(self, line: str) -> None:
        """Write a line on results so far, above the bar if there is a terminal.

        Parameters
        ----------
        line : str
        """
        self._bar.console.print(visible(line), markup=False, highlight=False, soft_wrap=True)

    def _say(self, description: str) -> None:
        """Write a line, unless there is a terminal or the last line is recent."""
        if not self._bar.console.is_terminal and monotonic() >= self._next:
            self._next = monotonic() + self._seconds
            self.report(description)


def _as_markup(text: str) -> str:
    return markup.escape(visible(text))


@contextmanager
def progress_bar(unit: str = "rows") -> Iterator[Bar]:
    """Show a progress bar on stderr, with an estimate of the remaining time.

    The bar is shown on terminals only, and disappears at the end.

    Parameters
    ----------
    unit : str, default="rows"
        Unit that is counted.
    """
    columns = (
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TextColumn("{task.fields[done]}"),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with progress.Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        yield Bar(bar, unit)


def print_line(line: str) -> None:
    """Print one line of the result."""
    Console().print(visible(line), markup=False, highlight=False)


def print_notes(notes: Iterable[str], kind: str = "note") -> None:
    """Print remarks on the run, or warnings."""
    for note in notes:
        style = "yellow" if kind == "note" else "bold yellow"
        told = visible(f"{kind}: {note}")
        Console(stderr=True).print(told, markup=False, highlight=False, style=style)


def show(sections: Iterable[Section]) -> None:
    """Print titles, tables and lines of sections, and warnings on stderr.

    Parameters
    ----------
    sections : iterable of Section
    """
    for section in sections:
        # A title inside the table would be wrapped to the width of the table.
        Console().print(f"[bold]{_as_markup(section.title)}[/]", highlight=False)
        for part in section.parts:
            if isinstance(part, Table):
                Console().print(_grid(part))
            elif isinstance(part, str):
                print_line(part)
            elif isinstance(part, Text) and part.kind == "summary":
                print_line(part.text)
            elif isinstance(part, Text) and part.kind == "warning":
                print_notes([part.text], "warning")
        print_line("")


def _grid(table: Table, bar: int = 16) -> Grid:
    """Return a table for the terminal, with bars of at most `bar` characters."""
    grid = Grid(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for position, name in enumerate(table.header):
        is_number = position in table.numeric
        grid.add_column(_as_markup(name), overflow="fold", no_wrap=is_number)
        grid.columns[-1].justify = "right" if is_number else "left"
    longest = max(table.lengths, default=0.0) or 1.0
    bars = [f"[cyan]{'█' * round(bar * length / longest)}[/]" for length in table.lengths]
    if bars:
        grid.add_column("", min_width=bar, no_wrap=True)
    n_shown = len(table.rows) if table.n_shown is None else table.n_shown
    for r, row in enumerate(table.rows[:n_shown]):
        style = "bold" if r in table.bold else ""
        grid.add_row(*map(_as_markup, row), *bars[r : r + 1], style=style)
    if (hidden := len(table.rows) - n_shown) > 0:
        grid.add_row(f"and {hidden} more")
    return grid

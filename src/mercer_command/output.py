"""Sections of tables, lines and figures, which rich writes to the terminal, and `pages` as HTML.

In the terminal, results are on stdout; progress and notes are on stderr.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
        Lengths of bars beside the rows.
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
        Height in inches; the width is that of all figures.
    """

    draw: Callable[[Axes], object]
    caption: str
    height: float = 3.2


@dataclass(frozen=True)
class Text:
    """A paragraph of a report.

    Attributes
    ----------
    text : str
    kind : {"p", "note", "code", "warning", "summary"}
        Kind of the paragraph. The terminal shows only warnings and summaries.
    """

    text: str
    kind: str = "p"


# Lines, tables, warnings and summaries are also shown in the terminal; other parts in reports only.
Part: TypeAlias = str | Table | Figure | Text


@dataclass(frozen=True)
class Section:
    """A part of a result under a headline.

    Attributes
    ----------
    title : str
    parts : sequence of Part
    is_detail : bool
        Whether the terminal shows the section only with the option --details.
    """

    title: str
    parts: Sequence[Part]
    is_detail: bool = False


class Bar:
    """A progress bar.

    Parameters
    ----------
    bar : Progress
    unit : str
        Unit that is counted, such as "rows".
    """

    def __init__(self, bar: progress.Progress, unit: str) -> None:
        self._bar, self._unit = bar, unit
        self._task = bar.add_task("starting", total=None, unit="")

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
        self._bar.remove_task(self._task)
        text = _as_markup(description)
        self._task = self._bar.add_task(text, total=total, unit=unit or self._unit)

    def advance(self, number: int = 1, description: str = "") -> None:
        """Report completed units.

        Parameters
        ----------
        number : int, default=1
        description : str, default=""
            Description of the next task, if it differs from the current one.
        """
        text = _as_markup(description) or None
        self._bar.update(self._task, advance=number, description=text)

    def report(self, line: str) -> None:
        """Write a line on results so far, above the bar if there is a terminal.

        Parameters
        ----------
        line : str
        """
        self._bar.console.print(visible(line), markup=False, highlight=False, soft_wrap=True)


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
    console, counted = (
        Console(stderr=True, emoji=False),
        "{task.completed:,.0f} {task.fields[unit]}",
    )
    columns = (*progress.Progress.get_default_columns(), progress.TextColumn(counted))
    hidden = not console.is_terminal
    with progress.Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        yield Bar(bar, unit)


def print_line(line: str) -> None:
    """Print one line of the result."""
    Console(emoji=False).print(visible(line), markup=False, highlight=False)


def print_notes(notes: Iterable[str], kind: str = "note") -> None:
    """Print remarks on the run, or warnings."""
    for note in notes:
        style = "yellow" if kind == "note" else "bold yellow"
        told = visible(f"{kind}: {note}")
        Console(stderr=True, emoji=False).print(told, markup=False, highlight=False, style=style)


def show(sections: Iterable[Section]) -> None:
    """Print titles, tables and lines of sections, and warnings on stderr.

    Sections that have none of these are for reports only.

    Parameters
    ----------
    sections : iterable of Section
    """
    for section in sections:
        texts = [one for one in section.parts if isinstance(one, Text)]
        print_notes((one.text for one in texts if one.kind == "warning"), "warning")
        parts = [part for part in map(_printed, section.parts) if part is not None]
        if not parts:
            continue
        # A title inside the table would be wrapped to the width of the table.
        Console(emoji=False).print(f"[bold]{_as_markup(section.title)}[/]", highlight=False)
        for part in parts:
            if isinstance(part, Table):
                Console(emoji=False).print(_grid(part))
                if (n_more := len(part.rows) - (part.n_shown or len(part.rows))) > 0:
                    print_line(f"and {n_more} more")
            else:
                print_line(part)
        print_line("")


def _printed(part: object) -> str | Table | None:
    """Return the line or the table that a part of a section is in the terminal, if it is one."""
    if isinstance(part, Text):
        return part.text if part.kind == "summary" else None
    return part if isinstance(part, str | Table) else None


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
    for r, row in enumerate(table.rows[: table.n_shown]):
        style = "bold" if r in table.bold else ""
        grid.add_row(*map(_as_markup, row), *bars[r : r + 1], style=style)
    return grid

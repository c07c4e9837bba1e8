"""Output in the terminal: progress and notes on stderr, results on stdout."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from rich import box, progress
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from mercer_command.report import Section, Table, Text


class Bar:
    """A progress bar; lines on progress for files and pipes, which show no bars.

    Parameters
    ----------
    bar : Progress
    unit : str
        What is counted, such as "rows".
    seconds : float, default=10.0
        There is at most one line in this time.
    """

    def __init__(self, bar: progress.Progress, unit: str, seconds: float = 10.0) -> None:
        self._bar, self._unit, self._seconds = bar, unit, seconds
        self._next = monotonic() + seconds
        self._task = bar.add_task("starting", total=None, done="")

    def step(self, description: str, total: int | None = None) -> None:
        """Begin a step.

        Parameters
        ----------
        description : str
        total : int, default=None
            Number of units of the step; None if it is unknown.
        """
        self._say(description)
        self._bar.reset(self._task, total=total, description=escape(description), done="")

    def advance(self, number: int = 1, description: str = "") -> None:
        """Report units that were done.

        Parameters
        ----------
        number : int, default=1
        description : str, default=""
            Of what is done next, if it is something else.
        """
        task = self._bar.tasks[0]
        text = escape(description) or task.description
        done = f"{task.completed + number:,.0f} of {task.total or 0:,.0f} {self._unit}"
        self._say(f"{text}, {done}")
        self._bar.update(self._task, advance=number, description=text, done=done)

    def _say(self, description: str) -> None:
        """Write a line, unless there is a terminal or the last line is recent."""
        if not self._bar.console.is_terminal and monotonic() >= self._next:
            self._next = monotonic() + self._seconds
            self._bar.console.print(description, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def progress_bar(unit: str = "rows") -> Iterator[Bar]:
    """Show a progress bar on stderr, with an estimate of the time that is left.

    It disappears at the end, and is shown on terminals only.

    Parameters
    ----------
    unit : str, default="rows"
        What is counted.
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
    Console().print(line, markup=False, highlight=False)


def print_notes(notes: Iterable[str], kind: str = "note") -> None:
    """Print remarks on the run, or warnings."""
    for note in notes:
        style = "yellow" if kind == "note" else "bold yellow"
        Console(stderr=True).print(f"{kind}: {note}", markup=False, highlight=False, style=style)


def show_files(**written: Path | None) -> None:
    """Print where each requested file was written."""
    for kind, path in written.items():
        if path is not None:
            print_line(f"{kind} in {path}")


def show(sections: Iterable[Section]) -> None:
    """Print titles, tables and lines of sections, and warnings on stderr.

    Parameters
    ----------
    sections : iterable of Section
    """
    for section in sections:
        # A title of the table would be as narrow as the table.
        Console().print(f"[bold]{escape(section.title)}[/]", highlight=False)
        for part in section.parts:
            if isinstance(part, Table) and not part.summary:
                Console().print(_grid(part))
            elif isinstance(part, str):
                print_line(part)
            elif isinstance(part, Text) and part.kind == "warning":
                print_notes([part.text], "warning")
        print_line("")


def _grid(table: Table, bar: int = 16) -> Grid:
    """Return a table with bars of at most some length."""
    grid = Grid(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for position, name in enumerate(table.header):
        is_number = position in table.numeric
        grid.add_column(name, overflow="fold", no_wrap=is_number)
        grid.columns[-1].justify = "right" if is_number else "left"
    longest = max(table.lengths, default=0.0) or 1.0
    bars = [f"[cyan]{'█' * round(bar * length / longest)}[/]" for length in table.lengths]
    if bars:
        grid.add_column("", min_width=bar, no_wrap=True)
    n_shown = len(table.rows) if table.n_shown is None else table.n_shown
    for r, row in enumerate(table.rows[:n_shown]):
        style = "bold" if r in table.bold else ""
        grid.add_row(*map(escape, row), *bars[r : r + 1], style=style)
    if (hidden := len(table.rows) - n_shown) > 0:
        grid.add_row(f"and {hidden} more")
    return grid

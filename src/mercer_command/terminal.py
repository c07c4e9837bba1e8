"""Output in the terminal: progress and notes on stderr, results on stdout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from mercer_command.comparison import Comparison
from mercer_command.explanation import Explanation
from mercer_command.fitting import Fit, LearnedKernel, Stack
from mercer_command.importance import ColumnImportance
from mercer_command.methods import METHODS
from mercer_command.problem import Problem, Task
from mercer_command.shown_names import shown
from mercer_command.table_columns import Column
from mercer_command.wording import (
    NO_BETTER,
    comparison_explained,
    comparison_rows,
    describe_problem,
    error_cells,
    error_name,
    importance_cells,
    score_lines,
)

_MAX_KERNELS = 12
"""The table of kernels has at most this many rows, so that it fits on a screen."""

_MAX_COLUMNS = 8
"""At most this many of the most relevant columns are shown."""

_SECONDS = 10.0
"""Off a terminal, there is at most one line on progress in this time."""

_MAX_LINES = 40
"""At most this many columns are listed that are used and not doubtful."""

_BAR_LENGTH = 16
"""The bar of the largest share has this many characters, so that tables stay below 80 columns."""


class StepLines:
    """Lines on progress for files and pipes, which show no bars.

    Parameters
    ----------
    console : Console
        Nothing is written to terminals.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next = monotonic() + _SECONDS

    def say(self, description: str) -> None:
        """Write a line, if the last one is some time ago.

        Parameters
        ----------
        description : str
        """
        if not self._console.is_terminal and monotonic() >= self._next:
            self._next = monotonic() + _SECONDS
            self._console.print(description, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def progress(n_steps: int) -> Iterator[Callable[[str], None]]:
    """Show a progress bar on stderr, which disappears at the end.

    Parameters
    ----------
    n_steps : int

    Yields
    ------
    callable
        It is to be called before each step, with its description.
    """
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task("starting", total=n_steps)
    # Only from the second call on, a step has been finished.
    advances = iter([0.0])

    lines = StepLines(console)

    def step(description: str) -> None:
        lines.say(description)
        bar.update(task, description=escape(description), advance=next(advances, 1.0))

    with bar:
        yield step


class RowBar:
    """A progress bar by rows.

    Parameters
    ----------
    bar : Progress
    """

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._lines = StepLines(bar.console)
        self._task = bar.add_task("starting", total=None, rows="")

    def step(self, description: str, n_rows: int | None = None) -> None:
        """Begin a step.

        Parameters
        ----------
        description : str
        n_rows : int, default=None
            Number of rows of the step; None if it is unknown.
        """
        self._lines.say(description)
        self._bar.reset(self._task, total=n_rows, description=escape(description), rows="")

    def advance(self, n_rows: int) -> None:
        """Report rows that were done.

        Parameters
        ----------
        n_rows : int
        """
        task = self._bar.tasks[0]
        rows = f"{task.completed + n_rows:,.0f} of {task.total or 0:,.0f} rows"
        self._lines.say(f"{task.description}, {rows}")
        self._bar.update(self._task, advance=n_rows, rows=rows)


@contextmanager
def row_progress() -> Iterator[RowBar]:
    """Show a progress bar by rows on stderr, with an estimate of the time that is left.

    It disappears at the end, and is shown on terminals only.
    """
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rows]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        yield RowBar(bar)


def print_line(line: str) -> None:
    """Print one line of the result."""
    Console().print(line, markup=False, highlight=False)


def print_notes(notes: Sequence[str]) -> None:
    """Print remarks on the run."""
    for note in notes:
        Console(stderr=True).print(f"note: {note}", markup=False, highlight=False, style="yellow")


def print_warning(warning: str) -> None:
    """Print a warning about the result."""
    Console(stderr=True).print(
        f"warning: {warning}", markup=False, highlight=False, style="bold yellow"
    )


def show_files(**written: Path | None) -> None:
    """Print where each requested file was written."""
    for kind, path in written.items():
        if path is not None:
            print_line(f"{kind} in {path}")


def show_problem(problem: Problem) -> None:
    """Print the size of the problem."""
    print_line(f"{shown(problem.name)}: {describe_problem(problem)}")


def show_columns(columns: Sequence[Column]) -> None:
    """Print one line a column: how it is read and used.

    Parameters
    ----------
    columns : sequence of Column
    """
    table = _table("How the columns were read and used")
    table.add_column("Column", overflow="fold", max_width=28)
    table.add_column("Role", no_wrap=True)
    table.add_column("Details", overflow="fold")
    # What is left out, and what is doubtful, is always shown.
    remarkable = [c for c in columns if not c.is_used or c.warnings]
    plain = [c for c in columns if c.is_used and not c.warnings]
    rest = max(0, len(remarkable) + len(plain) - _MAX_LINES)
    shown_columns = {id(c) for c in (*remarkable, *plain[: max(0, len(plain) - rest)])}
    for column in (c for c in columns if id(c) in shown_columns):
        style = "" if column.is_used else "dim"
        lines = [column.describe(), *(f"[yellow]{escape(text)}[/]" for text in column.warnings)]
        lines[0] = escape(lines[0])
        told = "\n".join(line for line in lines if line)
        table.add_row(escape(shown(column.name, longest=27)), column.role, told, style=style)
    if len(columns) > len(shown_columns):
        table.add_row(
            f"and {len(columns) - len(shown_columns)} more", "", "mercer columns lists all"
        )
    _show(table)


def show_fit(fit: Fit) -> None:
    """Print the result, then the model: kernels, columns that matter, and how they were read.

    Parameters
    ----------
    fit : Fit
    """
    _show(_results(fit))
    for line in score_lines(fit):
        print_line(line)
    if not fit.beats_constant:
        print_warning(NO_BETTER)
    print_line("")
    title = f"Kernels found by {fit.learner} ({METHODS[fit.learner].description})"
    _show(_kernel_table(title, fit.learned))
    _show(_importances(fit.importances, fit.problem.task))
    show_columns(fit.problem.columns)


def show_explanation(found: Explanation) -> None:
    """Print what a saved model learned.

    Parameters
    ----------
    found : Explanation
    """
    print_line(f"{shown(found.name)}: {found.describe()}")
    _show(_kernel_table("Kernels found", found.learned))
    _show(_importances(found.importances, found.task))


def _kernel_table(title: str, found: LearnedKernel | Stack) -> Table:
    return _candidates(title, found) if isinstance(found, Stack) else _kernels(title, found)


def _kernels(title: str, found: LearnedKernel) -> Table:
    kernels = _table(title)
    kernels.add_column("Kernel", overflow="fold")
    kernels.add_column("Weight", justify="right")
    kernels.add_column("Share", justify="right")
    kernels.add_column("", min_width=_BAR_LENGTH, no_wrap=True)
    largest = max(share for _, _, share in found.kernels)
    for description, weight, share in found.kernels[:_MAX_KERNELS]:
        bar = _bar(share, largest)
        kernels.add_row(escape(description), f"{weight:.4f}", f"{share:.1%}", bar)
    if len(found.kernels) > _MAX_KERNELS:
        kernels.add_row(f"and {len(found.kernels) - _MAX_KERNELS} more", "", "", "")
    return kernels


def _candidates(title: str, found: Stack) -> Table:
    candidates = _table(title)
    candidates.add_column("Kernel", overflow="fold")
    candidates.add_column("Error", justify="right")
    candidates.add_column("Weight", justify="right")
    candidates.add_column("", min_width=_BAR_LENGTH, no_wrap=True)
    largest = max(c.weight for c in found.candidates)
    for c in found.candidates[:_MAX_KERNELS]:
        name, bar = escape(c.description), _bar(c.weight, largest)
        candidates.add_row(name, f"{c.loo_error:#.3g}", f"{c.weight:.3f}", bar)
    if len(found.candidates) > _MAX_KERNELS:
        candidates.add_row(f"and {len(found.candidates) - _MAX_KERNELS} more", "", "", "")
    return candidates


def _importances(found: Sequence[ColumnImportance], task: Task) -> Table:
    """Return a table of the columns that matter most."""
    table = _table("Columns that matter: how much the error rises if their cells are shuffled")
    table.add_column("Column", overflow="fold", max_width=30)
    table.add_column("Error rises by", justify="right")
    table.add_column("Relevance", justify="right")
    table.add_column("", min_width=_BAR_LENGTH, no_wrap=True)
    longest = max((c.increase for c in found if not np.isnan(c.increase)), default=0.0)
    for column in found[:_MAX_COLUMNS]:
        table.add_row(
            escape(shown(column.name, longest=27)),
            *importance_cells(column, task),
            _bar(max(np.nan_to_num(column.increase), 0.0), longest),
        )
    if len(found) > _MAX_COLUMNS:
        table.add_row(f"and {len(found) - _MAX_COLUMNS} more", "", "", "")
    return table


def _results(fit: Fit) -> Table:
    """Return a table of the errors of the model and of simple predictors."""
    task = fit.problem.task
    table = _table(f"{error_name(fit.problem)} of {len(fit.test):,} held-out rows")
    table.add_column("Predictor")
    table.add_column("Error", justify="right")
    table.add_column("95% interval", justify="right")
    table.add_column("")
    for found in (fit.own, *fit.baselines):
        style = "bold" if found is fit.own else ""
        table.add_row(escape(found.name), *error_cells(found, task), found.note, style=style)
    return table


def _bar(length: float, longest: float) -> str:
    return f"[cyan]{'█' * round(_BAR_LENGTH * length / (longest or 1.0))}[/]"


def show_comparison(comparison: Comparison, problem: Problem) -> None:
    """Print the table of methods, best first."""
    n_splits = comparison.errors.shape[1]
    header, rows = comparison_rows(comparison, problem.task)
    table = _table(f"Test rows of {n_splits} split{'s' * (n_splits > 1)}, best first")
    table.add_column(header[0], no_wrap=True)
    table.add_column("How", no_wrap=True)
    for name in header[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    for r, row in enumerate(rows):
        table.add_row(row[0], METHODS[row[0]].description, *row[1:], style="bold" if r == 0 else "")
    _show(table)
    for line in comparison_explained(comparison, problem.task):
        print_line(line)


def _show(table: Table) -> None:
    """Print a table below its title, which may be wider."""
    title, table.title = table.title, None
    Console().print(f"[bold]{title}[/]", highlight=False)
    Console().print(table)


def _table(title: str) -> Table:
    return Table(title=escape(title), box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))

"""Output in the terminal: progress and notes on stderr, results on stdout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

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

from mercer._cli.comparison import Comparison
from mercer._cli.fitting import ERROR_NAMES, Fit, LearnedKernel, Stack
from mercer._cli.methods import METHODS
from mercer._cli.problem import Problem
from mercer._cli.report import comparison_rows, describe_problem, format_error, stack_scores
from mercer._cli.table_columns import Column
from mercer._tables import shown

_MAX_KERNELS = 12
"""The table of kernels has at most this many rows, so that it fits on a screen."""

_MAX_COLUMNS = 8
"""At most this many of the most relevant columns are shown."""

_BAR_LENGTH = 16
"""The bar of the largest share has this many characters, so that tables stay below 80 columns."""


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

    def step(description: str) -> None:
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
        self._task = bar.add_task("starting", total=None, rows="")

    def step(self, description: str, n_rows: int | None = None) -> None:
        """Begin a step.

        Parameters
        ----------
        description : str
        n_rows : int, default=None
            Number of rows of the step; None if it is unknown.
        """
        self._bar.reset(self._task, total=n_rows, description=escape(description), rows="")

    def advance(self, n_rows: int) -> None:
        """Report rows that were done.

        Parameters
        ----------
        n_rows : int
        """
        task = self._bar.tasks[0]
        rows = f"{task.completed + n_rows:,.0f} of {task.total or 0:,.0f} rows"
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
    table = _table("Columns")
    table.add_column("Column", overflow="fold", max_width=28)
    table.add_column("Role", no_wrap=True)
    table.add_column("How it is read and used", overflow="fold")
    for column in columns:
        style = "" if column.is_used else "dim"
        lines = [column.describe(), *(f"[yellow]{escape(text)}[/]" for text in column.warnings)]
        lines[0] = escape(lines[0])
        told = "\n".join(line for line in lines if line)
        table.add_row(escape(shown(column.name)), column.role, told, style=style)
    Console().print(table)


def show_fit(fit: Fit) -> None:
    """Print the kernels found, and the errors of a fit."""
    title = f"Kernels found by {fit.learner} ({METHODS[fit.learner].description})"
    found = fit.learned
    tables = [_candidates(title, found) if isinstance(found, Stack) else _kernels(title, found)]
    # Equal relevances say nothing about columns.
    if isinstance(found, Stack) and found.relevance[0][1] > found.relevance[-1][1]:
        tables.append(_relevance(found))
    for table in (*tables, _results(fit)):
        Console().print(table)


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
    candidates.add_column("Price", justify="right")
    candidates.add_column("Weight", justify="right")
    candidates.add_column("", min_width=_BAR_LENGTH, no_wrap=True)
    largest = max(c.weight for c in found.candidates)
    for c in found.candidates[:_MAX_KERNELS]:
        name, bar = escape(c.description), _bar(c.weight, largest)
        candidates.add_row(name, f"{c.price:.4f}", f"{c.weight:.3f}", bar)
    if len(found.candidates) > _MAX_KERNELS:
        candidates.add_row(f"and {len(found.candidates) - _MAX_KERNELS} more", "", "", "")
    return candidates


def _relevance(found: Stack) -> Table:
    columns = _table("Relevance of the columns")
    columns.add_column("Column", overflow="fold")
    columns.add_column("Relevance", justify="right")
    columns.add_column("", min_width=_BAR_LENGTH, no_wrap=True)
    for name, relevance in found.relevance[:_MAX_COLUMNS]:
        columns.add_row(
            escape(shown(name)), f"{relevance:.1%}", _bar(relevance, found.relevance[0][1])
        )
    if len(found.relevance) > _MAX_COLUMNS:
        columns.add_row(f"and {len(found.relevance) - _MAX_COLUMNS} more", "", "")
    return columns


def _results(fit: Fit) -> Table:
    task, found = fit.problem.task, fit.learned
    results = _table("Result")
    results.add_column("")
    results.add_column("Held-out rows", justify="right")
    results.add_column("Training rows", justify="right")
    results.add_row("rows", f"{len(fit.test):,}", f"{fit.n_train:,}")
    results.add_row(ERROR_NAMES[task], f"[bold]{format_error(fit.error, task)}[/]", "")
    results.add_row("  of the best constant", format_error(fit.baseline, task), "")
    if fit.r2 is not None:
        results.add_row("R², explained variance", f"{fit.r2:.3f}", "")
    if isinstance(found, Stack):
        scores = stack_scores(fit, found)
        results.add_row(scores[0][0], "", scores[0][1])
        for name, value in scores[1:]:
            results.add_row(name, value, "")
    else:
        alignments = (f"{a:.3f}" for a in (found.test_alignment, found.alignment))
        results.add_row("alignment with the target", *alignments)
    return results


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
    Console().print(table)


def _table(title: str) -> Table:
    return Table(
        title=escape(title),
        box=box.SIMPLE_HEAD,
        title_justify="left",
        title_style="bold",
        padding=(0, 1, 0, 0),
    )

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
)
from rich.table import Table

from mercer._cli.comparison import Comparison
from mercer._cli.fitting import ERROR_NAMES, Fit
from mercer._cli.methods import METHODS
from mercer._cli.report import comparison_rows, describe_problem, format_error
from mercer._cli.tables import Problem

_MAX_KERNELS = 12
"""The table of kernels has at most this many rows, so that it fits on a screen."""

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
    print_line(f"{problem.name}: {describe_problem(problem)}")


def show_fit(fit: Fit) -> None:
    """Print the kernels found, and the errors and alignments of a fit."""
    kernels = _table(f"Kernels found by {fit.learner} ({METHODS[fit.learner].description})")
    kernels.add_column("Kernel", overflow="fold")
    kernels.add_column("Weight", justify="right")
    kernels.add_column("Share", justify="right")
    kernels.add_column("", min_width=_BAR_LENGTH, no_wrap=True)
    largest = max(share for _, _, share in fit.kernels) or 1.0
    for description, weight, share in fit.kernels[:_MAX_KERNELS]:
        bar = "█" * round(_BAR_LENGTH * share / largest)
        kernels.add_row(escape(description), f"{weight:.4f}", f"{share:.1%}", f"[cyan]{bar}[/]")
    if len(fit.kernels) > _MAX_KERNELS:
        kernels.add_row(f"and {len(fit.kernels) - _MAX_KERNELS} more", "", "", "")
    task = fit.problem.task
    results = _table("Result")
    results.add_column("")
    results.add_column("Held-out rows", justify="right")
    results.add_column("Training rows", justify="right")
    results.add_row("rows", f"{len(fit.test):,}", f"{len(fit.train):,}")
    results.add_row(ERROR_NAMES[task], f"[bold]{format_error(fit.error, task)}[/]", "")
    results.add_row("  of the best constant", format_error(fit.baseline, task), "")
    if fit.r2 is not None:
        results.add_row("R², explained variance", f"{fit.r2:.3f}", "")
    results.add_row(
        "alignment with the target", f"{fit.test_alignment:.3f}", f"{fit.alignment:.3f}"
    )
    for table in (kernels, results):
        Console().print(table)


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

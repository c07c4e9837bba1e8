"""What the user sees: progress and remarks on stderr, results on stdout."""

from __future__ import annotations

import re
import warnings
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
from mercer._cli.report import comparison_rows, describe_problem, show_error
from mercer._cli.tables import Problem

_MAX_KERNELS = 12
"""Rows of the table of kernels; the report has more."""

_BAR_LENGTH = 16

_NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?")


@contextmanager
def progress(n_steps: int) -> Iterator[Callable[[str], None]]:
    """Show a progress bar on stderr, which vanishes at the end.

    Parameters
    ----------
    n_steps : int

    Yields
    ------
    callable
        To be called with what comes next before each step.
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
    finished = iter([0.0])

    def step(what: str) -> None:
        bar.update(task, description=escape(what), advance=next(finished, 1.0))

    with bar:
        yield step


@contextmanager
def gathered_warnings(notes: list[str]) -> Iterator[None]:
    """Turn the warnings meant for users into notes: the first line of each sort, once.

    Parameters
    ----------
    notes : list of str
        Grows when the block ends. Of warnings that differ in numbers alone, as those of several
        folds do, the first is taken.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    told = [str(item.message).strip() for item in caught if issubclass(item.category, UserWarning)]
    first: dict[str, str] = {}
    for line in (text.splitlines()[0] for text in told if text):
        first.setdefault(_NUMBER.sub("", line), line)
    notes += first.values()


def say(line: str) -> None:
    """Print a line of the result."""
    Console().print(line, markup=False, highlight=False)


def remark(notes: Sequence[str]) -> None:
    """Print what the user should know of the run."""
    for note in notes:
        Console(stderr=True).print(f"note: {note}", markup=False, highlight=False, style="yellow")


def show_files(**written: Path | None) -> None:
    """Print where each file asked for was written."""
    for what, path in written.items():
        if path is not None:
            say(f"{what} in {path}")


def show_problem(problem: Problem) -> None:
    """Print the size of the problem."""
    say(f"{problem.name}: {describe_problem(problem)}")


def show_fit(fit: Fit) -> None:
    """Print the kernels found, and the errors and alignments of a fit."""
    kernels = _table(f"Kernels found by {fit.learner} ({METHODS[fit.learner].words})")
    kernels.add_column("Kernel", overflow="fold")
    kernels.add_column("Weight", justify="right")
    kernels.add_column("Share", justify="right")
    kernels.add_column("", min_width=_BAR_LENGTH, no_wrap=True)
    largest = max(share for _, _, share in fit.kernels) or 1.0
    for words, weight, share in fit.kernels[:_MAX_KERNELS]:
        bar = "█" * round(_BAR_LENGTH * share / largest)
        kernels.add_row(escape(words), f"{weight:.4f}", f"{share:.1%}", f"[cyan]{bar}[/]")
    if len(fit.kernels) > _MAX_KERNELS:
        kernels.add_row(f"and {len(fit.kernels) - _MAX_KERNELS} more", "", "", "")
    task = fit.problem.task
    results = _table("Result")
    results.add_column("")
    results.add_column("Rows held out", justify="right")
    results.add_column("Rows learned from", justify="right")
    results.add_row("rows", f"{len(fit.test):,}", f"{len(fit.train):,}")
    results.add_row(ERROR_NAMES[task], f"[bold]{show_error(fit.error, task)}[/]", "")
    results.add_row("  of the best constant", show_error(fit.baseline, task), "")
    if fit.r2 is not None:
        results.add_row("R², variance explained", f"{fit.r2:.3f}", "")
    results.add_row(
        "alignment with the target", f"{fit.test_alignment:.3f}", f"{fit.alignment:.3f}"
    )
    for table in (kernels, results):
        Console().print(table)


def show_comparison(comparison: Comparison, problem: Problem) -> None:
    """Print the methods side by side, best first."""
    n_splits = comparison.errors.shape[1]
    header, rows = comparison_rows(comparison, problem.task)
    table = _table(f"Test rows of {n_splits} split{'s' * (n_splits > 1)}, best first")
    table.add_column(header[0], no_wrap=True)
    table.add_column("How", no_wrap=True)
    for name in header[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    for r, row in enumerate(rows):
        table.add_row(row[0], METHODS[row[0]].words, *row[1:], style="bold" if r == 0 else "")
    Console().print(table)


def _table(title: str) -> Table:
    return Table(
        title=escape(title),
        box=box.SIMPLE_HEAD,
        title_justify="left",
        title_style="bold",
        padding=(0, 1, 0, 0),
    )

"""The command: ``python -m experiments list | fetch | run NAME ... | report``."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich import progress as bars
from rich.console import Console
from rich.table import Table

from experiments import catalog
from experiments.experiment import Run
from experiments.fetching import fetch_sets
from experiments.reporting.reproduction_page import write_page
from experiments.running import Archive, Failure, Skipped, carry_out

HERE = Path(__file__).parent
RECORDS = HERE / "records"
DOCS = HERE.parent / "docs"

app = typer.Typer(help=__doc__, add_completion=False, no_args_is_help=True)
console = Console(stderr=True)

Records = Annotated[Path | None, typer.Option(help="Folder of the records.", show_default=False)]
Small = Annotated[bool, typer.Option("--small", help="Use sizes that take seconds.")]


def archive(records: Path | None, *, small: bool) -> Archive:
    """Return the records in a folder; by default, small runs are kept apart from the others."""
    return Archive(records or (RECORDS / "small" if small else RECORDS))


def planned(names: list[str], repeats: int | None, *, timing: bool, small: bool) -> list[Run]:
    """Return the runs of experiments, the first repeat of all of them first."""
    runs: list[Run] = []
    for name in names:
        experiment = catalog.experiment(name, small=small)
        default = experiment.timed if timing else experiment.repeats
        number = default if repeats is None else repeats * bool(default)
        runs += experiment.runs(name, number, timing=timing)
    return sorted(runs, key=lambda run: run.repeat)


@app.command("list")
def show(records: Records = None, small: Small = False) -> None:
    """List the experiments, and how many of their runs have a record."""
    known = archive(records, small=small)
    listed = Table("name", "what", "source", "runs", "timed")
    for name in catalog.names():
        experiment = catalog.experiment(name, small=small)
        counts = []
        for timing in (False, True):
            runs = planned([name], None, timing=timing, small=small)
            counts.append(f"{len(runs) - len(known.missing(runs, alone=timing))} of {len(runs)}")
        listed.add_row(name, experiment.title, experiment.source, *counts)
    Console().print(listed)


@app.command()
def fetch(
    names: Annotated[
        list[str] | None, typer.Argument(help="Data sets; all that are public.")
    ] = None,
    data: Annotated[Path, typer.Option(help="Folder that is then MERCER_DATA.")] = Path("data"),
) -> None:
    """Fetch the public data sets that a folder lacks; a network is needed."""
    with stopping_cleanly():
        for line in fetch_sets(data, names or ()):
            console.print(line, markup=False)


@app.command()
def run(
    names: Annotated[list[str], typer.Argument(help="Experiments, or 'all'.")],
    *,
    repeats: Annotated[int | None, typer.Option(min=1, help="Repeats of each method.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Parallel processes.")] = os.cpu_count() or 1,
    data: Annotated[Path | None, typer.Option(help="Folder of data sets (MERCER_DATA).")] = None,
    timing: Annotated[
        bool, typer.Option("--timing", help="Carry out one run at a time, and record its times.")
    ] = False,
    method: Annotated[
        list[str] | None, typer.Option(help="Method; repeat it for several. All without it.")
    ] = None,
    records: Records = None,
    small: Small = False,
) -> None:
    """Run what has no record yet; after an interruption the same command continues."""
    if data is not None:
        if not data.is_dir():
            raise typer.BadParameter(f"no folder {data}", param_hint="--data")
        os.environ["MERCER_DATA"] = str(data.resolve())
    try:
        runs = planned(
            catalog.names() if names == ["all"] else names, repeats, timing=timing, small=small
        )
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="NAME") from None
    for name in method or []:
        if name not in {run.method for run in runs}:
            raise typer.BadParameter(f"no method {name!r}", param_hint="--method")
    runs = [run for run in runs if run.method in (method or [run.method])]
    folder = archive(records, small=small)
    with stopping_cleanly():
        missing = folder.missing(runs, alone=timing)
    console.print(f"{len(runs)} runs, {len(runs) - len(missing)} of them recorded before")
    failures, skipped = [], Counter[str]()
    with stopping_cleanly(), progress() as bar:
        task = bar.add_task("", total=len(missing))
        for outcome in carry_out(missing, folder, jobs=jobs, alone=timing, small=small):
            bar.update(task, advance=1, description=label(outcome.run))
            if isinstance(outcome, Failure):
                failures.append(outcome)
                bar.console.print(f"[red]failed[/red] {label(outcome.run)}: {outcome.reason}")
            elif isinstance(outcome, Skipped):
                skipped[outcome.reason] += 1
    for reason, number in skipped.items():
        console.print(f"skipped {number} run{'s' * (number > 1)}: {reason}", markup=False)
    if failures:
        console.print(f"{len(failures)} of {len(missing)} runs failed; they are not recorded")
        raise typer.Exit(1)


def label(run: Run) -> str:
    """Describe a run in one line."""
    return f"{run.experiment}, {run.problem}, {run.method}, repeat {run.repeat}"


def progress() -> bars.Progress:
    """Return a bar that shows the run that ended last, how many have ended, and the time left."""
    return bars.Progress(
        bars.BarColumn(20),
        bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
        bars.TextColumn("{task.description}", markup=False),
        console=console,
    )


@contextmanager
def stopping_cleanly() -> Iterator[None]:
    """Turn an interruption, a lost process or an unusable file into a message and exit status."""
    try:
        yield
    except BrokenProcessPool:
        console.print("a process was killed, perhaps for lack of memory; fewer --jobs need less")
        raise typer.Exit(1) from None
    except (OSError, ValueError) as error:
        console.print(str(error), markup=False)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        console.print("interrupted; the same command continues from here")
        sys.stderr.flush()
        os._exit(130)


@app.command()
def report(
    records: Records = None,
    out: Annotated[Path, typer.Option(help="Folder of the page and its pictures.")] = DOCS,
    small: Small = False,
) -> None:
    """Write reproduction.md, the pages that it names, and choosing.md, with figures."""
    with stopping_cleanly():
        page = write_page(archive(records, small=small), out, small=small)
        console.print(f"written: {page}")


if __name__ == "__main__":
    app(prog_name="python -m experiments")

"""Commands and options of the command line; what commands do is imported when one runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer import __version__
from mercer_command.command_group import OneLineErrors
from mercer_command.option_names import COMPARED, DESCRIPTIONS, LEARNERS
from mercer_command.options import (
    Cluster,
    ColumnsFile,
    Repeats,
    Report,
    Seed,
    Table,
    Tables,
    Target,
    TaskName,
    TestSize,
    Workers,
)

app = typer.Typer(
    cls=OneLineErrors,
    help="Learn a kernel from a table, show what was learned, and predict.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mercer {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def fit(
    table: Tables,
    target: Target,
    *,
    learner: Annotated[
        str,
        typer.Option(
            help="How kernels, their widths and their weights are learned. "
            + "; ".join(f"{name}: {DESCRIPTIONS[name]}" for name in LEARNERS)
        ),
    ] = LEARNERS[0],
    task: TaskName = "auto",
    columns: ColumnsFile = None,
    out: Annotated[
        Path | None, typer.Option(help="Save the tested model (skops).", metavar="FILE")
    ] = None,
    report: Report = None,
    test_size: TestSize = 0.25,
    seed: Seed = 0,
    cluster: Cluster = None,
    workers: Workers = None,
) -> None:
    """Learn a kernel and a predictor from a table, and test them on held-out rows.

    Folders, Parquet files of more than 10,000,000 values, and those read by Dask do not have to fit
    into memory.
    """
    from mercer_command import commands

    commands.fit(
        table,
        target,
        learner=learner,
        task=task,
        columns=columns,
        out=out,
        report=report,
        test_size=test_size,
        seed=seed,
        cluster=cluster,
        workers=workers,
    )


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="Model saved by mercer fit.")],
    table: Tables,
    out: Annotated[Path, typer.Option(help="Write predictions, CSV or Parquet.", metavar="FILE")],
    interval: Annotated[
        float | None,
        typer.Option(
            help="Add columns of intervals that hold the response with this probability, such as "
            "0.9, if the model predicts responses.",
            metavar="COVERAGE",
        ),
    ] = None,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="The same as --interval 0.9.")
    ] = False,
) -> None:
    """Predict each row of a table with a saved model.

    A model is loaded only if all its types belong to mercer or scikit-learn. Columns that it was
    not fitted on, such as the target, are ignored. Parquet files do not have to fit into memory.
    """
    from mercer_command import commands

    commands.predict(model, table, out, interval=interval, intervals=intervals)


@app.command()
def explain(
    model: Annotated[Path, typer.Argument(help="Model saved by mercer fit.")],
    table: Table,
    *,
    report: Report = None,
    seed: Seed = 0,
) -> None:
    """Show what a saved model learned: kernels, and which columns matter for the rows of a table.

    Rows that the model was not fitted to tell more than those that it was.
    """
    from mercer_command import commands

    commands.explain(model, table, report=report, seed=seed)


@app.command()
def columns(
    table: Table,
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="Write a file for --columns, to edit, CSV.", metavar="FILE"),
    ] = None,
) -> None:
    """Show how the columns of a table are read and used, without learning."""
    from mercer_command import commands

    commands.columns(table, out=out)


@app.command()
def compare(
    table: Table,
    target: Target,
    *,
    methods: Annotated[
        str | None,
        typer.Option(help=f"Methods, separated by commas; by default {', '.join(COMPARED)}."),
    ] = None,
    task: TaskName = "auto",
    columns: ColumnsFile = None,
    repeats: Repeats = 5,
    csv: Annotated[
        Path | None,
        typer.Option(help="Write results, CSV or Parquet.", metavar="FILE"),
    ] = None,
    report: Report = None,
    seed: Seed = 0,
) -> None:
    """Compare methods on the same splits by test error, test alignment, time to fit, and rank.

    Each split holds out a quarter of the rows.
    """
    from mercer_command import commands

    commands.compare(
        table,
        target,
        methods=methods,
        task=task,
        columns=columns,
        repeats=repeats,
        csv=csv,
        report=report,
        seed=seed,
    )


@app.command()
def demo(
    out: Annotated[
        Path | None, typer.Option(help="Save the fitted model (skops).", metavar="FILE")
    ] = None,
    report: Report = None,
    repeats: Repeats = 2,
) -> None:
    """Compare methods and fit one on scikit-learn's breast-cancer table, in half a minute."""
    from mercer_command import commands

    commands.demo(out=out, report=report, repeats=repeats)

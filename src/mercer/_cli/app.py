"""Commands and options of the command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from mercer._blocks import ParquetSource
from mercer._cli import comparison, fitting, terminal
from mercer._cli.cluster import check_cluster, cluster_client
from mercer._cli.column_choices import read_choices, write_choices
from mercer._cli.errors import (
    check_failures,
    check_packages,
    checked_name,
    collected_warnings,
    in_one_line,
    one_line,
    postponed,
)
from mercer._cli.files import check_outputs
from mercer._cli.methods import (
    COMPARED,
    DEMONSTRATED,
    LEARNERS,
    METHODS,
    check_fit,
    check_size,
    check_streamed,
    feasible,
    method_names,
)
from mercer._cli.models import load_model, save_model
from mercer._cli.options import (
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
from mercer._cli.prediction import predict_file
from mercer._cli.problem import Problem, Rows, as_problem
from mercer._cli.report import write_comparison_report, write_fit_report
from mercer._cli.streaming import is_streamed, streamed_table
from mercer._cli.table_columns import recognize_columns
from mercer._cli.tables import check_table_format, read_cells, write_table
from mercer._nystroem.pass_hooks import PassHooks, pass_hooks
from mercer._tables import listing

_INTERRUPTED = 130
"""Exit code of an interrupted run."""


class OneLineErrors(TyperGroup):
    """Commands that end with one readable line and exit code 2 if the input is invalid."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; print one line for an error that the user can correct."""
        try:
            code = super().main(*args, **{**kwargs, "standalone_mode": False})
        except (KeyboardInterrupt, typer.Abort):
            code, message = _INTERRUPTED, "interrupted"
        except Exception as error:
            line = one_line(error)
            if line is None:
                raise
            code, message = 2, line
        else:
            # Some versions of Typer turn an interruption into this exit code.
            if code != _INTERRUPTED:
                sys.exit(code if isinstance(code, int) else 0)
            message = "interrupted"
        sys.stderr.write(f"mercer: {message}\n")
        sys.exit(code)


app = typer.Typer(
    cls=OneLineErrors,
    help="Learn a kernel from a table, show what was learned, and predict.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _start(context: typer.Context) -> None:
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
            + "; ".join(f"{name}: {METHODS[name].description}" for name in LEARNERS)
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
    checked_name("learner", learner, LEARNERS)
    check_outputs(out, report, inputs=(table,))
    check_packages(skops=out, matplotlib=report, distributed=cluster or workers)
    check_cluster(table, cluster, workers)
    with cluster_client(cluster, workers) as client:
        if client is None and not is_streamed(table):
            problem = _problem(table, target, task, columns)
            check_fit([learner], problem.task, LEARNERS)
            [rows] = fitting.splits(problem, test_size=test_size, repeats=1, seed=seed)
            check_size([learner], len(rows[0]))
            _fit(problem, learner, rows, out=out, report=report, seed=seed)
            return
        check_streamed(learner)
        streamed = streamed_table(table, target, task, columns, test_size=test_size, seed=seed)
        problem, rows = streamed.problem, (streamed.train, streamed.test)
        check_fit([learner], problem.task, LEARNERS)
        read = {"source": streamed.source, "client": client}
        _fit(problem, learner, rows, out=out, report=report, seed=seed, **read)


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="Model saved by mercer fit.")],
    table: Tables,
    out: Annotated[Path, typer.Option(help="Write predictions, CSV or Parquet.", metavar="FILE")],
    interval: Annotated[
        float | None,
        typer.Option(
            help="Add columns of intervals that hold the response with this probability, such as "
            "0.9, for models of stacking.",
            metavar="COVERAGE",
        ),
    ] = None,
) -> None:
    """Predict each row of a table with a saved model.

    A model is loaded only if all its types belong to mercer or scikit-learn. Columns that it was
    not fitted on, such as the target, are ignored. Parquet files do not have to fit into memory.
    """
    check_table_format(out)
    check_outputs(out, inputs=(model, table))
    notes = list[str]()
    with in_one_line(f"predict {table} by {model}"), collected_warnings(notes):
        fitted = load_model(model)
        with terminal.row_progress() as bar:
            n_rows, found = predict_file(
                fitted,
                table,
                out,
                interval,
                on_start=lambda n_rows: bar.step("predicting", n_rows),
                on_rows=bar.advance,
            )
    notes += found
    terminal.print_notes(notes)
    terminal.print_line(f"{n_rows:,} predictions in {out}")


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
    check_outputs(out, inputs=(table,))
    cells = read_cells(table)
    _, found = recognize_columns(cells.frame, separator=cells.separator)
    terminal.show_columns(found)
    terminal.print_notes(cells.notes)
    if out is not None:
        write_choices(found, out)
        terminal.show_files(columns=out)


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
    names = method_names(methods)
    if csv is not None:
        check_table_format(csv)
    check_outputs(csv, report, inputs=(table,))
    check_packages(matplotlib=report)
    problem = _problem(table, target, task, columns)
    check_fit(names, problem.task)
    rows = fitting.splits(problem, test_size=0.25, repeats=repeats, seed=seed)
    n_rows = len(rows[0][0])
    if methods is None:
        slow = [name for name in names if name not in feasible(names, n_rows)]
        names = feasible(names, n_rows)
        if slow:
            note = f"these methods are left out because {n_rows:,} rows take long: {listing(slow)}"
            terminal.print_notes([note])
    check_size(names, n_rows)
    _compare(problem, names, rows, csv=csv, report=report, seed=seed)


@app.command()
def demo(
    out: Annotated[
        Path | None, typer.Option(help="Save the fitted model (skops).", metavar="FILE")
    ] = None,
    report: Report = None,
    repeats: Repeats = 3,
) -> None:
    """Compare methods and fit one on scikit-learn's breast-cancer table, in about a minute."""
    from sklearn.datasets import load_breast_cancer

    check_outputs(out, report)
    check_packages(skops=out, matplotlib=report)
    bunch = load_breast_cancer(as_frame=True)
    frame = bunch.data.assign(diagnosis=bunch.target_names[bunch.target])
    problem = as_problem(frame, "diagnosis")
    rows = fitting.splits(problem, test_size=0.25, repeats=repeats, seed=0)
    _compare(problem, list(DEMONSTRATED), rows)
    _fit(problem, LEARNERS[0], rows[0], out=out, report=report)
    if report is None:
        terminal.print_line("The option --report demo.html writes a report with figures.")


def _problem(table: Path, target: str, task: str, columns: Path | None) -> Problem:
    cells = read_cells(table)
    choices = read_choices(columns, list(cells.frame.columns))
    return as_problem(cells, target, task, choices=choices)


def _fit(
    problem: Problem,
    learner: str,
    rows: tuple[Rows, Rows],
    *,
    out: Path | None,
    report: Path | None,
    seed: int = 0,
    source: ParquetSource | None = None,
    client: Any = None,
) -> None:
    notes, failures, written = list(problem.notes), list[str](), dict[str, Path]()
    with terminal.row_progress() as bar:
        bar.step(f"learning a kernel for {problem.name}")
        hooks = PassHooks(lambda n_rows: bar.step("fitting all rows", n_rows), bar.advance, client)
        with collected_warnings(notes), pass_hooks(hooks):
            result = fitting.fit(problem, learner, *rows, seed=seed, source=source)
        # What is drawn may fail; the model is safe before.
        if out is not None:
            with postponed(failures, f"save the model {out}"):
                save_model(result.model, out)
                written["model"] = out
        if report is not None:
            bar.step("writing the report")
            with postponed(failures, f"write the report {report}"):
                write_fit_report(result, report, notes)
                written["report"] = report
    terminal.show_problem(problem)
    terminal.show_fit(result)
    terminal.print_notes(notes)
    terminal.show_files(**written)
    check_failures(failures)


def _compare(
    problem: Problem,
    methods: list[str],
    rows: list[tuple[Rows, Rows]],
    *,
    csv: Path | None = None,
    report: Path | None = None,
    seed: int = 0,
) -> None:
    notes, failures, written = list(problem.notes), list[str](), dict[str, Path]()
    with terminal.progress(len(methods) * len(rows)) as step, collected_warnings(notes):
        result = comparison.compare(problem, methods, rows, seed=seed, on_step=step)
    if csv is not None:
        with postponed(failures, f"write the results {csv}"):
            write_table(result.as_frame(), csv)
            written["results"] = csv
    if report is not None:
        with postponed(failures, f"write the report {report}"):
            write_comparison_report(result, problem, report, notes)
            written["report"] = report
    terminal.show_problem(problem)
    terminal.show_comparison(result, problem)
    terminal.print_notes(notes)
    terminal.show_files(**written)
    check_failures(failures)

"""What the commands do, once their options are parsed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

from mercer import ParquetSource, pass_hooks
from mercer_command import comparison, fitting, terminal
from mercer_command.cluster import check_cluster, cluster_client
from mercer_command.column_choices import read_choices, write_choices
from mercer_command.errors import (
    check_failures,
    check_packages,
    checked_name,
    collected_warnings,
    in_one_line,
    postponed,
)
from mercer_command.explanation import explain as explain_cells
from mercer_command.files import check_outputs
from mercer_command.leakage import leakage_notes
from mercer_command.methods import (
    check_fit,
    check_size,
    check_streamed,
    feasible,
    method_names,
)
from mercer_command.models import load_model, save_model
from mercer_command.option_names import DEMONSTRATED, LEARNERS
from mercer_command.prediction import predict_file
from mercer_command.problem import Problem, Rows, as_problem
from mercer_command.report import (
    Run,
    write_comparison_report,
    write_explanation,
    write_fit_report,
)
from mercer_command.shown_names import listing, shown
from mercer_command.streaming import is_streamed, streamed_table
from mercer_command.table_columns import recognize_columns
from mercer_command.tables import check_table_format, read_cells, write_table


def fit(
    table: Path,
    target: str,
    *,
    learner: str,
    task: str,
    columns: Path | None,
    out: Path | None,
    report: Path | None,
    test_size: float,
    seed: int,
    cluster: str | None,
    workers: int | None,
) -> None:
    """Do what the command of this name says; see :mod:`mercer_command.app`."""
    checked_name("learner", learner, LEARNERS)
    check_outputs(out, report, inputs=(table,))
    check_packages(skops=out, matplotlib=report, distributed=cluster or workers)
    check_cluster(table, cluster, workers)
    options = {
        "learner": None if learner == LEARNERS[0] else learner,
        "task": None if task == "auto" else task,
        "columns": columns,
        "out": out,
        "report": report,
        "test-size": None if test_size == 0.25 else test_size,
        "seed": seed,
        "cluster": cluster,
        "workers": workers,
    }
    run = Run(_words("fit", table, target=target, **options), str(table), _text(out))
    with cluster_client(cluster, workers) as client:
        if client is None and not is_streamed(table):
            problem = _problem(table, target, task, columns)
            check_fit([learner], problem.task, LEARNERS)
            [rows] = fitting.splits(problem, test_size=test_size, repeats=1, seed=seed)
            check_size([learner], len(rows[0]))
            _fit(problem, learner, rows, out=out, report=report, seed=seed, run=run)
            return
        check_streamed(learner)
        streamed = streamed_table(table, target, task, columns, test_size=test_size, seed=seed)
        problem, rows = streamed.problem, (streamed.train, streamed.test)
        check_fit([learner], problem.task, LEARNERS)
        read = {"source": streamed.source, "client": client}
        _fit(problem, learner, rows, out=out, report=report, seed=seed, run=run, **read)


def predict(
    model: Path, table: Path, out: Path, *, interval: float | None, intervals: bool
) -> None:
    """Do what the command of this name says; see :mod:`mercer_command.app`."""
    check_table_format(out)
    check_outputs(out, inputs=(model, table))
    if intervals and interval is None:
        interval = fitting.INTERVAL_COVERAGE
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


def explain(model: Path, table: Path, *, report: Path | None, seed: int) -> None:
    """Do what the command of this name says; see :mod:`mercer_command.app`."""
    check_outputs(report, inputs=(model, table))
    check_packages(matplotlib=report)
    notes = list[str]()
    with in_one_line(f"explain {model} by {table}"), collected_warnings(notes):
        found = explain_cells(load_model(model), read_cells(table), seed)
        if report is not None:
            write_explanation(found, report, notes)
    terminal.show_explanation(found)
    terminal.print_notes(notes)
    terminal.show_files(report=report)


def columns(table: Path, *, out: Path | None) -> None:
    """Do what the command of this name says; see :mod:`mercer_command.app`."""
    check_outputs(out, inputs=(table,))
    cells = read_cells(table)
    _, found = recognize_columns(cells.frame, separator=cells.separator)
    terminal.show_columns(found)
    terminal.print_notes(cells.notes)
    if out is not None:
        write_choices(found, out)
        terminal.show_files(columns=out)


def compare(
    table: Path,
    target: str,
    *,
    methods: str | None,
    task: str,
    columns: Path | None,
    repeats: int,
    csv: Path | None,
    report: Path | None,
    seed: int,
) -> None:
    """Do what the command of this name says; see :mod:`mercer_command.app`."""
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


def demo(*, out: Path | None, report: Path | None, repeats: int) -> None:
    """Do what the command of this name says; see :mod:`mercer_command.app`."""
    from sklearn.datasets import load_breast_cancer

    check_outputs(out, report)
    check_packages(skops=out, matplotlib=report)
    bunch = load_breast_cancer(as_frame=True)
    frame = bunch.data.assign(diagnosis=bunch.target_names[bunch.target])
    problem = as_problem(frame, "diagnosis")
    rows = fitting.splits(problem, test_size=0.25, repeats=repeats, seed=0)
    _compare(problem, list(DEMONSTRATED), rows)
    options = {"out": out, "report": report, "repeats": repeats}
    run = Run(_words("demo", **options), "table.csv", _text(out))
    _fit(problem, LEARNERS[0], rows[0], out=out, report=report, run=run)
    if report is None:
        terminal.print_line("The option --report demo.html writes a report with figures.")


def _words(name: str, *arguments: object, **options: object) -> tuple[str, ...]:
    """Return the words of a command with the options that are given."""
    given = ((f"--{key}", str(value)) for key, value in options.items() if value is not None)
    return ("mercer", name, *map(str, arguments), *(word for pair in given for word in pair))


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


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
    run: Run,
    seed: int = 0,
    source: ParquetSource | None = None,
    client: Any = None,
) -> None:
    notes, failures, written = list(problem.notes), list[str](), dict[str, Path]()
    with terminal.row_progress() as bar:
        bar.step(f"learning a kernel for {shown(problem.name)}")

        def begin(n_rows: int) -> None:
            bar.step("fitting all rows", n_rows)

        def save(model: Pipeline) -> None:
            # What follows may fail; the model is safe before.
            if out is not None:
                with postponed(failures, f"save the model {out}"):
                    save_model(model, out)
                    written["model"] = out

        with collected_warnings(notes), pass_hooks(begin, bar.advance, client=client):
            result = fitting.fit(
                problem,
                learner,
                *rows,
                seed=seed,
                source=source,
                on_step=bar.step,
                on_fitted=save,
            )
            notes[:0] = leakage_notes(problem, rows[0], seed)
        if report is not None:
            bar.step("writing the report")
            with postponed(failures, f"write the report {report}"):
                write_fit_report(result, report, run, notes)
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

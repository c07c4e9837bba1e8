"""Functions that run the commands, given their parsed options."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mercer_command import (
    comparison,
    contributions,
    explanation_sections,
    figures,
    files,
    held_out_figures,
    messages,
    methods,
    models,
    options,
    output,
    predictions,
    sections,
    streaming,
    table_files,
)
from mercer_command.choices import read_choices, write_choices
from mercer_command.columns import recognize_columns
from mercer_command.costs import cost_section, read_costs
from mercer_command.division import splits
from mercer_command.figures import score_called
from mercer_command.messages import collected_warnings, listing, postponed, shown
from mercer_command.names import DEVICES, KINDS, LEARNERS
from mercer_command.output import Section, Text, write_page
from mercer_command.problem import Problem, as_problem
from mercer_command.summary import summary_section
from mercer_command.table_model import TableModel
from mercer_command.target_column import Rows
from mercer_command.values import parse_missing

DEMONSTRATED = ("stacking", "ca", "alignf", "uniform", "hsic", "cka", "grid")
"""The methods of the demonstration: one fast method of each kind."""

ON_SCREEN = 5
"""Number of rows for which the terminal shows reasons."""


def fit(given: options.Fit) -> None:
    """Learn from a table; see `mercer_command.options`."""
    messages.checked_name("learner", given.learner, LEARNERS)
    command = given
    if given.task in KINDS:
        if given.learner not in (LEARNERS[0], given.task):
            raise messages.InputError(
                f"--task {given.task} has a learner of its own: leave out --learner {given.learner}"
            )
        given = replace(given, learner=given.task)
    _check(given)
    with streaming.cluster_client(given.cluster, given.workers) as client:
        if client is None and not streaming.is_streamed(given.table):
            problem = _problem(given)
            methods.check_fit([given.learner], problem.task, LEARNERS)
            methods.check_division(given.learner, problem)
            methods.check_metric(given.metric, problem)
            rows, *_ = splits(problem, test_size=given.test_size, repeats=1, seed=given.seed)
            methods.check_size([given.learner], len(rows[0]))
            training = streaming.Training(problem, *rows)
        else:
            for name in ("group", "time", "split"):
                if getattr(given, name) is not None:
                    raise messages.InputError(f"--{name} is for tables that fit into memory")
            methods.check_streamed(given.learner)
            training = streaming.streamed_table(given)
            methods.check_fit([given.learner], training.problem.task, LEARNERS)
        _fit(training, given, command, client)


def predict(given: options.Predict) -> None:
    """Predict the rows of a table; see `mercer_command.options`."""
    _check(given)
    coverage = 0.9 if given.intervals and given.interval is None else given.interval
    notes = list[str]()
    with messages.in_one_line(f"predict {given.table} by {given.model}"), collected_warnings(notes):
        model = files.load_model(given.model)
        header = not given.no_header
        rows = predictions.rows_to_predict(model, given.table, given.keep, header=header)
        with (
            streaming.cluster_client(given.cluster, given.workers) as client,
            output.progress_bar() as bar,
        ):
            bar.step("predicting", rows.n_rows)
            found = predictions.predict_file(
                model, rows, given.out, coverage, bar, n_reasons=given.why or 0, client=client
            )
    output.print_notes([*notes, *found])
    output.print_line(f"{rows.n_rows:,} predictions in {given.out}")


def explain(given: options.Explain) -> None:
    """Explain the predictions of a model; see `mercer_command.options`."""
    _check(given)
    notes = list[str]()
    with messages.in_one_line(f"explain {given.model} by {given.table}"), collected_warnings(notes):
        model = files.load_model(given.model)
        cells = table_files.read_cells(given.table, header=not given.no_header)
        with output.progress_bar() as bar:
            bar.step("measuring the importance of columns")
            trial = models.explain(model, cells, given)
            n_rows = explanation_sections.MOST_CARDS if given.report else ON_SCREEN
            n_rows = len(cells.frame) if given.out else n_rows
            why = predictions.explained_rows(model, cells.frame[:n_rows], bar)
        if trial.y is None:
            found = contributions.by_contributions(trial.importances, why.values)
            trial = replace(trial, importances=found)
        if given.out is not None:
            files.write_table(why.table(), given.out)
        described = sections.describe_trial(trial)

        tested = sections.tested_sections(trial, warned=False) if trial.report is not None else []
        learned = _learned(trial)
        if given.report is not None:
            predicted = [] if trial.y is None else [held_out_figures.prediction_section(trial)]
            drawn = [explanation_sections.card_section(why), *figures.dependence_section(trial)]
            page = [*tested, *_notes(notes), *predicted, *drawn, *learned]
            title = f"What predicts {shown(trial.name)}"
            write_page(given.report, title, f"{described}.", page)
    shown_first = [*tested, explanation_sections.reasons_section(why, n_rows=ON_SCREEN), *learned]
    written = {"reasons": given.out, "report": given.report}
    _finish(f"{shown(trial.name)}: {described}", shown_first, notes, written)


def columns(given: options.Columns) -> None:
    """Show how columns are read; see `mercer_command.options`."""
    _check(given)
    cells = table_files.read_cells(given.table, header=not given.no_header)
    missing = parse_missing(given.missing, cells.frame.columns)
    _, found = recognize_columns(cells.frame, separator=cells.separator, missing=missing)
    output.show([sections.columns_section(found, n_shown=None)])
    output.print_notes(cells.notes)
    if given.out is not None:
        write_choices(found, given.out)
        output.print_line(f"columns in {given.out}")


def compare(given: options.Compare) -> None:
    """Compare methods; see `mercer_command.options`."""
    names = methods.method_names(given.methods)
    if given.task in KINDS:
        names = [given.task, *names] if given.methods is None else names
        metric = given.metric or {"ordinal": "mae", "count": "poisson_deviance"}[given.task]
        given = replace(given, metric=metric)
    _check(given)
    problem = _problem(given)
    methods.check_fit(names, problem.task)
    methods.check_metric(given.metric, problem)
    rows = splits(problem, test_size=0.25, repeats=given.repeats, seed=given.seed)
    n_rows = len(rows[0][0])
    feasible = methods.feasible(names, n_rows)
    if given.methods is None and len(feasible) < len(names):
        slow = listing(name for name in names if name not in feasible)
        note = f"these methods are left out because {n_rows:,} rows take long: {slow}"
        output.print_notes([note])
        names = feasible
    methods.check_size(names, n_rows)
    _compare(problem, names, rows, given)


def demo(given: options.Demo) -> None:
    """Compare methods on a data set of scikit-learn; see `mercer_command.options`."""
    from sklearn.datasets import load_breast_cancer

    _check(given)
    bunch = load_breast_cancer(as_frame=True)
    frame = bunch.data.assign(diagnosis=bunch.target_names[bunch.target])
    problem = as_problem(frame, "diagnosis")
    rows = splits(problem, test_size=0.25, repeats=given.repeats, seed=0)
    _compare(problem, list(DEMONSTRATED), rows, options.Compare(Path("table.csv"), "diagnosis"))
    fitted = options.Fit(Path("table.csv"), "diagnosis", out=given.out, report=given.report)
    _fit(streaming.Training(problem, *rows[0]), fitted, given)
    if given.report is None:
        output.print_line("The option --report demo.html writes a report with figures.")


def _check(given: options.Options) -> None:
    """Check files and packages before any work is done."""
    saves_model = isinstance(given, options.Fit | options.Demo)
    outputs = [getattr(given, name, None) for name in ("out", "csv", "report")]
    for table in filter(None, outputs[saves_model:2]):
        table_files.is_parquet(table)
    inputs = (getattr(given, name, None) for name in ("model", "table"))
    files.check_outputs(*outputs, inputs=filter(None, inputs))
    distributed = None
    if isinstance(given, options.Fit | options.Predict):
        streaming.check_cluster(given)
        distributed = given.cluster or given.workers
    skops = outputs[0] if saves_model else None
    device = messages.checked_name("device", getattr(given, "device", DEVICES[0]), DEVICES)
    torch = device if device == "cuda" else None
    messages.check_packages(
        skops=skops, matplotlib=outputs[2], distributed=distributed, torch=torch
    )


def _problem(given: options.Fit | options.Compare) -> Problem:
    if given.group is not None and given.time is not None:
        raise messages.InputError("--group and --time exclude each other; --split says both")
    cells = table_files.read_cells(given.table, header=not given.no_header)
    names = list(cells.frame.columns)
    return as_problem(
        cells,
        given.target,
        given.task,
        choices=read_choices(given.columns, names),
        missing=parse_missing(given.missing, names),
        group=given.group,
        time=given.time,
        split=given.split,
    )


def _fit(
    training: streaming.Training, given: options.Fit, command: options.Options, client: Any = None
) -> None:
    """Learn, save the model, write the report, which shows the `command`, and print the results."""
    problem, notes = training.problem, list(training.problem.notes)
    n_classes = len(np.unique(problem.target)) if problem.task == "classification" else 0
    costs = read_costs(given.cost, n_classes)
    described = sections.describe_problem(problem)
    failures, written = list[str](), dict[str, Path | None]()
    n_columns = problem.features.shape[1]
    with output.progress_bar() as bar:
        told = f"learning from {training.n_train:,} rows of {n_columns} columns"
        bar.step(told, unit="rows read")
        if (source := training.source) is not None:
            source.client, source.on_rows = client, bar.advance

        def save(model: TableModel) -> None:
            # The model is saved before later steps, which may fail.
            if given.out is not None:
                with postponed(failures, f"save the model {given.out}"):
                    files.save_model(model, given.out)
                    written["model"] = given.out

        with collected_warnings(notes):
            trial = models.fit(training, given, bar, save, costs)
        lead = summary_section(trial, problem, training.n_train, training.test)
        result = [lead, *sections.tested_sections(trial, warned=True)]
        if costs is not None and trial.y is not None:
            result.insert(2, cost_section(trial.model, trial.X, trial.y, costs))
        learned = _learned(trial, given.learner)
        read = sections.columns_section(problem.columns)
        if given.report is not None:
            bar.step("drawing pictures")
            with postponed(failures, f"write the report {given.report}"):
                assert trial.report is not None
                score = f"{score_called(trial.report)} {trial.report.sections()[0].rows[0][1]}"
                title = f"Predicting {shown(problem.name)}: {score}"
                drawn = [
                    held_out_figures.prediction_section(trial),
                    *figures.dependence_section(trial),
                    Section("What the kernel finds similar", [figures.similarity_figure(trial)]),
                ]
                repeat = sections.repeat_section(trial, training.n_train, given, command)
                page = [*result, *_notes(notes), *drawn, *learned, read, repeat]
                write_page(given.report, title, f"{described}.", page)
                written["report"] = given.report
    headline = f"{shown(problem.name)}: {described}"
    _finish(headline, [*result, *learned, read], notes, written, failures)


def _learned(trial: models.Trial, learner: str = "") -> list[Section]:
    return [explanation_sections.importance_section(trial), sections.kernel_section(trial, learner)]


def _notes(notes: list[str]) -> list[Section]:
    return [Section("Notes", [Text(note, "note") for note in notes])] if notes else []


def _finish(
    headline: str,
    found: Iterable[Section],
    notes: Iterable[str],
    written: dict[str, Path | None],
    failures: Sequence[str] = (),
) -> None:
    """Print results, notes and written files, and raise an error if there were failures."""
    output.print_line(headline)
    output.show(found)
    output.print_notes(notes)
    for kind, path in written.items():
        if path is not None:
            output.print_line(f"{kind} in {path}")
    if failures:
        raise messages.InputError("; ".join(failures))


def _compare(
    problem: Problem, names: list[str], rows: list[tuple[Rows, Rows]], given: options.Compare
) -> None:
    notes = list(problem.notes)
    failures, written = list[str](), dict[str, Path | None]()
    with output.progress_bar("fits") as bar, collected_warnings(notes):
        bar.step("comparing", len(names) * len(rows))
        result = comparison.compare(
            problem,
            names,
            rows,
            given,
            bar,
            on_split=lambda table: bar.report(sections.standing(table, len(rows))),
        )
    found = sections.comparison_section(result)
    described = sections.describe_problem(problem)
    if given.csv is not None:
        with postponed(failures, f"write the results {given.csv}"):
            files.write_table(result, given.csv)
            written["results"] = given.csv
    if given.report is not None:
        with postponed(failures, f"write the report {given.report}"):
            title = f"Comparison of methods that predict {shown(problem.name)}"
            write_page(given.report, title, f"{described}.", [found, *_notes(notes)])
            written["report"] = given.report
    _finish(f"{shown(problem.name)}: {described}", [found], notes, written, failures)

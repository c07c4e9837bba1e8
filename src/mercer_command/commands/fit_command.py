"""The command `mercer fit`."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mercer_command import (
    figures,
    files,
    held_out_figures,
    messages,
    methods,
    models,
    options,
    output,
    sections,
    streaming,
    table_files,
)
from mercer_command.column_section import columns_section
from mercer_command.commands import preparation, results
from mercer_command.costs import cost_section, read_costs
from mercer_command.division import splits
from mercer_command.figures import score_called
from mercer_command.messages import collected_warnings, counted, postponed, shown
from mercer_command.names import KINDS, LEARNERS
from mercer_command.output import Section, write_page
from mercer_command.problem import Problem
from mercer_command.stricter_split import Read
from mercer_command.summary import summary_section
from mercer_command.table_files import Cells
from mercer_command.table_model import TableModel
from mercer_command.target_column import read_order


def run(given: options.Fit) -> None:
    """Learn from a table; see `mercer_command.options`."""
    messages.checked_name("learner", given.learner, LEARNERS)
    command = given
    if read_order(given.order, given.task):
        given = replace(given, task="ordinal")
    if given.task in KINDS:
        if given.learner not in (LEARNERS[0], given.task):
            raise messages.InputError(
                f"--task {given.task} has a learner of its own: leave out --learner {given.learner}"
            )
        given = replace(given, learner=given.task)
    preparation.check(given)
    read: Read | None = None
    with streaming.cluster_client(given.cluster, given.workers) as client:
        if client is None and not streaming.is_streamed(given.table):
            cells = table_files.read_cells(given.table, header=not given.no_header)
            problem = preparation.problem_of(cells, given)
            methods.check_fit([given.learner], problem.task, LEARNERS)
            methods.check_division(given.learner, problem)
            methods.check_metric(given.metric, problem)
            rows, *_ = splits(problem, test_size=given.test_size, repeats=1, seed=given.seed)
            methods.check_size([given.learner], len(rows[0]))
            training = streaming.Training(problem, *rows)

            read = partial(_read_again, cells, given)
        else:
            for name in ("group", "time", "split"):
                if getattr(given, name) is not None:
                    raise messages.InputError(f"--{name} is for tables that fit into memory")
            methods.check_streamed(given.learner)
            training = streaming.streamed_table(given)
            methods.check_fit([given.learner], training.problem.task, LEARNERS)
        learn(training, given, command, client=client, read=read)


def _read_again(cells: Cells, given: options.Fit, option: str, column: str) -> Problem:
    """Return the problem with a column of groups or times."""
    chosen: Any = {option: column}
    return preparation.problem_of(cells, replace(given, **chosen))


def learn(
    training: streaming.Training,
    given: options.Fit,
    command: options.Options,
    *,
    client: Any = None,
    read: Read | None = None,
) -> None:
    """Learn, save the model, write the report, which shows the `command`, and print the results."""
    problem = training.problem
    n_classes = len(np.unique(problem.target)) if problem.task == "classification" else 0
    costs = read_costs(given.cost, n_classes)
    described = sections.describe_problem(problem)
    failures, written = list[str](), dict[str, Path | None]()
    n_columns = problem.features.shape[1]
    with output.progress_bar() as bar:
        told = f"learning from {counted(training.n_train, 'row')} of {counted(n_columns, 'column')}"
        bar.step(told, unit="rows read")
        if (source := training.source) is not None:
            source.client, source.on_rows = client, bar.advance

        def save(model: TableModel) -> None:
            # The model is saved before later steps, which may fail.
            if given.out is not None:
                with postponed(failures, f"save the model {given.out}"):
                    files.save_model(model, given.out)
                    written["model"] = given.out

        warned = list[str]()
        with collected_warnings(warned):
            trial = models.fit(training, given, bar, save, costs=costs, read=read)
        assert trial.training is not None
        training = trial.training
        problem, notes = training.problem, [*training.problem.notes, *warned]
        result = [summary_section(trial), *sections.tested_sections(trial, warned=True)]
        if costs is not None and trial.y is not None:
            result.insert(2, cost_section(trial.model, trial.X, trial.y, costs))
        learned = results.learned_sections(trial, given.learner)
        read_as = columns_section(problem.columns)
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
                page = [*result, *results.note_sections(notes), *drawn, *learned, read_as, repeat]
                write_page(given.report, title, f"{described}.", page)
                written["report"] = given.report
        if given.refit and "model" in written and training.source is None:
            bar.step("learning from all rows")
            with collected_warnings([]):
                save(models.refit(trial, given, costs))
            notes.append(
                f"the saved model learned from all {len(problem.target):,} rows after the test; "
                "--no-refit saves the tested one"
            )
    headline = f"{shown(problem.name)}: {described}"
    first, matter = result[: 2 + (costs is not None)], learned[:1]
    shown_first = [*result, *learned, read_as] if given.details else [*first, *matter]
    results.finish(headline, shown_first, notes, written, failures)

"""The command `mercer fit`."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

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
from mercer_command.commands import preparation, results
from mercer_command.commands.columns_command import columns_section
from mercer_command.costs import Costs, cost_section, read_costs
from mercer_command.division import splits
from mercer_command.messages import collected_warnings, counted, postponed, shown
from mercer_command.names import KINDS, LEARNERS, SCORES
from mercer_command.output import Section
from mercer_command.problem import Problem
from mercer_command.score_sections import score_sections, with_advice
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
    if not streaming.is_streamed(given.table):
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
        for name in ("group", "time"):
            if getattr(given, name) is not None:
                raise messages.InputError(f"--{name} is for tables that fit into memory")
        methods.check_streamed(given.learner)
        training = streaming.streamed_table(given)
        methods.check_fit([given.learner], training.problem.task, LEARNERS)
    learn(training, given, command, read=read)


_REFITTED = "the saved model learned from all {} after the test; --no-refit saves the tested one"
"""Note on a model that learned again, from all rows."""

_NOT_REFITTED = (
    "the saved model is the tested one, without the {} of the test: it does not learn again from "
    "a table that is read in parts"
)
"""Note on a model of a table that is read in parts: few of its rows are held out."""


def _read_again(cells: Cells, given: options.Fit, group: str | None, time: str | None) -> Problem:
    """Return the problem with columns of groups or times."""
    return preparation.problem_of(cells, replace(given, group=group, time=time))


def _save(
    out: Path | None, failures: list[str], written: dict[str, Path | None], model: TableModel
) -> None:
    """Save a model, if that is asked for, and note its file or the failure."""
    if out is not None:
        with postponed(failures, f"save the model {out}"):
            files.save_model(model, out)
            written["model"] = out


def _title(trial: models.Trial) -> str:
    """Return the title of the report, which holds the first score."""
    assert trial.report is not None
    metric, own = trial.report.metric, trial.report.held_out[0]
    score = f"{SCORES[metric].header} {own.told(metric)[0]}"
    return f"Predicting {shown(trial.name)}: {score}"


def _with_pictures(trial: models.Trial, learned: list[Section]) -> list[Section]:
    """Return what was learned, with the sections that only the report has: columns come first."""
    matter, *kernels = learned
    similar = Section("What the kernel finds similar", [figures.similarity_figure(trial)])
    drawn = [*held_out_figures.prediction_sections(trial), *figures.dependence_section(trial)]
    return [matter, *drawn, *kernels, similar]


def _learned_from(
    trial: models.Trial,
    given: options.Fit,
    costs: Costs | None,
    save: Callable[[TableModel], None],
    bar: output.Bar,
) -> str:
    """Learn from all rows, unless they are read in parts, and note what the saved model is of."""
    assert trial.training is not None
    training = trial.training
    if training.source is not None:
        return _NOT_REFITTED.format(counted(len(training.test), "row"))
    bar.step("learning from all rows")
    with collected_warnings([]):
        save(models.refit(trial, given, costs))
    return _REFITTED.format(counted(len(training.problem.target), "row"))


def learn(
    training: streaming.Training,
    given: options.Fit,
    command: options.Options,
    *,
    read: Read | None = None,
    brief: Callable[[models.Trial, list[Section]], list[Section]] = lambda trial, found: found,
) -> None:
    """Learn, save the model, write the report, which shows the `command`, and print the results.

    Without the option --details, the first sections are printed as `brief` returns them.
    """
    problem = training.problem
    n_classes = len(np.unique(problem.target)) if problem.task == "classification" else 0
    costs = read_costs(given.cost, n_classes)
    failures, written = list[str](), dict[str, Path | None]()
    columns = counted(problem.features.shape[1], "column")
    with output.progress_bar() as bar:
        rows = counted(training.n_train, "row")
        bar.step(f"learning from {rows} of {columns}", unit="rows read")
        if (source := training.source) is not None:
            source.on_rows = bar.advance
        # The model is saved before later steps, which may fail.
        save = partial(_save, given.out, failures, written)
        warned = list[str]()
        with collected_warnings(warned):
            trial = with_advice(models.fit(training, given, bar, save, costs=costs, read=read))
        assert trial.training is not None
        training, problem = trial.training, trial.training.problem
        described, notes = sections.describe_problem(problem), [*problem.notes, *warned]
        result = [summary_section(trial), *score_sections(trial, warned=True)]
        if costs is not None and trial.y is not None:
            result.insert(2, cost_section(trial.model, trial.X, trial.y, costs))
        learned = results.learned_sections(trial, given.learner)
        read_as = columns_section(problem.columns)
        if given.report is not None:
            from mercer_command.pages import write_page

            bar.step("drawing pictures")
            with postponed(failures, f"write the report {given.report}"):
                repeat = sections.repeat_section(trial, training.n_train, given, command)
                before, after = [*result, *results.note_sections(notes)], [read_as, repeat]
                page = [*before, *_with_pictures(trial, learned), *after]
                write_page(given.report, _title(trial), f"{described}.", page)
                written["report"] = given.report
        if given.refit and "model" in written:
            notes.append(_learned_from(trial, given, costs, save, bar))
    shown_first = [*result, *learned, read_as]
    if not given.details:
        shown_first = brief(trial, [*result[: 2 + (costs is not None)], learned[0]])
    results.finish(f"{shown(problem.name)}: {described}", shown_first, notes, written, failures)

"""The command `mercer fit`."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from mercer_command import messages, methods, models, options, output, pictures, sections, streaming
from mercer_command.commands import preparation, results
from mercer_command.commands.columns_command import columns_section
from mercer_command.division import splits
from mercer_command.explanation_sections import importance_section
from mercer_command.files import save_model
from mercer_command.members import check_members, named_members, weights_note
from mercer_command.messages import InputError, collected_warnings, counted, postponed, shown
from mercer_command.methods import LEARNERS
from mercer_command.names import KINDS
from mercer_command.problem import Problem
from mercer_command.score_sections import score_sections, with_advice
from mercer_command.stricter_split import Read
from mercer_command.summary import summary_section
from mercer_command.table_files import read_cells
from mercer_command.table_model import TableModel
from mercer_command.target_column import read_order


def run(given: options.Fit) -> None:
    """Learn from a table; see `mercer_command.options`."""
    messages.checked_name("learner", given.learner, LEARNERS)
    command = given
    if read_order(given.order, given.task):
        given = replace(given, task="ordinal")
    if given.task in KINDS:
        if given.learner != "stacking":
            raise InputError(
                f"--task {given.task} has a learner of its own: leave out --learner {given.learner}"
            )
        given = replace(given, learner=given.task)
    preparation.check(given)
    members = named_members(given.with_)
    check_members(members, given.learner, is_saved=given.out is not None)
    read = None
    if streaming.is_streamed(given.table):
        for name in ("group", "time"):
            if getattr(given, name) is not None:
                raise InputError(f"--{name} is for tables that fit into memory")
        training = streaming.streamed_table(given)
    else:
        cells = read_cells(given.table, header=not given.no_header)

        def read(group: str | None, time: str | None) -> Problem:
            return preparation.problem_of(cells, replace(given, group=group, time=time))

        problem = preparation.problem_of(cells, given)
        rows, *_ = splits(problem, test_size=given.test_size, repeats=1, seed=given.seed)
        training = streaming.Training(problem, *rows)
    methods.check_metric(given.metric, training.problem)
    methods.check_methods([given.learner], training.problem, training.n_train, is_fit=True)
    for member in members:
        member.estimator(training.problem.task, given.seed)
    learn(training, given, command, read=read)


def _learned(
    training: streaming.Training,
    given: options.Fit,
    save: Callable[[TableModel], None],
    bar: output.Bar,
    *,
    read: Read | None,
    warned: list[str],
) -> tuple[models.Trial, str]:
    """Learn, test, and learn again from all rows, unless they are read in parts.

    Returns
    -------
    trial : Trial
    note : str
        What rows the saved model learned from, if not from those that the option says.
    """
    refits = given.refit and given.out is not None
    tested, is_stream = list[TableModel](), training.source is not None
    try:
        with collected_warnings(warned):
            on_fitted = tested.append if refits and not is_stream else save
            trial = with_advice(models.fit(training, given, bar, on_fitted, read=read))
        assert trial.training is not None
        if not refits:
            return trial, ""
        if is_stream:
            rows = counted(len(trial.training.test), "row")
            return trial, f"the saved model is the tested one, without the {rows} of the test"
        bar.step("learning from all rows")
        with collected_warnings([]):
            save(models.refit(trial, given))
    except BaseException:
        for model in tested[-1:]:  # If a later step fails, this model is not lost.
            save(model)
        raise
    rows = counted(len(trial.training.problem.target), "row")
    told = f"the saved model learned from all {rows} after the test"
    return trial, f"{told}; --no-refit saves the tested one"


def learn(
    training: streaming.Training,
    given: options.Fit,
    command: options.Options,
    *,
    read: Read | None = None,
) -> None:
    """Learn, save the model, write the report, which shows the `command`, and print the results."""
    failures, written, warned = list[str](), dict[str, Path | None](), list[str]()

    def save(model: TableModel) -> None:
        if given.out is not None:
            with postponed(failures, f"save the model {given.out}"):
                save_model(model, given.out)
                written["model"] = given.out

    with output.progress_bar() as bar:
        columns = counted(training.problem.features.shape[1], "column")
        rows = counted(training.n_train, "row")
        bar.step(f"learning from {rows} of {columns}", unit="rows read")
        if training.source is not None:
            training.source.on_rows = bar.advance
        trial, saved = _learned(training, given, save, bar, read=read, warned=warned)
        assert trial.training is not None
        training = trial.training
        notes = [*training.problem.notes, *warned]
        if given.with_ is not None:
            notes.append(weights_note(trial.model, named_members(given.with_)))
        notes += [saved] * bool(saved and written)
    found = [summary_section(trial), *score_sections(trial), importance_section(trial)]
    if given.report is not None:
        found += [*pictures.prediction_sections(trial), *pictures.dependence_sections(trial)]
    found += [
        sections.kernel_section(trial, given.learner),
        columns_section(training.problem.columns),
        sections.repeat_section(trial, training.n_train, given, command),
    ]
    name, described = shown(trial.name), sections.describe_problem(training.problem)
    titles = name, f"Predicting {name}", described
    results.finish(given, titles, found, notes, written=written, failures=failures)

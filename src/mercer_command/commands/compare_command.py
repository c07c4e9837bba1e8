"""The command `mercer compare`."""

from dataclasses import replace
from pathlib import Path

from mercer_command import comparison, files, methods, options, output, sections
from mercer_command.commands import preparation, results
from mercer_command.division import splits
from mercer_command.messages import collected_warnings, listing, postponed, shown
from mercer_command.names import KINDS
from mercer_command.problem import Problem
from mercer_command.target_column import Rows, read_order


def run(given: options.Compare) -> None:
    """Compare methods; see `mercer_command.options`."""
    named = given.methods
    names = [*methods.COMPARED] if named is None else methods.method_names(named)
    in_words = bool(read_order(given.order, given.task))
    if in_words:
        given = replace(given, task="ordinal")
    if given.task in KINDS:
        names = [given.task, *names] if given.methods is None else names
        metric = given.metric or {"ordinal": "mae", "count": "poisson_deviance"}[given.task]
        given = given if in_words else replace(given, metric=metric)
    preparation.check(given)
    problem = preparation.read_problem(given)
    methods.check_metric(given.metric, problem)
    rows = splits(problem, test_size=0.25, repeats=given.repeats, seed=given.seed)
    n_rows = len(rows[0][0])
    if given.methods is None:
        slow = [name for name in names if methods.unsuitable(name, problem, n_rows)]
        names = [name for name in names if name not in slow]
        if slow:
            told = f"because {n_rows:,} rows take long: {listing(slow)}"
            output.print_notes([f"these methods are left out {told}"])
    methods.check_methods(names, problem, n_rows)
    compare_methods(problem, names, rows, given)


def compare_methods(
    problem: Problem, names: list[str], rows: list[tuple[Rows, Rows]], given: options.Compare
) -> None:
    """Compare methods on divisions of the rows, and show the results."""
    notes = [*problem.notes, *problem.words]
    failures, written = list[str](), dict[str, Path | None]()
    with output.progress_bar("fits") as bar, collected_warnings(notes):
        bar.step("comparing", len(names) * len(rows))
        compared = comparison.compare(
            problem,
            names,
            rows,
            given,
            bar,
            on_method=lambda table: bar.report(sections.method_line(table)),
        )
    result = compared.table
    if compared.left_out:
        notes.append(f"interrupted, without {listing(compared.left_out)}")
    failures += compared.failures
    found = sections.comparison_section(result)
    described = sections.describe_problem(problem)
    if given.csv is not None:
        with postponed(failures, f"write the results {given.csv}"):
            files.write_table(result, given.csv)
            written["results"] = given.csv
    if given.report is not None:
        from mercer_command.pages import write_page

        with postponed(failures, f"write the report {given.report}"):
            title = f"Comparison of methods that predict {shown(problem.name)}"
            write_page(given.report, title, f"{described}.", [found, *results.note_sections(notes)])
            written["report"] = given.report
    results.finish(f"{shown(problem.name)}: {described}", [found], notes, written, failures)
    if compared.left_out:
        raise KeyboardInterrupt

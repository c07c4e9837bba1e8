"""The command `mercer compare`."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from mercer_command import comparison, methods, options, output, sections
from mercer_command.commands import preparation, results
from mercer_command.division import splits
from mercer_command.files import write_table
from mercer_command.messages import collected_warnings, listing, postponed, shown
from mercer_command.names import KINDS
from mercer_command.table_files import read_cells
from mercer_command.target_column import read_order


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
    cells = read_cells(given.table, header=not given.no_header)
    problem = preparation.problem_of(cells, given)
    methods.check_metric(given.metric, problem)
    rows = splits(problem, test_size=0.25, repeats=given.repeats, seed=given.seed)
    n_rows, notes = len(rows[0][0]), [*problem.notes, *problem.words]
    slow = [name for name in names if methods.unsuitable(name, problem, n_rows)]
    if given.methods is None and slow:
        notes.append(f"methods are left out because {n_rows:,} rows take long: {listing(slow)}")
        names = [name for name in names if name not in slow]
    methods.check_methods(names, problem, n_rows)
    with output.progress_bar("fits") as bar, collected_warnings(notes):
        bar.step("comparing", len(names) * len(rows))

        def report(table: pd.DataFrame) -> None:
            bar.report(sections.method_line(table))

        compared = comparison.compare(problem, names, rows, given, bar, on_method=report)
    failures, written = [*compared.failures], dict[str, Path | None]()
    if given.csv is not None:
        with postponed(failures, f"write the results {given.csv}"):
            write_table(compared.table, given.csv)
            written["results"] = given.csv
    name, described = shown(problem.name), sections.describe_problem(problem)
    titles = name, f"Comparison of methods that predict {name}", described
    if compared.left_out:
        notes.append(f"interrupted, without {listing(compared.left_out)}")
    found = [sections.comparison_section(compared.table)]
    results.finish(given, titles, found, notes, written=written, failures=failures)
    if compared.left_out:
        raise KeyboardInterrupt

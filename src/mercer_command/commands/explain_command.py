"""The command `mercer explain`."""

from dataclasses import replace

from mercer_command import models, options, output, pictures, sections
from mercer_command.commands import preparation, results
from mercer_command.contributions import by_contributions
from mercer_command.explanation_sections import MOST_EXPLAINED, importance_section, reasons_section
from mercer_command.files import load_model, write_table
from mercer_command.importances import most_measured
from mercer_command.messages import collected_warnings, in_one_line, shown
from mercer_command.output import Section
from mercer_command.outside import table_notes
from mercer_command.predictions import explained_rows
from mercer_command.score_sections import score_sections, warnings_of, with_advice
from mercer_command.table_files import read_cells
from mercer_command.totals import without_totals

_MANY = 500
"""Tables of more columns are explained by a few of them, and all others together."""


def run(given: options.Explain) -> None:
    """Explain the predictions of a model; see `mercer_command.options`."""
    preparation.check(given)
    notes, found = list[str](), list[Section]()
    with in_one_line(f"explain {given.model} by {given.table}"), collected_warnings(notes):
        model = load_model(given.model)
        cells = read_cells(given.table, header=not given.no_header)
        n_notes, cells = len(cells.notes), without_totals(cells)
        notes += cells.notes[n_notes:]
        with output.progress_bar() as bar:
            bar.step("measuring the importance of columns")
            trial = with_advice(models.explain(model, cells.frame))
            n_rows = len(cells.frame) if given.out else MOST_EXPLAINED[given.report is not None]
            names = [one.name for one in trial.importances]
            # Of very many columns, a few are explained one by one.
            names = names if len(names) <= _MANY else names[: most_measured(len(names))]
            why = explained_rows(model, cells.frame[:n_rows], bar, names)
        if trial.report is None:
            matter = by_contributions(trial.importances, why.values)
            trial = replace(trial, importances=matter)
        else:
            if warnings := warnings_of(trial):
                found.append(Section("Warnings", warnings))
            found += score_sections(trial)
        if given.out is not None:
            write_table(why.table(), given.out)
        notes += table_notes(model, cells.frame)
        found += [
            reasons_section(why),
            importance_section(trial, why.values.scale),
        ]
        if given.report is not None:
            found += [*pictures.dependence_sections(trial), *pictures.prediction_sections(trial)]
        found.append(sections.kernel_section(trial))
    name = shown(trial.name)
    titles = name, f"What predicts {name}", sections.describe_trial(trial)
    results.finish(given, titles, found, notes, written={"reasons": given.out}, failures=[])

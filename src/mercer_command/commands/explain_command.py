"""The command `mercer explain`."""

from dataclasses import replace

from mercer_command import (
    contributions,
    explanation_sections,
    figures,
    files,
    held_out_figures,
    messages,
    models,
    options,
    output,
    outside,
    predictions,
    sections,
    table_files,
)
from mercer_command.commands import preparation, results
from mercer_command.messages import collected_warnings, shown
from mercer_command.score_sections import score_sections, with_advice
from mercer_command.totals import without_totals

ON_SCREEN = 5
"""Number of rows for which the terminal shows reasons."""


def run(given: options.Explain) -> None:
    """Explain the predictions of a model; see `mercer_command.options`."""
    preparation.check(given)
    notes = list[str]()
    with messages.in_one_line(f"explain {given.model} by {given.table}"), collected_warnings(notes):
        model = files.load_model(given.model)
        cells = table_files.read_cells(given.table, header=not given.no_header)
        n_notes, cells = len(cells.notes), without_totals(cells)
        notes += cells.notes[n_notes:]
        with output.progress_bar() as bar:
            bar.step("measuring the importance of columns")
            trial = with_advice(models.explain(model, cells.frame))
            n_rows = explanation_sections.MOST_CARDS if given.report else ON_SCREEN
            n_rows = len(cells.frame) if given.out else n_rows
            why = predictions.explained_rows(model, cells.frame[:n_rows], bar)
        if trial.report is None:
            found = contributions.by_contributions(trial.importances, why.values)
            trial = replace(trial, importances=found)
        if given.out is not None:
            files.write_table(why.table(), given.out)
        described = sections.describe_trial(trial)
        notes += outside.table_notes(model, cells.frame)

        tested = [] if trial.report is None else score_sections(trial, warned=False)
        learned = results.learned_sections(trial, why=why)
        if given.report is not None:
            from mercer_command.pages import write_page

            predicted = held_out_figures.prediction_sections(trial)
            matter, *kernels = learned
            drawn = [matter, *figures.dependence_section(trial), *predicted, *kernels]
            before = [*tested, *results.note_sections(notes)]
            page = [*before, explanation_sections.card_section(why), *drawn]
            title = f"What predicts {shown(trial.name)}"
            write_page(given.report, title, f"{described}.", page)
    reasons = explanation_sections.reasons_section(why, n_rows=ON_SCREEN)
    shown_first = [*tested, reasons, *learned]
    if not given.details:
        shown_first = [*tested[:1], reasons, learned[0]]
    written = {"reasons": given.out, "report": given.report}
    results.finish(f"{shown(trial.name)}: {described}", shown_first, notes, written)

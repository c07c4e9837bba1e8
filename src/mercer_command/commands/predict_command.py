"""The command `mercer predict`."""

import skops.io  # noqa: F401  It looks at all modules that are imported before it.

from mercer_command import files, messages, options, output, predictions, streaming
from mercer_command.commands import preparation
from mercer_command.messages import collected_warnings, counted


def run(given: options.Predict) -> None:
    """Predict the rows of a table; see `mercer_command.options`."""
    preparation.check(given)
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
    output.print_notes([*rows.notes, *notes, *found])
    output.print_line(f"{counted(rows.n_rows, 'prediction')} in {given.out}")

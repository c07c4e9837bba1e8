"""The command `mercer predict`."""

import skops.io  # noqa: F401  It looks at all modules that are imported before it.

from mercer_command import files, messages, options, output, predictions
from mercer_command.commands import preparation
from mercer_command.messages import collected_warnings, counted


def run(given: options.Predict) -> None:
    """Predict the rows of a table; see `mercer_command.options`."""
    preparation.check(given)
    notes = list[str]()
    with messages.in_one_line(f"predict {given.table} by {given.model}"), collected_warnings(notes):
        model = files.load_model(given.model)
        with output.progress_bar() as bar:
            n_rows, found = predictions.predict_file(model, given, bar)
    output.print_notes([*notes, *found])
    output.print_line(f"{counted(n_rows, 'prediction')} in {given.out}")

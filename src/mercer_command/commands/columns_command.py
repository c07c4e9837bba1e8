"""The command `mercer columns`."""

from mercer_command import options, output, table_files
from mercer_command.columns import columns_section, recognize_columns
from mercer_command.commands import preparation
from mercer_command.totals import without_totals
from mercer_command.values import parse_missing


def run(given: options.Columns) -> None:
    """Show how columns are read; see `mercer_command.options`."""
    preparation.check(given)
    cells = without_totals(table_files.read_cells(given.table, header=not given.no_header))
    missing = parse_missing(given.missing, cells.frame.columns)
    _, found = recognize_columns(cells.frame, separator=cells.separator, missing=missing)
    output.show([columns_section(found, n_shown=None)])
    output.print_notes(cells.notes)

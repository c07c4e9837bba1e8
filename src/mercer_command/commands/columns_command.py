"""The command `mercer columns`."""

from collections.abc import Sequence

from mercer_command import options, output, table_files
from mercer_command.columns import Column, recognize_columns
from mercer_command.commands import preparation
from mercer_command.messages import shown
from mercer_command.output import Section, Table
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


def columns_section(columns: Sequence[Column], *, n_shown: int | None = 40) -> Section:
    """Return the section on how columns are read and used, unused or doubtful ones first.

    Parameters
    ----------
    columns : sequence of Column
    n_shown : int or None, default=40
        Number of columns that the terminal lists, besides all that are left out or doubtful; None
        for all columns.
    """
    ordered = sorted(columns, key=lambda one: one.is_used and not one.warnings)
    n_remarkable = sum(not one.is_used or bool(one.warnings) for one in columns)
    rows = [
        [shown(one.name), one.role, "; ".join(filter(None, (one.describe(), *one.warnings)))]
        for one in ordered
    ]
    most = None if n_shown is None else max(n_shown, n_remarkable)
    table = Table(["Column", "Role", "Details"], rows, bold=range(n_remarkable), n_shown=most)
    return Section("How the columns were read and used", [table], is_detail=True)

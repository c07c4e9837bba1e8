"""The command `mercer columns`."""

from collections.abc import Sequence
from dataclasses import replace

from mercer_command import options, output, table_files
from mercer_command.columns import Column, recognize_columns
from mercer_command.commands import preparation
from mercer_command.messages import shown
from mercer_command.output import Section, Table
from mercer_command.totals import without_totals
from mercer_command.traces import with_traces
from mercer_command.values import parse_missing


def run(given: options.Columns) -> None:
    """Show how columns are read; see `mercer_command.options`."""
    preparation.check(given)
    cells = without_totals(table_files.read_cells(given.table, header=not given.no_header))
    missing = parse_missing(given.missing, cells.frame.columns)
    typed, found = recognize_columns(
        cells.frame, separator=cells.separator, missing=missing, plain=cells.plain
    )
    found = with_traces(typed, found)
    output.show([_all_columns(found)])
    output.print_notes(cells.notes)


_FEW = 100
"""All columns of tables with no more of them are listed."""

_MOST_ALIKE = 20
"""Number of columns that are listed of those that are read alike, in larger tables."""


def _all_columns(columns: Sequence[Column]) -> Section:
    """Return the section on all columns; of a large table, those that are alike are counted."""
    if len(columns) <= _FEW:
        return columns_section(columns, n_shown=None)
    alike: dict[object, list[Column]] = {}
    for one in columns:
        kind = (one.is_used, one.role, one.facts, one.warnings, one.missing > 0.0)
        alike.setdefault(kind, []).append(one)
    listed, counted = list[Column](), list[str]()
    for group in alike.values():
        listed += group[:_MOST_ALIKE]
        if n_more := len(group[_MOST_ALIKE:]):
            told = "; ".join((*group[0].facts, *["some cells missing"] * (group[0].missing > 0.0)))
            counted.append(f"and {n_more:,} more of role {group[0].role}{'; ' * bool(told)}{told}")
    section = columns_section(listed, n_shown=None)
    return replace(section, parts=(*section.parts, *counted))


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

"""The section on how columns are read and used."""

from collections.abc import Sequence

from mercer_command.columns import Column
from mercer_command.messages import shown
from mercer_command.output import Section, Table


def columns_section(columns: Sequence[Column], *, n_shown: int | None = 40) -> Section:
    """Return the section on how columns are read and used, unused or doubtful ones first.

    Parameters
    ----------
    columns : sequence of Column
    n_shown : int or None, default=40
        Number of columns that the terminal lists, besides all that are left out or doubtful; None
        for all columns.
    """
    remarkable = [c for c in columns if not c.is_used or c.warnings]
    ordered = [*remarkable, *(c for c in columns if c.is_used and not c.warnings)]
    rows = [
        [shown(c.name), c.role, "; ".join(filter(None, (c.describe(), *c.warnings)))]
        for c in ordered
    ]
    most = None if n_shown is None else max(n_shown, len(remarkable))
    table = Table(["Column", "Role", "Details"], rows, bold=range(len(remarkable)), n_shown=most)
    return Section("How the columns were read and used", [table], is_detail=True)

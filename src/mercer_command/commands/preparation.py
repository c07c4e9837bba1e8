"""Checks before a command does any work, and the problem that a table and a target pose."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from mercer_command import files, messages, options, table_files
from mercer_command.columns import read_choices
from mercer_command.names import DEVICES
from mercer_command.values import parse_missing

if TYPE_CHECKING:
    from mercer_command.problem import Problem


def check(given: options.Options) -> None:
    """Check options, files and packages before any work is done."""
    if isinstance(given, options.Fit | options.Compare) and given.group and given.time:
        raise messages.InputError("--group and --time exclude each other")
    saves_model = isinstance(given, options.Fit | options.Demo)
    outputs = [getattr(given, name, None) for name in ("out", "csv", "report")]
    for table in filter(None, outputs[saves_model:2]):
        if not table_files.is_parquet(table) and table.suffix.lower() in table_files.COMPRESSED[1:]:
            raise messages.InputError(f"{table} would not be compressed; write .csv or .csv.gz")
    inputs = (getattr(given, name, None) for name in ("model", "table"))
    files.check_outputs(*outputs, inputs=filter(None, inputs))
    needed = ["skops"] * (saves_model and outputs[0] is not None)
    needed += ["matplotlib", "jinja2"] * (outputs[2] is not None)
    device = messages.checked_name("device", getattr(given, "device", DEVICES[0]), DEVICES)
    for package in [*needed, *["torch"] * (device == "cuda")]:
        import_module(package)  # A missing one is reported before any work is done.


def problem_of(cells: table_files.Cells, given: options.Fit | options.Compare) -> Problem:
    """Return the problem of predicting the target of a table."""
    # Columns are shown without what learning needs.
    from mercer_command.problem import as_problem
    from mercer_command.target_column import read_order

    names = list(cells.frame.columns)
    return as_problem(
        cells,
        given.target,
        given.task,
        order=read_order(given.order, given.task),
        choices=read_choices(given.columns, names),
        missing=parse_missing(given.missing, names),
        group=given.group,
        time=given.time,
    )

"""What a command does with its results: it writes a report, and prints."""

from collections.abc import Sequence
from pathlib import Path

from mercer_command import messages, options, output
from mercer_command.messages import postponed
from mercer_command.output import Section, Text


def finish(
    given: options.Fit | options.Explain | options.Compare | options.Demo,
    titles: tuple[str, str, str],
    found: Sequence[Section],
    notes: Sequence[str],
    *,
    written: dict[str, Path | None],
    failures: list[str],
) -> None:
    """Write the report, print results, notes and files, and raise an error if there were failures.

    Parameters
    ----------
    given : Options
        Options with the file of the report, and on details.
    titles : (str, str, str)
        Name of the target, title of the report, and the line below it.
    found : sequence of Section
        Sections of the report, which the terminal shows too; of details, only if it is asked to.
    notes : sequence of str
    written : dict of str to Path or None
        Files that were written, by what they hold.
    failures : list of str
        Why other files were not written.
    """
    name, title, lead = titles
    if given.report is not None:
        from mercer_command.pages import write_page

        told = Section("Notes", [Text(note, "note") for note in notes])
        with postponed(failures, f"write the report {given.report}"):
            write_page(given.report, title, f"{lead}.", [*found, told] if notes else found)
            written["report"] = given.report
    output.print_line(f"{name}: {lead}")
    with_details = getattr(given, "details", False)
    output.show(one for one in found if with_details or not one.is_detail)
    output.print_notes(notes)
    for kind, path in written.items():
        if path is not None:
            output.print_line(f"{kind} in {path}")
    if failures:
        raise messages.InputError("; ".join(failures))

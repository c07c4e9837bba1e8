"""Results of a command: sections that several commands show, and what it prints at the end."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from mercer_command import explanation_sections, messages, models, output, sections
from mercer_command.contributions import Reasons
from mercer_command.output import Section, Text


def learned_sections(
    trial: models.Trial, learner: str = "", why: Reasons | None = None
) -> list[Section]:
    """Return the sections on the columns that matter, and on the kernel."""
    matter = explanation_sections.importance_section(trial, why)
    return [matter, sections.kernel_section(trial, learner)]


def note_sections(notes: list[str]) -> list[Section]:
    """Return a section with the notes, if there are any."""
    return [Section("Notes", [Text(note, "note") for note in notes])] if notes else []


def finish(
    headline: str,
    found: Iterable[Section],
    notes: Iterable[str],
    written: dict[str, Path | None],
    failures: Sequence[str] = (),
) -> None:
    """Print results, notes and written files, and raise an error if there were failures."""
    output.print_line(headline)
    output.show(found)
    output.print_notes(notes)
    for kind, path in written.items():
        if path is not None:
            output.print_line(f"{kind} in {path}")
    if failures:
        raise messages.InputError("; ".join(failures))

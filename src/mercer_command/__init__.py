"""The command `mercer`: it learns kernels from tables, reports on them, and predicts."""

import sys
import warnings
from io import TextIOWrapper
from typing import Any

from mercer_command.messages import one_line

__all__ = ["main"]


def _as_note(message: Warning | str, *_: Any, **__: Any) -> str:
    """Return a warning as a line for the user, without the file that it is issued in."""
    return f"note: {' '.join(str(message).split())}\n"


def main() -> None:
    """Run the command line, or say in one line which package is missing."""
    try:
        from mercer_command.app import app
    except ImportError as error:
        message = one_line(error)
        if message is None:
            raise
        sys.stderr.write(f"mercer: {message}\n")
        raise SystemExit(2) from None
    if not sys.warnoptions:
        warnings.formatwarning = _as_note
        for category in (FutureWarning, DeprecationWarning, RuntimeWarning):
            warnings.simplefilter("ignore", category)
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal's encoding lacks, such as a bar's, must not end the run.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    app(prog_name="mercer")

"""The command `mercer`: it learns kernels from tables, reports on them, and predicts."""

import sys
from io import TextIOWrapper

from mercer_command.messages import one_line

__all__ = ["main"]


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
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal's encoding lacks, such as a bar's, must not end the run.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    app(prog_name="mercer")

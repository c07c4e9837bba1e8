"""The command `mercer`: from a table to a learned kernel, a model, pictures and predictions."""

from __future__ import annotations

import sys
from io import TextIOWrapper

from mercer._cli.errors import one_line

__all__ = ["main"]


def main() -> None:
    """Run the command line; where the packages it needs are missing, say so in one line."""
    try:
        from mercer._cli.app import app
    except ImportError as error:
        message = one_line(error)
        if message is None:
            raise
        sys.stderr.write(f"mercer: {message}\n")
        raise SystemExit(2) from None
    for stream in (sys.stdout, sys.stderr):
        # Bars and signs that a terminal's encoding lacks must not end a run.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    app(prog_name="mercer")

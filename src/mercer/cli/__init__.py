"""The command `mercer`: from a table to a learned kernel, a model, pictures and predictions."""

from __future__ import annotations

import sys

from mercer.cli.errors import one_line

__all__ = ["main"]


def main() -> None:
    """Run the command line; where the packages it needs are missing, say so in one line."""
    try:
        from mercer.cli.app import app
    except ImportError as error:
        message = one_line(error)
        if message is None:
            raise
        sys.stderr.write(f"mercer: {message}\n")
        raise SystemExit(2) from None
    app(prog_name="mercer")

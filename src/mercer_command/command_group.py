"""The group of commands, which turns errors that a user can correct into one line."""

from __future__ import annotations

import sys
from typing import Any

import typer
from typer.core import TyperGroup

from mercer_command.errors import one_line

_INTERRUPTED = 130
"""Exit code of an interrupted run."""


class OneLineErrors(TyperGroup):
    """Commands that end with one readable line and exit code 2 if the input is invalid."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; print one line for an error that the user can correct."""
        try:
            code = super().main(*args, **{**kwargs, "standalone_mode": False})
        except (KeyboardInterrupt, typer.Abort):
            code, message = _INTERRUPTED, "interrupted"
        except Exception as error:
            line = one_line(error)
            if line is None:
                raise
            code, message = 2, line
        else:
            # Some versions of Typer turn an interruption into this exit code.
            if code != _INTERRUPTED:
                sys.exit(code if isinstance(code, int) else 0)
            message = "interrupted"
        sys.stderr.write(f"mercer: {message}\n")
        sys.exit(code)

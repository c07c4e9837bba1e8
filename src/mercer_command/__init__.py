"""The command `mercer`, which learns kernels from tables, reports on them, and predicts."""

import sys
import warnings
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Run the command line, with exit code 130 if it is interrupted."""
    try:
        app = _imported_app()
        app(prog_name="mercer")
    except KeyboardInterrupt:  # Short commands spend most of their time in imports.
        sys.stderr.write("mercer: interrupted\n")
        raise SystemExit(130) from None


def _imported_app() -> Any:
    """Import the command line, or print one line that names a missing package."""
    from mercer_command.messages import as_note, one_line

    try:
        from mercer_command.app import app
    except ImportError as error:
        message = one_line(error)
        if message is None:
            raise
        sys.stderr.write(f"mercer: {message}\n")
        raise SystemExit(2) from None
    if not sys.warnoptions:
        warnings.formatwarning = as_note
        for category in (FutureWarning, DeprecationWarning, RuntimeWarning):
            warnings.simplefilter("ignore", category)
    return app

"""The command line, which parses options and ends with one line if the input is invalid.

Nothing but the options is imported here, so that help is fast.
"""

import sys
from importlib import import_module
from inspect import Signature, getdoc
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from mercer import __version__
from mercer_command.messages import one_line, replace_on_output, visible
from mercer_command.options import Columns, Compare, Demo, Explain, Fit, Options, Predict


class OneLineErrors(TyperGroup):
    """Commands that end with one readable line and exit code 2 if the input is invalid."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; print one line for an error that the user can correct."""
        interrupted = 130
        replace_on_output()
        try:
            code = super().main(*args, **{**kwargs, "standalone_mode": False})
        except (KeyboardInterrupt, typer.Abort):
            code, message = interrupted, "interrupted"
        except Exception as error:
            line = one_line(error)
            if line is None:
                raise
            code, message = 2, line
        else:
            # Some versions of Typer turn an interruption into this exit code.
            if code != interrupted:
                sys.exit(code if isinstance(code, int) else 0)
            message = "interrupted"
        sys.stderr.write(f"mercer: {visible(message)}\n")
        sys.exit(code)


app = typer.Typer(
    cls=OneLineErrors,
    help="Learn a kernel from a table, show what was learned, and predict.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mercer {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _add_command(options: type[Options]) -> None:
    """Add a command with these options, which runs the module of its name in `commands`."""
    name = options.command()

    def run(**given: Any) -> None:
        import_module(f"mercer_command.commands.{name}_command").run(options(**given))

    run.__signature__ = Signature(options.parameters())  # type: ignore[attr-defined]
    app.command(name, help=getdoc(options))(run)


for _options in (Fit, Predict, Explain, Columns, Compare, Demo):
    _add_command(_options)

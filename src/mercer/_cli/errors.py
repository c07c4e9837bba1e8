"""Errors that the user can put right, in one readable line."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module


class InputError(Exception):
    """The input is at fault, and the message says how, in one line."""


def one_line(error: BaseException) -> str | None:
    """One readable line for an error that the user can put right.

    Parameters
    ----------
    error : BaseException

    Returns
    -------
    str or None
        None for an error that is a fault of the program: it keeps its traceback.
    """
    if isinstance(error, ImportError):
        # A missing part of an installed package is a fault of ours, or of the installation.
        if error.name is not None and "." in error.name:
            return None
        extra = "plot" if error.name == "matplotlib" else "cli"
        what = f"the package {error.name!r} is missing" if error.name else _first_line(error)
        return f'{what}; pip install "mercer[{extra}]" brings it'
    # Both the typer of today and the click beneath older versions format usage errors so.
    if hasattr(error, "format_message"):
        return f"{error.format_message()} (see mercer --help)".replace("\n", " ")
    if isinstance(error, InputError | OSError):
        return str(error).replace("\n", " ")
    if isinstance(error, MemoryError):
        return "out of memory; --max-rows learns from fewer rows"
    if isinstance(error, ValueError):
        return _first_line(error)
    return None


def check_packages(**needed: object) -> None:
    """Import optional packages, so that a missing one is known before any work.

    Parameters
    ----------
    **needed : object
        Names of packages; those whose value is None are not needed.

    Raises
    ------
    ModuleNotFoundError
        If a needed one is not installed.
    """
    for package, what_for in needed.items():
        if what_for is not None:
            import_module(package)


def listing(names: Iterable[object], *, most: int = 8) -> str:
    """Quoted names in one line, the first few of many.

    Examples
    --------
    >>> listing("abcd", most=2)
    "'a', 'b' and 2 more"
    """
    quoted = [f"'{name}'" for name in names]
    if len(quoted) <= most:
        return ", ".join(quoted)
    return f"{', '.join(quoted[:most])} and {len(quoted) - most} more"


def chosen(what: str, name: str, options: Iterable[str]) -> str:
    """The name, if it is one of the options.

    Raises
    ------
    InputError
        If it is not; the message lists the options, and names the nearest.
    """
    options = list(options)
    if name in options:
        return name
    near = get_close_matches(name, options, n=1)
    hint = f" (did you mean '{near[0]}'?)" if near else ""
    raise InputError(f"there is no {what} '{name}'{hint}; choose from {', '.join(options)}")


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip() if lines else type(error).__name__

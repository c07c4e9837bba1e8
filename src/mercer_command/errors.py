"""Errors and warnings for the user, each in one readable line."""

from __future__ import annotations

import re
import warnings
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import singledispatch
from importlib import import_module

_NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?")
"""This matches the numbers in a warning; warnings that differ in them alone are shown once."""

_EXTRAS = {"matplotlib": "plot", "dask": "dask", "distributed": "dask"}
"""Extras by which packages are installed; all others belong to `cli`."""


class InputError(Exception):
    """The user's input is invalid; the message says why, in one line."""


@singledispatch
def one_line(error: BaseException) -> str | None:
    """Return one readable line for an error that the user can correct.

    Parameters
    ----------
    error : BaseException

    Returns
    -------
    str or None
        None for a defect of the program, which keeps its traceback.
    """
    # Typer vendors click or imports it, depending on its version: their usage errors share this
    # method only.
    if hasattr(error, "format_message"):
        return f"{error.format_message()} (see mercer --help)".replace("\n", " ")
    return None


@one_line.register
def _(error: ImportError) -> str | None:
    # If a module inside an installed package is missing, the package or its installation is broken.
    if error.name is not None and "." in error.name:
        return None
    extra = _EXTRAS.get(error.name or "", "cli")
    problem = f"the package {error.name!r} is missing" if error.name else str(error)
    return f'{problem}; install it with pip install "mercer[{extra}]"'


@one_line.register
def _(error: InputError | OSError) -> str:
    return str(error).replace("\n", " ")


@one_line.register
def _(error: zlib.error) -> str:
    return f"a compressed file is damaged ({error})"


@one_line.register
def _(error: MemoryError) -> str:
    return f"out of memory ({str(error) or 'tables in Parquet files are read in parts'})"


@one_line.register
def _first_line(error: ValueError) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip() if lines else type(error).__name__


@contextmanager
def in_one_line(task: str) -> Iterator[None]:
    """Turn every error of the block into one that `one_line` describes.

    Parameters
    ----------
    task : str
        What the block does, such as "predict t.csv". Its errors are due to the files that it reads.

    Raises
    ------
    InputError
        In place of an error of which `one_line` says nothing.
    """
    try:
        yield
    except Exception as error:
        if one_line(error) is None:
            raise InputError(f"cannot {task} ({brief(error)})") from error
        raise


@contextmanager
def postponed(failures: list[str], task: str) -> Iterator[None]:
    """Let a command go on where a task at its end fails.

    Parameters
    ----------
    failures : list of str
        One line is appended if the block raises an exception; `check_failures` raises it later.
    task : str
        What the block does, such as "write the report r.html".

    Examples
    --------
    >>> failures = []
    >>> with postponed(failures, "divide"):
    ...     1 / 0
    >>> failures
    ['cannot divide (ZeroDivisionError: division by zero)']
    """
    try:
        yield
    except InputError as error:
        failures.append(brief(error))
    except Exception as error:
        failures.append(f"cannot {task} ({brief(error)})")


def check_failures(failures: list[str]) -> None:
    """Check that no postponed task failed.

    Raises
    ------
    InputError
        If one did.
    """
    if failures:
        raise InputError("; ".join(failures))


def brief(error: Exception) -> str:
    """Return one line for any error; its type's name precedes what a user cannot correct."""
    line = one_line(error)
    if line is not None:
        return line
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


@contextmanager
def collected_warnings(notes: list[str]) -> Iterator[None]:
    """Collect the warnings that are issued inside the block, in place of printing them.

    Parameters
    ----------
    notes : list of str
        When the block ends, the first line of each warning is appended. Of warnings that differ in
        numbers alone, such as those of several folds, only the first is.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    texts = [str(item.message).strip() for item in caught if issubclass(item.category, UserWarning)]
    lines: dict[str, str] = {}
    for line in (text.splitlines()[0] for text in texts if text):
        lines.setdefault(_NUMBER.sub("", line), line)
    notes += lines.values()


def check_packages(**needed: object) -> None:
    """Import optional packages, so that a missing one is reported before any work is done.

    Parameters
    ----------
    **needed : object
        The name of each package, with None as its value if the package is not needed.

    Raises
    ------
    ModuleNotFoundError
        If a package that is needed is not installed.
    """
    for package, purpose in needed.items():
        if purpose is not None:
            import_module(package)


def checked_name(kind: str, name: str, choices: Iterable[str]) -> str:
    """Return the name if it is among the choices.

    Raises
    ------
    InputError
        If it is not; the message lists the choices and suggests the most similar one.
    """
    choices = list(choices)
    if name in choices:
        return name
    similar = get_close_matches(name, choices, n=1)
    hint = f" (did you mean '{similar[0]}'?)" if similar else ""
    raise InputError(f"there is no {kind} '{name}'{hint}; choose from {', '.join(choices)}")

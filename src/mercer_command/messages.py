"""Messages for the user: errors and warnings in one line, and names from tables as safe text."""

import re
import sys
import warnings
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from io import TextIOWrapper

_EXTRAS = {"matplotlib": "plot", "dask": "dask", "distributed": "dask", "torch": "gpu"}
"""The extra that installs each of these packages; all other packages belong to `cli`."""


class InputError(Exception):
    """The user's input is invalid; the message says why, in one line."""


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
    # Depending on its version, Typer vendors click or imports it. The usage errors of both have
    # only this method in common.
    if hasattr(error, "format_message"):
        return f"{error.format_message()} (see mercer --help)".replace("\n", " ")
    match error:
        case ImportError() if re.search("failed to map|annot allocate memory", str(error)):
            return f"out of memory ({error})".replace("\n", " ")
        # If a module inside an installed package is missing, the installation is broken.
        case ImportError(name=str(name)) if "." in name:
            return None
        case ImportError(name=name):
            problem = f"the package {name!r} is missing" if name else str(error)
            extra = _EXTRAS.get(str(name), "cli")
            return f'{problem}; install it with pip install "mercer[{extra}]"'
        case InputError() | OSError():
            return str(error).replace("\n", " ")
        case zlib.error():
            return f"a compressed file is damaged ({error})"
        case MemoryError():
            return f"out of memory ({str(error) or 'tables in Parquet files are read in parts'})"
        case ValueError():
            lines = str(error).strip().splitlines()
            return lines[0].rstrip() if lines else type(error).__name__
    return None


def brief(error: Exception) -> str:
    """Return one line for any error, with the name of its type if the user cannot correct it."""
    lines = str(error).strip().splitlines()
    return one_line(error) or ": ".join([type(error).__name__, *lines[:1]])


@contextmanager
def in_one_line(task: str) -> Iterator[None]:
    """Convert every error of the block to one that `one_line` describes.

    Parameters
    ----------
    task : str
        What the block does, such as "predict t.csv". The files that it reads cause its errors.

    Raises
    ------
    InputError
        In place of an error that `one_line` does not describe.
    """
    try:
        yield
    except Exception as error:
        if one_line(error) is None:
            raise InputError(f"cannot {task} ({brief(error)})") from error
        raise


@contextmanager
def postponed(failures: list[str], task: str) -> Iterator[None]:
    """Let a command continue if a task at its end fails.

    Parameters
    ----------
    failures : list of str
        One line is appended if the block raises an exception.
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


@contextmanager
def collected_warnings(notes: list[str]) -> Iterator[None]:
    """Collect the warnings that are issued inside the block, instead of printing them.

    Parameters
    ----------
    notes : list of str
        When the block ends, the first line of each warning is appended, without its advice on
        arguments that the command lacks. Among warnings that differ only in numbers, such as those
        of several folds, only the first is kept.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    lines: dict[str, str] = {}
    for item in caught:
        if issubclass(item.category, UserWarning) and (text := str(item.message).strip()):
            line = re.sub(r": (?:set|raise|pass) .*$", ".", text.splitlines()[0])
            line = re.sub(r"\b[a-z_]+=(?=[-\d.]+)", "", line)
            lines.setdefault(re.sub(r"\d+(\.\d+)?(e[+-]?\d+)?", "", line), line)
    notes += lines.values()


def checked_name(kind: str, name: str, choices: Iterable[str]) -> str:
    """Return the name if it is among the choices.

    Raises
    ------
    InputError
        If the name is unknown. The message lists the choices and suggests the most similar one.
    """
    choices = list(choices)
    if name in choices:
        return name
    hint = did_you_mean(name, choices)
    raise InputError(f"there is no {kind} '{name}'{hint}; choose from {', '.join(choices)}")


def did_you_mean(name: str, names: Iterable[object]) -> str:
    """Return a question about the most similar of the names that exist, or an empty string.

    Parameters
    ----------
    name : str
        A name that does not exist. Case, and spaces around it, do not matter.
    names : iterable

    Examples
    --------
    >>> did_you_mean("AGE", ["size", "age"])
    " (did you mean 'age'?)"
    """
    texts = [str(one) for one in names]
    plain = [text.strip().casefold() for text in texts]
    similar = get_close_matches(name.strip().casefold(), plain, n=1)
    return f" (did you mean '{shown(texts[plain.index(similar[0])])}'?)" if similar else ""


def shown(name: object, *, longest: int = 60) -> str:
    r"""Return a name as text of one line, shortened in the middle if it is long.

    Line breaks become arrows; see `visible` for other characters that control a terminal.

    Parameters
    ----------
    name : object
    longest : int, default=60

    Examples
    --------
    >>> shown("two\nlines")
    'two↵lines'
    >>> shown("x" * 10_000, longest=11)
    'xxxxx…xxxxx'
    """
    text = str(name)
    if len(text) > longest:
        half = (longest - 1) // 2
        text = f"{text[:half]}…{text[-half:]}"
    return visible(re.sub(r"[\r\n]", "↵", text.replace("\t", " ")))


# Zero-width joiners and variation selectors are parts of emoji and of some scripts.
_INVISIBLE = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Pattern of characters that control a terminal, hide text or reverse its direction."""


def visible(text: str) -> str:
    r"""Write characters that control a terminal, hide text or reverse its direction as escapes.

    All output of the command, including its reports, passes through this function. Tabs and line
    breaks remain.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> print(visible("red \x1b[31m, reversed \u202e"))
    red \x1b[31m, reversed \u202e
    """
    return _INVISIBLE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def as_note(message: Warning | str, *_: object, **__: object) -> str:
    """Return a warning as a line for the user, without the name of the source file."""
    return f"note: {visible(' '.join(str(message).split()))}\n"


def listing(names: Iterable[object], *, most: int = 8) -> str:
    """Return the first names in quotes, and the number of the remaining names.

    Parameters
    ----------
    names : iterable
    most : int, default=8

    Examples
    --------
    >>> listing("abcd", most=2)
    "'a', 'b' and 2 more"
    """
    quoted = [f"'{shown(name)}'" for name in names]
    if len(quoted) <= most:
        return ", ".join(quoted)
    return f"{', '.join(quoted[:most])} and {len(quoted) - most} more"


def counted(number: float, noun: str, plural: str = "") -> str:
    """Return a number with its noun, in the singular for one.

    Parameters
    ----------
    number : int or float
    noun : str
    plural : str, default=""
        Plural of the noun; by default, the noun with an "s".

    Examples
    --------
    >>> counted(1, "row"), counted(2500, "row"), counted(0, "category", "categories")
    ('1 row', '2,500 rows', '0 categories')
    """
    return f"{number:,.10g} {noun if number == 1 else plural or noun + 's'}"


def replace_on_output() -> None:
    """Let stdout and stderr write a question mark for characters that their encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")

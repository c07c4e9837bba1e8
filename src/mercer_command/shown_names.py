"""Names and cells of tables as text that can be shown: on one line, and not too long."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

_LONGEST = 60
"""Longer names are shortened to this many characters where they are shown."""


def shown(name: object, *, longest: int = _LONGEST) -> str:
    r"""Return a name as text of one line, shortened in the middle if it is long.

    Line breaks become arrows, and other characters that control a terminal or reverse the
    direction of text become replacement characters.

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
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    if character in "\r\n":
        return "↵"
    if character == "\t":
        return " "
    # Zero-width joiners and variation selectors are parts of emoji and of some scripts.
    if unicodedata.category(character) in ("Cc", "Cf", "Cs") and character not in "\u200c\u200d":
        return "\N{REPLACEMENT CHARACTER}"
    return character


def listing(names: Iterable[object], *, most: int = 8) -> str:
    """Return the first names, quoted, and the number of the others.

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

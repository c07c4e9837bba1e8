"""Texts that stand for missing values in columns of text, and words that look like these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from mercer.preprocessing import is_text, missing_texts
from mercer_command.messages import counted, listing, shown
from mercer_command.values import Cells, spelling_key

Texts: TypeAlias = frozenset[str]

Counts: TypeAlias = tuple[tuple[str, int], ...]
"""Texts and the numbers of cells that hold them, the most frequent first."""

_WORDS: Texts = frozenset({"N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"})
"""Texts that stand for missing values, or are words such as a grade or the code of a country."""

_SIGNS: Texts = missing_texts("number") - _WORDS
"""Texts that stand for missing values among numbers, and are no words."""

EMPTY: Texts = frozenset({""})
"""What stands for a missing value where all other texts are words, as in files with types."""

MOST_LEVELS = 20
"""A word such as "None" is a class of the target if there are at most this many classes."""


def usual_texts(*, is_typed: bool) -> Texts:
    """Return the texts that stand for missing values in a column of text.

    Parameters
    ----------
    is_typed : bool
        Whether the table has types, and therefore missing values that are no texts.
    """
    return EMPTY if is_typed else missing_texts()


def missing_targets(cells: Cells, order: Sequence[str], *, is_typed: bool) -> Texts:
    """Return the texts that stand for missing values in a target of text.

    Parameters
    ----------
    cells : Series
        The target.
    order : sequence of str
        Grades of the option --order, which are all words; empty if there are none.
    is_typed : bool
        Whether the table has types, and therefore missing values that are no texts.

    Returns
    -------
    frozenset of str

    Notes
    -----
    Words such as "None" are classes if there are at most `MOST_LEVELS` classes. Signs such as "?"
    are missing values, as among numbers, unless fewer than two other classes remain or another
    class is a sign as well, as "+" beside "-".
    """
    usual = usual_texts(is_typed=is_typed)
    if not is_text(cells):
        return usual
    if order:
        named = {spelling_key(grade) for grade in order}
        return frozenset(text for text in usual | _SIGNS if spelling_key(text) not in named)
    levels = set(cells.dropna().drop_duplicates().str.strip()) - EMPTY
    if len(levels - _SIGNS) <= MOST_LEVELS:
        usual -= _WORDS
    others = levels - usual - _SIGNS
    has_signs = not all(any(map(str.isalnum, text)) for text in others)
    return usual if has_signs or len(others) < 2 else usual | _SIGNS


def words_in(cells: Cells) -> list[str]:
    """Return the texts that stand for missing values elsewhere, but are words in these cells.

    Parameters
    ----------
    cells : Series of str
        Known cells of a column of text, and missing values. Case and spaces do not matter.
    """
    known = {spelling_key(text) for text in cells.dropna().unique()}
    return sorted(text for text in missing_texts() - EMPTY if spelling_key(text) in known)


def counted_texts(cells: Cells, chosen: Cells) -> Counts:
    """Return the texts of some cells and their numbers, the most frequent first.

    Parameters
    ----------
    cells : Series of str
        A column of text.
    chosen : Series of bool
        Which cells are counted; empty ones are not.
    """
    texts = cells[chosen].dropna().str.strip()
    counts = texts[texts.ne("")].value_counts()
    return tuple((str(text), int(count)) for text, count in counts.items())


def dropped_words(dropped: Mapping[str, Counts]) -> list[str]:
    """Return a sentence on the texts that count as missing in columns, if there are any.

    Parameters
    ----------
    dropped : mapping from str to tuple of (str, int)
        These texts and the numbers of their cells, by column name.
    """
    names = [name for name, texts in dropped.items() if texts]
    if not names:
        return []
    words = dict.fromkeys(text for name in names for text, _ in dropped[name])
    return [
        f"{listing(words, most=4)} in {listing(names, most=4)} count as missing cells; --columns "
        f"'{shown(names[0])}=category' keeps such words of a column."
    ]


def target_words(name: str, dropped: Counts, known: Cells, order: Sequence[str]) -> list[str]:
    """Return sentences on the texts of a target that count as missing, or that look like these.

    Parameters
    ----------
    name : str
        Name of the target's column.
    dropped : tuple of (str, int)
        Texts that count as missing, and the numbers of their rows.
    known : Series
        The known cells of the target.
    order : sequence of str
        See `missing_targets`.
    """
    kept: Counts = ()
    if is_text(known) and not order:
        kept = counted_texts(known, known.isin(list(missing_texts("number"))))
    option = "--order" if order else f"--columns '{shown(name)}=category'"
    codes = ",".join(f"{shown(name)}={text}" for text, _ in kept)
    told = []
    for found, taken, advice in (
        (dropped, "a missing value", f"{option} can make it a class"),
        (kept, "a class", f"if it stands for a missing value, say --missing '{codes}'"),
    ):
        if found:
            rows = counted(sum(number for _, number in found), "row")
            texts = "one of " * (len(found) > 1) + listing((text for text, _ in found), most=4)
            said = f"In {rows}, '{shown(name)}' is {texts}, which is taken for {taken}"
            told.append(f"{said}; {advice}.")
    return told

"""Numbers in cells of text: recognition of their notation, and conversion."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from mercer._typing import Array

if TYPE_CHECKING:
    from pandas import Series

Decimal: TypeAlias = Literal["point", "comma"]

MISSING = frozenset(
    {
        "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
        "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
    }
)  # fmt: skip
"""Text that stands for a missing value in every column, as in ``pandas.read_csv``."""

MISSING_NUMBERS = MISSING | {
    "?", "-", "--", "---", ".", "..", "*",
    "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!",
}  # fmt: skip
"""Text that stands for a missing value among numbers, dates and times."""

READABLE = 0.95
"""A column is numbers, or dates, if this share of its known cells reads as such; the others count
as missing, and are named."""

_UNITS = "%‰$€£¥₹"
"""Signs that may stand before or after a number."""

_SPACES = (
    " '\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}\N{RIGHT SINGLE QUOTATION MARK}"
)
"""Characters that may separate thousands in either notation."""

_MINUS = "\N{MINUS SIGN}"
"""The typographic minus, which is read as a hyphen."""


def _number_pattern(decimal: str, group: str) -> str:
    """Return a pattern of numbers: a sign, grouped or plain digits, a fraction, an exponent.

    Accountants write negative numbers in parentheses, and some programs put the minus last.
    """
    grouped = "|".join(f"[1-9][0-9]{{0,2}}(?:[{mark}][0-9]{{3}})+" for mark in (group, _SPACES))
    whole = rf"(?:{grouped}|[0-9]+)(?:{decimal}[0-9]*)?|{decimal}[0-9]+"
    signed = rf"[+\-{_MINUS}]?(?:{whole})(?:[eE][+\-]?[0-9]+)?"
    return rf"{signed}|\((?:{whole})\)|(?:{whole})-"


_PATTERNS: dict[Decimal, str] = {
    "point": _number_pattern(r"\.", ","),
    "comma": _number_pattern(",", "."),
}
"""Patterns of numbers by the sign of their decimals."""

_UNIT_PATTERN = rf"(?:^|(?<=^[+\-{_MINUS}(]))[{_UNITS}]\s*|\s*[{_UNITS}](?=\)?$)"
"""This matches a sign of a unit, which is removed before a number is read."""

_REMOVED: dict[Decimal, str] = {"point": rf"[,{_SPACES}]", "comma": rf"[.{_SPACES}]"}
"""What separates thousands, which is removed before a number is read."""

_MARKS = {",": ",", ".": r"\.", " ": f"[{_SPACES}]", "(": r"^\(", "-": r"[0-9]-$"}
"""Patterns of what is said of the notation of numbers."""

_INFINITE = r"[+-]?(?:inf|infinity)"
"""This matches infinite numbers in words."""


@dataclass(frozen=True)
class Readings:
    """The ways in which the cells of a column can be read as numbers.

    Attributes
    ----------
    shares : dict of {"point", "comma"} to float
        Share of the distinct known cells that read as numbers with this decimal mark.
    differ : bool
        Whether both marks read the same cells, but as different numbers.
    unit : str
        A currency or percent sign that stands in the cells.
    marks : str
        Which of comma, point, space, parenthesis and a last minus stand in the cells.
    """

    shares: dict[Decimal, float]
    differ: bool
    unit: str
    marks: str

    @property
    def decimals(self) -> list[Decimal]:
        """The decimal marks with which the column is numbers, the better one first."""
        best = max(self.shares.values())
        return [d for d, share in self.shares.items() if share == best and share >= READABLE]

    def facts(self, decimal: Decimal) -> list[str]:
        """Describe the notation with a decimal mark, where it is not the usual one.

        Parameters
        ----------
        decimal : {"point", "comma"}
        """
        facts = ["decimal comma"] if decimal == "comma" and "," in self.marks else []
        group = {"point": ",", "comma": "."}[decimal]
        if group in self.marks:
            facts.append(f"{'commas' if group == ',' else 'points'} between thousands")
        if " " in self.marks:
            facts.append("spaces between thousands")
        if "(" in self.marks:
            facts.append("negative in parentheses")
        if "-" in self.marks:
            facts.append("the minus comes last")
        return [*facts, *([f"in {self.unit}"] if self.unit else [])]


def known_cells(cells: Series[Any], missing: Iterable[str] = MISSING) -> Series[Any]:
    """Return the distinct cells that are not missing, without spaces around them.

    Parameters
    ----------
    cells : Series of str
    missing : iterable of str
    """
    distinct = cells.drop_duplicates().dropna().str.strip().drop_duplicates()
    return distinct[~distinct.isin(list(missing))]


def number_readings(cells: Series[Any]) -> Readings | None:
    """Find how cells can be read as numbers.

    Parameters
    ----------
    cells : Series of str
        Distinct cells that are not missing; see `known_cells`.

    Returns
    -------
    Readings or None
        None if the cells are no numbers.
    """
    if not len(cells):
        return None
    bare, units = _without_unit(cells)
    if len(units) > 1:
        return None
    found = {decimal: _reads(bare, decimal) for decimal in _PATTERNS}
    shares = {decimal: float(np.mean(reads)) for decimal, reads in found.items()}
    if max(shares.values()) < READABLE:
        return None
    both = bare[found["point"] & found["comma"]]
    differ = not np.array_equal(_converted(both, "point"), _converted(both, "comma"))
    marks = "".join(
        mark for mark, pattern in _MARKS.items() if bare.str.contains(pattern, regex=True).any()
    )
    return Readings(shares, differ, next(iter(units), ""), marks)


def parse_numbers(cells: Series[Any], decimal: Decimal) -> Array:
    """Convert cells to numbers; those that are none become NaN.

    Parameters
    ----------
    cells : Series of str, of length n_rows
    decimal : {"point", "comma"}

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    bare, _ = _without_unit(cells.fillna("").str.strip())
    out = np.full(len(bare), np.nan)
    reads = _reads(bare, decimal)
    out[reads] = _converted(bare[reads], decimal)
    return out


def _without_unit(cells: Series[Any]) -> tuple[Series[Any], set[str]]:
    marked = cells.str.contains(_UNIT_PATTERN, regex=True).to_numpy(bool)
    if not marked.any():
        return cells, set()
    units = set("".join(cells[marked].unique())) & set(_UNITS)
    return cells.str.replace(_UNIT_PATTERN, "", regex=True), units


def _reads(cells: Series[Any], decimal: Decimal) -> Array:
    plain = cells.str.fullmatch(_PATTERNS[decimal]).to_numpy(bool)
    return plain | cells.str.fullmatch(_INFINITE, case=False).to_numpy(bool)


def _converted(cells: Series[Any], decimal: Decimal) -> Array:
    text = cells.str.replace(_REMOVED[decimal], "", regex=True).str.replace(_MINUS, "-")
    text = text.str.replace(r"^\((.*)\)$|^(.*)-$", r"-\1\2", regex=True)
    return text.str.replace(",", ".").to_numpy(dtype=object).astype(float)

"""Tables, bars and short texts by which notebooks show results."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from html import escape
from numbers import Integral, Real
from typing import Any, cast

import numpy as np

_STYLE = (
    "font:13px/1.5 system-ui,sans-serif;border:1px solid #8886;border-radius:6px;"
    "padding:.6em .9em;margin:.5em 0;max-width:46em;overflow-x:auto;overflow-wrap:break-word"
)

_ROW = '<tr style="background:none">'
"""Stripes of notebooks would have other colors than the box that a table may stand in."""

_INVISIBLE = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Pattern of characters that control a terminal, hide text or reverse its direction."""


def visible(text: str) -> str:
    r"""Escape characters that control a terminal, hide text or reverse its direction.

    Tabs and line ends are kept.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> print(visible("red \x1b[31m, reversed \u202e"))
    red \x1b[31m, reversed \u202e
    """
    return _INVISIBLE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


@dataclass(frozen=True)
class Bar:
    """A cell that shows a share as a bar, which is hollow if the share is negative.

    Attributes
    ----------
    share : float
        Length of the bar, as a share of the cell's width; NaN for no bar.
    """

    share: float


class Number(str):
    """A text that stands at the right of its cell, as numbers do."""


def number(value: float) -> Number:
    """Format a number with four leading digits, and without an exponent if it is of usual size.

    Parameters
    ----------
    value : float

    Examples
    --------
    >>> number(0.123456), number(123456.7), number(float("nan")), number(-2.0)
    ('0.1235', '123,457', 'NaN', '-2')
    """
    if np.isnan(value):
        return Number("NaN")
    return Number(f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}")


def shortened(text: object, longest: int = 40) -> str:
    """Return a text, truncated if it is too long for a cell.

    Parameters
    ----------
    text : object
    longest : int, default=40
        Maximum number of characters.
    """
    found = str(text)
    return found if len(found) <= longest else f"{found[: longest - 1]}…"


def listed(names: Iterable[object], most: int = 4) -> str:
    """Return the first names, and the number of the remaining names.

    Parameters
    ----------
    names : iterable
    most : int, default=4
        Maximum number of names.

    Examples
    --------
    >>> listed(["age", "sex", "bmi"], 2)
    'age, sex and 1 more'
    """
    found = [shortened(name, 30) for name in names]
    rest = len(found) - most
    return ", ".join(found[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def table(
    rows: Sequence[Sequence[object]],
    header: Sequence[str] = (),
    *,
    title: str = "",
    n_rows: int | None = None,
) -> str:
    """Return rows as an HTML table that inherits the font and the colors of the page.

    Parameters
    ----------
    rows : sequence of sequence
        Cells are numbers, which stand at the right, bars, or texts, which are escaped.
    header : sequence of str, default=()
    title : str, default=""
    n_rows : int, default=None
        Number of rows of the whole table, if only the first of them are shown.
    """
    parts = []
    if title:
        # A caption would be as narrow as the table.
        parts.append(f'<div style="font-weight:600">{escape(title)}</div>')
    label = f' aria-label="{escape(title)}"' if title else ""
    style = "border-collapse:collapse;font:inherit;color:inherit;table-layout:auto"
    parts.append(f'<table{label} style="{style}">')
    if header:
        sides = ["left" if _is_text(cell) else "right" for cell in (rows or [header])[0]]
        cells = [
            f'<th style="text-align:{side};padding:0 .6em 0 0">{escape(name)}</th>'
            for name, side in zip(header, sides, strict=True)
        ]
        parts.append(f"<thead>{_ROW}{''.join(cells)}</tr></thead>")
    parts += [f"{_ROW}{''.join(map(_cell, row))}</tr>" for row in rows]
    rest = 0 if n_rows is None else n_rows - len(rows)
    if rest > 0:
        style = f'colspan="{max((len(row) for row in rows), default=1)}" style="text-align:left"'
        parts.append(f"{_ROW}<td {style}>and {rest:,} more</td></tr>")
    return "".join([*parts, "</table>"])


def _cell(value: object) -> str:
    """Return a number, a bar or a text as a cell of a table."""
    if isinstance(value, Bar):
        width = 0.0 if np.isnan(value.share) else 100.0 * min(abs(value.share), 1.0)
        fill = "background:currentColor" if value.share >= 0.0 else "border:1px solid currentColor"
        return (
            '<td style="width:9em;min-width:4em;text-align:left"><span role="presentation" style="'
            f"display:inline-block;box-sizing:border-box;height:.7em;{fill};opacity:.55;"
            f'width:{width:.1f}%"></span></td>'
        )
    if isinstance(value, Real) and not isinstance(value, Integral):
        value = number(float(value))
    style = "text-align:left" if _is_text(value) else "text-align:right;white-space:nowrap"
    return f'<td style="{style};padding:0 .6em 0 0">{escape(str(value))}</td>'


def _is_text(value: object) -> bool:
    return isinstance(value, str | Bar) and not isinstance(value, Number)


def sentence(text: str) -> str:
    """Return a text as an HTML element of its own.

    Parameters
    ----------
    text : str
    """
    return f"<div>{escape(text)}</div>"


def card(parts: Iterable[str]) -> str:
    """Return HTML elements in a frame, with invisible characters as escapes.

    Parameters
    ----------
    parts : iterable of str
        Elements, whose texts are escaped.
    """
    return visible(f'<div class="mercer-card" style="{_STYLE}">{"".join(parts)}</div>')


class NotebookResult:
    """Base class of results: a short text in terminals, and a small table in notebooks."""

    def __repr__(self) -> str:
        names = [field.name for field in fields(cast(Any, self))]
        shown = [f"{name}={_short(getattr(self, name))}" for name in names]
        return visible(f"{type(self).__name__}({', '.join(shown)})")

    def _repr_html_(self) -> str:
        return card(self._shown())

    def _shown(self) -> list[str]:
        """Return the HTML elements of the table: by default, a row for each field."""
        names = [field.name for field in fields(cast(Any, self))]
        return [table([(name, _short(getattr(self, name))) for name in names])]


def _short(value: object) -> str:
    """Return a value as a short text: arrays and long containers by their sizes."""
    if isinstance(shape := getattr(value, "shape", None), tuple) and shape:
        return f"<{type(value).__name__} of shape {shape}>"
    if isinstance(value, Real) and not isinstance(value, Integral):
        return number(float(value))
    text = repr(value)
    if isinstance(value, str) or value is None:
        return shortened(text)
    # Some texts hold addresses in memory, which say nothing.
    if len(text) <= 80 and " at 0x" not in text:
        return text
    size = f" of {len(value):,}" if isinstance(value, list | tuple | dict) else ""
    return f"<{type(value).__name__}{size}>"

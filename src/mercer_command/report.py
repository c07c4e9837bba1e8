"""Sections of tables, lines and figures, and the HTML page that shows them with its style."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from html import escape
from io import BytesIO
from itertools import groupby
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, TypeAlias

from mercer import __version__
from mercer_command.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes
    ----------
    header : sequence of str
    rows : sequence of sequences of str
    numeric : collection of int
        Positions of the columns of numbers, which are aligned to the right.
    bold : collection of int
        Positions of the rows that stand out.
    lengths : sequence of float
        Lengths of bars beside the rows, in the terminal.
    n_shown : int or None
        The terminal shows this number of rows; None if all.
    summary : str
        A table with a summary is for reports only, which show it on demand below its summary.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Collection[int] = ()
    bold: Collection[int] = ()
    lengths: Sequence[float] = ()
    n_shown: int | None = None
    summary: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure of a report.

    Attributes
    ----------
    draw : callable
        It draws on the axes that it is passed.
    caption : str
    height : float
        In inches; the width is 5.6.
    """

    draw: Callable[[Axes], Any]
    caption: str
    height: float = 3.8


@dataclass(frozen=True)
class Text:
    """A paragraph of a report.

    Attributes
    ----------
    text : str
    kind : {"p", "note", "code", "warning"}
        The terminal shows warnings only.
    """

    text: str
    kind: str = "p"


# Lines, tables and warnings are shown in the terminal and in reports; other parts in reports.
Part: TypeAlias = str | Table | Figure | Text


@dataclass(frozen=True)
class Section:
    """A part of a result below a headline.

    Attributes
    ----------
    title : str
    parts : sequence of Part
    """

    title: str
    parts: Sequence[Part] = field(default_factory=list)


# Colors of text, of what is less important, and of lines; dark pages replace them.
INK, SOFT, LINE = "#1d2733", "#5b6875", "#e3e8ed"

COLORS = ("#2f6f9f", "#c0531e", "#3b8a5a", "#8a5ea8", "#9a7b1f")
"""Colors of several curves, which color-blind people can tell apart with the legend's order."""

# The colors of marks, and of what stands out.
ACCENT, WARM = COLORS[:2]

_VARIABLES = {INK: "--ink", SOFT: "--soft", LINE: "--line", ACCENT: "--accent", WARM: "--warm"}
"""The variables of the page's style that these colors stand for."""


def write_page(path: Path, title: str, lead: str, sections: Iterable[Section]) -> None:
    """Write a page.

    Parameters
    ----------
    path : Path
    title, lead : str
        Plain text of the headline and of the line below it.
    sections : iterable of Section
    """
    template = Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))
    body = "\n".join(f"<h2>{escape(one.title)}</h2>{_parts(one.parts)}" for one in sections)
    made_by = f"mercer {__version__}"
    page = template.substitute(title=escape(title), lead=escape(lead), body=body, made_by=made_by)
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _parts(parts: Sequence[Part]) -> str:
    """Return the parts of a section; consecutive figures stand beside each other."""
    return "".join(
        f'<div class="figures">{"".join(map(_element, group))}</div>'
        if beside
        else "".join(map(_element, group))
        for beside, group in groupby(parts, lambda part: isinstance(part, Figure))
    )


_PARAGRAPHS = {
    "p": "<p>{}</p>",
    "note": '<p class="note">{}</p>',
    "code": "<pre><code>{}</code></pre>",
    "warning": '<p class="warning">Warning: {}.</p>',
}
"""Elements of a page for paragraphs of each kind."""


@singledispatch
def _element(part: Any) -> str:
    """Return an element of a page for a part of a section."""
    raise TypeError(type(part))


@_element.register
def _(part: str) -> str:
    return f"<p>{escape(part[:1].upper() + part[1:])}.</p>"


@_element.register
def _(part: Text) -> str:
    return _PARAGRAPHS[part.kind].format(escape(part.text))


@_element.register
def _(part: Figure) -> str:
    return f"<figure>{svg(part)}<figcaption>{escape(part.caption)}</figcaption></figure>"


@_element.register
def _(table: Table) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        kinds = [' class="n"' if c in table.numeric else "" for c in range(len(cells))]
        return "".join(
            f"<{tag}{kind}>{escape(cell)}</{tag}>" for cell, kind in zip(cells, kinds, strict=True)
        )

    lines = (
        f"<tr{' class=bold' * (r in table.bold)}>{line(cells, 'td')}</tr>"
        for r, cells in enumerate(table.rows)
    )
    head = f"<thead><tr>{line(table.header, 'th')}</tr></thead>"
    sheet = f'<div class="sheet"><table>{head}<tbody>{"".join(lines)}</tbody></table></div>'
    if not table.summary:
        return sheet
    return f"<details><summary>{escape(table.summary)}</summary>{sheet}</details>"


def svg(figure: Figure) -> str:
    """Draw a figure as an element of a page, in the colors of the page.

    Parameters
    ----------
    figure : Figure

    Returns
    -------
    str
        ``<svg ...>...</svg>``
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Drawing

    file = BytesIO()
    with rc_context(fname=Path(__file__).with_name("figures.mplstyle")), warnings.catch_warnings():
        # The browser has glyphs that matplotlib's font lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        # Pyplot would keep the figure in memory, and may need a screen.
        drawing = Drawing(figsize=(5.6, figure.height), layout="constrained")
        figure.draw(drawing.subplots())
        drawing.savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue().decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    for color, variable in _VARIABLES.items():
        text = text.replace(f": {color}", f": var({variable})")
    return text

"""Sections of tables, lines and figures as HTML pages."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from functools import partial
from html import escape
from io import BytesIO
from itertools import groupby
from pathlib import Path
from string import Template
from textwrap import wrap
from typing import TYPE_CHECKING

from mercer import __version__
from mercer_command.files import replacing
from mercer_command.messages import visible
from mercer_command.output import (
    ACCENT,
    FIGURE_WIDTH,
    INK,
    LINE,
    SOFT,
    WARM,
    Figure,
    Folded,
    Part,
    Section,
    Table,
    Text,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_VARIABLES = {INK: "--ink", SOFT: "--soft", LINE: "--line", ACCENT: "--accent", WARM: "--warm"}
"""Variables of the page's style that replace these colors."""


def write_page(path: Path, title: str, lead: str, sections: Iterable[Section]) -> None:
    """Write an HTML page.

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
        temporary.write_text(visible(page), encoding="utf-8")


def _parts(parts: Sequence[Part]) -> str:
    """Return the parts of a section as HTML; consecutive figures are side by side."""
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
    "summary": '<p class="summary">{}</p>',
}
"""HTML elements for each kind of paragraph."""


def _element(part: Part) -> str:
    """Return the HTML element for a part of a section."""
    if isinstance(part, str):
        return f"<p>{_text(part[:1].upper() + part[1:])}.</p>"
    if isinstance(part, Text):
        return _PARAGRAPHS[part.kind].format(_text(part.text))
    if isinstance(part, Folded):
        summary = f"<summary>{escape(part.summary)}</summary>"
        return f"<details>{summary}{_parts(part.parts)}</details>"
    if isinstance(part, Figure):
        heading = "".join(f"<p class=heading>{escape(line)}</p>" for line in part.heading)
        caption = f"<figcaption>{escape(part.caption)}</figcaption>"
        return f"<figure>{heading}{_svg(part)}{caption}</figure>"
    return _table_element(part)


def _text(text: str) -> str:
    """Return a text as HTML in which no line breaks after the hyphens of an option."""
    return re.sub(r"(?<![\w-])--[a-z][a-z-]*", r"<span class=option>\g<0></span>", escape(text))


def _cell(text: str) -> str:
    """Return a cell as HTML in which lines may break within names such as total_rooms."""
    return re.sub(r"(?<=[_/])(?=\w)|(?<=[a-z])(?=[A-Z])", "<wbr>", _text(text))


def _table_element(table: Table) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        kinds = [' class="n"' if c in table.numeric else "" for c in range(len(cells))]
        return "".join(
            f"<{tag}{kind}>{_cell(cell)}</{tag}>" for cell, kind in zip(cells, kinds, strict=True)
        )

    lines = (
        f"<tr{' class=bold' * (r in table.bold)}>{line(cells, 'td')}</tr>"
        for r, cells in enumerate(table.rows)
    )
    head = f"<thead><tr>{line(table.header, 'th')}</tr></thead>"
    return f'<div class="sheet"><table>{head}<tbody>{"".join(lines)}</tbody></table></div>'


def _svg(figure: Figure) -> str:
    """Draw a figure as an ``<svg>`` element in the colors of the page."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Drawing

    file = BytesIO()
    with rc_context(fname=Path(__file__).with_name("figures.mplstyle")), warnings.catch_warnings():
        # The browser has glyphs that matplotlib's font lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        # Pyplot would keep the figure in memory, and may need a screen.
        drawing = Drawing(figsize=(FIGURE_WIDTH, figure.height), layout="constrained")
        figure.draw(drawing.subplots())
        for ax in drawing.axes:  # Axes have space for this many letters of the browser's font.
            ax.set_title("\n".join(wrap(ax.get_title(), 30)))
            ax.set_xlabel("\n".join(wrap(ax.get_xlabel(), 36)))
            ax.set_ylabel("\n".join(wrap(ax.get_ylabel(), 28)))
        _keep_inside(drawing)
        drawing.savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue().decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    for color, variable in _VARIABLES.items():
        text = text.replace(f": {color}", f": var({variable})")
    return text


def _keep_inside(drawing: Drawing) -> None:
    """Align titles and labels to the right of their axes where they would leave the figure."""
    drawing.draw_without_rendering()
    for ax in drawing.axes:
        for text, align in (
            (ax.title, partial(ax.set_title, ax.get_title(), loc="right")),
            (ax.xaxis.label, partial(ax.set_xlabel, ax.get_xlabel(), loc="right")),
        ):
            if text.get_window_extent().x1 > drawing.bbox.x1:
                text.set_text("")
                align()

"""Reports in HTML: a page with the sections of a result, which embeds its figures and style."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from html import escape
from io import BytesIO
from itertools import groupby
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from mercer import __version__
from mercer_command.files import replacing
from mercer_command.result import Figure, Folded, Part, Section, Table

if TYPE_CHECKING:
    from matplotlib.axis import Axis

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
        f'<div class="figures">{"".join(map(_part, group))}</div>'
        if beside
        else "".join(map(_part, group))
        for beside, group in groupby(parts, lambda part: isinstance(part, Figure))
    )


def _part(part: Part) -> str:
    if isinstance(part, str):
        return f"<p>{escape(part[:1].upper() + part[1:])}.</p>"
    if isinstance(part, Table):
        return _table(part)
    if isinstance(part, Figure):
        return f"<figure>{svg(part)}<figcaption>{escape(part.caption)}</figcaption></figure>"
    if isinstance(part, Folded):
        inner = _table(part.table)
        return f"<details><summary>{escape(part.summary)}</summary>{inner}</details>"
    text = escape(part.text)
    if part.kind == "code":
        return f"<pre><code>{text}</code></pre>"
    if part.kind == "warning":
        return f'<p class="warning">Warning: {text}.</p>'
    return f'<p class="note">{text}</p>' if part.kind == "note" else f"<p>{text}</p>"


def _table(table: Table) -> str:
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
    return f'<div class="sheet"><table>{head}<tbody>{"".join(lines)}</tbody></table></div>'


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


def label_dates(axis: Axis) -> None:
    """Label an axis of days since 1970 by dates.

    Parameters
    ----------
    axis : matplotlib.axis.Axis
    """
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(maxticks=6)  # type: ignore[no-untyped-call]
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]

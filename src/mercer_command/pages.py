"""Sections of tables, lines and figures as HTML pages, by the template `page.html`."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from textwrap import wrap

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup, escape

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
    Section,
    Table,
)

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
    page = _environment().get_template("page.html")
    text = page.render(
        title=title, lead=lead, sections=list(sections), made_by=f"mercer {__version__}"
    )
    with replacing(path) as temporary:
        temporary.write_text(visible(text), encoding="utf-8")


def _environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True
    )
    found.filters |= {
        "text": _text,
        "cell": _cell,
        "sentence": _sentence,
        "bar": _bar,
        "picture": _picture,
    }
    kinds = {"table": Table, "figure": Figure, "folded": Folded}
    found.tests |= {
        name: lambda part, kind=kind: isinstance(part, kind) for name, kind in kinds.items()
    }
    return found


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _text(text: str) -> Markup:
    """Return a text in which no line breaks after the hyphens of an option."""
    return _with_options(str(escape(text)))


def _cell(text: str) -> Markup:
    """Return a cell in which lines may also break within names such as total_rooms."""
    breaks = r"(?<=[_/])(?=\w)|(?<=[a-z])(?=[A-Z])"
    return _with_options(re.sub(breaks, "<wbr>", str(escape(text))))


def _with_options(html: str) -> Markup:
    option = r"(?<![\w-])--[a-z][a-z-]*"
    return Markup(re.sub(option, r"<span class=option>\g<0></span>", html))


def _bar(table: Table, row: int) -> Markup:
    """Return the bar beside a row of a table."""
    length, longest = table.lengths[row], max(map(abs, table.lengths)) or 1.0
    kind = " class=less" * (length < 0.0)
    return Markup(f'<i{kind} style="width:{100.0 * abs(length) / longest:.1f}%"></i>')


def _picture(figure: Figure) -> Markup:
    """Draw a figure as an ``<svg>`` element in the colors of the page."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Drawing

    file = BytesIO()
    with rc_context(fname=Path(__file__).with_name("figures.mplstyle")), warnings.catch_warnings():
        # The browser has glyphs that matplotlib's font lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        # Pyplot would keep the figure in memory, and may need a screen.
        drawing = Drawing(figsize=(FIGURE_WIDTH, figure.height), layout="constrained")
        ax = drawing.subplots()
        figure.draw(ax)
        # Titles and labels of the figure have its width, and its axes may be narrow.
        for text, write, letters in (
            (ax.title, drawing.suptitle, 40),
            (ax.xaxis.label, drawing.supxlabel, 50),
        ):
            style = {"fontsize": text.get_fontsize(), "fontweight": text.get_fontweight()}
            write("\n".join(wrap(text.get_text(), letters)), color=text.get_color(), **style)
            text.set_text("")
        ax.set_ylabel("\n".join(wrap(ax.get_ylabel(), 28)))
        drawing.savefig(file, format="svg", metadata={"Date": None})
    svg = file.getvalue().decode()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    for color, variable in _VARIABLES.items():
        svg = svg.replace(f": {color}", f": var({variable})")
    return Markup(svg)

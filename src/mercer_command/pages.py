"""Sections of tables, lines and figures as HTML pages, by the template `page.html`."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from io import BytesIO
from itertools import count
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from mercer import __version__
from mercer_command.files import replacing
from mercer_command.messages import visible
from mercer_command.output import Figure, Section

_WIDTH = 4.4
"""Width of figures in inches. In a window of 400 pixels, their letters then are 11 pixels high."""

_VARIABLES = {
    "#1d2733": "--ink",
    "#000000": "--ink",
    "#5b6875": "--soft",
    "#e3e8ed": "--line",
    "#2f6f9f": "--accent",
    "#c0531e": "--warm",
}
"""Variables of the page's style that replace these colors of `pictures.mplstyle`, and black."""


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
    numbers = count(1)

    def picture(figure: Figure) -> Markup:
        return _picture(figure, next(numbers))

    found.filters["picture"] = picture
    return found


def _picture(figure: Figure, number: int) -> Markup:
    """Draw a figure as an ``<svg>`` element in the colors of the page.

    Its number is part of all its identifiers, which are then unique on the page.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Drawing

    file = BytesIO()
    with rc_context(fname=Path(__file__).with_name("pictures.mplstyle")), warnings.catch_warnings():
        # The browser has glyphs that matplotlib's font lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        # Pyplot would keep the figure in memory, and may need a screen.
        drawing = Drawing(figsize=(_WIDTH, figure.height), layout="constrained")
        ax = drawing.subplots()
        figure.draw(ax)
        for text in (ax.title, ax.xaxis.label, ax.yaxis.label):
            text.set_wrap(True)
        drawing.savefig(file, format="svg", metadata={"Date": None})
    svg = file.getvalue().decode()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' id="|href="#|url\(#', rf"\g<0>p{number}-", svg)
    for color, variable in _VARIABLES.items():
        svg = svg.replace(f": {color}", f": var({variable})")
    return Markup(svg)

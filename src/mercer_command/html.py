"""Elements of an HTML report, and a page that embeds its figures and style."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from mercer_command.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

INK, SOFT, LINE = "#1d2733", "#5b6875", "#e3e8ed"
"""Colors of text, of what is less important, and of lines; dark pages replace them."""

WARM = "#c0531e"
"""The color of what stands out."""

COLORS = ("#2f6f9f", "#c0531e", "#3b8a5a", "#8a5ea8", "#9a7b1f")
"""Colors of several curves, which color-blind people can tell apart with the legend's order."""

_VARIABLES = {INK: "--ink", SOFT: "--soft", LINE: "--line", COLORS[0]: "--accent", WARM: "--warm"}
"""The variables of the page's style that these colors stand for."""

_STYLE: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": LINE,
    "font.size": 10,
    "svg.hashsalt": "mercer",
    # The reader's fonts have characters of more scripts than matplotlib's.
    "svg.fonttype": "none",
    # Names of columns and classes are text, whatever dollar signs they have.
    "text.parse_math": False,
}
"""Matplotlib settings of all figures; the salt makes the files of equal figures equal."""


def write_page(path: Path, title: str, lead: str, body: Iterable[str]) -> None:
    """Write a page.

    Parameters
    ----------
    path : Path
    title, lead : str
        Plain text of the headline and of the line below it.
    body : iterable of str
        HTML of the other functions of this module.
    """
    try:
        made_by = f"mercer {version('mercer')}"
    except PackageNotFoundError:  # The package is not installed but run from its source tree.
        made_by = "mercer"
    template = Template(files("mercer_command").joinpath("page.html").read_text(encoding="utf-8"))
    page = template.substitute(
        title=escape(title), lead=escape(lead), body="\n".join(body), made_by=escape(made_by)
    )
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def cards(entries: Iterable[tuple[str, str]]) -> str:
    """Return boxes, each with a value and its description."""
    inner = (
        f'<div class="card"><b>{escape(value)}</b><span>{escape(description)}</span></div>'
        for value, description in entries
    )
    return f'<div class="cards">{"".join(inner)}</div>'


def heading(text: str) -> str:
    """Return the headline of a section."""
    return f"<h2>{escape(text)}</h2>"


def paragraph(text: str) -> str:
    """Return a paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def notes_section(notes: Iterable[str]) -> str:
    """Return a section with notes, or nothing if there are none."""
    inner = "".join(f'<p class="note">{escape(note)}</p>' for note in notes)
    return f"{heading('Notes')}{inner}" if inner else ""


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numeric: Collection[int] = (),
    best: int | None = None,
) -> str:
    """Return a table.

    Parameters
    ----------
    header : sequence of str
    rows : iterable of sequences of str
    numeric : collection of int, default=()
        Positions of the columns of numbers, which are aligned to the right.
    best : int, default=None
        Position of the row that is set in bold.
    """

    def line(cells: Sequence[str], tag: str) -> str:
        kinds = [' class="n"' if c in numeric else "" for c in range(len(cells))]
        return "".join(
            f"<{tag}{kind}>{escape(cell)}</{tag}>" for cell, kind in zip(cells, kinds, strict=True)
        )

    lines = (
        f"<tr{' class=best' * (r == best)}>{line(cells, 'td')}</tr>" for r, cells in enumerate(rows)
    )
    head = f"<thead><tr>{line(header, 'th')}</tr></thead>"
    return f'<div class="sheet"><table>{head}<tbody>{"".join(lines)}</tbody></table></div>'


def figures(drawn: Iterable[tuple[str, str]]) -> str:
    """Return figures of :func:`figure`, each with its caption."""
    inner = (
        f"<figure>{source}<figcaption>{escape(caption)}</figcaption></figure>"
        for source, caption in drawn
    )
    return f'<div class="figures">{"".join(inner)}</div>'


def figure(draw: Callable[[Axes], object], *, height: float = 3.8) -> str:
    """Draw a figure as SVG, in the colors of the page.

    Parameters
    ----------
    draw : callable
        It draws on the axes that it is passed.
    height : float, default=3.8
        Height in inches; the width is 5.6.

    Returns
    -------
    str
        ``<svg ...>...</svg>``
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    file = BytesIO()
    with rc_context(_STYLE), warnings.catch_warnings():
        # The browser has glyphs that matplotlib's font lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        # Pyplot would keep the figure in memory, and may need a screen.
        drawn = Figure(figsize=(5.6, height), layout="constrained")
        draw(drawn.subplots())
        drawn.savefig(file, format="svg", metadata={"Date": None})
    return _embedded(file.getvalue().decode())


def _embedded(svg: str) -> str:
    """Return an SVG file as an element of a page, without comments and with the page's colors."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    for color, variable in _VARIABLES.items():
        svg = svg.replace(f": {color}", f": var({variable})")
    return svg


def warning(text: str) -> str:
    """Return a paragraph that stands out."""
    return f'<p class="warning">{escape(text)}</p>'


def code(text: str) -> str:
    """Return a block of code."""
    return f"<pre><code>{escape(text)}</code></pre>"


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


def details(summary: str, inner: str) -> str:
    """Return HTML that is shown on demand, and always on paper.

    Parameters
    ----------
    summary : str
        Plain text.
    inner : str
        HTML.
    """
    return f"<details><summary>{escape(summary)}</summary>{inner}</details>"

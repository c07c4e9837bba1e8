"""The parts of a report: one HTML page that holds its pictures and style."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from mercer._cli.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLE: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.axisbelow": True,
    "grid.color": "#e3e8ed",
    "font.size": 10,
    "svg.hashsalt": "mercer",
}
"""Of the pictures; salted, so that equal pictures are equal files."""


def write_page(path: Path, title: str, lead: str, body: Iterable[str]) -> None:
    """Write a page.

    Parameters
    ----------
    path : Path
    title, lead : str
        Plain text: the headline, and the line below it.
    body : iterable of str
        HTML, from the other functions here.
    """
    try:
        made_by = f"mercer {version('mercer')}"
    except PackageNotFoundError:  # run from a source tree
        made_by = "mercer"
    template = Template(files("mercer._cli").joinpath("page.html").read_text(encoding="utf-8"))
    page = template.substitute(
        title=escape(title), lead=escape(lead), body="\n".join(body), made_by=escape(made_by)
    )
    with replacing(path) as aside:
        aside.write_text(page, encoding="utf-8")


def cards(entries: Iterable[tuple[str, str]]) -> str:
    """Figures to see first: each a value and what it is."""
    inner = (
        f'<div class="card"><b>{escape(value)}</b><span>{escape(words)}</span></div>'
        for value, words in entries
    )
    return f'<div class="cards">{"".join(inner)}</div>'


def heading(text: str) -> str:
    """Headline of a section."""
    return f"<h2>{escape(text)}</h2>"


def paragraph(text: str) -> str:
    """Plain text."""
    return f"<p>{escape(text)}</p>"


def remarks(texts: Iterable[str]) -> str:
    """What the reader should know of the run, in small print."""
    texts = list(texts)
    inner = "".join(f'<p class="note">{escape(text)}</p>' for text in texts)
    return f"{heading('Notes')}{inner}" if texts else ""


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numeric: Collection[int] = (),
    best: int | None = None,
) -> str:
    """Lay out a table.

    Parameters
    ----------
    header : sequence of str
    rows : iterable of sequences of str
    numeric : collection of int, default=()
        Columns of numbers, set to the right.
    best : int, default=None
        The row to stand out.
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


def figures(pictures: Iterable[tuple[str, str]]) -> str:
    """Pictures of `picture`, each with its caption."""
    inner = (
        f'<figure><img src="{source}" alt="{escape(caption)}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
        for source, caption in pictures
    )
    return f'<div class="figures">{"".join(inner)}</div>'


def picture(draw: Callable[[Axes], object], *, height: float = 3.8) -> str:
    """Draw a picture and encode it as a data address.

    Parameters
    ----------
    draw : callable
        Draws on the axes it is given.
    height : float, default=3.8
        In inches, for a width of 5.6.

    Returns
    -------
    str
        ``data:image/svg+xml;base64,...``
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    file = BytesIO()
    with rc_context(_STYLE):
        # Not through pyplot: it would keep the figure, and may look for a screen.
        figure = Figure(figsize=(5.6, height), layout="constrained")
        draw(figure.subplots())
        figure.savefig(file, format="svg", metadata={"Date": None})
    return f"data:image/svg+xml;base64,{b64encode(file.getvalue()).decode()}"

"""Small tables and pictures of explanations, which notebooks show."""

from collections.abc import Sequence
from html import escape

import numpy as np

from mercer._data.notebook import Bar, number, sentence, shortened, table
from mercer._data.types import Array
from mercer.inspection._contributions import cell_text

_MOST_ROWS = 8
"""Largest number of rows of a table."""

MOST_OUTPUTS = 4
"""Largest number of outputs of a table or picture."""


def counted(n: int, name: str) -> str:
    """Return a number with a noun, such as "1 row" or "2 rows".

    Parameters
    ----------
    n : int
    name : str
    """
    return f"{n:,} {name}" + "s" * (n != 1)


def by_size(
    title: str,
    columns: Sequence[tuple[str, Sequence[object]]],
    sizes: Array,
    name: str = "Contribution",
) -> list[str]:
    """Return a table of the rows with the largest sizes, which bars show.

    Parameters
    ----------
    title : str
    columns : sequence of (str, sequence)
        Names and cells of the columns before the sizes.
    sizes : ndarray of shape (n_rows,)
        Rows of unknown sizes are the last.
    name : str, default="Contribution"
        Name of the column of sizes.
    """
    return [_ranked(title, [*columns, (name, sizes.tolist())], sizes, np.abs(sizes))]


def by_output(
    title: str, labels: tuple[str, Sequence[object]], sizes: Array, outputs: Sequence[str]
) -> list[str]:
    """Return a table of the rows with the largest sizes, with a column for each output.

    Parameters
    ----------
    title : str
    labels : (str, sequence)
        Name and cells of the first column.
    sizes : ndarray of shape (n_rows,) or (n_rows, n_outputs)
    outputs : sequence of str
        Names of the outputs; empty if they have none.
    """
    values = sizes.reshape(len(labels[1]), -1)
    n_outputs = values.shape[1]
    if len(outputs) != n_outputs:
        outputs = ["Mean"] if n_outputs == 1 else [f"output {k}" for k in range(n_outputs)]
    shown = [
        (shortened(name, 20), values[:, k].tolist())
        for k, name in enumerate(outputs[:MOST_OUTPUTS])
    ]
    totals = values.sum(axis=1)
    return [_ranked(title, [labels, *shown], totals, np.abs(totals)), *more_outputs(n_outputs)]


def _ranked(
    title: str, columns: Sequence[tuple[str, Sequence[object]]], sizes: Array, ranks: Array
) -> str:
    """Return the rows of the largest ranks, with bars for their sizes."""
    order = np.argsort(-ranks, kind="stable")[:_MOST_ROWS]
    known = ranks[np.isfinite(ranks)]
    unit = float(known.max(initial=0.0)) or 1.0
    rows = [
        [*(_shown(cells[z]) for _, cells in columns), Bar(float(sizes[z]) / unit)] for z in order
    ]
    header = [*(shortened(name, 24) for name, _ in columns), ""]
    return table(rows, header, title=title, n_rows=len(sizes))


def _shown(cell: object) -> object:
    return shortened(cell) if isinstance(cell, str) else cell


def more_outputs(n_outputs: int) -> list[str]:
    """Return a sentence that counts the outputs that a table leaves out."""
    rest = n_outputs - MOST_OUTPUTS
    return [sentence(f"and {counted(rest, 'further output')}")] if rest > 0 else []


_DASHES = ("", "5 3", "1.5 3", "7 3 1.5 3")
"""Dashes of the lines of the outputs."""


def curves(places: Array, values: Array, ends: tuple[str, str], names: Sequence[str]) -> str:
    """Return a picture of lines in the color of the text, as SVG.

    Parameters
    ----------
    places : ndarray of shape (n_places,)
        Ascending numbers.
    values : ndarray of shape (n_outputs, n_places)
        NaN where a line is broken.
    ends : (str, str)
        Labels of the first and the last place.
    names : sequence of str
        Names of the lines; empty if there is only one.
    """
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    width, height, left, top = 300.0, 110.0, 70.0, 10.0
    x = left + width * (places - places[0]) / (float(np.ptp(places)) or 1.0)
    y = top + height * (1.0 - (values - low) / ((high - low) or 1.0))
    parts = [
        f'<path d="M{left} {top}V{top + height}H{left + width}" fill="none" stroke="currentColor" '
        'stroke-opacity=".5"/>'
    ]
    texts = [
        (left - 6.0, top + 8.0, "end", number(high)),
        (left - 6.0, top + height, "end", number(low)),
        (left, top + height + 16.0, "start", ends[0]),
        (left + width, top + height + 16.0, "end", ends[1]),
    ]
    for k, line in enumerate(y):
        shown = np.isfinite(line)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[shown], line[shown], strict=True))
        dashes = f' stroke-dasharray="{_DASHES[k]}"' if _DASHES[k] else ""
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="2"'
            f"{dashes}/>"
        )
        if names:
            place = top + height + 34.0 + 15.0 * k
            parts.append(
                f'<path d="M{left} {place - 4.0}h30" stroke="currentColor" stroke-width="2"'
                f"{dashes}/>"
            )
            texts.append((left + 38.0, place, "start", shortened(names[k], 40)))
    parts += [
        f'<text x="{a}" y="{b}" text-anchor="{side}" font-size="11" fill="currentColor">'
        f"{escape(text)}</text>"
        for a, b, side, text in texts
    ]
    tall = top + height + 22.0 + 15.0 * len(names)
    return (
        f'<svg viewBox="0 0 {left + width + 10.0} {tall}" role="img" aria-label="Curve" '
        f'style="width:100%;max-width:{left + width + 10.0}px;display:block">{"".join(parts)}</svg>'
    )


def some_positions(n: int, most: int = 6) -> Array:
    """Return positions of at most a number of values, evenly spaced and with both ends."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))


def dependence_grid(title: str, grids: Sequence[Array], average: Array) -> str:
    """Return means over two columns as a table of some of their values.

    Parameters
    ----------
    title : str
    grids : sequence of ndarray
        The values of both columns.
    average : ndarray of shape (n_first, n_second)
    """
    first, second = (some_positions(len(grid)) for grid in grids)
    texts = [[cell_text(value) for value in grid.tolist()] for grid in grids]
    rows = [[texts[0][a], *average[a, second].tolist()] for a in first]
    return table(rows, ["", *(texts[1][b] for b in second)], title=title)

"""Results as sections of tables, lines and figures, which terminal and reports render."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

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
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Collection[int] = ()
    bold: Collection[int] = ()
    lengths: Sequence[float] = ()
    n_shown: int | None = None


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


@dataclass(frozen=True)
class Folded:
    """A table of a report that is shown on demand.

    Attributes
    ----------
    summary : str
    table : Table
    """

    summary: str
    table: Table


# Lines and tables are shown in the terminal and in reports; the others in reports.
Part: TypeAlias = str | Table | Figure | Text | Folded


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

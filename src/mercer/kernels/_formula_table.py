"""What notebooks show of a kernel: a table of its formula, with columns and widths."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from mercer._data.notebook import Number, card, listed, number, table

_MOST = 8
"""Largest number of terms that are shown."""

Names: TypeAlias = Sequence[object] | None
"""Names of columns, None for columns whose names and number are not known."""


@dataclass(frozen=True)
class FormulaFactor:
    """A factor of a term of a kernel: a kernel on some of the columns.

    Attributes
    ----------
    kernel : Kernel
    columns : sequence of names, or str, default=None
        The columns, or a text that says which; None for all.
    """

    kernel: Any
    columns: Names | str = None

    def cells(self) -> tuple[str, str, str]:
        """Return the description, the formula, and the columns with their widths."""
        # A subclass has a formula of its own.
        formula = vars(type(self.kernel)).get("_formula", "")
        text = formula(self.kernel) if callable(formula) else formula
        return self.kernel.describe(), text.replace("-", "\N{MINUS SIGN}"), self._columns()

    def _columns(self) -> str:
        columns, widths = self.columns, getattr(self.kernel, "bandwidth", None)
        n_widths = 1 if isinstance(widths, str) or widths is None else np.size(widths)
        if n_widths > 1 and not isinstance(columns, str):
            names = [f"x{z}" for z in range(n_widths)] if columns is None else columns
            if len(names) == n_widths:
                # Columns of small widths matter most.
                found = np.asarray(widths, dtype=float).ravel()
                order = np.argsort(found, kind="stable")
                return listed((f"{names[z]} (width {number(found[z])})" for z in order), 6)
        return columns if isinstance(columns, str) else listed(columns or (), 6)


Terms: TypeAlias = list[tuple[float, tuple[FormulaFactor, ...]]]
"""The terms of a kernel: weights, and the factors that are multiplied."""


def chosen_names(columns: Any, names: Names) -> Sequence[object] | str:
    """Return the names of chosen columns, or a text if they depend on a table.

    Parameters
    ----------
    columns : int, str, slice, boolean mask, sequence of positions or names, or callable
    names : sequence, default=None
        Names of all columns, if they are known.
    """
    if callable(columns):
        return "chosen by a function"
    if isinstance(columns, slice):
        if names is not None and {type(columns.start), type(columns.stop)} <= {int, type(None)}:
            return names[columns]
        ends = ("" if end is None else str(end) for end in (columns.start, columns.stop))
        return ":".join(ends)
    entries = [columns] if np.ndim(columns) == 0 else list(columns)
    if entries and all(isinstance(entry, bool | np.bool_) for entry in entries):
        entries = np.flatnonzero(entries).tolist()
    return [_name(entry, names) for entry in entries]


def _name(entry: Any, names: Names) -> str:
    if isinstance(entry, str):
        return entry
    if names is not None and -len(names) <= entry < len(names):
        return str(names[entry])
    return f"x{entry}"


def on_columns(terms: Terms, columns: Sequence[object] | str) -> Terms:
    """Return terms on some of the columns.

    Parameters
    ----------
    terms : list of (float, tuple of FormulaFactor)
    columns : sequence of names, or str
        The columns of factors that are not on columns of their own.
    """
    return [
        (w, tuple(replace(f, columns=columns) if f.columns is None else f for f in factors))
        for w, factors in terms
    ]


def product_terms(parts: Sequence[Terms]) -> Terms | None:
    """Return the product of kernels as one term, or None if one of them is a sum.

    Parameters
    ----------
    parts : sequence of list of (float, tuple of FormulaFactor)
        The terms of each kernel.
    """
    if any(len(terms) != 1 for terms in parts):
        return None
    factors = tuple(factor for ((_, found),) in parts for factor in found)
    return [(float(np.prod([weight for ((weight, _),) in parts])), factors)]


def formula_table(terms: Terms) -> str:
    """Return the terms of a kernel as HTML, those with the largest weights first.

    Parameters
    ----------
    terms : list of (float, tuple of FormulaFactor)
    """
    order = sorted(terms, key=lambda term: -abs(term[0]))[:_MOST]
    rows = []
    for weight, factors in order:
        signs = [number(weight), *("\N{MULTIPLICATION SIGN}" for _ in factors[1:])]
        rows += [(Number(s), *f.cells()) for s, f in zip(signs, factors, strict=True)]
    header = ("Weight", "Kernel", "Formula", "Columns")
    # Columns without any entry are left out, and so is the weight of a single kernel.
    kept = [z for z in range(len(header)) if any(row[z] for row in rows)]
    if len(terms) == len(rows) == 1 and terms[0][0] == 1.0:
        kept.remove(0)
    cells = [[row[z] for z in kept] for row in rows]
    rest = len(terms) - len(order)
    return card([table(cells, [header[z] for z in kept], n_rows=len(rows) + rest)])

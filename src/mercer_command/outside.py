"""Rows of a table that are outside of what a model learned from, counted part by part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from mercer.preprocessing import convert
from mercer_command.messages import counted, listing, shown
from mercer_command.table_model import TableModel
from mercer_command.table_reader import numbers_and_days
from mercer_command.values import ISO, Array, format_dates

_UNLIKELY = 0.001
"""Chance below which as many values beyond the ends of ranges are told."""

_FAR = 4.0
"""A single number is told if it is beyond the range by more than this multiple of the range."""

_MOST_NAMED = 3
"""Number of columns, and of new categories of a column, that a note names."""


@dataclass
class Outside:
    """Counts of what is outside of what a model learned from.

    Attributes
    ----------
    n_rows : int
    beyond : Counter of (str, str)
        For each column of numbers or dates, the number of rows "below" and "above" its range.
    far : Counter of (str, str)
        Numbers of those that are far outside, and of all dates that are outside.
    new : Counter of (str, str)
        For each column of categories, the number of rows of each category that is not known.
    """

    n_rows: int = 0
    beyond: Counter[tuple[str, str]] = field(default_factory=Counter)
    far: Counter[tuple[str, str]] = field(default_factory=Counter)
    new: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, other: Outside) -> None:
        """Add the counts of another part of the table."""
        self.n_rows += other.n_rows
        self.beyond.update(other.beyond)
        self.far.update(other.far)
        self.new.update(other.new)


def rows_outside(model: TableModel, typed: pd.DataFrame) -> Outside:
    """Count what is outside of what a model learned from in a part of a table.

    Parameters
    ----------
    model : fitted TableModel
    typed : DataFrame of shape (n_rows, n_columns)
        Columns as the reader of the model converts them.
    """
    reader, found = model["reader"], Outside(len(typed))
    ranges = ranges_of(model)
    ranged = [one for one in reader.columns if one[0] in ranges]
    names, values = numbers_and_days(typed, ranged)
    is_exact = np.array([role == "date" and reader.remembers for _, role, _ in ranged], dtype=bool)
    ends = np.array([ranges[name][:2] for name in names]).reshape(-1, 2)
    margins = np.where(is_exact, 0.0, _FAR * (ends[:, 1] - ends[:, 0]))
    for counts, far in ((found.beyond, 0.0), (found.far, margins)):
        below = np.sum(values < ends[:, 0] - far, axis=0).tolist()
        above = np.sum(values > ends[:, 1] + far, axis=0).tolist()
        for name, *both in zip(names, below, above, strict=True):
            counts[name, "below"], counts[name, "above"] = both
    for name, values in _new_categories(model, typed):
        found.new.update((name, value) for value in values)
    return found


def ranges_of(model: TableModel) -> dict[str, list[float]]:
    """Return the smallest value, the largest and the number of known ones of ranged columns.

    Parameters
    ----------
    model : fitted TableModel
    """
    reader = model["reader"]
    pairs = zip(reader.columns, reader.ranges_.tolist(), strict=True)
    return {name: ends for (name, *_), ends in pairs if ends[2]}


def _new_categories(model: TableModel, typed: pd.DataFrame) -> Iterator[tuple[str, Array]]:
    """Yield categorical columns with the cells that hold a category that is not known."""
    for key, encoder, names in model.encoder.transformers_:
        if key not in ("categories", "levels") or not len(names):
            continue
        [categories] = [step.categories_ for step in encoder if hasattr(step, "categories_")]
        for name, known in zip(names, categories, strict=True):
            values = convert(typed[[name]], "category")[:, 0]
            is_known = np.isin(values.astype(str), known.astype(str))
            yield name, values[~is_known & typed[name].notna().to_numpy()]


def outside_notes(model: TableModel, found: Outside) -> list[str]:
    """Describe what is outside of what a model learned from, in at most three notes.

    Parameters
    ----------
    model : fitted TableModel
    found : Outside
        Counts of all rows of a table.

    Returns
    -------
    list of str
        A note on dates, on numbers and on categories, if there are such. Values beyond the ends of
        a range, but not far, are told if they are more than chance explains.
    """
    reader = model["reader"]
    columns, ranges = {one[0]: one for one in reader.columns}, ranges_of(model)
    told: dict[str, list[str]] = {"dates": [], "numbers": [], "categories": []}
    for (name, side), n_beyond in found.beyond.most_common():
        low, high, n_known = ranges[name]
        # The largest values of both tables are all new, if both are drawn alike.
        chance = (found.n_rows / (found.n_rows + n_known)) ** n_beyond
        is_likely = 2.0 * len(ranges) * chance >= _UNLIKELY
        if count := found.far[name, side] if is_likely else n_beyond:
            end = _written(low if side == "below" else high, *columns[name][1:])
            kind, word = "numbers", side
            if columns[name][1] == "date":
                kind, word = "dates", "before" if side == "below" else "after"
            told[kind].append(f"'{shown(name)}' {word} {end} ({counted(count, 'row')})")
    categories: dict[str, list[str]] = {}
    for name, category in (pair for pair, _ in found.new.most_common()):
        categories.setdefault(name, []).append(category)
    for name, new in categories.items():
        count = sum(found.new[name, category] for category in new)
        listed = f"'{shown(name)}' {listing(new, most=_MOST_NAMED)} ({counted(count, 'row')})"
        told["categories"].append(listed)
    rows = "the row has" if found.n_rows == 1 else f"some of {found.n_rows:,} rows have"
    notes = []
    for kind, parts in told.items():
        more = f" and {len(parts) - _MOST_NAMED} more" * (len(parts) > _MOST_NAMED)
        named = f"{', '.join(parts[:_MOST_NAMED])}{more}"
        held = "; the trend is held at its value on that date" * (kind == "dates")
        notes += [f"{rows} {kind} that the model did not learn from: {named}{held}"] * bool(parts)
    return notes


def _written(end: float, role: str, notation: str) -> str:
    """Write an end of a range as the training table does."""
    if role not in ("date", "time"):
        return f"{end:.6g}"
    usual = "%H:%M" if role == "time" else "%Y-%m-%d" if end == round(end) else ISO
    [text] = format_dates(np.array([end]), notation or usual)
    return text


def table_notes(model: TableModel, frame: pd.DataFrame) -> list[str]:
    """Describe what is outside of what a model learned from in a table.

    Parameters
    ----------
    model : fitted TableModel
    frame : DataFrame of shape (n_rows, n_columns)
        A table with the columns of the model.
    """
    return outside_notes(model, rows_outside(model, model["reader"].transform(frame)))

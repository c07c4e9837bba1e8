"""Rows of a table that are outside of what a model learned from, counted part by part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd

from mercer.preprocessing import convert
from mercer_command.messages import counted, listing, shown
from mercer_command.ranges import Range, chance_beyond
from mercer_command.table_model import TableModel
from mercer_command.table_reader import days_or_numbers
from mercer_command.values import Array, format_dates

_SIGNIFICANCE = 0.001
"""Level of the test of whether more values are beyond the ends of ranges than chance explains."""

_MOST_NAMED = 3
"""Number of columns, and of new categories of a column, that a note names."""

_FEWEST_GROUPS = 4
"""With at least as many new categories, and hardly any known one, a column may name groups."""


class Event(NamedTuple):
    """What is outside in a row.

    Attributes
    ----------
    column : str
    side : str
        "below" or "above" the range; "new" for a category.
    far : bool
        Whether the value is far outside of the range.
    """

    column: str
    side: str
    far: bool = True


@dataclass
class Outside:
    """Counts of the rows of a table that are outside of what a model learned from.

    Attributes
    ----------
    n_rows : int
    known : Counter of str
        Numbers of known cells of the columns that have a range.
    rows : Counter of frozenset of Event
        Number of rows with the same events; rows without any event are not counted.
    categories : dict of str to Counter of str
        For each column, the number of rows of each category that the model did not learn from.
    """

    n_rows: int = 0
    known: Counter[str] = field(default_factory=Counter)
    rows: Counter[frozenset[Event]] = field(default_factory=Counter)
    categories: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, other: Outside) -> None:
        """Add the counts of another part of the table."""
        self.n_rows += other.n_rows
        self.known += other.known
        self.rows += other.rows
        for name, counts in other.categories.items():
            self.categories.setdefault(name, Counter()).update(counts)

    def count(self, events: Iterable[Event]) -> int:
        """Return the number of rows with at least one of some events."""
        wanted = set(events)
        return sum(count for found, count in self.rows.items() if found & wanted)


def rows_outside(model: TableModel, typed: pd.DataFrame) -> Outside:
    """Count the rows of a part of a table that are outside of what a model learned from.

    Parameters
    ----------
    model : fitted TableModel
    typed : DataFrame of shape (n_rows, n_columns)
        Columns as the reader of the model converts them.
    """
    found, are = Outside(len(typed)), dict[Event, Array]()
    roles = {name: role for name, role, _ in model["reader"].columns}
    for name, ends in model["reader"].ranges().items():
        values = days_or_numbers(typed, name, roles[name])
        found.known[name] = int(np.sum(~np.isnan(values)))
        are[Event(name, "below")] = values < ends.far_below
        are[Event(name, "below", far=False)] = (values < ends.low) & (values >= ends.far_below)
        are[Event(name, "above")] = values > ends.far_above
        are[Event(name, "above", far=False)] = (values > ends.high) & (values <= ends.far_above)
    for name, values, new in _new_categories(model, typed):
        are[Event(name, "new")] = new
        if new.any():
            found.categories[name] = Counter(values[new])
    are = {event: rows for event, rows in are.items() if rows.any()}
    if are:
        patterns, counts = np.unique(np.column_stack([*are.values()]), axis=0, return_counts=True)
        for pattern, count in zip(patterns, counts, strict=True):
            if pattern.any():
                events = (event for event, has in zip(are, pattern, strict=True) if has)
                found.rows[frozenset(events)] += int(count)
    return found


def _new_categories(model: TableModel, typed: pd.DataFrame) -> Iterable[tuple[str, Array, Array]]:
    """Yield categorical columns with their values, and whether each is a new category."""
    for key, encoder, names in model["columns"].transformers_:
        if key not in ("categories", "levels") or not len(names):
            continue
        [categories] = [step.categories_ for step in encoder if hasattr(step, "categories_")]
        for name, known in zip(names, categories, strict=True):
            values = convert(typed[[name]], "category")[:, 0]
            is_known = np.isin(values.astype(str), known.astype(str))
            yield name, values, ~is_known & typed[name].notna().to_numpy()


def outside_notes(model: TableModel, found: Outside) -> list[str]:
    """Describe the rows that are outside of what a model learned from, in at most four notes.

    Parameters
    ----------
    model : fitted TableModel
    found : Outside
        Counts of all rows of a table.

    Returns
    -------
    list of str
        The note with the most rows comes first. Values beyond the ends of a range, but not far,
        are noted if they are more than chance explains.
    """
    reader = model["reader"]
    formats = {name: notation for name, role, notation in reader.columns if role == "date"}
    ranges, events = reader.ranges(), _telling(found, reader.ranges(), reader.remembers)
    dates = {event for event in events if event.column in formats}
    new = {event for event in events if event.side == "new"}
    told = [
        (dates, _dates_note(found, dates, ranges, formats)),
        (events - dates - new, _numbers_note(found, events - dates - new, model)),
        (new, _categories_note(found, new)),
    ]
    told = sorted((pair for pair in told if pair[0]), key=lambda pair: -found.count(pair[0]))
    notes = [text for _, text in told]
    if len(notes) > 1:
        notes.insert(0, f"{_have(found, events)} something that the model did not learn from")
    return notes


def table_notes(model: TableModel, frame: pd.DataFrame) -> list[str]:
    """Describe the rows of a table that are outside of what a model learned from.

    Parameters
    ----------
    model : fitted TableModel
    frame : DataFrame of shape (n_rows, n_columns)
        A table with the columns of the model.
    """
    return outside_notes(model, rows_outside(model, model["reader"].transform(frame)))


def _telling(found: Outside, ranges: Mapping[str, Range], exact: bool) -> set[Event]:
    """Return the events that are no matter of chance, given whether ranges are of all rows."""
    seen = {event for events in found.rows for event in events}
    kept = {event for event in seen if event.side == "new"}
    for name, side in {(event.column, event.side) for event in seen - kept}:
        both = {Event(name, side, far) for far in (True, False)} & seen
        rows = found.known[name], int(ranges[name].n_known)
        is_sampled = not exact and ranges[name].far_above == ranges[name].high
        chance = chance_beyond(found.count(both), *rows) * 2.0 * len(ranges)
        if chance < _SIGNIFICANCE:
            kept |= both
        elif not is_sampled:
            kept |= {event for event in both if event.far}
    return kept


def _have(found: Outside, events: Iterable[Event]) -> str:
    count = found.count(events)
    if found.n_rows == 1:
        return "the row has"
    if count == found.n_rows:
        return f"all {count:,} rows have"
    return f"{count:,} of {found.n_rows:,} rows {'has' if count == 1 else 'have'}"


def _by_rows(found: Outside, events: set[Event]) -> list[tuple[str, str, int]]:
    """Return column, side and number of rows, the most frequent first."""
    pairs = sorted({(event.column, event.side) for event in events})
    numbers = [
        (*pair, found.count(event for event in events if event[:2] == pair)) for pair in pairs
    ]
    return sorted(numbers, key=lambda one: -one[2])


def _named(parts: list[str]) -> str:
    more = f" and {len(parts) - _MOST_NAMED} more" * (len(parts) > _MOST_NAMED)
    return f"{', '.join(parts[:_MOST_NAMED])}{more}"


def _dates_note(
    found: Outside, events: set[Event], ranges: Mapping[str, Range], formats: Mapping[str, str]
) -> str:
    told = list[str]()
    for name, side, count in _by_rows(found, events):
        day = ranges[name].high if side == "above" else ranges[name].low
        [date] = format_dates(np.array([day]), formats[name] or _iso(day))
        which = f"after {date}, the last" if side == "above" else f"before {date}, the first"
        told.append(f"{which} of '{shown(name)}' ({counted(count, 'row')})")
    lead = f"{_have(found, events)} dates that the model did not learn from: {_named(told)}"
    return f"{lead}; the trend is held at its value on that date"


def _iso(day: float) -> str:
    return "%Y-%m-%d" if day == round(day) else "ISO8601"


def _numbers_note(found: Outside, events: set[Event], model: TableModel) -> str:
    ranges = model["reader"].ranges()
    times = {name for name, role, _ in model["reader"].columns if role == "time"}
    told = []
    for name, side, count in _by_rows(found, events):
        end = ranges[name].high if side == "above" else ranges[name].low
        text = format_dates(np.array([end]), "%H:%M")[0] if name in times else f"{end:.6g}"
        told.append(f"'{shown(name)}' {side} {text} ({counted(count, 'row')})")
    return f"{_have(found, events)} numbers that the model did not learn from: {_named(told)}"


def _categories_note(found: Outside, events: set[Event]) -> str:
    told, advice = list[str](), ""
    for name, _, count in _by_rows(found, events):
        of = [value for value, _ in found.categories[name].most_common()]
        told.append(f"'{shown(name)}' {listing(of, most=_MOST_NAMED)} ({counted(count, 'row')})")
        if not advice and count >= 0.9 * found.n_rows and len(of) >= _FEWEST_GROUPS:
            advice = (
                f"; if new rows always have other values of '{shown(name)}', "
                f"mercer fit --group '{shown(name)}' learns and tests without it"
            )
    lead = f"{_have(found, events)} categories that the model did not learn from"
    return f"{lead}: {_named(told)}{advice}"

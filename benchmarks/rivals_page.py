"""The page docs/rivals.md, from the records of rivals.py."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.reporting.section import line, named_texts, wrapped

Record = dict[str, Any]
TEXTS = named_texts(Path(__file__).with_suffix(".md"))

LIGHTGBM, CATBOOST, STACK = "LightGBM", "CatBoost", "stacking"
BOTH = "stacking with CatBoost"
METHODS = (LIGHTGBM, CATBOOST, STACK, BOTH)
MEASURES = {"classification": "log_loss", "regression": "error"}
WORDS = {"classification": ("classes", "log-loss"), "regression": ("responses", "error")}


def page(records: Sequence[Record]) -> str:
    """The text of the page.

    Parameters
    ----------
    records : sequence of dict
    """
    found = cells(records)
    sizes, measured = list[str](), list[str]()
    for rows in sorted({rows for _, rows in found}):
        some = {table: cell for (table, n_rows), cell in found.items() if n_rows == rows}
        numbers = {task: sum(c["task"] == task for c in some.values()) for task in WORDS}
        kinds = [f"{number} of {WORDS[task][0]}" for task, number in numbers.items()]
        measured.append(f"{_tables(len(some))}, {' and '.join(kinds)}, with {rows:,} training rows")
        verdicts = [_verdict(some, task) for task, number in numbers.items() if number]
        lines = "\n".join(_line(table, some[table]) for table in sorted(some))
        text = TEXTS["size"].format(rows=f"{rows:,}", lines=lines, verdicts="\n\n".join(verdicts))
        sizes.append(text)
    told = f"Measured are {'; '.join(measured)}. Other tables, splits and numbers of rows are not."
    text = TEXTS["page"].format(cells=wrapped(told), sizes="\n\n".join(sizes))
    return text.rstrip() + "\n"


def cells(records: Sequence[Record]) -> dict[tuple[str, int], Record]:
    """Means over the splits that all methods have, by table and number of rows.

    Parameters
    ----------
    records : sequence of dict

    Returns
    -------
    dict
        The task, the number of splits, the means of the four methods, CatBoost's mean weight, and
        the mean times of the stacks' fits.
    """
    groups: dict[tuple[str, int], dict[int, dict[str, Record]]] = defaultdict(dict)
    for one in records:
        groups[one["table"], one["rows"]].setdefault(one["split"], {})[one["method"]] = one
    found = dict[tuple[str, int], Record]()
    for key, splits in groups.items():
        whole = [by for by in splits.values() if len(by) == len(METHODS)]
        if not whole:
            continue
        task = whole[0][STACK]["task"]

        def mean(method: str, name: str, whole: Any = whole) -> float:
            return float(np.mean([by[method][name] for by in whole]))

        cell: Record = {name: mean(name, MEASURES[task]) for name in METHODS}
        cell |= {"task": task, "splits": len(whole), "weight": mean(BOTH, "weight")}
        found[key] = cell | {"fit": mean(STACK, "fit"), "fit both": mean(BOTH, "fit")}
    return found


def ratio(cell: Record, method: str) -> float:
    """A method's measure divided by the better of LightGBM's and CatBoost's.

    Parameters
    ----------
    cell : dict
    method : str
    """
    return float(cell[method] / min(cell[LIGHTGBM], cell[CATBOOST]))


def _line(table: str, cell: Record) -> str:
    means = [f"{cell[name]:.4f}" for name in METHODS]
    times = [f"{cell[name]:.1f}" for name in ("fit", "fit both")]
    ends = [f"{cell['weight']:.2f}", *times, f"{ratio(cell, BOTH):.3f}"]
    return line(table, cell["splits"], *means, *ends)


def _verdict(found: dict[str, Record], task: str) -> str:
    some = [cell for cell in found.values() if cell["task"] == task]
    targets, measure = WORDS[task]
    changes = [cell[BOTH] / cell[STACK] for cell in some]
    text = TEXTS["verdict"].format(
        targets=targets,
        measure=measure,
        stack=_mean_ratio(some, STACK),
        both=_mean_ratio(some, BOTH),
        lower=sum(change < 1.0 for change in changes),
        number=_tables(len(some)),
        worst=max(changes),
    )
    return wrapped(text)


def _mean_ratio(some: Sequence[Record], method: str) -> str:
    """The geometric mean of ratios, and that without the lowest."""
    logs = np.sort(np.log([ratio(cell, method) for cell in some]))
    rest = f" ({np.exp(logs[1:].mean()):.3f})" if len(logs) > 1 else ""
    return f"{np.exp(logs.mean()):.3f}{rest}"


def _tables(number: int) -> str:
    return f"{number} table{'s' * (number != 1)}"

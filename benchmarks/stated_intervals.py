"""Intervals of scores that a report states, and the scores on rows that were kept away.

    MERCER_DATA=/path/to/sets python benchmarks/stated_intervals.py --rows 800 --splits 2

A stack learns from three quarters of the rows drawn from a table, or from the rows of three
quarters of made groups, and `mercer.inspection.report` states its first score on the others, with a
95 % interval. The score on rows that were kept away, of new groups or later ones where it says so,
is compared with the interval. Prints a line for each table, and the share of the intervals that
hold the score.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from common import Array, print_table
from sklearn.model_selection import GroupShuffleSplit, train_test_split
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from experiments.tabular.table_files import TABLES, load_table
from mercer import KernelStackingClassifier, KernelStackingRegressor
from mercer.inspection import report
from mercer.preprocessing import table_encoder

IN_TIME_ORDER = ("bike", "elec")
OTHERS = ("protein", "fried", "telescope", "creditdefault")
MOST_KEPT_AWAY = 5000
Rows = tuple[pd.DataFrame, Array, Array | None]


def drawn(name: str, n_rows: int, seed: int) -> tuple[str, list[Rows]]:
    """Training rows, test rows, and rows that are kept away, without classes of few rows."""
    table = load_table(name)
    X, y = table.frame, table.target
    if name in IN_TIME_ORDER:
        start = int(np.random.default_rng(seed).integers(len(y) - 2 * n_rows))
        ends = np.cumsum([0, 3 * n_rows // 4, n_rows // 4, n_rows // 2]) + start
        parts = [np.arange(low, high) for low, high in pairwise(ends)]
    else:
        classes = y if table.task == "classification" else None
        if classes is not None:
            values, counts = np.unique(y, return_counts=True)
            frequent = np.isin(y, values[counts >= len(y) / 100])
            X, y, classes = X[frequent], y[frequent], y[frequent]
        settings: dict[str, Any] = {"random_state": seed, "stratify": classes}
        n_rows = min(n_rows, len(y) // 2)
        chosen, away = train_test_split(np.arange(len(y)), train_size=n_rows, **settings)
        settings["stratify"] = None if classes is None else y[chosen]
        parts = [*train_test_split(chosen, test_size=0.25, **settings), away[:MOST_KEPT_AWAY]]
    return table.task, [(X.iloc[rows], y[rows], None) for rows in parts]


def grouped(n_rows: int, seed: int) -> tuple[str, list[Rows]]:
    """Rows of groups that have a level and a place of their own."""
    random = np.random.default_rng(seed)
    n_groups = n_rows // 10
    groups = np.repeat(np.arange(3 * n_groups), 10)
    X = random.normal(size=(3 * n_groups, 4))[groups] + 0.3 * random.normal(size=(len(groups), 4))
    y = np.sin(X[:, 0]) + X[:, 1] + random.normal(size=3 * n_groups)[groups]
    y += 0.3 * random.normal(size=len(groups))
    frame, known = pd.DataFrame(X, columns=list("abcd")), groups < n_groups
    split = GroupShuffleSplit(1, test_size=0.25, random_state=seed)
    train, test = next(split.split(X[known], groups=groups[known]))
    parts = [train, test, np.flatnonzero(~known)]
    return "regression", [(frame.iloc[rows], y[rows], groups[rows]) for rows in parts]


def stated(task: str, parts: list[Rows]) -> tuple[str, Array, bool]:
    """The first score, its value, interval and value on rows kept away, and whether it is held."""
    (X, y, groups), (X_test, y_test, new), (X_away, y_away, others) = parts
    stack = KernelStackingClassifier() if task == "classification" else KernelStackingRegressor()
    model = make_pipeline(table_encoder(), stack)
    known = {} if groups is None else {f"{model.steps[-1][0]}__groups": groups}
    model.fit(X, y, **known)
    train = (X, y) if groups is None else (X, y, groups)
    found = report(model, X_test, y_test, new, train=train)
    score = found.held_out[0].scores[found.metric]
    away = report(model, X_away, y_away, others, metric=found.metric)
    value = away.held_out[0].scores[found.metric].value
    figures = np.array([score.value, score.low, score.high, value])
    return found.metric, figures, bool(score.low <= value <= score.high)


def main() -> None:
    """Print the intervals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=800)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument(
        "--tables", nargs="+", default=[*TABLES, *OTHERS, *IN_TIME_ORDER, "made groups"]
    )
    given = parser.parse_args()
    held = []
    for name in given.tables:
        lines = []
        for seed in range(given.splits):
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore")
                made = name == "made groups"
                task, parts = grouped(given.rows, seed) if made else drawn(name, given.rows, seed)
                metric, figures, is_inside = stated(task, parts)
            held.append((name, is_inside))
            lines.append(
                [metric, *(f"{value:.4g}" for value in figures), "" if is_inside else "no"]
            )
        order = ", later rows" if name in IN_TIME_ORDER else ""
        heads = ["score", "stated", "low", "high", "kept away", "inside"]
        print_table(f"{name}{order}", heads, lines)
    random = [is_inside for name, is_inside in held if name not in IN_TIME_ORDER]
    print(f"{np.mean(random):.1%} of {len(random)} intervals hold the score, later rows aside")


if __name__ == "__main__":
    main()

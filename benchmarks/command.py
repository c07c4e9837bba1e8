"""Processor time of `mercer fit --report`, by what it is spent on.

    python benchmarks/command.py                       # every table: some minutes
    python benchmarks/command.py 3000x50 --tasks regression
    python benchmarks/command.py --tasks ordinal,count     # limits of grades and counts

The tables are made: numbers, a category of few levels and one of many, a flag and a count, with a
target that depends on seven of the columns. Each line is the processor time of one kind of work,
without that of the other lines inside it, on one thread. `fit` in a new process has two seconds
more, for imports. Memory is the largest that the process of a fit has held, beyond what it held
before the fit.
"""

from __future__ import annotations

import argparse
import importlib
import resource
import time
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from io import StringIO
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd
from common import Array, print_table
from threadpoolctl import threadpool_limits

from mercer_command import commands
from mercer_command.app import Fit

SIZES = ("1000x20", "3000x50", "50000x20")
"""Rows times columns to learn from, of which a quarter of the rows are held out."""

GRADED, GRADED_SIZES = ("ordinal", "count"), ("1333x20", "2667x20", "6667x20")
"""Tasks whose fits are exact, and tables of which 1,000, 2,000 and 5,000 rows are learned from."""

TARGETS = {"3000x50": 15, "50000x20": 60}
"""Seconds that a fit with its report is to take at most."""

LEARNERS = (
    "KernelStackingRegressor",
    "KernelStackingClassifier",
    "KernelOrdinalClassifier",
    "KernelPoissonRegressor",
)
"""What the command learns responses, classes, grades and counts with."""

WORK = {
    "reading": ["mercer_command.commands._problem"],
    "encoding": [
        "sklearn.compose.ColumnTransformer.fit_transform",
        "sklearn.compose.ColumnTransformer.transform",
        "mercer_command.table_reader.TableReader.transform",
    ],
    "learning": [
        *(f"mercer.{kind}.fit" for kind in LEARNERS),
        "mercer._stacking.deferred.Once.__call__",
    ],
    "predictions": [
        *(f"mercer.{kind}.predict" for kind in LEARNERS),
        "mercer.KernelStackingClassifier.predict_proba",
        "mercer.KernelOrdinalClassifier.predict_proba",
    ],
    "baselines": ["mercer.inspection._report._compared"],
    "checks": ["mercer.inspection._report.all_checks"],
    "intervals": [
        "mercer.KernelStackingRegressor.predict_interval",
        "mercer.KernelStackingClassifier.predict_set",
    ],
    "importance": ["mercer_command.importances.columns_that_matter"],
    "partial dependence": ["mercer_command.figures.dependence_section"],
    "pictures": ["mercer_command.output._svg"],
}
"""What is called for each kind of work, by its name where it is looked up."""


def made_table(n_rows: int, n_columns: int, task: str, seed: int = 0) -> pd.DataFrame:
    """Return a table of some columns beside the target `y`."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns - 4)).round(4)
    color, size = rng.choice(list("abcde"), n_rows), rng.integers(1, 9, n_rows)
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * np.abs(X[:, 3]) + 0.3 * X[:, 4]
    y = y + 0.7 * (color == "a") + 0.2 * size + 0.4 * rng.normal(size=n_rows)
    others = {
        "color": color,
        "shop": rng.choice([f"shop {k}" for k in range(60)], n_rows),
        "flag": rng.random(n_rows) < 0.5,
        "size": size,
        "y": target_of(y, task, rng),
    }
    numbers = {f"x{k}": column for k, column in enumerate(X.T)}
    return pd.DataFrame({**numbers, **others})


def target_of(y: Array, task: str, rng: np.random.Generator) -> Array:
    """Return responses, two classes, six grades or counts of a mean of about two."""
    match task:
        case "regression":
            return y.round(4)
        case "ordinal":
            return np.digitize(y, np.quantile(y, [0.1, 0.3, 0.5, 0.7, 0.9]))
        case "count":
            return rng.poisson(np.exp(0.5 * y))
    return np.where(y > np.median(y), "high", "low")


class Spent:
    """Processor time of kinds of work, each without what is timed inside it."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self._inside = [0.0]

    def timed(self, kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, whose time is added to that of the kind."""

        def call(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            self._inside.append(0.0)
            try:
                return function(*args, **kwargs)
            finally:
                spent = time.process_time() - start
                self.seconds[kind] += spent - self._inside.pop()
                self.calls[kind] += 1
                self._inside[-1] += spent

        return call


def owner_of(path: str) -> tuple[Any, str]:
    """Return the module or class that a name is an attribute of, and the attribute."""
    first, name = path.rsplit(".", 1)
    try:
        return importlib.import_module(first), name
    except ModuleNotFoundError:
        module, owner = first.rsplit(".", 1)
        return getattr(importlib.import_module(module), owner), name


class Measured(NamedTuple):
    """Seconds and calls of each kind of work of a fit with its report, and memory in bytes."""

    seconds: Counter[str]
    calls: Counter[str]
    memory: int


def measured(size: str, task: str) -> Measured:
    """Return the time of a fit with its report, what it was spent on, and its memory."""
    warnings.simplefilter("ignore")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    n_rows, n_columns = map(int, size.split("x"))
    spent = Spent()
    with TemporaryDirectory() as folder, ExitStack() as entered:
        table = Path(folder, "table.csv")
        made_table(n_rows, n_columns, task).to_csv(table, index=False)
        for kind, paths in WORK.items():
            for owner, name in map(owner_of, paths):
                function = spent.timed(kind, getattr(owner, name))
                entered.enter_context(patch.object(owner, name, function))
        entered.enter_context(threadpool_limits(1))
        entered.enter_context(redirect_stdout(StringIO()))
        entered.enter_context(redirect_stderr(StringIO()))
        given = Fit(
            table,
            "y",
            task=task if task in GRADED else "auto",
            out=Path(folder, "m.skops"),
            report=Path(folder, "r.html"),
        )
        spent.timed("all", commands.fit)(given)
    memory = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    return Measured(spent.seconds, spent.calls, memory)


def report(size: str, task: str) -> None:
    """Print the time of each kind of work of a fit in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        spent = pool.submit(measured, size, task).result()
    total = sum(spent.seconds.values())
    kinds = [*WORK, "all"]
    rows = [
        [
            "others" if kind == "all" else kind,
            f"{spent.seconds[kind]:.2f} s",
            f"{spent.seconds[kind] / total:.0%}",
            f"{spent.calls[kind]}",
        ]
        for kind in kinds
    ]
    target = f"at most {TARGETS[size]} s" if size in TARGETS else ""
    title = f"{size}, {task}: {total:.1f} s of processor time, {spent.memory / 2**20:,.0f} MiB"
    print_table(title, ["work", "time", "share", "calls"], [*rows, ["target", target, "", ""]])


def main() -> None:
    """Measure the tables that the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sizes", nargs="*", metavar="ROWSxCOLUMNS", help=", ".join(SIZES))
    parser.add_argument("--tasks", default="regression,classification")
    options = parser.parse_args()
    for task in options.tasks.split(","):
        for size in options.sizes or (GRADED_SIZES if task in GRADED else SIZES):
            report(size, task)


if __name__ == "__main__":
    main()

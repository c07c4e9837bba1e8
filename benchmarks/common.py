"""Data, timing, tables and the command line of the benchmark scripts."""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

# The experiments are not installed, and a script's own folder alone is on the path.
sys.path.insert(0, str(Path(__file__).parents[1]))

from experiments.c_search import seconds
from experiments.data_sets import load_data_set
from experiments.problems import Part, three_parts, two_classes, whole

__all__ = [
    "LETTER_PAIRS",
    "THREADS",
    "Array",
    "Labels",
    "Part",
    "Record",
    "alternate",
    "apart",
    "append_records",
    "classification_set",
    "command_line",
    "load_data_set",
    "peak_resident",
    "print_table",
    "read_records",
    "run_named",
    "seconds",
    "squared_distances",
    "standardized_sample",
    "three_parts",
    "two_classes",
    "whole",
    "widths_around",
    "write_records",
]

Record = dict[str, Any]
Array = NDArray[np.float64]
Labels = NDArray[np.int64]

THREADS = 2
"""The number of threads of every benchmark, so that different machines compare."""

LETTER_PAIRS = ("BE", "BF", "CG", "CO", "IJ", "MN", "OQ", "UV")
"""Pairs of letters to tell apart; the first four are in Afkanpour et al. (2013), Figure 6."""


@cache
def classification_set(name: str) -> Part:
    """Return a data set with labels 0, 1, ...; ratings of books become good (4 and 5) or not."""
    X, y = whole(name)
    return X, np.unique(y >= 4 if name == "sentiment_books" else y, return_inverse=True)[1]


def standardized_sample(name: str, n_samples: int, seed: int) -> Part:
    """Return random samples of a set, standardized, with missing values filled in."""
    X, y = classification_set(name)
    rows = np.random.default_rng(seed).permutation(len(y))[:n_samples]
    return make_pipeline(SimpleImputer(), StandardScaler()).fit_transform(X[rows]), y[rows]


def squared_distances(X: Array) -> Array:
    """Return squared distances by the usual formula in NumPy."""
    squares = (X**2).sum(axis=1)
    squared: Array = squares[:, None] + squares - 2.0 * (X @ X.T)
    return np.maximum(squared, 0.0, out=squared)


def widths_around(D: Array, number: int) -> Array:
    """Return widths in geometric progression, from a fifth to five times the root of the median."""
    return float(np.sqrt(np.median(D))) * np.geomspace(0.2, 5.0, number)


def alternate(functions: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, Array]:
    """Return wall-clock times of functions called in turn, so that all meet the same noise.

    Returns
    -------
    dict of str to ndarray of shape (repeats,)
    """
    rounds = [[seconds(function) for function in functions.values()] for _ in range(repeats)]
    return dict(zip(functions, np.array(rounds).T, strict=True))


def peak_resident() -> float:
    """Return the peak resident memory of this process so far, in GB."""
    unit = 1.0 if sys.platform == "darwin" else 1024.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function returns in a process of its own, on `THREADS` threads.

    On Linux a program inherits the peak memory of the process that starts it, unless a fork server
    starts it.
    """
    with ProcessPoolExecutor(1, get_context("forkserver")) as pool:
        return pool.submit(_limited, function, arguments, THREADS).result()


def _limited(function: Callable[..., Any], arguments: tuple[Any, ...], threads: int) -> Any:
    with threadpool_limits(threads):
        return function(*arguments)


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a small table, with the first column flush left."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    print(f"\n{title}")
    for row in (header, *rows):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("  " + "  ".join(cells), flush=True)


def read_records(path: Path) -> list[Record]:
    """Return the records in a file of JSON lines, none where there is no file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write records to a file of JSON lines, in place of what it holds."""
    aside = path.with_suffix(".part")
    aside.write_text("".join(json.dumps(record) + "\n" for record in records))
    aside.replace(path)


def append_records(
    path: Path, function: Callable[..., Record | None], tasks: Sequence[tuple[Any, ...]], jobs: int
) -> None:
    """Call a function on tasks in processes of one thread, and append each record when it is there.

    What a function returns is written with its processor time, `seconds`; None is not written. A
    task that fails stops no other, and its error is raised in the end.
    """
    failures, spent = list[BaseException](), 0.0
    processes = ProcessPoolExecutor(jobs, get_context("spawn"))
    with path.open("a") as file, processes as pool:
        runs = {pool.submit(_on_one_thread, function, task): task for task in tasks}
        for number, run in enumerate(as_completed(runs), 1):
            print(f"{number} of {len(runs)}", *runs[run], end=": ")
            if (error := run.exception()) is not None:
                failures.append(error)
                print(error, flush=True)
                continue
            record = run.result()
            spent += record["seconds"] / 60.0 if record else 0.0
            print(f"{spent:.2f} core-minutes in all", flush=True)
            if record:
                file.write(json.dumps(record) + "\n")
                file.flush()
    if failures:
        raise failures[0]


def _on_one_thread(function: Callable[..., Record | None], task: tuple[Any, ...]) -> Record | None:
    warnings.simplefilter("ignore")
    start = time.process_time()
    record = _limited(function, task, 1)
    return record and {**record, "seconds": round(time.process_time() - start, 2)}


def command_line(
    description: str, names: Iterable[str], add_options: Callable[[argparse.ArgumentParser], object]
) -> tuple[list[str], argparse.Namespace]:
    """Return the benchmarks that the command line names, by default all, and its options."""
    known = list(names)
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    add_options(parser)
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are: {', '.join(known)}")
    return options.names or known, options


def run_named(
    description: str | None,
    benchmarks: Mapping[str, Callable[[argparse.Namespace], object]],
    **options: tuple[Any, str],
) -> None:
    """Run the benchmarks that the command line names, on `THREADS` threads.

    Options are given by name, each with its default, which says the type, and a help text.
    """

    def add_options(parser: argparse.ArgumentParser) -> None:
        for name, (default, text) in options.items():
            parser.add_argument(f"--{name}", type=type(default), default=default, help=text)

    names, chosen = command_line(description or "", benchmarks, add_options)
    with threadpool_limits(THREADS):
        for name in names:
            benchmarks[name](chosen)

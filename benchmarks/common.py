"""What the benchmarks share: data, splits, timing, tables, the command line."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer.datasets import load

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Part = tuple[Array, Labels]

THREADS = 2
"""Threads that every benchmark may use, so that figures from different machines compare."""

LETTER_PAIRS = ("BE", "BF", "CG", "CO", "IJ", "MN", "OQ", "UV")
"""Letters that are told apart; the first four are in Afkanpour et al. (2013), Figure 6."""


@dataclass(frozen=True)
class Split:
    """A problem in three parts, each features and labels -1 and 1."""

    train: Part
    valid: Part
    test: Part


def two_classes(name: str, first: Sequence[Any], second: Sequence[Any]) -> Part:
    """Samples of a set whose label is in `first` (-1) or in `second` (1), as float64."""
    bunch = load(name)
    chosen = np.isin(bunch.target, [*first, *second])
    labels = np.where(np.isin(bunch.target[chosen], second), 1, -1)
    return bunch.data[chosen].astype(np.float64), labels


@cache
def classification_set(name: str) -> Part:
    """A whole set, dense, with labels 0, 1, ...; ratings of books are good (4 and 5) or not."""
    bunch = load(name)
    X = bunch.data.toarray() if hasattr(bunch.data, "toarray") else bunch.data
    y = bunch.target >= 4 if name == "sentiment_books" else bunch.target
    return X.astype(np.float64), np.unique(y, return_inverse=True)[1]


def standardized_sample(name: str, n_samples: int, seed: int) -> Part:
    """At most `n_samples` random samples of a set, missing values filled, features standardized."""
    X, y = classification_set(name)
    rows = np.random.default_rng(seed).permutation(len(y))[:n_samples]
    return make_pipeline(SimpleImputer(), StandardScaler()).fit_transform(X[rows]), y[rows]


def three_parts(X: Array, y: Labels, sizes: tuple[int, int, int], seed: int) -> Split:
    """A random split into parts of these sizes; the last takes what there is, if that is less."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, valid, test = np.split(order[: sum(sizes)], np.cumsum(sizes[:2]))
    return Split((X[train], y[train]), (X[valid], y[valid]), (X[test], y[test]))


def seconds(function: Callable[[], object]) -> float:
    """Wall-clock time of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def alternate(functions: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, Array]:
    """Wall-clock times of functions called in turn, so that all meet the same noise.

    Returns
    -------
    dict of str to ndarray of shape (repeats,)
    """
    rounds = [[seconds(function) for function in functions.values()] for _ in range(repeats)]
    return dict(zip(functions, np.array(rounds).T, strict=True))


def mean_and_error(values: Sequence[float] | Array, scale: float = 1.0, digits: int = 1) -> str:
    """Mean and, for several values, its standard error."""
    numbers = scale * np.asarray(values, dtype=float)
    if numbers.size == 1:
        return f"{numbers[0]:.{digits}f}"
    error = numbers.std(ddof=1) / np.sqrt(numbers.size)
    return f"{numbers.mean():.{digits}f} ± {error:.{digits}f}"


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a small table, the first column flush left."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    print(f"\n{title}")
    for row in (header, *rows):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("  " + "  ".join(cells), flush=True)


def command_line(
    description: str, names: Iterable[str], add_options: Callable[[argparse.ArgumentParser], object]
) -> tuple[list[str], argparse.Namespace]:
    """The benchmarks that the command line asks for, all where it names none, and its options."""
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

"""Data that experiments share: public and synthetic problems, in random parts of given sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from experiments.data_sets import KNOWN, load_data_set
from mercer.datasets import make_relevance, make_sine

Array = NDArray[Any]
# Features and labels, or responses, of some samples.
Part = tuple[Array, Array]


# The data sets of `load_data_set` whose target is a class.
CLASSIFICATION_SETS = tuple(
    name for name, entry in KNOWN.items() if entry["classes"] and "table" not in entry
)


@dataclass(frozen=True)
class Split:
    """A problem in three parts, each with features and labels, or responses."""

    train: Part
    valid: Part
    test: Part


@cache
def whole(name: str) -> Part:
    """Return a data set of `load_data_set`, with dense features of float64."""
    bunch = load_data_set(name)
    X = bunch.data.toarray() if hasattr(bunch.data, "toarray") else bunch.data
    return np.asarray(X, dtype=np.float64), np.asarray(bunch.target)


def two_classes(name: str, first: Sequence[Any], second: Sequence[Any]) -> Part:
    """Return the samples of a set whose label is in `first` (-1) or in `second` (1)."""
    X, y = whole(name)
    chosen = np.isin(y, [*first, *second])
    return X[chosen], np.where(np.isin(y[chosen], second), 1, -1)


def three_parts(X: Array, y: Array, sizes: tuple[int, int, int], seed: int) -> Split:
    """Split samples at random into parts of these sizes; the last may be smaller."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, valid, test = np.split(order[: sum(sizes)], np.cumsum(sizes[:2]))
    return Split((X[train], y[train]), (X[valid], y[valid]), (X[test], y[test]))


def scaled(split: Split, transformer: Any = None) -> Split:
    """Transform all parts by a transformer fitted to the training part, by default a scaler."""
    fitted = (StandardScaler() if transformer is None else transformer).fit(split.train[0])
    parts = (split.train, split.valid, split.test)
    return Split(*((fitted.transform(X), y) for X, y in parts))


def relevance(
    n_train: int, gamma: float, repeat: int, *, others: tuple[int, int], rho: float = 1.75
) -> Split:
    """Return the problem whose features differ in relevance, in three parts."""
    sizes = (n_train, *others)
    X, y = make_relevance(sum(sizes), gamma=gamma, rho=rho, random_state=repeat)
    return three_parts(X, y, sizes, repeat)


def sines(sizes: tuple[int, int, int], repeat: int) -> Split:
    """Return three independent samples of the problem of three sines."""
    parts = (make_sine(size, random_state=3 * repeat + part) for part, size in enumerate(sizes))
    return Split(*parts)

"""Classes of a target, and their counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._blocks.blocks import Block
from mercer._typing import Array


@dataclass(frozen=True)
class ClassCounts:
    """The classes of a target, and the number of rows of each.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Sorted.
    counts : ndarray of shape (n_classes,)
    """

    classes: Array
    counts: Array

    def codes(self, y: Array) -> Array:
        """Return the position of each row's class.

        Parameters
        ----------
        y : ndarray of shape (n_rows,)

        Returns
        -------
        ndarray of shape (n_rows,)

        Raises
        ------
        ValueError
            If a class is not among `classes`.
        """
        if y.dtype.kind == "O":
            positions = {value: code for code, value in enumerate(self.classes.tolist())}
            codes = np.array([positions.get(value, -1) for value in y.tolist()], dtype=np.intp)
        else:
            codes = np.searchsorted(self.classes, y)
            codes[self.classes[np.minimum(codes, self.classes.size - 1)] != y] = -1
        if codes.size and codes.min() < 0:
            raise ValueError(f"y has an unknown class: {y[codes < 0][0]!r}.")
        return codes


@dataclass(frozen=True)
class ClassStatistics:
    """The statistic whose state is the number of rows of each class, a `collections.Counter`.

    `class_counts` sorts it in the end. A block need not contain all classes.
    """

    def start(self) -> Counter[Any]:
        """Return the state of no rows."""
        return Counter()

    def add(self, state: Counter[Any], block: Block) -> Counter[Any]:
        """Return the state with a block's rows added.

        Parameters
        ----------
        state : Counter
        block : Block
        """
        if block.y is None or block.y.ndim != 1:
            raise ValueError("Classes need a target of one column.")
        if block.y.dtype.kind == "O":
            state.update(block.y.tolist())
        else:
            values, counts = np.unique(block.y, return_counts=True)
            state.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        return state

    def merge(self, first: Counter[Any], second: Counter[Any]) -> Counter[Any]:
        """Return the state of two sets of rows.

        Parameters
        ----------
        first, second : Counter
        """
        return first + second


def class_counts(state: Counter[Any]) -> ClassCounts:
    """Sort the classes that were counted.

    Parameters
    ----------
    state : Counter
        The state of `ClassStatistics`.

    Returns
    -------
    ClassCounts

    Raises
    ------
    ValueError
        If values are missing, or are of types that have no common order, such as numbers and text.
    """
    if any(value is None or value != value for value in state):  # noqa: PLR0124
        raise ValueError("y has missing values.")
    try:
        values = sorted(state)
    except TypeError as error:
        types = ", ".join(sorted({type(value).__name__ for value in state}))
        raise ValueError(f"y has values of several types: {types}.") from error
    counts = np.array([state[value] for value in values], dtype=np.intp)
    return ClassCounts(np.array(values), counts)

"""Classes of a target and their weights, random rows, and folds, all independent of blocks."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils import check_random_state, compute_class_weight

from mercer._blocks.blocks import Block, BlockSource, MemorySource
from mercer._data.folds import N_FOLDS
from mercer._data.types import Array, ClassWeight, RandomState
from mercer._data.validation import check_number
from mercer._data.weights import SampleWeights


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

    def codes(self, y: Any) -> Array:
        """Return the position of each row's class in `classes`.

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
        positions = {value: code for code, value in enumerate(self.classes.tolist())}
        codes = np.array([positions.get(value, -1) for value in y.tolist()], dtype=np.intp)
        if np.any(codes < 0):
            raise ValueError(f"y has an unknown class: {y[codes < 0][0]!r}.")
        return codes


@dataclass(frozen=True)
class _ClassCounter:
    """The statistic whose state is the number of rows of each class."""

    def start(self) -> Counter[Any]:
        return Counter()

    def add(self, state: Counter[Any], block: Block) -> Counter[Any]:
        if block.y is None or block.y.ndim != 1:
            raise ValueError("Classes need a target of one column.")
        state.update(block.y.tolist())
        return state

    def merge(self, first: Counter[Any], second: Counter[Any]) -> Counter[Any]:
        return first + second


def class_counts(source: BlockSource) -> ClassCounts:
    """Count the classes of a source's target, in a pass over the target alone.

    Parameters
    ----------
    source : BlockSource
        A source with a target of one column.

    Returns
    -------
    ClassCounts

    Raises
    ------
    ValueError
        If values are missing, or are of types that have no common order, such as numbers and text.
    """
    found = source.only_targets().reduce(_ClassCounter())
    if any(value is None or value != value for value in found):  # noqa: PLR0124
        raise ValueError("y has missing values.")
    try:
        values = sorted(found)
    except TypeError as error:
        types = ", ".join(sorted({type(value).__name__ for value in found}))
        raise ValueError(f"y has values of several types: {types}.") from error
    return ClassCounts(np.array(values), np.array([found[v] for v in values], dtype=np.intp))


@dataclass(frozen=True)
class WeightsOfClasses:
    """Weights of rows that depend only on the class of a row.

    Attributes
    ----------
    found : ClassCounts
    factors : ndarray of shape (n_classes,)
        Positive weight of the rows of each class.
    """

    found: ClassCounts
    factors: Array

    @property
    def average(self) -> float:
        """Mean weight of the rows."""
        return float(np.average(self.factors, weights=self.found.counts))

    def of(self, y: Array, rows: Array) -> SampleWeights:
        """Return the weights of some rows.

        Parameters
        ----------
        y : ndarray of shape (n_chosen,)
            Classes of the rows.
        rows : ndarray of int of shape (n_chosen,)
            Positions of the rows in the source.
        """
        return SampleWeights(self.factors[self.found.codes(y)])


RowWeights: TypeAlias = SampleWeights | WeightsOfClasses
"""Positive weights of all rows of a source; they can be pickled."""


def class_row_weights(source: BlockSource, class_weight: ClassWeight) -> WeightsOfClasses:
    """Return the weights of rows by class; classes are counted in a pass over the targets.

    Parameters
    ----------
    source : BlockSource
        A source with a target of one column.
    class_weight : dict or "balanced"
        Weights by label; `"balanced"` gives all classes the same total weight.

    Returns
    -------
    WeightsOfClasses

    Raises
    ------
    ValueError
        If `class_weight` is neither of these, names an absent class, or is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer._blocks.tables import block_source
    >>> source = block_source(np.zeros((4, 1)), np.array(["a", "a", "a", "b"]))
    >>> class_row_weights(source, "balanced").factors
    array([0.66666667, 2.        ])
    """
    found = class_counts(source)
    if isinstance(class_weight, str) and class_weight == "balanced":
        factors = found.counts.sum() / (found.counts.size * found.counts)
    else:
        factors = compute_class_weight(class_weight, classes=found.classes, y=found.classes)
    if not (np.isfinite(factors).all() and np.all(factors > 0.0)):
        raise ValueError(
            "class_weight must be positive for tables that are read in blocks; "
            f"got {class_weight!r}."
        )
    return WeightsOfClasses(found, factors)


def row_keys(seed: int, positions: Array) -> Array:
    """Return pseudo-random numbers that depend only on a seed and on the positions of rows.

    Parameters
    ----------
    seed : int
    positions : ndarray of int of shape (n_rows,)

    Returns
    -------
    ndarray of shape (n_rows,), of 64-bit unsigned integers
        No two rows have the same number, because SplitMix64 is a permutation of these integers.

    References
    ----------
    G. L. Steele, D. Lea, C. H. Flood (2014). Fast Splittable Pseudorandom Number Generators.
    OOPSLA 2014, figure 16.
    """
    keys: Array = (positions.astype(np.uint64) + 1) * 0x9E3779B97F4A7C15 + seed % 2**64
    keys = (keys ^ (keys >> 30)) * 0xBF58476D1CE4E5B9
    keys = (keys ^ (keys >> 27)) * 0x94D049BB133111EB
    return keys ^ (keys >> 31)


def row_folds(seed: int, positions: Array, n_folds: int) -> Array:
    """Assign rows to folds by their positions, independently of the division into blocks.

    Parameters
    ----------
    seed : int
    positions : ndarray of int of shape (n_rows,)
        Positions of the rows in the source.
    n_folds : int

    Returns
    -------
    ndarray of int of shape (n_rows,)
        Folds from 0 to n_folds - 1. Each run of n_folds consecutive rows, counted from the first
        row of the source, has one row of each fold, in a random order.
    """
    own, first = row_keys(seed, positions), positions - positions % n_folds
    others = (row_keys(seed, first + k) for k in range(n_folds))
    return np.asarray(sum((keys < own).astype(int) for keys in others))


def sample_positions(
    source: BlockSource, max_samples: int, random_state: RandomState = None, stratify: bool = False
) -> Array:
    """Return increasing positions of random rows, independent of the division into blocks.

    Parameters
    ----------
    source : BlockSource
    max_samples : int
    random_state : int, RandomState instance or None, default=None
    stratify : bool, default=False

    Returns
    -------
    ndarray of int of shape (min(max_samples, n_rows),)

    Raises
    ------
    ValueError
        If there are more classes than `max_samples`.
    """
    check_number("max_samples", max_samples, whole=True, low=1.0)
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int64).max, dtype=np.int64))
    n_rows = source.count_rows()
    if n_rows <= max_samples:
        return np.arange(n_rows)
    found = class_counts(source) if stratify else None
    quotas = np.array([max_samples]) if found is None else class_quotas(found, max_samples)
    every = source.only_targets() if stratify else MemorySource(np.empty((n_rows, 0)), None, 2**20)
    return np.sort(every.reduce(_SmallestKeys(seed, quotas, found))[2]).astype(np.intp)


def class_quotas(found: ClassCounts, max_samples: int) -> Array:
    """Return the numbers of rows of each class in a stratified sample, which sum to `max_samples`.

    Parameters
    ----------
    found : ClassCounts
        Counts of more rows in total than `max_samples`.
    max_samples : int

    Returns
    -------
    ndarray of shape (n_classes,)

    Raises
    ------
    ValueError
        If there are more classes than `max_samples`.
    """
    counts = found.counts
    if counts.size > max_samples:
        raise ValueError(
            f"max_samples must be at least the number of classes, {counts.size}; got {max_samples}."
        )
    # Every fold should have a row of each class.
    lowest = np.minimum(counts, min(N_FOLDS, max_samples // counts.size))
    raised = np.zeros(counts.size, dtype=bool)
    while True:
        rest = max_samples - lowest[raised].sum()
        shares = np.where(raised, lowest, rest * (counts / counts[~raised].sum()))
        if not np.any(short := shares < lowest):
            break
        raised |= short
    quotas = np.floor(shares).astype(np.intp)
    missing = max_samples - quotas.sum()
    quotas[np.argsort(quotas - shares, kind="stable")[:missing]] += 1
    return quotas


@dataclass(frozen=True)
class _SmallestKeys:
    """The statistic whose state is the classes, keys and positions of rows with the smallest keys.

    Attributes
    ----------
    seed : int
    quotas : ndarray of shape (n_classes,)
        Number of rows of each class.
    found : ClassCounts or None
        The classes; None if all rows are in one class.
    """

    seed: int
    quotas: Array
    found: ClassCounts | None

    def start(self) -> Array:
        return np.empty((3, 0), dtype=np.uint64)

    def add(self, state: Array, block: Block) -> Array:
        rows = block.positions
        codes = np.zeros(rows.size) if self.found is None else self.found.codes(block.y)
        new = [codes.astype(np.uint64), row_keys(self.seed, rows), rows.astype(np.uint64)]
        return self.merge(state, np.stack(new))

    def merge(self, first: Array, second: Array) -> Array:
        kept = np.concatenate([first, second], axis=1)
        kept = kept[:, np.lexsort((kept[1], kept[0]))]
        codes = kept[0].astype(np.intp)
        counts = np.bincount(codes, minlength=self.quotas.size)
        rank = np.arange(codes.size) - (np.cumsum(counts) - counts)[codes]
        return kept[:, rank < self.quotas[codes]]

"""Classes of a target, their counts, and weights of rows."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.utils import compute_class_weight

from mercer._blocks.blocks import Block, BlockSource
from mercer._data.weights import SampleWeights
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
class _ClassCounter:
    """The statistic whose state is the number of rows of each class."""

    def start(self) -> Counter[Any]:
        return Counter()

    def add(self, state: Counter[Any], block: Block) -> Counter[Any]:
        if block.y is None or block.y.ndim != 1:
            raise ValueError("Classes need a target of one column.")
        if block.y.dtype.kind == "O":
            state.update(block.y.tolist())
        else:
            values, counts = np.unique(block.y, return_counts=True)
            state.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        return state

    def merge(self, first: Counter[Any], second: Counter[Any]) -> Counter[Any]:
        return first + second


def class_counts(source: BlockSource) -> ClassCounts:
    """Count the classes of a source's target, in a pass over the target alone.

    Parameters
    ----------
    source : BlockSource
        With a target of one column.

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


class RowWeights(Protocol):
    """Positive weights of all rows of a source, such as `SampleWeights`; they can be pickled."""

    @property
    def average(self) -> float:
        """Mean over the rows."""
        ...

    def of(self, y: Array, rows: Array) -> SampleWeights:
        """Weights of some rows.

        Parameters
        ----------
        y : ndarray of shape (n_chosen,) or (n_chosen, n_outputs)
            Their targets.
        rows : ndarray of int of shape (n_chosen,)
            Their positions in the source.
        """
        ...


@dataclass(frozen=True)
class WeightsOfClasses:
    """A weight for each class of rows.

    Attributes
    ----------
    found : ClassCounts
    factors : ndarray of shape (n_classes,)
        Positive weights of each class's rows.
    """

    found: ClassCounts
    factors: Array

    @property
    def average(self) -> float:
        """Mean over the rows."""
        return float(np.average(self.factors, weights=self.found.counts))

    def of(self, y: Array, rows: Array) -> SampleWeights:
        """Weights of some rows; see `RowWeights`."""
        return SampleWeights(self.factors[self.found.codes(y)])


def class_row_weights(source: BlockSource, class_weight: Any) -> WeightsOfClasses:
    """Weights of the rows of a source by their classes, which a pass over the targets counts.

    Parameters
    ----------
    source : BlockSource
        With a target of one column.
    class_weight : dict or "balanced"
        By label; `"balanced"` gives all classes the same total weight.

    Returns
    -------
    WeightsOfClasses

    Raises
    ------
    ValueError
        If `class_weight` is neither, names a class that is not there, or is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer._blocks import block_source
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

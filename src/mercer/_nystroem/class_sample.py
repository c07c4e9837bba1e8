"""A sample of the rows of each class that is drawn during a pass, with the rows' folds."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import scipy.sparse as sp

from mercer._blocks import Block, row_folds, row_keys
from mercer._nystroem.array_libraries import is_foreign, taken, to_numpy
from mercer._nystroem.target_encoding import TargetEncoding
from mercer._typing import Array, Features


@dataclass(frozen=True)
class SampledRows:
    """Rows, and what they were drawn by.

    Attributes
    ----------
    keys : ndarray of shape (n_rows,)
        Pseudo-random numbers; those of the rows that are kept are the smallest of their class.
    codes : ndarray of int of shape (n_rows,)
        Index of each row's class.
    folds : ndarray of int of shape (n_rows,)
    weights : ndarray of shape (n_rows,)
        Ones where the rows have none.
    X : ndarray or CSR matrix of shape (n_rows, n_features), or None
        None before the first block.
    """

    keys: Array
    codes: Array
    folds: Array
    weights: Array
    X: Features | None = None


@dataclass(frozen=True)
class ClassSample:
    """The statistic that keeps equally many random rows of each class.

    The sample does not depend on the order and division of the rows into blocks.

    Parameters
    ----------
    encoding : TargetEncoding
        Of classes.
    n_rows : int
        Number of rows to keep of all classes together, if they have so many.
    n_folds : int
    seed : int
        Of the folds and of the draw.
    """

    encoding: TargetEncoding
    n_rows: int
    n_folds: int
    seed: int = 0

    def start(self) -> SampledRows:
        """No rows."""
        none = np.empty(0, np.intp)
        return SampledRows(np.empty(0, np.uint64), none, none, np.empty(0))

    def add(self, state: SampledRows, block: Block) -> SampledRows:
        """The sample of the rows before and of a block's.

        Parameters
        ----------
        state : SampledRows
        block : Block
            With labels.
        """
        assert block.y is not None
        keys = row_keys(self.seed + 1, block.start, block.n_rows)
        folds = row_folds(self.seed, block.start, block.n_rows, self.n_folds)
        codes = self.encoding.codes(to_numpy(block.y))
        drawn = np.flatnonzero(keys < self._bounds(state)[codes])
        if not drawn.size:
            return state
        X = taken(block.X, drawn)
        X = to_numpy(X) if is_foreign(X) else X
        weights = np.ones(drawn.size) if block.weights is None else block.weights[drawn]
        new = SampledRows(keys[drawn], codes[drawn], folds[drawn], weights, X)
        return self.merge(state, self._pruned(new))

    def merge(self, first: SampledRows, second: SampledRows) -> SampledRows:
        """The sample of the rows of two samples.

        Parameters
        ----------
        first, second : SampledRows
        """
        parts = [part for part in (first, second) if part.X is not None]
        if len(parts) < 2:
            return parts[0] if parts else first
        columns = ((getattr(part, f.name) for part in parts) for f in fields(SampledRows))
        return self._pruned(SampledRows(*(_stacked(list(column)) for column in columns)))

    @property
    def _per_class(self) -> int:
        return max(self.n_rows // self.encoding.n_outputs, 1)

    def _bounds(self, state: SampledRows) -> Array:
        """Below this, a key is among the smallest of its class, shape (n_classes,)."""
        classes = np.arange(self.encoding.n_outputs)
        full = np.bincount(state.codes, minlength=classes.size) >= self._per_class
        bounds = np.full(classes.size, np.iinfo(np.uint64).max)
        bounds[full] = state.keys[np.searchsorted(state.codes, classes[full], "right") - 1]
        return bounds

    def _pruned(self, rows: SampledRows) -> SampledRows:
        """The rows of smallest keys of each class, ordered by class and key."""
        order = np.lexsort((rows.keys, rows.codes))
        codes = rows.codes[order]
        ranks = np.arange(len(codes)) - np.searchsorted(codes, codes)
        kept = order[ranks < self._per_class]
        assert rows.X is not None
        return SampledRows(*(getattr(rows, field.name)[kept] for field in fields(SampledRows)))


def _stacked(parts: list[Features]) -> Features:
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr")
    return np.concatenate(parts)

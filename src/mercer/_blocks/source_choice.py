"""Sources of blocks for all kinds of input."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer._blocks.blocks import BlockSource
from mercer._blocks.memory_source import MemorySource
from mercer._blocks.numeric_tables import is_frame
from mercer._typing import Array
from mercer._validation import check_number


def block_source(
    X: Any, y: Any = None, *, block_rows: int | None = None, encoder: Any = None
) -> BlockSource:
    """Return a source of blocks of a table's rows.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or BlockSource of shape (n_rows, n_columns)
        Memory-mapped arrays are read block by block. Sparse matrices of other formats than CSR are
        converted, which copies them. A source is returned as it is.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs), default=None
    block_rows : int, default=None
        Largest number of rows of a block. If None, 4,096, or fewer where features are many.
    encoder : transformer, default=None
        A fitted transformer that turns the input's rows into numbers. Without it, all columns must
        hold numbers.

    Returns
    -------
    BlockSource

    Raises
    ------
    ValueError
        If X is not two-dimensional, or y has another number of rows.
    """
    if block_rows is not None:
        check_number("block_rows", block_rows, whole=True, low=1.0)
    if isinstance(X, BlockSource):
        if y is not None:
            raise ValueError("y must be None, because the source X has its own targets.")
        return X
    if issparse(X):
        X = X.tocsr()
    elif not (is_frame(X) or hasattr(X, "__dlpack__")):
        X = np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(f"X must have rows and columns; its shape is {tuple(X.shape)}.")
    return MemorySource(X, _target(y, int(X.shape[0])), block_rows, encoder)


def _target(y: Any, n_rows: int) -> Array | None:
    if y is None:
        return None
    if not hasattr(y, "__dlpack__"):
        y = np.asarray(y)
    if len(y.shape) not in (1, 2) or y.shape[0] != n_rows:
        raise ValueError(f"X has {n_rows} rows, and y has the shape {tuple(y.shape)}.")
    return y

"""Columns of a table, chosen as scikit-learn's ColumnTransformer does."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._typing import Features


def column_positions(X: Features, columns: Any) -> list[int]:
    """Positions of the chosen columns.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    columns : int, str, slice, boolean mask, sequence of positions or names, or callable

    Returns
    -------
    list of int

    Raises
    ------
    ValueError
        If a name or position is absent, the table has no names, or no column is chosen.
    """
    if callable(columns):
        columns = columns(X)
    n_features = np.shape(X)[1]
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    if isinstance(columns, slice):
        columns = [
            slice(_position(columns.start, names), _after(columns.stop, names), columns.step)
        ]
        positions = np.arange(n_features)[columns[0]].tolist()
    else:
        entries = [columns] if np.ndim(columns) == 0 else list(columns)
        if entries and all(isinstance(entry, bool | np.bool_) for entry in entries):
            if len(entries) != n_features:
                raise ValueError(
                    f"A mask of {len(entries)} columns does not fit {n_features} features."
                )
            entries = np.flatnonzero(entries).tolist()
        positions = [_position(entry, names) for entry in entries]
    for position in positions:
        if not -n_features <= position < n_features:
            raise ValueError(f"Column {position} is absent: X has {n_features} features.")
    if not positions:
        raise ValueError("No column is chosen.")
    return [int(position) % n_features for position in positions]


def take_columns(X: Features, columns: Any) -> Features:
    """The chosen columns of a table, as an array or sparse matrix.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    columns : int, str, slice, boolean mask, sequence of positions or names, or callable
    """
    positions = column_positions(X, columns)
    if hasattr(X, "columns"):
        taken = X.iloc[:, positions] if hasattr(X, "iloc") else X[:, positions]
        return np.asarray(taken)
    return X.tocsr()[:, positions] if sp.issparse(X) else np.asarray(X)[:, positions]


def _position(entry: Any, names: list[str] | None) -> Any:
    if not isinstance(entry, str):
        return entry
    if names is None:
        raise ValueError(
            f"Column {entry!r} is chosen by name, but X has no column names: pass a data frame."
        )
    if entry not in names:
        raise ValueError(f"Column {entry!r} is absent: X has {', '.join(names[:20])}.")
    return names.index(entry)


def _after(entry: Any, names: list[str] | None) -> Any:
    return _position(entry, names) + 1 if isinstance(entry, str) else entry

"""Kernels on some of the columns of a table, and on linear combinations of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from mercer._data.arrays import indices_like, is_foreign, like, namespace
from mercer._data.similar_names import did_you_mean
from mercer._data.types import Array, Features
from mercer.kernels._column_names import are_rows
from mercer.kernels._composition import Composite, as_operand
from mercer.kernels._distances import Pairs
from mercer.kernels._kernel import GramTiles, Kernel, ValueTiles
from mercer.kernels._radial import RadialFunction
from mercer.kernels._structure import InnerProduct, Structure

Columns: TypeAlias = Sequence[Any] | slice | str | int | Callable[[Features], Any]


class OnMapped(Composite):
    """A kernel on features that are computed from those of the table."""

    kernel: Kernel

    @abstractmethod
    def _mapped(self, X: Features) -> Features:
        """Return the features that the inner kernel is evaluated on."""

    @property
    def offset(self) -> float:
        """Offset of the inner kernel."""
        return self.kernel.offset

    def log_bounds(self, X: Features) -> Array:
        """Return the inner kernel's intervals for the features on which it is evaluated."""
        return self.kernel.log_bounds(self._mapped(X))

    def starts(self, X: Features) -> Array:
        """Return the inner kernel's starting points for the features on which it is evaluated."""
        return self.kernel.starts(self._mapped(X))

    def _parts(self) -> Sequence[Kernel]:
        return [self.kernel]

    def _check_missing(self, X: Features) -> None:
        self.kernel._check_missing(self._mapped(X))

    def _shifted(self, X: Features, Z: Features | None) -> Array:
        return self.kernel._shifted(self._mapped(X), None if Z is None else self._mapped(Z))

    def _shifted_at(self, Z: Features) -> Callable[[Features], Array]:
        inner = self.kernel._shifted_at(self._mapped(Z))
        return lambda X: inner(self._mapped(X))

    def _shifted_diag(self, X: Features) -> Array:
        return self.kernel._shifted_diag(self._mapped(X))

    def _contract(
        self, X: Features, P: Array, Z: Features, start: int | None
    ) -> tuple[float, Array]:
        return self.kernel._contract(self._mapped(X), P, self._mapped(Z), start)

    def _value_tiles(self, X: Features, precision: npt.DTypeLike = np.float32) -> ValueTiles:
        return self.kernel._value_tiles(self._mapped(X), precision)

    def _pairs(self, X: Features) -> Pairs | None:
        return self.kernel._pairs(self._mapped(X))

    def _gram_tiles(self, pairs: Pairs) -> GramTiles:
        return self.kernel._gram_tiles(pairs)


@dataclass(eq=False, repr=False)
class OnColumns(OnMapped):
    """Kernel that depends on only some of the columns of a table.

    Parameters
    ----------
    kernel : Kernel
        The kernel that is evaluated on these columns.
    columns : int, str, slice, mask, sequence of positions or names, or callable
        The columns, in the forms that scikit-learn's `ColumnTransformer` takes. Names need a data
        frame (pandas or polars). A callable, such as :func:`sklearn.compose.make_column_selector`,
        is called with the table.

    Raises
    ------
    ValueError
        When evaluated, if a name or position is absent or no column is chosen.

    Examples
    --------
    >>> from mercer.kernels import Linear, OnColumns
    >>> OnColumns(Linear(), [1])([[1.0, 2.0], [3.0, 0.5]])
    array([[4.  , 1.  ],
           [1.  , 0.25]])
    """

    kernel: Kernel
    columns: Columns

    def __call__(self, X: Features, Z: Features | None = None) -> Array:
        """Return the Gram matrix on the chosen columns; see :meth:`Kernel.__call__`."""
        if are_rows(X, Z):
            return super().__call__(X, Z)
        chosen = None if Z is None else take_columns(Z, self.columns)
        return self.kernel(take_columns(X, self.columns), chosen)

    def diag(self, X: Features) -> Array:
        """Return the diagonal of the Gram matrix on the chosen columns."""
        return self.kernel.diag(take_columns(X, self.columns))

    def vjp(self, X: Features, P: Array, Z: Features | None = None) -> tuple[float, Array]:
        """Return <P, K> and its gradient on the chosen columns; see :meth:`Kernel.vjp`."""
        chosen = None if Z is None else take_columns(Z, self.columns)
        return self.kernel.vjp(take_columns(X, self.columns), P, chosen)

    @property
    def bounds(self) -> Any:
        """Bounds of the inner kernel."""
        return getattr(self.kernel, "bounds", None)

    @property
    def structure(self) -> Structure:
        """Structure of the inner kernel on the chosen columns, if these are known by position."""
        structure = self.kernel.structure
        if type(structure) is Structure and structure.n_widths:
            return replace(structure, isotropic=self._isotropic)
        chosen = self._known_positions()
        if chosen is not None and isinstance(structure, RadialFunction | InnerProduct):
            inside = structure.columns
            columns = chosen if inside is None else [chosen[position] for position in inside]
            return replace(structure, columns=tuple(columns))
        return Structure()

    def bind(self, X: Features) -> OnColumns:
        """Return the inner kernel, adapted to a table, on the positions of the chosen columns."""
        positions = column_positions(X, self.columns)
        return OnColumns(self.kernel.bind(take_columns(X, positions)), positions)

    def expand(self, X: Features) -> list[Kernel]:
        """Return the kernels that the inner kernel stands for, each on its columns."""
        positions = column_positions(X, self.columns)
        return [_on_columns(k, positions) for k in self.kernel.expand(take_columns(X, positions))]

    def relevance(self, n_features: int) -> Array:
        """Return the inner kernel's relevances, summed for repeated columns and zero elsewhere."""
        positions = column_positions(np.empty((0, n_features)), self.columns)
        total = np.zeros(n_features)
        np.add.at(total, positions, self.kernel.relevance(len(positions)))
        return total

    def describe(self) -> str:
        """Return the inner kernel's description and the columns."""
        columns = self.columns
        if isinstance(columns, list) and len(columns) > 3:
            return f"{as_operand(self.kernel)} on {len(columns)} columns"
        return f"{as_operand(self.kernel)} on {columns}"

    def _isotropic(self) -> Kernel | None:
        """Return the inner kernel with one width, on the same columns."""
        kernel = self.kernel.structure.isotropic()
        return None if kernel is None else OnColumns(kernel, self.columns)

    def _known_positions(self) -> list[int] | None:
        """Return the columns if they are a list of positions, as in a bound kernel, else None."""
        if isinstance(self.columns, list) and set(map(type, self.columns)) <= {int, np.int64}:
            return self.columns
        return None

    def _with_parts(self, parts: list[Kernel]) -> Self:
        return type(self)(parts[0], self.columns)

    def _mapped(self, X: Features) -> Features:
        known = self._known_positions()
        if is_foreign(X):
            return namespace(X).take(X, indices_like(np.array(known), X), axis=1)
        if known is None or hasattr(X, "columns"):
            return take_columns(X, self.columns)
        return X[:, known]


@dataclass(eq=False, repr=False)
class OnProjection(OnMapped):
    """Kernel on linear combinations of the features, k(A'x, A'x').

    A kernel of the Euclidean distance becomes a kernel of the Mahalanobis distance with the matrix
    A A'.

    Parameters
    ----------
    kernel : Kernel
        The kernel that is evaluated on the combinations.
    projection : array-like of shape (n_features, n_components)
        The matrix A.

    Raises
    ------
    ValueError
        When evaluated, if A is not a finite matrix with a row for each feature.

    Examples
    --------
    >>> from mercer.kernels import Linear, OnProjection
    >>> OnProjection(Linear(), [[1.0], [2.0]])([[1.0, 1.0], [0.0, 2.0]])
    array([[ 9., 12.],
           [12., 16.]])
    """

    kernel: Kernel
    projection: Array

    def bind(self, X: Features) -> Self:
        """Return the inner kernel, adapted to a table, on the same projection."""
        projected = self._mapped(X if hasattr(X, "tocsr") else np.asarray(X, dtype=float))
        return self._with_parts([self.kernel.bind(projected)])

    def relevance(self, n_features: int) -> Array:
        """Return the sum of the components' relevances, each times a squared entry of A."""
        squares = np.square(self._matrix(n_features))
        # A component without a feature does not affect the feature's relevance, even if it is NaN.
        inner = np.where(squares > 0.0, self.kernel.relevance(squares.shape[1]), 0.0)
        return np.asarray(np.einsum("zc,zc->z", squares, inner))

    def describe(self) -> str:
        """Return the inner kernel's description and the number of components."""
        return f"{as_operand(self.kernel)} on {np.shape(self.projection)[1]} projections"

    def _with_parts(self, parts: list[Kernel]) -> Self:
        return type(self)(parts[0], self.projection)

    def _matrix(self, n_features: int) -> Array:
        A = np.asarray(self.projection, dtype=float)
        if A.ndim != 2 or not np.isfinite(A).all():
            raise ValueError(
                "projection must be a finite matrix of shape (n_features, n_components); "
                f"got shape {A.shape}."
            )
        if len(A) != n_features:
            raise ValueError(f"projection has {len(A)} rows, but X has {n_features} features.")
        return A

    def _mapped(self, X: Features) -> Array:
        matrix = self._matrix(X.shape[1])
        return X @ like(matrix, X) if is_foreign(X) else np.asarray(X @ matrix)


def _on_columns(kernel: Kernel, positions: list[int]) -> OnColumns:
    """Return a kernel on columns, without nesting if it already is a kernel on columns."""
    if isinstance(kernel, OnColumns) and (inside := kernel._known_positions()) is not None:
        return OnColumns(kernel.kernel, [positions[position] for position in inside])
    return OnColumns(kernel, positions)


def column_positions(X: Features, columns: Any) -> list[int]:
    """Return the positions of the chosen columns.

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
    if np.ndim(X) != 2 and not hasattr(X, "columns"):
        raise ValueError(f"Expected 2D array, got {np.ndim(X)}D array instead.")
    if callable(columns):
        columns = columns(X)
    n_features = np.shape(X)[1]
    names = _places(X.columns) if hasattr(X, "columns") else None
    if isinstance(columns, slice):
        ends = slice(_position(columns.start, names), _after(columns.stop, names), columns.step)
        positions = np.arange(n_features)[ends].tolist()
    else:
        entries = [columns] if np.ndim(columns) == 0 else list(columns)
        kinds = {*map(type, entries)}
        if kinds and kinds <= {bool, np.bool_}:
            if len(entries) != n_features:
                raise ValueError(
                    f"A mask of {len(entries)} columns does not fit {n_features} features."
                )
            entries, kinds = np.flatnonzero(entries).tolist(), {int}
        positions = entries if kinds == {int} else [_position(entry, names) for entry in entries]
    if not positions:
        raise ValueError("No column is chosen.")
    if {*map(type, positions)} == {int} and 0 <= min(positions) <= max(positions) < n_features:
        return positions
    for position in positions:
        if not isinstance(position, int | np.integer):
            raise ValueError(f"Column {position!r} is neither a name nor a position.")
        if not -n_features <= position < n_features:
            raise ValueError(f"Column {position} is absent: X has {n_features} features.")
    return [int(position) % n_features for position in positions]


def take_columns(X: Features, columns: Columns) -> Features:
    """Return the chosen columns of a table, as a table of the same kind.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    columns : int, str, slice, boolean mask, sequence of positions or names, or callable
    """
    positions = column_positions(X, columns)
    if hasattr(X, "columns"):
        return X.iloc[:, positions] if hasattr(X, "iloc") else X[:, positions]
    if sp.issparse(X):
        return X.tocsr()[:, positions]
    first, last = positions[0], positions[-1]
    if positions == list(range(first, last + 1)):
        return np.asarray(X)[:, first : last + 1]
    return np.asarray(X)[:, positions]


def _places(names: Iterable[object]) -> dict[str, int]:
    """Return the first position of each name."""
    places = dict[str, int]()
    for place, name in enumerate(names):
        places.setdefault(str(name), place)
    return places


def _position(entry: Any, names: dict[str, int] | None) -> Any:
    if not isinstance(entry, str):
        return entry
    if names is None:
        raise ValueError(
            f"Column {entry!r} is chosen by name, but X has no column names: pass a data frame."
        )
    if entry not in names:
        hint, some = did_you_mean(entry, names), ", ".join([*names][:20])
        raise ValueError(f"Column {entry!r} is absent{hint}: X has {some}.")
    return names[entry]


def _after(entry: Any, names: dict[str, int] | None) -> Any:
    return _position(entry, names) + 1 if isinstance(entry, str) else entry

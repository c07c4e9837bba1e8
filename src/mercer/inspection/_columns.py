"""Columns of tables as numbers and codes, their bins, and the losses of a model in each bin."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.sparse import issparse

from mercer._data.types import Array, Features, Rows
from mercer.preprocessing import convert, kind_of, repeated_prefix
from mercer.preprocessing._column_kinds import is_duration, named_columns
from mercer.preprocessing._column_reader import ColumnReader

FEWEST = 5
"""Minimum number of rows in a bin, as required by the chi-squared approximation of the
Kruskal-Wallis test (Kruskal, Wallis 1952. Use of ranks in one-criterion variance analysis. JASA
47)."""


@dataclass(frozen=True)
class ColumnValues:
    """A column of a table.

    Attributes
    ----------
    name : str
    kind : {"number", "date", "category", "text"}
    values : ndarray of float of shape (n_rows,)
        Numbers, days since 1970, or indices into `labels`; NaN for missing numbers and dates.
    labels : ndarray of str
        Categories or texts, including "missing".
    """

    name: str
    kind: str
    values: Array
    labels: Array

    @property
    def is_ordered(self) -> bool:
        """Whether the values are numbers or dates."""
        return self.kind in ("number", "date")

    def take(self, rows: Rows) -> ColumnValues:
        """Return the column restricted to some of the rows."""
        return ColumnValues(self.name, self.kind, self.values[rows], self.labels)

    def over_units(self, units: Array) -> ColumnValues:
        """Return a column with the mean or the most frequent category of each unit."""
        if self.is_ordered:
            means = means_of_units(self.values, units)
            return ColumnValues(self.name, self.kind, means, self.labels)
        pairs, counts = np.unique((units, self.values), axis=1, return_counts=True)
        order = np.argsort(counts, kind="stable")
        modes: Array = np.empty(int(units.max()) + 1)
        modes[pairs[0, order].astype(int)] = pairs[1, order]  # The most frequent is written last.
        return ColumnValues(self.name, self.kind, modes, self.labels)


def means_of_units(values: Array, units: Array) -> Array:
    """Return the mean of the known values of each unit, NaN for units without known values.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
    units : ndarray of int of shape (n_rows,)
    """
    known = ~np.isnan(values)
    counts = np.bincount(units, known)
    sums = np.bincount(units, np.where(known, values, 0.0))
    return np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)


def columns_of(
    X: Features, others: Features | None = None, *, prefixes: bool = False
) -> list[ColumnValues]:
    """Return the columns of a table, or of two tables stacked on each other.

    Parameters
    ----------
    X : data frame or ndarray of shape (n_rows, n_features)
    others : data frame or ndarray of shape (n_others, n_features), default=None
        Rows that are placed above the rows of X.
    prefixes : bool, default=False
        Whether codes that differ in each row are replaced by their parts before a separator, if
        these parts repeat.

    Returns
    -------
    list of ColumnValues
        Columns that are empty or hold a different code in each row are omitted. The list is empty
        for sparse matrices and for Gram matrices of several kernels.
    """
    if issparse(X) or np.ndim(X) != 2:
        return []
    tables = [X] if others is None else [others, X]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The model's encoder has already issued them.
        reader = ColumnReader().fit(tables[0])
        parts = [named_columns(reader.transform(table)) for table in tables]
    found = []
    for named in zip(*parts, strict=True):
        (name, column), *_ = named
        kind, pieces = kind_of(column), [piece for _, piece in named]
        is_code = prefixes and kind == "identifier"
        if is_code and (split := repeated_prefix(column)) is not None:
            kind, name = "category", f"{name} before '{split[0]}'"
            pieces = [_before(split[0], piece) for piece in pieces]
        if kind not in ("number", "date", "category", "text"):
            continue
        values = np.concatenate([convert(_table(piece), kind)[:, 0] for piece in pieces])
        name = str(name) if hasattr(X, "columns") else f"x{name}"
        if kind in ("category", "text"):
            found.append(category_column(name, values, kind))
            continue
        kind = "number" if kind == "date" and is_duration(column) else kind
        found.append(ColumnValues(name, kind, values.astype(float), np.empty(0, dtype=str)))
    return found


def category_column(name: str, values: Array, kind: str = "category") -> ColumnValues:
    """Return a column of categories or texts, in which missing values are a separate category.

    Parameters
    ----------
    name : str
    values : ndarray of shape (n_rows,), of objects
        Texts, and NaN for missing values.
    kind : {"category", "text"}, default="category"
    """
    known = np.array([value == value for value in values])  # noqa: PLR0124
    texts = np.where(known, values, "missing").astype(str)
    labels, codes = np.unique(texts, return_inverse=True)
    return ColumnValues(name, kind, codes.astype(float), labels)


def _before(separator: str, column: Features) -> Array:
    """Return the parts of codes before a separator."""
    codes = convert(_table(column), "category")[:, 0]
    parts = [code if code != code else str(code).rpartition(separator)[0] for code in codes]  # noqa: PLR0124
    return np.array(parts, dtype=object)


def _table(column: Features) -> Features:
    return column.to_frame() if hasattr(column, "to_frame") else column[:, None]


def quantile_bins(values: Array, n_bins: int = 10) -> Array:
    """Return the bin number of each value, for bins of about equal size.

    Equal values are in the same bin.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
    n_bins : int, default=10
        Maximum number of bins; it is reduced if bins would have fewer than five rows.
    """
    n_bins = max(1, min(n_bins, len(values) // FEWEST))
    edges = np.unique(np.quantile(values, np.arange(1, n_bins) / n_bins, method="lower"))
    return np.asarray(np.unique(np.searchsorted(edges, values), return_inverse=True)[1])


def column_bins(column: ColumnValues) -> tuple[Array, list[str]]:
    """Return the bin number of each row, -1 for rows in small bins, and the labels of the bins.

    Parameters
    ----------
    column : ColumnValues

    Notes
    -----
    Bins are the deciles of numbers and dates, and the categories of other columns. Missing values
    are a separate bin.
    """
    values, labels = column.values, list(column.labels)
    codes = np.full(len(values), -1)
    if column.is_ordered:
        known = ~np.isnan(values)
        codes[known] = quantile_bins(values[known]) if known.any() else -1
        parts = [values[codes == k] for k in range(int(codes.max()) + 1)]
        is_one_day = column.kind == "date" and len(np.unique(np.floor(values[known]))) == 1
        labels = [_range(part, "time" if is_one_day else column.kind) for part in parts]
        codes[~known] = len(labels)
        labels.append("missing")
    else:
        codes = values.astype(int)
    counts = np.bincount(codes, minlength=len(labels))
    kept = np.flatnonzero(counts >= FEWEST)
    places = np.full(len(labels), -1)
    places[kept] = np.arange(len(kept))
    return places[codes], [labels[k] for k in kept]


def _range(values: Array, kind: str) -> str:
    ends = [values.min(), values.max()] if np.ptp(values) else [values[0]]
    if kind in ("date", "time"):
        seconds = np.round(np.array(ends) * 86400).astype("datetime64[s]")
        # Dates of one day, such as times of day, are told apart by their hours and minutes.
        texts = seconds.astype("datetime64[D]" if kind == "date" else "datetime64[m]").astype(str)
        return " to ".join(dict.fromkeys(text.split("T")[-1] for text in texts))
    # Numbers have four digits, and large ones are written without powers of ten.
    return " to ".join(dict.fromkeys(f"{float(f'{end:.4g}'):,.10g}" for end in ends))


@dataclass(frozen=True)
class LossByColumn:
    """Losses on held-out rows by the values of a column.

    Attributes
    ----------
    column : str
    labels : tuple of str
        Labels of deciles, or categories, with at least five rows.
    counts : tuple of int
    losses : tuple of float
        Share of misclassified rows, or median absolute error.
    p_value : float
        P-value of the Kruskal-Wallis test of equal losses, adjusted for the number of columns.
    """

    column: str
    labels: tuple[str, ...]
    counts: tuple[int, ...]
    losses: tuple[float, ...]
    p_value: float


MATERIAL = 1.2
"""Least ratio of the largest to the smallest loss by the values of a column that is listed. A
smaller difference may be significant, but is of no use."""


def losses_by_column(
    columns: list[ColumnValues], losses: Array, units: Array, *, are_shares: bool
) -> tuple[LossByColumn, ...]:
    """Return the columns whose bins differ significantly, and by a fifth, in their losses.

    Parameters
    ----------
    columns : list of ColumnValues
    losses : ndarray of shape (n_rows,)
    units : ndarray of int of shape (n_rows,)
        Unit of each row. If units have several rows, the means over units are compared.
    are_shares : bool
        Whether losses are zero or one, so that bins are described by means. Otherwise they are
        described by medians, as the test compares ranks.

    Returns
    -------
    tuple of LossByColumn
        Columns in descending order of the fraction of the rank variance that they explain. The
        expected share of columns without differences among them is at most 5% (Benjamini, Hochberg
        1995).
    """
    if int(units.max()) + 1 < len(units):
        columns = [column.over_units(units) for column in columns]
        losses = np.bincount(units, losses) / np.bincount(units)
    typical = np.mean if are_shares else np.median
    found = []
    for column in columns:
        if column.kind == "text" or not np.ptp(losses):
            continue
        codes, labels = column_bins(column)
        parts = [losses[codes == k] for k in range(len(labels))]
        kept = np.concatenate(parts) if parts else np.empty(0)
        if len(parts) > 1 and np.ptp(kept):
            statistic, p_value = stats.kruskal(*parts)
            counts = tuple(len(part) for part in parts)
            values = tuple(float(typical(part)) for part in parts)
            explained = float(statistic) / (len(kept) - 1)
            one = (column.name, tuple(labels), counts, values)
            found.append((explained, one, float(p_value)))
    if not found:
        return ()
    adjusted = stats.false_discovery_control([p for _, _, p in found])
    pairs = sorted(zip(found, adjusted, strict=True), key=lambda pair: -pair[0][0])
    listed = [LossByColumn(*one, float(p)) for (_, one, _), p in pairs if p <= 0.05]
    return tuple(one for one in listed if max(one.losses) >= MATERIAL * min(one.losses))

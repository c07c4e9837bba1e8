"""Columns of tables as numbers and codes, their bins, and the losses of a model in each bin."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.sparse import issparse

from mercer._data.types import Array, Features, Rows
from mercer.preprocessing import convert, kind_of, repeated_prefix
from mercer.preprocessing._column_kinds import is_duration, named_columns
from mercer.preprocessing._column_reader import ColumnReader
from mercer.preprocessing._conversion import numbers_at_once

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
    if all(numbers_at_once(table) is not None for table in tables):
        return _numbers_of(tables, hasattr(X, "columns"))
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


def _numbers_of(tables: list[Features], is_frame: bool) -> list[ColumnValues]:
    """Return the columns of tables that hold only numbers. There may be thousands of them."""
    values = np.concatenate([convert(table, "number") for table in tables]).astype(float)
    names = tables[0].columns if is_frame else (f"x{place}" for place in range(values.shape[1]))
    is_known = ~np.isnan(values[: len(tables[0])]).all(axis=0)
    columns = zip(names, np.ascontiguousarray(values.T), is_known, strict=True)
    none = np.empty(0, dtype=str)
    return [
        ColumnValues(str(name), "number", own, none) for name, own, is_kept in columns if is_kept
    ]


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


_MOST_VALUES = 10**6
"""Number of values that are binned at once."""

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
    if not np.ptp(losses):
        return ()
    typical = np.mean if are_shares else np.median
    found = [
        (column, *test)
        for column, test in zip(columns, _rank_tests(columns, losses), strict=True)
        if test is not None
    ]
    if not found:
        return ()
    adjusted = stats.false_discovery_control([p for _, _, p in found])
    order = sorted(zip(found, adjusted, strict=True), key=lambda pair: -pair[0][1])
    listed = [
        _described(column, losses, typical, float(p)) for (column, _, _), p in order if p <= 0.05
    ]
    return tuple(one for one in listed if max(one.losses) >= MATERIAL * min(one.losses))


def _described(
    column: ColumnValues, losses: Array, typical: Callable[[Array], Any], p_value: float
) -> LossByColumn:
    """Return the typical losses in the bins of a column."""
    codes, labels = column_bins(column)
    parts = [losses[codes == k] for k in range(len(labels))]
    counts, values = tuple(map(len, parts)), tuple(float(typical(part)) for part in parts)
    return LossByColumn(column.name, tuple(labels), counts, values, p_value)


def _rank_tests(columns: list[ColumnValues], losses: Array) -> list[tuple[float, float] | None]:
    """Return the share of the rank variance that the bins of each column explain, and the p-value.

    Parameters
    ----------
    columns : list of ColumnValues
    losses : ndarray of shape (n_rows,)

    Returns
    -------
    list of (float, float) or None
        None for texts, and for columns of a single bin or whose losses are all equal.
    """
    found: list[tuple[float, float] | None] = [None] * len(columns)
    ordered = [k for k, column in enumerate(columns) if column.is_ordered]
    at_once = max(1, _MOST_VALUES // len(losses))
    apart = [k for k, column in enumerate(columns) if not column.is_ordered]
    for start in range(0, len(ordered), at_once):
        some = np.array(ordered[start : start + at_once])
        statistics, n_bins = _rank_statistics(np.array([columns[k].values for k in some]), losses)
        is_tested = ~np.isnan(statistics)
        p_values = np.asarray(stats.chi2.sf(statistics, n_bins - 1))
        for place in np.flatnonzero(is_tested):
            explained = float(statistics[place]) / (len(losses) - 1)
            found[some[place]] = (explained, float(p_values[place]))
        apart += some[~is_tested & (n_bins != 1)].tolist()
    for k in apart:
        found[k] = _rank_test(columns[k], losses)
    return found


def _rank_test(column: ColumnValues, losses: Array) -> tuple[float, float] | None:
    """Test a column, some of whose rows may be in no bin; see `_rank_tests`."""
    if column.kind == "text":
        return None
    codes, labels = column_bins(column)
    parts = [losses[codes == k] for k in range(len(labels))]
    kept = np.concatenate(parts) if parts else np.empty(0)
    if len(parts) < 2 or not np.ptp(kept):
        return None
    statistic, p_value = stats.kruskal(*parts)
    return float(statistic) / (len(kept) - 1), float(p_value)


def _rank_statistics(values: Array, losses: Array) -> tuple[Array, Array]:
    """Return the statistics of Kruskal and Wallis of columns, and their numbers of bins.

    Parameters
    ----------
    values : ndarray of shape (n_columns, n_rows)
    losses : ndarray of shape (n_rows,)

    Returns
    -------
    statistics, n_bins : ndarray of shape (n_columns,)
        Statistics are NaN for columns with a single bin, with a bin that is too small for the test,
        or with missing values, whose number of bins is zero.
    """
    n, n_edges = len(losses), max(1, min(10, len(losses) // FEWEST)) - 1
    shares = np.arange(1, n_edges + 1) / (n_edges + 1)
    edges = np.quantile(values, shares, axis=1, method="lower")
    codes = sum((values > edge[:, None] for edge in edges), np.zeros(values.shape, dtype=np.int8))
    ranks, is_whole = stats.rankdata(losses), ~np.isnan(values).any(axis=1)
    n_bins, explained = np.zeros(len(values), dtype=int), np.zeros(len(values))
    fits = is_whole.copy()
    for code in range(n_edges + 1):
        is_here = codes == code
        counts = is_here.sum(axis=1)
        n_bins += counts > 0
        fits &= (counts == 0) | (counts >= FEWEST)
        explained += np.square(is_here @ ranks) / np.maximum(counts, 1)
    ties = np.unique(ranks, return_counts=True)[1].astype(float)
    statistics = 12.0 / (n * (n + 1)) * explained - 3.0 * (n + 1)
    statistics /= 1.0 - np.sum(ties**3 - ties) / (n**3 - n)
    return np.where(fits & (n_bins > 1), statistics, np.nan), np.where(is_whole, n_bins, 0)

"""Importances of columns: how much the error rises if their cells are shuffled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.base import is_classifier

from mercer.inspection import kernel_terms
from mercer_command.table_model import TableModel
from mercer_command.table_reader import source_columns
from mercer_command.values import Array


@dataclass(frozen=True)
class ColumnImportance:
    """Importance of a column.

    Attributes
    ----------
    name : str
    relevance : float
        The column's share of the relevances that the kernels learned; NaN if they learned none, or
        if the share is unknown.
    increase, deviation : float
        Mean increase of the error on held-out rows when the column's cells are shuffled, and its
        standard error. NaN if the column was not shuffled.
    matters : bool
        Whether the increase is positive beyond what chance explains, and not negligible.
    contribution : float
        Mean absolute contribution to predictions if there is no target, otherwise NaN.
    """

    name: str
    relevance: float
    increase: float = np.nan
    deviation: float = np.nan
    matters: bool = False
    contribution: float = np.nan


def column_relevances(model: TableModel) -> dict[str, float]:
    """Return each column's share of the relevances that the kernels learned.

    Parameters
    ----------
    model : fitted TableModel of `mercer_command.pipelines.make_model`

    Returns
    -------
    dict of str to float
        Each share is a sum over the features that encode the column. NaN if all features are
        equally relevant, as for kernels of one width, or if a relevance is unknown.
    """
    relevance = kernel_terms(model).relevance
    sources = source_columns(model["columns"])
    names = [str(name) for name in model.feature_names_in_]
    if relevance.size != len(sources) or not np.ptp(relevance) > 0.0:
        return dict.fromkeys(names, np.nan)
    shares = dict.fromkeys(names, 0.0)
    for name, value in zip(sources, relevance / relevance.sum(), strict=True):
        shares[name] += float(value)
    return shares


def why_no_relevance(model: TableModel) -> str:
    """Return a sentence that explains why the columns of a model have no relevances.

    Parameters
    ----------
    model : fitted TableModel of `mercer_command.pipelines.make_model`
        A model whose columns have no relevances.
    """
    relevance = kernel_terms(model).relevance
    if np.isnan(relevance).any():
        return "No relevance is shown, as the formula of a kernel does not tell it."
    if not relevance.any():
        return "No relevance is shown, as predictions are the same for all rows."
    return "No relevance is shown, as the kernels have one width for all columns."


N_SHUFFLES = 3
"""Number of shuffles of each of the columns that are measured most exactly."""

MOST_SHUFFLED = 250
"""Largest number of rows in which cells are shuffled."""

MOST_MEASURED = 200
"""Largest number of columns that are shuffled."""

_FEWEST_SHUFFLED = 25
"""Smallest number of rows in which a column is shuffled; smaller tables are shuffled as a whole."""

_MOST_ROWS, _MOST_CELLS = 2_000, 2**22
"""Largest number of rows and of numbers that are predicted at once, if a column has no more."""

_ROUNDING = 1e-9
"""Largest rise of an error, relative to the largest error, that may be due to rounding."""

_MATERIAL, _LEAST_SHARE = 1e-3, 5e-4
"""Smallest increase of a column that matters, relative to the largest one, and, for classes, as a
probability. Tables would show smaller ones as zero."""

_FALSE_DISCOVERIES = 0.05
"""Expected share of columns without importance among those that matter."""


def columns_that_matter(
    model: TableModel,
    X: pd.DataFrame,
    y: Array | None,
    *,
    in_logarithms: bool = False,
    seed: int = 0,
    max_predictions: int | None = None,
) -> list[ColumnImportance]:
    """Measure the importance of columns by shuffling each of them in held-out rows.

    Parameters
    ----------
    model : fitted TableModel of `mercer_command.pipelines.make_model`
    X : DataFrame of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,) or None
        The target; if None, no column is shuffled.
    in_logarithms : bool, default=False
        Whether errors are those of the logarithms of positive responses.
    seed : int, default=0
    max_predictions : int, default=None
        Largest number of predictions in total, but each column is shuffled in at least 25 rows. By
        default, it is 6,000, or 120 per column and at most 12,000.

    Returns
    -------
    list of ColumnImportance
        The columns that matter come first, in descending order of the increase of the error.

    Notes
    -----
    The error of a response is its absolute error, and the error of a class is one minus the
    probability of the true class: no single row decides, and small changes show. Each column is
    shuffled three times, in a random sample of 250 rows if there are more. If this takes too many
    predictions, every column is shuffled once, in fewer rows, and only the columns that then move
    the predictions furthest are shuffled three times. The mean absolute error rises by no more
    than predictions move. Rows are encoded once, and the features that encode a column are
    shuffled together.

    At most 200 columns are shuffled: those with the largest relevances or, if these are unknown,
    those that correlate most with the predictions. Neither depends on the target of these rows.

    A column matters if its increase is positive by a t-test of the increases of the rows, with a
    false discovery rate of 5 % (Benjamini, Hochberg 1995), and at least a thousandth of the largest
    one.
    """
    relevances = column_relevances(model)
    found = {name: ColumnImportance(name, share) for name, share in relevances.items()}
    if y is not None and len(y) > 1:
        rng = np.random.default_rng(seed)
        rows = np.sort(rng.permutation(len(y))[:MOST_SHUFFLED])
        shuffles = _Shuffles(model, X.iloc[rows], y[rows], in_logarithms, rng)
        names = shuffles.most_relevant(relevances, MOST_MEASURED)
        budget = max_predictions or min(max(6_000, 120 * len(names)), 12_000)
        rises = _rises(shuffles, names, budget)
        p_values = np.array([_p_value(rise) for rise in rises.values()])
        increases = np.array([rise.mean() for rise in rises.values()])
        least = max(_MATERIAL * increases.max(), _LEAST_SHARE * is_classifier(model))
        matters = stats.false_discovery_control(p_values) <= _FALSE_DISCOVERIES
        matters &= increases >= least
        for (name, rise), is_clear in zip(rises.items(), matters, strict=True):
            mean, error = float(rise.mean()), float(rise.std(ddof=1) / np.sqrt(len(rise)))
            found[name] = replace(
                found[name], increase=mean, deviation=error, matters=bool(is_clear)
            )
    # Columns that were not measured come in the order of their relevances.
    return sorted(
        found.values(),
        key=lambda c: (
            not c.matters,
            -np.nan_to_num(c.increase, nan=-np.inf),
            -np.nan_to_num(c.relevance),
        ),
    )


def _rises(shuffles: _Shuffles, names: Sequence[str], budget: int) -> dict[str, Array]:
    """Return the rises of the rows' errors when each column is shuffled.

    Columns have fewer rows than `shuffles` if there are too many columns for the budget.
    """
    n_rows = len(shuffles.y)
    if N_SHUFFLES * n_rows * len(names) <= budget:
        return {name: rise for name, (rise, _) in shuffles.rises(names).items()}
    n_first = min(n_rows, max(_FEWEST_SHUFFLED, budget // (4 * len(names))))
    first = shuffles.rises(names, n_first, n_shuffles=1)
    n_exact = max(1, (budget - n_first * len(names)) // (N_SHUFFLES * n_rows))
    furthest = sorted(names, key=lambda name: -first[name][1])[:n_exact]
    return {name: rise for name, (rise, _) in (first | shuffles.rises(furthest)).items()}


def _p_value(rise: Array) -> float:
    """Return the p-value of a t-test that the expected rise is not positive."""
    if not np.ptp(rise):
        return float(rise[0] <= 0.0)
    return float(stats.ttest_1samp(rise, 0.0, alternative="greater").pvalue)


def _correlations(features: Array, predicted: Array) -> Array:
    """Return each feature's largest absolute correlation with an output, zero for constants."""
    X, z = features - features.mean(axis=0), predicted - predicted.mean(axis=0)
    lengths = np.outer(np.linalg.norm(X, axis=0), np.linalg.norm(z, axis=0))
    products = np.abs(X.T @ z)
    known = lengths > 0.0
    return np.divide(products, lengths, out=np.zeros_like(products), where=known).max(axis=1)


class _Shuffles:
    """Errors of a model on rows in which single columns are shuffled."""

    def __init__(
        self,
        model: TableModel,
        X: pd.DataFrame,
        y: Array,
        in_logarithms: bool,
        rng: np.random.Generator,
    ) -> None:
        self.model, self.y, self.in_logarithms, self.rng = model, y, in_logarithms, rng
        self.encoded = model[:-1].transform(X)
        self.given = self.encoded.to_numpy(dtype=float)
        self.sources = np.array(source_columns(model["columns"]))
        self.predicted = self._predict(self.given)
        self.errors = self._errors(self.predicted, y)

    def most_relevant(self, relevances: Mapping[str, float], most: int) -> list[str]:
        """Return the names of the most relevant columns, in the order of the table.

        Parameters
        ----------
        relevances : mapping from str to float
            If one is NaN, columns are compared by the largest absolute correlation of a feature of
            theirs with predictions.
        most : int
            Number of columns.
        """
        names, sizes = list(relevances), np.array([*relevances.values()])
        if len(names) <= most:
            return names
        if np.isnan(sizes).any():
            of_feature = _correlations(self.given, self.predicted.reshape(len(self.y), -1))
            largest = pd.Series(of_feature).groupby(self.sources).max()
            sizes = largest.reindex(names, fill_value=0.0).to_numpy()
        return [names[k] for k in np.sort(np.argsort(-sizes, kind="stable")[:most])]

    def rises(
        self, names: Sequence[str], n_rows: int | None = None, *, n_shuffles: int = N_SHUFFLES
    ) -> dict[str, tuple[Array, float]]:
        """Return the rise of each row's error, and the mean absolute change of predictions.

        Parameters
        ----------
        names : sequence of str
            Columns that are shuffled, one at a time.
        n_rows : int, default=None
            Number of rows, drawn at random; None for all.
        n_shuffles : int, default=3
            Number of shuffles whose mean is returned.
        """
        n_each = n_shuffles * min(n_rows or len(self.y), len(self.y))
        n_together = max(1, min(_MOST_ROWS, _MOST_CELLS // self.given.shape[1]) // n_each)
        found = {}
        for start in range(0, len(names), n_together):
            part = names[start : start + n_together]
            shuffled = [self._shuffled(name, n_rows, n_shuffles) for name in part]
            predicted = self._predict(np.concatenate([values for _, values in shuffled]))
            for name, (rows, _), own in zip(
                part, shuffled, np.split(predicted, len(part)), strict=True
            ):
                rises = self._errors(own, self.y[rows]) - self.errors[rows]
                # Rounding errors of predictions are no rises.
                rises[np.abs(rises) <= _ROUNDING * np.abs(self.errors).max()] = 0.0
                moved = float(np.abs(own - self.predicted[rows]).mean())
                found[name] = rises.reshape(n_shuffles, -1).mean(axis=0), moved
        return found

    def _shuffled(self, name: str, n_rows: int | None, n_shuffles: int) -> tuple[Array, Array]:
        """Return positions of rows, once per shuffle, and their features with a shuffled column."""
        rows = np.arange(len(self.y))
        if n_rows is not None and n_rows < len(rows):
            rows = self.rng.permutation(rows)[:n_rows]
        orders = np.concatenate([self.rng.permutation(rows) for _ in range(n_shuffles)])
        rows, features = np.tile(rows, n_shuffles), np.flatnonzero(self.sources == name)
        values = self.given[rows]
        values[:, features] = self.given[np.ix_(orders, features)]
        return rows, values

    def _predict(self, values: Array) -> Array:
        """Return responses, or probabilities of the classes."""
        encoded = pd.DataFrame(values, columns=self.encoded.columns)
        if not is_classifier(self.model):
            predicted = self.model[-1].predict(encoded)
            return self._scaled(np.asarray(predicted, dtype=float))
        return np.asarray(self.model[-1].predict_proba(encoded), dtype=float)

    def _errors(self, predicted: Array, y: Array) -> Array:
        """Return the absolute errors, or what the true classes lack of probability one."""
        if is_classifier(self.model):
            return 1.0 - np.sum(predicted * (y[:, None] == self.model.classes_), axis=1)
        return np.abs(predicted - self._scaled(np.asarray(y, dtype=float)))

    def _scaled(self, responses: Array) -> Array:
        """Return responses, or logarithms of those that are at least the least positive one."""
        if not self.in_logarithms:
            return responses
        return np.log(np.maximum(responses, self.y[self.y > 0].min()))

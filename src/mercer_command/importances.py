"""Importances of columns: how much the error rises if their cells are shuffled."""

from __future__ import annotations

from collections.abc import Sequence
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

_FEWEST_SHUFFLED = 25
"""Smallest number of rows in which a column is shuffled; smaller tables are shuffled as a whole."""

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
        default, it is 12,000, or 300 per column and at most 24,000.

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
        budget = max_predictions or min(max(12_000, 300 * len(found)), 24_000)
        rises = _rises(shuffles, list(found), budget)
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
        return {name: shuffles.rise(name)[0] for name in names}
    n_first = min(n_rows, max(_FEWEST_SHUFFLED, budget // (2 * len(names))))
    first = {name: shuffles.rise(name, n_first, n_shuffles=1) for name in names}
    n_exact = max(1, (budget - n_first * len(names)) // (N_SHUFFLES * n_rows))
    furthest = sorted(names, key=lambda name: -first[name][1])[:n_exact]
    return {name: rise for name, (rise, _) in first.items()} | {
        name: shuffles.rise(name)[0] for name in furthest
    }


def _p_value(rise: Array) -> float:
    """Return the p-value of a t-test that the expected rise is not positive."""
    if not np.ptp(rise):
        return float(rise[0] <= 0.0)
    return float(stats.ttest_1samp(rise, 0.0, alternative="greater").pvalue)


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

    def rise(
        self, name: str, n_rows: int | None = None, *, n_shuffles: int = N_SHUFFLES
    ) -> tuple[Array, float]:
        """Return the rise of each row's error, and the mean absolute change of predictions.

        Parameters
        ----------
        name : str
            Column that is shuffled.
        n_rows : int, default=None
            Number of rows, drawn at random; None for all.
        n_shuffles : int, default=3
            Number of shuffles whose mean is returned.
        """
        rows = np.arange(len(self.y))
        if n_rows is not None and n_rows < len(rows):
            rows = self.rng.permutation(rows)[:n_rows]
        features = np.flatnonzero(self.sources == name)
        values = np.tile(self.given[rows], (n_shuffles, 1))
        orders = np.concatenate([self.rng.permutation(rows) for _ in range(n_shuffles)])
        values[:, features] = self.given[np.ix_(orders, features)]
        predicted, before = self._predict(values), np.tile(self.errors[rows], n_shuffles)
        rises = self._errors(predicted, np.tile(self.y[rows], n_shuffles)) - before
        # Rounding errors of predictions are no rises.
        rises[np.abs(rises) <= _ROUNDING * np.abs(self.errors).max()] = 0.0
        moved = np.abs(predicted - np.concatenate([self.predicted[rows]] * n_shuffles)).mean()
        return rises.reshape(n_shuffles, -1).mean(axis=0), float(moved)

    def _predict(self, values: Array) -> Array:
        """Return responses, or probabilities of the classes."""
        encoded = pd.DataFrame(values, columns=self.encoded.columns)
        if not is_classifier(self.model):
            predicted = self.model.predict_encoded(encoded)
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

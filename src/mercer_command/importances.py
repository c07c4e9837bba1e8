"""Importances of columns: how much the error rises if their cells are shuffled."""

from __future__ import annotations

import warnings
from math import isnan
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.base import is_classifier
from sklearn.feature_selection import r_regression
from sklearn.inspection import permutation_importance

from mercer_command.table_model import TableModel
from mercer_command.table_reader import source_columns
from mercer_command.values import Array


class ColumnImportance(NamedTuple):
    """Importance of a column.

    Attributes
    ----------
    name : str
    size : float
        Mean increase of the error on held-out rows when the column's cells are shuffled or, if
        there is no target, mean absolute contribution to predictions. NaN if it was not measured.
    deviation : float
        Standard error of the increase.
    matters : bool
        Whether the increase is positive beyond what chance explains, and not negligible.
    """

    name: str
    size: float = np.nan
    deviation: float = np.nan
    matters: bool = False


MOST_MEASURED = 200
"""Largest number of columns that are shuffled."""

_FEWEST_MEASURED, _MOST_CELLS = 25, 200_000
"""Number of columns that are shuffled in any table, and largest product of the number of shuffles
beyond it and of all columns, on which the time of a prediction depends."""

_MOST_ROWS, _FEWEST_ROWS, _MOST_PREDICTIONS = 250, 25, 12_000
"""Largest and smallest number of rows in which columns are shuffled, and number of predictions that
determines how many rows these are."""

_MOST_SHUFFLES, _MOST_CALLS = 3, 100
"""Largest number of shuffles of each column, and of all columns if each is shuffled repeatedly."""

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

    Returns
    -------
    list of ColumnImportance
        The columns that matter come first, in descending order of the increase of the error. If
        none are shuffled, those come first that would be.

    Notes
    -----
    The error of a response is its absolute error, and the error of a class is one minus the
    probability of the true class: no single row decides, and small changes show. Each column is
    shuffled up to three times, in a random sample of at most 250 rows.

    At most 200 columns are shuffled: those that correlate most with the predictions. Of tables of
    more than 1,000 columns, for which a prediction takes longer, they are fewer, but at least 25,
    and they are shuffled once.

    A column matters if its increase is positive by a t-test of the increases of the rows, with a
    false discovery rate of 5 % (Benjamini, Hochberg 1995), and at least a thousandth of the largest
    one.
    """
    found = {str(name): ColumnImportance(str(name)) for name in model.feature_names_in_}
    most = most_measured(len(found))
    if y is None or len(y) < 2:
        names = list(found)
        if len(names) > most and len(X) > 1:
            encoded = _encoded(model, X.iloc[:_MOST_ROWS])
            names = [*dict.fromkeys([*_most_alike(model, encoded, most), *names])]
        return [found[name] for name in names]
    n_names = min(len(found), most)
    n_calls = min(_MOST_CALLS, _MOST_CELLS // len(found))
    n_repeats = max(1, min(_MOST_SHUFFLES, n_calls // n_names))
    n_rows = _MOST_PREDICTIONS // (n_repeats * n_names)
    n_rows = min(max(n_rows, _FEWEST_ROWS), _MOST_ROWS, len(y))
    rows = np.sort(np.random.default_rng(seed).permutation(len(y))[:n_rows])
    encoded = _encoded(model, X.iloc[rows])
    sources = source_columns(model.encoder)
    useful = set(sources)
    names = [name for name in found if name in useful]
    if len(names) > most:
        names = _most_alike(model, encoded, most)
    least = y[y > 0].min() if in_logarithms else None
    rises = _rises(model, encoded, y[rows], names, least, n_repeats=n_repeats, random_state=seed)
    sizes, deviations = rises.mean(axis=0), rises.std(axis=0, ddof=1) / np.sqrt(n_rows)
    p_values = stats.t.sf(sizes / np.maximum(deviations, 1e-300), n_rows - 1)
    matters = stats.false_discovery_control(p_values) <= _FALSE_DISCOVERIES
    matters &= sizes >= max(_MATERIAL * sizes.max(), _LEAST_SHARE * is_classifier(model))
    for name, size, deviation, is_clear in zip(names, sizes, deviations, matters, strict=True):
        found[name] = ColumnImportance(name, float(size), float(deviation), bool(is_clear))
    # Columns that were not measured come last.
    return sorted(found.values(), key=lambda c: (not c.matters, isnan(c.size), -c.size))


def most_measured(n_columns: int) -> int:
    """Return the largest number of columns that are shuffled, or explained one by one.

    Parameters
    ----------
    n_columns : int
        Number of the columns of the table.
    """
    return int(np.clip(_MOST_CELLS // max(n_columns, 1), _FEWEST_MEASURED, MOST_MEASURED))


def _most_alike(model: TableModel, encoded: Array, most: int) -> list[str]:
    """Return the columns whose encodings correlate most with the predictions."""
    predicted = _predicted(model, encoded).reshape(len(encoded), -1)[:, -1]
    with np.errstate(invalid="ignore"):  # Of constants, scikit-learn returns zero.
        alike = pd.Series(np.abs(r_regression(encoded, predicted)))
    return [*alike.groupby(source_columns(model.encoder)).max().nlargest(most).index]


def _encoded(model: TableModel, X: pd.DataFrame) -> Array:
    """Return the encoded columns of rows."""
    return model.encoder.transform(model["reader"].transform(X)).to_numpy(dtype=float)


def _predicted(model: TableModel, features: Array) -> Array:
    """Return responses, or probabilities of the classes."""
    step = model.predictor
    predict = step.predict_proba if is_classifier(model) else step.predict
    with warnings.catch_warnings():
        # A data frame of many columns would take scikit-learn longer than the prediction.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return np.asarray(predict(features), dtype=float)


def _rises(
    model: TableModel,
    features: Array,
    y: Array,
    names: list[str],
    least: float | None,
    **settings: int,
) -> Array:
    """Return the mean rise of each row's error when each column is shuffled.

    Rows are encoded once: scikit-learn shuffles positions of rows, and the features that encode a
    column are taken from the rows at these positions. Where `least` is given, errors are those of
    logarithms of responses of at least this size.
    """
    own = np.arange(len(y))[:, None]
    # The position of a feature that is not shuffled is -1, the column of each row's own position.
    sources = pd.Index(names).get_indexer(pd.Index(source_columns(model.encoder)))

    def scores(_: TableModel, places: Array, y: Array) -> dict[int, float]:
        taken = np.take_along_axis(features, np.hstack([places, own])[:, sources], axis=0)
        predicted = _predicted(model, taken)
        if is_classifier(model):
            errors = 1.0 - np.sum(predicted * (y[:, None] == model.classes_), axis=1)
        elif least is not None:
            errors = np.abs(np.log(np.maximum(predicted, least) / np.maximum(y, least)))
        else:
            errors = np.abs(predicted - y)
        return dict(enumerate(-errors))  # A score for each row, for the errors over the rows.

    places = np.tile(own, len(names))
    found = permutation_importance(model, places, y, scoring=scores, **settings)
    rises = np.array([found[row].importances.mean(axis=1) for row in range(len(y))])
    # Rounding errors of predictions are no rises.
    largest = max(-score for score in scores(model, places, y).values())
    return np.where(np.abs(rises) > 1e-9 * largest, rises, 0.0)

"""How much each column of a table matters to a fitted model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.inspection import permutation_importance
from sklearn.pipeline import Pipeline

from mercer._typing import Array
from mercer.inspection import kernel_terms
from mercer_command.encoding import source_columns
from mercer_command.problem import Task

if TYPE_CHECKING:
    from pandas import DataFrame

_REPEATS = 5
"""Each column is shuffled this often."""

_MOST_ROWS = 500
"""At most this many rows are predicted anew for each shuffle."""

_MOST_PREDICTIONS = 50_000
"""At most this many rows are predicted in all; of more columns, the most relevant are shuffled."""


_SCORING: dict[Task, str] = {
    "classification": "accuracy",
    "regression": "neg_root_mean_squared_error",
}
"""scikit-learn's names of the scores whose decrease is the importance."""


@dataclass(frozen=True)
class ColumnImportance:
    """How much a column matters.

    Attributes
    ----------
    name : str
    relevance : float
        The column's share of the relevances that the kernels learned; NaN if they learned none.
    increase, deviation : float
        By how much the error of held-out rows increases when the column's cells are shuffled, and
        its standard deviation over the shuffles. NaN if the column was not shuffled.
    """

    name: str
    relevance: float
    increase: float = np.nan
    deviation: float = np.nan


def column_relevances(model: Pipeline) -> dict[str, float]:
    """Return the share of each column in the relevances that kernels learned.

    Parameters
    ----------
    model : fitted Pipeline of `mercer_command.methods.make_model`

    Returns
    -------
    dict of str to float
        The sum over what the column is encoded as. NaN if all features are equally relevant, as
        for kernels of one width.
    """
    relevance = kernel_terms(model).relevance
    sources = source_columns(model["columns"])
    names = [str(name) for name in model.feature_names_in_]
    if relevance.size != len(sources) or np.ptp(relevance) == 0.0:
        return dict.fromkeys(names, np.nan)
    shares = dict.fromkeys(names, 0.0)
    for name, value in zip(sources, relevance / relevance.sum(), strict=True):
        shares[name] += float(value)
    return shares


def column_importances(
    model: Pipeline,
    X: DataFrame,
    y: npt.NDArray[Any] | None,
    task: Task,
    *,
    seed: int = 0,
) -> list[ColumnImportance]:
    """Measure how much columns matter by shuffling each of them in held-out rows.

    Parameters
    ----------
    model : fitted Pipeline of `mercer_command.methods.make_model`
    X : DataFrame of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,) or None
        The target; without it, nothing is shuffled.
    task : {"classification", "regression"}
    seed : int, default=0

    Returns
    -------
    list of ColumnImportance
        The most important column comes first.
    """
    relevances = column_relevances(model)
    found = {name: ColumnImportance(name, share) for name, share in relevances.items()}
    if y is not None and len(y) > 1:
        rows = _drawn_rows(len(y), seed)
        shuffled = _shuffled_columns(relevances, len(rows))
        # The other columns stay as they are, and cost no predictions.
        drawn = X.iloc[rows], y[rows]
        measured = _measured(model, *drawn, shuffled, scoring=_SCORING[task], seed=seed)
        for name, increases in measured.items():
            mean, deviation = float(increases.mean()), float(increases.std(ddof=1))
            found[name] = ColumnImportance(name, relevances[name], mean, deviation)
    return sorted(found.values(), key=_order)


def _order(column: ColumnImportance) -> tuple[float, float]:
    increase = -np.inf if np.isnan(column.increase) else column.increase
    relevance = 0.0 if np.isnan(column.relevance) else column.relevance
    return -increase, -relevance


def _drawn_rows(n_rows: int, seed: int) -> npt.NDArray[np.intp]:
    return np.sort(np.random.default_rng(seed).permutation(n_rows)[:_MOST_ROWS])


def _shuffled_columns(relevances: dict[str, float], n_rows: int) -> list[str]:
    """Return the columns that are shuffled, the most relevant ones if there are many."""
    n_columns = max(1, _MOST_PREDICTIONS // (_REPEATS * n_rows))
    names = sorted(relevances, key=lambda name: -np.nan_to_num(relevances[name]))
    return names[:n_columns]


def _measured(
    model: Pipeline,
    X: DataFrame,
    y: npt.NDArray[Any],
    names: list[str],
    *,
    scoring: str,
    seed: int,
) -> dict[str, Array]:
    predictor = _OfColumns(model, X.drop(columns=names))
    found = permutation_importance(
        predictor, X[names], y, scoring=scoring, n_repeats=_REPEATS, random_state=seed
    )
    return dict(zip(names, found.importances, strict=True))


class _OfColumns:
    """A fitted model as a function of some columns, the others of which do not change."""

    def __init__(self, model: Pipeline, rest: DataFrame) -> None:
        self._model = model
        self._rest = rest
        self._estimator_type = getattr(model, "_estimator_type", None)
        if hasattr(model, "classes_"):
            self.classes_ = model.classes_

    def fit(self, X: DataFrame, y: Any) -> _OfColumns:
        """Do nothing: the model is fitted."""
        return self

    def predict(self, X: DataFrame) -> Array:
        """Predict with the other columns as they are."""
        from pandas import concat

        return self._model.predict(concat([X, self._rest], axis="columns"))

    def __sklearn_tags__(self) -> Any:
        return self._model.__sklearn_tags__()

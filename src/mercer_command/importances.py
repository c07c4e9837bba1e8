"""The columns that matter to a model: by how much its error rises if they are shuffled."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.inspection import permutation_importance
from sklearn.metrics import accuracy_score, root_mean_squared_error

from mercer.inspection import kernel_terms
from mercer_command.notation import Array
from mercer_command.table_model import TableModel
from mercer_command.table_reader import source_columns
from mercer_command.targets import Task


@dataclass(frozen=True)
class ColumnImportance:
    """How much a column matters.

    Attributes
    ----------
    name : str
    relevance : float
        The column's share of the relevances that the kernels learned; NaN if they learned none, or
        if it is not known.
    increase, deviation : float
        By how much the error of held-out rows increases when the column's cells are shuffled, and
        its standard deviation over the shuffles. NaN if the column was not shuffled.
    """

    name: str
    relevance: float
    increase: float = np.nan
    deviation: float = np.nan


def column_relevances(model: TableModel) -> dict[str, float]:
    """Return the share of each column in the relevances that kernels learned.

    Parameters
    ----------
    model : fitted TableModel of `mercer_command.pipelines.make_model`

    Returns
    -------
    dict of str to float
        The sum over what the column is encoded as. NaN if all features are equally relevant, as
        for kernels of one width, or if the relevance of one is not known.
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
    """Return a sentence on why the columns of a model have no relevances to compare.

    Parameters
    ----------
    model : fitted TableModel of `mercer_command.pipelines.make_model`
        Its columns have none.
    """
    relevance = kernel_terms(model).relevance
    if np.isnan(relevance).any():
        return "No relevance is shown, as the formula of a kernel does not tell it."
    if not relevance.any():
        return "No relevance is shown, as predictions are the same for all rows."
    return "No relevance is shown, as the kernels have one width for all columns."


def columns_that_matter(
    model: TableModel,
    X: pd.DataFrame,
    y: Array | None,
    task: Task,
    *,
    seed: int = 0,
    max_predictions: int = 12_000,
) -> list[ColumnImportance]:
    """Measure how much columns matter by shuffling each of them in held-out rows.

    Parameters
    ----------
    model : fitted TableModel of `mercer_command.pipelines.make_model`
    X : DataFrame of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,) or None
        The target; without it, nothing is shuffled.
    task : {"classification", "regression"}
    seed : int, default=0
    max_predictions : int, default=12_000
        Number of rows that are predicted in all; if there are many columns, the most relevant ones
        are shuffled.

    Returns
    -------
    list of ColumnImportance
        The most important column comes first.

    Notes
    -----
    Each column is shuffled three times in at most 250 rows, which are drawn if there are more. Rows
    are encoded once: shuffled are the features that a column is encoded as.
    """
    relevances, repeats = column_relevances(model), 3
    found = {name: ColumnImportance(name, share) for name, share in relevances.items()}
    if y is not None and len(y) > 1:
        rows = np.sort(np.random.default_rng(seed).permutation(len(y))[:250])
        by_relevance = sorted(relevances, key=lambda name: -np.nan_to_num(relevances[name]))
        names = by_relevance[: max(1, max_predictions // (repeats * len(rows)))]
        measured = permutation_importance(
            model,
            pd.DataFrame(dict.fromkeys(names, np.arange(len(rows)))),
            y[rows],
            scoring=_ScoreOfRows(model, X.iloc[rows], task),
            n_repeats=repeats,
            random_state=seed,
        )
        for name, increases in zip(names, measured.importances, strict=True):
            mean, deviation = float(increases.mean()), float(increases.std(ddof=1))
            found[name] = ColumnImportance(name, relevances[name], mean, deviation)
    # Columns that were not measured come last.
    return sorted(
        found.values(),
        key=lambda c: (-np.nan_to_num(c.increase, nan=-np.inf), -np.nan_to_num(c.relevance)),
    )


class _ScoreOfRows:
    """The score of a model where columns have the values of other rows, whose numbers are given."""

    def __init__(self, model: TableModel, X: pd.DataFrame, task: Task) -> None:
        self.model, self.task, self.encoded = model, task, model[:-1].transform(X)
        self.sources = np.array(source_columns(model["columns"]))

    def __call__(self, _: TableModel, rows: pd.DataFrame, y: Array) -> float:
        given = self.encoded.to_numpy(dtype=float)
        values = given.copy()
        for name in rows.columns:
            features = self.sources == name
            values[:, features] = given[np.ix_(rows[name].to_numpy(), features)]
        encoded = pd.DataFrame(values, columns=self.encoded.columns)
        predicted = self.model.predict_encoded(encoded)
        if self.task == "classification":
            return float(accuracy_score(y, predicted))
        return -float(root_mean_squared_error(y, predicted))

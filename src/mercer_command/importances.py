"""The columns that matter to a model, by exact contributions to predictions, or by shuffles."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.inspection import permutation_importance
from sklearn.metrics import get_scorer
from sklearn.pipeline import Pipeline

from mercer.inspection import kernel_terms
from mercer_command.contributions import exact_contributions, mean_sizes
from mercer_command.notation import Array
from mercer_command.problem import Task
from mercer_command.table_reader import source_columns


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
    contribution : float
        Mean absolute contribution to predictions, where contributions are known exactly; else NaN.
    """

    name: str
    relevance: float
    increase: float = np.nan
    deviation: float = np.nan
    contribution: float = np.nan


def columns_that_matter(
    model: Pipeline, X: pd.DataFrame, y: Array | None, task: Task, *, seed: int = 0
) -> list[ColumnImportance]:
    """Measure how much columns matter, by exact contributions where these are known.

    Parameters
    ----------
    model : fitted Pipeline of `mercer_command.methods.make_model`
    X : DataFrame of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,) or None
        The target, which shuffles need.
    task : {"classification", "regression"}
    seed : int, default=0

    Returns
    -------
    list of ColumnImportance
        The most important column comes first.
    """
    found = exact_contributions(model, X, seed)
    if found is None:
        return column_importances(model, X, y, task, seed=seed)
    relevances = column_relevances(model)
    sizes = dict(zip(found.feature_names, mean_sizes(found), strict=True))
    every = [
        ColumnImportance(name, share, contribution=float(sizes[name]))
        for name, share in relevances.items()
    ]
    return sorted(every, key=lambda column: -column.contribution)


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
    X: pd.DataFrame,
    y: Array | None,
    task: Task,
    *,
    seed: int = 0,
    max_predictions: int = 50_000,
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
    max_predictions : int, default=50_000
        Number of rows that are predicted in all; if there are many columns, the most relevant ones
        are shuffled.

    Returns
    -------
    list of ColumnImportance
        The most important column comes first.

    Notes
    -----
    Each column is shuffled five times in at most 500 rows, which are drawn if there are more.
    """
    relevances, repeats = column_relevances(model), 5
    found = {name: ColumnImportance(name, share) for name, share in relevances.items()}
    if y is not None and len(y) > 1:
        rows = np.sort(np.random.default_rng(seed).permutation(len(y))[:500])
        by_relevance = sorted(relevances, key=lambda name: -np.nan_to_num(relevances[name]))
        names = by_relevance[: max(1, max_predictions // (repeats * len(rows)))]
        measure = "accuracy" if task == "classification" else "neg_root_mean_squared_error"
        score = get_scorer(measure)
        drawn = X.iloc[rows]
        # The other columns stay as they are, and cost no predictions.
        rest = drawn.drop(columns=names)
        measured = permutation_importance(
            model,
            drawn[names],
            y[rows],
            scoring=lambda fitted, X, y: score(fitted, pd.concat([X, rest], axis="columns"), y),
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

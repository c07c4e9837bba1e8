"""What a model learned, by the rows of a table that it is tried on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from mercer.inspection import kernel_terms
from mercer.preprocessing._column_kinds import as_categories, as_days, as_numbers
from mercer_command.errors import InputError
from mercer_command.fitting import Fit, LearnedKernel, Stack, learned_shares, learned_stack
from mercer_command.held_out_figures import HeldOut
from mercer_command.importance import ColumnImportance, column_importances
from mercer_command.problem import Task
from mercer_command.shown_names import listing
from mercer_command.table_columns import Choice, recognize_columns
from mercer_command.tables import Cells

if TYPE_CHECKING:
    from pandas import DataFrame, Series


@dataclass(frozen=True)
class Explanation:
    """What a model learned.

    Attributes
    ----------
    model : fitted Pipeline
    name : str
        Name of the target's column.
    task : {"classification", "regression"}
    X : DataFrame of shape (n_rows, n_columns)
        Rows that it is tried on.
    y : ndarray of shape (n_rows,) or None
        Their targets, if they are known.
    unit : str
        What a response is measured in.
    learned : LearnedKernel or Stack
    importances : tuple of ColumnImportance
    """

    model: Pipeline
    name: str
    task: Task
    X: DataFrame
    y: npt.NDArray[Any] | None
    unit: str
    learned: LearnedKernel | Stack
    importances: tuple[ColumnImportance, ...]

    def held_out(self) -> HeldOut | None:
        """Return the rows with their targets, or None if these are not known."""
        if self.y is None:
            return None
        return HeldOut(self.model, self.X, self.y, self.task, self.unit)

    def describe(self) -> str:
        """Describe the model and the rows in a few words."""
        known = "with" if self.y is not None else "without"
        kind = type(self.model[-1]).__name__
        return f"A saved model ({kind}), tried on {len(self.X):,} rows {known} their targets"


def explanation_of(fit: Fit) -> Explanation:
    """Return what a fit learned, by its held-out rows.

    Parameters
    ----------
    fit : Fit
    """
    problem = fit.problem
    return Explanation(
        fit.model,
        problem.name,
        problem.task,
        problem.features.iloc[fit.test],
        problem.target[fit.test],
        problem.unit,
        fit.learned,
        fit.importances,
    )


def explain(model: Pipeline, cells: Cells, seed: int = 0) -> Explanation:
    """Try a saved model on the rows of a table.

    Parameters
    ----------
    model : fitted Pipeline of `mercer_command.fitting.fit`
    cells : Cells
        A table with the columns of the model and, if it is to tell which matter, the target.
    seed : int, default=0
        Of the shuffles.

    Returns
    -------
    Explanation

    Raises
    ------
    InputError
        If the table lacks columns of the model.
    """
    frame, (name, role, notation) = cells.frame, model["reader"].target
    missing = [column for column in model.feature_names_in_ if column not in frame.columns]
    if missing:
        raise InputError(f"the table lacks columns of the model: {listing(missing)}")
    task: Task = "classification" if is_classifier(model) else "regression"
    y = None
    if name in frame.columns:
        typed, _ = recognize_columns(
            frame[[name]], {name: Choice(role, "" if notation == "flag" else notation)}
        )
        known = typed[name].notna().to_numpy()
        frame, y = frame[known], _target(typed[name][known], model, role)
    X = model["reader"].transform(frame)
    is_stack = kernel_terms(model).combines == "predictions"
    return Explanation(
        model,
        name,
        task,
        X,
        y,
        "days" if role in ("date", "time", "duration") else "the target's unit",
        learned_stack(model) if is_stack else LearnedKernel(np.nan, np.nan, learned_shares(model)),
        tuple(column_importances(model, X, y, task, seed=seed)),
    )


def _target(column: Series[Any], model: Pipeline, role: str) -> npt.NDArray[Any]:
    """Return known targets in the form in which the model predicts them."""
    if role in ("date", "time", "duration"):
        return as_days(column.to_frame())[:, 0]
    if not is_classifier(model):
        return as_numbers(column.to_frame())[:, 0]
    kind = model.classes_.dtype.kind
    texts = as_categories(column.to_frame())[:, 0].astype(str)
    if kind == "b":
        return np.char.lower(texts) == "true"
    if kind in "iuf":
        return as_numbers(column.to_frame())[:, 0].astype(model.classes_.dtype)
    return texts

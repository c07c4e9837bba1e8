"""Models of the command, which read and encode the columns of a table and fit a method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import (
    KFold,
    PredefinedSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import TargetEncoder
from sklearn.utils.fixes import parse_version

from mercer import KernelStackingRegressor
from mercer.inspection import default_metric
from mercer.preprocessing import SoftClippingScaler, TextScores, column_encoders
from mercer_command.columns import DATES, MANY_LEVELS, Role
from mercer_command.logarithms import LogarithmicStack
from mercer_command.methods import METHODS, takes
from mercer_command.names import KINDS
from mercer_command.problem import Problem
from mercer_command.table_model import TableModel, decimals_of, limits_of
from mercer_command.table_reader import ColumnEncoder, TableReader
from mercer_command.target_column import Rows
from mercer_command.values import Array


def fit_arguments(model: Pipeline, problem: Problem, rows: Rows) -> dict[str, Array]:
    """Return the arguments of a fit besides features and target, which are groups or none.

    Parameters
    ----------
    model : Pipeline of `make_model`
    problem : Problem
    rows : ndarray of int
        The rows to learn from.
    """
    name, step = model.steps[-1]
    # Folds of later rows do not leave out groups.
    if problem.groups is None or problem.times is not None or not takes(step, "groups"):
        return {}
    return {f"{name}__groups": problem.groups[rows]}


def make_model(
    name: str,
    problem: Problem,
    rows: Rows,
    seed: int = 0,
    device: str = "cpu",
    *,
    metric: str | None = None,
    members: Sequence[BaseEstimator] = (),
) -> TableModel:
    """Make a model that prepares the columns of a table and fits the estimator of a method.

    Stacks and two-stage estimators encode the columns themselves. Before other estimators, and
    before all that are fitted to a table that is read in parts, the encoder is a step.

    Parameters
    ----------
    name : str
        A key of `METHODS`.
    problem : Problem
    rows : ndarray of int
        Positions of the rows to learn from.
    seed : int, default=0
        Seed of learners that draw random numbers.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where estimators that can use a graphics card compute.
    metric : str, default=None
        The score that is shown first; by default, one that suits the targets of the rows.
    members : sequence of estimators, default=()
        Estimators that a stack combines with its own.

    Returns
    -------
    TableModel
        The unfitted model.
    """
    kind = name if name in KINDS else ""
    metric = metric or default_metric(problem.target[rows], problem.task, kind)
    estimator = METHODS[name].makers[problem.task]()
    # Responses of a table that is read in parts are not in memory.
    if isinstance(estimator, KernelStackingRegressor) and problem.n_rows is None:
        estimator = _stack_for(metric, problem.target[rows])
    if problem.times is not None and takes(estimator, "times"):
        estimator = estimator.set_params(cv=TimeSeriesSplit(min(5, len(rows) - 1)))
    encoder = problem_encoder(problem, rows, seed)
    settings: dict[str, Any] = {
        "random_state": seed,
        "learner__random_state": seed,
        "device": device,
    }
    settings |= {"categories": list(problem.order)} if problem.order else {}
    settings |= {"candidates": ["default", *members]} if members else {}
    settings |= {"encoder": encoder} if problem.n_rows is None else {}
    known = settings.keys() & estimator.get_params()
    target, used = problem.target_column, [one for one in problem.columns if one.is_used]
    absent = {name: list(codes) for name, codes in problem.missing.items()}
    absent |= {column.name: [*absent.get(column.name, ()), *column.odd] for column in used}
    reader = TableReader(
        [[column.name, column.role, column.format] for column in used],  # Saved as one value.
        (target.name, target.role, target.format),
        {name: codes for name, codes in absent.items() if codes},
    )
    model = TableModel(
        [
            ("reader", reader),
            *([] if "encoder" in known else [("columns", encoder)]),
            ("model", estimator.set_params(**{key: settings[key] for key in sorted(known)})),
        ]
    )
    model.metric_ = metric
    if problem.task == "regression" and target.role not in DATES:
        y = problem.target[rows]
        model.limits_, model.decimals_ = limits_of(y), decimals_of(y)
    return model


def _stack_for(metric: str, y: Array) -> KernelStackingRegressor:
    """Return the unfitted stack for responses and the score that is shown first."""
    is_heavy = default_metric(y, "regression") == "log_rmse"
    if (metric == "log_rmse" or (metric == "mae" and is_heavy)) and y.min() > 0.0:
        return LogarithmicStack()
    return KernelStackingRegressor(scoring="neg_mean_absolute_error" if metric == "mae" else None)


def problem_encoder(problem: Problem, rows: Rows, seed: int = 0) -> ColumnTransformer:
    """Return the encoder of a problem's columns.

    Parameters
    ----------
    problem : Problem
    rows : ndarray of int
        The rows to learn from.
    seed : int, default=0
        Seed of the folds. Text, and categories of many levels, are encoded by the target in the
        other folds. With groups, folds hold whole groups. With times, text is encoded by earlier
        rows.

    Returns
    -------
    ColumnTransformer
        The unfitted encoder, whose fit needs the target.
    """

    def of(*roles: Role) -> list[str]:
        return [column.name for column in problem.columns if column.role in roles]

    many = [name for name in of("category") if problem.features[name].nunique() > MANY_LEVELS]
    few = [name for name in of("category") if name not in many]
    folds = _folds_of_groups(problem, rows) or 5
    if problem.times is not None:
        folds = TimeSeriesSplit(min(5, len(rows) - 1))
    scores = TextScores(problem.task == "classification", cv=folds, random_state=seed)
    # skrub projects text on 30 directions, which take more rows.
    texts = of("text") if len(rows) > 30 else []
    encoders = column_encoders(text=bool(texts))
    parts: list[tuple[str, TransformerMixin, list[str]]] = [
        ("numbers", encoders["numbers"], of("number")),
        ("durations", encoders["durations"], of("duration")),
        *((f"dates_{k}", encoders["dates"], [name]) for k, name in enumerate(of("date", "time"))),
        ("categories", encoders["categories"], few),
        ("levels", _levels(problem, rows, seed), many),
        *((f"text_{k}", encoders["text"], [name]) for k, name in enumerate(texts)),
        # Out-of-fold scores are not available for a table that is read in parts.
        ("scores", scores, of("text") if problem.n_rows is None else []),
    ]
    # Names that would be equal get a number.
    encoder = ColumnEncoder(parts, sparse_threshold=0.0, verbose_feature_names_out="{feature_name}")
    return encoder.set_output(transform="pandas")


def _folds_of_groups(problem: Problem, rows: Rows) -> PredefinedSplit | None:
    """Return at most five folds of whole groups, or None if there are no groups."""
    if problem.groups is None:
        return None
    return PredefinedSplit(np.unique(problem.groups[rows], return_inverse=True)[1] % 5)


def _levels(problem: Problem, rows: Rows, seed: int) -> Pipeline:
    """Return an encoder that represents categories by means of the target."""
    kind, n_folds, folds = "continuous", 5, KFold
    if problem.task == "classification":
        counts = np.unique(problem.target[rows], return_counts=True)[1]
        kind = "binary" if len(counts) == 2 else "multiclass"
        n_folds, folds = int(np.clip(counts.min(), 2, 5)), StratifiedKFold
    drawn: dict[str, Any] = {"cv": n_folds, "random_state": seed}
    # Before scikit-learn 1.9, the encoder shuffles the rows itself, and takes no other folds.
    if parse_version(sklearn.__version__) >= parse_version("1.9"):
        shuffled = folds(n_folds, shuffle=True, random_state=seed)
        drawn = {"cv": _folds_of_groups(problem, rows) or shuffled}
    encoder = TargetEncoder(target_type=kind, **drawn)
    converter = column_encoders(text=False)["categories"][0]
    return make_pipeline(converter, encoder, SoftClippingScaler())

"""The first steps of a model of the command: reading of a table's columns, and their encoding."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import TargetEncoder
from sklearn.utils.fixes import parse_version

from mercer.preprocessing import SoftClippingScaler
from mercer.preprocessing._table_encoder import column_encoders, converter
from mercer_command.problem import Problem, Rows
from mercer_command.table_columns import MANY_LEVELS, Column
from mercer_command.table_reader import TableReader


def table_reader(problem: Problem) -> TableReader:
    """Return the reader of tables like that of a problem.

    Parameters
    ----------
    problem : Problem
    """
    target = problem.target_column
    used: list[tuple[str, str, str]] = [
        (c.name, c.role, c.format) for c in problem.columns if c.is_used
    ]
    return TableReader(used, (target.name, target.role, target.format))


def problem_encoder(problem: Problem, rows: Rows, seed: int = 0) -> ColumnTransformer:
    """Return the encoder of a problem's columns; names that would clash get prefixes.

    Parameters
    ----------
    problem : Problem
    rows : ndarray of int
        The rows to learn from.
    seed : int, default=0
        Categories of many levels are encoded by the means of the target in other folds, which are
        drawn.

    Returns
    -------
    ColumnTransformer
        Unfitted. It needs the target.
    """
    names = _names_by_encoder(problem)
    encoders = {**column_encoders(), "levels": _levels(problem, rows, seed)}
    derived = ("calendar", "categories", "levels", "text")
    prefixes = ("missingindicator_", *(f"{name}_" for key in derived for name in names[key]))
    encoder = ColumnTransformer(
        [(key, encoders[key], names[key]) for key in encoders],
        sparse_threshold=0.0,
        verbose_feature_names_out=any(str(name).startswith(prefixes) for name in problem.features),
    )
    return encoder.set_output(transform="pandas")


def source_columns(encoder: ColumnTransformer) -> list[str]:
    """Return the column of the table that each output of a fitted encoder was made from.

    Parameters
    ----------
    encoder : fitted ColumnTransformer of `problem_encoder`
    """
    sources = []
    for key, _, names in encoder.transformers_:
        prefix = f"{key}__" if encoder.verbose_feature_names_out else ""
        if key == "remainder":
            continue
        for out in _outputs(encoder, key):
            bare = out.removeprefix(prefix).removeprefix("missingindicator_")
            fitting = [name for name in names if bare == name or bare.startswith(f"{name}_")]
            sources.append(max(fitting, key=len))
    return sources


def _outputs(encoder: ColumnTransformer, key: str) -> list[str]:
    """Return the names of the outputs of one transformer."""
    names = encoder.get_feature_names_out()
    return [str(name) for name in names[encoder.output_indices_[key]]]


def _names_by_encoder(problem: Problem) -> dict[str, list[str]]:
    def of(*roles: str) -> list[Column]:
        return [column for column in problem.columns if column.role in roles]

    categories = [column.name for column in of("category")]
    many = [name for name in categories if problem.features[name].nunique() > MANY_LEVELS]
    dates = [column.name for column in of("date", "time", "duration")]
    return {
        "numbers": [column.name for column in of("number")],
        "dates": dates,
        "calendar": dates,
        "categories": [name for name in categories if name not in many],
        "levels": many,
        "text": [column.name for column in of("text")],
    }


def _levels(problem: Problem, rows: Rows, seed: int) -> Pipeline:
    """Return an encoder of categories by the target's means."""
    kind, n_folds = "continuous", 5
    if problem.task == "classification":
        counts = np.unique(problem.target[rows], return_counts=True)[1]
        kind = "binary" if len(counts) == 2 else "multiclass"
        n_folds = int(np.clip(counts.min(), 2, 5))
    folds = KFold if problem.task == "regression" else StratifiedKFold
    # The shuffle was a setting of the encoder before scikit-learn 1.9.
    drawn: dict[str, Any] = {"cv": n_folds, "random_state": seed}
    if parse_version(sklearn.__version__) >= parse_version("1.9"):
        drawn = {"cv": folds(n_folds, shuffle=True, random_state=seed)}
    encoder = TargetEncoder(target_type=kind, **drawn)
    return make_pipeline(converter("category"), encoder, SoftClippingScaler())

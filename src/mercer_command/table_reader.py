"""The first steps of a model of the command: reading of a table's columns, and their encoding."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
import sklearn
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder
from sklearn.utils.fixes import parse_version

from mercer.preprocessing import (
    CellReading,
    SoftClippingScaler,
    TextScores,
    cell_readings,
    column_encoders,
    parse_cells,
)
from mercer_command.columns import DATES, MANY_LEVELS, OTHERWISE, Role, read_as
from mercer_command.messages import listing, shown
from mercer_command.notation import Array, as_dates
from mercer_command.odd_values import without_codes
from mercer_command.row_checksums import row_checksums

if TYPE_CHECKING:
    from mercer_command.problem import Problem, Rows


class TableReader(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Convert the columns of a data frame to the types that a model learned from.

    Columns of text are read as numbers, dates, times of day or categories; columns of these types
    remain as they are, and numbers in place of dates are days since 1970. Other columns are
    ignored. Where cells of text allow several notations, that of the training table is taken,
    unless other columns of the table tell another.

    Parameters
    ----------
    columns : list of (str, str, str)
        Name, role and format of each column; see `mercer_command.columns.Column`.
    target : (str, str, str) or None, default=None
        Those of the column that is predicted.
    missing : dict of str to list of str, default=None
        What stands for missing cells, by the columns' names.
    remembers : bool, default=True
        Whether checksums of the rows are kept, by which they are recognized.

    Attributes
    ----------
    checksums_ : ndarray of uint64 of shape (n_distinct,) or None
        Of the rows of the fit, ascending.
    feature_names_in_ : ndarray of str
        The names of the columns.
    n_features_in_ : int
    """

    def __init__(
        self,
        columns: list[tuple[str, str, str]],
        target: tuple[str, str, str] | None = None,
        missing: dict[str, list[str]] | None = None,
        remembers: bool = True,
    ) -> None:
        self.columns = columns
        self.target = target
        self.missing = missing
        self.remembers = remembers

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Store the names of the columns, and checksums of the rows.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_columns)
        y : None
            Ignored.
        """
        self.feature_names_in_ = self.get_feature_names_out()
        self.n_features_in_ = len(self.columns)
        self.checksums_ = None
        if self.remembers and X is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Those of `transform` come later.
                self.checksums_ = np.unique(row_checksums(self.transform(X), self.columns))
        return self

    def learned_from(self, typed: pd.DataFrame) -> Array | None:
        """Return which rows equal one of the fit in all columns; None if it is not known.

        Parameters
        ----------
        typed : DataFrame of shape (n_rows, n_features_in_)
            Converted columns, as `transform` returns them.

        Returns
        -------
        ndarray of bool of shape (n_rows,) or None
        """
        if self.checksums_ is None:
            return None
        return np.isin(row_checksums(typed, self.columns), self.checksums_)

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Convert columns.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_columns)
            Of pandas or polars; it has at least the columns of `columns`.

        Returns
        -------
        DataFrame of shape (n_samples, n_features_in_)

        Raises
        ------
        TypeError
            If X has no names of columns.
        ValueError
            If columns are missing, or hold text that cannot be read.
        """
        if not hasattr(X, "columns"):
            raise TypeError("The model predicts from data frames, which have names of columns.")
        if not hasattr(X, "iloc"):
            X = X.to_pandas()  # type: ignore[operator]
        absent = [name for name, _, _ in self.columns if name not in X.columns]
        if absent:
            raise ValueError(f"The table lacks columns of the model: {listing(absent)}.")
        wanted = {n: ("flag" if f == "flag" else read_as(r), "") for n, r, f in self.columns}
        preferred = {name: notation for name, _, notation in self.columns}
        missing = self.missing or {}
        X = X[list(wanted)]
        X = X.assign(**{n: without_codes(X[n], missing[n]) for n in wanted if n in missing})
        readings = cell_readings(X, wanted, preferred=preferred)
        typed: dict[str, pd.Series[Any]] = {}
        for name, role, _ in self.columns:
            typed[name] = X[name]
            if name in readings:
                read = _read(name, X[name], readings[name])
                typed[name] = without_codes(read, missing.get(name, ()))
            elif role in ("date", "time") and X[name].dtype.kind in "iuf":
                typed[name] = pd.Series(as_dates(X[name].to_numpy(dtype=float)), X.index)
        return pd.DataFrame(typed, index=X.index)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Ignored.
        """
        return np.array([name for name, _, _ in self.columns], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.no_validation = True
        return tags


def _read(name: str, cells: pd.Series[Any], reading: CellReading) -> pd.Series[Any]:
    """Convert the cells of a column, and warn of those that cannot be read."""
    values, odd = parse_cells(cells, reading)
    told = [f"column '{shown(name)}': {text}; {OTHERWISE}" for text in reading.warnings]
    if len(odd):
        named = listing(odd.drop_duplicates(), most=4)
        if not reading.suits(values, odd):
            raise ValueError(
                f"Column '{shown(name)}' holds text, but the model needs {reading.read_as}s: "
                f"{named}."
            )
        told.insert(
            0,
            f"{len(odd)} cells of '{shown(name)}' count as missing, because they cannot be read: "
            f"{named}.",
        )
    for text in told:
        warnings.warn(text, UserWarning, stacklevel=2)
    return values


def problem_reader(problem: Problem) -> TableReader:
    """Return the reader of tables like that of a problem.

    Parameters
    ----------
    problem : Problem
    """
    target = problem.target_column
    return TableReader(
        [(column.name, column.role, column.format) for column in problem.columns if column.is_used],
        (target.name, target.role, target.format),
        {name: list(codes) for name, codes in problem.missing.items()},
    )


def problem_encoder(problem: Problem, rows: Rows, seed: int = 0) -> ColumnTransformer:
    """Return the encoder of a problem's columns; names that would clash get prefixes.

    Parameters
    ----------
    problem : Problem
    rows : ndarray of int
        The rows to learn from.
    seed : int, default=0
        Categories of many levels, and text, are encoded by the target in other folds, which are
        drawn; with groups, folds hold whole groups, and with times, text is encoded by earlier
        rows.

    Returns
    -------
    ColumnTransformer
        Unfitted. It needs the target.
    """

    def of(*roles: Role) -> list[str]:
        return [column.name for column in problem.columns if column.role in roles]

    many = [name for name in of("category") if problem.features[name].nunique() > MANY_LEVELS]
    names = {
        "numbers": of("number"),
        "dates": of(*DATES),
        "calendar": of(*DATES),
        "categories": [name for name in of("category") if name not in many],
        "levels": many,
        "text": of("text"),
        # Rows of a table that is read in parts are not predicted without them.
        "scores": of("text") if problem.n_rows is None else [],
    }
    folds: Any = _folds_of_groups(problem, rows) or 5
    if problem.times is not None:
        folds = TimeSeriesSplit(max(2, min(5, len(rows) - 1)))
    scores = TextScores(problem.task == "classification", cv=folds, random_state=seed)
    encoders = {**column_encoders(), "levels": _levels(problem, rows, seed), "scores": scores}
    derived = (
        f"{name}_" for key in names if key not in ("numbers", "dates") for name in names[key]
    )
    prefixes = ("missingindicator_", *derived)
    encoder = ColumnTransformer(
        [(key, encoders[key], names[key]) for key in names],
        sparse_threshold=0.0,
        verbose_feature_names_out=any(str(name).startswith(prefixes) for name in problem.features),
    )
    return encoder.set_output(transform="pandas")


def _folds_of_groups(problem: Problem, rows: Rows) -> PredefinedSplit | None:
    """Return at most five folds of whole groups; None without groups."""
    if problem.groups is None:
        return None
    groups = problem.groups[rows]
    parts, splitter = np.zeros(len(rows), dtype=int), GroupKFold(min(5, len(np.unique(groups))))
    for k, (_, part) in enumerate(splitter.split(rows, groups=groups)):
        parts[part] = k
    return PredefinedSplit(parts)


def _levels(problem: Problem, rows: Rows, seed: int) -> Any:
    """Return an encoder of categories by the target's means."""
    kind, n_folds, folds = "continuous", 5, KFold
    if problem.task == "classification":
        counts = np.unique(problem.target[rows], return_counts=True)[1]
        kind = "binary" if len(counts) == 2 else "multiclass"
        n_folds, folds = int(np.clip(counts.min(), 2, 5)), StratifiedKFold
    # The shuffle was a setting of the encoder before scikit-learn 1.9.
    drawn: dict[str, Any] = {"cv": n_folds, "random_state": seed}
    if parse_version(sklearn.__version__) >= parse_version("1.9"):
        drawn_folds = folds(n_folds, shuffle=True, random_state=seed)
        drawn = {"cv": _folds_of_groups(problem, rows) or drawn_folds}
    converter = column_encoders()["categories"][0]
    return make_pipeline(converter, TargetEncoder(target_type=kind, **drawn), SoftClippingScaler())


def source_columns(encoder: ColumnTransformer) -> list[str]:
    """Return the column of the table that each output of a fitted encoder was made from.

    Parameters
    ----------
    encoder : fitted ColumnTransformer of `problem_encoder`
    """
    sources, outputs = [], encoder.get_feature_names_out()
    for key, _, names in encoder.transformers_:
        prefix = f"{key}__" if encoder.verbose_feature_names_out else ""
        for out in outputs[encoder.output_indices_[key]] if key != "remainder" else ():
            bare = str(out).removeprefix(prefix).removeprefix("missingindicator_")
            fitting = [name for name in names if bare == name or bare.startswith(f"{name}_")]
            sources.append(max(fitting, key=len))
    return sources

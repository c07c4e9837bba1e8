"""Fitted models to explain, with the fitted function and the columns of the user's table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._data.types import Array, RandomState, Table
from mercer._gram.expansion import KernelExpansion, Views, as_doubles
from mercer.inspection._contributions import cell_text
from mercer.inspection._display import best_of
from mercer.inspection._explanations.parts import Parts
from mercer.kernels._on_columns import Columns, column_positions, take_columns
from mercer.preprocessing._column_kinds import named_columns
from mercer.preprocessing._encoded_columns import encoded_columns

Groups: TypeAlias = Mapping[str, Columns] | Iterable[Columns] | None
"""Columns of each group, with or without a name of the group."""

N_BACKGROUND = 100
"""Default number of background rows, as in the package shap."""


@dataclass(frozen=True)
class Players:
    """Sets of columns whose values are exchanged together.

    Attributes
    ----------
    names : list of str
    columns : list of list of int
        Positions of the columns of each player in the user's table.
    """

    names: list[str]
    columns: list[list[int]]

    def __len__(self) -> int:
        return len(self.names)

    def of_columns(self, encoded: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the player of each encoded column, given the position of its source column."""
        owner = np.empty(sum(map(len, self.columns)), dtype=np.intp)
        for player, columns in enumerate(self.columns):
            owner[columns] = player
        return np.asarray(owner[encoded])


@dataclass(frozen=True)
class ExplainedModel:
    """A fitted model, its function, and its columns.

    Attributes
    ----------
    model : estimator or Pipeline
    step : estimator
        The model, or the last step of a pipeline.
    expansion : KernelExpansion
    names : list of str
        Names of the columns of the user's table.
    encoded : ndarray of int of shape (n_features,)
        The column of the user's table from which each column of the last step is computed.
    """

    model: BaseEstimator
    step: BaseEstimator
    expansion: KernelExpansion
    names: list[str]
    encoded: NDArray[np.intp]

    @classmethod
    def of(cls, model: BaseEstimator) -> ExplainedModel:
        """Read a fitted estimator, a pipeline that ends in one, or a search over either.

        Raises
        ------
        NotFittedError
            If the model is not fitted.
        TypeError
            If the model is not a predictor of mercer, or if a step of a pipeline computes features
            from several columns.
        """
        model = best_of(model)
        step = best_of(model[-1]) if isinstance(model, Pipeline) else model
        if not hasattr(step, "kernel_expansion"):
            raise TypeError(
                f"{type(step).__name__} cannot be explained: this takes a fitted estimator of "
                "mercer that predicts, a Pipeline that ends in one, or a search over either."
            )
        check_is_fitted(step)
        expansion = step.kernel_expansion()
        if expansion.sources is not None:
            names = list(expansion.sources.names)
            return cls(model, step, expansion, names, expansion.sources.of_columns)
        several = isinstance(model, Pipeline) and len(model) > 1
        n_columns = int(model.n_features_in_ if several else step.n_features_in_)
        encoded = encoded_columns(model[:-1] if several else "passthrough", n_columns)
        if len(encoded) != step.n_features_in_:
            raise TypeError(
                "The columns that the steps before the last compute are not known. Explain the "
                "last step by them: pass model[-1] and model[:-1].transform(X)."
            )
        given = getattr(model if several else step, "feature_names_in_", None)
        names = [f"x{z}" for z in range(n_columns)] if given is None else [str(n) for n in given]
        return cls(model, step, expansion, names, encoded)

    def views(self, X: Table) -> Views:
        """Return rows of the user's table in each view of the last step.

        Raises
        ------
        ValueError
            If the columns are not those of the fit, or if values are missing and the model does not
            accept missing values.
        """
        if self.expansion.sources is not None:
            return self.expansion.views(X)
        if self.model is not self.step and len(self.model) > 1:
            X = self.model[:-1].transform(X)
        checks = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
        if get_tags(self.step).input_tags.allow_nan:
            checks["ensure_all_finite"] = "allow-nan"
        rows = validate_data(self.step, X, reset=False, **checks)
        return self.expansion.views(rows)

    def background(self, background: Table | int | None, random_state: RandomState) -> Views:
        """Return the background rows in each view.

        Parameters
        ----------
        background : table, int or None
            Rows with the columns of X, or a number of training rows to draw.
        random_state : int, RandomState instance or None

        Raises
        ------
        ValueError
            If there are fewer than two background rows.
        """
        is_number = background is None or isinstance(background, int | np.integer)
        if is_number and self.expansion.sources is not None:
            raise ValueError(
                f"{type(self.step).__name__} was fitted to Gram matrices and does not store them: "
                "pass background, the Gram matrices between some rows and the training rows, of "
                "shape (n_background, n_fitted, n_kernels)."
            )
        if is_number:
            training = self.expansion.training
            n_known = next(iter(training.values())).shape[0]
            n_rows = min(N_BACKGROUND if background is None else int(background), n_known)
            rng = check_random_state(random_state)
            rows = np.sort(rng.choice(n_known, n_rows, replace=False))
            views = {name: as_doubles(view[rows]) for name, view in training.items()}
        else:
            views = self.views(background)
        n_rows = next(iter(views.values())).shape[0]
        if n_rows < 2:
            raise ValueError(
                f"The background has {n_rows} row{'s' * (n_rows != 1)}; at least 2 are required: "
                "what a column contributes is compared with its values in other rows."
            )
        return views

    def check_table(self, what: str) -> None:
        """Check that the model is a function of columns of a table.

        Parameters
        ----------
        what : str
            Name of the requested result, such as "Curves".

        Raises
        ------
        TypeError
            If the model was fitted to Gram matrices.
        """
        if self.expansion.sources is not None:
            raise TypeError(
                f"{what} need a model of a table, and this {type(self.step).__name__} was fitted "
                "to Gram matrices: shapley_values computes what each of them contributes."
            )

    def table(self, X: Table) -> Table:
        """Select the columns of the fit from a table that may have others."""
        given = [str(name) for name in X.columns] if hasattr(X, "columns") else []
        is_other = given != self.names and set(given) >= set(self.names)
        return take_columns(X, self.names) if is_other else X

    def cells(self, X: Table, players: Players) -> Array:
        """Return the values of the players' columns, shape (n_rows, n_players).

        The values of several columns are joined as text. For Gram matrices, the texts are empty.
        """
        if self.expansion.sources is not None:
            return np.full((len(X), len(players)), "", dtype=object)
        table = self.table(X)
        table = table.toarray() if hasattr(table, "toarray") else table
        cells = [_values(np.asarray(column)) for _, column in named_columns(table)]
        return np.column_stack([_joined([cells[z] for z in own]) for own in players.columns])

    def positions(self, columns: Columns) -> list[int]:
        """Return the positions of columns that are given by name or position.

        Raises
        ------
        ValueError
            If a column is absent or no column is selected.
        """
        header = SimpleNamespace(columns=self.names, shape=(0, len(self.names)))
        return column_positions(header, columns)

    def players(self, groups: Groups) -> Players:
        """Return the players, which are the given groups and each of the other columns.

        Parameters
        ----------
        groups : mapping, iterable or None

        Raises
        ------
        ValueError
            If a column is in two groups, or does not exist.
        """
        named: list[tuple[str, Columns]]
        if isinstance(groups, Mapping):
            named = [(str(name), columns) for name, columns in groups.items()]
        else:
            named = [("", columns) for columns in groups or ()]
        found = [self.positions(columns) for _, columns in named]
        positions = [z for columns in found for z in columns]
        if len(set(positions)) < len(positions):
            twice = next(z for z in positions if positions.count(z) > 1)
            raise ValueError(
                f"Column {self.names[twice]!r} is in more than one place of groups: each column "
                "can be in one group only."
            )
        taken = set(positions)
        alone = [z for z in range(len(self.names)) if z not in taken]
        joined = [" + ".join(self.names[z] for z in columns) for columns in found]
        names = [name or text for (name, _), text in zip(named, joined, strict=True)]
        return Players([*names, *(self.names[z] for z in alone)], [*found, *([z] for z in alone)])

    def parts(self, players: Players) -> Parts:
        """Return the parts of the function for a partition of the columns into players."""
        return Parts.of(self.expansion, players.of_columns(self.encoded), len(players))

    def exact_parts(self, players: Players) -> Parts:
        """Return the parts of the function if all are products over players.

        Raises
        ------
        TypeError
            If a part is not a product over players.
        """
        parts = self.parts(players)
        if parts.others:
            kernels = ", ".join(dict.fromkeys(part.description for part in parts.others))
            raise TypeError(
                "Interactions and shares of variance need kernels that are products over columns, "
                f"and {kernels} is not: use Gaussian, product Laplacian or linear kernels, or "
                "explain by shapley_values, or group the columns that a kernel takes together."
            )
        return parts


def _values(column: Array) -> Array:
    if column.dtype.kind in "mM":  # As objects, nanoseconds would become whole numbers.
        column = column.astype(f"{column.dtype.kind}8[us]")
    return column if column.dtype.kind in "iuf" else column.astype(object)


def _joined(columns: list[Array]) -> Array:
    """Return the only column, or the values of several as text."""
    if len(columns) == 1:
        return columns[0]
    rows = zip(*columns, strict=True)
    return np.array([", ".join(map(cell_text, row)) for row in rows], dtype=object)

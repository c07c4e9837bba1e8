"""Interactions of columns in the predictions of fitted models, and shares of variance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator

from mercer._data.notebook import FrameResult, data_frames
from mercer._data.types import Array, RandomState, Table
from mercer._gram.expansion import Scale
from mercer.inspection._contributions import output_weights
from mercer.inspection._explained_model import ExplainedModel, Groups
from mercer.inspection._explanations.parts import without_output_axis
from mercer.inspection._explanations.product_values import product_interactions
from mercer.inspection._explanations.variance_parts import PlayerFactors

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class ShapleyInteractions(FrameResult):
    """Interactions of pairs of columns in predictions, computed by `shapley_interactions`.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_players, n_players) or (..., n_outputs)
        Interaction indices in the unit of the prediction, symmetric and zero on the diagonal. A
        player is a column or a group of columns.
    feature_names : list of str of shape (n_players,)
    output_names : list of str
        Classes, or empty for responses.
    scale : str
        "response", "log response", "log-odds", "logit", "decision value", "latent mean" or
        "log rate".
        Scale of the explained output.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import ShapleyInteractions
    >>> values = np.array([[[0.0, 0.5], [0.5, 0.0]]])
    >>> ShapleyInteractions(values, ["age", "height"], [], "response").strongest()
    [('age', 'height', 0.5)]
    """

    values: Array
    feature_names: list[str]
    output_names: list[str]
    scale: Scale

    @property
    def importances(self) -> Array:
        """Mean absolute values over rows, of shape (n_players, n_players) or (..., n_outputs)."""
        return np.asarray(np.abs(self.values).mean(axis=0))

    def of_output(self, output: str | int | None = None) -> ShapleyInteractions:
        """Return the interactions in one output; see :meth:`ShapleyValues.of_output`.

        Parameters
        ----------
        output : str or int, default=None
            Class, or position of a response; None if there is only one output.

        Raises
        ------
        ValueError
            If the output does not exist, or if there are several outputs and none is named.
        """
        if self.values.ndim == 3:
            return self
        weights, names, scale = output_weights(
            output, self.output_names, self.values.shape[-1], self.scale
        )
        return replace(self, values=self.values @ weights, output_names=names, scale=scale)

    def strongest(self, n_pairs: int = 3) -> list[tuple[str, str, float]]:
        """Return the pairs with the largest mean absolute values over rows, summed over outputs.

        Parameters
        ----------
        n_pairs : int, default=3
            Maximum number of pairs.

        Returns
        -------
        list of (str, str, float)
            Names of both columns, and the mean absolute value.
        """
        sizes = self.importances
        sizes = sizes.sum(axis=-1) if sizes.ndim == 3 else sizes
        first, second = np.triu_indices(len(sizes), 1)
        order = np.argsort(-sizes[first, second], kind="stable")[:n_pairs]
        names = self.feature_names
        return [
            (names[j], names[k], float(sizes[j, k]))
            for j, k in zip(first[order], second[order], strict=True)
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return mean absolute values as a data frame with a row for each pair, the largest first.

        Returns
        -------
        pandas.DataFrame
            The columns are "column", "with" and "mean magnitude", the sum over outputs.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        d = len(self.feature_names)
        pairs = self.strongest(d * (d - 1) // 2) if len(self.values) else []
        return data_frames().DataFrame(pairs, columns=["column", "with", "mean magnitude"])


def shapley_interactions(
    model: BaseEstimator,
    X: Table,
    background: Table | int | None = None,
    groups: Groups = None,
    *,
    independent: bool = False,
    random_state: RandomState = 0,
) -> ShapleyInteractions:
    """Explain predictions by what each pair of columns contributes together.

    The contributions are exact Shapley interaction indices. The index of a pair is zero if the
    effects of its columns are additive. In general, it is the change of the value of a set of
    columns, as in :func:`shapley_values`, when both columns are added, minus the changes when each
    column is added alone. This difference is averaged over the sets of other columns, with equal
    weight for each size of sets.

    Parameters
    ----------
    model : estimator, Pipeline or search
        See :func:`shapley_values`.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
        Rows to explain.
    background : array-like, sparse matrix, data frame or int, default=None
        At least two rows, or a number of training rows to draw; None stands for 100.
    groups : mapping of str to columns, or iterable of columns, default=None
        Columns that are treated as one.
    independent : bool, default=False
        Whether background values are drawn independently for each column; see
        :func:`shapley_values`.
    random_state : int, RandomState instance or None, default=0
        Seed or generator that draws background rows.

    Returns
    -------
    ShapleyInteractions
        Values for each row and pair, with the names of the columns.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If the model cannot be explained, or a part of it is not a product over columns.
    ValueError
        As in :func:`shapley_values`.

    Notes
    -----
    Each row takes O(n b d^3) time for n centers, b background rows and d columns, and O(n d^3) time
    for independent columns.

    References
    ----------
    M. Grabisch, M. Roubens (1999). An axiomatic approach to the concept of interaction among
    players in cooperative games. International Journal of Game Theory 28.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import TwoStageRegressor
    >>> from mercer.inspection import shapley_interactions
    >>> X, y = make_friedman1(100, n_features=5, random_state=0)
    >>> model = TwoStageRegressor().fit(X, y)
    >>> found = shapley_interactions(model, X[:3])
    >>> found.values.shape, found.strongest(1)[0][:2]
    ((3, 5, 5), ('x0', 'x1'))
    """
    explained = ExplainedModel.of(model)
    players = explained.players(groups)
    rows, others = explained.views(X), explained.background(background, random_state)
    parts = explained.exact_parts(players)
    n_rows = next(iter(rows.values())).shape[0]
    values = np.zeros((n_rows, len(players), len(players), parts.n_outputs))
    for part in parts.exact:
        X, Z = rows[part.view], others[part.view]
        block = product_interactions(part, X, Z, independent=independent)
        values[:, part.players[:, None], part.players] += block
    expansion = explained.expansion
    return ShapleyInteractions(
        without_output_axis(values),
        players.names,
        list(expansion.outputs),
        expansion.scale,
    )


@dataclass(frozen=True, repr=False)
class SobolIndices(FrameResult):
    """Shares of columns and pairs in the variation of a model, computed by `sobol_indices`.

    Attributes
    ----------
    first_order : ndarray of shape (n_players,) or (n_players, n_outputs)
        Share of the main effect of each player, which is a column or a group of columns.
    second_order : ndarray of shape (n_players, n_players) or (n_players, n_players, n_outputs)
        Share of the interaction of each pair beyond both main effects, symmetric and zero on the
        diagonal.
    total_order : ndarray of the shape of `first_order`
        Share of all effects in which the player is involved. These shares sum to one or more.
    variance : float or ndarray of shape (n_outputs,)
        Variance of the function in its squared unit. The shares of a constant function are zero.
    feature_names : list of str of shape (n_players,)
    output_names : list of str
        Classes, or empty for responses.
    scale : str
        "response", "log response", "log-odds", "logit", "decision value", "latent mean" or
        "log rate".
        Scale of the function.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import TwoStageRegressor
    >>> from mercer.inspection import sobol_indices
    >>> X, y = make_friedman1(100, n_features=5, random_state=0)
    >>> found = sobol_indices(TwoStageRegressor().fit(X, y))
    >>> found.first_order.shape, found.second_order.shape
    ((5,), (5, 5))
    """

    first_order: Array
    second_order: Array
    total_order: Array
    variance: float | Array
    feature_names: list[str]
    output_names: list[str]
    scale: Scale

    def to_frame(self) -> pd.DataFrame:
        """Return the shares of first and total order as a data frame with a row for each player.

        Returns
        -------
        pandas.DataFrame
            The columns are "alone" and "with interactions". For several outputs, shares are those
            of the variance of all outputs together.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        d, variance = len(self.feature_names), np.atleast_1d(self.variance)
        weights = variance / (float(variance.sum()) or 1.0)
        first, total = (
            found.reshape(d, -1) @ weights for found in (self.first_order, self.total_order)
        )
        columns = {"alone": first, "with interactions": total}
        return data_frames().DataFrame(columns, index=self.feature_names)


def sobol_indices(
    model: BaseEstimator,
    background: Table | int | None = None,
    groups: Groups = None,
    *,
    random_state: RandomState = 0,
) -> SobolIndices:
    """Compute how much of a model's variation is due to each column and each pair of columns.

    Sobol indices are shares of the variance of the model's prediction function if each column takes
    its values from the background rows, independently of the other columns. If columns depend on
    each other, the shares do not hold for the predictions of the background rows.

    Parameters
    ----------
    model : estimator, Pipeline or search
        See :func:`shapley_values`.
    background : array-like, sparse matrix, data frame or int, default=None
        At least two rows, or a number of training rows to draw; None stands for 100.
    groups : mapping of str to columns, or iterable of columns, default=None
        Columns that are treated as one.
    random_state : int, RandomState instance or None, default=0
        Seed or generator that draws background rows.

    Returns
    -------
    SobolIndices
        Shares of first, second and total order, with the names of the columns.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If the model cannot be explained, or a part of it is not a product over columns.
    ValueError
        As in :func:`shapley_values`.

    Notes
    -----
    The shares are computed from sums over the centers; only the background rows are sampled. This
    takes O(n^2 b d + n b^2 d^2) time for n centers, b background rows and d columns, and O(n b d)
    memory.

    References
    ----------
    I. M. Sobol (2001). Global sensitivity indices for nonlinear mathematical models and their Monte
    Carlo estimates. Mathematics and Computers in Simulation 55.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import TwoStageRegressor
    >>> from mercer.inspection import sobol_indices
    >>> X, y = make_friedman1(200, n_features=6, random_state=0)
    >>> found = sobol_indices(TwoStageRegressor().fit(X, y))
    >>> found.feature_names[int(found.first_order.argmax())]
    'x3'
    >>> bool((found.total_order >= found.first_order).all())
    True
    """
    explained = ExplainedModel.of(model)
    players = explained.players(groups)
    others = explained.background(background, random_state)
    parts = explained.exact_parts(players)
    d = len(players)
    first, pairs = np.zeros((d, parts.n_outputs)), np.zeros((d, d, parts.n_outputs))
    total, variance = np.zeros_like(first), np.zeros(parts.n_outputs)
    if parts.exact:
        factors = PlayerFactors.of(parts.exact, others, d)
        first, pairs = factors.first_order(), factors.pairs()
        of_players, higher = factors.higher_order()
        total = first + pairs.sum(axis=1) + of_players
        variance = first.sum(axis=0) + 0.5 * pairs.sum(axis=(0, 1)) + higher
    expansion = explained.expansion
    levels = expansion.of_views(others)
    rounding = len(levels) * np.finfo(float).eps * np.abs(levels).max(axis=0)
    varies = variance > rounding**2
    variance = np.where(varies, variance, 0.0)
    first, pairs, total = (
        np.where(varies, found / np.where(varies, variance, 1.0), 0.0)
        for found in (first, pairs, total)
    )
    first, pairs, total = map(without_output_axis, (first, pairs, total))
    of_all = float(variance[0]) if len(variance) == 1 else variance
    names, outputs = players.names, list(expansion.outputs)
    return SobolIndices(first, pairs, total, of_all, names, outputs, expansion.scale)

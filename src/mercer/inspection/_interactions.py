"""Interactions of columns in the predictions of fitted models, and shares of their variance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._expansion import Scale
from mercer._explanations.product_values import product_interactions
from mercer._explanations.variance_parts import PlayerFactors
from mercer._typing import Array, RandomState
from mercer.inspection._contributions import output_weights
from mercer.inspection._explained_model import ExplainedModel, Groups


@dataclass(frozen=True)
class ShapleyInteractions:
    """What pairs of columns contribute to predictions together, by `shapley_interactions`.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_players, n_players) or (..., n_outputs)
        In the unit of the prediction; symmetric, and zero on the diagonal.
    feature_names : list of str of shape (n_players,)
    output_names : list of str
        Classes, or empty for responses.
    scale : {"response", "log-odds", "logit", "decision value", "latent mean", "log rate"}
        What is explained.

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
        """Mean absolute values over rows, (n_players, n_players) or (..., n_outputs)."""
        return np.asarray(np.abs(self.values).mean(axis=0))

    def of_output(self, output: str | int | None = None) -> ShapleyInteractions:
        """The interactions in one output; see :meth:`ShapleyValues.of_output`.

        Parameters
        ----------
        output : str or int, default=None
            Class, or position of a response; None where there is one output only.

        Raises
        ------
        ValueError
            If there is no such output, or if there are several and none is named.
        """
        if self.values.ndim == 3:
            return self
        weights, names, scale = output_weights(
            output, self.output_names, self.values.shape[-1], self.scale
        )
        return replace(self, values=self.values @ weights, output_names=names, scale=scale)

    def strongest(self, n_pairs: int = 3) -> list[tuple[str, str, float]]:
        """The pairs of largest mean absolute value over rows, summed over outputs.

        Parameters
        ----------
        n_pairs : int, default=3
            Number of pairs, at most.

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


def shapley_interactions(
    model: Any,
    X: Any,
    background: Any = None,
    groups: Groups = None,
    *,
    independent: bool = False,
    random_state: RandomState = 0,
) -> ShapleyInteractions:
    """What each pair of columns contributes to each prediction together: exact interaction indices.

    With the value of a set of columns as in :func:`shapley_values`, the index of a pair is by how
    much both columns change it together more than one after the other would alone, on average over
    the sets of other columns; all sizes of sets count the same. It is zero for columns whose
    effects add up.

    Parameters
    ----------
    model : estimator, Pipeline or search
        See :func:`shapley_values`.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
        Rows to explain.
    background : array-like, sparse matrix, data frame or int, default=None
        At least two rows, or a number of training rows that are drawn; None stands for 100.
    groups : mapping of str to columns, or iterable of columns, default=None
        Columns whose values are exchanged together.
    independent : bool, default=False
        Whether background values are drawn column by column; see :func:`shapley_values`.
    random_state : int, RandomState instance or None, default=0
        Draws the background rows.

    Returns
    -------
    ShapleyInteractions
        Values for each row and pair, with the names of the columns.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If the model cannot be explained, or a part of it is no product over columns.
    ValueError
        As by :func:`shapley_values`.

    Notes
    -----
    O(n b d^3) time for each row, n centers, b background rows and d columns; O(n d^3) of
    independent columns.

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
        values[..., 0] if parts.n_outputs == 1 else values,
        players.names,
        list(expansion.outputs),
        expansion.scale,
    )


@dataclass(frozen=True)
class SobolIndices:
    """Shares of the variance of a fitted function, by `sobol_indices`.

    Attributes
    ----------
    first_order : ndarray of shape (n_players,) or (n_players, n_outputs)
        Share of what a player does alone.
    second_order : ndarray of shape (n_players, n_players) or (n_players, n_players, n_outputs)
        Share of what a pair does together beyond what both do alone; symmetric, and zero on the
        diagonal.
    total_order : ndarray of the shape of `first_order`
        Share of all that a player has a part in; these sum to one or more.
    variance : float or ndarray of shape (n_outputs,)
        Of the function, in its squared unit. Shares of a constant function are zero.
    feature_names : list of str of shape (n_players,)
    output_names : list of str
        Classes, or empty for responses.
    scale : {"response", "log-odds", "logit", "decision value", "latent mean", "log rate"}
        What the function is.

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
    variance: Any
    feature_names: list[str]
    output_names: list[str]
    scale: Scale


def sobol_indices(
    model: Any,
    background: Any = None,
    groups: Groups = None,
    *,
    random_state: RandomState = 0,
) -> SobolIndices:
    """Shares of the variance of a fitted function that columns and pairs of columns have.

    Values of a column are those of the background rows, independent of the other columns: this is
    a property of the function, and where columns depend on each other, not of its predictions on
    the background rows.

    Parameters
    ----------
    model : estimator, Pipeline or search
        See :func:`shapley_values`.
    background : array-like, sparse matrix, data frame or int, default=None
        At least two rows, or a number of training rows that are drawn; None stands for 100.
    groups : mapping of str to columns, or iterable of columns, default=None
        Columns whose values are exchanged together.
    random_state : int, RandomState instance or None, default=0
        Draws the background rows.

    Returns
    -------
    SobolIndices
        Shares of first and second order and in total, with the names of the columns.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If the model cannot be explained, or a part of it is no product over columns.
    ValueError
        As by :func:`shapley_values`.

    Notes
    -----
    Sums over the centers, without any sampling but that of the background rows: O(n^2 b d + n b^2
    d^2) time for n centers, b background rows and d columns, and O(n b d) memory.

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
    d, single = len(players), parts.n_outputs == 1
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
    return SobolIndices(
        first[:, 0] if single else first,
        pairs[..., 0] if single else pairs,
        total[:, 0] if single else total,
        float(variance[0]) if single else variance,
        players.names,
        list(expansion.outputs),
        expansion.scale,
    )

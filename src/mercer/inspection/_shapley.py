"""Shapley values of the predictions of fitted models."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from mercer._data.types import Array, RandomState, Table
from mercer._data.validation import check_number
from mercer._gram.expansion import Views
from mercer.inspection._contributions import ShapleyValues
from mercer.inspection._explained_model import ExplainedModel, Groups
from mercer.inspection._explanations.parts import Parts, without_output_axis
from mercer.inspection._explanations.product_values import product_values, subset_values
from mercer.inspection._explanations.projected_values import projected_values
from mercer.inspection._explanations.sampled_values import (
    FEW_ROWS,
    Game,
    permutation_values,
    values_of_few_rows,
)

_MOST_ENUMERATED = 16
"""Maximum number of columns whose subsets are enumerated. Each further column doubles the number of
subsets: 16 columns and 100 background rows need 6.5 million evaluations, which take minutes."""

_PRECISION = 0.02
"""Standard error, relative to the largest contribution of a row, for which background rows are
drawn. Contributions to the same row depend more on the choice of the background rows: for 100 drawn
rows, by about a tenth of the standard deviation of a contribution over background rows."""


def shapley_values(
    model: BaseEstimator,
    X: Table,
    background: Table | int | None = None,
    groups: Groups = None,
    *,
    n_permutations: int | Literal["auto", "all"] = "auto",
    random_state: RandomState = 0,
) -> ShapleyValues:
    r"""Explain predictions by the contribution of each column.

    The contributions of the columns to a prediction and the base value, which is the mean
    prediction for background rows, sum to the prediction. Stacks shrink predictions far from all
    training rows, which `ShapleyValues.shrinkage` adds to the sum. The contributions are
    interventional Shapley values, and exact for most kernels (see Notes). The value of a set S of
    columns is the mean prediction for background rows that take the explained row's values in S.
    The Shapley value of a column is the change of this mean when the column is added to the set,
    averaged over all orders in which columns may be added.

    For regressors, the response is explained. For two classes, the log-odds are explained, and for
    more classes, the scores whose softmax gives the probabilities. For `BayesianMKLClassifier`, the
    mean of the latent function is explained, and for classifiers without probabilities, the
    decision value.

    Parameters
    ----------
    model : estimator, Pipeline or search
        A fitted predictor of mercer, a pipeline that ends in one and whose other steps process each
        column separately, such as `table_encoder`, or a search over either.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
        Rows to explain, in the form that the model takes. For a model of precomputed Gram matrices,
        these are the Gram matrices between the rows to explain and the training rows. The kernels
        are then explained instead of columns.
    background : array-like, sparse matrix, data frame or int, default=None
        At least two rows with the same columns, or a number of training rows to draw. None stands
        for 100. The values are exact for this background.
    groups : mapping of str to columns, or iterable of columns, default=None
        Columns that are treated as one, by name or position. All other columns are explained one by
        one. The columns that an encoder computes from one column of the table always stay together.
    n_permutations : int, "auto" or "all", default="auto"
        Number of pairs of opposite permutations for each background row, at least two. They explain
        parts of the model without a closed form. The default is one pair for each of 20 background
        rows that are drawn, or of more rows if a standard error would exceed two percent of the
        row's largest contribution; if all rows are too few, it is two pairs for each. The option
        "all" enumerates all subsets of columns, which is exact and takes 2^d evaluations per
        background row for d columns. All subsets are always enumerated if this takes at most as
        many evaluations as two pairs.
    random_state : int, RandomState instance or None, default=0
        Seed or generator that draws background rows and permutations.

    Returns
    -------
    ShapleyValues
        Values, base value and standard errors, with the rows and the names of the columns.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If the model is not a predictor of mercer, or if it has a step that computes features from
        several columns.
    ValueError
        If columns differ from the columns of the fit, or values are missing and the model does not
        accept missing values. If the background has only one row, or a column is in two groups. If
        no background is given for a model of Gram matrices, which does not store them.

    Notes
    -----
    Many kernels are sums of products over columns: Gaussian kernels, also with a width for each
    feature, product Laplacians, inner products, polynomials, and sums and products of these
    kernels. For these, the values are exact: with
    :math:`f(x) = \sum_i c_i \prod_l k_l(x_l, z_{il})`,

    .. math:: \phi_j = \operatorname{mean}_z \sum_i c_i \int_0^1 (k_j(x_j, z_{ij}) - k_j(z_j,
              z_{ij})) \prod_{l \ne j} [t\, k_l(x_l, z_{il}) + (1 - t) k_l(z_l, z_{il})]\, dt

    by a Gauss-Legendre rule that is exact for the polynomial in t. Each row takes O(n b d^2) time
    for n centers, b background rows and d columns. For
    up to about a dozen columns, the values of all 2^d sets are computed instead, in O(2^d n) time
    for each row and each background row. Those of Gaussian kernels on linear combinations of up to
    eleven columns are products of matrices. Other parts, such as the Laplacian of the Euclidean
    distance, votes of machines and leaves of trees, are explained by permutations [2]_, with
    standard errors. For a kernel on a single column, or on one group of columns, the values are
    exact whatever its form.

    References
    ----------
    .. [1] S. Lundberg, S.-I. Lee (2017). A unified approach to interpreting model predictions.
       NeurIPS. With the marginal distribution of the other columns, as in D. Janzing, L. Minorics,
       P. Bloebaum (2020). Feature relevance quantification in explainable AI. AISTATS.
    .. [2] J. Castro, D. Gomez, J. Tejada (2009). Polynomial calculation of the Shapley value based
       on sampling. Computers & Operations Research 36.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelStackingClassifier
    >>> from mercer.inspection import shapley_values
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = KernelStackingClassifier().fit(X[50:], y[50:])
    >>> found = shapley_values(model, X[70:72], groups={"petal": list(X.columns[2:])})
    >>> found.feature_names, found.scale
    (['petal', 'sepal length (cm)', 'sepal width (cm)'], 'log-odds')
    """
    if not isinstance(n_permutations, str):
        check_number("n_permutations", n_permutations, whole=True, low=2)
    elif n_permutations not in ("auto", "all"):
        raise ValueError(
            f'n_permutations must be a number, "auto" or "all"; got {n_permutations!r}.'
        )
    explained = ExplainedModel.of(model)
    players = explained.players(groups)
    rows = explained.views(X)
    others = explained.background(background, random_state)
    parts = explained.parts(players)
    if n_permutations == "all" and len(parts.sampled_players) > _MOST_ENUMERATED:
        raise ValueError(
            f'n_permutations="all" enumerates subsets of at most {_MOST_ENUMERATED} columns, and '
            f"{len(parts.sampled_players)} are in kernels that are not products over columns: pass "
            "a number, or group columns."
        )
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    values, rest = _exact_values(parts, rows, others)
    sampled, covariances = _sampled_values(
        rest, rows, others, values, n_permutations=n_permutations, rng=rng
    )
    values += sampled
    expansion = explained.expansion
    base = expansion.of_views(others).mean(axis=0)
    shrinkage = expansion.shrinkage(rows)
    return ShapleyValues(
        without_output_axis(values),
        float(base[0]) if len(base) == 1 else base,
        covariances,
        explained.cells(X, players),
        players.names,
        list(expansion.outputs),
        expansion.scale,
        without_output_axis(shrinkage),
    )


def _exact_values(parts: Parts, rows: Views, background: Views) -> tuple[Array, Parts]:
    """Return values of the parts of closed form, and the remaining parts.

    Returns
    -------
    values : ndarray of shape (n_rows, n_players, n_outputs)
    parts : Parts
    """
    n_rows = next(iter(rows.values())).shape[0]
    values = np.zeros((n_rows, parts.n_players, parts.n_outputs))
    for part in parts.exact:
        X, Z = rows[part.view], background[part.view]
        m = len(part.players)
        # All subsets of up to about a dozen players take less time than pairs of rows.
        is_small = 2**m * (len(X) + len(Z)) <= len(X) * len(Z) * m**2
        values[:, part.players] += (subset_values if is_small else product_values)(part, X, Z)
    others = []
    for other in parts.others:
        X, Z = rows[other.view], background[other.view]
        solved = projected_values(other, parts.player_of, X, Z)
        if solved is None:
            others.append(other)
        else:
            values[:, solved[0]] += solved[1]
    return values, replace(parts, others=others)


def _sampled_values(
    parts: Parts,
    rows: Views,
    background: Views,
    exact: Array,
    *,
    n_permutations: int | str,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Return values of the other parts, and covariances of the outputs of each value.

    Parameters
    ----------
    exact : ndarray of shape (n_rows, n_players, n_outputs)
        Values of the parts of closed form.
    """
    values, covariances = np.zeros_like(exact), np.zeros((*exact.shape, parts.n_outputs))
    sampled = parts.sampled_players
    if not sampled.size:
        return values, covariances
    at_rows, at_background = parts.of_others(rows), parts.of_others(background)
    number = 2 if n_permutations == "auto" else n_permutations
    m = len(sampled)
    # Few players have at most as many subsets as permutations visit.
    enumerates = number == "all" or 2**m <= 2 * int(number) * (m + 1)
    for r, total in enumerate(exact):
        row = {name: view[r] for name, view in rows.items()}
        game = Game(
            parts.of_others, row, background, parts.player_of, sampled, at_rows[r], at_background
        )
        if enumerates:
            values[r, sampled] = game.enumerated()
            continue
        if n_permutations == "auto" and len(at_background) > FEW_ROWS:
            found = values_of_few_rows(game, total[sampled], _PRECISION, rng)
        else:
            found = permutation_values(game, int(number), rng)
        values[r, sampled], covariances[r, sampled] = found
    return values, covariances

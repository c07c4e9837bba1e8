"""Backward elimination of features, each scored by the HSIC that remains without it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer._data.types import Array
from mercer._gram.distance_histograms import sum_results
from mercer._gram.samples import Samples
from mercer._gram.tiles import Tile, map_tiles
from mercer._search.targets import Target
from mercer.kernels import Gaussian, Kernel, Linear
from mercer.kernels._distances import inner, median_distance
from mercer.kernels._minkowski import slices
from mercer.kernels._radial import Radial, RadialFunction
from mercer.kernels._structure import Distance

_SERIES_LIMIT = 2.0
"""Up to this squared scaled value, the series of the exponential is accurate to all digits."""
_REMAINDER = float(np.finfo(float).eps * np.exp(-_SERIES_LIMIT))
"""The series ends before its first term that is at most this large, the rounding error of its
smallest sum."""

Scorer = Callable[[Array], tuple[float, Array]]
"""A function that takes the indices of the remaining features, and returns their HSIC and the HSIC
without each one of them."""


@dataclass(frozen=True)
class Elimination:
    """The order in which features were eliminated, with their scores.

    Attributes
    ----------
    ranking : ndarray of shape (n_features,)
        One for the remaining features, two for those that were eliminated last, and so on.
    scores : ndarray of shape (n_features,)
        HSIC of the features that remained minus HSIC without the feature, in the iteration that
        last scored it. Features that remain in the end are scored at the end.
    value : float
        HSIC of the remaining features.
    n_iter : int
        Number of iterations.
    """

    ranking: Array
    scores: Array
    value: float
    n_iter: int


def eliminate(score: Scorer, varying: Array, n_to_select: int, step: int | float) -> Elimination:
    """Eliminate in each iteration the features without which the most dependence remains.

    Parameters
    ----------
    score : callable
    varying : ndarray of shape (n_features,)
        Whether each feature varies. Constant features are eliminated first, in an iteration of
        their own.
    n_to_select : int
        Number of features that remain in the end.
    step : int or float
        Number of features to eliminate in each iteration. A number below one is a fraction of the
        remaining features.

    Returns
    -------
    Elimination

    References
    ----------
    Song, Smola, Gretton, Bedo, Borgwardt (2012), Feature selection via dependence maximization,
    algorithm 1.
    """
    scores = np.zeros(varying.size)
    eliminated_in = np.zeros(varying.size, dtype=int)
    remaining, n_iter = np.arange(varying.size), 0
    constant = np.flatnonzero(~varying)
    dropped = constant[max(0, n_to_select - int(varying.sum())) :]
    while remaining.size > n_to_select:
        if dropped.size == 0:
            value, without = score(remaining)
            scores[remaining] = value - without
            number = int(step) if step >= 1 else max(1, int(step * remaining.size))
            # Among tied features, the last one is eliminated first.
            order = np.lexsort((-remaining, -without))
            dropped = remaining[order[: min(number, remaining.size - n_to_select)]]
        n_iter += 1
        eliminated_in[dropped] = n_iter
        remaining, dropped = np.setdiff1d(remaining, dropped, assume_unique=True), dropped[:0]
    value, without = score(remaining)
    scores[remaining] = value - without
    eliminated_in[remaining] = n_iter + 1
    return Elimination(n_iter + 2 - eliminated_in, scores, value, n_iter)


def scorer(kernel: str | Kernel, features: Array, target: Target) -> Scorer:
    """Return the scorer of a kernel, for features and a target.

    Parameters
    ----------
    kernel : {"gaussian", "linear"} or kernel of a distance
    features : ndarray of shape (n_samples, n_features)
        Standardized features.
    target : Target
    """
    named = {"gaussian": Gaussian(), "linear": Linear()}
    structure = (kernel if isinstance(kernel, Kernel) else named[kernel]).structure
    if not isinstance(structure, RadialFunction):
        return linear_scorer(features, target)
    by_series = kernel == "gaussian"
    return radial_scorer(features, target, structure.function, structure.norm, by_series=by_series)


def linear_scorer(X: Array, target: Target) -> Scorer:
    """Return a scorer by the HSIC of the linear kernel, which is a sum over the features.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Centered features.
    target : Target
    """
    factor, scale = _plain_target(target)
    shares = scale * np.square(X.T @ factor).sum(axis=1)

    def score(remaining: Array) -> tuple[float, Array]:
        value = float(shares[remaining].sum())
        return value, value - shares[remaining]

    return score


def radial_scorer(
    X: Array, target: Target, radial: Radial, norm: float = 2.0, *, by_series: bool = False
) -> Scorer:
    r"""Return a scorer by the HSIC of a kernel of the distance relative to the median distance.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Centered features.
    target : Target
    radial : Radial
    norm : float, default=2.0
        The exponent p of the distance |x - x'|_p.
    by_series : bool, default=False
        Whether the kernel is exp(-|x - x'|^2), whose values without a feature are computed by a
        series.

    Notes
    -----
    The median distance s is computed from the remaining features. Scoring d features takes
    O(n^2 d / 2) evaluations of the kernel, in tiles, and memory for a few tiles per thread.

    With :math:`u = \sqrt{2} x / s` and :math:`W = K \circ L_c`, the HSIC of the Gaussian kernel
    without a feature is the sum of :math:`W_{ij} e^{(u_i - u_j)^2 / 2}`, and

    .. math:: e^{(u_i - u_j)^2 / 2} = e^{u_i^2 / 2} e^{u_j^2 / 2}
              \sum_m \frac{(-1)^m (u_i u_j)^m}{m!},

    so that each term takes one product of W with a column for each feature, O(n^2 d / 2). For
    features with :math:`u^2 \le 2`, the series is summed to the last digit. This takes about ten
    terms if there are some dozens of features. For other features, the kernel is evaluated.
    """
    rows = target.weights.repeated_rows()
    factor, scale = _plain_target(target)

    def score(remaining: Array) -> tuple[float, Array]:
        features = X[:, remaining] / median_distance(X[rows][:, remaining], norm)
        u = np.sqrt(2.0) * features
        largest = np.square(u).max(axis=0)
        in_series = (largest <= _SERIES_LIMIT) & by_series
        n_terms = _n_terms(float(largest.max(where=in_series, initial=0.0)))
        samples = Samples(features, keep=False)

        def work(tile: Tile) -> Array:
            products = factor[tile.rows] @ factor[tile.columns].T
            products *= tile.count
            squared = samples.squared_distances(Distance(norm=norm), tile)
            # The offset matters only in the series, because the target is centered.
            weighted = radial.from_squared(squared) + (radial.offset if by_series else 0.0)
            weighted *= products
            sums = np.empty(len(remaining) + 1)
            sums[0] = weighted.sum()
            sums[1:][in_series] = _series_sums(u[:, in_series], weighted, tile, n_terms)
            others = features[:, ~in_series]
            sums[1:][~in_series] = _leave_one_out(
                others, squared, products, tile, radial=radial, norm=norm
            )
            return sums

        total = scale * sum_results(map_tiles(work, samples.plan))
        return float(total[0]), total[1:]

    return score


def _plain_target(target: Target) -> tuple[Array, float]:
    """Return a factor Y and a scale s such that HSIC = s <K, Y Y'> for unweighted kernels K."""
    weights = target.weights
    return weights.scaled(target.centered), 1.0 / max(weights.total - 1.0, 1.0) ** 2


def _leave_one_out(
    features: Array, squared: Array, target: Array, tile: Tile, *, radial: Radial, norm: float
) -> list[float]:
    """Return the inner products on a tile of the target with the kernel without each feature."""
    sums = []
    powers = squared ** (0.5 * norm)
    for feature in features.T:
        rest = np.subtract.outer(feature[tile.rows], feature[tile.columns])
        np.abs(rest, out=rest)
        rest **= norm
        np.subtract(powers, rest, out=rest)
        np.maximum(rest, 0.0, out=rest)
        rest **= 2.0 / norm
        sums.append(inner(radial.from_squared(rest), target))
    return sums


def _series_sums(features: Array, weighted: Array, tile: Tile, n_terms: int) -> Array:
    """Return the sums of W_ij exp((u_i - u_j)^2 / 2) on a tile, for each feature u.

    The powers of at most 256 features are in memory at a time.
    """
    sums = np.zeros(features.shape[1])
    for block in slices(sums.size, 256):
        u, v = features[tile.rows, block], features[tile.columns, block]
        left, right = np.exp(0.5 * u * u), np.exp(0.5 * v * v)
        for m in range(n_terms):
            sums[block] += np.einsum("iz,iz->z", left, weighted @ right)
            left *= u
            right *= v / -(m + 1.0)
    return sums


def _n_terms(largest: float) -> int:
    """Count the terms of the series of exp(-t) that matter for |t| <= `largest`."""
    term, n_terms = 1.0, 0
    while term > _REMAINDER:
        n_terms += 1
        term *= largest / n_terms
    return n_terms

"""Scorers of backward elimination: HSIC of a kernel of some features, and without each of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer._feature_selection.elimination import Scorer
from mercer._gram.distance_histograms import sum_results
from mercer._gram.sample_weights import repeated_rows
from mercer._gram.samples import Samples
from mercer._gram.tiles import Tile, map_tiles
from mercer._targets import Target
from mercer._typing import Array
from mercer.kernels._distances import inner, median_distance
from mercer.kernels._structure import Distance, DistanceFunction

_BLOCK_FEATURES = 256
"""The powers of at most this many features are in memory together, for one tile."""
_SERIES_LIMIT = 2.0
"""The series of the exponential keeps all digits up to this squared scaled value."""
_REMAINDER = 1e-17
"""The series ends before the first term that is smaller than this."""

TileSums = Callable[[Array, Array, Tile], Array]
"""A function of squared distances, target kernel and tile that returns sums over the tile."""


def linear_scorer(X: Array, target: Target) -> Scorer:
    """Score features by HSIC of their linear kernel, a sum over the features.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Centered.
    target : Target
    """
    factor, scale = _plain_target(target)
    shares = scale * np.square(X.T @ factor).sum(axis=1)

    def score(remaining: Array) -> tuple[float, Array]:
        value = float(shares[remaining].sum())
        return value, value - shares[remaining]

    return score


def radial_scorer(X: Array, target: Target, radial: DistanceFunction, norm: float = 2.0) -> Scorer:
    """Score features by HSIC of a kernel of the distance, divided by the median distance.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Centered.
    target : Target
    radial : DistanceFunction
    norm : float, default=2.0
        p of the distance |x - x'|_p.

    Notes
    -----
    The median is that of the distances in the remaining features. Scoring d features takes
    O(n^2 d / 2) values of the kernel, in tiles; memory is a few tiles per thread.
    """
    rows = _representative(target)

    def score(remaining: Array) -> tuple[float, Array]:
        features = X[:, remaining] / median_distance(X[rows][:, remaining], norm)

        def on_tile(squared: Array, products: Array, tile: Tile) -> Array:
            whole = inner(radial.from_squared(squared), products)
            without = _leave_one_out(
                features, squared, products, tile, radial.from_squared, norm=norm
            )
            return np.array([whole, *without])

        return _summed(features, target, on_tile, norm)

    return score


def gaussian_scorer(X: Array, target: Target) -> Scorer:
    r"""Score features by HSIC of a Gaussian kernel whose bandwidth s is the median distance.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Centered.
    target : Target

    Notes
    -----
    The median is that of the distances in the remaining features. With
    :math:`u = \sqrt{2} x / s` and :math:`W = K \circ L_c`, HSIC without a feature is the sum of
    :math:`W_{ij} e^{(u_i - u_j)^2 / 2}`, and

    .. math:: e^{(u_i - u_j)^2 / 2} = e^{u_i^2 / 2} e^{u_j^2 / 2}
              \sum_m \frac{(-1)^m (u_i u_j)^m}{m!},

    so that each term costs one product of W with a column for each feature, O(n^2 d / 2). The
    series is summed to the last digit for features with :math:`u^2 \le 2`, which takes about ten
    terms for some dozens of features; for other features, the kernel is evaluated. Memory is a few
    tiles per thread.
    """
    rows = _representative(target)

    def score(remaining: Array) -> tuple[float, Array]:
        features = X[:, remaining] * (np.sqrt(2.0) / median_distance(X[rows][:, remaining]))
        largest = np.square(features).max(axis=0)
        by_series = largest <= _SERIES_LIMIT
        n_terms = _n_terms(float(largest.max(where=by_series, initial=0.0)))

        def on_tile(squared: Array, products: Array, tile: Tile) -> Array:
            weighted = _gaussian(squared)
            weighted *= products
            sums = np.empty(features.shape[1] + 1)
            sums[0] = weighted.sum()
            sums[1:][by_series] = _series_sums(features[:, by_series], weighted, tile, n_terms)
            others = features[:, ~by_series]
            sums[1:][~by_series] = _leave_one_out(others, squared, products, tile, _gaussian)
            return sums

        return _summed(features, target, on_tile)

    return score


def _summed(
    features: Array, target: Target, on_tile: TileSums, norm: float = 2.0
) -> tuple[float, Array]:
    """Return HSIC and HSIC without each feature, from sums over tiles."""
    samples = Samples(features, keep=False)
    factor, scale = _plain_target(target)

    def work(tile: Tile) -> Array:
        products = factor[tile.rows] @ factor[tile.columns].T
        products *= tile.count
        return on_tile(samples.squared_distances(Distance(norm=norm), tile), products, tile)

    total = scale * sum_results(map_tiles(work, samples.plan))
    return float(total[0]), total[1:]


def _plain_target(target: Target) -> tuple[Array, float]:
    """Return a factor Y, and s with HSIC = s <K, Y Y'> for kernels as they are, without weights."""
    factor = target.centered
    if target.weights.given is None:
        return factor, 1.0 / (len(factor) - 1) ** 2
    roots = np.sqrt(target.weights.given)[:, None]
    return roots * factor, 1.0 / max(float(target.weights.given.sum()) - 1.0, 1.0) ** 2


def _representative(target: Target) -> Array:
    """Return the indices of the rows that the median distance is read off."""
    if target.weights.given is None:
        return np.arange(len(target.factor))
    return repeated_rows(target.weights.given)


def _gaussian(squared: Array) -> Array:
    """Evaluate the Gaussian kernel of scaled squared distances."""
    values = -0.5 * squared
    return np.exp(values, out=values)


def _leave_one_out(
    features: Array,
    squared: Array,
    target: Array,
    tile: Tile,
    kernel: Callable[[Array], Array],
    *,
    norm: float = 2.0,
) -> list[float]:
    """Return inner products of the target with the kernel without each feature, on a tile."""
    sums = []
    powers = squared ** (0.5 * norm)
    for feature in features.T:
        rest = np.subtract.outer(feature[tile.rows], feature[tile.columns])
        np.abs(rest, out=rest)
        rest **= norm
        np.subtract(powers, rest, out=rest)
        np.maximum(rest, 0.0, out=rest)
        rest **= 2.0 / norm
        sums.append(inner(kernel(rest), target))
    return sums


def _series_sums(features: Array, weighted: Array, tile: Tile, n_terms: int) -> Array:
    """Return the sums of W_ij exp((u_i - u_j)^2 / 2) on a tile, for each feature u."""
    sums = np.zeros(features.shape[1])
    for start in range(0, sums.size, _BLOCK_FEATURES):
        block = slice(start, start + _BLOCK_FEATURES)
        u, v = features[tile.rows, block], features[tile.columns, block]
        left, right = np.exp(0.5 * u * u), np.exp(0.5 * v * v)
        for m in range(n_terms):
            sums[block] += np.einsum("iz,iz->z", left, weighted @ right)
            left *= u
            right *= v / -(m + 1.0)
    return sums


def _n_terms(largest: float) -> int:
    """Count the terms of exp(-t) that matter for |t| up to the largest."""
    term, n_terms = 1.0, 0
    while term > _REMAINDER:
        n_terms += 1
        term *= largest / n_terms
    return n_terms

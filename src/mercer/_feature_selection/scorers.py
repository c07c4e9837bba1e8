"""HSIC of a kernel of many features, and what it is without each of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer._feature_selection.elimination import Judge
from mercer._gram.distance_histograms import sum_results
from mercer._gram.tiles import Samples, Tile, map_tiles
from mercer._typing import Array
from mercer.kernels._distances import inner, median_distance
from mercer.kernels._structure import DistanceFunction

_FEATURES = 256
"""Features whose powers are in memory together, for one tile."""
_NEAR = 2.0
"""Largest squared scaled value for which the series of the exponential keeps all digits."""
_REMAINDER = 1e-17
"""Size of the first term of that series which is left out."""

TileSums = Callable[[Array, Array, Tile], Array]


def linear_judge(X: Array, Y: Array) -> Judge:
    """HSIC of the inner product of features: each has its own share.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Centered.
    Y : ndarray of shape (n_samples, n_targets)
        Centered target factor.
    """
    shares = np.square(X.T @ Y).sum(axis=1) / (len(X) - 1) ** 2

    def judge(left: Array) -> tuple[float, Array]:
        value = float(shares[left].sum())
        return value, value - shares[left]

    return judge


def radial_judge(X: Array, Y: Array, radial: DistanceFunction) -> Judge:
    """HSIC of a kernel of the distance, divided by the median distance of the features left.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Centered.
    Y : ndarray of shape (n_samples, n_targets)
        Centered target factor.
    radial : DistanceFunction

    Notes
    -----
    O(n^2 d / 2) values of the kernel for d features, in tiles; memory is a few tiles a thread.
    """

    def judge(left: Array) -> tuple[float, Array]:
        features = X[:, left] / median_distance(X[:, left])

        def on_tile(squared: Array, target: Array, tile: Tile) -> Array:
            whole = inner(radial.from_squared(squared), target)
            without = _each_left_out(features, squared, target, tile, radial.from_squared)
            return np.array([whole, *without])

        return _summed(features, Y, on_tile)

    return judge


def gaussian_judge(X: Array, Y: Array) -> Judge:
    r"""HSIC of a Gaussian kernel whose width s is the median distance of the features left.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Centered.
    Y : ndarray of shape (n_samples, n_targets)
        Centered target factor.

    Notes
    -----
    With :math:`u = \sqrt{2} x / s` and :math:`W = K \circ L_c`, HSIC without a feature is the sum
    of :math:`W_{ij} e^{(u_i - u_j)^2 / 2}`, and

    .. math:: e^{(u_i - u_j)^2 / 2} = e^{u_i^2 / 2} e^{u_j^2 / 2}
              \sum_m \frac{(-1)^m (u_i u_j)^m}{m!},

    so that each term costs one product of W with a column for each feature. The series is summed to
    the last digit for features of :math:`u^2 \le 2`, which takes about ten terms where there are
    some dozens of features; for others, the kernel is evaluated. O(n^2 d / 2) a term; memory is a
    few tiles a thread.
    """

    def judge(left: Array) -> tuple[float, Array]:
        features = X[:, left] * (np.sqrt(2.0) / median_distance(X[:, left]))
        reach = np.square(features).max(axis=0)
        near = reach <= _NEAR
        terms = _n_terms(float(reach.max(where=near, initial=0.0)))

        def on_tile(squared: Array, target: Array, tile: Tile) -> Array:
            weighted = _gaussian(squared)
            weighted *= target
            sums = np.empty(features.shape[1] + 1)
            sums[0] = weighted.sum()
            sums[1:][near] = _by_series(features[:, near], weighted, tile, terms)
            sums[1:][~near] = _each_left_out(features[:, ~near], squared, target, tile, _gaussian)
            return sums

        return _summed(features, Y, on_tile)

    return judge


def _summed(features: Array, Y: Array, on_tile: TileSums) -> tuple[float, Array]:
    """HSIC and what it is without each feature, from sums over tiles of distances and target."""
    samples = Samples(features, keep=False)

    def work(tile: Tile) -> Array:
        target = Y[tile.rows] @ Y[tile.columns].T
        target *= tile.count
        return on_tile(samples.squared_distances(None, tile), target, tile)

    total = sum_results(map_tiles(work, samples.plan)) / (len(features) - 1) ** 2
    return float(total[0]), total[1:]


def _gaussian(squared: Array) -> Array:
    values = -0.5 * squared
    return np.exp(values, out=values)


def _each_left_out(
    features: Array, squared: Array, target: Array, tile: Tile, kernel: Callable[[Array], Array]
) -> list[float]:
    """Inner products of the target and the kernel without each feature, on a tile."""
    sums = []
    for feature in features.T:
        rest = np.subtract.outer(feature[tile.rows], feature[tile.columns])
        np.square(rest, out=rest)
        np.subtract(squared, rest, out=rest)
        np.maximum(rest, 0.0, out=rest)
        sums.append(inner(kernel(rest), target))
    return sums


def _by_series(features: Array, weighted: Array, tile: Tile, terms: int) -> Array:
    """Sums of W_ij exp((u_i - u_j)^2 / 2) on a tile, for each feature u."""
    sums = np.zeros(features.shape[1])
    for start in range(0, sums.size, _FEATURES):
        part = slice(start, start + _FEATURES)
        u, v = features[tile.rows, part], features[tile.columns, part]
        left, right = np.exp(0.5 * u * u), np.exp(0.5 * v * v)
        for m in range(terms):
            sums[part] += np.einsum("iz,iz->z", left, weighted @ right)
            left *= u
            right *= v / -(m + 1.0)
    return sums


def _n_terms(reach: float) -> int:
    """Terms of exp(-t), |t| <= reach, before one that does not matter."""
    term, terms = 1.0, 0
    while term > _REMAINDER:
        terms += 1
        term *= reach / terms
    return terms

"""Feature metrics learned from the average gradient outer product of a predictor."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._data.folds import N_FOLDS
from mercer._data.resampling import Resampling, as_resampling
from mercer._data.types import Array, Features, RandomState
from mercer._gram.dense import UnitScale, unit_gram, unit_rows
from mercer._gram.samples import spread_rows
from mercer._gram.tiles import CACHED_VALUES, map_tiles, serial_algebra
from mercer._model_selection.held_out import (
    WIDTH_MULTIPLES,
    best_in_order,
    clearly_best,
    held_out_splits,
)
from mercer._search.targets import Target
from mercer._solvers.ridge import Ridge, fit_ridge
from mercer.kernels import OnProjection
from mercer.kernels._distances import centered_distances, median_distance
from mercer.kernels._kernel import Kernel
from mercer.kernels._radial import RadialFunction

MAX_SAMPLES = 1000
"""Metrics are learned from at most this many samples."""

_GRADIENT_SAMPLES = 400
"""Gradients are averaged over at most this many samples, and the width is chosen by leave-one-out
errors on at most half as many."""

_LEAST_SCALE = 1e-4
"""Smallest scale of a feature relative to the largest scale. Kernels ignore features below it."""


@dataclass(frozen=True)
class FeatureMetric:
    """A linear map of the features, and a kernel of the mapped features.

    Attributes
    ----------
    map : ndarray of shape (n_features,) or (n_features, n_components)
        One scale for each feature, or a matrix by which the features are multiplied on the right.
    kernel : Kernel
        Kernel with one width.
    multiple : float
        The width in units of the median distance.
    alpha : float
        Penalty of ridge regression on the kernel at unit scale.
    """

    map: Array
    kernel: Kernel
    multiple: float
    alpha: float

    def mapped(self, X: Array) -> Array:
        """Return the mapped features of samples, shape (n_samples, n_features)."""
        return mapped_features(X, self.map)


@dataclass(frozen=True)
class MetricChoice:
    """Metrics after each iteration, with their losses.

    Attributes
    ----------
    metrics : list of FeatureMetric
        The first metric leaves the features as they are.
    losses : ndarray of shape (n_metrics,)
        Mean squared errors on held-out samples; NaN if there are too few samples, or only one
        metric.
    best : int
        Index of the metric with the lowest loss, or 0 if this loss is not lower than the loss of
        the first metric by more than one standard error.
    """

    metrics: list[FeatureMetric]
    losses: Array
    best: int


def mapped_features(X: Array, mapping: Array) -> Array:
    """Return features multiplied by one scale each, or by a matrix on the right.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    mapping : ndarray of shape (n_features,) or (n_features, n_features)
    """
    return X * mapping if mapping.ndim == 1 else X @ mapping


def kernel_on_features(metric: FeatureMetric) -> Kernel:
    """Return the kernel of mapped features as a kernel of the original features."""
    if metric.map.ndim == 2:
        return OnProjection(metric.kernel, metric.map)
    if np.all(metric.map == 1.0):
        return metric.kernel
    log_width, *others = metric.kernel.theta
    return metric.kernel.with_theta(np.append(log_width - np.log(metric.map), others))


@serial_algebra()
def choose_metric(
    kernel: Kernel,
    X: Features,
    target: Target,
    *,
    n_iter: int,
    diagonal: bool,
    random_state: RandomState,
) -> MetricChoice:
    """Compute the metric after each iteration, and choose the best metric on held-out samples.

    Parameters
    ----------
    kernel : Kernel
        A function of one distance on all features, with one width, which is replaced.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    target : Target
    n_iter : int
    diagonal : bool
        Whether a metric is one scale for each feature, rather than a matrix.
    random_state : int, RandomState instance or None
        Draws the folds.

    Returns
    -------
    MetricChoice

    Notes
    -----
    Each iteration fits kernel ridge regression on the mapped features at the penalty with the
    lowest leave-one-out error. The width relative to the median distance is chosen likewise, but
    only in the first fit. The features are then mapped by the square root of the average gradient
    outer product G of the predictions: feature j by sqrt(G_jj / max_i G_ii), or all features by the
    matrix G^(1/2) at unit norm. Folds use the penalties and relative widths chosen on all samples.
    At most 1,000 samples are used, evenly spaced in the order of the target.

    References
    ----------
    Radhakrishnan, Beaglehole, Pandit, Belkin (2024), Science 383.
    """
    rows = spread_rows(X, target.centered, MAX_SAMPLES)
    X, target = X[rows], target.take(rows)
    X = X.toarray() if sp.issparse(X) else X
    Y = target.centered
    settings: dict[str, Any] = {"n_iter": n_iter, "diagonal": diagonal}
    resampling = target.resampling
    metrics = [fit.metric for fit in _iterates(kernel, X, Y, resampling, **settings)]
    if n_iter == 0 or len(X) < 2 * N_FOLDS:  # Each fold needs two samples.
        return MetricChoice(metrics, np.full(n_iter + 1, np.nan), 0)
    losses = np.empty((n_iter + 1, len(X)))
    for train, test in held_out_splits(target, len(X), random_state):
        inside = resampling.take(train)
        for step, fit in enumerate(
            _iterates(kernel, X[train], Y[train], inside, like=metrics, **settings)
        ):
            residuals = Y[test] - fit.predict(X[test])
            losses[step, test] = np.square(residuals).sum(axis=1)
    return MetricChoice(metrics, losses.mean(axis=1), clearly_best(losses))


@serial_algebra()
def metric_after(
    kernel: Kernel, X: Features, Y: Array, *, n_iter: int, resampling: Resampling | None = None
) -> FeatureMetric:
    """Compute the matrix metric after a fixed number of iterations; see `choose_metric`.

    Parameters
    ----------
    kernel : Kernel
        A function of the Euclidean distance.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    Y : ndarray of shape (n_samples, n_targets)
        Centered targets.
    n_iter : int
    resampling : Resampling, default=None
        Which samples are left out together; by default each is left out alone.

    Notes
    -----
    The matrix takes O(min(n, d)^3) time for n samples and d features. If there are more features
    than samples, it has one column for each sample, and the kernel depends on new samples through
    their projections onto the span of the training samples.
    """
    rows = spread_rows(X, Y, MAX_SAMPLES)
    X = X[rows].toarray() if sp.issparse(X) else X[rows]
    resampling, basis = as_resampling(resampling, len(Y)).take(rows), None
    if X.shape[1] > len(X):
        # The distances between the rows and all gradients depend only on the span of the rows.
        basis = np.linalg.svd(X, full_matrices=False)[2].T
        X = X @ basis
    *_, last = _iterates(kernel, X, Y[rows], resampling, n_iter=n_iter, diagonal=False)
    metric = last.metric
    return metric if basis is None else replace(metric, map=basis @ metric.map)


@dataclass(frozen=True)
class _MetricFit:
    """Kernel ridge regression on mapped features.

    Attributes
    ----------
    metric : FeatureMetric
    mapped : ndarray of shape (n_samples, n_features)
        The mapped features of the training samples.
    targets : ndarray of shape (n_samples, n_targets)
    """

    metric: FeatureMetric
    mapped: Array
    targets: Array

    @cached_property
    def _solved(self) -> tuple[UnitScale, Ridge]:
        """The centering and scale of the kernel, and the regression, which may not be needed."""
        gram, unit = unit_gram(self.metric.kernel, self.mapped)
        return unit, fit_ridge(gram, self.targets, self.metric.alpha)

    def predict(self, X: Array) -> Array:
        """Return predictions for new samples, shape (n_samples, n_outputs)."""
        unit, ridge = self._solved
        return ridge.predict(
            unit_rows(self.metric.kernel, unit, self.metric.mapped(X), self.mapped)
        )

    def next_map(self) -> Array:
        """Return the square root of the average gradient outer product, at unit norm."""
        before, (unit, ridge) = self.metric.map, self._solved
        rows = spread_rows(self.mapped, self.targets, _GRADIENT_SAMPLES)
        coefficients = ridge.dual_coef_ / unit.scale
        G = gradient_outer_product(
            self.metric.kernel, self.mapped, coefficients, rows=rows, diagonal=before.ndim == 1
        )
        largest = float(np.abs(G).max())
        if not largest > 0.0:
            return before
        if before.ndim == 1:
            return self._scales(before * np.sqrt(G / largest))
        values, vectors = np.linalg.eigh(before @ (G / largest) @ before.T)
        roots = np.sqrt(np.maximum(values, 0.0))
        return np.asarray((vectors * np.maximum(roots / roots[-1], _LEAST_SCALE)) @ vectors.T)

    def _scales(self, scales: Array) -> Array:
        """Return the scales of features, bounded below for each feature and by one above."""
        deviations = self.mapped.std(axis=0) / self.metric.map
        most = float((scales * deviations).max())
        least = np.divide(most, deviations, out=np.zeros_like(scales), where=deviations > 0.0)
        scales = np.maximum(scales, _LEAST_SCALE * np.where(least > 0.0, least, scales.max()))
        return np.asarray(scales / scales.max())


def _iterates(
    kernel: Kernel,
    X: Array,
    Y: Array,
    resampling: Resampling,
    *,
    n_iter: int,
    diagonal: bool,
    like: Sequence[FeatureMetric] | None = None,
) -> Iterator[_MetricFit]:
    """Yield the fit of each iteration, with the widths and penalties of `like` if given."""
    n_features = X.shape[1]
    mapping = np.ones(n_features) if diagonal else np.eye(n_features)
    for step in range(n_iter + 1):
        Z = mapped_features(X, mapping)
        if like is not None:
            multiple, alpha = like[step].multiple, like[step].alpha
        else:
            tried = WIDTH_MULTIPLES if step == 0 else (multiple,)
            multiple, alpha = _best_multiple(kernel, Z, Y, tried, resampling)
        metric = FeatureMetric(mapping, _at_multiples(kernel, Z, [multiple])[0], multiple, alpha)
        fit = _MetricFit(metric, Z, Y)
        yield fit
        if step < n_iter:
            mapping = fit.next_map()


def _at_multiples(kernel: Kernel, Z: Array, multiples: Sequence[float]) -> list[Kernel]:
    """Return the kernels whose widths are the given multiples of the median distance."""
    assert isinstance(kernel.structure, RadialFunction)
    log_widths = np.log(median_distance(Z, kernel.structure.norm) * np.array(multiples))
    return [kernel.with_theta(np.append(width, kernel.theta[1:])) for width in log_widths]


def _best_multiple(
    kernel: Kernel, Z: Array, Y: Array, multiples: Sequence[float], resampling: Resampling
) -> tuple[float, float]:
    """Return the multiple of the median distance and the penalty with the lowest error."""
    rows = spread_rows(Z, Y, _GRADIENT_SAMPLES // 2)
    if len(rows) < 2:
        return 1.0, 1.0
    kernels = _at_multiples(kernel, Z, multiples)
    best, found = best_in_order(kernels, Z[rows], Y[rows], len(kernels) // 2, resampling.take(rows))
    return multiples[best], found.alpha


def gradient_outer_product(
    kernel: Kernel, X: Array, dual: Array, *, rows: Array | None = None, diagonal: bool = True
) -> Array:
    """Compute the average gradient outer product of f_c(x) = sum_b dual_bc k(x_b, x).

    The products are summed over the outputs c.

    Parameters
    ----------
    kernel : Kernel
        A function of one distance on all features, whose norm is between one and two.
    X : ndarray of shape (n_samples, n_features)
    dual : ndarray of shape (n_samples, n_outputs)
    rows : ndarray of int, default=None
        Indices of the samples over which gradients are averaged; all samples if None.
    diagonal : bool, default=True
        Whether to compute only the diagonal: the mean square of each partial derivative.

    Returns
    -------
    ndarray of shape (n_features,), or (n_features, n_features)

    Notes
    -----
    With k = phi(r^2), r = |x - x_b|_p,

        dk / dx_j = 2 phi'(r^2) r^(2 - p) |x_j - x_bj|^(p - 1) sign(x_j - x_bj).

    Terms of equal samples are omitted, since rough kernels have no derivative there. The sums are
    matrix products for p = 2, and take one pass over the samples per feature for p < 2. Both take
    O(n^2 d) time, and neither needs an n x n x d array.

    References
    ----------
    Radhakrishnan, Beaglehole, Pandit, Belkin (2024), Mechanism for feature learning in neural
    networks and backpropagation-free machine learning models, Science 383.
    """
    structure = kernel.structure
    assert isinstance(structure, RadialFunction)
    norm, log_width = structure.norm, float(kernel.theta[0])
    rows = np.arange(len(X)) if rows is None else rows
    centered = X - X.mean(axis=0)
    n_rows = max(CACHED_VALUES // len(X), 1)

    def block(start: int) -> Array:
        here = centered[rows[start : start + n_rows]]
        squared = centered_distances(here, centered, None, norm)
        _, slopes = structure.function.slope_at_theta(squared, log_width)
        # Squared distances below a small fraction of the largest one count as zero.
        apart = squared > 1e-12 * squared.max()
        weights = np.divide(slopes, squared, out=np.zeros_like(slopes), where=apart)
        weights *= 2.0 * np.exp(-2.0 * log_width)
        if norm == 2.0:
            # The sums over b of weights_ab dual_bc (x_aj - x_bj).
            products = (centered[:, :, None] * dual[:, None, :]).reshape(len(X), -1)
            sums = (weights @ products).reshape(len(here), X.shape[1], -1)
            gradients = here[:, :, None] * (weights @ dual)[:, None, :] - sums
        else:
            weights *= squared ** (1.0 - 0.5 * norm)
            gradients = _gradients_by_feature(here, centered, weights, dual, norm)
        if diagonal:
            return np.asarray(np.square(gradients).sum(axis=(0, 2)))
        return np.asarray(np.einsum("ajc,akc->jk", gradients, gradients, optimize=True))

    total = sum(map_tiles(block, range(0, len(rows), n_rows)))
    return np.asarray(total) / len(rows)


def _gradients_by_feature(here: Array, X: Array, weights: Array, dual: Array, norm: float) -> Array:
    """Return sum_b weights_ab dual_bc |x_aj - x_bj|^(p-1) sign(x_aj - x_bj), shaped as above."""
    gradients = np.empty((*here.shape, dual.shape[1]))
    columns = np.ascontiguousarray(X.T)
    buffer = np.empty_like(weights)
    for j, column in enumerate(columns):
        np.subtract(here[:, j, None], column, out=buffer)
        if norm == 1.0:
            np.sign(buffer, out=buffer)
        else:
            np.copysign(np.abs(buffer) ** (norm - 1.0), buffer, out=buffer)
        buffer *= weights
        gradients[:, j] = buffer @ dual
    return gradients

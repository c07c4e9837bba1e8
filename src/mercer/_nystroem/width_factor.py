"""A factor of all widths of a kernel, chosen on more rows than the kernel was learned from."""

from __future__ import annotations

from functools import cache

import numpy as np

from mercer._blocks import GivenWeights, block_source
from mercer._data.folds import sample_rows
from mercer._model_selection.encoded_target import TargetEncoding
from mercer._nystroem.feature_ridge import ridge_on_features
from mercer._nystroem.features import choose_centers, nystroem_features
from mercer._nystroem.normal_equations import NormalEquations
from mercer._nystroem.training_rows import TrainingRows
from mercer._solvers.grids import descended
from mercer._typing import RandomState
from mercer.kernels import Kernel
from mercer.kernels._composition import Composite
from mercer.kernels._distances import log_interval


def with_width_factor(kernel: Kernel, log_factor: float) -> Kernel:
    """The kernel with all its widths multiplied by a factor.

    Parameters
    ----------
    kernel : Kernel
        Parts without a width, such as linear kernels, stay as they are. No width leaves bounds
        that are given as numbers.
    log_factor : float
        Logarithm of the factor.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> with_width_factor(Gaussian(2.0), float(np.log(3.0))).bandwidth
    6.0
    """
    if isinstance(kernel, Composite):
        parts = [with_width_factor(part, log_factor) for part in kernel._parts()]
        return kernel._with_parts(parts)
    theta, widths = np.array(kernel.theta, dtype=float), slice(kernel.structure.n_widths)
    interval = log_interval(getattr(kernel, "bounds", "data")) if theta[widths].size else None
    low, high = (-np.inf, np.inf) if interval is None else interval
    low, high = np.minimum(low, theta[widths]), np.maximum(high, theta[widths])
    theta[widths] = np.clip(theta[widths] + log_factor, low, high)
    return kernel.with_theta(theta)


def rescaled_kernel(
    kernel: Kernel,
    data: TrainingRows,
    encoding: TargetEncoding,
    random_state: RandomState,
    *,
    max_rows: int = 10_000,
    n_components: int = 500,
) -> Kernel:
    """The kernel with the width factor of least cross-validated error.

    Parameters
    ----------
    kernel : Kernel
        Bound to the table, learned from fewer rows.
    data : TrainingRows
    encoding : TargetEncoding
    random_state : int, RandomState instance or None
        Draws rows and centers.
    max_rows : int, default=10_000
        Factors are compared on at most this many of the samples.
    n_components : int, default=500
        Number of centers, with which a factor takes less than a second.

    Returns
    -------
    Kernel
        The same, if it has no width or one is the best factor.

    Notes
    -----
    The best kernel is narrower for more rows, while ratios of widths, which show how relevant
    features are, change less. Factors are powers of the square root of two between 1/8 and 8. They
    are tried from one on in the direction in which errors of ridge regression on Nyström features
    fall, in five folds (benchmarks/large_tables.py).
    """

    def widened(step: int) -> Kernel:
        return with_width_factor(kernel, step * float(np.log(2.0) / 2.0))

    if widened(0) == widened(1) == widened(-1):
        return kernel
    codes = None if encoding.classes is None else encoding.codes_of(data.y)
    rows = sample_rows(len(data.y), max_rows, codes, random_state)
    X, given = data.X[rows], GivenWeights(data.weights.take(rows).values)
    source = block_source(X, data.y[rows])
    centers = choose_centers(X, n_components, random_state)

    @cache
    def loss(step: int) -> float:
        features = nystroem_features(widened(step), centers)
        sums = source.reduce(NormalEquations(features, encoding, given))
        return float(ridge_on_features(sums, features, mean_weight=given.mean).losses.min())

    best = descended(loss, 0, (-6, 6))
    return kernel if best == 0 else widened(best)

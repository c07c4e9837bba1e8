"""The penalty of ridge regression on many samples, by steps downhill from that of few."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._gram.dense import to_unit_scale
from mercer._gram.sample_weights import weighted_mean
from mercer._model_selection.kernel_prices import descended, sample_rows
from mercer._model_selection.leave_one_out import LEAST_ALPHA, MOST_ALPHA, leave_one_out
from mercer._typing import Array
from mercer._weights.ridge import leave_one_out_residuals

_SAMPLE = 1000
"""The search starts at the best penalty of so many samples."""

_GAIN = 2e-3
"""The search ends where a step lowers the error by less than this fraction."""

_SEED = 0
"""Seed by which these samples are drawn."""


@dataclass(frozen=True)
class TriedPenalties:
    """Leave-one-out errors at some penalties.

    Attributes
    ----------
    alphas : ndarray of shape (n_tried,)
        Ascending.
    residuals : ndarray of shape (n_tried, n_samples, n_outputs)
        Of samples left out one at a time; infinite where rounding errors exceed the penalty.
    """

    alphas: Array
    residuals: Array


def penalties_downhill(
    gram: Array, targets: Array, alphas: Array, weights: Array | None = None
) -> TriedPenalties:
    """Try penalties downhill, from the best one of a sample, while the error falls.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Centered Gram matrix of unit scale.
    targets : ndarray of shape (n_samples, n_outputs)
    alphas : ndarray of shape (n_alphas,)
        Grid of penalties in equal ratios, ascending, which may be left at its ends, down to
        rounding errors and up to where all is shrunk to the mean.
    weights : ndarray of shape (n_samples,), default=None
        Weights of the samples, by which the Gram matrix is centered.

    Returns
    -------
    TriedPenalties
        At least two, where the grid has more than one.

    Raises
    ------
    ValueError
        If the Gram matrix of the sample has a negative eigenvalue.

    Notes
    -----
    Each penalty takes a Cholesky factorization and an inverse of the factor, about a tenth of the
    time of an eigendecomposition; three to seven are tried as a rule. Steps that lower the error by
    less than a fraction of 0.002 end the search. Memory is one more n x n matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> x = np.linspace(0.0, 3.0, 60)
    >>> noisy = np.sin(x) + 0.1 * np.cos(40.0 * x)
    >>> gram, _ = to_unit_scale(Gaussian(1.0)(x[:, None]))
    >>> found = penalties_downhill(gram, noisy[:, None], 10.0 ** np.arange(-4.0, 2.0))
    >>> len(found.alphas) < 6
    True
    """
    ratio = alphas[1] / alphas[0]
    rows = sample_rows(len(gram), _SAMPLE, None, _SEED)
    of_few = None if weights is None else weights[rows]
    some, _ = to_unit_scale(gram[np.ix_(rows, rows)], of_few)
    few = leave_one_out(some, targets[rows], alphas, weights=of_few)
    start = round(np.log(few.alpha / alphas[0]) / np.log(ratio))
    least = np.log(LEAST_ALPHA / alphas[0]) / np.log(ratio)
    most = np.log(MOST_ALPHA * len(gram) / alphas[0]) / np.log(ratio)
    tried: dict[float, Array] = {}

    def error(step: float) -> float:
        if step not in tried:
            tried[step] = _residuals(gram, targets, float(alphas[0] * ratio**step), weights)
        return float(weighted_mean(np.square(tried[step]).mean(axis=1), weights))

    descended(error, start, (int(np.ceil(least)), int(np.floor(most))), _GAIN)
    steps = sorted(tried)
    return TriedPenalties(
        np.array([alphas[0] * ratio**step for step in steps]), np.array([tried[s] for s in steps])
    )


def _residuals(gram: Array, targets: Array, alpha: float, weights: Array | None) -> Array:
    """Leave-one-out residuals; infinite where rounding errors exceed the penalty."""
    try:
        return leave_one_out_residuals(gram, targets, alpha, weights)
    except ValueError:
        return np.full_like(targets, np.inf)

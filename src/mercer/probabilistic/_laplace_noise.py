"""Quantiles of a Gaussian latent value with Laplace noise."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr, ndtr

from mercer._typing import Array

_BISECTIONS = 60
"""An interval of the half-width is halved so often, to a precision of 1e-18 of its length."""


def laplace_half_widths(latent: Array, noise: Array | float, coverage: float) -> Array:
    """Half-widths of the intervals about zero that hold the sum of a Gaussian and a Laplace value.

    Parameters
    ----------
    latent : ndarray of shape (n_samples, n_outputs)
        Variances of the Gaussian values.
    noise : float or ndarray of shape (n_outputs,)
        Variance of the Laplace value, positive.
    coverage : float
        Probability, between zero and one.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs)

    Notes
    -----
    With the standard deviation s and the scale b, and r = s / b, the sum is below h with a
    probability of Phi(h/s) - [e^(r^2/2 - h/b) Phi(h/s - r) - e^(r^2/2 + h/b) Phi(-h/s - r)] / 2.
    The half-width is found by bisection below Chebyshev's bound.

    Examples
    --------
    >>> import numpy as np
    >>> laplace_half_widths(np.array([[0.0], [1.0]]), 2.0, 0.95).round(2)
    array([[3.  ],
           [3.5]])
    """
    scale = np.sqrt(np.asarray(noise) / 2.0)
    # A deviation of 1e-8 of the noise changes no quantile, and leaves no division by zero.
    deviation = np.maximum(np.sqrt(latent), 1e-8 * scale)
    low = np.zeros_like(deviation)
    high = np.sqrt((deviation**2 + np.asarray(noise)) / (1.0 - coverage))
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        below = 2.0 * _distribution(middle, deviation, scale) - 1.0 < coverage
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(0.5 * (low + high))


def _distribution(value: Array, deviation: Array, scale: Array) -> Array:
    """Probability that the sum is at most a value that is not negative."""
    ratio, standard = deviation / scale, value / deviation
    rising = 0.5 * ratio**2 - value / scale + log_ndtr(standard - ratio)
    falling = 0.5 * ratio**2 + value / scale + log_ndtr(-standard - ratio)
    return np.asarray(ndtr(standard) - 0.5 * (np.exp(rising) - np.exp(falling)))

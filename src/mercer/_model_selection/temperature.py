"""Probabilities of classes from decision values, by one number that leaves their order as it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax

from mercer._gram.sample_weights import weighted_spread
from mercer._typing import Array

_RANGE = (-10.0, 10.0)
"""Logarithms of the factors that are tried, for decision values of unit variance."""

_PRECISION = 1e-12
"""Error of that logarithm: equal fits that differ by rounding errors have equal probabilities."""


@dataclass(frozen=True)
class Temperature:
    """A factor by which decision values become logarithms of probabilities, up to a constant.

    Attributes
    ----------
    factor : float
        Positive: one over the temperature.
    """

    factor: float

    def probabilities(self, values: Array) -> Array:
        """Probabilities of the classes, the softmax of the scaled decision values.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_classes)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.asarray(softmax(self.factor * values, axis=1))


def fit_temperature(values: Array, codes: Array, weights: Array | None = None) -> Temperature:
    """Fit probabilities to decision values of samples that had no part in them.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_classes)
        Decision values of held-out samples.
    codes : ndarray of int of shape (n_samples,)
        Their classes.
    weights : ndarray of shape (n_samples,), default=None
        Their weights, all one where None.

    Returns
    -------
    Temperature
        Of the lowest cross-entropy.

    Notes
    -----
    The class of the largest decision value has the highest probability, so that probabilities never
    contradict predictions, as those of a logistic regression with an intercept can. Labels are
    smoothed by Laplace's rule, (n y + 1) / (n + k) for n samples and k classes: probabilities of
    classes that are apart stay away from zero and one.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), On calibration of modern neural networks, section 4.2;
    Platt (1999), Probabilistic outputs for support vector machines, on smoothed labels.

    Examples
    --------
    >>> values = np.array([[1.0, -1.0], [0.5, -0.5], [-0.2, 0.2], [-1.0, 1.0]])
    >>> fit_temperature(values, np.array([0, 0, 1, 1])).probabilities(values)[:, 1].round(2)
    array([0.12, 0.27, 0.6 , 0.88])
    """
    weights = np.ones(len(values)) if weights is None else weights
    n, k = float(weights.sum()), values.shape[1]
    targets = (n * np.eye(k)[codes] + 1.0) / (n + k)
    deviation = weighted_spread(values, weights) if n else 0.0
    if deviation == 0.0:
        return Temperature(1.0)

    scaled = values / deviation

    def slope(logarithm: float) -> float:
        """Derivative of the cross-entropy in the factor, in which it is convex."""
        excess = softmax(np.exp(logarithm) * scaled, axis=1) - targets
        return float(weights @ np.sum(excess * scaled, axis=1))

    low, high = _RANGE
    if slope(low) >= 0.0 or slope(high) <= 0.0:
        logarithm = low if slope(low) >= 0.0 else high
    else:
        logarithm = brentq(slope, low, high, xtol=_PRECISION)
    return Temperature(float(np.exp(logarithm)) / deviation)

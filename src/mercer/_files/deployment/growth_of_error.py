"""How much the error grows if another function takes the place of a model's own."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit, kl_div, softmax
from sklearn.base import BaseEstimator, is_classifier
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import check_array

from mercer._data.types import Array, PerSample
from mercer._solvers.likelihoods import rates

_RESPONSES = ("response", "log response")
"""Scales of functions from which responses are predicted."""

PROBABILITIES = ("log-odds", "logit")
"""Scales of functions from which probabilities are predicted."""

_TINY = float(np.finfo(float).eps) ** 2
"""Probabilities and losses below this are rounding errors."""


def predicted(scale: str, values: Array) -> Array:
    """Return the predictions that follow from the values of a function.

    Parameters
    ----------
    scale : str
        Scale of the function; see :class:`mercer.inspection.KernelExpansion`.
    values : ndarray of shape (n_rows, n_outputs)

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
        Responses, expected counts, probabilities of classes, or indicators of the class.
        The probabilities of several labels follow their complements.
    """
    if scale == "log-odds":
        return np.hstack([expit(-values), expit(values)])
    if scale == "logit":
        return np.asarray(softmax(values, axis=1))
    if scale in ("decision value", "latent mean"):
        scores = np.hstack([-values, values]) if values.shape[1] == 1 else values
        return np.asarray(np.eye(scores.shape[1])[scores.argmax(axis=1)])
    return rates(values) if scale in ("log rate", "log response") else values


def relative_growth(
    model: BaseEstimator, mine: Array, theirs: Array, y: PerSample = None
) -> tuple[float, float]:
    """Return the relative growth of the error between two functions, and its standard error.

    Parameters
    ----------
    model : estimator
        The model of the first function.
    mine, theirs : ndarray of shape (n_rows, n_outputs)
        Values of the functions on rows.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs), default=None
        Responses or classes of the rows, if known; see :func:`compress`.

    Raises
    ------
    ValueError
        If `y` does not hold one response or one known class for each row.

    Notes
    -----
    If the first function is the conditional mean, the expected squared error grows by the squared
    difference between the two functions. If the probabilities of the first function are
    calibrated, the expected logarithmic loss grows by the Kullback-Leibler divergence.
    """
    scale = model.kernel_expansion().scale
    first, second = predicted(scale, mine), predicted(scale, theirs)
    truth = first if y is None else _targets(model, y, first.shape)
    unit = np.ptp(truth, axis=0)
    unit = np.where(unit > 0.0, unit, 1.0)
    before, after = (_losses(scale, truth, found, unit) for found in (first, second))
    power, level = (0.5 if scale in _RESPONSES else 1.0), 1.0
    if y is None and (known := _left_out_loss(model, scale, unit)) is not None:
        before, after = before + known, after + known
    elif y is None:
        before, level = _losses(scale, truth, truth.mean(axis=0), unit), 0.0
    mean = max(float(before.mean()), _TINY)
    ratio = max(float(after.mean()) / mean, _TINY)
    spread = np.std(after - ratio * before, ddof=1) / np.sqrt(len(after)) / mean
    return ratio**power - level, float(power * ratio ** (power - 1.0) * spread)


def _losses(scale: str, truth: Array, found: Array, unit: Array) -> Array:
    """Return squared errors or deviances of predictions, shape (n_rows,)."""
    if scale in (*PROBABILITIES, "log rate"):
        return np.asarray(kl_div(truth, np.maximum(found, _TINY)).sum(axis=1))
    return np.asarray(np.square((truth - found) / unit).mean(axis=1))


def _left_out_loss(model: BaseEstimator, scale: str, unit: Array) -> float | None:
    """Return the mean left-out loss of the training rows; None if the fit did not store it."""
    residuals = getattr(model, "_left_out_residuals", lambda: None)()
    if scale in _RESPONSES and residuals is not None:
        return float(np.square(residuals.reshape(len(residuals), -1) / unit).mean())
    held_out = getattr(model, "_held_out", None)
    if scale in PROBABILITIES and held_out is not None:
        own = held_out.probabilities[np.arange(len(held_out.codes)), held_out.codes]
        return -float(held_out.weights.mean(np.log(np.maximum(own, _TINY))))
    return None


def _targets(model: BaseEstimator, y: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return responses or indicators of classes in the form in which they are predicted."""
    given = np.asarray(y)
    if not is_classifier(model):
        found = check_array(given.reshape(len(given), -1), dtype=float, input_name="y")
    elif given.ndim == 2:
        found = np.hstack([1.0 - given, given])
    else:
        encoder = OneHotEncoder(categories=[model._fitted_classes], sparse_output=False)
        found = encoder.fit_transform(given.reshape(-1, 1))
    if found.shape != shape:
        raise ValueError(f"y of shape {given.shape} does not match predictions of {shape[0]} rows.")
    return np.asarray(found, dtype=float)

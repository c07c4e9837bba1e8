"""ONNX operators of probabilities that include the uncertainty of latent functions."""

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit

from mercer._data.types import Array
from mercer._files.deployment.onnx_functions import shifted_values
from mercer._files.deployment.onnx_tensors import Traced, joined, where
from mercer._gram.expansion import as_doubles
from mercer.probabilistic import BayesianMKLClassifier


def latent_probabilities(model: BayesianMKLClassifier, table: Traced) -> tuple[Traced, Traced]:
    """Return means of the latent functions, and probabilities of the classes.

    Parameters
    ----------
    model : BayesianMKLClassifier
        Fitted to one label per row of a table.
    table : Tensor

    Returns
    -------
    means : Tensor
        Shape (n_rows, n_problems).
    probabilities : Tensor
        Shape (n_rows, n_classes).
    """
    kernel: Any = model.kernel_
    across = shifted_values(kernel, table, as_doubles(model.X_fit_[model.rows_])) + kernel.offset
    means = across @ np.asarray(model.dual_coef_[model.rows_], dtype=float)
    own, found = kernel._shifted_diag(table) + kernel.offset, []
    own = own[:, None]
    for c, (factor, scale) in enumerate(zip(model.cholesky_, model.scale_, strict=True)):
        half = across @ solve_triangular(factor, np.diag(scale), lower=True).T
        variance = np.maximum(own - (half * half).reduced("ReduceSum"), 0.0)
        found.append(mean_of_sigmoid(means[:, c : c + 1], variance))
    if len(found) == 1:
        return means, joined([1.0 - found[0], found[0]])
    return means, joined(found) / joined(found).reduced("ReduceSum")


def mean_of_sigmoid(mean: Traced, variance: Traced) -> Traced:
    """Return the mean of the sigmoid under Gaussian distributions, to about twelve digits.

    Parameters
    ----------
    mean, variance : Tensor
        Shape (n_rows, 1).

    Returns
    -------
    Tensor
        Shape (n_rows, 1).

    Notes
    -----
    If the standard deviation d is at most one, the integral is over the Gaussian, by the
    trapezoidal rule. Otherwise, the sigmoid is the sum of the step function, whose mean is the
    normal distribution function at m / d, and of an odd function that decays as exp(-|t|), whose
    mean is an integral over t > 0 by Gauss's rule.
    """
    deviation = np.sqrt(variance)
    z = np.linspace(-9.0, 9.0, 145)
    normal = np.exp(-0.5 * z**2)[:, None]
    narrow = expit(mean + np.minimum(deviation, 1.0) * z) @ (normal / normal.sum())
    t, weights = _gauss(60, 38.0)
    rest = (weights / (1.0 + np.exp(t)) / np.sqrt(2.0 * np.pi))[:, None]
    at_least_one = np.maximum(deviation, 1.0)
    before, after = (u / at_least_one for u in (mean - t, mean + t))
    sides: Any = np.exp(-0.5 * before * before) - np.exp(-0.5 * after * after)
    wide = _normal_distribution(mean / at_least_one) - sides @ rest / at_least_one
    return where(deviation <= 1.0, narrow, wide)


def _normal_distribution(x: Traced) -> Traced:
    """Return the standard normal distribution function, which runtimes lack in doubles.

    It is 1 / 2 + x / sqrt(2 pi) times the integral of exp(-(x u)^2 / 2) over u from 0 to 1.
    """
    u, weights = _gauss(24, 1.0)
    x = x.clip(-9.0, 9.0)
    scaled = x * u
    found: Traced = x * (np.exp(-0.5 * scaled * scaled) @ (weights / np.sqrt(2.0 * np.pi))[:, None])
    return found + 0.5


def _gauss(n_points: int, end: float) -> tuple[Array, Array]:
    """Return points and weights of Gauss's rule from zero to an end."""
    points, weights = np.polynomial.legendre.leggauss(n_points)
    return 0.5 * end * (points + 1.0), 0.5 * end * weights

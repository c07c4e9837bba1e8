"""The four objectives side by side, with the bounds that connect them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._gram.dense import (
    definite_factor,
    inverted,
    log_determinant,
    scaled_system,
    with_diagonal,
)
from mercer._gram.kernel_products import BaseGrams, GramsWithIdentity
from mercer._typing import Array, Features
from mercer._validation import check_number, check_positive
from mercer.probabilistic._descent import Minimum, minimize
from mercer.probabilistic._latent_losses import Interpolation
from mercer.probabilistic._likelihoods import GaussianLikelihood, Likelihood
from mercer.probabilistic._objectives import (
    JointMAP,
    Objective,
    PenalizedRisk,
    VariationalBound,
)
from mercer.probabilistic._posterior import as_problem, check_labels, check_weights
from mercer.probabilistic._problem import Problem

_TOL = 1e-9
_MAX_ITER = 1000


@dataclass(frozen=True)
class ObjectiveValues:
    """Objectives for given weights of the kernels, minimized over all else, with K_e = K + e I.

    All are on the -2 log scale, and marginal <= variational <= map_bound, and map <= mkl_bound.

    Attributes
    ----------
    weights : ndarray of shape (n_kernels,)
    marginal : float
        "mlm", minus twice the logarithm of the marginal likelihood; NaN where the noise is not
        Gaussian, as it is not known then.
    variational : float
        "vb".
    map_bound : float
        "map" plus ln|K_e^-1 + Gamma^-1|, the widths Gamma taken at its mode: what "vb" improves on.
    map : float
        "map", which bounds nothing by itself.
    mkl_bound : float
        "map" with the tangent of ln|K_e| at other weights in place of ln|K_e|: "mkl" with a
        penalty for each kernel, plus a constant.
    mkl : float
        "mkl".
    log_determinant, tangent : float
        ln|K_e|, and its tangent at other weights, which is above it.
    """

    weights: Array
    marginal: float
    variational: float
    map_bound: float
    map: float
    mkl_bound: float
    mkl: float
    log_determinant: float
    tangent: float


def compare_objectives(
    X: Features,
    y: Any,
    kernels: Sequence[Any],
    weights: Any,
    *,
    likelihood: Likelihood,
    jitter: float = 0.1,
    penalty: float = 1.0,
    norm: float = 1.0,
    tangent_at: Any = None,
) -> list[ObjectiveValues]:
    """Evaluate the four objectives, and the bounds between them, for one or several weights.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels -1 and 1, or responses.
    kernels : sequence of Kernel, or of what stands for one
    weights : array-like of shape (n_kernels,) or (n_points, n_kernels)
        Coefficients of the kernels, at least zero.
    likelihood : GaussianLikelihood, LaplaceLikelihood or LogisticLikelihood
    jitter : float, default=0.1
        White noise e in the latent function, of all four objectives.
    penalty, norm : float, default=1.0
        "mkl" adds penalty sum weights^norm.
    tangent_at : array-like of shape (n_kernels,), default=None
        Weights at which ln|K_e| has the tangent of `mkl_bound`; the first ones where None.

    Returns
    -------
    list of ObjectiveValues
        One for each row of `weights`.

    Raises
    ------
    ValueError
        If a weight is negative or their number is not that of the kernels.

    Notes
    -----
    Each row costs O(n^3), and memory is a few n x n matrices and, where they fit into a quarter of
    the working memory, the Gram matrices of the kernels.

    References
    ----------
    H. Nickisch, M. Seeger (2011). Multiple kernel learning: a unifying probabilistic viewpoint.
    arXiv:1103.0897, section 2.4.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from experiments.objective_values import compare_objectives
    >>> from mercer.probabilistic import GaussianLikelihood
    >>> X = np.linspace(0.0, 3.0, 8)[:, None]
    >>> values = compare_objectives(
    ...     X, np.sin(X).ravel(), [Gaussian(1.0)], [2.0], likelihood=GaussianLikelihood(0.1)
    ... )
    >>> round(values[0].marginal, 2), round(values[0].map_bound, 2), round(values[0].map, 2)
    (14.98, 14.98, -5.6)
    """
    grams, Y, _ = as_problem(X, y, kernels)
    check_labels(Y, likelihood)
    check_positive("jitter", jitter)
    check_positive("penalty", penalty)
    check_number("norm", norm, low=1.0)
    path = np.atleast_2d(check_weights(weights, grams.n_kernels))
    origin = path[0] if tangent_at is None else check_weights(tangent_at, grams.n_kernels)
    factor = definite_factor(with_diagonal(grams.weighted_sum(origin), jitter))
    height, slopes = log_determinant(factor), grams.inner_products(inverted(factor))
    objectives = _Objectives(grams, Y, likelihood, jitter)
    return [
        objectives.at(
            theta,
            PenalizedRisk(likelihood, penalty, norm),
            tangent=height + float(slopes @ (theta - origin)),
        )
        for theta in path
    ]


class _Objectives:
    def __init__(self, grams: BaseGrams, Y: Array, likelihood: Likelihood, jitter: float) -> None:
        self.grams, self.Y, self.likelihood, self.jitter = grams, Y, likelihood, jitter
        self.noisy = GramsWithIdentity(grams, len(Y))

    def at(self, theta: Array, risk: PenalizedRisk, tangent: float) -> ObjectiveValues:
        likelihood, jitter = self.likelihood, self.jitter
        joint = self._minimum(JointMAP(likelihood, jitter), theta)
        factor = definite_factor(with_diagonal(joint.point.K, jitter))
        height, marginal = log_determinant(factor), np.nan
        if isinstance(likelihood, GaussianLikelihood):
            noise = JointMAP(Interpolation(), jitter + likelihood.noise)
            marginal = self._minimum(noise, theta).majorizer.value
        noisy = np.append(theta, jitter)
        variational = self._minimum(VariationalBound(likelihood), noisy, noisy=True)
        return ObjectiveValues(
            weights=theta,
            marginal=marginal,
            variational=variational.majorizer.value,
            map_bound=self._bound(joint),
            map=joint.majorizer.value,
            mkl_bound=joint.majorizer.value - height + tangent,
            mkl=self._minimum(risk, theta).majorizer.value,
            log_determinant=height,
            tangent=tangent,
        )

    def _minimum(self, goal: Objective, theta: Array, *, noisy: bool = False) -> Minimum:
        grams = self.noisy if noisy else self.grams
        problem = Problem(goal, grams, self.Y)
        return minimize(problem, problem.start(theta), free=False, tol=_TOL, max_iter=_MAX_ITER)

    def _bound(self, joint: Minimum) -> float:
        """The variational bound at MAP's mode, its widths those that touch there."""
        y, u = self.Y[:, 0], joint.point.latent[:, 0]
        gamma = self.likelihood.touching(y, u)
        scale = 1.0 / np.sqrt(gamma)
        K = with_diagonal(joint.point.K, self.jitter)
        factor = definite_factor(scaled_system(K, scale, 1.0))
        square = float(joint.point.alpha[:, 0] @ u)
        return square + self.likelihood.value(y, u) + log_determinant(factor)

"""Values of the four objectives for the same weights, and of the bounds that connect them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._data.types import Array, Features
from mercer._data.validation import check_number, check_positive
from mercer._gram import factors
from mercer._gram.factors import log_determinant
from mercer._gram.kernel_products import BaseGrams, GramsWithIdentity
from mercer.probabilistic._descent import Minimum, minimize
from mercer.probabilistic._likelihoods import GaussianLikelihood, Likelihood
from mercer.probabilistic._objectives import (
    BayesianObjective,
    JointMAP,
    PenalizedRisk,
    Problem,
    VariationalBound,
)
from mercer.probabilistic._posterior import as_problem, check_weights

# Relative precision of the latent values, so that the bounds hold to nine digits.
_TOL = 1e-9
# Steps in the latent values stop after this number at the latest.
_MAX_ITER = 1000


@dataclass(frozen=True)
class ObjectiveValues:
    """Objectives for given weights, minimized over the latent values, with K_e = K + e I.

    All are on the -2 log scale, and marginal <= variational <= map_bound, and map <= mkl_bound.

    Attributes
    ----------
    weights : ndarray of shape (n_kernels,)
    marginal : float
        -2 ln of the marginal likelihood; NaN for noise that is not Gaussian, as there is no closed
        form then.
    variational : float
        The variational bound "vb".
    map_bound : float
        Joint MAP plus ln|K_e^-1 + Gamma^-1| with the widths Gamma of the bounds that are tight at
        the mode: an upper bound of "vb", which chooses the best widths.
    map : float
        Joint MAP, which is no bound by itself.
    mkl_bound : float
        Joint MAP with the tangent of ln|K_e| at other weights in place of ln|K_e|: "mkl" with a
        penalty for each kernel, plus a constant.
    mkl : float
        Multiple kernel learning, "mkl".
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
    weight_penalty: float = 1.0,
    norm: float = 1.0,
    tangent_at: Any = None,
) -> list[ObjectiveValues]:
    """Evaluate the four objectives and the bounds between them for given weights.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels -1 and 1, or responses.
    kernels : sequence of Kernel, name or callable
    weights : array-like of shape (n_kernels,) or (n_points, n_kernels)
        Coefficients of the kernels, at least zero.
    likelihood : GaussianLikelihood, LaplaceLikelihood or LogisticLikelihood
    jitter : float, default=0.1
        White noise e in the latent function, of all four objectives.
    weight_penalty, norm : float, default=1.0
        "mkl" adds weight_penalty sum weights^norm.
    tangent_at : array-like of shape (n_kernels,), default=None
        Weights at which the tangent of `mkl_bound` equals ln|K_e|; None for the first weights.

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
    Each row costs O(n^3). Memory is a few n x n matrices and, if they fit into a quarter of the
    working memory, the Gram matrices of the kernels.

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
    grams, Y, _ = as_problem(X, y, kernels, likelihood)
    check_positive("jitter", jitter)
    check_positive("weight_penalty", weight_penalty)
    check_number("norm", norm, low=1.0)
    path = np.atleast_2d(check_weights(weights, grams.n_kernels))
    origin = path[0] if tangent_at is None else check_weights(tangent_at, grams.n_kernels)
    factor = factors.definite_factor(factors.with_diagonal(grams.weighted_sum(origin), jitter))
    height, slopes = log_determinant(factor), grams.inner_products(factors.inverted(factor))
    objectives = _Objectives(grams, Y, likelihood, jitter)
    return [
        objectives.at(
            row,
            PenalizedRisk(likelihood, weight_penalty, norm),
            tangent=height + float(slopes @ (row - origin)),
        )
        for row in path
    ]


class _Objectives:
    """The objectives for given data, as functions of the weights."""

    def __init__(self, grams: BaseGrams, Y: Array, likelihood: Likelihood, jitter: float) -> None:
        self.grams, self.Y, self.likelihood, self.jitter = grams, Y, likelihood, jitter
        self.noisy = GramsWithIdentity(grams, len(Y))

    def at(self, weights: Array, risk: PenalizedRisk, tangent: float) -> ObjectiveValues:
        """Evaluate all objectives; the tangent of ln|K_e| is given."""
        likelihood, jitter = self.likelihood, self.jitter
        joint = self._minimum(JointMAP(likelihood, jitter), self.grams, weights)
        factor = factors.definite_factor(factors.with_diagonal(joint.point.K, jitter))
        height, marginal = log_determinant(factor), np.nan
        if isinstance(likelihood, GaussianLikelihood):
            exact = JointMAP.marginal_likelihood(jitter + likelihood.noise)
            marginal = self._minimum(exact, self.grams, weights).value
        variational = VariationalBound(likelihood)
        return ObjectiveValues(
            weights=weights,
            marginal=marginal,
            variational=self._minimum(variational, self.noisy, np.append(weights, jitter)).value,
            map_bound=self._bound(joint),
            map=joint.value,
            mkl_bound=joint.value - height + tangent,
            mkl=self._minimum(risk, self.grams, weights).value,
            log_determinant=height,
            tangent=tangent,
        )

    def _minimum(self, objective: BayesianObjective, grams: BaseGrams, weights: Array) -> Minimum:
        """Minimize an objective over the latent values."""
        problem = Problem(objective, grams, self.Y)
        return minimize(problem, problem.start(weights), free=False, tol=_TOL, max_iter=_MAX_ITER)

    def _bound(self, joint: Minimum) -> float:
        """Return the variational bound at the mode of MAP, with the widths that are tight there."""
        y, u = self.Y[:, 0], joint.point.latent[:, 0]
        gamma = self.likelihood.tight_width(y, u)
        scale = 1.0 / np.sqrt(gamma)
        K = factors.with_diagonal(joint.point.K, self.jitter)
        factor = factors.definite_factor(factors.scaled_system(K, scale, 1.0))
        square = float(joint.point.alpha[:, 0] @ u)
        return square + self.likelihood.value(y, u) + log_determinant(factor)

"""Gaussian posteriors of latent functions, and their predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.utils import check_array, check_X_y

from mercer._gram.kernel_products import BaseGrams, base_grams
from mercer._gram.tiles import Samples
from mercer._typing import Array, Features
from mercer._validation import check_choice, check_number, check_positive
from mercer.kernels import Kernel, WeightedSum, as_dictionary
from mercer.probabilistic._descent import Minimum, minimize
from mercer.probabilistic._latent_losses import ConjugateLoss, Interpolation
from mercer.probabilistic._likelihoods import GaussianLikelihood, Likelihood
from mercer.probabilistic._newton import NewtonModel
from mercer.probabilistic._objectives import (
    JointMAP,
    Objective,
    PenalizedRisk,
    VariationalBound,
)
from mercer.probabilistic._problem import Problem

ObjectiveName: TypeAlias = Literal["mlm", "vb", "map", "mkl"]
OBJECTIVES: tuple[ObjectiveName, ...] = ("mlm", "vb", "map", "mkl")

_TOL = 1e-10
_MAX_ITER = 1000


def as_objective(
    name: ObjectiveName,
    likelihood: ConjugateLoss,
    *,
    jitter: float = 0.0,
    penalty: float = 1.0,
    norm: float = 1.0,
    learns_noise: bool = False,
) -> Objective:
    """The objective of a name; its marginal likelihood leaves Gaussian noise to the caller.

    Parameters
    ----------
    name : {"mlm", "vb", "map", "mkl"}
    likelihood : ConjugateLoss
    jitter : float, default=0.0
        Of "map" and, where it is the variance of Gaussian noise, of "mlm".
    penalty, norm : float, default=1.0
        Of "mkl".
    learns_noise : bool, default=False
        Of "vb".

    Raises
    ------
    ValueError
        If the objective needs another likelihood, or a setting is out of its range.
    """
    check_positive("penalty", penalty)
    check_number("norm", norm, low=1.0)
    check_number("jitter", jitter)
    if name == "mkl":
        return PenalizedRisk(likelihood, penalty, norm)
    if not isinstance(likelihood, Likelihood):
        raise ValueError(f'A loss that is no likelihood has objective="mkl" only; got {name!r}.')
    if name == "map":
        check_positive("jitter", jitter)
        return JointMAP(likelihood, jitter)
    if name == "vb":
        return VariationalBound(likelihood, learns_noise)
    if not isinstance(likelihood, GaussianLikelihood):
        raise ValueError(
            'objective="mlm" is in closed form for Gaussian noise only: objective="vb" bounds it '
            "for other likelihoods."
        )
    return JointMAP(Interpolation(), jitter)


def as_problem(
    X: Features, y: Any, kernels: Sequence[Any]
) -> tuple[BaseGrams, Array, list[Kernel]]:
    """Gram matrices, targets of shape (n_samples, 1) and bound kernels of one problem.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    kernels : sequence of Kernel, or of what stands for one
    """
    table = X if hasattr(X, "columns") or hasattr(X, "toarray") else np.asarray(X)
    bound = as_dictionary(kernels, table)
    features, targets = check_X_y(X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True)
    samples = Samples(features, len(bound))
    return base_grams(samples, bound, centered=False), targets.astype(float)[:, None], bound


def check_weights(weights: Any, n_kernels: int) -> Array:
    """Weights of kernels, one or several rows of them, as floats.

    Parameters
    ----------
    weights : array-like of shape (n_kernels,) or (n_points, n_kernels)
    n_kernels : int

    Raises
    ------
    ValueError
        If their number is another, or one is negative, NaN or infinite.
    """
    theta = check_array(weights, ensure_2d=False, dtype=np.float64, input_name="weights")
    if theta.shape[-1] != n_kernels:
        raise ValueError(
            f"weights must hold {n_kernels} numbers, one for each of the {n_kernels} "
            f"kernels; got {theta.shape[-1]}."
        )
    if theta.min() < 0.0:
        raise ValueError(f"weights must be finite and not negative; got {theta.min():g}.")
    return theta


def check_labels(Y: Array, likelihood: ConjugateLoss) -> None:
    """Refuse labels that a likelihood of classes does not have.

    Parameters
    ----------
    Y : ndarray of shape (n_samples, n_problems)
    likelihood : ConjugateLoss
    """
    if likelihood.of_classes and not np.isin(Y, (-1.0, 1.0)).all():
        raise ValueError("The labels of this likelihood must be -1 and 1.")


@dataclass(frozen=True)
class LatentPosterior:
    """Gaussian posteriors of latent functions, one for each problem.

    Attributes
    ----------
    alpha : ndarray of shape (n_samples, n_problems)
        The mean at x is k(x)'alpha.
    factors : tuple of (ndarray of shape (n_samples, n_samples), ndarray of shape (n_samples,))
        L and s of each problem: the variance at x is k(x, x) - |L^-1 (s * k(x))|^2. Empty where the
        loss has kinks, and no curvature to read a variance off.
    """

    alpha: Array
    factors: tuple[tuple[Array, Array], ...]

    def means(self, across: Array) -> Array:
        """Posterior means, shape (n_new, n_problems).

        Parameters
        ----------
        across : ndarray of shape (n_new, n_samples)
            The kernel between new samples and the training samples.
        """
        return across @ self.alpha

    def variances(self, across: Array, diagonal: Array) -> Array:
        """Posterior variances, shape (n_new, n_problems).

        Parameters
        ----------
        across : ndarray of shape (n_new, n_samples)
        diagonal : ndarray of shape (n_new,)
            The kernel of new samples with themselves.
        """
        if not self.factors:
            raise ValueError("There are no variances: the loss has no curvature at the mode.")
        result = np.empty((len(across), len(self.factors)))
        for c, (factor, scale) in enumerate(self.factors):
            half = solve_triangular(
                factor, scale[:, None] * across.T, lower=True, check_finite=False
            )
            result[:, c] = diagonal - np.einsum("nm,nm->m", half, half)
        return np.maximum(result, 0.0)


def latent_posterior(found: Minimum, Y: Array) -> LatentPosterior:
    """The posterior that an objective's minimum stands for.

    Where a log-determinant comes with widths of its own these are the noise; elsewhere the
    curvature of the loss at the mode is, as in Laplace's approximation.

    Parameters
    ----------
    found : Minimum
    Y : ndarray of shape (n_samples, n_problems)
    """
    majorizer = found.majorizer
    if majorizer.tilts is not None or isinstance(majorizer.loss, Interpolation):
        return LatentPosterior(found.point.alpha, majorizer.factors)
    if majorizer.direct:
        return LatentPosterior(found.point.alpha, ())
    model = NewtonModel(majorizer, Y, found.point, 0.0, width=0.0)
    return LatentPosterior(
        found.point.alpha, tuple((problem.factor, problem.root) for problem in model.problems)
    )


@dataclass(frozen=True)
class FixedPosterior:
    """An objective, and the posterior it gives, for given weights of the kernels.

    Attributes
    ----------
    objective : float
        Its minimum over latent values, on the -2 log scale.
    gradient : ndarray of shape (n_kernels,)
        Derivatives of that minimum in the weights.
    latent : ndarray of shape (n_samples,)
        Latent values u of the training samples.
    dual : ndarray of shape (n_samples,)
        alpha, with u = K alpha.
    gamma : ndarray of shape (n_samples,), or None
        Variances of the Gaussians that bound the likelihood; None where there are none.
    kernel : WeightedSum
    X : ndarray of shape (n_samples, n_features)
    """

    objective: float
    gradient: Array
    latent: Array
    dual: Array
    gamma: Array | None
    kernel: Kernel
    X: Features
    _posterior: LatentPosterior

    def predict(self, X: Features) -> tuple[Array, Array]:
        """Means and variances of the latent function.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)

        Returns
        -------
        mean, variance : ndarray of shape (n_new,)
            The variance is NaN where the loss has kinks, and no curvature to read one off.
        """
        across = self.kernel(X, self.X)
        mean = self._posterior.means(across)[:, 0]
        if not self._posterior.factors:
            return mean, np.full_like(mean, np.nan)
        return mean, self._posterior.variances(across, self.kernel.diag(X))[:, 0]


def posterior(
    X: Features,
    y: Any,
    kernels: Sequence[Any],
    weights: Any,
    *,
    likelihood: ConjugateLoss,
    objective: ObjectiveName = "vb",
    jitter: float = 0.0,
    penalty: float = 1.0,
    norm: float = 1.0,
) -> FixedPosterior:
    """Infer the latent function for given weights of the kernels.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels -1 and 1, or responses.
    kernels : sequence of Kernel, or of what stands for one
    weights : array-like of shape (n_kernels,)
        Coefficients of the kernels, at least zero.
    likelihood : GaussianLikelihood, LaplaceLikelihood, LogisticLikelihood or SupportVectorLoss
    objective : {"mlm", "vb", "map", "mkl"}, default="vb"
    jitter : float, default=0.0
        Added to the diagonal by "map".
    penalty, norm : float, default=1.0
        "mkl" adds penalty sum weights^norm.

    Returns
    -------
    FixedPosterior

    Notes
    -----
    A step is O(n^3), and memory is a few n x n matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.probabilistic import LogisticLikelihood, posterior
    >>> X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([-1, -1, 1, 1])
    >>> found = posterior(X, y, [Gaussian(2.0)], [4.0], likelihood=LogisticLikelihood())
    >>> mean, variance = found.predict([[0.5], [3.5]])
    >>> mean.round(3), variance.round(3)
    (array([-1.51,  1.51]), array([1.695, 1.695]))
    """
    check_choice("objective", objective, OBJECTIVES)
    noise = likelihood.noise if isinstance(likelihood, GaussianLikelihood) else 0.0
    goal = as_objective(
        objective,
        likelihood,
        jitter=noise if objective == "mlm" else jitter,
        penalty=penalty,
        norm=norm,
    )
    grams, Y, bound = as_problem(X, y, kernels)
    check_labels(Y, likelihood)
    theta = check_weights(weights, grams.n_kernels)
    problem = Problem(goal, grams, Y)
    found = minimize(problem, problem.start(theta), free=False, tol=_TOL, max_iter=_MAX_ITER)
    majorizer = found.majorizer
    gamma = None if majorizer.gamma is None else majorizer.gamma[:, 0]
    latent = found.point.latent[:, 0]
    if objective == "mlm":
        gamma, latent = np.full_like(latent, noise), latent - noise * found.point.alpha[:, 0]
    return FixedPosterior(
        majorizer.value,
        found.gradient,
        latent,
        found.point.alpha[:, 0],
        gamma,
        WeightedSum(bound, theta),
        X,
        latent_posterior(found, Y),
    )

"""The posterior of the latent function for given weights of the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array, check_X_y

from mercer._data.types import Array, Features
from mercer._data.validation import check_choice, check_target_values
from mercer._gram.kernel_products import BaseGrams, base_grams
from mercer._gram.samples import Samples
from mercer.kernels import Kernel, WeightedSum, as_dictionary
from mercer.kernels._conversion import KernelSource
from mercer.probabilistic._descent import minimize_latents
from mercer.probabilistic._likelihoods import Deviance
from mercer.probabilistic._majorizer import LatentPosterior
from mercer.probabilistic._model import OBJECTIVES, ObjectiveName, as_objective
from mercer.probabilistic._objectives import Problem
from mercer.probabilistic._searches import laplace_at


def as_problem(
    X: Features, y: npt.ArrayLike, kernels: Sequence[KernelSource], deviance: Deviance
) -> tuple[BaseGrams, Array, list[Kernel]]:
    """Validate the data of one problem.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    kernels : sequence of Kernel, name or callable
    deviance : Deviance

    Returns
    -------
    grams : BaseGrams
    Y : ndarray of shape (n_samples, 1)
    kernels : list of Kernel
        Bound to X.

    Raises
    ------
    ValueError
        If X or y contains NaN or infinities, or if the deviance needs labels and y has values other
        than -1 and 1.
    """
    table = X if hasattr(X, "columns") or hasattr(X, "toarray") else np.asarray(X)
    bound = as_dictionary(kernels, table)
    check_target_values(y)
    features, targets = check_X_y(X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True)
    if deviance.loss.for_labels and not np.isin(targets, (-1.0, 1.0)).all():
        raise ValueError("The labels of this likelihood must be -1 and 1.")
    samples = Samples(features, len(bound))
    return base_grams(samples, bound, centered=False), targets.astype(float)[:, None], bound


def check_weights(weights: npt.ArrayLike, n_kernels: int) -> Array:
    """Validate one or several vectors of weights.

    Parameters
    ----------
    weights : array-like of shape (n_kernels,) or (n_points, n_kernels)
    n_kernels : int

    Raises
    ------
    ValueError
        If there are more or fewer weights than kernels, or if one is negative, NaN or infinite.
    """
    checked = check_array(weights, ensure_2d=False, dtype=np.float64, input_name="weights")
    if checked.shape[-1] != n_kernels:
        raise ValueError(
            f"weights must hold {n_kernels} numbers, one for each of the {n_kernels} "
            f"kernels; got {checked.shape[-1]}."
        )
    if checked.min() < 0.0:
        raise ValueError(f"weights must be finite and not negative; got {checked.min():g}.")
    return checked


@dataclass(frozen=True)
class FixedPosterior:
    """Gaussian process for given weights of the kernels, computed by `posterior`.

    Attributes
    ----------
    objective : float
        Minimum over the latent values, on the -2 log scale.
    gradient : ndarray of shape (n_kernels,)
        Derivatives of the minimum with respect to the weights.
    latent : ndarray of shape (n_samples,)
        Latent values u of the training samples.
    dual : ndarray of shape (n_samples,)
        The dual variables alpha, with u = K alpha.
    gamma : ndarray of shape (n_samples,), or None
        Variances of the Gaussian bounds on the likelihood; None for "laplace", "map" and "mkl".
    kernel : WeightedSum
    X : ndarray of shape (n_samples, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.probabilistic import GaussianLikelihood, posterior
    >>> X, y = np.array([[0.0], [1.0], [3.0]]), np.array([-1.0, 0.0, 1.0])
    >>> found = posterior(X, y, [Gaussian(2.0)], [1.0], likelihood=GaussianLikelihood(0.1))
    >>> found.latent.round(2), found.gamma.round(2)
    (array([-0.84, -0.09,  0.92]), array([0.1, 0.1, 0.1]))
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
        """Return means and variances of the latent function.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)

        Returns
        -------
        mean, variance : ndarray of shape (n_new,)
            The variance is NaN if the loss has kinks, because it then has no curvature.
        """
        across = self.kernel(X, self.X)
        mean = self._posterior.means(across)[:, 0]
        if not self._posterior.factors:
            return mean, np.full_like(mean, np.nan)
        return mean, self._posterior.variances(across, self.kernel.diag(X))[:, 0]


def posterior(
    X: Features,
    y: npt.ArrayLike,
    kernels: Sequence[KernelSource],
    weights: npt.ArrayLike,
    *,
    likelihood: Deviance,
    objective: ObjectiveName = "vb",
    jitter: float = 0.0,
    weight_penalty: float = 1.0,
    norm: float = 1.0,
) -> FixedPosterior:
    """Fit a Gaussian process on a sum of kernels whose weights are given.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The training samples.
    y : array-like of shape (n_samples,)
        Labels -1 and 1, or responses.
    kernels : sequence of Kernel, name or callable
        The kernels of the sum.
    weights : array-like of shape (n_kernels,)
        Coefficients of the kernels, at least zero.
    likelihood : GaussianLikelihood, LaplaceLikelihood, LogisticLikelihood or Deviance
        A deviance that is not a likelihood, such as the deviance of the hinge loss, requires
        objective="mkl".
    objective : {"marginal_likelihood", "vb", "laplace", "map", "mkl"}, default="vb"
        The function that is minimized over the latent values. "marginal_likelihood" needs Gaussian
        noise, and "laplace" needs a likelihood without kinks.
    jitter : float, default=0.0
        Used by "map" only, which adds it to the diagonal of the Gram matrix.
    weight_penalty, norm : float, default=1.0
        Used by "mkl" only: the objective has the penalty weight_penalty * sum(weights^norm).

    Returns
    -------
    FixedPosterior
        The minimum over the latent values, with a method for predictions.

    Notes
    -----
    Each step takes O(n^3) time, and a few n x n matrices are kept in memory.

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
    goal = as_objective(
        objective, likelihood, jitter=jitter, weight_penalty=weight_penalty, norm=norm
    )
    grams, Y, bound = as_problem(X, y, kernels, likelihood)
    checked = check_weights(weights, grams.n_kernels)
    problem = Problem(goal, grams, Y)
    if objective == "laplace":
        found = laplace_at(problem, checked)
    else:
        found = minimize_latents(problem, problem.start(checked), tol=1e-10, max_iter=1000)
    majorizer, point = found.majorizer, found.point
    gamma = None if majorizer.gamma is None else majorizer.gamma[:, 0]
    latent = point.latent[:, 0]
    if objective == "marginal_likelihood":
        # For this objective, the latent values are the responses, the sum of u and noise.
        gamma, latent = np.full_like(latent, goal.jitter), latent - goal.jitter * point.alpha[:, 0]
    return FixedPosterior(
        found.value,
        found.gradient,
        latent,
        point.alpha[:, 0],
        gamma,
        WeightedSum(bound, checked),
        X,
        majorizer.posterior(Y, point),
    )

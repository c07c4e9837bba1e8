"""Problems of probabilistic kernel learning, and what each objective learns on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from experiments.experiment import Measures, collected
from experiments.objective_values import compare_objectives
from experiments.problems import Array, Part, whole
from mercer import BayesianMKLRegressor, probabilistic
from mercer._gram.factors import definite_factor, inverted, with_diagonal
from mercer._gram.kernel_products import BaseGrams, base_grams
from mercer._gram.samples import Samples
from mercer.kernels import Gaussian, Kernel, OnColumns
from mercer.probabilistic import _objectives as objectives
from mercer.probabilistic._likelihoods import Likelihood
from mercer.probabilistic._model import starting_scales
from mercer.probabilistic._searches import optimize_weights

# The variance of joint MAP's white noise where one value is used; with less, joint MAP may find
# no kernel at all.
JITTER = 1.0
# The variances of white noise with which joint MAP is tried.
JITTERS = (0.1, 0.3, 1.0, 2.0, 5.0)
# The penalties on the sum of weights with which multiple kernel learning is tried.
PENALTIES = (0.1, 1.0, 10.0, 100.0, 1000.0)
# The widths on all features, in units of the root of their number.
WIDTHS = 2.0 ** np.arange(-1, 5)
# The objectives whose values at given weights are compared.
BOUNDS = ("marginal", "variational", "map_bound", "map", "mkl_bound", "mkl")
# The data set and the likelihood of each problem.
PROBLEMS = {
    "heart, logistic": ("heart", "logistic"),
    "german, logistic": ("german", "logistic"),
    "kin8nm, Laplace": ("kin8nm", "laplace"),
    "kin8nm, Gaussian": ("kin8nm", "gaussian"),
}


@dataclass(frozen=True)
class Sample:
    """Training and test data, a dictionary, and a likelihood with the most likely noise."""

    train: Part
    test: Part
    kernels: Sequence[Kernel]
    likelihood: Likelihood
    seed: int

    @property
    def grams(self) -> BaseGrams:
        """The Gram matrices of the dictionary, which have unit diagonals."""
        return base_grams(Samples(self.train[0], len(self.kernels)), self.kernels, centered=False)

    def problem(self, objective: objectives.BayesianObjective) -> objectives.Problem:
        """Return an objective on the training data."""
        return objectives.Problem(objective, self.grams, self.train[1][:, None])


class NoisyRisk(objectives.PenalizedRisk):
    """Multiple kernel learning with joint MAP's white noise, so that it bounds joint MAP."""

    jitter = JITTER

    def lower_bound(self, problem: objectives.Problem, point: object) -> None:  # type: ignore[override]
        """No lower bound is known."""
        return


def sample(repeat: int, *, name: str, likelihood: str, n_train: int, n_test: int) -> Sample:
    """Return standardized data with six Gaussians on all features, and one on each feature."""
    X, y = whole(name)
    n_train = min(n_train, len(y) // 2)
    rows = np.random.default_rng(repeat).permutation(len(y))[: n_train + n_test]
    X, y = X[rows], y[rows].astype(float)
    X = StandardScaler().fit(X[:n_train]).transform(X)
    if likelihood != "logistic":
        y = (y - y[:n_train].mean()) / y[:n_train].std()
    d = X.shape[1]
    kernels: list[Kernel] = [Gaussian(np.sqrt(d) * width) for width in WIDTHS]
    kernels += [OnColumns(Gaussian(np.sqrt(2.0)), [z]).bind(X) for z in range(d)]
    train, test = (X[:n_train], y[:n_train]), (X[n_train:], y[n_train:])
    return Sample(train, test, kernels, noisy(likelihood, kernels, train), repeat)


def noisy(name: str, kernels: Sequence[Kernel], train: Part) -> Likelihood:
    """Return a likelihood with the noise that the marginal likelihood, or its bound, prefers."""
    if name == "logistic":
        return probabilistic.LogisticLikelihood()
    model = BayesianMKLRegressor(kernels, normalize_y=False)
    if name == "laplace":
        model.set_params(likelihood=name, objective="vb")
    noise = float(np.squeeze(model.fit(*train).noise_variance_))
    return (
        probabilistic.LaplaceLikelihood.of_variance(noise)
        if name == "laplace"
        else probabilistic.GaussianLikelihood(noise)
    )


def bounds(data: Sample, *, n_points: int) -> Measures:
    """Return all objectives at random weights, with the tangent of ln det K at equal ones."""
    p = len(data.kernels)
    exponents = np.random.default_rng(data.seed).uniform(-3.0, 1.0, size=(n_points, p))
    equal = np.full(p, 1.0 / p)
    values = compare_objectives(
        *data.train,
        data.kernels,
        np.vstack([10.0**exponents, equal]),
        likelihood=data.likelihood,
        jitter=JITTER,
        tangent_at=equal,
    )
    return {name: [getattr(value, name) for value in values] for name in BOUNDS}


def learned(
    data: Sample, problem: objectives.Problem, scales: Array | float = 1.0
) -> dict[str, float]:
    """Return the least objective, the number of kernels, and the losses of predictions."""
    p = len(data.kernels)
    starts = [np.full(p, scale / p) / scales for scale in starting_scales(2)]
    found = optimize_weights(problem, starts, tol=1e-5, max_iter=300)
    theta = found.point.weights * scales
    n_test = len(data.test[1])
    across, diagonal = np.zeros((n_test, len(data.train[1]))), np.full(n_test, theta.sum())
    for weight, kernel in zip(theta, data.kernels, strict=True):
        if weight > 0.0:
            across += weight * kernel(data.test[0], data.train[0])
    posterior = found.majorizer.posterior(problem.Y, found.point)
    mean, variance = posterior.means(across)[:, 0], np.full(n_test, np.nan)
    if posterior.factors:
        variance = posterior.variances(across, diagonal)[:, 0]
    shares = theta / theta.sum() if theta.any() else theta
    return {
        "objective": found.majorizer.value,
        "kernels": float(np.count_nonzero(theta)),
        "entropy": float(np.exp(-np.sum(shares[shares > 0] * np.log(shares[shares > 0])))),
        "scale": float(theta.sum()),
        **losses(data, mean, variance),
    }


def losses(data: Sample, mean: Array, variance: Array) -> dict[str, float]:
    """Return error and log-loss of classes, or root mean squared error and log-density.

    The density, whose negative logarithm is returned, is Gaussian, with the variances of latent
    function and noise added. It is not known for losses with kinks, which have no curvature.
    """
    y = data.test[1]
    if isinstance(data.likelihood, probabilistic.LogisticLikelihood):
        positive = data.likelihood.probability(mean, variance)
        return {
            "error": float(np.mean((mean > 0.0) != (y > 0.0))),
            "log_loss": float(log_loss(y, positive, labels=[-1.0, 1.0])),
        }
    spread = variance + data.likelihood.variance
    density = 0.5 * ((y - mean) ** 2 / spread + np.log(2.0 * np.pi * spread))
    return {"error": float(np.sqrt(np.mean((y - mean) ** 2))), "log_loss": float(density.mean())}


def marginal(data: Sample) -> Measures:
    """Learn by the marginal likelihood of Gaussian noise, else by the variational bound."""
    if isinstance(data.likelihood, probabilistic.GaussianLikelihood):
        return learned(
            data, data.problem(objectives.JointMAP.marginal_likelihood(data.likelihood.noise))
        )
    return learned(data, data.problem(objectives.VariationalBound(data.likelihood)))


def joint(data: Sample) -> Measures:
    """Learn by joint MAP, for each white noise."""
    return collected(
        [learned(data, data.problem(objectives.JointMAP(data.likelihood, e))) for e in JITTERS]
    )


def risk(data: Sample) -> Measures:
    """Learn by multiple kernel learning, for each penalty on the sum of weights."""
    return collected(
        [
            learned(data, data.problem(objectives.PenalizedRisk(data.likelihood, c)))
            for c in PENALTIES
        ]
    )


def tangent(data: Sample) -> Measures:
    """Learn by the convex bound of joint MAP, its tangent at equal weights of sum one."""
    p = len(data.kernels)
    gram = with_diagonal(data.grams.weighted_sum(np.full(p, 1.0 / p)), JITTER)
    scales = 1.0 / data.grams.inner_products(inverted(definite_factor(gram)))
    problem = data.problem(NoisyRisk(data.likelihood))
    return learned(
        data, objectives.Problem(problem.objective, problem.grams.scaled(scales), problem.Y), scales
    )

"""Objectives for given weights, and likelihoods: definitions, bounds, gradients, integrals."""

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from probabilistic_cases import KERNELS, LIKELIHOODS, OBJECTIVES, SCALES, WEIGHTS, naive, problem
from probabilistic_reference import (
    laplace_approximation,
    mode,
    variational,
)
from reference import central_difference, gaussian
from scipy.integrate import quad
from scipy.special import expit, log_ndtr
from sklearn.datasets import load_iris

from mercer import BayesianMKLClassifier
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Hinge
from mercer.probabilistic import (
    Deviance,
    LaplaceLikelihood,
    LogisticLikelihood,
    posterior,
)
from mercer.probabilistic._bound_widths import DeterminantModel

every_likelihood = pytest.mark.parametrize("name", LIKELIHOODS)
every_objective = pytest.mark.parametrize("kind", OBJECTIVES)


# --- values and gradients ----------------------------------------------------------------------


@every_likelihood
@every_objective
@pytest.mark.parametrize("scale", [1e-3, 30.0])
def test_objectives_are_their_definitions(name: str, kind: str, scale: float) -> None:
    X, y, grams = problem(name)
    likelihood, weights = LIKELIHOODS[name][0], scale * WEIGHTS
    found = posterior(X, y, KERNELS, weights, likelihood=likelihood, **OBJECTIVES[kind])
    assert_allclose(found.objective, naive(name, kind, y, grams, weights), rtol=1e-8)
    K = np.tensordot(weights, grams, axes=1) + OBJECTIVES[kind].get("jitter", 0.0) * np.eye(len(y))
    assert_allclose(found.latent, K @ found.dual, rtol=1e-9, atol=1e-12)


@every_likelihood
@every_objective
def test_gradients_are_those_of_the_objective(name: str, kind: str) -> None:
    X, y, _ = problem(name)
    likelihood, options = LIKELIHOODS[name][0], OBJECTIVES[kind]

    def phi(weights: np.ndarray) -> float:
        return posterior(X, y, KERNELS, weights, likelihood=likelihood, **options).objective

    found = posterior(X, y, KERNELS, WEIGHTS, likelihood=likelihood, **options)
    expected = central_difference(phi, WEIGHTS, 1e-4)
    assert_allclose(found.gradient, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["logistic", "laplace"])
def test_variational_posteriors_are_their_definitions(name: str) -> None:
    X, y, grams = problem(name)
    K = np.tensordot(WEIGHTS, grams, axes=1)
    found = posterior(X, y, KERNELS, WEIGHTS, likelihood=LIKELIHOODS[name][0])
    _, u, gamma, covariance = variational(K, y, LIKELIHOODS[name][1])
    assert_allclose(found.latent, u, atol=1e-6)
    assert_allclose(found.gamma, gamma, rtol=1e-6)
    mean, variance = found.predict(X)
    assert_allclose(mean, u, atol=1e-6)
    assert_allclose(variance, np.diag(covariance), atol=1e-6)
    if name == "laplace":
        # The loss has no curvature at the mode.
        likelihood = LaplaceLikelihood(3.0)
        mode = posterior(X, y, KERNELS, WEIGHTS, likelihood=likelihood, **OBJECTIVES["mkl"])
        assert np.isnan(mode.predict(X)[1]).all()


@pytest.mark.parametrize("name", ["logistic", "gaussian"])
@pytest.mark.parametrize("kind", ["map", "mkl"])
def test_variances_of_modes_are_laplaces_approximation(name: str, kind: str) -> None:
    X, y, grams = problem(name)
    jitter = OBJECTIVES[kind].get("jitter", 0.0)
    K = np.tensordot(WEIGHTS, grams, axes=1)
    likelihood, naive_likelihood = LIKELIHOODS[name]
    found = posterior(X, y, KERNELS, WEIGHTS, likelihood=likelihood, **OBJECTIVES[kind])
    _, u = mode(K + jitter * np.eye(len(y)), y, naive_likelihood)
    step = 1e-5
    ahead, behind = (naive_likelihood.losses(y, u + s)[1] for s in (step, -step))
    curvature = (ahead - behind) / (2.0 * step)
    new = np.random.default_rng(3).normal(size=(5, 2))
    across = np.tensordot(WEIGHTS, [gaussian(new, s, X) for s in SCALES], axes=1)
    noisy = K + (jitter * np.eye(len(y)) + np.diag(2.0 / curvature))
    variance = WEIGHTS.sum() - np.sum(across * np.linalg.solve(noisy, across.T).T, axis=1)
    assert_allclose(found.predict(new)[1], variance, rtol=1e-5)


@pytest.mark.parametrize("name", ["logistic", "laplace"])
def test_support_vector_machines_are_penalized_risks(name: str) -> None:
    """MKL of the hinge and epsilon-insensitive losses is the machine's objective, times two."""
    loss = Deviance(Hinge(0.8) if name == "logistic" else EpsilonInsensitive(0.8, 0.1))
    X, y, grams = problem(name)
    options = {"objective": "mkl", "weight_penalty": 0.7}
    found = posterior(X, y, KERNELS, WEIGHTS, likelihood=loss, **options)
    u = np.tensordot(WEIGHTS, grams, axes=1) @ found.dual
    beyond = 1.0 - y * u if name == "logistic" else np.abs(y - u) - 0.1
    value = found.dual @ u + 2.0 * 0.8 * np.maximum(0.0, beyond).sum() + 0.7 * WEIGHTS.sum()
    assert_allclose(found.objective, value, rtol=1e-10)
    dual = loss.dual(y, found.dual) - found.dual @ u + 0.7 * WEIGHTS.sum()
    assert_allclose(found.objective, dual, rtol=1e-8)
    with pytest.raises(ValueError, match='not a likelihood needs objective="mkl"'):
        posterior(X, y, KERNELS, WEIGHTS, likelihood=loss, objective="vb")


# --- Laplace's approximation -------------------------------------------------------------------


@pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
def test_value_gradient_and_mode_of_given_weights(size: float) -> None:
    X, y, grams = problem("logistic")
    weights = size * WEIGHTS

    def value(weights: np.ndarray) -> float:
        return laplace_approximation(np.tensordot(weights, grams, axes=1), y)[0]

    found = posterior(X, y, KERNELS, weights, likelihood=LogisticLikelihood(), objective="laplace")
    expected, mode = laplace_approximation(np.tensordot(weights, grams, axes=1), y)
    assert_allclose(found.objective, expected, rtol=1e-9)
    assert_allclose(found.latent, mode, rtol=1e-6, atol=1e-8)
    slopes = central_difference(value, weights, 1e-5 * size)
    assert_allclose(found.gradient, slopes, rtol=1e-4, atol=1e-6 / size)


def test_several_classes_sum_over_their_latent_functions() -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[::5], y[::5]
    model = BayesianMKLClassifier([Gaussian(2.0), Gaussian(6.0)], objective="laplace").fit(X, y)
    K = model.kernel_(X)
    expected = sum(laplace_approximation(K, np.where(y == c, 1.0, -1.0))[0] for c in range(3))
    assert_allclose(model.objective_, expected, rtol=1e-6)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.score(X, y) > 0.9


values = st.floats(-60.0, 60.0)


def one(value: float) -> np.ndarray:
    return np.array([float(value)])


# --- learned noise and probabilities -----------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "variance"),
    [
        *[(-700.0, 0.0), (-30.0, 1e-12), (-3.0, 0.1), (-0.1, 0.999), (0.0, 1.0)],
        *[(1.0, 1.001), (12.0, 4.0), (500.0, 40.0), (0.5, 1e4), (2.0, 1e8)],
    ],
)
def test_class_probabilities(mean: float, variance: float) -> None:
    """Against adaptive quadrature, over the narrower of Gaussian and logistic density."""
    found = LogisticLikelihood().probability(one(mean), one(variance))[0]
    deviation = np.sqrt(variance)

    def over_normal(z: float) -> float:
        return float(expit(mean + deviation * z) * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi))

    def over_logistic(x: float) -> float:
        return float(np.exp(log_ndtr((mean + x) / deviation)) * expit(x) * expit(-x))

    precisely: dict[str, Any] = {"epsabs": 1e-15, "epsrel": 1e-13, "limit": 500}
    if deviation <= 1.0:
        expected = quad(over_normal, -12.0, 12.0, **precisely)[0]
    else:
        split = [0.0, float(np.clip(-mean, -44.0, 44.0))]
        expected = quad(over_logistic, -45.0, 45.0, points=split, **precisely)[0]
    assert_allclose(found, expected, rtol=0.0, atol=2e-12)
    opposite = LogisticLikelihood().probability(one(-mean), one(variance))[0]
    assert_allclose(found + opposite, 1.0, rtol=1e-13)


LOSSES: dict[str, Any] = {name: likelihood for name, (likelihood, _) in LIKELIHOODS.items()}
LOSSES |= {"hinge": Deviance(Hinge(2.0)), "tube": Deviance(EpsilonInsensitive(2.0, 0.3))}


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_learned_laplace_noise_has_a_least_variance_relative_to_the_responses(size: float) -> None:
    """Errors of 1e-9 of the responses are beyond the limit, those of 1e-2 are not."""
    Y = size * np.random.default_rng(0).normal(size=(30, 1))
    counts = np.arange(30.0) % 3 + 1.0
    likelihood = LaplaceLikelihood(1.0 / size).with_weights(counts)
    model = [DeterminantModel(np.full(30, size**2), 1.0)]
    limit = np.sqrt(np.finfo(float).eps) * np.average(Y[:, 0] ** 2, weights=counts)
    exact, rough = (likelihood.fit_noise(Y, Y * (1.0 + e), model).variance for e in (1e-9, 1e-2))
    assert_allclose(exact, limit, rtol=1e-9)
    assert rough > 10.0 * limit

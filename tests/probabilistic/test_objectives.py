"""Objectives for given weights: definitions, bounds and gradients."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from probabilistic_cases import KERNELS, LIKELIHOODS, OBJECTIVES, SCALES, WEIGHTS, naive, problem
from probabilistic_reference import (
    evidence,
    gaussian_evidence,
    laplace_evidence,
    mode,
    variational,
)
from reference import central_difference, gaussian

from mercer.losses import EpsilonInsensitive, Hinge
from mercer.probabilistic import (
    Deviance,
    GaussianLikelihood,
    LaplaceLikelihood,
    posterior,
)

every_likelihood = pytest.mark.parametrize("name", LIKELIHOODS)
every_objective = pytest.mark.parametrize("kind", OBJECTIVES)


# --- values and gradients ----------------------------------------------------------------------


@every_likelihood
@every_objective
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
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


def test_the_marginal_likelihood_is_in_closed_form() -> None:
    X, y, grams = problem("gaussian")
    K = np.tensordot(WEIGHTS, grams, axes=1)
    found = {
        name: posterior(X, y, KERNELS, WEIGHTS, likelihood=GaussianLikelihood(0.2), objective=name)
        for name in ("marginal_likelihood", "vb")
    }
    new = np.random.default_rng(3).normal(size=(6, 2))
    for each in found.values():
        assert_allclose(each.objective, gaussian_evidence(K, y, 0.2), rtol=1e-11)
        alpha = np.linalg.solve(K + 0.2 * np.eye(len(y)), y)
        assert_allclose(each.dual, alpha, rtol=1e-9)
        assert_allclose(each.latent, K @ alpha, rtol=1e-9)
        assert_allclose(each.gamma, 0.2, rtol=1e-14)
    for a, b in zip(
        found["marginal_likelihood"].predict(new), found["vb"].predict(new), strict=True
    ):
        assert_allclose(a, b, rtol=1e-9)
    assert_allclose(
        found["marginal_likelihood"].gradient, found["vb"].gradient, rtol=1e-8, atol=1e-9
    )


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


@pytest.mark.parametrize("kind", ["map", "mkl"])
def test_modes_under_laplace_noise_have_no_variance(kind: str) -> None:
    X, y, _ = problem("laplace")
    found = posterior(X, y, KERNELS, WEIGHTS, likelihood=LaplaceLikelihood(3.0), **OBJECTIVES[kind])
    assert np.isnan(found.predict(X)[1]).all()


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
    for objective in ("vb", "map", "marginal_likelihood"):
        with pytest.raises(ValueError, match='no likelihood has objective="mkl" only'):
            posterior(X, y, KERNELS, WEIGHTS, likelihood=loss, objective=objective)


# --- the chain of bounds -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["logistic", "laplace"])
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 2), log_scale=st.floats(-3.0, 3.0))
def test_the_chain_of_bounds(name: str, seed: int, n: int, log_scale: float) -> None:
    """Marginal likelihood <= VB <= MAP + ln|K^-1 + Gamma^-1| at the widths of MAP's mode."""
    X, y, grams = problem(name, n, seed)
    weights = np.exp(log_scale) * WEIGHTS
    likelihood, naive_likelihood = LIKELIHOODS[name]
    K = np.tensordot(weights, grams, axes=1)
    if name == "laplace":
        exact = laplace_evidence(K, y, likelihood.rate)
    else:
        exact = evidence(K, y, naive_likelihood, 301)
    bound = posterior(X, y, KERNELS, weights, likelihood=likelihood).objective
    assert exact <= bound + 1e-9 * (1.0 + abs(bound))
    value, u = mode(K, y, naive_likelihood)
    r = np.maximum(np.abs(u - naive_likelihood.site(y)[1]), 1e-6)
    gamma = 2.0 * r / np.tanh(0.5 * r) if name == "logistic" else r / likelihood.rate
    log_determinants = np.linalg.slogdet(np.eye(n) + K / gamma)[1]
    assert bound <= value + log_determinants + 1e-7 * (1.0 + abs(value))

"""Laplace's approximation against dense matrices and scikit-learn's Gaussian process."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from probabilistic_cases import KERNELS, WEIGHTS, problem
from probabilistic_reference import laplace_approximation
from reference import central_difference
from scipy.optimize import minimize
from sklearn.datasets import load_iris
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process import kernels as gp

from mercer import BayesianMKLClassifier
from mercer.kernels import Gaussian
from mercer.probabilistic import (
    GaussianLikelihood,
    LogisticLikelihood,
    posterior,
)


def value(grams: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    return laplace_approximation(np.tensordot(weights, grams, axes=1), y)[0]


@pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_value_gradient_and_mode_of_given_weights(size: float, seed: int) -> None:
    X, y, grams = problem("logistic", seed=seed)
    weights = size * WEIGHTS
    found = posterior(X, y, KERNELS, weights, likelihood=LogisticLikelihood(), objective="laplace")
    expected, mode = laplace_approximation(np.tensordot(weights, grams, axes=1), y)
    assert_allclose(found.objective, expected, rtol=1e-9)
    assert_allclose(found.latent, mode, rtol=1e-6, atol=1e-8)
    slopes = central_difference(lambda w: value(grams, y, w), weights, 1e-5 * size)
    assert_allclose(found.gradient, slopes, rtol=1e-4, atol=1e-6 / size)


def test_gaussian_noise_is_exact() -> None:
    X, y, _ = problem("gaussian")
    both = [
        posterior(X, y, KERNELS, WEIGHTS, likelihood=GaussianLikelihood(0.2), objective=name)
        for name in ("laplace", "marginal_likelihood")
    ]
    assert_allclose(both[0].objective, both[1].objective, rtol=1e-9)
    assert_allclose(both[0].gradient, both[1].gradient, rtol=1e-7)


@pytest.mark.parametrize("amplitude", [0.5, 4.0, 30.0])
@pytest.mark.parametrize("width", [0.5, 2.0])
def test_the_same_kernel_has_the_likelihood_of_scikit_learn(amplitude: float, width: float) -> None:
    X, y, _ = problem("logistic", n=40)
    kernel = gp.ConstantKernel(amplitude, "fixed") * gp.RBF(width / np.sqrt(2.0), "fixed")
    theirs = GaussianProcessClassifier(kernel, optimizer=None).fit(X, y)
    ours = posterior(
        X, y, [Gaussian(width)], [amplitude], likelihood=LogisticLikelihood(), objective="laplace"
    )
    assert_allclose(-0.5 * ours.objective, theirs.log_marginal_likelihood_value_, rtol=1e-7)
    new = np.random.default_rng(1).normal(size=(9, 2))
    mean, variance = theirs.base_estimator_.latent_mean_and_variance(new)
    assert_allclose(ours.predict(new)[0], mean, rtol=1e-4, atol=1e-6)
    assert_allclose(ours.predict(new)[1], variance, rtol=1e-4)


def test_the_best_amplitude_is_that_of_scikit_learn() -> None:
    X, y, _ = problem("logistic", n=40)
    kernel = gp.ConstantKernel(1.0, (1e-4, 1e6)) * gp.RBF(1.5 / np.sqrt(2.0), "fixed")
    theirs = GaussianProcessClassifier(kernel).fit(X, y)
    ours = BayesianMKLClassifier([Gaussian(1.5)], objective="laplace", tol=1e-7).fit(X, y)
    assert_allclose(ours.log_marginal_likelihood_, theirs.log_marginal_likelihood_value_, rtol=1e-6)
    assert_allclose(ours.weights_, theirs.kernel_.k1.constant_value, rtol=1e-3)
    agreed = np.mean(ours.predict(X) == theirs.predict(X))
    assert agreed == 1.0


def test_weights_of_several_kernels_are_the_best() -> None:
    X, y, grams = problem("logistic", n=30)
    model = BayesianMKLClassifier(KERNELS, objective="laplace", tol=1e-6).fit(X, y)
    best = min(
        minimize(
            lambda t: value(grams, y, np.exp(t)),
            start,
            method="L-BFGS-B",
            bounds=[(-15.0, 8.0)] * 3,
        ).fun
        for start in np.log([[1.0, 1.0, 1.0], [0.05, 0.05, 0.05], [10.0, 0.1, 10.0]])
    )
    assert_allclose(model.objective_, value(grams, y, model.weights_ + 1e-300), rtol=1e-6)
    assert model.objective_ <= best + 1e-3
    assert (np.diff(model.objective_history_) <= 1e-8 * model.objective_).all()
    assert (model.weights_ == 0.0).any()
    assert model.score(X, y) > 0.8
    assert np.isfinite(model.predict_proba(X)).all()


def test_several_classes_sum_over_their_latent_functions() -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[::5], y[::5]
    model = BayesianMKLClassifier([Gaussian(2.0), Gaussian(6.0)], objective="laplace").fit(X, y)
    K = model.kernel_(X)
    expected = sum(laplace_approximation(K, np.where(y == c, 1.0, -1.0))[0] for c in range(3))
    assert_allclose(model.objective_, expected, rtol=1e-6)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.score(X, y) > 0.9

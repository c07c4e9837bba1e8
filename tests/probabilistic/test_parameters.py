"""Kernels' own parameters by marginal likelihood, and scikit-learn's Gaussian processes."""

from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import central_difference
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from mercer import BayesianMKLClassifier, BayesianMKLRegressor
from mercer._search.parameter_search import Optimum
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.probabilistic import _searches


def problem(n: int = 80, d: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, d))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, -1] + 0.2 * rng.normal(size=n)
    return X, (y - y.mean()) / y.std()


# --- the same kernel --------------------------------------------------------------------------


def test_a_gaussian_process_of_the_same_kernel() -> None:
    X, y = problem(60)
    y = 3.0 * y + 7.0
    model = BayesianMKLRegressor([Gaussian(0.8), Gaussian(3.0)]).fit(X, y)
    scale = 3.0**2
    parts = [
        ConstantKernel(weight) * RBF(width / np.sqrt(2.0))
        for weight, width in zip(model.weights_, (0.8, 3.0), strict=True)
        if weight > 0.0
    ]
    kernel = reduce(add, parts)
    same = GaussianProcessRegressor(
        kernel, alpha=model.noise_variance_ / scale, optimizer=None, normalize_y=True
    ).fit(X, y)
    given = GaussianProcessRegressor(
        ConstantKernel(scale) * kernel, alpha=model.noise_variance_, optimizer=None
    ).fit(X, y - model.y_mean_)
    assert_allclose(model.log_marginal_likelihood_, given.log_marginal_likelihood_value_, rtol=1e-8)
    Z = np.random.default_rng(1).uniform(-3.0, 3.0, (20, 2))
    mean, std = model.predict(Z, return_std=True)
    expected, deviation = same.predict(Z, return_std=True)
    assert_allclose(mean, expected, rtol=0.0, atol=1e-8)
    assert_allclose(std, deviation, rtol=1e-8)


# --- gradients --------------------------------------------------------------------------------


def searched(
    model: Any, X: np.ndarray, y: Any, monkeypatch: pytest.MonkeyPatch, **weights: np.ndarray
) -> Any:
    """The function of logarithms that a fit minimizes, and where it starts."""
    seen: list[Any] = []

    def started(function: Any, x: np.ndarray, *_: Any, **__: Any) -> Optimum:
        seen.extend([function, x])
        return Optimum(x, (function(x)[0],))

    with monkeypatch.context() as patch:
        patch.setattr(_searches, "descend", started)
        model.fit(X, y, **weights)
    return seen


def test_of_many_rows_some_are_searched_with_their_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    X, weights = random.normal(size=(500, 2)), random.uniform(0.5, 3.0, size=500)
    y = X[:, 0] + random.normal(size=500) > 0.0
    model = BayesianMKLClassifier([Gaussian()], learn_parameters=True)
    some, x, *_ = searched(model, X, y, monkeypatch, sample_weight=weights)
    rows = np.flatnonzero(np.isin(X[:, 0], some.samples.X[:, 0]))
    assert len(rows) == 250
    alone, *_ = searched(model, X[rows], y[rows], monkeypatch, sample_weight=weights[rows])
    assert_allclose(some(x)[0], alone(x)[0], rtol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        BayesianMKLRegressor(),
        BayesianMKLRegressor(noise=0.2),
        BayesianMKLRegressor(likelihood="laplace", objective="vb"),
        BayesianMKLClassifier(),
    ],
)
def test_gradients_of_the_marginal_likelihood(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In logarithms of weights, noise and parameters, together; of two responses, three classes."""
    X, y = problem(25, 3)
    target = np.column_stack([y, np.cos(3.0 * X[:, 1])])
    if isinstance(model, BayesianMKLClassifier):
        target = np.digitize(y, [-0.5, 0.5])
    kernels = [Gaussian(1.3, ard=True), Polynomial(2), Linear()]
    model = clone(model).set_params(kernels=kernels, learn_parameters=True)
    objective, x = searched(model, X, target, monkeypatch)
    x = x + np.random.default_rng(0).normal(scale=0.3, size=len(x))
    gradient = objective(x)[1]
    expected = central_difference(lambda x: objective(x)[0], x, 1e-4)
    assert_allclose(gradient, expected, rtol=1e-4, atol=1e-4)


# --- optima -----------------------------------------------------------------------------------


def test_the_optimum_of_a_gaussian_process() -> None:
    X, y = problem()
    y = y + 0.5
    kernel = ConstantKernel(1.0, (1e-6, 1e6)) * RBF(np.ones(2), (0.02, 70.0))
    same = GaussianProcessRegressor(
        kernel + WhiteKernel(0.1, (1e-8, 1e2)), n_restarts_optimizer=3, random_state=0, alpha=0.0
    ).fit(X, y)
    bounds = (0.02 * np.sqrt(2.0), 70.0 * np.sqrt(2.0))
    model = BayesianMKLRegressor(
        [Gaussian(ard=True, bounds=bounds)], learn_parameters=True, normalize_y=False, tol=1e-6
    ).fit(X, y)
    best = same.log_marginal_likelihood_value_
    assert model.log_marginal_likelihood_ >= best - 1e-4 * abs(best)
    assert_allclose(model.log_marginal_likelihood_, best, rtol=1e-4)
    widths = np.exp(model.kernel_.kernels[0].theta) / np.sqrt(2.0)
    assert_allclose(widths, same.kernel_.k1.k2.length_scale, rtol=0.05)
    assert_allclose(model.noise_variance_, same.kernel_.k2.noise_level, rtol=0.05)
    Z = np.random.default_rng(1).uniform(-2.0, 2.0, (20, 2))
    assert_allclose(model.predict(Z), same.predict(Z), atol=0.02)


def test_learned_parameters_are_better_and_within_bounds() -> None:
    X, y = problem(50)
    plain = BayesianMKLRegressor([Gaussian(5.0)]).fit(X, y)
    learned = BayesianMKLRegressor([Gaussian(5.0)], learn_parameters=True).fit(X, y)
    assert learned.log_marginal_likelihood_ > plain.log_marginal_likelihood_ + 1.0
    narrow = BayesianMKLRegressor([Gaussian(5.0, bounds=(4.0, 6.0))], learn_parameters=True)
    width = float(np.exp(narrow.fit(X, y).kernel_.kernels[0].theta[0]))
    assert_allclose(width, 4.0, rtol=1e-6)
    assert narrow.kernels[0].bandwidth == 5.0

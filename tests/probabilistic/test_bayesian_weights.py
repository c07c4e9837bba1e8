"""Weights of samples in Bayesian estimators: two is the row given twice, zero the row left out."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier

from mercer import BayesianMKLClassifier, BayesianMKLRegressor
from mercer._gram.samples import Samples
from mercer.kernels import Gaussian, Linear
from mercer.probabilistic._model import Settings, learn_model

KERNELS = [Gaussian(0.5), Gaussian(2.0), Linear()]
ESTIMATORS = [
    *(BayesianMKLClassifier(KERNELS, objective=name) for name in ("vb", "laplace", "map", "mkl")),
    BayesianMKLClassifier([Gaussian()], learn_parameters=True),
    BayesianMKLRegressor(KERNELS),
    BayesianMKLRegressor(KERNELS, objective="mkl", noise=0.1),
    BayesianMKLRegressor(KERNELS, likelihood="laplace", objective="vb", noise=0.1),
    BayesianMKLRegressor(KERNELS, likelihood="laplace", objective="map", noise=0.1),
    BayesianMKLRegressor([Gaussian()], learn_parameters=True),
    BayesianMKLRegressor([Linear(per_feature=True)]),
]
NUMBERS = (
    *("weights_", "shares_", "alignment_", "objective_", "log_marginal_likelihood_"),
    *("noise_variance_", "y_mean_", "y_scale_", "dual_gap_"),
)


def problem(estimator, n=20):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    signal = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.3 * rng.normal(size=n)
    y = np.digitize(signal, [-0.3, 0.3]) if is_classifier(estimator) else signal
    return X, y, rng.integers(0, 4, size=n)


def named(estimator):
    return repr(estimator).replace("\n", "")


def predictions(model, X):
    if is_classifier(model):
        return model.predict_proba(X)
    if len(model.cholesky_):
        return np.column_stack(model.predict(X, return_std=True))
    return model.predict(X)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=named)
def test_whole_weights_repeat_rows(estimator):
    X, y, weights = problem(estimator)
    counts = weights.astype(int)
    repeated = clone(estimator).fit(X.repeat(counts, axis=0), y.repeat(counts))
    weighted = clone(estimator).fit(X, y, sample_weight=weights)
    assert weighted.dual_coef_.shape[0] == len(X)
    assert not weighted.dual_coef_[weights == 0.0].any()
    for name in filter(partial(hasattr, weighted), NUMBERS):
        expected = getattr(repeated, name)
        assert_allclose(getattr(weighted, name), expected, rtol=1e-9, atol=1e-9, err_msg=name)
    assert_allclose(predictions(weighted, X), predictions(repeated, X), rtol=1e-9, atol=1e-9)


def test_learned_noise_is_a_minimum_for_small_weights():
    """With weights of more than n in all, the likelihood increases as the noise vanishes."""
    X, y, weights = problem(BayesianMKLRegressor())
    weights = 0.3 * (weights + 0.5)
    kernels = [kernel.bind(X) for kernel in KERNELS]
    samples = Samples(X, 3, weights=weights)
    setting = Settings(
        objective="marginal_likelihood", likelihood="gaussian", noise=None, jitter=0.5,
        weight_penalty=1.0, norm=1.0, learns_parameters=False, n_starts=1, tol=1e-9, max_iter=500,
    )  # fmt: skip
    model = learn_model(samples, kernels, y[:, None], setting)
    K = np.tensordot(model.weights, [kernel(X) for kernel in kernels], axes=1)

    def value(noise):
        A = K + np.diag(noise / weights)
        n_more = weights.sum() - len(y)
        constant = weights.sum() * np.log(2.0 * np.pi) + np.log(weights).sum()
        fitted = y @ np.linalg.solve(A, y)
        return fitted + np.linalg.slogdet(A)[1] + n_more * np.log(noise) + constant

    assert model.objective == pytest.approx(value(model.noise), rel=1e-7)
    assert value(model.noise) <= value(1.02 * model.noise)
    assert value(model.noise) <= value(0.98 * model.noise)


def test_stacks_take_weights():
    estimator = BayesianMKLRegressor("precomputed", noise=0.1, tol=1e-6)
    X, y, weights = problem(estimator)
    stack = np.stack([kernel(X) for kernel in KERNELS], axis=2)
    weighted = clone(estimator).fit(stack, y, sample_weight=weights)
    there = np.flatnonzero(weights)
    left_out = clone(estimator)
    left_out.fit(stack[np.ix_(there, there)], y[there], sample_weight=weights[there])
    assert_array_equal(weighted.weights_, left_out.weights_)
    counts = weights.astype(int)
    again = np.repeat(np.repeat(stack, counts, axis=0), counts, axis=1)
    repeated = clone(estimator).fit(again, y.repeat(counts))
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-6)
    found, expected = weighted.predict(stack), repeated.predict(np.repeat(stack, counts, 1))
    assert_allclose(found, expected, atol=2e-3)

"""The learned noise does not vanish because rows are copied, or because weights are large."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from mercer import BayesianMKLRegressor
from mercer._gram.samples import Samples
from mercer.kernels import Gaussian
from mercer.probabilistic._model import Settings, learn_model

N = 80
KERNELS = [Gaussian(1.0), Gaussian(3.0)]
ESTIMATORS = [
    BayesianMKLRegressor(KERNELS),
    BayesianMKLRegressor(),
    BayesianMKLRegressor([Gaussian()], learn_parameters=True),
    BayesianMKLRegressor(KERNELS, likelihood="laplace", objective="vb"),
    BayesianMKLRegressor(KERNELS, objective="map"),
]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: repr(e)[20:])


def function(X: np.ndarray) -> np.ndarray:
    return np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1]


def table(n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows, and responses with a noise variance of 0.09."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, (n, 2))
    return X, function(X) + 0.3 * rng.normal(size=n)


def coverage(model: BayesianMKLRegressor) -> float:
    X, y = table(1000, seed=1)
    ends = model.predict_interval(X, 0.9)
    return float(np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])))


def error(model: BayesianMKLRegressor) -> float:
    X, _ = table(1000, seed=1)
    return float(np.sqrt(np.mean((model.predict(X) - function(X)) ** 2)))


@every_estimator
@pytest.mark.parametrize("n_copies", [2, 10, 40, 80])
def test_copies_do_not_change_the_noise(estimator: Any, n_copies: int) -> None:
    X, y = table()
    alone = clone(estimator).fit(X, y)
    rows = np.append(np.arange(N), np.random.default_rng(2).permutation(N)[:n_copies])
    copied = clone(estimator).fit(X[rows], y[rows])
    assert_allclose(copied.noise_variance_, alone.noise_variance_, rtol=0.02)
    assert error(copied) < 1.15 * error(alone)
    assert coverage(copied) > coverage(alone) - 0.03


@pytest.mark.parametrize("changed", ["X", "y"])
def test_copies_up_to_rounding_are_copies(changed: str) -> None:
    X, y = table()
    both = {"X": np.concatenate([X, X[:10]]), "y": np.append(y, y[:10])}
    both[changed][N:] *= 1.0 + 1e-13
    found = BayesianMKLRegressor(KERNELS).fit(**both)
    exact = BayesianMKLRegressor(KERNELS).fit(np.concatenate([X, X[:10]]), np.append(y, y[:10]))
    assert_allclose(found.noise_variance_, exact.noise_variance_, rtol=1e-6)


@every_estimator
@pytest.mark.parametrize("weight", [0.1, 2.0, 3000.0])
def test_equal_weights_change_nothing(estimator: Any, weight: float) -> None:
    X, y = table()
    alone = clone(estimator).fit(X, y)
    weighted = clone(estimator).fit(X, y, sample_weight=np.full(N, weight))
    # Weighted rows are sorted, so that searches end elsewhere within their tolerance.
    assert_allclose(weighted.noise_variance_, alone.noise_variance_, rtol=0.01)
    assert_allclose(weighted.predict(X), alone.predict(X), atol=0.01)


@every_estimator
def test_the_noise_does_not_vanish_with_large_unequal_weights(estimator: Any) -> None:
    X, y = table()
    weights = np.random.default_rng(3).uniform(1000.0, 5000.0, N)
    alone = clone(estimator).fit(X, y)
    weighted = clone(estimator).fit(X, y, sample_weight=weights)
    assert_allclose(weighted.noise_variance_, alone.noise_variance_, rtol=0.2)
    assert coverage(weighted) > coverage(alone) - 0.03


def test_rows_of_weight_zero_are_no_copies() -> None:
    X, y = table()
    rows = np.append(np.arange(N), np.arange(40))
    weights = np.append(np.ones(N), np.zeros(40))
    alone = BayesianMKLRegressor(KERNELS).fit(X, y)
    with_zeros = BayesianMKLRegressor(KERNELS).fit(X[rows], y[rows], sample_weight=weights)
    assert_allclose(with_zeros.noise_variance_, alone.noise_variance_, rtol=1e-9)
    assert_allclose(with_zeros.predict(X), alone.predict(X), atol=1e-9)


@every_estimator
@pytest.mark.parametrize("n_repeated", [2, 40, 80])
def test_repeated_measurements_show_the_noise(estimator: Any, n_repeated: int) -> None:
    """Rows with equal features and different responses are observations of their own."""
    X, y = table()
    again = function(X) + 0.3 * np.random.default_rng(4).normal(size=N)
    twice = np.append(np.arange(N), np.arange(n_repeated))
    model = clone(estimator).fit(X[twice], np.append(y, again[:n_repeated]))
    assert len(model.rows_) == N + n_repeated
    if n_repeated > 2:
        assert 0.06 < model.noise_variance_ < 0.14
        assert coverage(model) > 0.85


@pytest.mark.parametrize("categorical", [False, True])
def test_observations_without_copies_are_all_counted(categorical: bool) -> None:
    """Whether all differ, or rows of categories are equal by chance."""
    rng = np.random.default_rng(5)
    X, y = table()
    if categorical:
        X = rng.integers(0, 4, (N, 2)).astype(float)
        y = np.round(function(X) + 0.5 * rng.normal(size=N))
    model = BayesianMKLRegressor(KERNELS).fit(X, y)
    assert (len(model.rows_) < N) == categorical
    found = learn_model(
        Samples(X, 2), [kernel.bind(X) for kernel in KERNELS],
        ((y - model.y_mean_) / model.y_scale_)[:, None],
        Settings(
            objective="marginal_likelihood", likelihood="gaussian", noise=None, jitter=0.5,
            weight_penalty=1.0, norm=1.0, learns_parameters=False, n_starts=2, tol=1e-4,
            max_iter=200,
        ),
    )  # fmt: skip
    expected = found.noise * model.y_scale_[0] ** 2
    assert_allclose(model.noise_variance_, expected, rtol=1e-3 if categorical else 1e-12)


def test_copies_in_stacks_of_gram_matrices() -> None:
    X, y = table()
    stack = np.stack([kernel(X) for kernel in KERNELS], axis=2)
    alone = BayesianMKLRegressor("precomputed").fit(stack, y)
    rows = np.append(np.arange(N), np.arange(40))
    copied = BayesianMKLRegressor("precomputed").fit(stack[np.ix_(rows, rows)], y[rows])
    assert_allclose(copied.noise_variance_, alone.noise_variance_, rtol=0.2)
    assert_allclose(copied.predict(stack[:, rows]), alone.predict(stack), atol=0.2)


def test_a_given_noise_takes_weights_as_they_are() -> None:
    """A sample of weight w has the noise variance noise / w."""
    X, y = table()
    weights = np.random.default_rng(6).uniform(1.0, 3.0, N)
    models = [
        BayesianMKLRegressor(KERNELS, noise=factor * 0.09, normalize_y=False, tol=1e-8)
        .fit(X, y, sample_weight=factor * weights)
        for factor in (1.0, 10.0)
    ]  # fmt: skip
    assert_allclose(models[1].predict(X), models[0].predict(X), atol=1e-3)


def test_learned_noise_is_a_minimum_for_small_weights() -> None:
    """With weights of more than n in all, the likelihood increases as the noise vanishes."""
    X, y = table(20)
    weights = 0.3 * (np.random.default_rng(0).integers(0, 4, size=20) + 0.5)
    kernels = [kernel.bind(X) for kernel in KERNELS]
    samples = Samples(X, len(kernels), weights=weights)
    setting = Settings(
        objective="marginal_likelihood", likelihood="gaussian", noise=None, jitter=0.5,
        weight_penalty=1.0, norm=1.0, learns_parameters=False, n_starts=1, tol=1e-9, max_iter=500,
    )  # fmt: skip
    model = learn_model(samples, kernels, y[:, None], setting)
    K = np.tensordot(model.weights, [kernel(X) for kernel in kernels], axes=1)

    def value(noise: float) -> float:
        A = K + np.diag(noise / weights)
        n_more = weights.sum() - len(y)
        constant = weights.sum() * np.log(2.0 * np.pi) + np.log(weights).sum()
        fitted = y @ np.linalg.solve(A, y)
        return float(fitted + np.linalg.slogdet(A)[1] + n_more * np.log(noise) + constant)

    assert model.objective == pytest.approx(value(model.noise), rel=1e-7)
    assert value(model.noise) <= value(1.02 * model.noise)
    assert value(model.noise) <= value(0.98 * model.noise)

"""Poisson regression on a kernel: agreement with scikit-learn, exposure, bad input."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance

from mercer import KernelPoissonRegressor
from mercer.kernels import Gaussian, Linear


def counts(n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A table, counts, and the hours in which they were made."""
    rng = np.random.default_rng(seed)
    X, hours = rng.uniform(-2.0, 2.0, (n, 3)), rng.uniform(0.5, 5.0, n)
    return X, rng.poisson(hours * rates(X)), hours


def rates(X: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]))


X, Y, HOURS = counts()


def test_on_a_linear_kernel_it_is_scikit_learn_s() -> None:
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 150)
    model = KernelPoissonRegressor([Linear()], alpha=2.0).fit(X, Y, weights, exposure=HOURS)
    mass = weights * HOURS
    penalty = 2.0 / (model.weights_[0] * mass.sum())
    linear = PoissonRegressor(alpha=penalty, tol=1e-12, solver="newton-cholesky")
    linear.fit(X, Y / HOURS, sample_weight=mass)
    assert_allclose(model.predict(X), linear.predict(X), rtol=1e-6)
    own = model.score(X, Y, weights, exposure=HOURS)
    assert_allclose(own, linear.score(X, Y / HOURS, sample_weight=mass), atol=1e-9)


def test_exposure_multiplies_expected_counts() -> None:
    model = KernelPoissonRegressor().fit(X, Y, exposure=HOURS)
    assert_allclose(model.predict(X, exposure=HOURS), HOURS * model.predict(X))
    in_minutes = KernelPoissonRegressor().fit(X, Y, exposure=60.0 * HOURS)
    assert_allclose(60.0 * in_minutes.predict(X), model.predict(X), rtol=1e-6)
    assert in_minutes.alpha_ == pytest.approx(model.alpha_)
    new, y, hours = counts(1000, 1)
    ignoring = KernelPoissonRegressor().fit(X, Y)
    own, other = model.predict(new, exposure=hours), ignoring.predict(new)
    assert mean_poisson_deviance(y, own) < 0.7 * mean_poisson_deviance(y, other)


def test_the_function_is_found() -> None:
    new, y, hours = counts(1000, 1)
    model = KernelPoissonRegressor().fit(X, Y, exposure=HOURS)
    found = mean_poisson_deviance(y, model.predict(new, exposure=hours))
    assert found == pytest.approx(model.loo_deviance_, rel=0.2)
    linear = PoissonRegressor(alpha=1e-3).fit(X, Y / HOURS, sample_weight=HOURS)
    assert found < 0.8 * mean_poisson_deviance(y, hours * linear.predict(new))
    assert_allclose(mean_poisson_deviance(Y, model.loo_predictions_), model.loo_deviance_)


def test_large_counts() -> None:
    model = KernelPoissonRegressor().fit(X, np.random.default_rng(0).poisson(1e9 * rates(X)))
    new = np.random.default_rng(1).uniform(-1.5, 1.5, (100, 3))
    assert_allclose(model.predict(new), 1e9 * rates(new), rtol=0.25)


def test_far_samples_do_not_overflow() -> None:
    model = KernelPoissonRegressor([Linear()]).fit(X, Y)
    assert np.isfinite(model.predict(1e6 * X)).all()


def test_constant_counts_are_predicted() -> None:
    model = KernelPoissonRegressor().fit(X, np.full(150, 7.5))
    assert_allclose(model.predict(X), 7.5, rtol=1e-6)
    assert model.loo_deviance_ < 1e-8


def test_mostly_zeros() -> None:
    y = np.zeros(150)
    y[[3, 8]] = 1.0
    model = KernelPoissonRegressor().fit(X, y)
    assert model.predict(X).mean() == pytest.approx(2.0 / 150.0, rel=1e-6)
    assert np.isfinite(model.loo_predictions_).all()
    one = np.zeros(150)
    one[5] = 2.0
    rare = KernelPoissonRegressor().fit(X, one)
    assert rare.loo_predictions_[5] == pytest.approx(1.0 / 300.0, rel=0.1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": Y - 1 - Y.min()}, r"out of the valid range of the Poisson loss.*got -1"),
        ({"y": np.zeros(150)}, "All counts in y are zero"),
        ({"sample_weight": np.where(Y > 0, 0.0, 1.0)}, "All counts in y are zero"),
        ({"exposure": np.zeros(150)}, "exposure must be positive; got 0"),
        ({"exposure": HOURS[:10]}, "inconsistent numbers of samples"),
        ({"exposure": np.full(150, np.nan)}, "NaN"),
        ({"y": np.column_stack([Y, Y])}, "1d array"),
    ],
)
def test_bad_input_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KernelPoissonRegressor().fit(X, **{"y": Y, **given})


def test_exposure_of_new_samples_is_checked() -> None:
    with pytest.raises(ValueError, match="exposure must be positive"):
        KernelPoissonRegressor([Gaussian(2.0)]).fit(X, Y).predict(X, exposure=-HOURS)

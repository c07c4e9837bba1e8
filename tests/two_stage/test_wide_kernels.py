"""Wide kernels of ridge regression, whose values nearly cancel in sums with large coefficients."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from mercer import TwoStageRegressor, UniformCombination
from mercer.kernels import Gaussian


@pytest.fixture(scope="module")
def wide() -> tuple[TwoStageRegressor, np.ndarray, np.ndarray]:
    X, y = make_friedman1(300, 5, noise=1.0, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TwoStageRegressor(UniformCombination([Gaussian(14.0)]), alpha=1e-8)
        return model.fit(X[:250], y[:250]), X, y


def test_a_row_is_predicted_alone_as_among_others(wide: tuple) -> None:
    model, X, y = wide
    assert np.abs(model.predictor_.dual_coef_).max() > 1e6
    together = model.predict(X[250:])
    alone = np.concatenate([model.predict(X[[row]]) for row in range(250, 300)])
    assert np.abs(together - alone).max() < 2e-6 * y.std()
    expansion = model.kernel_expansion()(X[250:])[:, 0]
    assert np.abs(together - expansion).max() < 2e-6 * y.std()


def test_predictions_are_those_of_long_doubles(wide: tuple) -> None:
    """The sum is computed from the coefficients and exact differences of the kernel from one."""
    model, X, y = wide
    train, new = X[:250].astype(np.longdouble), X[250:].astype(np.longdouble)
    distances = ((new[:, None] - train[None]) ** 2).sum(axis=2)
    weight = np.longdouble(model.kernel_.weights[0])
    dual = model.predictor_.dual_coef_.astype(np.longdouble)
    dual -= dual.mean()
    expected = weight * np.expm1(-distances / np.longdouble(14.0) ** 2) @ dual
    found = model.predict(X[250:])
    assert np.abs(found - found.mean() - (expected - expected.mean())).max() < 2e-6 * y.std()


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_default_predictions_of_a_row_alone_have_nine_digits(noise: float) -> None:
    for seed in range(3):
        X, y = make_friedman1(430, 5, noise=noise, random_state=seed)
        model = TwoStageRegressor().fit(X[:400], y[:400])
        together = model.predict(X[400:])
        alone = np.concatenate([model.predict(X[[row]]) for row in range(400, 430)])
        assert np.abs(together - alone).max() < 1e-9 * y.std()


def test_smallest_penalty_is_a_billionth() -> None:
    x = np.linspace(0.0, 3.0, 60)[:, None]
    model = TwoStageRegressor(UniformCombination([Gaussian(4.0)])).fit(x, np.sin(x[:, 0]))
    assert model.cv_results_["param_alpha"].min() == pytest.approx(1e-9)

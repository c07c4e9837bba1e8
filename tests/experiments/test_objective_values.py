"""The four objectives side by side: the chain of bounds, and their shapes."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from experiments.objective_values import ObjectiveValues, compare_objectives
from mercer.kernels import Gaussian
from mercer.probabilistic import (
    GaussianLikelihood,
    LaplaceLikelihood,
    LogisticLikelihood,
    posterior,
)

KERNELS = [Gaussian(0.6), Gaussian(3.0)]
PATH = np.linspace([3.0, 0.0], [0.0, 3.0], 13)
JITTER = 0.2
LIKELIHOODS: dict[str, Any] = {
    "gaussian": GaussianLikelihood(0.3),
    "laplace": LaplaceLikelihood(2.5),
    "logistic": LogisticLikelihood(),
}


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).uniform(-2.0, 2.0, size=(30, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] ** 2 - 0.4
    return X, np.where(y > 0.0, 1.0, -1.0) if name == "logistic" else y


@pytest.fixture(params=LIKELIHOODS, name="name")
def _name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def along_the_path(name: str, **options: Any) -> list[ObjectiveValues]:
    likelihood = LIKELIHOODS[name]
    return compare_objectives(
        *data(name), KERNELS, PATH, likelihood=likelihood, jitter=JITTER, **options
    )


def test_each_bounds_the_next(name: str) -> None:
    for value in along_the_path(name, tangent_at=[1.0, 1.5]):
        if name == "gaussian":
            assert_allclose(value.variational, value.marginal, rtol=1e-9)
            assert_allclose(value.map_bound, value.marginal, rtol=1e-9)
        else:
            assert np.isnan(value.marginal)
            assert value.variational < value.map_bound
        assert value.map < value.mkl_bound
        assert value.log_determinant < value.tangent


def test_the_tangent_touches(name: str) -> None:
    at = along_the_path(name, tangent_at=PATH[4])[4]
    assert_allclose(at.tangent, at.log_determinant, rtol=1e-12)
    assert_allclose(at.mkl_bound, at.map, rtol=1e-12)


def test_values_are_those_of_posteriors(name: str) -> None:
    X, y = data(name)
    likelihood = LIKELIHOODS[name]
    found = along_the_path(name, weight_penalty=2.0, norm=1.5)[5]
    joint = posterior(X, y, KERNELS, PATH[5], likelihood=likelihood, objective="map", jitter=JITTER)
    assert_allclose(found.map, joint.objective, rtol=1e-8)
    risk = posterior(
        X, y, KERNELS, PATH[5], likelihood=likelihood, objective="mkl", weight_penalty=2.0, norm=1.5
    )
    assert_allclose(found.mkl, risk.objective, rtol=1e-8)


def test_shapes_along_a_line(name: str) -> None:
    """MKL is convex and ln|K_e| concave; MAP, their difference but for constants, need not be."""
    values = along_the_path(name, tangent_at=PATH[6])
    curves = {
        field: np.diff([getattr(value, field) for value in values], 2)
        for field in ("mkl", "mkl_bound", "log_determinant", "map")
    }
    assert (curves["mkl"] > 0.0).all()
    assert (curves["mkl_bound"] > 0.0).all()
    assert (curves["log_determinant"] < 0.0).all()
    if name == "gaussian":
        assert (curves["map"] < 0.0).any()


def test_one_row_of_weights_is_one_value() -> None:
    X, y = data("gaussian")
    likelihood = LIKELIHOODS["gaussian"]
    [found] = compare_objectives(X, y, KERNELS, PATH[3], likelihood=likelihood, jitter=JITTER)
    expected = along_the_path("gaussian")[3]
    assert_allclose(found.weights, expected.weights)
    assert_allclose([found.map, found.mkl], [expected.map, expected.mkl], rtol=1e-9)

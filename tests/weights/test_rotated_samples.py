"""Ridge regression on few features: rotated samples give the machines of the samples themselves."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from campaign import rotating
from numpy.testing import assert_allclose

from mercer import MKLClassifier, MKLRegressor
from mercer._gram.samples import Samples
from mercer._search.weights.rotated_samples import rotated_samples
from mercer.kernels import Gaussian, Kernel, Linear, OnColumns
from mercer.losses import Hinge, Squared
from mercer.losses._loss import Problems

# A constant feature, two equal ones, and one that no kernel reads; kernels overlap.
GROUPS = ([0, 1], [1, 2, 3], [4], [5, 6])


def table(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = 2.0 + rng.normal(size=(n, 8))
    X[:, 4], X[:, 6] = 3.0, X[:, 5]
    Y = X[:, [0, 2]] @ np.array([[1.0, 0.2], [0.5, -1.0]]) + 0.3 * rng.normal(size=(n, 2)) + 4.0
    return X, Y


def kernels() -> list[Kernel]:
    return [OnColumns(Linear(), columns) for columns in GROUPS]


def stack(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return np.stack([X[:, columns] @ Z[:, columns].T for columns in GROUPS], axis=2)


@pytest.mark.parametrize(
    ("norm", "task", "intercept"),
    rotating([1.0, 2.0, np.inf], ["response", "responses", "labels"], [True, False]),
)
def test_machines_are_those_of_the_gram_matrices(task: str, norm: float, intercept: bool) -> None:
    X, Y = table()
    options: dict[str, Any] = {"norm": norm, "fit_intercept": intercept, "tol": 1e-8}
    model: Any = MKLRegressor(kernels(), alpha=0.7, **options)
    y: np.ndarray = Y if task == "responses" else Y[:, 0]
    if task == "labels":
        model = MKLClassifier(kernels(), loss="squared", C=0.7, **options)
        y = np.where(y > np.median(y), "high", "low")
    model.fit(X[:50], y[:50])
    other = type(model)(**{**model.get_params(deep=False), "kernels": "precomputed"})
    other.fit(stack(X[:50], X[:50]), y[:50])
    assert model.dual_gap_ <= 1e-8
    assert_allclose(model.objective_, other.objective_, rtol=1e-10)
    assert_allclose(model.weights_, other.weights_, atol=1e-6)
    assert_allclose(model.alignment_, other.alignment_, rtol=1e-6)
    assert_allclose(model.shares_, other.shares_, atol=1e-6)
    scale = np.abs(other.dual_coef_).max()
    assert_allclose(model.dual_coef_, other.dual_coef_, atol=1e-5 * scale)
    values = getattr(model, "decision_function", model.predict)(X[50:])
    expected = getattr(other, "decision_function", other.predict)(stack(X[50:], X[:50]))
    assert_allclose(values, expected, rtol=1e-5, atol=1e-5)


def test_problems_that_rotation_does_not_serve_stay_as_they_are() -> None:
    X, Y = table()
    ridge = Problems(Squared(1.0), Y, True)
    rotated = rotated_samples(ridge, Samples(X), kernels())
    assert rotated is not None
    assert rotated.samples.n_samples < len(X)
    labels = Problems(Hinge(1.0), np.sign(Y[:, :1] - 4.0), True)
    assert rotated_samples(labels, Samples(X), kernels()) is None
    assert rotated_samples(ridge, Samples(sp.csr_array(X)), kernels()) is None
    assert rotated_samples(ridge, Samples(X), [Gaussian(1.0)]) is None
    few = Problems(Squared(1.0), Y[:9], True)
    assert rotated_samples(few, Samples(X[:9]), kernels()) is None

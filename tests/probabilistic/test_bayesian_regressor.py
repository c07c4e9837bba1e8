"""Probabilistic regression: several responses, and parameters of NumPy types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bayesian_cases import REGRESSORS, SOLVERS
from learner_cases import problem
from numpy.testing import assert_allclose
from sklearn.base import clone

from mercer import BayesianMKLRegressor
from mercer.kernels import Gaussian, Linear

KERNELS: list[Any] = [Gaussian(1.0), Gaussian(3.0), Linear()]


def make(solver: str, **options: Any) -> Any:
    return clone(SOLVERS[solver]).set_params(**{"kernels": KERNELS, "max_iter": 400, **options})


def has_variances(solver: str) -> bool:
    return solver not in ("laplace map", "laplace mkl")


@pytest.mark.parametrize("solver", REGRESSORS)
def test_several_responses_share_one_kernel(solver: str) -> None:
    X, Y = problem("two outputs", 20)
    model = make(solver).fit(X, Y)
    assert model.predict(X).shape == (20, 2)
    assert model.noise_variance_.shape == (2,)
    if has_variances(solver):
        mean, std = model.predict(X, return_std=True, include_noise=True)
        assert mean.shape == std.shape == (20, 2)
        assert_allclose(std[:, 1] / std[:, 0], model.y_scale_[1] / model.y_scale_[0], rtol=0.5)
    swapped = make(solver).fit(X, Y[:, ::-1])
    assert_allclose(swapped.objective_, model.objective_, rtol=1e-5)
    alone, column = make(solver).fit(X, Y[:, 0]), make(solver).fit(X, Y[:, :1])
    assert column.predict(X).shape == (20, 1)
    assert_allclose(column.predict(X)[:, 0], alone.predict(X), rtol=1e-12)
    if model.objective in ("marginal_likelihood", "vb"):
        twice = make(solver).fit(X, Y[:, [0, 0]])
        assert_allclose(twice.objective_, 2.0 * alone.objective_, rtol=5e-4)


PAIR: list[Any] = [Gaussian(1.0), "linear"]


def test_parameters_may_have_types_of_numpy() -> None:
    X, y = problem("regression")
    model = BayesianMKLRegressor(
        PAIR,
        normalize_y=np.True_,
        noise=np.float32(0.5),
        max_iter=np.int64(50),
        n_starts=np.int32(2),
    )
    expected = BayesianMKLRegressor(PAIR, noise=0.5, max_iter=50, n_starts=2).fit(X, y)
    assert_allclose(model.fit(X, y).predict(X), expected.predict(X))

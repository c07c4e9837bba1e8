"""Probabilistic regression: several responses, and parameters of NumPy types."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from bayesian_cases import has_variances, make
from learner_cases import problem
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import laplace, norm

from mercer.probabilistic._bayesian_regressor import laplace_half_widths


@cache
def model_of(solver: str, *columns: int) -> Any:
    """Return a model of some of the responses, of a vector if it is one."""
    X, Y = problem("two outputs", 20)
    return make(solver, n_starts=1).fit(X, Y[:, columns[0] if len(columns) == 1 else list(columns)])


@pytest.mark.parametrize(
    "solver", ["gaussian marginal", "gaussian mkl 2", "laplace vb, known noise"]
)
def test_several_responses_share_one_kernel(solver: str) -> None:
    X, Y = problem("two outputs", 20)
    model = model_of(solver, 0, 1)
    assert model.predict(X).shape == (20, 2)
    assert model.noise_variance_.shape == (2,)
    if has_variances(solver):
        mean, std = model.predict(X, return_std=True, include_noise=True)
        assert mean.shape == std.shape == (20, 2)
        assert_allclose(std[:, 1] / std[:, 0], model.y_scale_[1] / model.y_scale_[0], rtol=0.5)
    swapped = model_of(solver, 1, 0)
    assert_allclose(swapped.objective_, model.objective_, rtol=1e-5)
    alone, column = model_of(solver, 0), make(solver, n_starts=1).fit(X, Y[:, :1])
    assert column.predict(X).shape == (20, 1)
    assert_allclose(column.predict(X)[:, 0], alone.predict(X), rtol=1e-12)
    if model.objective in ("marginal_likelihood", "vb"):
        twice = model_of(solver, 0, 0)
        assert_allclose(twice.objective_, 2.0 * alone.objective_, rtol=5e-4)


@pytest.mark.parametrize(
    ("deviation", "coverage"), [(0.01, 0.9), (1.0, 0.1), (5.0, 0.999), (40.0, 0.9)]
)
def test_half_widths_hold_the_sum_with_the_coverage(deviation: float, coverage: float) -> None:
    """The sum is of a Gaussian and a Laplace variable; its distribution is integrated over one."""
    scale = 1.5
    width = laplace_half_widths(np.array([[deviation**2]]), 2.0 * scale**2, coverage).item()

    def held(latent: float) -> float:
        inside = np.diff(laplace.cdf([-width - latent, width - latent], scale=scale))
        return float(inside[0] * norm.pdf(latent, scale=deviation))

    limits = 12.0 * deviation
    found = quad(held, -limits, limits, points=[-width, width] if width < limits else None)[0]
    assert_allclose(found, coverage, rtol=1e-5)


@pytest.mark.parametrize("solver", ["gaussian marginal", "laplace vb, known noise", "laplace mkl"])
def test_intervals(solver: str) -> None:
    X, _ = problem("two outputs", 20)
    model = model_of(solver, 0, 1)
    if not has_variances(solver):
        with pytest.raises(ValueError, match="no variances"):
            model.predict_interval(X)
        return
    ends = model.predict_interval(X, 0.8)
    assert ends.shape == (20, 2, 2)
    mean, std = model.predict(X, return_std=True, include_noise=True)
    assert_allclose(ends.mean(axis=-1), mean)
    if model.likelihood == "gaussian":
        assert_allclose(ends[..., 1] - mean, norm.ppf(0.9) * std)
    one = model_of(solver, 0)
    assert one.predict_interval(X).shape == (20, 2)
    assert (np.ptp(one.predict_interval(X, 0.99), axis=1) > np.ptp(ends[:, 0], axis=1)).all()
    with pytest.raises(ValueError, match=r"between 0 and 1, such as 0\.9; got"):
        one.predict_interval(X, 90)

"""The learner of a kernel's parameters by marginal likelihood."""

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from mercer import EvidenceMaximization
from mercer.kernels import (
    ExponentialPower,
    Gaussian,
    Laplacian,
    Matern,
    Polynomial,
)

X, y = make_friedman1(120, n_features=7, noise=1.0, random_state=0)
y = (y - y.mean()) / y.std()


def test_as_likely_as_the_gaussian_process_of_scikit_learn() -> None:
    """With a prior too wide to matter; their lengths are widths / sqrt(2)."""
    wide = Gaussian(ard=True, bounds=(1e-2, 1e4))
    learner = EvidenceMaximization(wide, width_deviation=100.0).fit(X, y)
    kernel = ConstantKernel(1.0, (1e-3, 1e5)) * RBF(np.ones(7), (1e-2, 1e4)) + WhiteKernel(0.1)
    process = GaussianProcessRegressor(kernel, n_restarts_optimizer=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        process.fit(X, y)
    expected = process.log_marginal_likelihood_value_
    assert_allclose(learner.log_marginal_likelihood_, expected, atol=1.0)
    scaled = EvidenceMaximization(wide, width_deviation=100.0).fit(X, 1000.0 * y + 7.0)
    own = learner.log_marginal_likelihood_ - 120.0 * np.log(1000.0)
    assert_allclose(scaled.log_marginal_likelihood_, own, rtol=1e-6)


def test_a_narrow_prior_keeps_widths_alike() -> None:
    spread = [
        float(np.ptp(EvidenceMaximization(width_deviation=sd).fit(X, y).kernel_.theta))
        for sd in (0.01, 0.3, 3.0)
    ]
    assert spread[0] < 0.1 < spread[1] < spread[2]


@pytest.mark.parametrize(
    "kernel", [RBF(np.ones(7), (1e-2, 1e4)), 2.0 * RBF(np.ones(7), (1e-2, 1e4))], ids=str
)
@pytest.mark.parametrize("deviation", [0.01, 0.3])
def test_the_prior_holds_for_kernels_of_scikit_learn(kernel: Any, deviation: float) -> None:
    """They are as likely as the same kernel of mercer, with the same ratios of widths."""
    own = EvidenceMaximization(width_deviation=deviation).fit(X, y)
    learner = EvidenceMaximization(kernel, width_deviation=deviation).fit(X, y)
    expected = own.kernels_[0].theta
    found = learner.kernels_[0].theta[-7:]
    assert_allclose(found - found.mean(), expected - expected.mean(), atol=0.05)


ROUGH = [
    *(Matern(ard=True, nu=nu) for nu in (0.5, 1.5, 2.5)),
    *(
        Laplacian(ard=True),
        ExponentialPower(ard=True),
        ExponentialPower(ard=True, power=1.5, norm=2.0),
    ),
]


@pytest.mark.parametrize("kernel", [Gaussian(ard=True), *ROUGH, Matern(nu=1.5)], ids=repr)
def test_bounds_from_the_data_cost_little_evidence(kernel: Any) -> None:
    """Of a sine and a line, whose widths differ by much."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(100, 3))
    target = np.sin(2.0 * table[:, 0]) + table[:, 1] + 0.2 * rng.normal(size=100)
    settings = {**kernel.get_params(deep=False), "bounds": (1e-2, 1e5)}
    values, widths = [], []
    for each in (kernel, type(kernel)(**settings)):
        learner = EvidenceMaximization(each, max_iter=300).fit(table, target)
        values.append(100.0 * learner.history_[-1].objective)
        widths.append(learner.kernels_[0].theta[: np.size(learner.kernels_[0].bandwidth)])
    assert values[0] > values[1] - 0.3
    assert np.abs(widths[0] - widths[1])[:2].max() < 0.3


@pytest.mark.parametrize("kernel", [Polynomial(2), "laplacian"])
def test_kernels_without_a_width_per_feature(kernel: Any) -> None:
    learner = EvidenceMaximization(kernel).fit(X, y)
    assert np.isfinite(learner.log_marginal_likelihood_)
    assert learner.noise_ > 0.0


def test_too_few_iterations_warn() -> None:
    with pytest.warns(ConvergenceWarning) as caught:
        learner = EvidenceMaximization(max_iter=2).fit(X, y)
    gain = learner.history_[-1].objective - learner.history_[-2].objective
    message = str(caught[0].message)
    assert f"grew by {gain:.2g} in the last of 2 iterations" in message
    assert "raise max_iter (now 2)" in message


def test_of_noise_the_best_of_several_maxima_is_found() -> None:
    """From the best common width alone, the search ends at 2.04."""
    rng = np.random.default_rng(0)
    table, noise = rng.normal(size=(60, 3)), rng.normal(size=60)
    learner = EvidenceMaximization().fit(table, noise)
    assert 60.0 * learner.history_[-1].objective > 2.9


@pytest.mark.parametrize("n_copies", [2, 40, 120])
@pytest.mark.parametrize("classes", [False, True])
def test_copies_of_rows_change_nothing(n_copies: int, classes: bool) -> None:
    rows = np.append(np.arange(120), np.arange(n_copies))
    target = np.digitize(y, [-0.5, 0.5]) if classes else y
    alone = EvidenceMaximization().fit(X, target)
    copied = EvidenceMaximization().fit(X[rows], target[rows])
    assert_allclose(copied.kernel_.theta, alone.kernel_.theta, atol=1e-3)
    assert_allclose(copied.noise_, alone.noise_, rtol=1e-3)

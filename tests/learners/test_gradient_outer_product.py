"""The learner of metrics by average gradient outer products."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_friedman1

from mercer import GradientOuterProduct
from mercer.kernels import (
    Dirichlet,
    ExponentialPower,
    Gaussian,
    Linear,
    Matern,
    OnColumns,
    OnProjection,
)

X, y = make_friedman1(150, n_features=8, random_state=0)


def test_the_kernel_is_that_of_scaled_features() -> None:
    learner = GradientOuterProduct().fit(X, y)
    assert learner.best_iter_ > 0
    (kernel,) = learner.kernels_
    widths = np.asarray(kernel.bandwidth)
    isotropic = ExponentialPower(float((widths * learner.metric_).mean()))
    assert_allclose(kernel(X), isotropic(X * learner.metric_), rtol=1e-9)
    assert_allclose(widths * learner.metric_, widths[0] * learner.metric_[0], rtol=1e-12)
    assert learner.metric_.max() == 1.0
    assert_allclose(learner.transform(X), kernel(X) / learner.scale_, rtol=1e-9)


def test_the_kernel_is_that_of_the_product_with_a_matrix() -> None:
    learner = GradientOuterProduct(Matern(nu=2.5), diagonal=False).fit(X, y)
    (kernel,) = learner.kernels_
    assert isinstance(kernel, OnProjection)
    assert_allclose(kernel(X), kernel.kernel(X @ learner.metric_), rtol=1e-9)
    assert_allclose(np.linalg.norm(learner.metric_, 2), 1.0)


@pytest.mark.parametrize("kernel", [Gaussian(3.0), Gaussian(ard=True)])
def test_given_widths_do_not_matter(kernel: Any) -> None:
    expected = GradientOuterProduct(Gaussian()).fit(X, y)
    assert_array_equal(GradientOuterProduct(kernel).fit(X, y).metric_, expected.metric_)


def test_no_iteration_leaves_the_isotropic_kernel() -> None:
    learner = GradientOuterProduct(n_iter=0).fit(X, y)
    assert np.ndim(learner.kernels_[0].bandwidth) == 0
    assert learner.best_iter_ == 0
    assert learner.n_iter_ == 1


def test_history_holds_the_losses_on_held_out_samples() -> None:
    learner = GradientOuterProduct(n_iter=3).fit(X, y)
    objectives = [step.objective for step in learner.history_]
    assert len(objectives) == 4
    assert learner.best_iter_ == int(np.argmax(objectives))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": Linear()}, "a function of one distance on all features"),
        ({"kernel": OnColumns(Gaussian(), [0])}, "a function of one distance on all features"),
        ({"kernel": Dirichlet()}, "a function of one distance on all features"),
        ({"kernel": ExponentialPower(power=0.5, norm=0.5)}, "in a norm of one or more"),
        ({"kernel": ExponentialPower(), "diagonal": False}, "a kernel of the Euclidean distance"),
    ],
)
def test_refusals(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GradientOuterProduct(**settings).fit(X, y)

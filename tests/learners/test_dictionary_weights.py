"""Weights by HSIC of kernels of any scale, and constant kernels in a dictionary."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import centered_alignment, target_kernel
from sklearn.base import BaseEstimator, clone

from mercer import (
    AlignmentMaximization,
    ContinuousAlignment,
    HSICWeights,
    IndependentAlignment,
    KernelOptimization,
    UniformCombination,
)
from mercer._search.weights.alignment_weights import dependence_weights
from mercer.datasets import make_sine
from mercer.kernels import Dirichlet, Gaussian


def test_ties_up_to_rounding_go_to_the_first() -> None:
    assert_array_equal(dependence_weights(np.array([0.5, 1.0 - 1e-15, 1.0]), 1), [0.0, 1.0, 0.0])
    assert_array_equal(dependence_weights(np.zeros(3), 1), [1.0, 0.0, 0.0])
    assert_array_equal(dependence_weights(np.array([-1e-18, 2.0]), 2), [0.0, 2.0])


def test_nothing_to_find() -> None:
    """Features that are constant have kernels of no dependence: the first, or all alike."""
    X, y = np.ones((20, 2)), np.arange(20) % 2
    kernels = [Gaussian(1.0), Gaussian(2.0)]
    assert_array_equal(HSICWeights(kernels, norm=1).fit(X, y).weights_, [1.0, 0.0])
    assert_array_equal(HSICWeights(kernels).fit(X, y).weights_, [0.5, 0.5])


FREQUENCIES = [0.0, *np.arange(1.0, 10.0)]
GRID = [Dirichlet(s) for s in FREQUENCIES]
"""The grid of Afkanpour, Szepesvari, Bowling (2013), section 3.1, which starts at zero."""


@pytest.mark.parametrize(
    "learner",
    [
        UniformCombination(normalize="trace"),
        IndependentAlignment(),
        AlignmentMaximization(signs="free", clip_spectrum=True),
        HSICWeights(norm=2),
        HSICWeights(norm="cka"),
    ],
    ids=str,
)
def test_the_frequency_zero_has_no_weight(learner: BaseEstimator) -> None:
    X, y = make_sine(120, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = clone(learner).set_params(kernels=GRID).fit(X, y)
    rest = clone(learner).set_params(kernels=GRID[1:]).fit(X, y)
    assert whole.weights_[0] == 0.0
    assert whole.shares_[0] == 0.0
    assert_allclose(whole.weights_[1:], rest.weights_, rtol=1e-9, atol=1e-12)
    assert_allclose(whole.alignment_, rest.alignment_, rtol=1e-12)
    assert_allclose(
        whole.alignment_, centered_alignment(whole.kernel_(X), target_kernel(y)), rtol=1e-9
    )


def test_a_family_may_start_from_the_frequency_zero() -> None:
    X, y = make_sine(200, random_state=0)
    here, there = (ContinuousAlignment(Dirichlet(s, bounds=(0.0, 20.0))).fit(X, y) for s in (0, 1))
    assert_allclose(here.kernel_(X), there.kernel_(X), rtol=0)
    criterion = KernelOptimization(Dirichlet(0), criterion="cka").fit(X, y)
    assert criterion.kernels_[0].frequency > 0.0

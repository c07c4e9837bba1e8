"""A constant kernel in a dictionary: centering leaves nothing of it, and nothing else changes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import center, centered_alignment, target_kernel
from sklearn.base import BaseEstimator, clone

from mercer import (
    AlignmentMaximization,
    ContinuousAlignment,
    HSICWeights,
    IndependentAlignment,
    KernelOptimization,
    UniformCombination,
)
from mercer.datasets import make_sine
from mercer.kernels import Dirichlet
from mercer.metrics import centered_alignment as metric
from mercer.metrics import hsic

FREQUENCIES = [0.0, *np.arange(1.0, 10.0)]
KERNELS = [Dirichlet(s) for s in FREQUENCIES]
"""The grid of Afkanpour, Szepesvari, Bowling (2013), section 3.1, which starts at zero."""


@pytest.mark.parametrize(
    "learner",
    [
        UniformCombination(normalize="trace"),
        IndependentAlignment(),
        IndependentAlignment(normalize="trace"),
        AlignmentMaximization(),
        AlignmentMaximization(signs="free", clip_spectrum=True),
        HSICWeights(norm=1),
        HSICWeights(norm=2),
        HSICWeights(norm="cka"),
    ],
    ids=str,
)
def test_the_frequency_zero_has_no_weight(learner: BaseEstimator) -> None:
    X, y = make_sine(120, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = clone(learner).set_params(kernels=KERNELS).fit(X, y)
    rest = clone(learner).set_params(kernels=KERNELS[1:]).fit(X, y)
    assert whole.weights_[0] == 0.0
    assert whole.shares_[0] == 0.0
    assert_allclose(whole.weights_[1:], rest.weights_, rtol=1e-9, atol=1e-12)
    assert_allclose(whole.alignment_, rest.alignment_, rtol=1e-12)
    assert_allclose(
        whole.alignment_, centered_alignment(whole.kernel_(X), target_kernel(y)), rtol=1e-9
    )


def test_equal_weights_count_the_frequency_zero_which_changes_no_centered_matrix() -> None:
    X, y = make_sine(120, random_state=0)
    whole = UniformCombination(KERNELS).fit(X, y)
    rest = UniformCombination(KERNELS[1:]).fit(X, y)
    assert_allclose(whole.weights_, 0.1)
    assert whole.shares_[0] == 0.0
    assert_allclose(center(whole.kernel_(X)), center(rest.kernel_(X)), atol=1e-12)


@pytest.mark.parametrize("step", ["corrective", "stagewise"])
def test_a_family_may_start_from_the_frequency_zero(step: str) -> None:
    X, y = make_sine(200, random_state=0)
    here, there = (
        ContinuousAlignment(Dirichlet(s, bounds=(0.0, 20.0)), step=step).fit(X, y) for s in (0, 1)
    )
    assert_allclose(here.kernel_(X), there.kernel_(X), rtol=0)
    criterion = KernelOptimization(Dirichlet(0), criterion="cka").fit(X, y)
    assert criterion.kernels_[0].frequency > 0.0


def test_a_constant_kernel_aligns_with_nothing() -> None:
    X, y = make_sine(60, random_state=0)
    assert metric(Dirichlet(0)(X), y) == 0.0
    assert hsic(Dirichlet(0)(X), y) == 0.0
    first = ContinuousAlignment([Dirichlet(0, bounds=(1e-12, 1e-11))], max_kernels=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert 0.0 <= first.fit(X, y).alignment_ <= 1.0

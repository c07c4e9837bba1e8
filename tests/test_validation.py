"""Inputs that are easily accepted in silence, or refused in the wrong words."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from learner_cases import problem
from reference import gaussian
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer import (
    AlignmentMaximization,
    ContinuousAlignment,
    IndependentAlignment,
    KernelOptimization,
    TwoStageClassifier,
    TwoStageRegressor,
)
from mercer.kernels import Dirichlet, Gaussian, Linear

X, Y = problem("binary")
STACK = np.stack([gaussian(X, s) for s in (0.5, 1.0, 4.0)], axis=-1)
LEARNER = AlignmentMaximization("precomputed")


@pytest.mark.parametrize(
    "matrices",
    [
        np.concatenate([STACK, STACK], axis=2),
        STACK[..., :2],
        list(np.moveaxis(STACK, -1, 0))[:2],
        [*np.moveaxis(STACK, -1, 0)] * 2,
        STACK[..., 0],
    ],
)
def test_another_number_of_kernels_at_prediction(matrices: Any) -> None:
    learner = clone(LEARNER).fit(STACK, Y)
    with pytest.raises(ValueError, match=r"kernel|stack"):
        learner.transform(matrices)


def test_complex_stacks_lose_no_imaginary_part() -> None:
    with pytest.raises(ValueError, match="Complex data not supported"):
        clone(LEARNER).fit(STACK * (1 + 1j), Y)


def test_a_sparse_matrix_is_no_stack() -> None:
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        clone(LEARNER).fit(sp.csr_array(STACK[..., 0]), Y)


def test_no_kernels_in_a_stack() -> None:
    with pytest.raises(ValueError, match=r"at least one|shape"):
        clone(LEARNER).fit(np.empty((60, 60, 0)), Y)


def test_one_sample_is_said_to_be_one() -> None:
    with pytest.raises(ValueError, match="1 sample"):
        clone(LEARNER).fit(np.ones((1, 1)), [0])


def test_infinity_on_the_diagonal_of_a_stack() -> None:
    stack = STACK.copy()
    stack[5, 5, 0] = np.inf
    with pytest.raises(ValueError, match="contains infinity"):
        clone(LEARNER).fit(stack, Y)


def test_a_nested_list_with_kernels_last() -> None:
    found = clone(LEARNER).fit(STACK.tolist(), Y)
    assert np.allclose(found.weights_, clone(LEARNER).fit(STACK, Y).weights_)


@pytest.mark.parametrize("matrices", [[STACK[:50, :, 0], STACK[:50, :, 1]], [STACK[:, :50, 0]]])
def test_a_list_of_matrices_that_are_not_square(matrices: Any) -> None:
    with pytest.raises(ValueError, match="square"):
        clone(LEARNER).fit(matrices, Y[: len(matrices[0])])


@pytest.mark.parametrize("model", [TwoStageClassifier(LEARNER), TwoStageRegressor(LEARNER)])
@pytest.mark.parametrize("layout", [np.moveaxis(STACK, -1, 0), list(np.moveaxis(STACK, -1, 0))])
def test_two_stage_takes_the_layouts_of_its_learner(model: Any, layout: Any) -> None:
    y = Y if model.__sklearn_tags__().classifier_tags else X[:, 0]
    assert clone(model).fit(layout, y).predict(layout).shape == (60,)


@pytest.mark.parametrize(
    "learner",
    [
        ContinuousAlignment(tol=None),
        ContinuousAlignment(tol="auto"),
        ContinuousAlignment(width_penalty=None),
        ContinuousAlignment(max_kernels=2.5),
        ContinuousAlignment(max_kernels="3"),
        KernelOptimization(tol=-1.0),
        KernelOptimization(tol=np.nan),
        KernelOptimization(max_iter=-1),
        KernelOptimization(max_iter=0),
        AlignmentMaximization(clip_spectrum="yes"),
    ],
)
def test_settings_of_the_wrong_kind_are_named(learner: Any) -> None:
    names = "tol|width_penalty|max_kernels|max_iter|clip_spectrum"
    with pytest.raises((ValueError, TypeError), match=rf"\b({names})\b"):
        learner.fit(X, Y)


def test_dirichlet_on_nearly_coinciding_samples_stays_small() -> None:
    rng = np.random.default_rng(0)
    Z = np.round(rng.normal(size=(300, 1))) + 1e-5 * rng.normal(size=(300, 1))
    tracemalloc.start()
    try:
        ContinuousAlignment(Dirichlet()).fit(Z, np.sin(Z[:, 0]))
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


def test_the_learned_kernel_does_not_follow_the_callers_array() -> None:
    Z = X.copy()
    learner = ContinuousAlignment().fit(Z, Y)
    before = learner.transform(X)
    Z[:] = 0.0
    assert np.allclose(learner.transform(X), before)


def test_a_class_of_one_sample_does_not_stop_an_automatic_penalty() -> None:
    y = np.r_[Y[:-1], 2]
    ContinuousAlignment(Gaussian(ard=True), width_penalty="auto", random_state=0).fit(X, y)


def test_optimization_that_stops_early_warns() -> None:
    with pytest.warns(ConvergenceWarning):
        KernelOptimization(Gaussian(ard=True), "cka", ard_penalty=0.0, max_iter=2).fit(X, Y)


@pytest.mark.parametrize(
    "learner",
    [IndependentAlignment([Linear()]), ContinuousAlignment(), AlignmentMaximization()],
    ids=["align", "ca", "alignf"],
)
def test_features_whose_squares_overflow_are_refused_in_words(learner: Any) -> None:
    with pytest.raises(ValueError, match="too large"):
        learner.fit(X * 1e160, Y)


def test_one_pair_of_nearly_equal_samples_costs_little_memory() -> None:
    """Counts of distances do not reach down to it, octave by octave."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(3000, 5))
    Z[1] = Z[0] + 1e-8
    tracemalloc.start()
    try:
        with sklearn.config_context(working_memory=16):
            ContinuousAlignment().fit(Z, np.sign(Z[:, 0]))
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()

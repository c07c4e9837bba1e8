"""Training data, shares and unit scale of every estimator that learns a kernel."""

from __future__ import annotations

import numpy as np
import pytest
from learner_cases import LEARNERS, problem
from numpy.testing import assert_allclose, assert_array_equal
from reference import center
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from mercer import UniformCombination
from mercer._kernel_estimator import trace_shares
from mercer.kernels import Gaussian


@pytest.mark.parametrize(
    ("weights", "traces", "expected"),
    [
        ([1.0, 3.0], [6.0, 2.0], [0.5, 0.5]),
        ([-1.0, 1.0, 0.0], [3.0, 1.0, 5.0], [0.75, 0.25, 0.0]),
        ([2.0, 1.0], [-1e-17, 4.0], [0.0, 1.0]),
        ([0.0, 1.0], [1.0, 0.0], [0.0, 0.0]),
    ],
)
def test_shares_are_parts_of_the_trace(
    weights: list[float], traces: list[float], expected: list[float]
) -> None:
    assert_array_equal(trace_shares(np.array(weights), np.array(traces)), expected)


@pytest.mark.filterwarnings("ignore:Some weights are negative")
@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_learned_kernels_are_of_unit_scale(learner: BaseEstimator) -> None:
    X, y = problem("binary")
    fitted = clone(learner).fit(X, y)
    if (fitted.weights_ >= 0.0).all():
        assert_allclose(center(fitted.transform(X)).trace() / len(X), 1.0, rtol=1e-7)
    given = sum(w * k(X) for w, k in zip(fitted.weights_, fitted.kernels_, strict=True))
    assert_allclose(fitted.kernel_(X) * fitted.scale_, given, rtol=1e-9, atol=1e-12)


def test_a_constant_kernel_keeps_its_scale() -> None:
    X, y = np.ones((20, 2)), np.arange(20) % 2
    fitted = UniformCombination([Gaussian(1.0), Gaussian(2.0)]).fit(X, y)
    assert fitted.scale_ == 1.0
    assert_array_equal(fitted.kernel_(X), np.ones((20, 20)))


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_a_predictor_with_its_default_penalty_suits_kernels_of_any_scale(factor: float) -> None:
    X, y = problem("binary")
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    score = []
    for scale in (1.0, factor):
        learner = UniformCombination([lambda A, B, s=scale: s * Gaussian(2.0)(A, B)])
        model = make_pipeline(learner, SVC(kernel="precomputed")).fit(X, y)
        score.append(model.score(X_test, y_test))
    assert score[0] == score[1] > 0.6

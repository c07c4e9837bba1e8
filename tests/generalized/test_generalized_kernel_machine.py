"""Generalized kernel machines as second stages on a learned kernel."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_moons

from mercer import (
    KernelLogisticRegression,
    KernelOrdinalClassifier,
    KernelPoissonRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer._gram import memory
from mercer.inspection import shapley_values
from mercer.kernels import Gaussian, Laplacian

X, LABELS = make_moons(120, noise=0.3, random_state=0)
KERNELS = [Gaussian(1.0), Laplacian(2.0)]
COUNTS = np.random.default_rng(0).poisson(np.exp(X[:, 0]))


def test_it_is_the_machine_on_the_learned_kernel() -> None:
    learner = UniformCombination(KERNELS)
    model = TwoStageClassifier(learner, predictor=KernelLogisticRegression("precomputed"))
    model.fit(X[:80], LABELS[:80])
    gram = model.learner_.transform(X[:80])
    alone = KernelLogisticRegression("precomputed").fit(gram, LABELS[:80])
    rows = model.learner_.transform(X[80:])
    assert_allclose(model.predict_proba(X[80:]), alone.predict_proba(rows))
    assert model.predictor_.alpha_ == alone.alpha_
    assert model.predict_set(X[80:]).shape == (40, 2)
    assert model.held_out_classifier().samples_.shape == (80, 1)


def test_counts_and_grades_have_a_learned_kernel() -> None:
    counted = TwoStageRegressor(
        UniformCombination(KERNELS, task="regression"),
        predictor=KernelPoissonRegressor("precomputed"),
    ).fit(X, COUNTS)
    assert counted.predict(X).min() > 0.0
    grades = np.digitize(X[:, 0], [-0.5, 0.5, 1.5])
    graded = TwoStageClassifier(predictor=KernelOrdinalClassifier("precomputed")).fit(X, grades)
    assert graded.score(X, grades) > 0.8


def test_groups_and_weights_reach_the_machine() -> None:
    groups, weights = np.arange(120) // 4, np.where(np.arange(120) % 5 == 0, 0.0, 2.0)
    learner = UniformCombination(KERNELS)
    model = TwoStageClassifier(learner, predictor=KernelLogisticRegression("precomputed"))
    model.fit(X, LABELS, sample_weight=weights, groups=groups)
    rows = np.flatnonzero(weights)
    alone = KernelLogisticRegression("precomputed")
    alone.fit(model.learner_.transform(X[rows]), LABELS[rows], weights[rows], groups[rows])
    assert model.predictor_.loo_deviance_ == pytest.approx(alone.loo_deviance_)
    assert model.held_out_classifier().samples_[:, 0].tolist() == rows.tolist()


MACHINES = [KernelLogisticRegression(), KernelPoissonRegressor(), KernelOrdinalClassifier()]
MODELS: dict[str, Any] = {
    "classes": (
        TwoStageClassifier(
            UniformCombination(KERNELS), predictor=KernelLogisticRegression("precomputed")
        ),
        LABELS,
        "decision_function",
    ),
    "counts": (
        TwoStageRegressor(
            UniformCombination(KERNELS, task="regression"),
            predictor=KernelPoissonRegressor("precomputed"),
        ),
        COUNTS,
        "predict",
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_explanations_are_those_of_the_machine(name: str) -> None:
    model, y, method = MODELS[name]
    model.fit(X, y)
    expansion = model.kernel_expansion()
    values = getattr(model, method)(X)
    values = np.log(values) if name == "counts" else values
    assert expansion.scale == {"classes": "log-odds", "counts": "log rate"}[name]
    assert_allclose(expansion(X)[:, 0], values, atol=1e-9)
    found = shapley_values(model, X[:3], X[5:30], n_permutations="all")
    total = np.ravel(found.values.sum(axis=1) + found.base_value)
    assert_allclose(total, values[:3], atol=1e-8)


@pytest.mark.parametrize("model", MACHINES)
def test_fits_beyond_memory_are_refused(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 8.0 * 5 * 120**2 - 1.0)
    with pytest.raises(MemoryError, match=r"120 rows .* for 5 Gram"):
        model.fit(X, LABELS)

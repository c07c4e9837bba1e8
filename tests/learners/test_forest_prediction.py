"""Kernels of trees in two-stage estimators and in stacks: what they state of rows left out."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from mercer import (
    ForestKernel,
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
)
from mercer._estimators.two_stage import learned_gram
from mercer._estimators.two_stage.learned_gram import NESTED_ABOVE, n_learned_parameters

X, Y = make_friedman1(400, noise=1.0, random_state=0)
NEW, TRUTH = make_friedman1(1000, noise=1.0, random_state=1)
NOISE = np.random.default_rng(0).normal(size=400)
CLASSES, LABELS = (Y > 14.0).astype(int), (TRUTH > 14.0).astype(int)
COINS = np.random.default_rng(1).integers(0, 2, 400)


def fewer(ensemble: str = "boosting") -> ForestKernel:
    return ForestKernel(ensemble, n_trees=50)


def relative_error(model: Any, y: np.ndarray) -> float:
    """Mean squared residual of held-out rows, in the variance of the response."""
    return float(np.mean(np.square(model.cv_residuals_)) / y.var())


@pytest.mark.parametrize("ensemble", ["boosting", "extra-trees"])
def test_two_stages_state_the_error_on_rows_that_the_trees_have_not_seen(
    ensemble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = TwoStageRegressor(fewer(ensemble)).fit(X, Y)
    assert model.learner_.n_leaves_ == model.kernel_.kernels[0].features(X).shape[1]
    assert n_learned_parameters(model.learner_) > NESTED_ABOVE
    truth = 1.0 - model.score(NEW, TRUTH)
    assert truth < 0.2
    assert 0.75 * truth < relative_error(model, Y) < 1.5 * truth
    monkeypatch.setattr(learned_gram, "NESTED_ABOVE", np.inf)
    seen = TwoStageRegressor(fewer(ensemble)).fit(X, Y)
    assert relative_error(seen, Y) < 0.5 * truth


def test_two_stages_learn_nothing_from_noise() -> None:
    model = TwoStageRegressor(fewer("extra-trees")).fit(X, NOISE)
    assert relative_error(model, NOISE) > 0.97
    assert np.ptp(model.predict(NEW)) < 0.5 * NOISE.std()
    classifier = TwoStageClassifier(fewer("extra-trees")).fit(X, COINS)
    assert classifier.cv_results_["mean_test_score"].max() < 0.6


def test_stacks_learn_nothing_from_noise() -> None:
    model = KernelStackingRegressor([fewer("extra-trees")]).fit(X, NOISE)
    assert 0.97 < model.candidates_[0].loo_error < 1.05
    assert np.ptp(model.predict(NEW)) < 0.5 * NOISE.std()
    classifier = KernelStackingClassifier([fewer("extra-trees")]).fit(X, COINS)
    assert 0.97 < classifier.candidates_[0].loo_error < 1.05


@pytest.mark.parametrize("made", [TwoStageRegressor, KernelStackingRegressor])
def test_leaves_are_approximated_by_features_of_centers(made: Any) -> None:
    learner = fewer() if made is TwoStageRegressor else [fewer()]
    model = made(learner, approximation="nystroem", n_components=100).fit(X, Y)
    assert model.score(NEW, TRUTH) > 0.85

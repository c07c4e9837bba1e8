"""Prediction sets hold the true class as often as they say."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.svm import SVC

from mercer import KernelStackingClassifier, MKLClassifier, TwoStageClassifier
from mercer._data.weights import SampleWeights, UnitWeights
from mercer._model_selection.prediction_sets import HeldOutProbabilities, nonconformity
from mercer.kernels import Gaussian

pytestmark = pytest.mark.filterwarnings("ignore:.*sets are empty")

SCORES = ["least_ambiguous", "adaptive"]
MODELS = [
    KernelStackingClassifier([Gaussian("median")]),
    TwoStageClassifier(),
    TwoStageClassifier(approximation="nystroem", n_components=30),
    MKLClassifier([Gaussian(2.0)]),
]


def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes of unequal sizes, which overlap."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.6 * rng.normal(size=n), [-1, 0.8])]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_sets_cover(model: Any) -> None:
    X_new, y_new = draw(800, 100)
    truth = np.searchsorted(["a", "b", "c"], y_new)
    overall, by_class = [], []
    for seed in range(4):
        fitted = model.fit(*draw(150, seed))
        for score in SCORES:
            held = fitted.predict_set(X_new, 0.8, score=score)
            assert held.shape == (800, 3)
            assert held.dtype == bool
            overall.append(held[np.arange(800), truth].mean())
            held = fitted.predict_set(X_new, 0.8, by_class=True, score=score)
            right = held[np.arange(800), truth]
            by_class.append([right[truth == k].mean() for k in range(3)])
    assert 0.74 < np.mean(overall) < 0.87
    assert np.all(np.mean(by_class, axis=0) > 0.7)
    assert np.all(np.mean(by_class, axis=0) < 0.92)


def test_larger_coverages_have_larger_sets() -> None:
    model = TwoStageClassifier().fit(*draw(120, 0))
    X, _ = draw(60, 1)
    sets = [model.predict_set(X, coverage, score="adaptive") for coverage in (0.5, 0.8, 0.95)]
    assert np.all(sets[0] <= sets[1])
    assert np.all(sets[1] <= sets[2])
    assert sets[0].sum() < sets[2].sum()


def test_scores_are_those_of_their_definitions() -> None:
    p = np.array([[0.2, 0.5, 0.3], [0.9, 0.1, 0.0]])
    np.testing.assert_allclose(nonconformity(p, "least_ambiguous"), 1.0 - p)
    expected = [[0.9, 0.25, 0.65], [0.45, 0.95, 1.0]]
    np.testing.assert_allclose(nonconformity(p, "adaptive"), expected)


def test_thresholds_are_quantiles() -> None:
    p = np.linspace(0.05, 0.95, 19)
    probabilities, codes = np.column_stack([p, 1.0 - p]), np.zeros(19, dtype=int)
    found = HeldOutProbabilities(probabilities, codes, UnitWeights(19))
    np.testing.assert_allclose(found.thresholds(0.9, SCORES[0], by_class=False), 0.9)
    np.testing.assert_allclose(found.thresholds(0.9, SCORES[0], by_class=True), [0.9, np.inf])
    # A sample that has nearly all of the weight is as good as the only one.
    weights = SampleWeights(np.where(np.arange(19) < 1, 1e6, 1e-6))
    weighted = HeldOutProbabilities(probabilities, codes, weights)
    np.testing.assert_allclose(weighted.thresholds(0.45, SCORES[0], by_class=False), 0.95)
    np.testing.assert_allclose(weighted.thresholds(0.55, SCORES[0], by_class=False), np.inf)
    # Groups count alike: nine of one row, and one of ten.
    groups = np.minimum(np.arange(19), 9)
    grouped = HeldOutProbabilities(probabilities, codes, UnitWeights(19), groups)
    np.testing.assert_allclose(grouped.thresholds(0.8, SCORES[0], by_class=False), 0.9)


def test_empty_sets_are_said() -> None:
    model = TwoStageClassifier().fit(*draw(120, 0))
    with pytest.warns(UserWarning, match="sets are empty"):
        found = model.predict_set(draw(60, 1)[0], 0.3)
    assert (~found.any(axis=1)).any()


def test_classes_of_few_samples_are_in_every_set() -> None:
    X, y = draw(120, 0)
    y = np.where(np.arange(120) % 40 == 0, "rare", y)
    model = TwoStageClassifier(cv=3).fit(X, y)
    with pytest.warns(UserWarning, match="class 'rare', because .* takes 9 training samples of it"):
        found = model.predict_set(X[:20], by_class=True)
    assert found[:, list(model.classes_).index("rare")].all()


@pytest.mark.parametrize("coverage", [0.0, 1.0, 1.5, -0.1])
def test_coverages_that_are_no_probabilities_are_refused(coverage: float) -> None:
    model = TwoStageClassifier().fit(*draw(60, 0))
    with pytest.raises(ValueError, match="coverage"):
        model.predict_set(np.zeros((1, 2)), coverage)
    with pytest.raises(TypeError, match="coverage"):
        model.predict_set(np.zeros((1, 2)), str(coverage))


def test_fits_without_held_out_probabilities_are_refused() -> None:
    model = TwoStageClassifier(predictor=SVC(kernel="precomputed"))
    with pytest.raises(ValueError, match="held-out"):
        model.fit(*draw(60, 0)).predict_set(np.zeros((1, 2)))


def test_sets_of_groups_are_over_groups() -> None:
    X, y = draw(120, 0)
    groups = np.repeat(np.arange(6), 20)
    model = TwoStageClassifier().fit(X, y, groups=groups)
    assert model.predict_set(X[:5], 0.9).all()
    assert not model.predict_set(X, 0.6).all()
    again = TwoStageClassifier().fit(X, y, groups=groups)
    assert_array_equal(model.predict_set(X, 0.6), again.predict_set(X, 0.6))

"""Prediction sets hold the true class as often as they say."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_blobs
from sklearn.model_selection import GroupKFold

from mercer import (
    KernelLogisticRegression,
    KernelOrdinalClassifier,
    KernelStackingClassifier,
    MKLClassifier,
    TwoStageClassifier,
)
from mercer._data.weights import SampleWeights, UnitWeights
from mercer._model_selection.prediction_sets import (
    HeldOutProbabilities,
    PredictionSetMixin,
    nonconformity,
)
from mercer.kernels import Gaussian

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*sets are empty"),
    pytest.mark.usefixtures("few_folds"),
]

SCORES = ["least_ambiguous", "adaptive"]
MODELS = [
    KernelStackingClassifier([Gaussian("median")]),
    TwoStageClassifier(),
    TwoStageClassifier(approximation="nystroem", n_components=30),
    MKLClassifier([Gaussian(2.0)]),
    KernelLogisticRegression(),
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


@pytest.mark.parametrize(
    "model", [*MODELS, KernelOrdinalClassifier()], ids=lambda model: type(model).__name__
)
def test_adaptive_sets_of_separable_classes_hold_the_true_one_alone(model: Any) -> None:
    settings = {"centers": [[0.0, 0.0], [0.0, 20.0], [0.0, 40.0]], "random_state": 1}
    X, y = make_blobs(390, 2, **settings)
    fitted = model.fit(X[:90], y[:90])
    assert (fitted.predict(X[90:]) == y[90:]).all()
    for by_class in (False, True):
        found = fitted.predict_set(X[90:], 0.9, by_class=by_class, score="adaptive")
        assert_array_equal(found, y[90:, None] == np.arange(3))


def test_scores_are_those_of_their_definitions() -> None:
    p = np.array([[0.2, 0.5, 0.3], [0.9, 0.1, 0.0]])
    np.testing.assert_allclose(nonconformity(p, "least_ambiguous"), 1.0 - p)
    expected = [[0.8, 0.0, 0.5], [0.0, 0.9, 1.0]]
    np.testing.assert_allclose(nonconformity(p, "adaptive"), expected, atol=1e-15)
    # Small differences count that a fit may mean.
    assert_array_equal(nonconformity(np.array([[0.501, 0.499]]), "adaptive"), [[0.0, 0.501]])


class Given(PredictionSetMixin, BaseEstimator):
    """A classifier whose samples are their own probabilities."""

    def fit(self, held_out: HeldOutProbabilities) -> "Given":
        self._held_out = held_out
        self.classes_ = np.arange(held_out.probabilities.shape[1])
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return X


def sets_of(
    held_out: np.ndarray, codes: np.ndarray, new: np.ndarray, coverage: float, **kind: Any
) -> np.ndarray:
    """Sets of new samples by probabilities of held-out and new ones."""
    known = HeldOutProbabilities(held_out, codes, UnitWeights(len(codes)))
    return Given().fit(known).predict_set(new, coverage, **kind)


def drawn(rng: np.random.Generator, n: int, n_classes: int, sureness: float) -> Any:
    """Probabilities, and labels drawn by them."""
    logits = sureness * rng.normal(size=(n, n_classes))
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return p, (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=n_classes - 1)


KINDS = list(product(SCORES, [False, True]))


@pytest.mark.parametrize(("sureness", "n_classes"), [(0.0, 2), (0.3, 7), (2.0, 2), (100.0, 7)])
@pytest.mark.parametrize(("score", "by_class"), KINDS)
def test_coverage_from_noise_to_certainty(
    score: str, by_class: bool, sureness: float, n_classes: int
) -> None:
    rng = np.random.default_rng([n_classes, int(10 * sureness)])
    every, of_classes = [], []
    for _ in range(30):
        p, codes = drawn(rng, 200, n_classes, sureness)
        new, truth = drawn(rng, 500, n_classes, sureness)
        # The fits that held-out samples are predicted by differ by the errors of their solvers.
        other = p + 1e-10 * rng.normal(size=p.shape)
        found = sets_of(other, codes, new, 0.9, score=score, by_class=by_class)
        right = found[np.arange(500), truth]
        every.append(right.mean())
        of_classes.append([right[truth == k].mean() for k in range(n_classes)])
        assert score != "adaptive" or found.any(axis=1).all()
    error = np.std(every, ddof=1) / np.sqrt(len(every))
    assert np.mean(every) > 0.9 - 3.0 * error
    # Sets of surely separable classes hold one, and those of equally probable ones all.
    if 0.0 < sureness < 100.0:
        assert np.mean(every) < 0.96 + 3.0 * error
    if by_class:
        assert np.min(np.mean(of_classes, axis=0)) > 0.87


@pytest.mark.parametrize(("score", "by_class"), KINDS)
def test_no_class_drops_out_over_a_rounding_error(score: str, by_class: bool) -> None:
    codes = np.arange(200) % 2
    held_out, new = np.full((200, 2), 0.5), np.tile([0.5 + 4e-10, 0.5 - 4e-10], (9, 1))
    assert sets_of(held_out, codes, new, 0.9, score=score, by_class=by_class).all()
    # The same where it is held-out samples whose probabilities differ.
    assert sets_of(np.tile(new[0], (200, 1)), codes, held_out[:9], 0.9, score=score).all()


def test_the_class_that_passes_the_quantile_belongs_to_the_adaptive_set() -> None:
    # Nine in ten true classes come after others of at most 0.6.
    held_out = np.tile([0.6, 0.3, 0.1], (99, 1))
    codes = np.repeat([0, 1, 2], [50, 40, 9])
    new = np.array([[0.5, 0.4, 0.1], [0.59, 0.31, 0.1], [0.61, 0.29, 0.1], [0.3, 0.29, 0.41]])
    found = sets_of(held_out, codes, new, 0.9, score="adaptive")
    assert_array_equal(found, [[1, 1, 0], [1, 1, 0], [1, 0, 0], [1, 0, 1]])


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


def test_sets_of_all_classes_are_said_to_be() -> None:
    model = TwoStageClassifier().fit(*draw(60, 0))
    with pytest.warns(UserWarning, match="all classes, because .* 0.99 takes 99 training samples"):
        assert model.predict_set(draw(20, 1)[0], 0.99).all()


def test_what_has_no_sets_is_refused() -> None:
    model = TwoStageClassifier().fit(*draw(60, 0))
    for coverage in (0.0, 1.0, 1.5):
        with pytest.raises(ValueError, match="coverage"):
            model.predict_set(np.zeros((1, 2)), coverage)
    with pytest.raises(TypeError, match="coverage"):
        model.predict_set(np.zeros((1, 2)), "0.5")
    X, y = draw(60, 0)
    codes = np.unique(y, return_inverse=True)[1]
    labels = MKLClassifier([Gaussian(1.0)]).fit(X, np.eye(3, dtype=int)[codes])
    with pytest.raises(ValueError, match="held-out"):
        labels.predict_set(np.zeros((1, 2)))


def test_sets_of_groups_are_over_groups() -> None:
    X, y = draw(120, 0)
    groups = np.repeat(np.arange(6), 20)
    model = TwoStageClassifier().fit(X, y, groups=groups)
    with pytest.warns(UserWarning, match="all classes, because a coverage of 0.9 takes 9 groups"):
        assert model.predict_set(X[:5], 0.9).all()
    assert not model.predict_set(X, 0.6).all()


GROUPED = [
    KernelStackingClassifier([Gaussian("median")]),
    KernelStackingClassifier([Gaussian("median")], cv=[(np.arange(70), np.arange(70, 150))]),
    KernelStackingClassifier(
        [Gaussian("median")], approximation="nystroem", n_components=30, max_samples=60
    ),
    TwoStageClassifier(C=1.0, cv=GroupKFold(3)),
    TwoStageClassifier(approximation="nystroem", n_components=30),
    MKLClassifier([Gaussian(2.0)]),
    KernelLogisticRegression(),
]


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("model", GROUPED, ids=lambda model: type(model).__name__)
def test_thresholds_are_quantiles_of_groups_of_equal_mass(model: Any, by_class: bool) -> None:
    """Samples share the mass of their group by their weights; one group is large and easy."""
    X, y = draw(150, 0)
    groups, weights = np.minimum(np.arange(150) % 60, 30), 1.0 + np.arange(150) % 7
    y = np.where(groups < 30, np.where(y == "a", "b", y), np.where(X[:, 0] < 0.8, "b", "c"))
    model = clone(model).fit(X, y, sample_weight=weights, groups=groups)
    held_out = model.held_out_classifier()
    rows, labels = held_out.samples_[:, 0], np.searchsorted(["b", "c"], held_out.labels_)
    scores = 1.0 - held_out.predict_proba(held_out.samples_)[np.arange(len(rows)), labels]
    thresholds = np.empty(2)
    for label in (0, 1):
        own = labels == label if by_class else np.full(len(rows), True)
        totals = np.bincount(groups[rows[own]], weights[rows[own]])
        masses = weights[rows[own]] / totals[groups[rows[own]]] / ((totals > 0.0).sum() + 1)
        order = np.argsort(scores[own])
        thresholds[label] = scores[own][order][np.cumsum(masses[order]) >= 0.77][0]
    new = draw(300, 1)[0]
    expected = 1.0 - model.predict_proba(new) <= thresholds + 1e-7
    assert_array_equal(model.predict_set(new, 0.77, by_class), expected)

"""Held-out probabilities as a classifier, by which scikit-learn chooses thresholds."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import (
    FixedThresholdClassifier,
    KFold,
    RepeatedStratifiedKFold,
    TimeSeriesSplit,
    TunedThresholdClassifierCV,
)
from sklearn.svm import SVC

from mercer import (
    L1SVM,
    ContinuousMKLClassifier,
    KernelStackingClassifier,
    MKLClassifier,
    TwoStageClassifier,
    UniformCombination,
)
from mercer._blocks.tables import DrawnSample, block_source
from mercer._data.folds import shuffled_folds
from mercer._data.weights import UnitWeights
from mercer._model_selection.calibration import calibrate
from mercer._model_selection.prediction_sets import HeldOutProbabilities
from mercer._model_selection.scoring import LeftOutProbabilities
from mercer.kernels import Gaussian

ONE_KERNEL = UniformCombination([Gaussian(2.0)])
MODELS = {
    "stack": KernelStackingClassifier([Gaussian("median")]),
    "stack on features": KernelStackingClassifier(
        [Gaussian("median")], approximation="nystroem", n_components=30, max_samples=60
    ),
    "two stages": TwoStageClassifier(),
    "two stages on features": TwoStageClassifier(approximation="nystroem", n_components=30),
    "given folds": TwoStageClassifier(
        ONE_KERNEL, cv=RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    ),
    "fixed penalty": TwoStageClassifier(ONE_KERNEL, C=1.0),
    "sums": MKLClassifier([Gaussian(2.0)]),
    "L1": L1SVM([Gaussian(2.0)]),
    "continuous": ContinuousMKLClassifier(max_kernels=2, tol=0.1),
}


def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two features, and labels of which one in five is one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] + 0.8 * rng.normal(size=n) > 1.1).astype(int)


def tuned_on(held_out: LeftOutProbabilities, **settings: Any) -> TunedThresholdClassifierCV:
    """scikit-learn's search for the threshold of highest balanced accuracy."""
    tuned = TunedThresholdClassifierCV(held_out, cv="prefit", refit=False, **settings)
    return tuned.fit(held_out.samples_, held_out.labels_)


@pytest.mark.filterwarnings("ignore:Stopped after")
@pytest.mark.parametrize("name", MODELS)
def test_thresholds_are_tuned_without_further_fits(name: str) -> None:
    X, y = draw(160, 3)
    w = np.where(np.arange(160) % 10 == 3, 0.0, 1.0)
    model = MODELS[name].fit(X, y, sample_weight=w)
    held_out = model.held_out_classifier()
    rows = held_out.samples_[:, 0]
    # Samples of weight zero are left out, and all others are held out.
    assert_array_equal(rows, np.flatnonzero(w))
    assert_array_equal(held_out.labels_, y[rows])
    assert_array_equal(held_out.classes_, model.classes_)
    probabilities = held_out.predict_proba(held_out.samples_)
    assert_allclose(probabilities.sum(axis=1), 1.0)
    seen = model.predict_proba(X[rows])
    assert np.abs(probabilities - seen).max() > 1e-3
    assert np.corrcoef(probabilities[:, 0], seen[:, 0])[0, 1] > 0.5

    thresholds = np.linspace(0.05, 0.95, 19)
    tuned = tuned_on(held_out, thresholds=thresholds, response_method="predict_proba")
    scores = [balanced_accuracy_score(y[rows], probabilities[:, 1] >= t) for t in thresholds]
    # scikit-learn interpolates between the scores at the probabilities.
    assert_allclose(tuned.best_score_, np.max(scores), atol=0.03)
    fixed = FixedThresholdClassifier(
        model, threshold=tuned.best_threshold_, response_method="predict_proba"
    )
    assert_array_equal(fixed.predict(X), model.predict_proba(X)[:, 1] >= tuned.best_threshold_)


def test_held_out_probabilities_are_those_of_machines_without_the_fold() -> None:
    X, y = draw(90, 1)
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    model = TwoStageClassifier(ONE_KERNEL, C=2.0, cv=folds).fit(X, y)
    K, held_out = model.learner_.transform(X), model.held_out_classifier()
    for train, test in folds:
        machine = SVC(kernel="precomputed", C=2.0, tol=1e-9).fit(K[np.ix_(train, train)], y[train])
        values = machine.decision_function(K[np.ix_(test, train)])
        expected = model.temperature_.probabilities(np.column_stack([-values, values]))
        assert_allclose(held_out.predict_proba(test[:, None]), expected, atol=1e-5)


def test_left_out_probabilities_of_a_stack_are_its_left_out_predictions() -> None:
    X, y = draw(80, 1)
    model = KernelStackingClassifier([Gaussian(2.0)], cv=TimeSeriesSplit(3)).fit(X, y)
    held_out = model.held_out_classifier()
    known = np.flatnonzero(np.isfinite(model.loo_predictions_[:, 0]))
    assert_array_equal(held_out.samples_, known[:, None])
    assert_array_equal(held_out.predict_proba(known[:, None]), model.loo_predictions_[known])
    assert_array_equal(held_out.labels_, y[known])


def test_probabilities_on_features_are_calibrated_without_their_own_labels() -> None:
    """Thirty-six coefficients fit the rows that they are calibrated by better than others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.digitize(X[:, 0] + 1.5 * rng.normal(size=120), [-1.5, -0.7, 0.0, 0.7, 1.5])
    model = TwoStageClassifier(ONE_KERNEL, approximation="nystroem", n_components=30).fit(X, y)
    held_out = model.held_out_classifier()
    source, everywhere = block_source(X, y), np.arange(120)
    rows = DrawnSample(X, y, UnitWeights(120), source=source, positions=everywhere)
    indicators = model.predictor_.indicators_out_of_fold(X, rows)
    fitted = model.predictor_.calibration.probabilities(indicators)
    assert np.ptp(fitted[:, 0]) > 0.1
    found, counts = held_out.predict_proba(held_out.samples_), np.bincount(y).astype(float)
    assert log_loss(y, found) > log_loss(y, fitted) + 0.02
    for train, test in shuffled_folds(120, 5, y, 0):
        own = calibrate(indicators[train], y[train], counts)
        assert_allclose(found[test], own.probabilities(indicators[test]), atol=1e-6)


def test_samples_that_are_held_out_repeatedly_have_the_mean() -> None:
    found = HeldOutProbabilities(
        np.array([[0.2, 0.8], [1.0, 0.0], [0.6, 0.4]]),
        np.array([1, 0, 1]),
        UnitWeights(3),
        numbers=np.array([7, 2, 7]),
    ).classifier(np.array(["no", "yes"]))
    assert_array_equal(found.samples_, [[2], [7]])
    assert_allclose(found.predict_proba([[7], [2]]), [[0.4, 0.6], [1.0, 0.0]])
    assert_array_equal(found.labels_, ["no", "yes"])
    assert_array_equal(found.predict([[7]]), ["yes"])


@pytest.mark.parametrize(
    "X", [[[0.0]], [[3]], [[-1]], [[0, 1]], [["a"]], np.zeros((4, 2)), [[1]]], ids=str
)
def test_what_names_no_held_out_sample_is_refused(X: Any) -> None:
    given = LeftOutProbabilities(np.eye(2), np.array([0, 1]), np.array([0, 2]))
    with pytest.raises(
        ValueError, match="left-out samples are known only for the numbers in `samples_`"
    ):
        given.predict_proba(X)
    with pytest.raises(AttributeError, match="No true labels"):
        given.labels_  # noqa: B018


@pytest.mark.parametrize("name", ["two stages", "sums"])
def test_thresholds_of_noise_promise_nothing(name: str) -> None:
    rng = np.random.default_rng(0)
    promised, kept, seen = [], [], []
    for _ in range(3):
        X, X_new = rng.normal(size=(150, 3)), rng.normal(size=(1000, 3))
        y, y_new = (rng.permutation(np.arange(n) % 4 == 0) for n in (150, 1000))
        model = MODELS[name].fit(X, y)
        tuned = tuned_on(model.held_out_classifier())
        promised.append(tuned.best_score_)
        fixed = FixedThresholdClassifier(model, threshold=tuned.best_threshold_)
        kept.append(balanced_accuracy_score(y_new, fixed.predict(X_new)))
        prefit = TunedThresholdClassifierCV(model, cv="prefit", refit=False).fit(X, y)
        seen.append(prefit.best_score_)
    assert abs(np.mean(kept) - 0.5) < 0.03
    # The best of all thresholds is above one half by what the best of as many random cuts is.
    assert np.mean(promised) < 0.6
    assert np.mean(seen) > np.mean(promised) + 0.1

"""Classes whose training samples all have weight zero: they keep their place in `classes_`."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression

import mercer
from mercer import (
    L1SVM,
    AlignmentMaximization,
    BayesianMKLClassifier,
    ContinuousMKLClassifier,
    KernelLogisticRegression,
    KernelOrdinalClassifier,
    KernelStackingClassifier,
    MKLClassifier,
    TwoStageClassifier,
    UniformCombination,
)
from mercer.kernels import Gaussian

KERNELS = [Gaussian(1.0), Gaussian(4.0)]
CLASSIFIERS = [
    TwoStageClassifier(UniformCombination(KERNELS)),
    TwoStageClassifier(UniformCombination(KERNELS), approximation="nystroem", n_components=20),
    KernelStackingClassifier(KERNELS),
    KernelStackingClassifier(KERNELS, approximation="nystroem", n_components=20),
    MKLClassifier(KERNELS),
    ContinuousMKLClassifier(tol=0.1),
    L1SVM(KERNELS),
    KernelLogisticRegression(KERNELS),
    KernelOrdinalClassifier(KERNELS),
    BayesianMKLClassifier(KERNELS),
]


def name_of(model):
    settings = [getattr(model, name, "") for name in ("approximation",)]
    words = [type(model).__name__, *(str(word) for word in settings if word and word != "auto")]
    return "-".join(words)


def blobs(absent):
    """Three classes in 60 rows, and weights of which those of one class are zero."""
    X, y = make_blobs(60, 3, centers=3, cluster_std=2.0, random_state=0)
    return X, y, np.where(y == absent, 0.0, 1.0)


@pytest.mark.parametrize("absent", [0, 1])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
def test_all_labels_stay_and_the_others_are_predicted_as_without_the_class(model, absent):
    X, y, weights = blobs(absent)
    found = clone(model).fit(X, y, sample_weight=weights)
    rest = clone(model).fit(X[y != absent], y[y != absent])
    np.testing.assert_array_equal(found.classes_, [0, 1, 2])
    np.testing.assert_array_equal(found.predict(X), rest.predict(X))
    if hasattr(found, "predict_proba"):
        probabilities = found.predict_proba(X)
        assert not probabilities[:, absent].any()
        np.testing.assert_allclose(
            np.delete(probabilities, absent, axis=1), rest.predict_proba(X), atol=1e-6
        )
    if hasattr(found, "decision_function"):
        values = found.decision_function(X)
        assert values.shape == (60, 3)
        np.testing.assert_array_equal(values.argmax(axis=1), found.predict(X))
        assert np.isfinite(values).all()


@pytest.mark.parametrize(
    "model", [model for model in CLASSIFIERS if hasattr(model, "predict_proba")], ids=name_of
)
def test_meta_estimators_take_a_class_without_weight(model):
    X, y, weights = blobs(1)
    pair = [("kernel", model), ("linear", LogisticRegression())]
    for meta in (
        CalibratedClassifierCV(model, cv=3),
        VotingClassifier(pair, voting="soft"),
        StackingClassifier(pair, cv=3),
        BaggingClassifier(model, 2, random_state=0),
    ):
        found = meta.fit(X, y, sample_weight=weights).predict_proba(X)
        assert found.shape == (60, 3)
        assert (found.argmax(axis=1) == y)[weights > 0.0].mean() > 0.8


@pytest.mark.filterwarnings("ignore:Every set holds the class 1", "ignore:.* sets are empty")
@pytest.mark.parametrize(
    "model", [m for m in CLASSIFIERS if hasattr(m, "predict_set")], ids=name_of
)
def test_sets_and_held_out_probabilities_have_a_column_of_every_class(model):
    X, y, weights = blobs(1)
    if getattr(model, "predictor", None) is not None:
        pytest.skip("A given predictor keeps no held-out probabilities.")
    found = clone(model).fit(X, y, sample_weight=weights)
    sets = found.predict_set(X, 0.8)
    assert sets.shape == (60, 3)
    assert not sets[:, 1].any()
    # No coverage of a class without samples can be promised.
    assert found.predict_set(X, 0.8, by_class=True)[:, 1].all()
    held_out = found.held_out_classifier()
    assert held_out.predict_proba(held_out.samples_).shape[1] == 3
    assert set(held_out.labels_) == {0, 2}
    if hasattr(found, "loo_predictions_"):
        assert found.loo_predictions_.shape[1] == 3
        assert not found.loo_predictions_[:, 1].any()


def test_a_class_weight_of_zero_is_a_weight_of_zero():
    X, y, _ = blobs(1)
    model = TwoStageClassifier(UniformCombination(KERNELS), class_weight={0: 1.0, 1: 0.0, 2: 1.0})
    assert not model.fit(X, y).predict_proba(X)[:, 1].any()


def test_grades_keep_their_order_without_the_middle_one():
    X, y, weights = blobs(1)
    names = np.array(["low", "middle", "high"])
    model = KernelOrdinalClassifier(KERNELS, categories=names).fit(X, names[y], weights)
    np.testing.assert_array_equal(model.classes_, names)
    assert set(model.predict_median(X)) == {"low", "high"}
    codes = KernelOrdinalClassifier(KERNELS).fit(X, y, weights)
    np.testing.assert_array_equal(names[codes.predict(X)], model.predict(X))


@pytest.mark.parametrize("model", [CLASSIFIERS[0], CLASSIFIERS[3]], ids=name_of)
def test_saved_and_compressed_models_keep_the_class(model, tmp_path):
    X, y, weights = blobs(1)
    found = clone(model).fit(X, y, sample_weight=weights)
    mercer.save(found, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.predict_proba(X), found.predict_proba(X))
    small = mercer.compress(found, X, n_components=15)
    np.testing.assert_array_equal(small.classes_, [0, 1, 2])
    assert small.predict_proba(X).shape == (60, 3)
    assert set(small.predict(X)) == {0, 2}


def test_an_exported_model_has_the_column_of_zeros():
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y, weights = blobs(1)
    found = TwoStageClassifier(UniformCombination(KERNELS)).fit(X, y, sample_weight=weights)
    graph = mercer.to_onnx(found, X[:1]).SerializeToString()
    session = onnxruntime.InferenceSession(graph)
    label, probabilities = session.run(None, {session.get_inputs()[0].name: X})
    np.testing.assert_array_equal(label, found.predict(X))
    np.testing.assert_allclose(probabilities, found.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("learner", [AlignmentMaximization, mercer.KernelOptimization])
def test_similarities_of_classes_may_include_one_without_weight(learner):
    X, y, weights = blobs(1)
    similarities = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.5], [0.2, 0.5, 1.0]])
    model = learner(output_kernel=similarities)
    seen = learner(output_kernel=similarities[::2, ::2]).fit(X[y != 1], y[y != 1])
    found = clone(model).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(found.transform(X[:5])[:, y != 1], seen.transform(X[:5]))
    assert TwoStageClassifier(model).fit(X, y, weights).predict_proba(X).shape == (60, 3)


def test_updates_refuse_labels_of_a_class_without_weight():
    X, y, weights = blobs(1)
    features = {"approximation": "nystroem", "n_components": 10}
    model = KernelStackingClassifier(KERNELS, **features).fit(X, y, sample_weight=weights)
    model.prepare_updates(X[weights > 0.0], y[weights > 0.0])
    model.update(X[y == 2], y[y == 2])
    model.update(X[:10], y[:10], weights[:10])
    assert model.predict_proba(X).shape == (60, 3)
    with pytest.raises(ValueError, match="previously unseen labels"):
        model.update(X[y == 1], y[y == 1])

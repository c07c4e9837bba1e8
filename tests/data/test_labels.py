"""Several labels of each sample: the classifiers that take them, beside one classifier a label."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import log_loss

from mercer import (
    BayesianMKLClassifier,
    ContinuousMKLClassifier,
    KernelStackingClassifier,
    MKLClassifier,
)
from mercer.inspection import shapley_values
from mercer.kernels import Gaussian, Laplacian

X, Y = make_multilabel_classification(160, 6, n_classes=3, random_state=0)
X = (X - X.mean(axis=0)) / X.std(axis=0)
TRAIN, NEW = slice(0, 100), slice(100, None)
KERNELS = [Gaussian(2.0), Gaussian(8.0), Laplacian(8.0, norm=1.0)]

MODELS: dict[str, Any] = {
    "mkl": MKLClassifier(KERNELS),
    "squared": MKLClassifier(KERNELS, norm=2, loss="squared"),
    "cr": ContinuousMKLClassifier(max_kernels=3, tol=0.1),
    "bayes": BayesianMKLClassifier(KERNELS, n_starts=1),
    "stacking": KernelStackingClassifier(KERNELS),
}
pytestmark = [
    pytest.mark.filterwarnings("ignore:Stopped after"),
    pytest.mark.usefixtures("few_folds_throughout"),
]


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    return {name: clone(model).fit(X[TRAIN], Y[TRAIN]) for name, model in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_labels_are_predicted(name: str, fitted: dict[str, Any]) -> None:
    model = fitted[name]
    labels, probabilities = model.predict(X[NEW]), model.predict_proba(X[NEW])
    assert labels.shape == probabilities.shape == (60, 3)
    assert set(np.unique(labels)) <= {0, 1}
    assert np.array_equal(labels, (probabilities > 0.5).astype(int))
    assert model.classes_.tolist() == [0, 1, 2]
    frequencies = np.tile(Y[TRAIN].mean(axis=0), (60, 1))
    losses = [
        np.mean([log_loss(own, p) for own, p in zip(Y[NEW].T, found.T, strict=True)])
        for found in (probabilities, frequencies)
    ]
    assert losses[0] < 0.9 * losses[1]
    assert model.score(X[NEW], Y[NEW]) > 0.3


def test_left_out_predictions_of_a_stack_are_of_each_label(fitted: dict[str, Any]) -> None:
    loo = fitted["stacking"].loo_predictions_
    assert loo.shape == (100, 3)
    right = ((loo > 0.5) == Y[TRAIN]).all(axis=1).mean()
    assert fitted["stacking"].loo_score_ == pytest.approx(right)


@pytest.mark.parametrize("name", ["mkl", "bayes", "stacking"])
def test_labels_of_all_samples_or_none(name: str, fitted: dict[str, Any]) -> None:
    ones, zeros = np.ones((100, 1), dtype=int), np.zeros((100, 1), dtype=int)
    model = clone(MODELS[name]).fit(X[TRAIN], np.hstack([ones, Y[TRAIN], zeros]))
    probabilities = model.predict_proba(X[NEW])
    assert probabilities.shape == (60, 5)
    assert (probabilities[:, 0] > 0.9).all()
    assert (probabilities[:, 4] < 0.1).all()
    assert model.predict(X[NEW])[:, [0, 4]].tolist() == [[1, 0]] * 60
    if name != "stacking":
        own = fitted[name].predict_proba(X[NEW])
        assert_allclose(probabilities[:, 1:4], own, atol=0.02)
    expansion = model.kernel_expansion()
    assert expansion.outputs == ("0", "1", "2", "3", "4")
    assert expansion(X[NEW]).shape == (60, 5)


@pytest.mark.parametrize("name", ["mkl", "stacking"])
def test_explanations_add_up(name: str, fitted: dict[str, Any]) -> None:
    model, rows = fitted[name], X[NEW][:3]
    found = shapley_values(model, rows, X[TRAIN][:20], n_permutations=50, random_state=0)
    probabilities = model.predict_proba(rows)
    odds = np.log(probabilities / (1.0 - probabilities))
    assert_allclose(found.values.sum(axis=1) + found.base_value, odds, atol=1e-6)


def test_sparse_indicators_are_dense_ones(fitted: dict[str, Any]) -> None:
    found = clone(MODELS["mkl"]).fit(X[TRAIN], csr_array(Y[TRAIN])).predict_proba(X[NEW])
    assert_allclose(found, fitted["mkl"].predict_proba(X[NEW]))


@pytest.mark.parametrize("name", ["mkl", "stacking"])
def test_weights_count(name: str) -> None:
    weights = np.where(np.arange(100) % 2, 0.0, 1.0)
    some = clone(MODELS[name]).fit(X[TRAIN], Y[TRAIN], sample_weight=weights)
    alone = clone(MODELS[name]).fit(X[TRAIN][::2], Y[TRAIN][::2])
    assert_allclose(some.predict_proba(X[NEW]), alone.predict_proba(X[NEW]), atol=1e-3)


def test_a_stack_of_many_rows_is_on_features() -> None:
    model = KernelStackingClassifier(
        KERNELS, approximation="nystroem", n_components=40, max_samples=60
    )
    found = model.fit(X[TRAIN], Y[TRAIN]).predict_proba(X[NEW])
    assert found.shape == (60, 3)
    frequency = np.full(60, Y[TRAIN, 0].mean())
    assert log_loss(Y[NEW, 0], found[:, 0]) < 0.9 * log_loss(Y[NEW, 0], frequency)


@pytest.mark.parametrize("name", ["mkl", "bayes", "stacking"])
def test_bad_labels_are_refused(name: str) -> None:
    model = clone(MODELS[name])
    with pytest.raises(ValueError, match="Every label belongs to all samples, or to none"):
        model.fit(X[TRAIN], np.tile([0, 1], (100, 1)))
    with pytest.raises(ValueError, match="class_weight needs one label per sample"):
        model.set_params(class_weight="balanced").fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(ValueError, match="Indicators of several labels must be 0 and 1; got"):
        clone(MODELS[name]).fit(X[TRAIN], 2 * Y[TRAIN])


def test_what_is_for_one_label_is_refused(fitted: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="several labels"):
        fitted["mkl"].predict_set(X[NEW])
    with pytest.raises(ValueError, match="scoring has no effect if samples have several"):
        KernelStackingClassifier(scoring="accuracy").fit(X, Y)

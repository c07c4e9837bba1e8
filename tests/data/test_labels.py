"""Several labels of each sample: the classifiers that take them, beside one classifier a label."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import log_loss
from sklearn.multioutput import MultiOutputClassifier

import mercer
from mercer import (
    L1SVM,
    BayesianMKLClassifier,
    ContinuousMKLClassifier,
    KernelStackingClassifier,
    MKLClassifier,
)
from mercer._data.labels import LabelSet, label_indicators
from mercer.inspection import shapley_values
from mercer.kernels import Gaussian, Laplacian

X, Y = make_multilabel_classification(160, 6, n_classes=3, random_state=0)
X = (X - X.mean(axis=0)) / X.std(axis=0)
TRAIN, NEW = slice(0, 100), slice(100, None)
KERNELS = [Gaussian(2.0), Gaussian(8.0), Laplacian(8.0, norm=1.0)]

MODELS: dict[str, Any] = {
    "mkl": MKLClassifier(KERNELS),
    "logistic": MKLClassifier(KERNELS, norm=2, loss="logistic"),
    "squared": MKLClassifier(KERNELS, norm=2, loss="squared"),
    "l1-svm": L1SVM(KERNELS),
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


@pytest.mark.parametrize("name", ["mkl", "logistic", "bayes"])
def test_labels_share_one_kernel(name: str, fitted: dict[str, Any]) -> None:
    """On one kernel of one weight, the machines are those of each label alone."""
    single = clone(MODELS[name]).set_params(kernels=[Gaussian(4.0)])
    if name != "bayes":
        single.set_params(tol=1e-6)
        both = clone(single).fit(X[TRAIN], Y[TRAIN]).decision_function(X[NEW])
        alone = [clone(single).fit(X[TRAIN], own).decision_function(X[NEW]) for own in Y[TRAIN].T]
        assert_allclose(both, np.column_stack(alone), atol=2e-3)
    assert fitted[name].weights_.shape == (3,)
    assert fitted[name].dual_coef_.shape == (100, 3)


def test_left_out_predictions_of_a_stack_are_of_each_label(fitted: dict[str, Any]) -> None:
    loo = fitted["stacking"].loo_predictions_
    assert loo.shape == (100, 3)
    right = ((loo > 0.5) == Y[TRAIN]).all(axis=1).mean()
    assert fitted["stacking"].loo_score_ == pytest.approx(right)


def test_a_stack_is_as_good_as_one_for_each_label(fitted: dict[str, Any]) -> None:
    each = MultiOutputClassifier(KernelStackingClassifier(KERNELS)).fit(X[TRAIN], Y[TRAIN])
    alone = np.column_stack([p[:, 1] for p in each.predict_proba(X[NEW])])
    losses = [
        np.mean([log_loss(own, p) for own, p in zip(Y[NEW].T, found.T, strict=True)])
        for found in (fitted["stacking"].predict_proba(X[NEW]), alone)
    ]
    assert losses[0] < 1.1 * losses[1]


@pytest.mark.parametrize("name", MODELS)
def test_sparse_indicators_are_dense_ones(name: str, fitted: dict[str, Any]) -> None:
    if name in {"l1-svm", "squared"}:
        pytest.skip("the same code as mkl")
    found = clone(MODELS[name]).fit(X[TRAIN], csr_array(Y[TRAIN])).predict_proba(X[NEW])
    assert_allclose(found, fitted[name].predict_proba(X[NEW]))


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


@pytest.mark.parametrize("name", ["mkl", "bayes", "stacking"])
def test_explanations_add_up(name: str, fitted: dict[str, Any]) -> None:
    model = fitted[name]
    found = shapley_values(model, X[NEW][:3], X[TRAIN][:20], n_permutations=50, random_state=0)
    total = found.values.sum(axis=1) + found.base_value
    expansion = model.kernel_expansion()
    assert_allclose(total, expansion(X[NEW][:3]) + _shrinkage(expansion, X[NEW][:3]), atol=1e-7)
    probabilities = model.predict_proba(X[NEW][:3])
    if name != "bayes":
        odds = np.log(probabilities / (1.0 - probabilities))
        assert_allclose(total, odds, atol=1e-6)


def _shrinkage(expansion: Any, rows: np.ndarray) -> Any:
    return 0.0 if expansion.shrinkage is None else expansion.shrinkage(expansion.views(rows))


@pytest.mark.parametrize("name", ["mkl", "bayes", "stacking"])
def test_they_are_saved_and_loaded(name: str, fitted: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("skops")
    mercer.save(fitted[name], tmp_path / "model.skops")
    loaded = mercer.load(tmp_path / "model.skops")
    assert_allclose(loaded.predict_proba(X[NEW]), fitted[name].predict_proba(X[NEW]))


@pytest.mark.parametrize("name", ["mkl", "stacking"])
def test_groups_and_weights_count(name: str) -> None:
    rows = np.repeat(np.arange(50), 2)
    model = clone(MODELS[name])
    model.fit(X[rows], Y[rows], sample_weight=np.ones(100), groups=rows)
    assert np.isfinite(model.predict_proba(X[NEW])).all()
    weights = np.where(np.arange(100) % 2, 0.0, 1.0)
    some = clone(MODELS[name]).fit(X[TRAIN], Y[TRAIN], sample_weight=weights)
    alone = clone(MODELS[name]).fit(X[TRAIN][::2], Y[TRAIN][::2])
    assert_allclose(some.predict_proba(X[NEW]), alone.predict_proba(X[NEW]), atol=1e-3)


def test_a_stack_of_many_rows_is_on_features() -> None:
    many, labels = make_multilabel_classification(400, 6, n_classes=3, random_state=0)
    model = KernelStackingClassifier(approximation="nystroem", n_components=50, max_samples=60)
    found = model.fit(many[:300], labels[:300]).predict_proba(many[300:])
    assert found.shape == (100, 3)
    frequency = np.full(100, labels[:300, 0].mean())
    assert log_loss(labels[300:, 0], found[:, 0]) < 0.9 * log_loss(labels[300:, 0], frequency)


def test_fits_to_classes_and_labels_may_follow_each_other() -> None:
    model = MKLClassifier(KERNELS).fit(X[TRAIN], Y[TRAIN])
    assert model.fit(X[TRAIN], Y[TRAIN][:, 0]).predict(X[NEW]).shape == (60,)
    assert model.predict_set(X[NEW]).shape == (60, 2)
    with pytest.raises(ValueError, match="several labels"):
        model.fit(X[TRAIN], Y[TRAIN]).predict_set(X[NEW])


@pytest.mark.parametrize("name", ["mkl", "bayes", "stacking"])
def test_bad_labels_are_refused(name: str) -> None:
    model = clone(MODELS[name])
    with pytest.raises(ValueError, match="Every label is that of all samples, or of none"):
        model.fit(X[TRAIN], np.tile([0, 1], (100, 1)))
    with pytest.raises(ValueError, match="class_weight is for one label a sample"):
        model.set_params(class_weight="balanced").fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(ValueError, match="Indicators of several labels must be 0 and 1; got"):
        clone(MODELS[name]).fit(X[TRAIN], 2 * Y[TRAIN])


def test_scorers_are_refused_for_several_labels() -> None:
    with pytest.raises(ValueError, match="scoring has no effect where samples have several"):
        KernelStackingClassifier(scoring="accuracy").fit(X, Y)


def test_indicators_are_told_from_classes() -> None:
    assert label_indicators([0, 1, 1]) is None
    assert label_indicators([[0], [1]]) is None
    assert label_indicators([[0.5, 1.0]]) is None
    assert label_indicators(csr_array(Y)).tolist() == Y.tolist()  # type: ignore[union-attr]
    found = LabelSet.of(np.array([[0, 1, 0], [1, 1, 0]]))
    assert found.varies.tolist() == [True, False, False]
    assert_allclose(found.values(np.array([[2.0]])), [[2.0, np.log(3.0), -np.log(3.0)]])

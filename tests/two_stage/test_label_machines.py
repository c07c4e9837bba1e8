"""Multi-label classification with one learned kernel and a machine for each label."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from mercer import (
    AlignmentMaximization,
    ContinuousAlignment,
    TwoStageClassifier,
    UniformCombination,
)
from mercer.kernels import Gaussian, Linear


def problem() -> tuple[np.ndarray, np.ndarray]:
    return make_multilabel_classification(160, 6, n_classes=4, random_state=0)


@pytest.mark.filterwarnings("ignore:The best")
@pytest.mark.parametrize(
    "model",
    [TwoStageClassifier(), TwoStageClassifier(ContinuousAlignment(output_kernel="multilabel"))],
)
def test_labels_are_predicted_together(model: TwoStageClassifier) -> None:
    X, Y = problem()
    model = clone(model).fit(X[:80], Y[:80])
    predicted = model.predict(X[80:])
    assert predicted.shape == (80, 4)
    assert set(np.unique(predicted)) <= {0, 1}
    base = np.maximum(Y[80:].mean(axis=0), 1.0 - Y[80:].mean(axis=0)).mean()
    assert (predicted == Y[80:]).mean() > base
    values, probabilities = model.decision_function(X[80:]), model.predict_proba(X[80:])
    np.testing.assert_array_equal(values > 0.0, predicted == 1)
    np.testing.assert_array_equal(probabilities > 0.5, predicted == 1)
    errors = np.square(probabilities - Y[80:]).mean()
    assert errors < np.square(Y[:80].mean(axis=0) - Y[80:]).mean()
    assert model.classes_.tolist() == [0, 1, 2, 3]


def test_a_machine_is_that_of_its_label() -> None:
    X, Y = problem()
    learner = AlignmentMaximization([Gaussian(4.0), Linear()])
    model = TwoStageClassifier(learner, C=2.0).fit(X, Y)
    gram = model.learner_.transform(X)
    for label in range(4):
        machine = SVC(kernel="precomputed", C=2.0, tol=1e-9).fit(gram, Y[:, label])
        np.testing.assert_allclose(
            model.decision_function(X)[:, label], machine.decision_function(gram), atol=1e-6
        )


def test_weights_sparse_indicators_and_constant_labels() -> None:
    X, Y = problem()
    X, Y = X[:60], np.column_stack([Y[:60], np.ones(60, dtype=int)])
    counts = np.random.default_rng(0).integers(0, 3, 60)
    model = TwoStageClassifier(AlignmentMaximization([Gaussian(4.0), Linear()]), C=1.0)
    weighted = clone(model).fit(X, Y, sample_weight=counts)
    repeated = clone(model).fit(X.repeat(counts, axis=0), Y.repeat(counts, axis=0))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-6
    )
    sparse = clone(model).fit(X, sp.csr_matrix(Y))
    np.testing.assert_array_equal(sparse.predict(X), clone(model).fit(X, Y).predict(X))
    assert (sparse.predict(X)[:, 4] == 1).all()


def test_labels_of_all_samples_are_right_in_every_fold() -> None:
    X, Y = problem()
    X, Y = X[:60], Y[:60]
    model = TwoStageClassifier(UniformCombination([Gaussian(4.0)]), C=[1.0, 10.0])
    plain, extended = (
        clone(model).fit(X, labels).cv_results_["mean_test_score"]
        for labels in (Y, np.column_stack([Y, np.ones(60, dtype=int)]))
    )
    np.testing.assert_allclose(extended, (4.0 * plain + 1.0) / 5.0)


def test_another_predictor_and_refusals() -> None:
    X, Y = problem()
    predictor = OneVsRestClassifier(SVC(kernel="precomputed"))
    model = TwoStageClassifier(AlignmentMaximization([Gaussian(4.0)]), predictor=predictor)
    assert model.fit(X, Y).predict(X).shape == Y.shape
    with pytest.raises(ValueError, match="Every label belongs to all samples"):
        TwoStageClassifier().fit(X, np.ones_like(Y))

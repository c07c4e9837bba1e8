"""Probabilities of machines come from values of held-out samples."""

import pickle
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import center
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from mercer import L1SVM, ContinuousMKLClassifier, MKLClassifier
from mercer._data.types import Array
from mercer._estimators.one_stage.kernel_machines import FittedMachines
from mercer._gram.samples import Samples
from mercer._search.weights.linear_features import linear_features
from mercer.kernels import Gaussian, Linear
from mercer.losses import Hinge, Squared
from mercer.losses._loss import Problems

MODELS = [
    L1SVM([Gaussian(1.0), Gaussian(4.0)]),
    MKLClassifier([Gaussian(4.0)], loss="squared", fit_intercept=False),
    MKLClassifier([Linear(), Linear(per_feature=True)], loss="squared"),
    MKLClassifier([Gaussian(4.0)], norm=2.0, loss="logistic"),
    ContinuousMKLClassifier(tol=0.05),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=repr)


@every_model
def test_probabilities_agree_with_clear_predictions(model: Any) -> None:
    places = [[-3.0, 0.0], [3.0, 0.0], [0.0, 5.0]]
    X, y = make_blobs(60, centers=places, cluster_std=0.7, random_state=0)
    labels = np.array(["x", "y", "z"])[y]
    model.fit(X, labels)
    found = model.predict_proba(X)
    assert found.shape == (60, 3)
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(X))


@every_model
def test_probabilities_are_close_to_the_true_ones(model: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    true = 1.0 / (1.0 + np.exp(-2.0 * X[:, 0]))
    y = rng.uniform(size=500) < true
    found = model.fit(X[:300], y[:300]).predict_proba(X[300:])[:, 1]
    assert np.abs(found - true[300:]).mean() < 0.1


def test_machines_are_held_out_only_for_probabilities() -> None:
    X, y = make_blobs(80, centers=2, cluster_std=3.0, random_state=0)
    model, n_fitted = MKLClassifier([Gaussian(4.0)]), list[int]()

    def held_out(self: Problems, gram: Array, train: Array, test: Array) -> Array:
        n_fitted.append(len(train))
        return of_problems(self, gram, train, test)

    of_problems = Problems.held_out
    with patch.object(Problems, "held_out", held_out):
        copied = pickle.loads(pickle.dumps(model.fit(X, y)))
        model.predict(X)
        assert not n_fitted
        probabilities = model.predict_proba(X)
        assert n_fitted == [64] * 5
        model.predict_set(X)
        assert len(n_fitted) == 5
    assert_array_equal(copied.predict_proba(X), probabilities)


@pytest.mark.parametrize("intercept", [True, False])
def test_probabilities_are_those_of_the_learned_gram_matrix(intercept: bool) -> None:
    X, y = make_blobs(80, centers=3, cluster_std=3.0, random_state=0)
    weights = np.random.default_rng(0).integers(1, 4, 80).astype(float)
    model = MKLClassifier([Gaussian(4.0), Linear()], fit_intercept=intercept)
    again = clone(model).fit(X, y, weights).predict_proba(X)
    with patch.object(FittedMachines, "without_gram", lambda self: self):
        kept = model.fit(X, y, weights).predict_proba(X)
    assert_allclose(again, kept, rtol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_machines_are_those_of_the_fold(intercept: bool) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    Y = np.sign(X[:, :1] + rng.normal(size=(60, 1)))
    gram = Gaussian(2.0)(X)
    train, test = np.arange(45), np.arange(45, 60)
    if intercept:
        machine = SVC(kernel="precomputed", tol=1e-6).fit(gram[:45, :45], Y[:45, 0])
        problems = Problems(Hinge(1.0), Y, intercept=True)
        expected = machine.decision_function(gram[45:, :45])
    else:
        problems = Problems(Squared(0.5), Y, intercept=False)
        expected = gram[45:, :45] @ np.linalg.solve(gram[:45, :45] + 0.5 * np.eye(45), Y[:45, 0])
    found = problems.held_out(center(gram) if intercept else gram, train, test)
    assert_allclose(found[:, 0], expected, atol=0.05)


def test_one_class_alone_predicts_itself() -> None:
    Y = np.array([[1.0], [1.0], [-1.0]])
    problems = Problems(Hinge(1.0), Y, intercept=True)
    assert_array_equal(problems.held_out(np.eye(3), np.arange(2), np.array([2])), [[1.0]])


@pytest.mark.parametrize("intercept", [True, False])
def test_features_have_the_same_fold_values(intercept: bool) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 3)) + 1.0
    Y = np.sign(X[:, :1] - 1.0 + rng.normal(size=(50, 1)))
    problems, weights = Problems(Squared(2.0), Y, intercept=intercept), np.array([0.5, 1.0, 2.0])
    kernels = Linear(per_feature=True).expand(X)
    features = linear_features(problems, Samples(X), kernels)
    assert features is not None
    train, test = np.arange(40), np.arange(40, 50)
    scaled = X * np.sqrt(weights)
    ridge = Ridge(2.0, fit_intercept=intercept).fit(scaled[:40], Y[:40, 0])
    found = features.held_out(weights, problems, train, test)
    assert_allclose(found[:, 0], ridge.predict(scaled[40:]), rtol=1e-8)


def patients(n: int, size: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Classes of the first feature and of a group, which the other features tell."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n), size)
    marks, levels = rng.normal(size=(n, 2)), 2.0 * rng.normal(size=n)
    X = np.column_stack([rng.normal(size=groups.size), marks[groups]])
    X[:, 1:] += 0.02 * rng.normal(size=(groups.size, 2))
    return X, X[:, 0] + levels[groups] + 0.3 * rng.normal(size=groups.size) > 0.0, groups


@every_model
def test_groups_move_probabilities_alone(model: Any) -> None:
    X, y, groups = patients(12, 5, 0)
    alone, own = clone(model).fit(X, y), clone(model).fit(X, y, groups=np.arange(60))
    assert_array_equal(own.predict_proba(X), alone.predict_proba(X))
    together = clone(model).fit(X, y, groups=groups)
    assert_array_equal(together.decision_function(X), alone.decision_function(X))
    assert together.temperature_.factor != alone.temperature_.factor
    named = clone(model).fit(X, y, groups=np.array(list("abcdefghijkl"))[groups])
    assert_array_equal(named.predict_proba(X), together.predict_proba(X))


@pytest.mark.filterwarnings("ignore:.* sets are empty")
def test_sets_hold_the_classes_of_new_groups() -> None:
    covered, alone = [], []
    for seed in range(8):
        X, y, groups = patients(30, 6, seed)
        new, expected, _ = patients(300, 1, 100 + seed)
        for found, given in ((covered, groups), (alone, None)):
            sets = L1SVM().fit(X, y, groups=given).predict_set(new)
            found.append(sets[np.arange(300), expected.astype(int)].mean())
    error = np.std(covered, ddof=1) / np.sqrt(8)
    assert abs(np.mean(covered) - 0.9) < 3.0 * error
    assert np.mean(alone) < np.mean(covered) - 0.05


@pytest.mark.parametrize("model", [MODELS[0], MODELS[-1]], ids=repr)
def test_copies_are_held_out_together(model: Any) -> None:
    X, y, _ = patients(40, 1, 0)
    rows = np.append(np.arange(40), np.arange(0, 40, 3))
    found = clone(model).fit(X[rows], y[rows])
    groups, numbers = found._held_out.groups, rows[found._held_out.numbers]
    assert_array_equal(groups[:, None] == groups, numbers[:, None] == numbers)


def test_weights_of_zero_leave_groups_out() -> None:
    X, y, groups = patients(12, 5, 0)
    weights = np.where(groups < 3, 0.0, 1.0)
    found = L1SVM().fit(X, y, weights, groups)
    expected = L1SVM().fit(X[groups >= 3], y[groups >= 3], groups=groups[groups >= 3])
    assert_allclose(found.predict_proba(X), expected.predict_proba(X))


def test_groups_travel_through_pipelines() -> None:
    X, y, groups = patients(12, 5, 0)
    alone = L1SVM().fit(X, y, groups=groups).predict_proba(X)
    with config_context(enable_metadata_routing=True):
        model = make_pipeline(FunctionTransformer(), L1SVM().set_fit_request(groups=True))
        assert_array_equal(model.fit(X, y, groups=groups).predict_proba(X), alone)

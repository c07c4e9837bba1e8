"""What two-stage estimators refuse, before any work, and what they say to write instead."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold
from sklearn.svm import SVC

from mercer import (
    ContinuousAlignment,
    MKLClassifier,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer._estimators.two_stage import two_stage
from mercer.kernels import Gaussian

X = np.random.default_rng(0).normal(size=(20, 2))
CLASSES = np.arange(20) % 2
HALVES = [(np.arange(10), np.arange(10, 20))]
SVM: Any = SVC(kernel="precomputed")


class Untouched(TransformerMixin, BaseEstimator):
    """A learner that no fit may reach."""

    def fit(self, X: Any, y: Any) -> Any:
        raise AssertionError("the learner was fitted")

    def transform(self, X: Any) -> Any:
        raise AssertionError("the learner was used")


@pytest.fixture(autouse=True)
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("learners were compared")

    for name in ("isotropic_kernels", "choose_form"):
        monkeypatch.setattr(two_stage, name, refuse)


OF_CLASSES: list[tuple[dict[str, Any], str]] = [
    ({"learner": SVC()}, r"got SVC\(\), which predicts .* SVC\(kernel='precomputed'\)"),
    ({"learner": MKLClassifier()}, r"which predicts and learns no kernel.*make_pipeline\("),
    ({"learner": Gaussian(2.0)}, r"a kernel: pass KernelOptimization\(Gaussian\(bandwidth=2.0\)\)"),
    ({"learner": [Gaussian(1.0)]}, r"AlignmentMaximization\(\[...\]\) learns weights"),
    ({"learner": ContinuousAlignment}, r"the class ContinuousAlignment: write ContinuousAlign"),
    ({"learner": 3}, "has no methods `fit` and `transform`"),
    ({"learner": "rbf"}, r"got 'rbf'. UniformCombination\(\['rbf'\]\)"),
    ({"learner": "best"}, r"learner must be 'auto', None or a .*; got 'best'"),
    ({"C": "best"}, "C must be 'auto'"),
    ({"cv": "many"}, "Expected `cv` as an integer, a cross-validation object"),
    ({"cv": 15}, "n_splits=15 cannot be greater than the number of members"),
    ({"cv": HALVES, "approximation": "nystroem"}, "cv has no effect on Nyström"),
    ({"C": 2.0, "scoring": "f1"}, r"scoring .* if C is a number: .* or pass C=\[2.0\]"),
]
OF_RESPONSES: list[tuple[dict[str, Any], str]] = [
    ({"learner": Ridge()}, r"got Ridge\(\), which predicts"),
    ({"alpha": -1.0}, "alpha must be 'auto'"),
    ({"approximation": "fast"}, "approximation must be one of"),
    ({"cv": 1}, "cv must be at least 2 folds; got cv=1"),
    ({"cv": 21}, "n_splits=21 greater than the number of samples: n_samples=20"),
    ({"cv": GroupKFold(5)}, "The 'groups' parameter should not be None"),
    ({"cv": np.arange(20) % 5}, "cv must list pairs of training and held-out samples"),
    ({"cv": [(np.arange(9), [])]}, "Each fold of cv must train on some samples and hold out some"),
    ({"cv": [(np.arange(9), [20])]}, "index 20 is out of bounds"),
    ({"alpha": 1.0, "cv": HALVES}, r"cv .* if alpha is a number: .* or pass alpha=\[1.0\]"),
    ({"scoring": "balance"}, "'balance' is not a valid scoring value"),
    ({"scoring": "accuracy"}, "'accuracy' does not suit this target"),
]


def refused(model: Any, y: Any, message: str) -> None:
    """Where a kernel is chosen whatever the penalty, some settings need a learner for no effect."""
    if model.learner is None and model.approximation == "auto":
        model.set_params(learner=Untouched())
    with pytest.raises((TypeError, ValueError, IndexError), match=message):
        model.fit(X, y)


@pytest.mark.parametrize(("settings", "message"), OF_CLASSES)
def test_settings_of_classifiers_are_refused(settings: dict[str, Any], message: str) -> None:
    refused(TwoStageClassifier(**settings), CLASSES, message)


@pytest.mark.parametrize(("settings", "message"), OF_RESPONSES)
def test_settings_of_regressors_are_refused(settings: dict[str, Any], message: str) -> None:
    refused(TwoStageRegressor(**settings), X[:, 0], message)


def test_targets_are_looked_at_before_any_work() -> None:
    for y, message in (
        (X[:, 0], "Unknown label type"),
        (np.column_stack([CLASSES, 1 - CLASSES]), "y should be a 1d array"),
        (np.ones(20), "number of classes has to be greater than one; got 1 class"),
        (CLASSES[1:], "Found input variables with inconsistent numbers of samples"),
        (None, "requires y to be passed, but the target y is None"),
    ):
        refused(TwoStageClassifier(Untouched()), y, message)
    refused(TwoStageRegressor(Untouched()), np.r_[np.inf, X[1:, 0]], "Input y contains infinity")


@pytest.mark.parametrize("kind", [TwoStageClassifier, TwoStageRegressor])
def test_messages_of_tables_name_the_estimator(kind: Any) -> None:
    for learner in (None, "auto"):
        with pytest.raises(ValueError, match=rf"X has 0 rows \(0 samples\): {kind.__name__} needs"):
            kind(learner).fit(X[:0], CLASSES[:0])
    model = kind(UniformCombination()).fit(X, CLASSES)
    with pytest.raises(ValueError, match=f"X has 1 features, but {kind.__name__} is expecting 2"):
        model.predict(X[:, :1])


def test_a_path_is_no_table() -> None:
    with pytest.raises(TypeError, match=r"got the path 't.parquet'. ParquetSource\('t.parquet',"):
        TwoStageClassifier().fit("t.parquet", CLASSES)

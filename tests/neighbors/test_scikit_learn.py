"""scikit-learn: estimators that fit others take mercer's for a table of mixed types."""

import time
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import (
    calibration,
    compose,
    config_context,
    ensemble,
    feature_selection,
    impute,
    multiclass,
    multioutput,
    semi_supervised,
)
from sklearn import model_selection as selection
from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer  # noqa: F401
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline

from mercer import (
    EvidenceMaximization,
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageClassifier,
    TwoStageRegressor,
)
from mercer.kernels import Gaussian
from mercer.preprocessing import table_encoder

TRAIN, TEST = slice(None, 200), slice(200, None)


def relevance(model: Any) -> Any:
    return model.coef_ if hasattr(model, "coef_") else model.kernel_terms().relevance


class Imputed(impute.IterativeImputer):
    def score(self, X: Any, y: Any) -> float:
        """The share of the variance of values left out at random that is explained."""
        out = np.random.default_rng(0).random(X.shape) < 0.1
        guessed = self.transform(np.where(out, np.nan, X))
        means = np.broadcast_to(X.mean(axis=0), X.shape)
        return 1 - ((guessed - X)[out] ** 2).mean() / ((means - X)[out] ** 2).mean()


def then(selector: Any) -> Any:
    """A client that selects columns, before a linear model."""
    return lambda one: make_pipeline(selector(one), RidgeCV())


FEW = {"n_estimators": 5, "random_state": 0}
FRAMES = {
    "VotingRegressor": lambda one: ensemble.VotingRegressor([("a", one), ("b", one)]),
    "StackingRegressor": lambda one: ensemble.StackingRegressor([("a", one)], RidgeCV(), cv=3),
    "TransformedTargetRegressor": lambda one: compose.TransformedTargetRegressor(
        one, func=np.log, inverse_func=np.exp
    ),
    "MultiOutputRegressor": multioutput.MultiOutputRegressor,
    "GridSearchCV": lambda one: selection.GridSearchCV(one, {}, cv=3),
    "RandomizedSearchCV": lambda one: selection.RandomizedSearchCV(one, {}, n_iter=1, cv=3),
    "HalvingGridSearchCV": lambda one: selection.HalvingGridSearchCV(one, {}, cv=3),
    "VotingClassifier": lambda one: ensemble.VotingClassifier([("a", one), ("b", one)]),
    "StackingClassifier": lambda one: ensemble.StackingClassifier([("a", one)], cv=3),
    "CalibratedClassifierCV": lambda one: calibration.CalibratedClassifierCV(one, cv=3),
    "FixedThresholdClassifier": lambda one: selection.FixedThresholdClassifier(one, threshold=0.5),
    "TunedThresholdClassifierCV": lambda one: selection.TunedThresholdClassifierCV(
        one, scoring="accuracy", cv=3
    ),
    "OneVsRestClassifier": multiclass.OneVsRestClassifier,
    "OutputCodeClassifier": lambda one: multiclass.OutputCodeClassifier(one, random_state=0),
    "MultiOutputClassifier": multioutput.MultiOutputClassifier,
}
"""Clients that pass a data frame on as it is."""

ARRAYS = {
    "BaggingRegressor": lambda one: ensemble.BaggingRegressor(one, **FEW),
    "BaggingClassifier": lambda one: ensemble.BaggingClassifier(one, **FEW),
}
"""Clients that pass an array of objects on, for which the encoder is given."""

NUMBERS = {
    "AdaBoostRegressor": lambda one: ensemble.AdaBoostRegressor(one, **FEW),
    "AdaBoostClassifier": lambda one: ensemble.AdaBoostClassifier(one, **FEW),
    "OneVsOneClassifier": multiclass.OneVsOneClassifier,
    "RegressorChain": multioutput.RegressorChain,
    "ClassifierChain": multioutput.ClassifierChain,
    "SelfTrainingClassifier": lambda one: semi_supervised.SelfTrainingClassifier(one, max_iter=3),
    "RFE": then(lambda one: feature_selection.RFE(one, importance_getter=relevance)),
    "RFECV": then(lambda one: feature_selection.RFECV(one, importance_getter=relevance, cv=3)),
    "SelectFromModel": then(
        lambda one: feature_selection.SelectFromModel(one, importance_getter=relevance)
    ),
    "SequentialFeatureSelector": then(
        lambda one: feature_selection.SequentialFeatureSelector(one, n_features_to_select=2, cv=2)
    ),
    "IterativeImputer": lambda one: Imputed(one, max_iter=2),
}
"""Clients that need numbers, and are put behind the encoder."""


def target(client: str, y: np.ndarray) -> np.ndarray:
    if client in {"MultiOutputRegressor", "RegressorChain"}:
        return np.column_stack([y, np.sqrt(y)])
    if client in {"MultiOutputClassifier", "ClassifierChain"}:
        return np.column_stack([y > 100, y > 180]).astype(int)
    if client.startswith(("OneVs", "OutputCode")):
        return np.digitize(y, [100, 180])
    return np.where(y > 140, 1, 0) if "Classifier" in client else y


@pytest.mark.parametrize("client", [*FRAMES, *ARRAYS, *NUMBERS])
def test_scores_as_well_as_a_linear_model(client: str, patients: Any, found: Any) -> None:
    X, y = patients[0], target(client, patients[1])
    shown = np.where(np.arange(200) % 2, y[TRAIN], -1) if "SelfTr" in client else y[TRAIN]
    classes = "Classifier" in client
    two_stage = TwoStageClassifier() if classes else TwoStageRegressor()
    if client in {"RFE", "RFECV", "SelectFromModel"}:
        # A kernel of one width depends on all columns alike.
        two_stage.set_params(learner=EvidenceMaximization(Gaussian(ard=True)))
    stack = KernelStackingClassifier() if classes else KernelStackingRegressor()
    scores, seconds = [], []
    for one in (LogisticRegression(max_iter=1000) if classes else RidgeCV(), two_stage, stack):
        own = "encoder" in one.get_params()
        if client in NUMBERS:
            model = make_pipeline(table_encoder(), NUMBERS[client](one))
        elif client in ARRAYS and own:
            model = ARRAYS[client](one.set_params(encoder=table_encoder()))
        else:
            model = (FRAMES | ARRAYS)[client](one if own else make_pipeline(table_encoder(), one))
        start = time.process_time()
        model.fit(X[TRAIN], shown)
        seconds.append(time.process_time() - start)
        scores.append(model.score(X[TEST], y[TEST]))
    times = (f"{one / seconds[0]:.0f}" for one in seconds[1:])
    found(*(f"{one:.2f}" for one in scores), *times, row=client)
    assert min(scores[1:]) > scores[0] - 0.06


@pytest.mark.parametrize("client", ["VotingRegressor", "StackingRegressor", "MultiOutputRegressor"])
def test_weights_reach_the_estimator(client: str, patients: Any) -> None:
    X, y = patients
    weights = np.where(np.arange(442) % 3, 1.0, 0.01)
    targets = target(client, y)
    fitted = FRAMES[client](TwoStageRegressor()).fit(X, targets, sample_weight=weights)
    expected = TwoStageRegressor().fit(X, y, sample_weight=weights).predict(X)
    assert_allclose(fitted.estimators_[0].predict(X), expected)
    assert not np.allclose(expected, TwoStageRegressor().fit(X, y).predict(X))


def test_routed_groups_reach_the_estimator_and_its_folds(patients: Any, found: Any) -> None:
    X, y = patients
    groups = X["age"].to_numpy()
    with config_context(enable_metadata_routing=True):
        model = TwoStageRegressor().set_fit_request(groups=True)
        scores = cross_validate(
            model, X, y, params={"groups": groups}, cv=GroupKFold(3), return_estimator=True
        )
    train = next(iter(GroupKFold(3).split(X, y, groups)))[0]
    itself = TwoStageRegressor().fit(X.iloc[train], y[train], groups=groups[train])
    assert_allclose(scores["estimator"][0].predict(X), itself.predict(X))
    found(f"{len(FRAMES)} clients take frames, {len(ARRAYS)} an encoder, {len(NUMBERS)} numbers")

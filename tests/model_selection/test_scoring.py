"""Scorers of scikit-learn that are called on given predictions."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, make_scorer, max_error, mean_pinball_loss

from mercer._data.weights import UnitWeights, as_weights
from mercer._model_selection.scoring import prediction_scorer

PINBALL = make_scorer(mean_pinball_loss, alpha=0.9, greater_is_better=False)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["neg_log_loss", "balanced_accuracy", "roc_auc_ovr", "f1_macro"])
def test_scores_are_those_of_a_classifier_that_predicts_the_probabilities(
    name: str, n_classes: int
) -> None:
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(90, 2)), rng.uniform(0.2, 2.0, 90)
    y = np.array(["a", "b", "c"])[np.arange(90) % n_classes]
    model = LogisticRegression().fit(X, y)
    scorer = get_scorer(name)
    for weights, known in ((UnitWeights(90), {}), (as_weights(w, 90), {"sample_weight": w})):
        found = prediction_scorer(name)(y, model.predict_proba(X), weights, model.classes_)
        assert_allclose(found, scorer(model, X, y, **known))


@pytest.mark.parametrize("scoring", ["neg_mean_absolute_error", "r2", PINBALL])
def test_scores_are_those_of_a_regressor_that_predicts_the_responses(scoring: Any) -> None:
    rng = np.random.default_rng(0)
    X, w = np.zeros((40, 1)), rng.uniform(0.2, 2.0, 40)
    y = rng.normal(size=(40, 2))
    model = DummyRegressor().fit(X, y)
    found = prediction_scorer(scoring)(y, model.predict(X), as_weights(w, 40))
    assert_allclose(found, get_scorer(scoring)(model, X, y, sample_weight=w))


def test_weights_go_to_scorers_that_take_them() -> None:
    y, w = np.array([1.0, 2.0, 3.0]), as_weights(np.array([1.0, 2.0, 5.0]), 3)
    # The largest error has no weights.
    largest = prediction_scorer(make_scorer(max_error, greater_is_better=False))
    assert largest(y, np.zeros(3), w) == -3.0
    assert prediction_scorer(lambda model, X, y: len(X))(y, y, w) == 3.0

    def weighted(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return sample_weight @ (y - model.predict(X))

    assert prediction_scorer(weighted)(y, np.zeros(3), w) == 20.0


def test_classes_without_probability_are_left_out() -> None:
    probabilities = np.array([[0.25, 0.0, 0.75], [0.5, 0.0, 0.5], [0.75, 0.0, 0.25]])
    y, classes = np.array([2, 0, 0]), np.arange(3)
    found = prediction_scorer("roc_auc")(y, probabilities, UnitWeights(3), classes)
    assert found == 1.0


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        ("accurate", "'accurate' is not a valid scoring value"),
        (max_error, "looks like it is a metric function rather than a scorer"),
        (["r2", "neg_mean_absolute_error"], "'scoring' parameter"),
    ],
)
def test_what_is_no_scorer_is_refused_in_the_words_of_scikit_learn(
    scoring: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        prediction_scorer(scoring)

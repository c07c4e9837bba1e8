"""Left-out scores of classifiers that keep probabilities of held-out rows."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.model_selection import TimeSeriesSplit
from sklearn.svm import SVC

from mercer import TwoStageClassifier
from mercer.inspection import report

N_TRAIN, N = 120, 160


@pytest.fixture(scope="module")
def classes() -> tuple[Any, Any]:
    X = np.random.default_rng(0).normal(size=(N, 3))
    return X, np.where(np.sin(2.0 * X[:, 0]) + X[:, 1] > 0, "yes", "no")


@pytest.mark.parametrize("model", [TwoStageClassifier(), TwoStageClassifier(cv=TimeSeriesSplit(3))])
def test_classifiers_of_two_stages_have_left_out_scores(classes: Any, model: Any) -> None:
    X, y = classes
    train = X[:N_TRAIN], y[:N_TRAIN]
    found = report(model.fit(*train), X[N_TRAIN:], y[N_TRAIN:], train=train)
    held_out = model.held_out_classifier()
    rows = held_out.samples_[:, 0]
    assert found.left_out is not None
    expected = log_loss(y[rows], held_out.predict_proba(held_out.samples_))
    assert found.left_out.scores["log_loss"].value == pytest.approx(expected)
    assert found.left_out.scores["error"].value == pytest.approx(
        np.mean(held_out.predict(held_out.samples_) != y[rows])
    )
    assert "which makes their scores too good" in found.to_markdown()


def test_other_rows_than_those_of_the_fit_have_no_left_out_scores(classes: Any) -> None:
    X, y = classes
    model = TwoStageClassifier().fit(X[:N_TRAIN], y[:N_TRAIN])
    for rows in (np.arange(N_TRAIN)[::-1], np.arange(N_TRAIN - 10)):
        found = report(model, X[N_TRAIN:], y[N_TRAIN:], train=(X[rows], y[rows]))
        assert found.left_out is None
    given = TwoStageClassifier(predictor=SVC(kernel="precomputed")).fit(X[:N_TRAIN], y[:N_TRAIN])
    train = X[:N_TRAIN], y[:N_TRAIN]
    assert report(given, X[N_TRAIN:], y[N_TRAIN:], train=train).left_out is None

"""Contributions of training rows are coefficients times kernel values, and sum to predictions."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from explanation_cases import responses, ridge_on
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from mercer import (
    BayesianMKLRegressor,
    KernelStackingClassifier,
    KernelStackingRegressor,
    MKLClassifier,
    TwoStageClassifier,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.inspection import training_contributions
from mercer.kernels import Gaussian, Linear
from mercer.preprocessing import table_encoder

pytestmark = pytest.mark.usefixtures("few_folds_throughout")

X, Y = responses(60, 4)
LABELS = np.digitize(Y[:, 0], [-0.5, 0.5])


def test_values_are_coefficients_times_kernel_values() -> None:
    model = ridge_on(Gaussian(2.0), X, Y)
    found = training_contributions(model, X[:3] + 0.1, X)
    ridge, kernel = model.predictor_, model.learner_.kernel_
    expected = kernel(X[:3] + 0.1, X)[:, :, None] * ridge.dual_coef_
    assert_allclose(found.values, expected, atol=1e-12)
    assert_allclose(found.rest, np.tile(ridge.intercept_, (3, 1)), atol=1e-10)
    assert not found.are_centers
    assert found.positions.tolist() == list(range(60))


@pytest.mark.parametrize(
    "estimator",
    [
        TwoStageRegressor(approximation="nystroem", n_components=20),
        KernelStackingRegressor([Gaussian(2.0), Linear()]),
        BayesianMKLRegressor([Gaussian(2.0), Linear()]),
    ],
    ids=lambda e: type(e).__name__,
)
def test_they_sum_to_responses(estimator: Any) -> None:
    model = estimator.fit(X, Y[:, 0])
    rows = np.vstack([X[:5], 9.0 * X[:5]])
    found = training_contributions(model, rows, X)
    assert_allclose(found.values.sum(axis=1) + found.rest, model.predict(rows), atol=1e-7)
    assert found.are_centers == (getattr(model, "approximation", None) == "nystroem")


@pytest.mark.parametrize(
    ("estimator", "labels"),
    [
        (TwoStageClassifier(UniformCombination([Gaussian(2.0)])), LABELS > 0),
        (KernelStackingClassifier([Gaussian(2.0)]), LABELS),
        (MKLClassifier(), LABELS),
    ],
    ids=lambda e: type(e).__name__,
)
def test_they_sum_to_scores_of_classes(estimator: Any, labels: Any) -> None:
    model = estimator.fit(X, labels)
    found = training_contributions(model, X[:5], X)
    scores = found.values.sum(axis=1) + found.rest
    logs = np.log(model.predict_proba(X[:5]))
    if len(model.classes_) == 2:
        assert_allclose(scores, logs[:, 1] - logs[:, 0], atol=1e-9)
        return
    differences = scores - scores.mean(axis=1)[:, None]
    assert_allclose(differences, logs - logs.mean(axis=1)[:, None], atol=1e-9)
    one = found.of_output(2)
    assert_allclose(one.values.sum(axis=1) + one.rest, 1.5 * differences[:, 2], atol=1e-9)


def test_support_vectors_alone_contribute() -> None:
    model = MKLClassifier([Gaussian(1.0)], C=10.0).fit(X, X[:, 0] > 0.0)
    found = training_contributions(model, X[:2], X)
    assert found.positions.tolist() == model.support_.tolist()
    assert len(found.positions) < 60


class TestFrames:
    frame = pd.DataFrame({"age": 0.5 * np.arange(60.0), "town": ["a", "b", "c"] * 20})
    y = frame["age"] / 5.0 + (frame["town"] == "b")

    def test_rows_of_the_users_table(self) -> None:
        model = make_pipeline(table_encoder(), KernelStackingRegressor([Gaussian(0.5)]))
        found = training_contributions(model.fit(self.frame, self.y), self.frame[7:9], self.frame)
        frame = found.to_frame(1, 4)
        assert list(frame) == ["row", "contribution", "age", "town"]
        assert len(frame) == 4
        assert (np.diff(np.abs(frame["contribution"])) <= 0.0).all()
        assert frame["row"].tolist() == (2.0 * frame["age"]).astype(int).tolist()
        # A narrow kernel predicts by rows that are near and of the same town.
        assert (np.abs(frame["age"] - 4.0) <= 4.5).all()
        assert set(frame["town"]) == {"c"}

    def test_rows_that_are_equal_are_one(self) -> None:
        table = pd.concat([self.frame, self.frame], ignore_index=True)
        model = make_pipeline(table_encoder(), TwoStageRegressor()).fit(table, [*self.y, *self.y])
        found = training_contributions(model, table[:3], table)
        assert found.positions.max() < 60
        expected = model.predict(table[:3])
        assert_allclose(found.values.sum(axis=1) + found.rest, expected, atol=1e-7)

    def test_centers_are_called_so(self) -> None:
        model = TwoStageRegressor(approximation="nystroem", n_components=20).fit(X, Y[:, 0])
        found = training_contributions(model, X[:2], X)
        assert found.values.shape == (2, 20)
        rows = found.to_frame(0, 20)
        assert list(rows)[:2] == ["center", "contribution"]
        assert_allclose(rows[["x0", "x1", "x2", "x3"]], X[rows["center"]])


class TestBadInput:
    model = ridge_on(Gaussian(2.0), X, Y)

    @pytest.mark.parametrize(
        "model",
        [
            TwoStageClassifier(UniformCombination([Gaussian(2.0)])),
        ],
        ids=["votes"],
    )
    def test_predictions_that_are_no_sums_over_rows(self, model: Any) -> None:
        with pytest.raises(TypeError, match="No part of the prediction is a sum over training"):
            training_contributions(model.fit(X, LABELS), X, X)

    def test_models(self) -> None:
        with pytest.raises(NotFittedError):
            training_contributions(TwoStageRegressor(), X, X)

    @pytest.mark.parametrize(
        ("tables", "message"),
        [
            ((X, X[:30]), "training lacks rows that the model was fitted to"),
            ((X[:, :2], X), "features"),
            ((X, X[:, :2]), "features"),
            ((np.full((1, 4), np.nan), X), "NaN"),
        ],
    )
    def test_tables(self, tables: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            training_contributions(self.model, *tables)

    def test_frames(self) -> None:
        found = training_contributions(self.model, X[:2], X)
        with pytest.raises(IndexError, match="There is no row 2: 2 rows are explained"):
            found.to_frame(2, output=0)
        with pytest.raises(ValueError, match="output must be one of 0, 1; got None"):
            found.to_frame(0)
        with pytest.raises(ValueError, match="n_largest"):
            found.to_frame(0, 0, output=1)

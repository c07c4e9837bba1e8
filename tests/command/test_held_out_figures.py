"""Tables and figures of predictions of held-out rows show the numbers that they name."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from command_cases import pd, recorded_axes
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from mercer_command.held_out_figures import HeldOut, held_out_section

N = 200
RNG = np.random.default_rng(0)


class Fitted(BaseEstimator):
    def fit(self, X: Any, y: Any) -> Any:
        self.is_fitted_ = True
        return self


class Normal(Fitted):
    """It predicts zero, and intervals of a normal distribution that are too low by a half."""

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X))

    def predict_interval(self, X: Any, coverage: float) -> Any:
        return np.tile(np.array(norm.interval(coverage)) - 0.5, (len(X), 1))


class Scores(Fitted):
    """The only column is the probability of the second class."""

    classes_ = np.array(["no", "yes"])

    def predict(self, X: Any) -> Any:
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]

    def predict_proba(self, X: Any) -> Any:
        p = np.asarray(X)[:, 0]
        return np.column_stack([1.0 - p, p])


class Reader(FunctionTransformer):
    target = ("y", "number", "point")


def rows_of(step: Any, X: Any, y: Any, task: Any) -> HeldOut:
    model = Pipeline([("reader", Reader()), ("step", step)]).fit(X, y)
    return HeldOut(model, X, y, task, "units of 'y'")


@pytest.fixture
def axes(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The axes of all figures that are drawn."""
    return recorded_axes(monkeypatch)


def titled(title: str, axes: list[Any]) -> Any:
    return next(one for one in axes if one.get_title() == title)


def test_the_share_of_responses_in_intervals_is_drawn(axes: list[Any]) -> None:
    y = RNG.normal(size=N)
    X = pd.DataFrame({"x": y})
    held_out_section(rows_of(Normal(), X, y, "regression"))
    asked, covered = titled("Coverage of intervals", axes).lines[-1].get_data()
    bounds = [Normal().predict_interval(X, coverage)[0] for coverage in asked]
    expected = [np.mean((low <= y) & (y <= high)) for low, high in bounds]
    np.testing.assert_allclose(covered, expected)
    intervals = titled("Intervals of 90% coverage", axes)
    (low, high), *_ = [path.vertices[:, 1] for path in intervals.collections[0].get_paths()]
    np.testing.assert_allclose((low, high), Normal().predict_interval(X, 0.9)[0])


def test_curves_are_those_of_the_second_class(axes: list[Any]) -> None:
    p = RNG.random(N)
    y = np.where(RNG.random(N) < p, "yes", "no")
    held_out_section(rows_of(Scores(), pd.DataFrame({"p": p}), y, "classification"))
    false, true = titled("ROC curve", axes).lines[0].get_data()
    assert np.trapezoid(true, false) == pytest.approx(roc_auc_score(y == "yes", p))
    recall, precision = titled("Precision and recall", axes).lines[0].get_data()
    assert precision[recall == 1.0].min() == pytest.approx(np.mean(y == "yes"))
    predicted, share = titled("Calibration", axes).lines[0].get_data()
    assert np.corrcoef(predicted, share)[0, 1] > 0.8


def test_precision_is_that_of_predictions_and_recall_that_of_classes() -> None:
    truth = np.array(["no"] * 3 + ["yes"])
    X = pd.DataFrame({"p": [0.0, 1.0, 1.0, 1.0]})
    table = held_out_section(rows_of(Scores(), X, truth, "classification"))[0]
    cells = [cell.strip() for cell in re.findall(r"<td[^>]*>([^<]*)", table)]
    assert cells == ["no", "100.0%", "33.3%", "50.0%", "3", "yes", "33.3%", "100.0%", "50.0%", "1"]

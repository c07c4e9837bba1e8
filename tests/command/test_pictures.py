"""Pictures of a report show the numbers that they name."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from command_cases import drawn_axes, pd
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import FunctionTransformer

from mercer.inspection import report
from mercer_command.importances import ColumnImportance
from mercer_command.models import Trial
from mercer_command.pictures import dependence_sections, prediction_sections
from mercer_command.pipelines import make_model
from mercer_command.problem import as_problem
from mercer_command.table_model import TableModel

N = 200
RNG = np.random.default_rng(0)


class Fitted(BaseEstimator):
    def fit(self, X: Any, y: Any) -> Any:
        self.is_fitted_ = True
        return self


class Zero(RegressorMixin, Fitted):
    def predict(self, X: Any) -> Any:
        return np.zeros(len(X))


class Scores(ClassifierMixin, Fitted):
    """The only column is the probability of the second class."""

    classes_ = np.array(["no", "yes"])

    def predict(self, X: Any) -> Any:
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]

    def predict_proba(self, X: Any) -> Any:
        p = np.asarray(X)[:, 0]
        return np.column_stack([1.0 - p, p])


class Reader(FunctionTransformer):
    target = ("y", "number", "point")


def section_of(step: Any, X: Any, y: Any, task: Any) -> Any:
    model = TableModel([("reader", Reader()), ("step", step)]).fit(X, y)
    trial = Trial(model, "y", task, "units of 'y'", X, y, report=report(model, X, y))
    return prediction_sections(trial)[0]


def test_curves_are_those_of_the_second_class() -> None:
    p = 0.5 * RNG.random(N)
    y = np.where(RNG.random(N) < p, "yes", "no")
    section = section_of(Scores(), pd.DataFrame({"p": p}), y, "classification")
    _, roc, ranked, calibrated = drawn_axes(section)
    false, true = roc.lines[0].get_data()
    assert np.trapezoid(true, false) == pytest.approx(roc_auc_score(y == "yes", p))
    recall, precision = ranked.lines[0].get_data()
    assert precision[recall == 1.0].min() == pytest.approx(np.mean(y == "yes"))
    predicted, share = calibrated.lines[1].get_data()
    assert np.corrcoef(predicted, share)[0, 1] > 0.6


def test_errors_of_responses_are_drawn() -> None:
    y = RNG.normal(size=N)
    section = section_of(Zero(), pd.DataFrame({"x": y}), y, "regression")
    _, residuals = drawn_axes(section)
    drawn = residuals.collections[0].get_offsets()[:, 1]
    np.testing.assert_allclose(np.sort(drawn), np.sort(y))


def test_times_of_day_are_drawn_in_hours() -> None:
    rng = np.random.default_rng(0)
    minutes = rng.integers(0, 24 * 60, 60)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=60),
            "clock": [f"{m // 60:02d}:{m % 60:02d}" for m in minutes],
            "y": np.sin(minutes / 230.0),
        }
    )
    problem = as_problem(frame, "y")
    model = make_model("uniform", problem, np.arange(60))
    model.fit(problem.features, problem.target)
    trial = Trial(model, "y", "regression", "", problem.features, problem.target)
    [section] = dependence_sections(replace(trial, importances=[ColumnImportance("clock")]))
    times = drawn_axes(section)[0].lines[0].get_xdata()
    assert times.max() - times.min() < np.timedelta64(1, "D")

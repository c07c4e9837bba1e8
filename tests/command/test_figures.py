"""Tables and figures of a report show the numbers that they name."""

from typing import Any

import numpy as np
import pytest
from command_cases import drawn_axes, pd
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import FunctionTransformer

from mercer.inspection import report
from mercer_command.figures import dependence_section, error_figure
from mercer_command.held_out_figures import prediction_sections
from mercer_command.importances import ColumnImportance
from mercer_command.models import Trial
from mercer_command.output import Section, Table
from mercer_command.pipelines import make_model
from mercer_command.problem import as_problem
from mercer_command.table_model import TableModel

N = 200
RNG = np.random.default_rng(0)


class Fitted(BaseEstimator):
    def fit(self, X: Any, y: Any) -> Any:
        self.is_fitted_ = True
        return self


class Normal(RegressorMixin, Fitted):
    """It predicts zero, and intervals of a normal distribution that are too low by a half."""

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X))

    def predict_interval(self, X: Any, coverage: float) -> Any:
        return np.tile(np.array(norm.interval(coverage)) - 0.5, (len(X), 1))


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


def titled(title: str, axes: list[Any]) -> Any:
    return next(one for one in axes if one.get_title() == title)


def test_intervals_are_drawn() -> None:
    y = RNG.normal(size=N)
    X = pd.DataFrame({"x": y})
    axes = drawn_axes(section_of(Normal(), X, y, "regression"))
    intervals = titled("Intervals of 90% coverage", axes)
    (low, high), *_ = [path.vertices[:, 1] for path in intervals.collections[0].get_paths()]
    np.testing.assert_allclose((low, high), Normal().predict_interval(X, 0.9)[0])


@pytest.mark.parametrize("rare", ["yes", "no"])
def test_curves_are_those_of_the_rarer_class(rare: str) -> None:
    p = RNG.random(N)
    p = 0.5 * p if rare == "yes" else 0.5 + 0.5 * p
    y = np.where(RNG.random(N) < p, "yes", "no")
    own = p if rare == "yes" else 1.0 - p
    axes = drawn_axes(section_of(Scores(), pd.DataFrame({"p": p}), y, "classification"))
    false, true = titled("ROC curve", axes).lines[0].get_data()
    assert np.trapezoid(true, false) == pytest.approx(roc_auc_score(y == rare, own))
    recall, precision = titled("Precision and recall", axes).lines[0].get_data()
    assert precision[recall == 1.0].min() == pytest.approx(np.mean(y == rare))
    predicted, share = titled("Calibration", axes).lines[0].get_data()
    assert np.corrcoef(predicted, share)[0, 1] > 0.6


def test_bars_of_scores_end_where_their_intervals_do() -> None:
    y = RNG.normal(size=N)
    X = pd.DataFrame({"x": y})
    model = TableModel([("reader", Reader()), ("step", Normal())]).fit(X, y)
    trial = Trial(model, "y", "regression", "", X, y, report=report(model, X, y))
    assert trial.report is not None
    score = trial.report.held_out[0].scores[trial.report.metric]
    assert not np.isclose(score.high - score.value, score.value - score.low, rtol=1e-3)
    [ax] = drawn_axes(Section("", [error_figure(trial)]))
    [bar] = ax.containers[0].lines[2][0].get_segments()
    np.testing.assert_allclose(bar[:, 0], [score.low, score.high])


def test_precision_is_that_of_predictions_and_recall_that_of_classes() -> None:
    truth = np.array(["no"] * 3 + ["yes"])
    X = pd.DataFrame({"p": [0.0, 1.0, 1.0, 1.0]})
    [table] = [
        part
        for part in section_of(Scores(), X, truth, "classification").parts
        if isinstance(part, Table)
    ]
    assert table.rows == [
        ["no", "100.0%", "33.3%", "50.0%", "3"],
        ["yes", "33.3%", "100.0%", "50.0%", "1"],
    ]


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
    clock = ColumnImportance("clock", 1.0)
    X, y = problem.features, problem.target
    [section] = dependence_section(Trial(model, "y", "regression", "", X, y, [clock]))
    hours = drawn_axes(section)[0].lines[0].get_xdata()
    assert 0.0 <= hours.min() < 3.0
    assert 21.0 < hours.max() <= 24.0

"""How much columns matter to a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cli_cases import pd

from mercer._cli import importance
from mercer._cli.encoding import source_columns
from mercer._cli.importance import column_importances, column_relevances
from mercer._cli.methods import make_model
from mercer._cli.problem import as_problem

N = 120


def fitted(learner: str) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "noise": rng.normal(size=N),
            "signal": rng.normal(size=N),
            "kind": rng.choice(["a", "b", "c"], N),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, N), "D"),
        }
    )
    frame["y"] = np.sin(2 * frame["signal"]) + 1.5 * (frame["kind"] == "b")
    problem = as_problem(frame, "y")
    model = make_model(learner, problem, np.arange(90))
    model.fit(problem.features[:90], problem.target[:90])
    return model, problem.features[90:], problem.target[90:]


def test_shuffled_columns_raise_the_error_if_they_matter() -> None:
    model, X, y = fitted("stacking")
    found = column_importances(model, X, y, "regression")
    assert {column.name for column in found[:2]} == {"signal", "kind"}
    by_name = {column.name: column for column in found}
    assert by_name["signal"].increase > 5 * abs(by_name["noise"].increase)
    assert by_name["signal"].relevance > by_name["noise"].relevance
    assert sum(column.relevance for column in found) == pytest.approx(1.0)


def test_each_feature_belongs_to_its_column() -> None:
    model, _, _ = fitted("uniform")
    sources = source_columns(model["columns"])
    names = model["columns"].get_feature_names_out()
    assert len(sources) == len(names)
    assert all(str(name).startswith(source) for name, source in zip(names, sources, strict=True))
    assert all(np.isnan(share) for share in column_relevances(model).values())


def test_of_many_columns_the_most_relevant_are_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    model, X, y = fitted("stacking")
    monkeypatch.setattr(importance, "_MOST_PREDICTIONS", 5 * len(y))
    found = column_importances(model, X, y, "regression")
    relevances = column_relevances(model)
    assert [np.isnan(column.increase) for column in found] == [False, True, True, True]
    assert found[0].name == max(relevances, key=relevances.__getitem__)
    assert all(np.isnan(c.increase) for c in column_importances(model, X, None, "regression"))

"""Columns that matter, by shuffles and by learned relevance."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from command_cases import pd
from sklearn.inspection import permutation_importance

from mercer.inspection import kernel_terms
from mercer_command.contributions import (
    ColumnImportance,
    column_relevances,
    columns_that_matter,
    why_no_relevance,
)
from mercer_command.explanation_sections import importance_section
from mercer_command.models import Trial
from mercer_command.output import Table
from mercer_command.pipelines import make_model
from mercer_command.problem import as_problem
from mercer_command.table_reader import source_columns

N_LEARNED = 120


def fitted(learner: str) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "noise": rng.normal(size=N_LEARNED),
            "signal": rng.normal(size=N_LEARNED),
            "kind": rng.choice(["a", "b", "c"], N_LEARNED),
            "day": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.integers(0, 300, N_LEARNED), "D"),
        }
    )
    frame["y"] = np.sin(2 * frame["signal"]) + 1.5 * (frame["kind"] == "b")
    problem = as_problem(frame, "y")
    model = make_model(learner, problem, np.arange(90))
    model.fit(problem.features[:90], problem.target[:90])
    return model, problem.features[90:], problem.target[90:]


def cells(found: list[ColumnImportance], model: Any, X: Any) -> list[str]:
    """What the table of columns says of each."""
    section = importance_section(Trial(model, "y", "regression", "", X, None, found))
    table = section.parts[0]
    assert isinstance(table, Table)
    return [row[1] for row in table.rows]


def test_shuffled_columns_raise_the_error_if_they_matter() -> None:
    model, X, y = fitted("stacking")
    found = columns_that_matter(model, X, y, "regression")
    assert {column.name for column in found[:2]} == {"signal", "kind"}
    by_name = {column.name: column for column in found}
    assert by_name["signal"].increase > 5 * abs(by_name["noise"].increase)
    assert by_name["signal"].relevance > by_name["noise"].relevance
    assert sum(column.relevance for column in found) == pytest.approx(1.0)


def test_importances_are_those_of_three_shuffles() -> None:
    model, X, y = fitted("uniform")
    found = {column.name: column for column in columns_that_matter(model, X, y, "regression")}
    score = "neg_root_mean_squared_error"
    shuffled = permutation_importance(model, X, y, scoring=score, n_repeats=3, random_state=0)
    for name, increases in zip(X.columns, shuffled.importances, strict=True):
        assert found[name].increase == pytest.approx(increases.mean())
        assert found[name].deviation == pytest.approx(increases.std(ddof=1))


def test_of_many_columns_the_most_relevant_are_shuffled() -> None:
    model, X, y = fitted("stacking")
    found = columns_that_matter(model, X, y, "regression", max_predictions=3 * len(y))
    relevances = column_relevances(model)
    assert [np.isnan(column.increase) for column in found] == [False, True, True, True]
    assert found[0].name == max(relevances, key=relevances.__getitem__)
    assert all(np.isnan(c.increase) for c in columns_that_matter(model, X, None, "regression"))


@pytest.mark.parametrize(
    ("relevance", "told"),
    [
        ([1.0, 1.0, 1.0], "one width for all columns"),
        ([0.5, np.nan, 0.5], "the formula of a kernel does not tell it"),
        ([0.0, 0.0, 0.0], "predictions are the same for all rows"),
    ],
)
def test_a_sentence_says_why_there_is_no_relevance(
    monkeypatch: pytest.MonkeyPatch, relevance: list[float], told: str
) -> None:
    model, _, _ = fitted("uniform")
    n_features = len(source_columns(model["columns"]))
    terms = kernel_terms(model)
    given = replace(terms, relevance=np.resize(relevance, n_features))
    monkeypatch.setattr("mercer_command.contributions.kernel_terms", lambda _: given)
    assert all(np.isnan(share) for share in column_relevances(model).values())
    assert told in why_no_relevance(model)

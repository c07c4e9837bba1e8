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


def test_a_column_that_misleads_lowers_the_error_when_shuffled() -> None:
    model, X, y = fitted("uniform")
    y = y - 2.0 * np.sin(2 * X["signal"].to_numpy())
    found = columns_that_matter(model, X, y, "regression")
    assert found[-1].name == "signal"
    assert found[-1].increase < -0.1
    told = cells(found, model, X)
    assert told[-1].startswith("-")
    assert not told[0].startswith("-")


def test_each_feature_belongs_to_its_column() -> None:
    model, _, _ = fitted("uniform")
    sources = source_columns(model["columns"])
    names = model["columns"].get_feature_names_out()
    assert len(sources) == len(names)
    assert all(str(name).startswith(source) for name, source in zip(names, sources, strict=True))
    assert all(np.isnan(share) for share in column_relevances(model).values())


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


def test_numbers_of_a_table_have_the_same_decimals() -> None:
    model, X, _ = fitted("uniform")
    small = ColumnImportance("signal", np.nan, increase=0.01234, deviation=0.002)
    large = ColumnImportance("kind", np.nan, increase=12.0, deviation=1.0)
    assert cells([small], model, X) == ["0.01234 ± 0.00200"]
    assert cells([large, small], model, X)[1] == "0.01 ± 0.00"
    assert cells([ColumnImportance("signal", np.nan)], model, X) == ["not measured"]

"""Columns that matter, by shuffles and by learned relevance."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from command_cases import pd
from sklearn.inspection import permutation_importance

from mercer.inspection import kernel_terms
from mercer_command.contributions import (
    column_relevances,
    columns_that_matter,
    why_no_relevance,
)
from mercer_command.pipelines import make_model, problem_encoder
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


def test_importances_are_those_of_three_shuffles() -> None:
    model, X, y = fitted("stacking")
    found = {column.name: column for column in columns_that_matter(model, X, y, "regression")}
    score = "neg_root_mean_squared_error"
    shuffled = permutation_importance(model, X, y, scoring=score, n_repeats=3, random_state=0)
    for name, increases in zip(X.columns, shuffled.importances, strict=True):
        assert found[name].increase == pytest.approx(increases.mean())
        assert found[name].deviation == pytest.approx(increases.std(ddof=1))
    assert set(list(found)[:2]) == {"signal", "kind"}
    assert found["signal"].relevance > found["noise"].relevance
    assert sum(column.relevance for column in found.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("first", ["level", "text"])
def test_features_belong_to_the_column_they_are_made_from(first: str) -> None:
    """Columns are named as outputs of other columns begin: "color_dark_red" is one of "color"."""
    rng = np.random.default_rng(0)
    names = ["color", "color_dark"] if first == "level" else ["review", "review_text"]
    levels = ["blue", "red", "dark_green"]
    frame = pd.DataFrame({name: rng.choice(levels, 200) for name in names})
    if first == "text":
        words = ["good", "bad", "fine", "poor", "cheap", "dear", "quick", "slow"]
        for name in names:
            frame[name] = [" ".join(rng.choice(words, 4)) for _ in range(200)]
    frame["size"], frame["day"] = rng.normal(size=200), pd.date_range("2023-01-01", periods=200)
    frame.loc[3, "size"] = np.nan
    problem = as_problem(frame.assign(y=rng.normal(size=200)), "y")
    encoder = problem_encoder(problem, np.arange(200)).fit(problem.features, problem.target)
    encoded = encoder.transform(problem.features).to_numpy()
    sources = np.array(source_columns(encoder))
    for name in problem.features:
        cells = problem.features[name].to_numpy()
        changed = encoder.transform(problem.features.assign(**{name: cells[::-1]})).to_numpy()
        differs = ~np.isclose(encoded, changed).all(axis=0)
        assert differs[sources == name].any()
        assert not differs[sources != name].any()


def test_of_many_columns_the_most_relevant_are_shuffled() -> None:
    model, X, y = fitted("stacking")
    found = columns_that_matter(model, X, y, "regression", max_predictions=3 * len(y))
    relevances = column_relevances(model)
    assert [np.isnan(column.increase) for column in found] == [False, True, True, True]
    assert found[0].name == max(relevances, key=relevances.__getitem__)
    assert all(np.isnan(c.increase) for c in columns_that_matter(model, X, None, "regression"))


def test_a_sentence_says_why_there_is_no_relevance(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _, _ = fitted("uniform")
    terms = kernel_terms(model)
    assert terms.relevance is not None
    for value, told in (
        (1.0, "one width for all columns"),
        (np.nan, "the formula of a kernel does not tell it"),
        (0.0, "predictions are the same for all rows"),
    ):
        given = replace(terms, relevance=np.full_like(terms.relevance, value))
        monkeypatch.setattr("mercer_command.contributions.kernel_terms", lambda _, g=given: g)
        assert all(np.isnan(share) for share in column_relevances(model).values())
        assert told in why_no_relevance(model)

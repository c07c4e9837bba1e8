"""Errors of held-out rows, columns that matter, and columns that tell the target alone."""

from typing import Any

import numpy as np
import pytest
from command_cases import pd
from sklearn.inspection import permutation_importance

from mercer_command.held_out_errors import (
    baseline_errors,
    column_importances,
    column_relevances,
    error_interval,
    is_better,
    leakage_notes,
    losses_of,
)
from mercer_command.methods import make_model
from mercer_command.problem import as_problem
from mercer_command.sections import importance_cells
from mercer_command.table_reader import source_columns


def test_intervals_hold_the_error_in_about_their_share_of_tables() -> None:
    rng = np.random.default_rng(0)
    draws = {
        "classification": (rng.random((2000, 80)) < 0.15, 0.15),
        "regression": (rng.normal(size=(2000, 80)) ** 2, 1.0),
    }
    for task, (losses, truth) in draws.items():
        found = np.array([error_interval(task, row.astype(float)) for row in losses])
        covered = np.mean((found[:, 1] <= truth) & (truth <= found[:, 2]))
        assert 0.92 < covered < 0.98


def test_extremes() -> None:
    error, low, high = error_interval("classification", np.zeros(20))
    assert (error, low) == (0.0, 0.0)
    assert 0.1 < high < 0.2
    assert error_interval("regression", np.zeros(20)) == (0.0, 0.0, 0.0)
    assert error_interval("regression", np.array([4.0])) == (2.0, 0.0, np.inf)


def test_intervals_of_root_mean_squared_errors_have_the_unit_of_the_response() -> None:
    losses = np.random.default_rng(0).random(30)
    scaled = error_interval("regression", 1e6 * losses)
    np.testing.assert_allclose(scaled, 1e3 * np.array(error_interval("regression", losses)))


def test_chance_is_not_better() -> None:
    rng = np.random.default_rng(1)
    losses = rng.random(200)
    assert is_better(losses, losses + 0.1)
    assert not is_better(losses, losses)
    assert not is_better(losses, rng.permutation(losses))


def test_a_mean_difference_is_better_beyond_its_interval() -> None:
    """Of nine rows, Student's quantile of 97.5% is 2.306, and that of 95% is 1.860."""
    wave = np.tile([-1.0, 0.0, 1.0], 3)
    error = wave.std(ddof=1) / 3.0
    assert not is_better(np.zeros(9), wave + 2.2 * error)
    assert is_better(np.zeros(9), wave + 2.4 * error)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_simple_predictors_are_those_of_scikit_learn(task: str) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.normal(size=200)
    y = np.where(y > 1, "yes", "no") if task == "classification" else y
    found, constant = baseline_errors(task, (X[:150], y[:150]), (X[150:], y[150:]))
    errors = [one.error for one in found]
    assert len(found) == 4
    assert errors[-1] == max(errors)
    assert all(one.low <= one.error <= one.high for one in found)
    if task == "classification":
        values, counts = np.unique(y[:150], return_counts=True)
        predicted = np.full(50, values[counts.argmax()])
    else:
        predicted = np.full(50, y[:150].mean())
    np.testing.assert_allclose(constant, losses_of(task, y[150:], predicted))


def test_many_rows_are_drawn_for_the_rbf_machine() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(100, 2)), np.r_[np.zeros(99), 1.0].astype(int)
    found, _ = baseline_errors("classification", (X, y), (X, y), note="of a sample", max_rows=30)
    assert [one.note for one in found][:2] == ["of a sample", "learned from 30 rows"]


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


def test_shuffled_columns_raise_the_error_if_they_matter() -> None:
    model, X, y = fitted("stacking")
    found = column_importances(model, X, y, "regression")
    assert {column.name for column in found[:2]} == {"signal", "kind"}
    by_name = {column.name: column for column in found}
    assert by_name["signal"].increase > 5 * abs(by_name["noise"].increase)
    assert by_name["signal"].relevance > by_name["noise"].relevance
    assert sum(column.relevance for column in found) == pytest.approx(1.0)


def test_importances_are_those_of_five_shuffles() -> None:
    model, X, y = fitted("uniform")
    found = {column.name: column for column in column_importances(model, X, y, "regression")}
    score = "neg_root_mean_squared_error"
    shuffled = permutation_importance(model, X, y, scoring=score, n_repeats=5, random_state=0)
    for name, increases in zip(X.columns, shuffled.importances, strict=True):
        assert found[name].increase == pytest.approx(increases.mean())
        assert found[name].deviation == pytest.approx(increases.std(ddof=1))


def test_a_column_that_misleads_lowers_the_error_when_shuffled() -> None:
    model, X, y = fitted("uniform")
    y = y - 2.0 * np.sin(2 * X["signal"].to_numpy())
    found = column_importances(model, X, y, "regression")
    assert found[-1].name == "signal"
    assert found[-1].increase < -0.1
    assert importance_cells(found[-1], "regression")[0].startswith("-")
    assert not importance_cells(found[0], "regression")[0].startswith("-")


def test_each_feature_belongs_to_its_column() -> None:
    model, _, _ = fitted("uniform")
    sources = source_columns(model["columns"])
    names = model["columns"].get_feature_names_out()
    assert len(sources) == len(names)
    assert all(str(name).startswith(source) for name, source in zip(names, sources, strict=True))
    assert all(np.isnan(share) for share in column_relevances(model).values())


def test_of_many_columns_the_most_relevant_are_shuffled() -> None:
    model, X, y = fitted("stacking")
    found = column_importances(model, X, y, "regression", max_predictions=5 * len(y))
    relevances = column_relevances(model)
    assert [np.isnan(column.increase) for column in found] == [False, True, True, True]
    assert found[0].name == max(relevances, key=relevances.__getitem__)
    assert all(np.isnan(c.increase) for c in column_importances(model, X, None, "regression"))


N = 300
RNG = np.random.default_rng(0)
Y = RNG.random(N) < 0.4


def named(column: Any, y: Any) -> bool:
    problem = as_problem(pd.DataFrame({"c": column, "d": RNG.normal(size=N), "y": y}), "y")
    notes = leakage_notes(problem, np.arange(N))
    assert all("column 'c' alone predicts the target almost perfectly" in note for note in notes)
    return bool(notes)


def test_columns_that_tell_the_target_are_named() -> None:
    labels = np.where(Y, "left", "stays")
    response = RNG.normal(size=N)
    assert named(np.where(Y, RNG.uniform(10, 99, N), 0.0), labels)
    assert named(np.where(Y, "closed", "open"), labels)
    assert named(pd.Timestamp("2024-01-01") + pd.to_timedelta(np.where(Y, 9, 0), "D"), labels)
    assert named(2 * response + 1, response)


def texts(words: Any) -> list[str]:
    """Sentences of different ends, each with one of the given words."""
    fillers = ["north", "south", "east", "west", "river", "bridge", "market", "garden"]
    return [
        f"the {word} case {' '.join(RNG.choice(fillers, 5))} {n}" for n, word in enumerate(words)
    ]


def test_text_that_tells_the_target_is_named() -> None:
    labels = np.where(Y, "left", "stays")
    assert named(texts(np.where(Y, "resolved", "pending")), labels)
    flipped = np.where(RNG.random(N) < 0.1, ~Y, Y)
    assert not named(texts(np.where(flipped, "resolved", "pending")), labels)


def test_good_columns_are_not() -> None:
    labels = np.where(Y, "left", "stays")
    flipped = np.where(RNG.random(N) < 0.05, ~Y, Y)
    assert not named(np.where(flipped, "closed", "open"), labels)
    assert not named(RNG.normal(size=N) + 2 * Y, labels)
    response = RNG.normal(size=N)
    assert not named(response + 0.3 * RNG.normal(size=N), response)
    # Where one class is rare, the constant errs seldom as well.
    rare = np.arange(N) < 3
    assert not named(RNG.normal(size=N), np.where(rare, "rare", "common"))

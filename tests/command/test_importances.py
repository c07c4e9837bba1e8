"""Columns that matter, by shuffles."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from command_cases import pd
from sklearn.inspection import permutation_importance

from mercer.inspection import report
from mercer_command.explanation_sections import importance_section
from mercer_command.importances import ColumnImportance, columns_that_matter
from mercer_command.models import Trial
from mercer_command.pipelines import make_model, problem_encoder
from mercer_command.problem import as_problem
from mercer_command.table_reader import source_columns

N_LEARNED = 120


def fitted(learner: str, *, is_class: bool = False) -> tuple[Any, Any, Any]:
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
    y = np.sin(2 * frame["signal"]) + 1.5 * (frame["kind"] == "b")
    frame["y"] = np.where(y > 0.5, "up", "down") if is_class else y + 3.0
    problem = as_problem(frame, "y")
    model = make_model(learner, problem, np.arange(90))
    model.fit(problem.features[:90], problem.target[:90])
    return model, problem.features[90:], problem.target[90:]


@pytest.mark.parametrize("kind", ["response", "logarithm", "class"])
def test_importances_are_those_of_shuffled_columns_of_the_table(kind: str) -> None:
    """scikit-learn shuffles the columns before they are encoded, by the same seed."""
    model, X, y = fitted("stacking", is_class=kind == "class")

    def error(rows: Any) -> Any:
        if kind == "class":
            return 1.0 - model.predict_proba(rows)[np.arange(len(y)), (y == "up").astype(int)]
        predicted = model.predict(rows)
        if kind == "response":
            return np.abs(predicted - y)
        return np.abs(np.log(np.maximum(predicted, y.min())) - np.log(y))

    def score(_: Any, rows: Any, y: Any) -> float:
        return -float(error(rows).mean())

    found = columns_that_matter(model, X, y, in_logarithms=kind == "logarithm")
    expected = permutation_importance(model, X, y, scoring=score, n_repeats=3, random_state=0)
    means = dict(zip(X.columns, expected.importances_mean, strict=True))
    for one in found:
        assert one.size == pytest.approx(means[one.name], abs=1e-9)
        assert one.deviation > 0.0
    assert {one.name for one in found[:2]} == {"signal", "kind"}
    assert [column.matters for column in found] == [True, True, False, False]


@pytest.fixture(scope="module")
def wide() -> tuple[Any, Any, Any]:
    """A model of eighty columns, of which six matter, and two of these say the same."""
    rng = np.random.default_rng(1)
    columns = {f"noise {k:02d}": rng.normal(size=500) for k in range(71)}
    columns |= {name: rng.normal(size=500) for name in ("strong", "weak", "one", "other")}
    columns["twin"] = columns["strong"]
    columns["constant among tests"] = np.where(np.arange(500) < 350, rng.normal(size=500), 0.0)
    color = rng.choice(["red", "green", "blue"], 500)
    columns |= {f"color_{name}": (color == name).astype(int) for name in ("red", "green")}
    frame = pd.DataFrame(columns).sample(axis=1, frac=1.0, random_state=0)
    signal = 5.0 * frame["strong"] + frame["weak"] + 2.0 * frame["one"] * frame["other"]
    signal += 2.0 * (color == "red")
    frame["y"] = signal + 0.5 * rng.standard_t(2, size=500)
    problem = as_problem(frame, "y")
    model = make_model("stacking", problem, np.arange(350))
    model.fit(problem.features[:350], problem.target[:350])
    return model, problem.features[350:], problem.target[350:]


def test_of_many_columns_all_are_measured(wide: Any) -> None:
    """Columns that count only together are found, and twins share; noise does not matter."""
    model, X, y = wide
    found = columns_that_matter(model, X, y)
    assert len(found) == X.shape[1] == 79
    assert not any(np.isnan(column.size) for column in found)
    names = [column.name for column in found if column.matters]
    assert set(names[:2]) == {"strong", "twin"}
    assert {"strong", "twin", "one", "other", "color_red"} <= set(names)
    assert len(names) <= 8
    without = next(column for column in found if column.name.startswith("constant"))
    assert (without.size, without.matters) == (0.0, False)


def test_of_very_many_columns_those_that_correlate_with_predictions_are_measured(
    wide: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, X, y = wide
    monkeypatch.setattr("mercer_command.importances.MOST_MEASURED", 12)
    found = columns_that_matter(model, X, y)
    assert len(found) == X.shape[1]
    measured = [column for column in found if not np.isnan(column.size)]
    others = [column for column in found if np.isnan(column.size)]
    assert found == [*measured, *others]
    assert len(measured) == 12
    assert not any(column.matters for column in others)
    assert {"strong", "twin"} <= {column.name for column in measured if column.matters}


def test_the_report_says_how_many_columns_were_shuffled() -> None:
    """All others are not said to be without effect."""
    model, X, y = fitted("stacking")
    first = ColumnImportance("signal", 0.5, 0.01, matters=True)
    second = ColumnImportance("noise", 0.0, 0.01)
    rest = [ColumnImportance("kind"), ColumnImportance("day")]
    trial = Trial(model, "y", "regression", "", X, y, [first, second, *rest], report(model, X, y))
    told = " ".join(str(part) for part in importance_section(trial).parts)
    assert "1 more column does not matter" in told
    assert "2 of 4 columns were shuffled: those that correlate most with the predictions" in told
    all_known = replace(trial, importances=trial.importances[:2])
    told = " ".join(str(part) for part in importance_section(all_known).parts)
    assert "were shuffled:" not in told


def test_of_noise_few_columns_matter() -> None:
    """The response has heavy tails, and does not depend on the columns."""
    n_wrong = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(rng.normal(size=(120, 6)), columns=list("abcdef"))
        frame["y"] = rng.standard_t(1.5, size=120)
        problem = as_problem(frame, "y")
        model = make_model("uniform", problem, np.arange(80))
        model.fit(problem.features[:80], problem.target[:80])
        found = columns_that_matter(model, problem.features[80:], problem.target[80:])
        n_wrong += any(column.matters for column in found)
    assert n_wrong <= 2


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


def test_without_targets_nothing_is_measured() -> None:
    model, X, _ = fitted("stacking")
    assert all(np.isnan(column.size) for column in columns_that_matter(model, X, None))

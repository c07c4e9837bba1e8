"""Rows outside of what a model learned from: which are told, and which chance explains."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import Run, pd, write_folder

from mercer_command.outside import Outside, outside_notes, ranges_of, rows_outside, table_notes
from mercer_command.pipelines import make_model
from mercer_command.problem import as_problem

N = 1000

DRAWN = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "uniform": lambda rng, shape: rng.random(shape),
    "skewed": lambda rng, shape: np.exp(rng.normal(size=shape)),
    "half zeros": lambda rng, shape: np.exp(rng.normal(size=shape)) * (rng.random(shape) < 0.5),
    "integers": lambda rng, shape: rng.integers(0, 10, shape).astype(float),
    "counts": lambda rng, shape: rng.poisson(0.5, shape).astype(float),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
}


def fitted(frame: Any) -> Any:
    """A linear model of the column y of a table."""
    problem = as_problem(frame, "y")
    model = make_model("linear", problem, np.arange(len(problem.target)))
    return model.fit(problem.features, problem.target)


def twenty(kind: str, rng: Any) -> Any:
    frame = pd.DataFrame(DRAWN[kind](rng, (N, 20)), columns=[f"x{k}" for k in range(20)])
    return frame.assign(y=rng.normal(size=N))


@pytest.mark.parametrize("kind", DRAWN)
def test_a_table_that_is_drawn_as_the_training_table_has_no_notes(kind: str) -> None:
    rng = np.random.default_rng(0)
    model = fitted(twenty(kind, rng))
    for _ in range(3):
        assert table_notes(model, twenty(kind, rng)) == []


@pytest.mark.parametrize("kind", ["normal", "uniform", "exponential", "integers"])
def test_one_number_far_outside_is_noted_and_one_just_outside_is_not(kind: str) -> None:
    rng = np.random.default_rng(1)
    frame = twenty(kind, rng)
    model, new = fitted(frame), twenty(kind, rng)
    low, high = frame["x3"].min(), frame["x3"].max()
    for value in (low - 0.01 * (high - low), high + 0.01 * (high - low)):
        new.loc[7, "x3"] = value
        assert table_notes(model, new) == []
    for side, end, value in (
        ("above", high, high + 5.0 * (high - low)),
        ("below", low, low - 5.0 * (high - low)),
    ):
        new.loc[7, "x3"] = value
        [note] = table_notes(model, new)
        assert note == (
            "some of 1,000 rows have numbers that the model did not learn from: "
            f"'x3' {side} {end:.6g} (1 row)"
        )
        assert "the row has" in table_notes(model, new[7:8])[0]


def test_many_numbers_just_outside_are_noted() -> None:
    rng = np.random.default_rng(2)
    frame = twenty("normal", rng)
    model, new = fitted(frame), twenty("normal", rng)
    new.loc[:29, "x3"] = frame["x3"].max() + 0.01
    [note] = table_notes(model, new)
    assert "'x3' above" in note
    assert "(31 rows)" in note  # One row that was drawn is beyond the range too.
    new["x5"] += 1.5
    [note] = table_notes(model, new)
    assert "'x3' above" in note
    assert "'x5' above" in note


def test_columns_of_extreme_numbers_and_of_none_are_compared() -> None:
    cells = [1e37, -1e37, 0.0, 5.0] * 5
    frame = pd.DataFrame({"x": cells, "z": np.arange(20) / 2, "y": np.arange(20) / 3})
    model = fitted(frame)
    assert table_notes(model, frame.assign(x=np.nan)) == []
    assert "'x' above" in table_notes(model, frame.assign(x=1e38))[0]


def sales(n: int, first: str = "2023-01-01") -> Any:
    """Sales by day in shops, each with a code of its own."""
    rng = np.random.default_rng(3)
    days = pd.date_range(first, periods=n)
    shop = rng.choice(["A", "B", "C"], n)
    return pd.DataFrame(
        {"day": days.astype(str), "shop": shop, "price": rng.random(n), "y": rng.random(n)}
    )


def test_later_dates_are_noted_with_the_last_one() -> None:
    model = fitted(sales(200))
    assert table_notes(model, sales(200)) == []
    assert table_notes(model, sales(110, "2023-04-01")) == []
    told = "rows have dates that the model did not learn from: 'day' after 2023-07-19"
    held = "; the trend is held at its value on that date"
    assert table_notes(model, sales(111, "2023-04-01")) == [f"some of 111 {told} (1 row){held}"]
    assert table_notes(model, sales(30, "2024-01-01")) == [f"some of 30 {told} (30 rows){held}"]
    assert "'day' before 2023-01-01 (1 row)" in table_notes(model, sales(10, "2022-12-31"))[0]


def test_dates_are_written_as_in_the_training_table() -> None:
    frame = sales(200)
    days = pd.to_datetime(frame["day"])
    model = fitted(frame.assign(day=days.dt.strftime("%d.%m.%Y")))
    new = frame.assign(day=(days + pd.Timedelta(days=1)).dt.strftime("%d.%m.%Y"))
    assert "after 19.07.2023 (" in table_notes(model, new)[0]
    model = fitted(frame.assign(day=days + pd.Timedelta(hours=6)))
    later = frame.assign(day=days + pd.Timedelta(hours=7))
    assert "after 2023-07-19T06:00:00 (" in table_notes(model, later)[0]
    model = fitted(frame.assign(day=days))
    assert "after 2023-07-19 (" in table_notes(model, later)[0]


def test_dates_of_a_sample_are_noted_where_there_are_more_than_chance_explains() -> None:
    """Tables that are read in parts have dates that the sample of rows lacks."""
    problem = as_problem(sales(200), "y")
    model = make_model("linear", problem, np.arange(200)).set_params(reader__remembers=False)
    model.fit(problem.features, problem.target)
    assert table_notes(model, sales(202)) == []
    [note] = table_notes(model, sales(220))
    assert "'day' after 2023-07-19 (20 rows)" in note


def test_each_kind_has_a_note() -> None:
    model, new = fitted(sales(200)), sales(190, "2023-01-31")
    new.loc[180:, "shop"] = "D"
    new.loc[170:, "price"] = 99.0
    new.loc[:2, "price"] = -99.0
    told, ends = "that the model did not learn from", ranges_of(model)["price"]
    assert table_notes(model, new) == [
        f"some of 190 rows have dates {told}: 'day' after 2023-07-19 (20 rows); the trend is held "
        "at its value on that date",
        f"some of 190 rows have numbers {told}: 'price' above {ends[1]:.6g} (20 rows), "
        f"'price' below {ends[0]:.6g} (3 rows)",
        f"some of 190 rows have categories {told}: 'shop' 'D' (10 rows)",
    ]


def test_new_categories_are_listed() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"patient": [f"p{k}" for k in np.repeat(np.arange(20), 10)]})
    frame = frame.assign(x=rng.normal(size=200), y=rng.normal(size=200))
    model, new = fitted(frame), frame.assign(patient="q" + frame["patient"])
    [note] = table_notes(model, new)
    assert "'patient' 'qp0', 'qp1', 'qp2' and 17 more (200 rows)" in note
    problem = as_problem(frame, "y", group="patient")
    grouped = make_model("linear", problem, np.arange(200)).fit(problem.features, problem.target)
    assert table_notes(grouped, new) == []


def test_counts_of_parts_are_those_of_the_table() -> None:
    model, new = fitted(sales(200)), sales(190, "2023-03-01")
    new.loc[80:120, "shop"] = "D"
    new.loc[100:, "price"] = 7.0
    new.loc[:50, "price"] = np.nan
    typed, total = model["reader"].transform(new), Outside()
    for start in range(0, 190, 16):
        total.add(rows_outside(model, typed[start : start + 16]))
    assert total == rows_outside(model, typed)
    assert len(outside_notes(model, total)) == 3


def test_commands_print_the_notes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from mercer import ParquetSource

    pytest.importorskip("pyarrow")
    monkeypatch.setattr(ParquetSource, "rows_together", lambda self, n_columns: 16)
    sales(120).to_csv("t.csv", index=False)
    run("fit t.csv --target y --learner uniform --time day --no-refit --out m.skops")
    new = sales(110, "2023-03-01")
    new.to_csv("new.csv", index=False)
    write_folder(new, Path("t"))
    told = "dates that the model did not learn from: 'day' after 2023-03-31 (79 rows)"
    for table in ("new.csv", "t"):
        assert told in run("predict m.skops", table, "--out", "p.csv").noted
    assert told in run("explain m.skops new.csv").noted

"""What deceives a user of a table is told in one line, with the option that does something."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import Run, error_line, pd
from screen_cases import rare_class, recordings

from mercer_command.files import load_model

Frame = Any


def told(run: Run, frame: Frame, *options: object, target: str = "y") -> str:
    """What a fit to a table prints, in one line."""
    frame.to_csv("t.csv", index=False)
    learner = () if "--learner" in options else ("--learner", "uniform")
    return run("fit t.csv --target", target, "--details", *learner, *options).told


def walk(n: int, seed: int = 0) -> Any:
    return np.cumsum(np.random.default_rng(seed).normal(size=n))


def prices(n: int = 160) -> Frame:
    days = pd.date_range("2023-01-02", periods=n, freq="B").strftime("%Y-%m-%d")
    price = 1800.0 + 10.0 * walk(n)
    return pd.DataFrame(
        {"Date": days, "open": price + np.random.default_rng(1).normal(size=n), "y": price}
    )


def test_dates_that_order_the_rows(run: Run) -> None:
    said = told(run, prices(), "--random")
    assert "warning: rows follow each other by 'Date', and targets of neighbors are alike" in said
    assert "--time 'Date' learns from the past and tests on the last rows" in said
    said = told(run, prices())
    assert "It was tested on the last 40 rows in time" in said
    assert "but rows follow each other by 'Date', so that this says little about later rows" in said
    assert "Verdict: find out first whether 'open' can be known before 'y' is" in said
    said = told(run, prices(), "--time", "Date", "--out", "m.skops")
    assert "warning: rows follow each other" not in said
    assert "It was tested on the last 40 rows in time" in said
    folds = load_model(Path("m.skops"))[-1].cv
    assert type(folds).__name__ == "TimeSeriesSplit"


def contracts(until: str, n: int = 160) -> Frame:
    """The response follows the day of contracts that have ended; most open ones have a high one."""
    rng = np.random.default_rng(0)
    days = rng.permutation(pd.date_range("2023-01-02", periods=n).strftime("%Y-%m-%d"))
    is_open, x = rng.random(n) < 0.35, rng.normal(size=n)
    y = np.where(is_open, 30.0, 10.0 * pd.Series(days).rank() / n) + np.sin(2.0 * x)
    return pd.DataFrame({"until": np.where(is_open, until, days), "x": x, "y": y.round(3)})


@pytest.mark.parametrize("until", ["9999-12-31", "2099-12-31", "1900-01-01", "2023-06-12"])
def test_dates_that_do_not_order_all_rows(run: Run, until: str) -> None:
    said = told(run, contracts(until))
    assert "drawn at random" in said
    is_far = until != "2023-06-12"
    assert (f"say --missing 'until={until}'" in said) is is_far
    assert "rows follow each other by 'until'" in said
    assert ("--time 'until' learns from the past" in said) is not is_far


def test_a_test_on_rows_of_one_time_says_so(run: Run) -> None:
    said = told(run, contracts("9999-12-31"), "--time", "until")
    assert re.search(r"tested on the last \d\d rows in time, which are all of one time", said)


def test_a_far_date_as_the_target(run: Run) -> None:
    frame = contracts("9999-12-31").rename(columns={"y": "z"})
    said = told(run, frame, target="until")
    assert "find out first what 9999-12-31 means in 'until'" in said
    assert "--missing 'until=9999-12-31' leaves these rows out" in said
    said = told(run, frame, "--missing", "until=9999-12-31", target="until")
    assert "rows without 'until' are left out" in said
    assert "9999" not in said


def wine(n: int = 160) -> Frame:
    """A quarter of the rows are copies of others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).round(4)
    frame = pd.DataFrame(X, columns=["acid", "sugar", "alcohol"])
    noisy = X[:, 2] + 1.5 * rng.normal(size=n)
    frame["y"] = np.where(noisy > 0, "good", "bad")
    return pd.concat([frame, frame[: n // 3]], ignore_index=True).sample(frac=1.0, random_state=1)


def test_copies_of_training_rows(run: Run) -> None:
    said = told(run, wine(), "--random")
    assert "of the held-out rows (" in said
    assert "are copies of training rows: error " in said
    assert "% on the others, as on new rows" in said
    pattern = r"\((\d+) of (\d+)\) are copies of training rows: error ([\d.]+)% on these, ([\d.]+)%"
    copies, rows, on_copies, on_others = map(float, re.findall(pattern, said)[0])
    share = float(re.findall(r"Its share of wrong predictions is ([\d.]+)%", said)[0])
    mean = (copies * on_copies + (rows - copies) * on_others) / rows
    assert share == pytest.approx(mean, abs=0.1)
    said = told(run, wine())
    assert "rows that have no copies among the rows that it learned from" in said
    assert "are copies of training rows" not in said


def test_unequal_classes_are_scored_by_ranking(run: Run) -> None:
    said = told(run, rare_class())
    assert "Its area under the ROC curve, which is 1 for a perfect ranking" in said


def test_intervals_that_do_not_follow_a_trend_are_told(run: Run) -> None:
    """A trend goes on, which a kernel of one width does not follow."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"day": pd.date_range("2023-01-01", periods=200).astype(str)})
    frame["level"] = np.linspace(0.0, 9.0, 200) + rng.normal(size=200)
    frame["y"] = 3.0 * np.linspace(0.0, 9.0, 200) + 0.1 * rng.normal(size=200)
    said = told(run, frame, "--time", "day", "--learner", "hsic")
    assert "coverage" in re.findall(r"wrong with these figures \((.*?)\)", said)[0]


def sensors(n: int = 200) -> Frame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"CO": rng.gamma(2.0, 1.0, n).round(2), "temp": rng.normal(15, 5, n).round(1)}
    )
    frame["y"] = (frame["CO"] + 0.1 * rng.normal(size=n)).round(3)
    frame.loc[rng.random(n) < 0.18, "y"] = -200
    return frame


def test_values_that_stand_for_missing_ones(run: Run) -> None:
    said = told(run, sensors())
    assert "note: 'y': -200 in 1" in said
    assert "if it stands for a missing value, say --missing 'y=-200'" in said
    said = told(run, sensors(), "--missing", "-200", "--out", "m.skops")
    assert "rows without 'y' are left out" in said
    assert "say --missing" not in said
    frame = sensors().assign(CO=lambda f: f["CO"].where(f.index % 3 > 0, -200))
    frame.to_csv("new.csv", index=False)
    run("predict m.skops new.csv --out p.csv")
    assert pd.read_csv("p.csv")["prediction"].between(-5, 15).all()


def test_a_first_line_of_data(run: Run) -> None:
    sensors().to_csv("t.csv", index=False, header=False)
    result = run("columns t.csv")
    assert "the first line is taken for names although it looks like data" in result.noted
    result = run("fit t.csv --no-header --missing -200 --target 'column 3' --learner uniform")
    assert "'column 3', a number, from 2 columns" in result.said


def test_comparisons_hold_out_groups_and_later_rows(run: Run) -> None:
    for frame, by, factor in (
        (recordings(), ("--group", "subject#"), 3.0),
        (prices(), ("--time", "Date"), 1.0),
    ):
        frame.to_csv("t.csv", index=False)
        errors = []
        for given in ((), by):
            run("compare t.csv --target y --methods ca,uniform --repeats 2 --csv r.csv", *given)
            errors.append(pd.read_csv("r.csv")["rmse"].min())
        assert errors[1] > factor * errors[0]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ("--time", "none"),
            "--time names 'none', which cannot be chosen; choose from 'Date', 'open'",
        ),
        (("--time", "kind"), "'kind' holds neither dates nor numbers, which times are"),
        (("--time", "Date", "--group", "kind"), "--group and --time exclude each other"),
        (("--time", "Date", "--learner", "mkl"), "mkl takes no times; choose from stacking"),
        (("--group", "open"), "'open' differs in each row, so that it names no groups"),
        (("--missing", "none=3"), "--missing names 'none', which cannot be chosen; choose from"),
        (("--columns", "none=number"), "--columns names 'none', which cannot be chosen"),
        (("--columns", "kind=size"), "there is no role 'size'"),
        (("--target", "kind", "--metric", "mae"), "mae is for classes that are numbers"),
        (
            ("--target", "Y"),
            "--target names 'Y', which cannot be chosen (did you mean 'y'?); choose from 'Date'",
        ),
        (("--time", "date"), "--time names 'date', which cannot be chosen (did you mean 'Date'?)"),
        (("--group", "knd"), "names 'knd', which cannot be chosen (did you mean 'kind'?)"),
        (
            ("--columns", "OPEN=number"),
            "names 'OPEN', which cannot be chosen (did you mean 'open'?)",
        ),
        (("--missing", "opne=0"), "names 'opne', which cannot be chosen (did you mean 'open'?)"),
        (("--metric", "roc_auc"), "there is no metric of regression 'roc_auc'; choose from rmse"),
    ],
)
def test_bad_options_are_refused(run: Run, options: tuple[str, ...], line: str) -> None:
    prices().assign(kind=list("abcd") * 40).to_csv("t.csv", index=False)
    assert line in error_line("fit t.csv --target y", *options)


def test_names_of_outputs_may_clash(run: Run) -> None:
    """A level of "color" is called as one of "color_dark", and a column as an indicator."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"color": rng.choice(["dark_red", "blue", "green"], 60)})
    frame["color_dark"] = rng.choice(["red", "violet", "x"], 60)
    frame["x"] = np.where(rng.uniform(size=60) < 0.2, np.nan, rng.normal(size=60))
    frame["missingindicator_x"] = rng.normal(size=60)
    frame["y"] = rng.normal(size=60) + 3.0 * (frame["color"] == "blue")
    said = told(run, frame, "--out", "m.skops")
    assert "color_dark category 3 levels" in said
    run("predict m.skops t.csv --out p.csv")
    assert np.corrcoef(pd.read_csv("p.csv")["prediction"], frame["color"] == "blue")[0, 1] > 0.7


def test_times_with_and_without_a_zone(run: Run) -> None:
    """The hours of a shop in New York count, and not those of Greenwich."""
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    at = pd.Series(pd.date_range("2024-01-01", periods=160, freq="7h", tz="America/New_York"))
    y = 3.0 * np.sin(2.0 * np.pi * at.dt.hour / 24.0) + 0.1 * rng.normal(size=160)
    local = pd.DataFrame({"at": at.dt.tz_localize(None), "x": rng.normal(size=160), "y": y})
    local.assign(at=at).to_parquet("zone.parquet")
    local.assign(at=at.map(lambda time: time.isoformat())).to_csv("zone.csv", index=False)
    local.to_csv("local.csv", index=False)
    scores = set()
    for table in ("local.csv", "zone.csv", "zone.parquet"):
        result = run(f"fit {table} --target y --learner uniform --random --out m.skops")
        scores.add(re.findall("error is ([0-9.]+)", result.said)[0])
    assert len(scores) == 1
    line = error_line("predict m.skops local.csv --out p.csv")
    assert "Times of column 'at' have no time zone, and those of the training rows had one" in line
    run("predict m.skops zone.csv --out p.csv")


def test_numbers_with_units_that_are_read_as_classes_are_named(run: Run) -> None:
    x = np.random.default_rng(0).normal(size=240).round(3)
    table = pd.DataFrame({"x": x, "y": [f"{50 + 10 * v:.1f} kg" for v in x]})
    table.to_csv("t.csv", index=False)
    said = error_line("fit t.csv --target y")
    assert re.search(r"too few for \d+ classes, the texts of 'y', such as '[\d.]+ kg'", said)


def test_predicted_times_of_a_zone_are_in_another(run: Run) -> None:
    x = np.random.default_rng(0).uniform(0.0, 48.0, size=60).round(1)
    times = pd.Timestamp("2024-01-10") + pd.to_timedelta(x, unit="h")
    said = "'eta' holds times with a zone; predictions are times in UTC"
    table = pd.DataFrame({"x": x, "eta": times.strftime("%Y-%m-%dT%H:%M:%S+05:30")})
    assert said in told(run, table, target="eta")
    assert said not in told(run, table.assign(eta=times.strftime("%Y-%m-%d %H:%M")), target="eta")

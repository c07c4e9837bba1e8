"""The first screen of `mercer fit`: an honest figure, warnings, and a verdict, for made tables."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import Run, pd
from sklearn import datasets

from mercer_command.files import load_model

Frame = Any


def screen(run: Run, frame: Frame, *options: object, target: str = "y") -> tuple[str, str]:
    """The first screen of a fit in one line, and what stands on stderr."""
    frame.to_csv("t.csv", index=False)
    learner = () if "--learner" in options else ("--learner", "uniform")
    result = run("fit", "t.csv", "--target", target, *learner, *options)
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) <= 60
    assert "Kernels found" not in result.stdout
    return " ".join(result.stdout.split()), " ".join(result.stderr.split())


def verdict(said: str) -> str:
    found = re.findall(r"Verdict: (.*?\.) (?:Decisions|Error|Log|RO|Bal|Mean|R²|Poisson)", said)
    assert len(found) == 1, said
    return str(found[0])


def smooth(n: int = 240, noise: float = 0.2, seed: int = 0) -> Frame:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + noise * rng.normal(size=n)
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)


def linear(n: int = 240) -> Frame:
    frame = smooth(n)
    y = 2.0 * frame["a"] - frame["b"] + np.random.default_rng(1).normal(size=n)
    return frame.assign(y=y)


def noise(n: int = 240) -> Frame:
    return smooth(n).assign(y=np.random.default_rng(1).normal(size=n))


def walk(n: int = 240) -> Frame:
    days = pd.date_range("2023-01-02", periods=n).strftime("%Y-%m-%d")
    level = np.cumsum(np.random.default_rng(0).normal(size=n))
    return smooth(n).assign(day=days, y=100.0 + 5.0 * level)


def shops(n_each: int = 8, effect: float = 3.0) -> Frame:
    """The level of a shop is a part of its sales, and no other column shows it."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(40), n_each)
    names = np.array([f"shop {k:02}" for k in rng.permutation(40)])[codes]
    frame = smooth(len(codes))
    return frame.assign(shop=names, y=frame["y"] + effect * rng.normal(size=40)[codes])


def verdicts() -> dict[str, tuple[Frame, str]]:
    """Tables, and the verdicts on them."""
    frame, rng = smooth(), np.random.default_rng(0)
    classes = np.where(frame["y"] > frame["y"].median(), "yes", "no")
    known = np.where(rng.random(240) < 0.01, "other", classes)
    steps = 4.0 * (frame["a"] > 0.5) * (frame["b"] > 0.0) + 0.1 * frame["c"]
    return {
        "a smooth response": (frame, "use it."),
        "a linear response": (linear(), "take a linear model, which does as well, and is simpler."),
        "noise": (noise(), "do not use it: it is no better than a constant."),
        "noise of classes": (
            noise().assign(y=np.where(rng.random(240) < 0.5, "yes", "no")),
            "do not use it: it is no better than a constant.",
        ),
        "classes": (frame.assign(y=classes), "use it."),
        "a leak": (
            frame.assign(y=classes, outcome=known),
            "find out first whether 'outcome' can be known before 'y' is; if not, these figures "
            "are worth nothing.",
        ),
        "steps": (
            frame.assign(y=steps),
            "take histogram boosting, which is clearly better.",
        ),
        "levels of shops": (shops(effect=9.0), "do not use it for new values of 'shop': "),
        "a walk": (walk(), "do not use it for later rows: it is no better than a constant."),
    }


@pytest.mark.parametrize("name", verdicts())
def test_a_verdict_is_the_last_sentence(run: Run, name: str) -> None:
    frame, expected = verdicts()[name]
    said, _ = screen(run, frame)
    assert verdict(said).startswith(expected)


@pytest.mark.parametrize(
    ("make", "rows"),
    [
        (shops, "rows of 10 groups that the model has not seen"),
        (walk, "the last 60 rows in time"),
        (
            lambda: pd.concat([smooth(60, 1.0).round(3)] * 4, ignore_index=True),
            "rows that have no copies among the rows that it learned from",
        ),
    ],
    ids=["groups", "time", "copies"],
)
def test_the_figure_of_the_stricter_split_comes_first(
    run: Run, make: Callable[[], Frame], rows: str
) -> None:
    said, _ = screen(run, make(), "--out", "m.skops")
    assert rows in said
    figure = float(re.findall(r"Its root mean squared error is ([\d.,]+)", said)[0])
    random = re.findall(
        r"On rows drawn at random, it (?:would be|is about the same,) ([\d.]+)", said
    )
    assert len(random) == 1
    plain, _ = screen(run, make(), "--random")
    assert re.findall(r"Its root mean squared error is ([\d.,]+)", plain)[0] == random[0]
    assert "drawn at random" in plain
    assert figure >= float(random[0]) or "about the same" in said


def test_the_figures_of_held_out_and_left_out_rows_stand_together(run: Run) -> None:
    said, _ = screen(run, smooth(), "--learner", "stacking")
    left_out = float(re.findall(r", and ([\d.]+) on training rows that were left out", said)[0])
    in_table = re.findall(r"model, left-out rows ([\d.]+)", said)
    assert [left_out] == [float(text) for text in in_table]


def test_a_column_of_groups_is_not_learned_from_where_it_calls_for_the_split(run: Run) -> None:
    _, told = screen(run, shops(), "--out", "m.skops")
    assert "shop" not in load_model(Path("m.skops")).feature_names_in_
    assert "the saved model learned from all 320 rows after the test" in told
    screen(run, shops(), "--out", "m.skops", "--random")
    assert "shop" in load_model(Path("m.skops")).feature_names_in_


def test_groups_that_are_too_few_are_warned_of(run: Run) -> None:
    """Three thirds of the rows have values of their own, and cannot be held out."""
    said, _ = screen(run, smooth().assign(third=np.arange(240) % 3))
    assert "drawn at random" in said


def test_the_saved_model_learns_from_all_rows(run: Run) -> None:
    frame = smooth()
    _, told = screen(run, frame, "--out", "m.skops")
    assert "the saved model learned from all 240 rows after the test" in told
    everything = load_model(Path("m.skops"))
    _, told = screen(run, frame, "--out", "t.skops", "--no-refit")
    assert "saved model learned" not in told
    tested, cells = load_model(Path("t.skops")), pd.read_csv("t.csv", dtype=str)
    for model, n_seen in ((everything, 240), (tested, 180)):
        reader = model["reader"]
        assert reader.learned_from(reader.transform(cells)).sum() == n_seen


def test_a_simple_predictor_with_a_lower_error_is_said_to_have_it(run: Run) -> None:
    said, _ = screen(run, linear())
    assert "lower than the model's; the difference could be chance" in said
    assert "no worse than the model" not in said


def test_one_row_does_not_make_a_model_look_like_a_constant(run: Run) -> None:
    """The response of a held-out row is many times as large as all others."""
    frame = smooth(noise=0.05)
    frame.loc[7, "y"] = 900.0
    said, told = screen(run, frame)
    pattern = r"A single row has [\d.]+% of the squared error: its 'y' is 900, and -?0\.\d+ was"
    assert re.search(pattern, said)
    assert verdict(said) == "use it."
    assert "not better than a constant" not in told
    assert "no better than a constant" not in said


def test_a_value_of_the_target_that_may_stand_for_missing_comes_first(run: Run) -> None:
    frame = smooth().assign(y=lambda table: table["y"] + 20.0)
    frame.loc[::20, "y"] = -200.0
    said, _ = screen(run, frame)
    own = float(re.findall(r"Its root mean squared error is ([\d.]+)", said)[0])
    pattern = r"'y' is -200 in 12 rows, which may stand for a missing value; without these, it "
    without = float(re.findall(pattern + r"would be ([\d.]+)\.", said)[0])
    assert without < 0.1 * own
    assert verdict(said).startswith("find out first what -200 means in 'y'; if it stands for")
    said, _ = screen(run, frame, "--missing", "y=-200")
    assert "may stand for" not in said
    assert verdict(said) == "use it."


def ordinary() -> dict[str, Callable[[], Frame]]:
    """Tables about which nothing is to be warned of."""
    loads = {"iris": datasets.load_iris, "wine": datasets.load_wine}
    loads |= {"diabetes": datasets.load_diabetes, "cancer": datasets.load_breast_cancer}
    found: dict[str, Callable[[], Frame]] = {
        name: (lambda load=load: load(as_frame=True).frame.rename(columns={"target": "y"}))
        for name, load in loads.items()
    }
    return found | {"smooth": smooth, "linear": linear}


@pytest.mark.parametrize("name", ordinary())
def test_nothing_is_warned_of_in_ordinary_tables(run: Run, name: str) -> None:
    said, told = screen(run, ordinary()[name]())
    assert "warning" not in told
    assert "The checks found nothing" in said


def usual_tables() -> list[str]:
    """Public tables without groups and times; none if their folder is not known."""
    folder = os.environ.get("MERCER_DATA")
    paths = sorted(Path(folder, "tables").glob("*.csv.gz")) if folder else []
    names = [path.name.removesuffix(".csv.gz") for path in paths]
    return [name for name in names if name not in ("bike", "elec")]


@pytest.mark.skipif("MERCER_DATA" not in os.environ, reason="MERCER_DATA names no folder of tables")
@pytest.mark.parametrize("name", usual_tables())
def test_nothing_is_warned_of_in_public_tables(run: Run, name: str) -> None:
    frame = pd.read_csv(Path(os.environ["MERCER_DATA"], "tables", f"{name}.csv.gz"))
    drawn = frame.sample(min(len(frame), 800), random_state=0)
    said, told = screen(run, drawn, target="target")
    assert "warning" not in told
    assert "has not seen" not in said

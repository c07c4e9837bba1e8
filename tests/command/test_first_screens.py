"""The first screen of `mercer fit`: an honest figure, warnings, and a verdict, for made tables."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import screen_cases as cases
from command_cases import Run, pd
from screen_cases import linear, outlier, sentinel, shops, smooth, walk
from sklearn import datasets

from mercer_command.files import load_model

Frame = Any


def screen(run: Run, frame: Frame, *options: object, target: str = "y") -> tuple[str, str]:
    """The first screen of a fit in one line, and what stands on stderr."""
    frame.to_csv("t.csv", index=False)
    # Grades and counts have learners of their own.
    chosen = {"--learner", "--order", "--task"} & {*options}
    learner = () if chosen else ("--learner", "uniform")
    result = run("fit t.csv --target", target, *learner, *options)
    assert len(result.stdout.splitlines()) <= 60
    assert "Kernels found" not in result.stdout
    return result.said, result.noted


def verdict(said: str) -> str:
    found = re.findall(r"Verdict: (.*?\.) (?:Error|Log|RO|Bal|Mean|R²|Poisson)", said)
    assert len(found) == 1, said
    return str(found[0])


CONSTANT = "on the held-out rows, the model is not better than a constant prediction, beyond what"
RANDOM = "rows that were drawn at random"
NO_USE = "do not use it: it is no better than a constant."


def unseen(rows: int, groups: int) -> str:
    return f"{rows} rows of {groups} groups that the model has not seen"


@dataclass(frozen=True)
class Screen:
    """What stands first, the beginnings of all warnings, the verdict, and a note."""

    make: Callable[[], Frame]
    first: tuple[str, ...]
    verdict: str
    warnings: tuple[str, ...] = ()
    note: str = ""
    options: tuple[str, ...] = ()


SCREENS = {
    "a smooth response": Screen(smooth, (RANDOM,), "use it."),
    "a linear response": Screen(
        linear,
        (RANDOM, "lower than the model's; the difference could be chance"),
        "take a linear model, which does as well, and is simpler.",
    ),
    "steps": Screen(
        cases.steps,
        ("histogram boosting, has 0.0", "clearly lower than the model's"),
        "take histogram boosting, which is clearly better.",
    ),
    "noise": Screen(cases.noise, (RANDOM,), NO_USE, (CONSTANT,)),
    "noise of classes": Screen(cases.coins, ("no or yes", RANDOM), NO_USE, (CONSTANT,)),
    "classes": Screen(cases.classes, ("Its share of wrong predictions is",), "use it."),
    "a leak": Screen(
        cases.leak,
        (RANDOM,),
        "find out first whether 'outcome' can be known before 'y' is; if not, these figures are "
        "worth nothing.",
        ("column 'outcome' alone predicts the target almost perfectly",),
    ),
    "a walk in time": Screen(
        walk,
        (
            "the last 60 rows in time",
            "to 19.46, for rows of this period alone)",
            "although rows follow each other by 'day'",
        ),
        "do not use it for later rows: it is no better than a constant.",
        (CONSTANT,),
    ),
    "a counter": Screen(
        cases.counter,
        ("the last 40 rows in time", "although rows follow each other by 'instant'"),
        "do not use it for later rows: it is no better than a constant.",
        (CONSTANT, "90% intervals hold 100.0%"),
        "it numbers the rows: 'instant'",
    ),
    "levels of shops": Screen(
        shops,
        (unseen(80, 10), "but rows of equal 'shop' belong together, so that this says little"),
        "do not use it for new values of 'shop': it is no better than a constant.",
        (CONSTANT,),
    ),
    "subjects": Screen(
        cases.recordings,
        (unseen(48, 6), "says little about new values of 'subject#'"),
        "do not use it for new values of 'subject#': it is no better than a constant.",
        (CONSTANT,),
    ),
    "subjects at random": Screen(
        cases.recordings,
        (RANDOM,),
        "use it.",
        ("rows of equal 'subject#' have similar targets (intraclass correlation 0.99)",),
        "times that of rows drawn at random; --group 'subject#' holds out whole groups",
        ("--random",),
    ),
    "the beginning of a code": Screen(
        cases.mice,
        (unseen(48, 6), "says little about new values of 'MouseID'"),
        "do not use it for new values of 'MouseID': it is no better than a constant.",
        (CONSTANT,),
        "the groups are the parts of 'MouseID' before '_'",
    ),
    "the beginning of a code at random": Screen(
        cases.mice,
        (RANDOM,),
        "use it.",
        ("rows of equal 'MouseID before '_'' have similar targets",),
        "--group 'MouseID' holds out whole groups",
        ("--random",),
    ),
    "shops and weeks": Screen(
        cases.panel,
        (
            f"{unseen(48, 8)}, later than what it learned from",
            "rows of equal 'shop' belong together, and rows follow each other by 'week', so that "
            "this says little about later rows of new values of 'shop'",
        ),
        "take RBF kernel ridge, which is clearly better.",
    ),
    "copies": Screen(
        cases.copies,
        (
            "60 rows that have no copies",
            "says little about rows without copies",
            "Error (RMSE) of 60 held-out rows Predictor",
        ),
        "do not use it: it is not shown, by these few rows, to be better than a constant.",
        (CONSTANT,),
    ),
    "three large groups": Screen(cases.thirds, (RANDOM,), "use it."),
    "many columns of groups": Screen(
        cases.many_group_columns,
        (RANDOM, "3 things could be wrong"),
        "use it.",
        ("rows of equal 'name",) * 3,
        options=("--random",),
    ),
    "quantities that repeat": Screen(
        cases.repeated_quantities, (RANDOM,), "take a linear model, which is clearly better."
    ),
    "an outlier": Screen(
        outlier,
        (RANDOM,),
        "use it.",
        ("the error is 116.1 on held-out rows and 0.9161 on left-out training rows",),
    ),
    "a value for missing": Screen(
        sentinel,
        (RANDOM,),
        "find out first what -200 means in 'y'; if it stands for missing values, "
        "--missing 'y=-200' leaves these rows out.",
        (CONSTANT,),
    ),
    "a value for missing that is left out": Screen(
        sentinel, (RANDOM,), "use it.", options=("--missing", "y=-200")
    ),
    "totals": Screen(
        cases.totals,
        (RANDOM,),
        "use it.",
        note="the last row holds totals of 'y', 'sales', 'costs' and is left out",
    ),
    "spellings": Screen(
        cases.spellings,
        ("no or yes",),
        "use it.",
        note="spellings that differ in case or in spaces are read as the most frequent one",
    ),
    "leading zeros": Screen(
        cases.zip_codes, (RANDOM,), "use it.", note="digits with leading zeros are read as codes"
    ),
    "numbers of stores": Screen(
        cases.stores,
        (RANDOM,),
        "use it.",
        note="7 different whole numbers may name things, and are read as a quantity; --columns "
        "'StoreID=category' reads them as names",
    ),
    "names of stores": Screen(
        cases.stores, (RANDOM,), "use it.", options=("--columns", "StoreID=category")
    ),
    "grades in words": Screen(
        cases.grades,
        ("one of 4 ordered grades",),
        "use it.",
        options=("--order", "poor,fair,good,very good"),
    ),
    "counts": Screen(
        cases.counts,
        ("a count, from", "Its mean Poisson deviance is"),
        "use it.",
        options=("--task", "count"),
    ),
    "a broken trend": Screen(
        cases.broken_trend,
        ("the last 60 rows in time", "RBF kernel ridge, has 1.0", "always predicting the mean 4.9"),
        "do not use it for later rows: no predictor here is better than the mean of those rows.",
        ("90% intervals hold 100.0% of the held-out targets",),
        options=("--time", "day"),
    ),
    "a heavier tail": Screen(
        cases.heavier_tail,
        (
            "Its root mean squared error of the logarithms is",
            "always predicting the geometric mean",
            "The checks found nothing that makes these figures deceptive.",
        ),
        "use it.",
        options=("--learner", "stacking"),
    ),
    "a heavy tail": Screen(
        cases.heavy_tail, ("Its root mean squared error of the logarithms is",), "use it."
    ),
    "a rare class": Screen(
        cases.rare_class,
        ("Its area under the ROC curve, which is 1 for a perfect ranking",),
        "take logistic regression: its ROC AUC is higher, and its squared error of the "
        "probabilities clearly smaller.",
        (CONSTANT,),
        "squared error of the probabilities is",
    ),
    "one column of forty": Screen(
        cases.many_columns,
        ("40 columns", "shuffled Column Error rises by ───────── quality"),
        "take a linear model, which is clearly better.",
    ),
    "missing cells": Screen(
        cases.missing_cells, (RANDOM, "shuffled Column Error rises by ───────── c 1."), "use it."
    ),
    "dates": Screen(cases.dates, ("'y', a date, from",), "use it."),
}


@pytest.mark.parametrize("name", SCREENS)
def test_the_first_screen(run: Run, name: str) -> None:
    expected = SCREENS[name]
    said, told = screen(run, expected.make(), *expected.options)
    said = re.sub("─+", "─────────", said)
    for words in expected.first:
        assert words in said
    assert verdict(said) == expected.verdict
    warnings = re.findall(r"warning: (.*?)(?= warning: | note: |$)", told)
    assert len(warnings) == len(expected.warnings)
    for warning, words in zip(warnings, expected.warnings, strict=True):
        assert warning.startswith(words)
    assert expected.note in told
    assert "note: " in told or expected.warnings or not expected.note


@pytest.mark.parametrize(
    ("make", "rows"),
    [
        (shops, "rows of 10 groups that the model has not seen"),
        (walk, "the last 60 rows in time"),
        (cases.copies, "rows that have no copies among the rows that it learned from"),
    ],
    ids=["groups", "time", "copies"],
)
def test_the_figure_of_the_stricter_split_comes_first(
    run: Run, make: Callable[[], Frame], rows: str
) -> None:
    said, _ = screen(run, make(), "--out", "m.skops")
    assert rows in said
    figure = float(re.findall(r"Its root mean squared error is ([\d.,e-]+)", said)[0])
    random = re.findall(r"On rows drawn at random, it (?:would be|is) ([\d.e-]+)[,;]", said)
    assert len(random) == 1
    plain, _ = screen(run, make(), "--random")
    assert re.findall(r"Its root mean squared error is ([\d.,e-]+)", plain)[0] == random[0]
    assert "drawn at random" in plain
    assert figure >= float(random[0]) or "it would be" not in said


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

"""Targets that are grades, as numbers or in words, and counts."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import Run, error_line, pd

from mercer_command.files import load_model
from mercer_command.pipelines import make_model
from mercer_command.problem import as_problem

Frame = Any


def told(run: Run, frame: Frame, *options: object, target: str) -> str:
    """What a fit to a table prints on both streams, in one line."""
    result = run("fit t.csv --target", target, *options, table=frame)
    return result.told


def rated(n: int = 200, seed: int = 0) -> Frame:
    """Grades, and counts, that two columns tell with noise."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 2)).round(3), columns=["sugar", "acidity"])
    latent = 2.0 * frame["sugar"] + frame["acidity"] ** 2 + 0.3 * rng.normal(size=n)
    grade = np.digitize(latent, [-1.0, 0.5, 2.0, 3.5]) + 3
    return frame.assign(grade=grade, visits=rng.poisson(np.exp(1.0 + 0.7 * frame["sugar"])))


@pytest.mark.parametrize(
    ("task", "target", "lines"),
    [
        (
            "ordinal",
            "grade",
            ["5 ordered grades to predict", "Its mean absolute error, in grades, is 0."],
        ),
        ("count", "visits", ["a count to predict", "Its mean Poisson deviance is"]),
    ],
)
def test_grades_and_counts(run: Run, task: str, target: str, lines: list[str]) -> None:
    frame = rated()[["sugar", "acidity", target]]
    said = told(run, frame, "--task", task, "--out", "m.skops", target=target)
    assert all(line in said for line in lines)
    predicted = load_model(Path("m.skops")).predict(frame[["sugar", "acidity"]])
    assert np.corrcoef(predicted, frame[target])[0, 1] > 0.7


def test_grades_in_words_are_scored_like_those_in_numbers(run: Run) -> None:
    frame, words = rated(), np.array(["poor", "fair", "good", "very good", "top"])
    numbers = frame[["sugar", "acidity", "grade"]]
    order = ["--order", ",".join(words), "--metric", "mae"]
    named = numbers.assign(grade=words[numbers["grade"] - 3])
    said = [
        told(run, numbers, "--task", "ordinal", target="grade"),
        told(run, named, *order, "--out", "m.skops", target="grade"),
        told(run, named, *order[:2], target="grade"),
    ]
    errors = [re.search(r"Its mean absolute error, in grades, is ([\d.]+)", one) for one in said]
    assert all(errors)
    verdicts = [one.partition("Verdict: ")[2][:20] for one in said]
    assert len(set(verdicts)) == 1
    explained = run("explain m.skops t.csv", table=None).said
    assert "mean absolute" in explained


def test_grades_and_counts_are_checked(run: Run) -> None:
    rated().assign(name="a" + rated()["grade"].astype(str)).to_csv("t.csv", index=False)
    for words, message in (
        ("--target grade --task ordinal --learner ca", "leave out --learner ca"),
        ("--target name --task ordinal", "'name' holds no whole numbers"),
        ("--target sugar --task count", "'sugar' holds no counts"),
    ):
        assert message in error_line(f"fit t.csv {words}")


def in_words(n: int = 200) -> Frame:
    words = np.array(["poor", "fair", "good", "very good", "best, of all"])
    return rated(n)[["sugar", "acidity"]].assign(taste=words[rated(n)["grade"] - 3])


ORDER = 'Poor, fair,good,very  good,"best, of all"'


def test_grades_in_words_are_learned_in_their_order(run: Run) -> None:
    frame = in_words()
    frame.loc[:3, "taste"] = frame.loc[:3, "taste"].str.upper() + " "
    said = told(run, frame, "--order", ORDER, "--out", "m.skops",
                "--report", "r.html", target="taste")  # fmt: skip
    assert "5 ordered grades to predict" in said
    model = load_model(Path("m.skops"))
    words = ["Poor", "fair", "good", "very good", "best, of all"]
    assert list(model[-1].categories) == words
    # The same as grades that are numbers.
    X, codes = frame[["sugar", "acidity"]], rated()["grade"].to_numpy() - 3
    problem = as_problem(X.assign(y=codes), "y", "ordinal")
    train = np.arange(200)
    numbers = make_model("ordinal", problem, train).fit(problem.features, problem.target)
    named = as_problem(frame, "taste", order=tuple(words))
    own = make_model("ordinal", named, train).fit(named.features, named.target)
    np.testing.assert_array_equal(own.predict(X), np.array(words)[numbers.predict(X)])
    run("predict m.skops t.csv --out p.csv")
    predicted = pd.read_csv("p.csv")
    assert {f"probability_{word}" for word in words} < set(predicted)
    assert set(predicted["prediction"]) <= set(words)
    assert "not fitted to" not in run("explain m.skops t.csv").told


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--order", "poor,fair,good"), "'taste' holds 'best, of all', 'very good', and --order"),
        (("--order", f"{ORDER},divine"), "--order lists 'divine', and no row of 'taste' holds it"),
        (("--order", "poor,Poor"), "--order lists each grade once"),
        (("--order", ORDER, "--task", "count"), "leave out --task count"),
        (("--task", "ordinal"), "--order lists grades in words"),
    ],
)
def test_orders_are_checked(run: Run, options: tuple[str, ...], line: str) -> None:
    assert line in error_line("fit t.csv --target taste", *options, table=in_words())


@pytest.mark.parametrize(
    ("given", "score"), [(("--order", ORDER), "Error"), (("--task", "ordinal"), "MAE")]
)
def test_comparisons_of_grades_have_their_score(
    run: Run, given: tuple[str, str], score: str
) -> None:
    frame = in_words() if score == "Error" else rated().drop(columns="visits")
    frame.set_axis(["sugar", "acidity", "grade"], axis=1).to_csv("t.csv", index=False)
    result = run("compare t.csv --target grade --methods ordinal,linear --repeats 1", *given)
    assert score in result.stdout
    assert "nan" not in result.stdout


def test_grades_in_words_are_sorted_by_time() -> None:
    frame = in_words(120).assign(day=np.random.default_rng(0).permutation(120) / 2)
    words = ("poor", "fair", "good", "very good", "best, of all")
    problem = as_problem(frame, "taste", order=words, time="day")
    assert problem.target.tolist() == frame.sort_values("day")["taste"].tolist()
    assert problem.order == words

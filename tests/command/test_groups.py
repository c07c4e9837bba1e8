"""Groups of rows are held out together, in the test and inside the fit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import Run, error_line, pd
from sklearn.model_selection import PredefinedSplit

from mercer_command.division import splits
from mercer_command.files import load_model
from mercer_command.messages import InputError
from mercer_command.problem import as_problem


def visits(n_patients: int = 30) -> Any:
    """Four visits of each patient, who has a level of its own; "marks" tells patients apart."""
    rng = np.random.default_rng(0)
    patients = np.repeat(np.arange(n_patients), 4)
    size = len(patients)
    level, mark = rng.normal(size=(2, n_patients))
    frame = pd.DataFrame({"patient": [f"p{k}" for k in patients], "dose": rng.normal(size=size)})
    frame["marks"] = mark[patients] + 0.01 * rng.normal(size=size)
    frame["pain"] = frame["dose"] + level[patients] + 0.2 * rng.normal(size=size)
    return frame.assign(severe=np.where(frame["pain"] > 0, "yes", "no"))


@pytest.mark.parametrize("target", ["pain", "severe"])
def test_groups_are_on_one_side(target: str) -> None:
    frame = visits()
    problem = as_problem(frame, target, group="patient")
    assert "patient" not in problem.features
    for train, test in splits(problem, test_size=0.25, repeats=3, seed=0):
        assert not set(frame["patient"][train]) & set(frame["patient"][test])
        assert len(test) == 32
        assert len(train) + len(test) == len(frame)


def test_another_seed_divides_groups_otherwise() -> None:
    problem = as_problem(visits(), "pain", group="patient")
    one, again, other = (
        [test.tolist() for _, test in splits(problem, test_size=0.25, repeats=2, seed=seed)]
        for seed in (1, 1, 2)
    )
    assert one == again
    assert one != other


@pytest.mark.parametrize("repeats", [1, 3])
def test_rows_of_equal_times_are_on_one_side(repeats: int) -> None:
    """Each day has eight rows, and the part to test would begin within a day."""
    days = np.repeat(np.arange(15), 8)
    problem = as_problem(visits().drop(columns="severe").assign(day=days), "pain", time="day")
    pairs = splits(problem, test_size=30, repeats=repeats, seed=0)
    assert len(pairs) == repeats
    for train, test in pairs:
        assert np.array_equal(np.r_[train, test], np.arange(len(train) + len(test)))
        assert days[train].max() < days[test].min()
    assert pairs[-1][1][-1] == len(days) - 1
    assert len(pairs[-1][1]) == 32


@pytest.mark.parametrize("seed", range(5))
def test_later_rows_of_new_groups_are_tested(seed: int) -> None:
    frame = visits().drop(columns="severe").assign(day=lambda f: np.arange(len(f)) % 8)
    problem = as_problem(frame, "pain", group="patient", time="day")
    ((train, test),) = splits(problem, test_size=0.25, repeats=1, seed=seed)
    groups, times = np.asarray(problem.groups), np.asarray(problem.times)
    assert not set(groups[train]) & set(groups[test])
    assert times[train].max() < times[test].min()
    assert 0.08 < len(test) / len(times) < 0.2
    assert len(train) > 0.3 * len(times)


def test_too_few_later_rows_of_new_groups_are_refused() -> None:
    frame = visits()[:60].drop(columns="severe").assign(day=np.arange(60))
    problem = as_problem(frame, "pain", group="patient", time="day")
    with pytest.raises(InputError, match="too few later rows of new groups"):
        splits(problem, test_size=0.25, repeats=1, seed=0)


def test_the_first_rows_of_equal_times_are_learned_from() -> None:
    frame = visits()[:40].drop(columns="severe").assign(day=np.repeat([0, 1], [36, 4]))
    problem = as_problem(frame, "pain", time="day")
    ((train, test),) = splits(problem, test_size=10, repeats=1, seed=0)
    assert np.array_equal(train, np.arange(36))
    assert np.array_equal(test, np.arange(36, 40))


def test_the_fit_and_its_report_leave_out_groups(run: Run) -> None:
    visits().drop(columns="severe").to_csv("t.csv", index=False)
    options = ("--target", "pain", "--out", "m.skops")
    result = run("fit t.csv", *options, "--group", "patient", "--details")
    assert "held-out rows of 8 groups" in result.stdout
    assert "2 columns to learn from" in result.stdout
    assert "not learned from: what rows belong to" in result.said
    stated = load_model(Path("m.skops"))[-1].loo_score_
    result = run("fit t.csv", *options, "--random")
    assert load_model(Path("m.skops"))[-1].loo_score_ > stated + 0.2
    told = result.noted
    assert "rows of equal 'patient' have similar targets" in told
    assert "times that of rows drawn at random; --group 'patient' holds out whole groups" in told
    assert "as groups" not in told


@pytest.mark.parametrize("column", ["notes", "clinic"])
def test_text_and_categories_tell_no_noise_of_groups(run: Run, column: str) -> None:
    """A word, or a category of many levels, names the patient, whose level is noise."""
    frame = visits(60)
    rng = np.random.default_rng(1)
    words = np.array(["calm", "tired", "restless", "well", "hungry", "late", "early", "short"])
    number = frame["patient"].str[1:].astype(int)
    notes = [f"patient{k} was {' and '.join(rng.choice(words, 3))} at his visit" for k in number]
    frame = frame.assign(notes=notes, clinic="place " + number.astype(str))
    frame["pain"] = rng.normal(size=60)[number]
    frame[["patient", "dose", column, "pain"]].to_csv("t.csv", index=False)
    run("fit t.csv --target pain --group patient --out m.skops")
    model = load_model(Path("m.skops"))
    assert model[-1].loo_score_ < 0.15
    encoded = model.encoder.named_transformers_
    key = "scores" if column == "notes" else "levels"
    assert isinstance(getattr(encoded[key], "cv", PredefinedSplit([0])), PredefinedSplit)


def test_bad_groups_are_refused(run: Run) -> None:
    frame = visits()
    few = np.where(frame["pain"] > 0, "a", "b")
    unknown = frame["patient"].where(frame.index != 3, "")
    for groups, options, message in (
        (
            frame["patient"],
            "doctor",
            "--group names 'doctor', which cannot be chosen; choose from 'patient'",
        ),
        (frame["patient"], "severe", "--group names 'severe', which cannot be chosen; choose from"),
        (few, "patient", "'patient' holds 2 groups; at least 4 are needed"),
        (unknown, "patient", "the group 'patient' is missing in 1 row"),
    ):
        frame.assign(patient=groups).to_csv("t.csv", index=False)
        assert message in error_line("fit t.csv --target severe --group", options)
    line = error_line("fit t.csv --target severe --group patient --learner mkl", table=frame)
    assert "mkl takes no groups; choose from stacking, ca" in line


def test_classes_of_one_group_are_learned_from() -> None:
    frame = visits()
    frame["patient"] = np.repeat(list("abcd"), 30)
    frame["severe"] = np.where(frame["patient"] == "a", "yes", "no")
    pairs = splits(as_problem(frame, "severe", group="patient"), test_size=0.01, repeats=5, seed=0)
    assert all("a" not in set(frame["patient"][test]) for _, test in pairs)
    assert all(len(test) == 60 for _, test in pairs)
    frame["severe"] = frame["patient"]
    with pytest.raises(InputError, match="too few groups"):
        splits(as_problem(frame, "severe", group="patient"), test_size=0.3, repeats=1, seed=0)


def test_groups_of_files_that_are_read_in_parts_are_refused(run: Run) -> None:
    pytest.importorskip("pyarrow")
    Path("t").mkdir()
    visits().to_parquet("t/part.parquet")
    line = error_line("fit t --target pain --group patient")
    assert "--group is for tables that fit into memory" in line


def test_a_class_that_is_in_one_group_is_not_tested_on(run: Run, tmp_path: Path) -> None:
    """The test rows have one class, with which no kernel is aligned."""
    frame = visits(12).drop(columns=["pain", "marks"])
    frame["severe"] = np.where(frame["patient"] == "p3", "yes", "no")
    frame.to_csv(tmp_path / "t.csv", index=False)
    given = (tmp_path / "t.csv", "--target", "severe", "--group", "patient")
    chosen = ("--methods", "linear,ca", "--repeats", 2, "--csv", tmp_path / "r.csv")
    run("compare", *given, *chosen)
    found = pd.read_csv(tmp_path / "r.csv").set_index("method")
    assert found["error"].notna().all()
    assert found["test_alignment"].isna().all()
    run("fit", *given, "--learner", "ca")

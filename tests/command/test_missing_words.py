"""Words such as "None" and signs such as "?": classes and categories, or missing values."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_cases import Run, done, pd, write_folder

from mercer_command.columns import Choice, recognize_columns
from mercer_command.files import load_model
from mercer_command.missing_words import missing_targets
from mercer_command.problem import Problem, as_problem
from mercer_command.table_files import Cells
from mercer_command.table_reader import TableReader

N = 120
WORDS = ["None", "NA", "null", "nan"]
SIGNS = ["?", ".", "-", "*", "\\N"]


def table(labels: list[str], n: int = N) -> Any:
    """A number, and labels in turn that it tells."""
    rng, codes = np.random.default_rng(0), np.arange(n) % len(labels)
    return pd.DataFrame({"x": (codes + 0.2 * rng.normal(size=n)).round(4)}).assign(
        y=np.array(labels, dtype=object)[codes]
    )


def from_text(frame: Any, **settings: Any) -> Problem:
    """The problem of a text file with these cells."""
    return as_problem(Cells(frame.astype(str), ","), "y", **settings)


def screen(run: Run, frame: Any, *options: object) -> str:
    """The first paragraph of the screen of a fit to a text file."""
    learner = () if "--order" in options else ("--learner", "uniform")
    result = run("fit t.csv --target y", *learner, *options, table=frame)
    return " ".join(result.stdout.split("Verdict")[0].split())


@pytest.mark.parametrize("word", WORDS)
def test_words_of_a_target_are_classes_which_the_screen_says(run: Run, word: str) -> None:
    frame = table([word, "Insomnia", "Sleep apnea"])
    told = screen(run, frame, "--out", "m.skops")
    assert "predicts 'y', one of 3 classes" in told
    assert f"In 40 rows, 'y' is '{word}', which is taken for a class;" in told
    assert f"say --missing 'y={word}'" in told
    predicted = load_model(Path("m.skops")).predict(frame[["x"]].astype(str))
    assert np.mean(predicted == frame["y"]) > 0.9
    result = run("explain m.skops t.csv")
    assert "120 rows" in result.stdout
    assert "not fitted to" not in result.told
    told = screen(run, frame, "--missing", f"y={word}")
    assert "predicts 'y', Insomnia or Sleep apnea," in told
    assert word not in told


def test_words_of_a_target_with_many_levels_are_missing_and_counted() -> None:
    labels = [f"town {k}" for k in range(20)]
    assert len(np.unique(from_text(table([*labels[:19], "NA"])).target)) == 20
    problem = from_text(table([*labels, "NA"], 210))
    assert len(problem.target) == 200
    [told] = problem.words
    assert told.startswith("In 10 rows, 'y' is 'NA', which is taken for a missing value;")
    chosen = from_text(table([*labels, "NA"], 210), choices={"y": Choice("category")})
    assert len(chosen.target) == 210
    # A table with types has missing values that are no words.
    assert len(as_problem(table([*labels, "NA"], 210), "y").target) == 210


def test_grades_that_look_missing_are_kept_if_the_order_names_them(run: Run) -> None:
    frame = table(["None", "Mild", "?", "Severe", "NA"])
    told = screen(run, frame, "--order", "none,Mild,?,Severe")
    assert "one of 4 ordered grades" in told
    assert (
        "In 24 rows, 'y' is 'NA', which is taken for a missing value; --order can make it a class"
        in told
    )


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("typed", [False, True])
def test_signs_in_a_target_are_missing_and_counted(sign: str, typed: bool) -> None:
    frame = table(["yes", "no", sign])
    problem = as_problem(frame, "y") if typed else from_text(frame)
    assert set(problem.target) == {"yes", "no"}
    [told] = problem.words
    assert told.startswith(f"In 40 rows, 'y' is '{sign}', which is taken for a missing value;")
    assert "--columns 'y=category' can make it a class" in told
    kept = from_text(frame, choices={"y": Choice("category")})
    assert set(kept.target) == {"yes", "no", sign}
    assert f"'y' is '{sign}', which is taken for a class" in kept.words[0]


@pytest.mark.parametrize("labels", [["+", "-"], ["*", "**", "***"], ["yes", "-"], ["<", ".", ">"]])
def test_signs_beside_other_signs_are_classes(labels: list[str]) -> None:
    assert set(from_text(table(labels)).target) == set(labels)


def test_signs_in_a_target_of_numbers_are_missing() -> None:
    assert missing_targets(pd.Series([1, 2]), (), is_typed=True) == {""}
    problem = from_text(table(["1.5", "2.5", "3", "?"]))
    assert problem.target.tolist() == [1.5, 2.5, 3.0] * 30


def test_a_folder_leaves_out_the_same_rows_as_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = table(["yes", "None", "no", "?", " "])
    write_folder(frame, Path("t"))
    frame.to_parquet("t.parquet")
    for name in ("t", "t.parquet"):
        told = done("fit", name, "--target", "y", "--random", "--learner", "stacking").said
        assert "3 classes to predict" in told
        assert "In 24 rows, 'y' is '?', which is taken for a missing value" in told
        assert "In 24 rows, 'y' is 'None', which is taken for a class" in told
        assert "learned from 54 rows" in told


def words_and_nulls() -> Any:
    """A column of words that look missing beside missing values, which have another response."""
    rng = np.random.default_rng(0)
    words = rng.choice(["None", "NA", "nan", "red", ""], N)
    values = pd.Series(words).map({"None": 10.0, "NA": -20.0, "nan": 30.0, "red": 0.0, "": -5.0})
    noise = 0.01 * rng.normal(size=N)
    words = np.where(words == "", None, words)
    return pd.DataFrame({"x": rng.normal(size=N), "w": words, "y": values + noise})


def test_words_in_files_with_types_are_words(run: Run) -> None:
    frame = words_and_nulls()
    frame.to_parquet("t.parquet")
    assert "as missing" not in run("fit t.parquet --target y --out m.skops").told
    model = load_model(Path("m.skops"))
    assert np.abs(model.predict(frame) - frame["y"]).max() < 0.1
    # The file's text is what the model learned from.
    frame.to_csv("t.csv", index=False)
    text = pd.read_csv("t.csv", dtype=str, keep_default_na=False)
    np.testing.assert_allclose(model.predict(text), model.predict(frame), atol=1e-9)


def test_words_of_a_text_file_are_missing_in_columns_and_counted() -> None:
    frame = table(["yes", "no"])
    frame["c"] = np.where(np.arange(N) % 4 == 0, "NA", np.where(np.arange(N) % 3, "red", "blue"))
    frame["d"] = np.where(np.arange(N) % 5 == 0, "None", frame["c"])
    problem = from_text(frame)
    assert problem.features["c"].isna().sum() == 30
    [told] = problem.words
    assert "'NA', 'None' in 'c', 'd' count as missing cells; --columns 'c=category' keeps" in told
    columns = {column.name: column for column in problem.columns}
    assert columns["c"].describe() == "2 levels; 25.0% missing; 'NA' among the missing cells"
    kept = from_text(frame, choices={name: Choice("category") for name in "cd"})
    assert kept.features["c"].isna().sum() == 0
    assert kept.words == ()


def test_words_are_read_as_in_training() -> None:
    frame = pd.DataFrame({"c": ["None", "red", None] * 4})
    reader = TableReader([("c", "category", "")]).fit(frame)
    new = pd.DataFrame({"c": ["None", "none ", "NA", "", "red"]})
    assert reader.transform(new)["c"].fillna("").tolist() == ["None", "None", "", "", "red"]


def test_flags_with_words_are_flags() -> None:
    frame = pd.DataFrame({"c": ["true", "FALSE", "NA", "None"] * 5})
    for separator in ("", ","):
        typed, [column] = recognize_columns(frame, separator=separator)
        assert typed["c"].tolist() == [True, False, None, None] * 5
        assert column.dropped == (("NA", 5), ("None", 5))


def test_values_that_mean_missing_in_the_fit_mean_it_in_explanations(run: Run) -> None:
    frame = table(["1.5", "2.5", "-999"])
    frame.to_csv("t.csv", index=False)
    options = "--task regression --learner uniform --no-refit --missing y=-999"
    run(f"fit t.csv --target y {options} --out m.skops")
    assert "20 held-out rows" in run("explain m.skops t.csv").said

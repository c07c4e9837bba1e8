"""A model recognizes the rows that it learned from, and no others."""

from pathlib import Path

import numpy as np
from command_cases import Run, class_table, pd

from mercer_command.files import load_model
from mercer_command.table_reader import row_hashes

COLUMNS = [("a", "number", "point"), ("b", "category", ""), ("d", "date", "")]


def test_equal_rows_have_equal_hashes_and_others_have_not() -> None:
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=500)
    frame = pd.DataFrame({"a": rng.normal(size=500), "b": rng.choice(list("xy"), 500), "d": days})
    found = row_hashes(frame, COLUMNS)
    assert len(np.unique(found)) == 500
    order = rng.permutation(500)
    np.testing.assert_array_equal(row_hashes(frame.iloc[order], COLUMNS), found[order])
    for name, value in (("a", -1.0), ("b", "z"), ("d", pd.Timestamp("2020-02-02"))):
        assert (row_hashes(frame.assign(**{name: value}), COLUMNS) != found).all()
    swapped = row_hashes(frame, [("b", "category", ""), COLUMNS[0], COLUMNS[2]])
    assert (swapped != found).all()


def test_missing_cells_and_zeros_of_both_signs_are_equal() -> None:
    first = pd.DataFrame({"a": [0.0, np.nan], "b": ["x", None], "d": [pd.NaT, pd.NaT]})
    second = pd.DataFrame({"a": [-0.0, np.nan], "b": ["x", np.nan], "d": [pd.NaT, pd.NaT]})
    np.testing.assert_array_equal(row_hashes(first, COLUMNS), row_hashes(second, COLUMNS))


def test_saved_models_recognize_rows_of_text_and_of_types(run: Run) -> None:
    frame = class_table()
    frame.to_csv("t.csv", index=False)
    options = ("--target", "kind", "--learner", "uniform", "--out", "m.skops")
    assert run("fit", "t.csv", *options).exit_code == 0
    reader = load_model(Path("m.skops"))["reader"]
    for table in (pd.read_csv("t.csv", dtype=str, keep_default_na=False), pd.read_csv("t.csv")):
        seen = reader.learned_from(reader.transform(table))
        assert seen.sum() == 60
    moved = frame.assign(height=frame["height"] + 1e-9)
    assert not reader.learned_from(reader.transform(moved))[frame["height"].notna()].any()


def test_rows_that_the_model_learned_from_are_never_called_held_out(run: Run) -> None:
    frame = class_table()
    frame.to_csv("t.csv", index=False)
    options = ("--target", "kind", "--learner", "uniform", "--out", "m.skops")
    assert run("fit", "t.csv", *options).exit_code == 0
    reader = load_model(Path("m.skops"))["reader"]
    seen = reader.learned_from(reader.transform(pd.read_csv("t.csv", dtype=str)))

    def said(*options: object) -> str:
        result = run("explain", "m.skops", *options)
        assert result.exit_code == 0, result.output
        return " ".join((result.stdout + result.stderr).split())

    told = said("t.csv")
    assert "60 of 80 rows equal rows that the model learned from, and are left out" in told
    assert "Error (share misclassified) of 20 held-out rows" in told
    frame[seen].to_csv("old.csv", index=False)
    told = said("old.csv", "--report", "r.html")
    assert "errors of these known rows are not those of new rows" in told
    assert "Error (share misclassified) of 60 known rows" in told
    page = Path("r.html").read_text(encoding="utf-8")
    assert "held-out" not in told.lower() + page.lower()
    assert "Predictions of known rows" in page
    frame[~seen].to_csv("new.csv", index=False)
    assert "known rows" not in said("new.csv")
    part = np.where(np.arange(80) % 2, "test", "")
    pd.DataFrame({"part": part}).to_csv("s.csv", index=False)
    assert "of 40 rows equal rows" in said("t.csv", "--split", "s.csv")
    frame.assign(who=[f"p{k // 4}" for k in range(80)]).to_csv("g.csv", index=False)
    assert "held-out rows of" in said("g.csv", "--group", "who")

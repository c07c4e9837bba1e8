"""A model recognizes the rows that it learned from, and no others."""

from pathlib import Path

import numpy as np
from command_cases import Run, class_table, pd

from mercer_command.files import load_model
from mercer_command.row_checksums import row_checksums

COLUMNS = [("a", "number", "point"), ("b", "category", ""), ("d", "date", "")]


def test_equal_rows_have_equal_checksums_and_others_have_not() -> None:
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=500)
    frame = pd.DataFrame({"a": rng.normal(size=500), "b": rng.choice(list("xy"), 500), "d": days})
    found = row_checksums(frame, COLUMNS)
    assert len(np.unique(found)) == 500
    order = rng.permutation(500)
    np.testing.assert_array_equal(row_checksums(frame.iloc[order], COLUMNS), found[order])
    for name, value in (("a", -1.0), ("b", "z"), ("d", pd.Timestamp("2020-02-02"))):
        assert (row_checksums(frame.assign(**{name: value}), COLUMNS) != found).all()
    swapped = row_checksums(frame, [("b", "category", ""), COLUMNS[0], COLUMNS[2]])
    assert (swapped != found).all()


def test_missing_cells_and_zeros_of_both_signs_are_equal() -> None:
    first = pd.DataFrame({"a": [0.0, np.nan], "b": ["x", None], "d": [pd.NaT, pd.NaT]})
    second = pd.DataFrame({"a": [-0.0, np.nan], "b": ["x", np.nan], "d": [pd.NaT, pd.NaT]})
    np.testing.assert_array_equal(row_checksums(first, COLUMNS), row_checksums(second, COLUMNS))


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

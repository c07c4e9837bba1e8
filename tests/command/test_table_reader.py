"""Data frames are read as the training table was, whose rows a model recognizes."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_cases import Run, class_table

from mercer.preprocessing import convert
from mercer_command.files import load_model
from mercer_command.table_reader import TableReader, row_hashes


def read(cells: list[str], role: str = "number", notation: str = "point", **others: list[str]):  # type: ignore[no-untyped-def]
    columns = [("a", role, notation), *((name, "number", "point") for name in others)]
    return TableReader(columns).fit(None).transform(pd.DataFrame({"a": cells, **others}))["a"]


def test_ambiguous_cells_are_read_as_in_training_unless_other_columns_tell() -> None:
    assert read(["1,234", "5,678"]).tolist() == [1234.0, 5678.0]
    assert read(["1,234", "5,678"], notation="comma").tolist() == [1.234, 5.678]
    assert read(["1,234", "5,678"], b=["1,5", "2,25"]).tolist() == [1.234, 5.678]
    cells = ["01/02/2024", "03/04/2024"]
    for notation, month in (("%d/%m/%Y", 2), ("%m/%d/%Y", 1)):
        assert read(cells, "date", notation).iloc[0].month == month


def test_text_and_flags() -> None:
    assert read([" x ", "NA", "?"], "category", "").tolist() == ["x", None, "?"]
    assert read(["TRUE", "false", ""], "category", "flag").tolist() == [True, False, None]


@pytest.mark.parametrize("known", [["1", "2", "30"], ["1.0", "2.0", "30.0"], ["01", "02", "30"]])
def test_codes_are_known_in_the_form_of_any_program(known: list[str]) -> None:
    """Programs write whole numbers with a decimal zero if the column has missing cells."""
    reader = TableReader([("a", "category", "")]).fit(pd.DataFrame({"a": known * 2}))
    expected = [known[0], known[2], "31"]
    forms = [["1", "30", "31"], ["1.0", "30.0", "31"], [1, 30, 31], [" 01", "030.0", "31"]]
    for cells in (*forms, np.array([1.0, 30.0, 31.0]), pd.array([1, 30, 31], "Int64")):
        found = reader.transform(pd.DataFrame({"a": cells}))[["a"]]
        assert convert(found, "category").ravel().tolist() == expected
    one_missing = reader.transform(pd.DataFrame({"a": [1.0, np.nan]}))["a"]
    assert one_missing.isna().tolist() == [False, True]


@pytest.mark.parametrize("cells", ["TRUE FALSE", "1 0", "yes no", "T f", "1.0 0.0", "On off"])
def test_truth_values_have_many_spellings(cells: str) -> None:
    assert read(cells.split(), "category", "flag").tolist() == [True, False]
    numbers = pd.DataFrame({"c": [1.0, 0.0, np.nan]})
    found = TableReader([["c", "category", "flag"]]).fit(None).transform(numbers)["c"]
    assert found.tolist() == [True, False, None]
    with pytest.raises(ValueError, match="holds text, but the model needs truth values: 'WAHR'"):
        read(["WAHR", "TRUE"], "category", "flag")


def test_a_notation_stays_where_other_columns_have_theirs() -> None:
    """Columns with different decimal marks."""
    columns = [["kg", "number", "comma"], ["lat", "number", "point"]]
    reader = TableReader(columns).fit(None)
    found = reader.transform(pd.DataFrame({"kg": ["2,500", "7,250"], "lat": ["46.1", "47.25"]}))
    assert found["kg"].tolist() == [2.5, 7.25]
    english = pd.DataFrame({"kg": ["2,500", "7,250"], "lat": ["46,1", "47,25"]})
    assert reader.transform(english)["lat"].tolist() == [46.1, 47.25]


def test_codes_of_numbers_are_known_as_text() -> None:
    numbers = pd.DataFrame({"a": [1, 2, 30] * 2, "f": [True, False, True] * 2})
    reader = TableReader([("a", "category", ""), ("f", "category", "")]).fit(numbers)
    assert reader.transform(numbers)["f"].dtype == bool
    found = reader.transform(pd.DataFrame({"a": ["2.0", "30"], "f": ["true", "FALSE"]}))
    assert found.to_numpy().tolist() == [["2", "True"], ["30", "False"]]


def test_codes_that_differ_in_zeros_stay_apart() -> None:
    reader = TableReader([("a", "category", "")]).fit(pd.DataFrame({"a": ["250", "250.0", "07"]}))
    cells = ["250", "250.0", "7", "1.10", "a7"]
    found = reader.transform(pd.DataFrame({"a": cells}))["a"].tolist()
    assert found == ["250", "250.0", "07", "1.10", "a7"]


def test_frames_of_polars_become_those_of_pandas() -> None:
    pl = pytest.importorskip("polars")
    reader = TableReader([("a", "number", "comma")]).fit(None)
    assert reader.transform(pl.DataFrame({"a": ["1,5"], "b": ["x"]}))["a"].tolist() == [1.5]


def test_unreadable_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="'a' holds text, but the model needs numbers: 'tall'"):
        read(["tall", "small"])
    with pytest.raises(ValueError, match="needs dates"):
        read(["tall", "small"], "date", "%Y-%m-%d")
    reader = TableReader([("a", "number", "point")]).fit(None)
    with pytest.raises(ValueError, match="lacks columns of the model: 'a'"):
        reader.transform(pd.DataFrame({"b": [1]}))
    with pytest.raises(TypeError, match="data frames"):
        reader.transform(np.ones((2, 1)))


def test_a_few_unreadable_cells_are_missing_with_a_warning() -> None:
    with pytest.warns(
        UserWarning, match="column 'a': 1 cell counts as missing, not being a number: 'unknown'"
    ):
        out = read([*map(str, range(40)), "unknown"])
    assert out.isna().sum() == 1


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


def test_saved_models_recognize_rows_of_text_and_of_types(model: str) -> None:
    frame, reader = class_table(), load_model(Path(model))["reader"]
    as_text = pd.read_csv("table.csv", dtype=str, keep_default_na=False)
    for table in (as_text, pd.read_csv("table.csv")):
        assert reader.learned_from(reader.transform(table)).sum() == 60
    moved = frame.assign(height=frame["height"] + 1e-9)
    assert not reader.learned_from(reader.transform(moved))[frame["height"].notna()].any()


def test_rows_that_the_model_learned_from_are_never_called_held_out(run: Run, model: str) -> None:
    frame, reader = class_table(), load_model(Path(model))["reader"]
    seen = reader.learned_from(reader.transform(pd.read_csv("table.csv", dtype=str)))

    def said(*options: object) -> str:
        return run("explain m.skops", *options).told

    told = said("table.csv")
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

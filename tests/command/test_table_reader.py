"""Reading of data frames as the training table was read."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from mercer_command.table_reader import TableReader  # noqa: E402


def read(cells: list[str], role: str = "number", notation: str = "point", **others: list[str]):  # type: ignore[no-untyped-def]
    columns = [("a", role, notation), *((name, "number", "point") for name in others)]
    return TableReader(columns).fit(None).transform(pd.DataFrame({"a": cells, **others}))["a"]


def test_cells_that_allow_two_notations_are_read_as_in_training() -> None:
    assert read(["1,234", "5,678"]).tolist() == [1234.0, 5678.0]
    assert read(["1,234", "5,678"], notation="comma").tolist() == [1.234, 5.678]
    assert read(["1,5", "2,5"]).tolist() == [1.5, 2.5]


def test_other_columns_of_the_table_tell_the_notation() -> None:
    assert read(["1,234", "5,678"], b=["1,5", "2,25"]).tolist() == [1.234, 5.678]


def test_dates_that_allow_two_orders_are_read_as_in_training() -> None:
    cells = ["01/02/2024", "03/04/2024"]
    for notation, month in (("%d/%m/%Y", 2), ("%m/%d/%Y", 1)):
        assert read(cells, "date", notation).iloc[0].month == month
    assert read(["13/02/2024"], "date", "%m/%d/%Y").iloc[0].month == 2


def test_types_remain_and_numbers_are_days() -> None:
    frame = pd.DataFrame({"a": [1, 2], "d": [0.0, 1.5]})
    reader = TableReader([("a", "number", "point"), ("d", "date", "%Y-%m-%d")]).fit(frame)
    out = reader.transform(frame)
    assert out["a"].tolist() == [1, 2]
    assert out["d"].tolist() == [pd.Timestamp("1970-01-01"), pd.Timestamp("1970-01-02 12:00")]
    pd.testing.assert_frame_equal(reader.transform(out), out)


def test_text_and_flags() -> None:
    assert read([" x ", "NA", "?"], "category", "").tolist() == ["x", None, "?"]
    assert read(["TRUE", "false", ""], "category", "flag").tolist() == [True, False, None]


def test_polars(  # The reader's output is a data frame of pandas.
) -> None:
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
    with pytest.warns(UserWarning, match="1 cells of 'a' count as missing"):
        out = read([*map(str, range(40)), "unknown"])
    assert out.isna().sum() == 1

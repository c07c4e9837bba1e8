"""Files of one table: their order, their columns, and what is refused."""

from decimal import Decimal

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer import ParquetSource
from mercer._blocks.parquet_files import (
    arrow_numbers,
    as_frame,
    find_parquet,
    is_arrow_number,
    target_array,
)

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")


def test_files_are_in_the_order_of_numbers_in_their_names(tmp_path) -> None:
    names = ["a/part.10", "a/part.2", "a/part.1", "b/part.0", "A", "a/part.2b"]
    for name in names:
        file = tmp_path / f"{name}.parquet"
        file.parent.mkdir(exist_ok=True)
        pd.DataFrame({"x": [1.0]}).to_parquet(file)
    found = [str(group.file.relative_to(tmp_path)) for group in find_parquet(tmp_path).groups]
    expected = ["A", "a/part.1", "a/part.2", "a/part.2b", "a/part.10", "b/part.0"]
    assert found == [f"{name}.parquet" for name in expected]


def test_hidden_files_and_others_are_no_part_of_the_table(tmp_path) -> None:
    pd.DataFrame({"x": [1.0]}).to_parquet(tmp_path / "x.pq")
    for name in ("_metadata.parquet", ".x.parquet", "notes.txt"):
        (tmp_path / name).write_text("no table")
    assert find_parquet(tmp_path).n_rows == 1


def test_a_footer_that_announces_other_rows_is_refused(tmp_path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": np.arange(120.0)}), path)
    content = bytearray(path.read_bytes())
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    # Numbers of rows are stored as twice their value, in groups of seven bits.
    content[footer:] = content[footer:].replace(b"\xf0\x01", b"\xfe\x7f")
    path.write_bytes(content)
    files = find_parquet(path)
    assert files.n_rows == 8191
    with pytest.raises(ValueError, match=r"damaged: 8,191 rows are announced, and 120 are there"):
        list(files.batches(["x"], 50))


def test_a_name_that_occurs_twice(tmp_path) -> None:
    table = pa.table([[1.0], [2.0]], names=["x", "x"])
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="same name: x"):
        find_parquet(tmp_path)


def test_nothing_there_or_another_format(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        find_parquet(tmp_path / "absent.parquet")
    with pytest.raises(FileNotFoundError, match="no Parquet file in the folder"):
        find_parquet(tmp_path)
    (tmp_path / "x.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"x\.parquet is not a Parquet file"):
        find_parquet(tmp_path)


class TestFoldersThatGiveColumns:
    @pytest.fixture
    def frame(self):
        random = np.random.default_rng(0)
        return pd.DataFrame(
            {
                "x": random.normal(size=40),
                "year": random.integers(2019, 2022, 40),
                "place": random.choice(["New York", "Lima", None], 40),
            }
        )

    def test_values_are_those_of_the_table(self, frame, tmp_path) -> None:
        frame.to_parquet(tmp_path, partition_cols=["year", "place"])
        files = find_parquet(tmp_path)
        assert files.schema.field("year").type == pa.int64()
        assert files.schema.field("place").type == pa.string()
        read = pa.Table.from_batches(files.batches(["place", "x", "year"], 7)).to_pandas()
        assert list(read) == ["place", "x", "year"]
        expected = frame.sort_values("x", ignore_index=True)[list(read)]
        pd.testing.assert_frame_equal(
            read.sort_values("x", ignore_index=True), expected, check_dtype=False
        )

    def test_values_that_are_not_all_whole_are_text(self, tmp_path) -> None:
        for name in ("kind=1", "kind=b"):
            (tmp_path / name).mkdir()
            pd.DataFrame({"x": [1.0]}).to_parquet(tmp_path / name / "x.parquet")
        assert find_parquet(tmp_path / "kind=1").schema.names == ["x"]
        (first, second) = find_parquet(tmp_path).batches(["kind"], 5)
        assert first.column(0).to_pylist() + second.column(0).to_pylist() == ["1", "b"]


NUMBERS = {
    "whole": pa.array([1, None, 3], pa.int32()),
    "fractional": pa.array([0.5, 1.5, None], pa.float32()),
    "truth": pa.array([True, None, False]),
    "decimal": pa.array([Decimal("1.25"), None, Decimal("2.50")]),
    "nothing": pa.nulls(3),
}
NAN = np.nan


def test_missing_numbers_become_nan() -> None:
    assert all(is_arrow_number(column.type) for column in NUMBERS.values())
    batch = pa.RecordBatch.from_pydict(NUMBERS)
    expected = [[1, 0.5, 1, 1.25, NAN], [NAN, 1.5, NAN, NAN, NAN], [3, NAN, 0, 2.5, NAN]]
    assert_array_equal(arrow_numbers(batch, np.dtype(float)), expected)
    twice = arrow_numbers(pa.Table.from_batches([batch, batch]), np.dtype(float))
    assert_array_equal(twice, expected + expected)


def test_files_of_different_columns_or_types(tmp_path) -> None:
    pd.DataFrame({"a": [1], "b": [1]}).to_parquet(tmp_path / "p.parquet")
    pd.DataFrame({"a": [1], "e": [1]}).to_parquet(tmp_path / "q.parquet")
    with pytest.raises(ValueError, match=r"q\.parquet and p\.parquet .* columns: b, e\."):
        find_parquet(tmp_path)
    pd.DataFrame({"a": ["x"], "b": [1]}).to_parquet(tmp_path / "q.parquet")
    with pytest.raises(ValueError, match="different types"):
        find_parquet(tmp_path)


def test_targets() -> None:
    known = {name: column.drop_null() for name, column in NUMBERS.items()}
    known["category"] = pa.array(["a", "b"]).dictionary_encode()
    expected = {"category": ["a", "b"], "truth": [True, False], "decimal": [1.25, 2.5]}
    assert {name: target_array([known[name]]).tolist() for name in expected} == expected
    assert target_array([known["whole"], known["fractional"]]).tolist() == [[1.0, 0.5], [3.0, 1.5]]


def test_frames_of_batches_with_different_categories() -> None:
    batches = [
        pa.RecordBatch.from_pydict({"kind": pa.array(values).dictionary_encode()})
        for values in (["a", "b"], ["c", "a"])
    ]
    assert as_frame(pa.Table.from_batches(batches))["kind"].tolist() == ["a", "b", "c", "a"]


def test_text_in_views_is_read_and_selected(tmp_path) -> None:
    cells = pa.array(["a", None, "b", "c"], pa.string_view())
    table = pa.table({"c": cells, "y": [1.0, 2.0, None, 3.0]})
    try:
        pq.write_table(table, tmp_path / "x.parquet")
    except pa.ArrowNotImplementedError:
        pytest.skip("This pyarrow writes no views of text.")
    source = ParquetSource(tmp_path / "x.parquet", "y")
    drawn, y = source.take_raw(np.array([0, 2]))
    assert source.as_input(drawn)["c"].tolist() == ["a", "c"]
    assert y is not None
    assert y.tolist() == [1.0, 3.0]

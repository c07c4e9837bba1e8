"""Tables in Parquet files: order, rows, types, missing targets, encoders, what is refused."""

from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from block_cases import NormalSums, sample_blocks, table
from numpy.testing import assert_allclose, assert_array_equal

from mercer import ParquetSource
from mercer._blocks.tables import block_source
from mercer.preprocessing import table_encoder

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")


@pytest.fixture
def numbers(tmp_path):
    """A table of numbers in three files of several row groups, and its arrays."""
    X, y = table(120)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    for part, rows in enumerate(np.split(np.arange(120), [50, 55])):
        # Twelve parts, so that their order by name is not that by number.
        path = tmp_path / f"part.{part + 9}.parquet"
        frame.iloc[rows].to_parquet(path, index=False, row_group_size=16)
    return tmp_path, X, y


def mixed(n_rows=200, seed=0):
    """A table of mixed types with missing values, and classes that are missing in some rows."""
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": random.integers(18, 90, n_rows).astype(float),
            "city": random.choice(["Oslo", "Rome", "Lima"], n_rows),
            "kind": pd.Categorical(random.choice(["x", "y"], n_rows)),
            "day": [date(2020, 1, 1 + int(d)) for d in random.integers(0, 28, n_rows)],
            "member": random.random(n_rows) < 0.5,
            "label": random.choice(["no", "yes", "perhaps"], n_rows, p=[0.6, 0.3, 0.1]),
        }
    ).mask(random.random((n_rows, 6)) < [0.1, 0.1, 0.0, 0.1, 0.0, 0.1])


class TestRows:
    @pytest.mark.parametrize("left_out", [[], [0, 15, 16, 17, 49, 50, 119], range(10, 60)])
    def test_rows_that_are_left_out_are_in_no_block(self, numbers, left_out) -> None:
        path, X, y = numbers
        kept = np.setdiff1d(np.arange(120), left_out)
        source = ParquetSource(path, target="y").without_rows(np.array(left_out))
        assert source.count_rows() == len(kept)
        blocks = list(source)
        assert_array_equal(np.concatenate([block.X for block in blocks]), X[kept])
        assert_array_equal(np.concatenate([block.y for block in blocks]), y[kept])
        assert_array_equal(source.targets(), y[kept])
        ends = np.cumsum([block.n_rows for block in blocks])
        assert_array_equal([block.start for block in blocks], [0, *ends[:-1]])
        again = source.without_rows(np.array([1, 2]))
        assert_array_equal(np.concatenate([b.X for b in again]), np.delete(X[kept], [1, 2], axis=0))
        assert source.without_target().count_rows() == 120

    @pytest.mark.parametrize("missing", [None, np.nan])
    def test_rows_in_which_any_target_is_missing_are_in_no_block(self, tmp_path, missing) -> None:
        X, y = table(40)
        targets = np.column_stack([y, y + 100.0, y + 200.0]).astype(object)
        for row, column in ((3, 0), (4, 1), (5, 2), (17, 0), (17, 2)):
            targets[row, column] = missing
        columns = dict(zip("abc", X.T, strict=True))
        columns |= {f"y{k}": pa.array(list(targets[:, k]), pa.float64()) for k in range(3)}
        pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=6)
        kept = np.delete(np.arange(40), [3, 4, 5, 17])
        source = ParquetSource(tmp_path, target=["y2", "y0", "y1"], columns=["a", "b", "c"])
        assert source.count_rows() == 36
        blocks = list(source)
        assert_array_equal(np.concatenate([block.X for block in blocks]), X[kept])
        expected = y[kept, None] + [200.0, 0.0, 100.0]
        assert_array_equal(np.concatenate([block.y for block in blocks]), expected)

    def test_a_pass_reads_each_file_once_and_needed_columns_only(
        self, numbers, monkeypatch
    ) -> None:
        path, *_ = numbers
        read: list[tuple[str, ...]] = []
        original = pq.ParquetFile.iter_batches

        def recorded(self, batch_size, columns):
            read.append(tuple(columns))
            return original(self, batch_size, columns=columns)

        source = ParquetSource(path, "y", ["b"])
        monkeypatch.setattr(pq.ParquetFile, "iter_batches", recorded)
        source.reduce(NormalSums())
        assert read == 3 * [("b", "y")]
        read.clear()
        source.targets()
        assert read == 3 * [("y",)]

    @pytest.mark.skipif(pa.__version__.startswith("16."), reason="This pyarrow reads ahead.")
    def test_no_row_group_is_in_memory_as_a_whole(self, tmp_path) -> None:
        X = np.random.default_rng(0).normal(size=(300_000, 4))
        pq.write_table(
            pa.table(dict(zip("abcd", X.T, strict=True))),
            tmp_path / "x.parquet",
            row_group_size=len(X),
            use_dictionary=False,
        )
        before, held = pa.total_allocated_bytes(), []
        for block in ParquetSource(tmp_path):
            held.append(pa.total_allocated_bytes() - before)
            assert block.n_rows <= 8192
        assert max(held) < X.nbytes / 2

    def test_types_and_order_of_columns_may_differ_between_files(self, tmp_path) -> None:
        pd.DataFrame({"a": [1, 2], "b": [True, False]}).to_parquet(tmp_path / "1.parquet")
        pd.DataFrame({"b": [False], "a": [0.5]}).to_parquet(tmp_path / "2.parquet")
        X = np.concatenate([block.X for block in ParquetSource(tmp_path)])
        assert X.tolist() == [[1.0, 1.0], [2.0, 0.0], [0.5, 0.0]]

    @pytest.mark.parametrize("other", [np.float16, np.int8, np.int32])
    def test_single_precision_is_kept_if_it_holds_all_columns(self, other, tmp_path) -> None:
        table = pa.table({"a": np.zeros(2, np.float32), "b": np.zeros(2, other)})
        pq.write_table(table, tmp_path / "x.parquet")
        (block,) = ParquetSource(tmp_path)
        assert block.X.dtype == (np.float64 if other is np.int32 else np.float32)

    def test_empty_files_and_files_of_one_row(self, tmp_path) -> None:
        for part, n_rows in enumerate([0, 1, 5, 0]):
            frame = pd.DataFrame(np.arange(2.0 * n_rows).reshape(n_rows, 2), columns=["a", "y"])
            frame.to_parquet(tmp_path / f"{part}.parquet")
        source = ParquetSource(tmp_path, "y")
        assert source.reduce(NormalSums())[0] == 6
        assert source.count_rows() == 6

    def test_batches_without_known_targets_give_no_block(self, tmp_path, monkeypatch) -> None:
        y = pa.array([1.0, float("nan"), *[None] * 4, 2.0, 3.0, None], from_pandas=False)
        table = pa.table({"a": range(9), "y": y})
        pq.write_table(table, tmp_path / "y.parquet")
        monkeypatch.setattr(ParquetSource, "rows_together", lambda self, n_columns, most=3: 3)
        blocks = [(block.start, block.n_rows) for block in ParquetSource(tmp_path, "y")]
        assert blocks == [(0, 1), (1, 2)]


class TestEncoders:
    @pytest.fixture
    def path(self, tmp_path):
        mixed().to_parquet(tmp_path / "x.parquet", row_group_size=30)
        return tmp_path

    def test_columns_without_numbers_are_named_before_any_work(self, path, monkeypatch) -> None:
        source = ParquetSource(path, "label")
        monkeypatch.setattr(pq, "ParquetFile", None)
        for work in (source.reduce, source.map):
            with pytest.raises(ValueError, match=r"not hold numbers: city, kind, day\. .*encode"):
                work(NormalSums())

    def test_blocks_are_those_of_the_whole_table(self, path) -> None:
        source = ParquetSource(path, "label")
        sample, y = sample_blocks(source, 100, random_state=0, stratify=True, raw=True)
        assert sample.shape == (100, 5)
        encoder = table_encoder().fit(sample, y)
        encoded = source.with_encoder(encoder)
        frame = pd.read_parquet(path)
        frame = frame[frame["label"].notna()]
        expected = encoder.transform(frame.drop(columns="label"))
        blocks = list(encoded)
        assert_allclose(np.concatenate([block.X for block in blocks]), expected, rtol=1e-12)
        assert encoded.n_features == expected.shape[1]
        X, _ = sample_blocks(encoded, 100, random_state=0, stratify=True)
        assert_array_equal(X, encoder.transform(sample))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "z"}, r"has no column z; it has a, b, c, y"),
        ({"columns": ["a", "d"]}, "has no column d"),
        ({"target": "y", "columns": ["a", "y"]}, "both features and targets: y"),
        ({"columns": []}, "no column to learn from"),
    ],
)
def test_arguments(numbers, arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        ParquetSource(numbers[0], **arguments)


def test_a_second_target(numbers) -> None:
    with pytest.raises(ValueError, match="has its own targets"):
        block_source(ParquetSource(numbers[0], "y"), np.zeros(120))


def test_files_are_in_the_order_of_numbers_in_their_names(tmp_path) -> None:
    names = ["A", "a/part.1", "a/part.2", "a/part.2b", "a/part.10", "b/part.0"]
    for number, name in sorted(enumerate(names), key=str):
        file = tmp_path / f"{name}.parquet"
        file.parent.mkdir(exist_ok=True)
        pd.DataFrame({"x": [number]}).to_parquet(file)
    assert ParquetSource(tmp_path).take_raw(np.arange(6))[0]["x"].to_pylist() == [*range(6)]


def test_hidden_files_and_others_are_no_part_of_the_table(tmp_path) -> None:
    pd.DataFrame({"x": [1.0]}).to_parquet(tmp_path / "x.pq")
    for name in ("_metadata.parquet", ".x.parquet", "notes.txt"):
        (tmp_path / name).write_text("no table")
    assert ParquetSource(tmp_path).count_rows() == 1


def test_a_footer_that_announces_other_rows_is_refused(tmp_path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": np.arange(120.0)}), path)
    content = bytearray(path.read_bytes())
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    # Numbers of rows are stored as twice their value, in groups of seven bits.
    content[footer:] = content[footer:].replace(b"\xf0\x01", b"\xfe\x7f")
    path.write_bytes(content)
    source = ParquetSource(path)
    assert source.count_rows() == 8191
    with pytest.raises(ValueError, match=r"damaged: 8,191 rows announced, 120 are there"):
        list(source)


def test_a_name_that_occurs_twice(tmp_path) -> None:
    table = pa.table([[1.0], [2.0]], names=["x", "x"])
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="same name: x"):
        ParquetSource(tmp_path)


def test_nothing_there_or_another_format(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        ParquetSource(tmp_path / "absent.parquet")
    with pytest.raises(FileNotFoundError, match="no Parquet file in the folder"):
        ParquetSource(tmp_path)
    (tmp_path / "x.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"not a Parquet file, or holds .*x\.parquet"):
        ParquetSource(tmp_path)


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
        source = ParquetSource(tmp_path, columns=["place", "x", "year"])
        read = pd.concat(source.map_frames(lambda frame: frame), ignore_index=True)
        assert list(read) == ["place", "x", "year"]
        expected = frame.sort_values("x", ignore_index=True)[list(read)]
        pd.testing.assert_frame_equal(
            read.sort_values("x", ignore_index=True), expected, check_dtype=False
        )

    def test_values_that_are_not_all_whole_are_text(self, tmp_path) -> None:
        for name in ("kind=1", "kind=b"):
            (tmp_path / name).mkdir()
            pd.DataFrame({"x": [1.0]}).to_parquet(tmp_path / name / "x.parquet")
        assert ParquetSource(tmp_path / "kind=1").column_names == ("x",)
        frames = ParquetSource(tmp_path, columns=["kind"]).map_frames(lambda frame: frame)
        assert pd.concat(frames)["kind"].tolist() == ["1", "b"]


NUMBERS = {
    "whole": pa.array([1, 2, 3], pa.int32()),
    "fractional": pa.array([0.5, 1.5, 2.5], pa.float32()),
    "truth": pa.array([True, False, True]),
    "decimal": pa.array([Decimal("1.25"), Decimal("0.75"), Decimal("2.50")]),
}


def test_columns_of_all_kinds_of_numbers_are_read(tmp_path) -> None:
    pq.write_table(pa.table(NUMBERS), tmp_path / "a.parquet")
    (block,) = ParquetSource(tmp_path)
    assert block.X.tolist() == [[1, 0.5, 1, 1.25], [2, 1.5, 0, 0.75], [3, 2.5, 1, 2.5]]


@pytest.mark.parametrize("name", [*NUMBERS, "nothing"])
def test_missing_numbers_are_refused(name, tmp_path) -> None:
    known = NUMBERS.get(name, pa.nulls(0))
    cells = pa.array([*known.to_pylist(), None], known.type)
    pq.write_table(pa.table({"a": cells}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="X contains NaN"):
        list(ParquetSource(tmp_path))


def test_files_of_different_columns_or_types(tmp_path) -> None:
    pd.DataFrame({"a": [1], "b": [1]}).to_parquet(tmp_path / "p.parquet")
    pd.DataFrame({"a": [1], "e": [1]}).to_parquet(tmp_path / "q.parquet")
    with pytest.raises(ValueError, match=r"q\.parquet and p\.parquet .* columns: b, e\."):
        ParquetSource(tmp_path)
    pd.DataFrame({"a": ["x"], "b": [1]}).to_parquet(tmp_path / "q.parquet")
    with pytest.raises(ValueError, match="different types"):
        ParquetSource(tmp_path)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("truth", [True, False, True]),
        ("decimal", [1.25, 0.75, 2.5]),
        ("category", ["a", "b", "a"]),
        ("day", [0.0, 1.0, -1.0]),
        ("moment", [0.25, 0.5, -1.0]),
        (["whole", "fractional"], [[1.0, 0.5], [2.0, 1.5], [3.0, 2.5]]),
    ],
)
def test_targets(target, expected, tmp_path) -> None:
    others = {
        "x": [1, 2, 3],
        "category": pa.array(["a", "b", "a"]).dictionary_encode(),
        "day": pa.array([0, 1, -1], pa.date32()),
        "moment": pa.array([21_600, 43_200, -86_400], pa.timestamp("s", "Europe/Rome")),
    }
    pq.write_table(pa.table({**NUMBERS, **others}), tmp_path / "a.parquet")
    source = ParquetSource(tmp_path, target, ["x"])
    assert np.concatenate([block.y for block in source]).tolist() == expected
    assert source.has_date_target == (target in ("day", "moment"))


def text_views(values):
    """Text in views, or plain text if this pyarrow writes no views."""
    try:
        pq.write_table(pa.table({"c": pa.array(values, pa.string_view())}), pa.BufferOutputStream())
    except pa.ArrowNotImplementedError:
        return pa.array(values)
    return pa.array(values, pa.string_view())


KINDS_OF_TEXT = [
    [text_views(["a", None, "b", "a"])],
    [pa.array(names).dictionary_encode() for names in (["a", None], ["b", "a"])],
    [pa.array(["a", None]).dictionary_encode(), text_views(["b"]), pa.array(["a"])],
    [pa.array(["a"], pa.large_string()), pa.nulls(1), pa.array(["b"]), text_views(["a"])],
]


@pytest.mark.parametrize("cells", KINDS_OF_TEXT)
def test_files_may_hold_text_and_categories_of_any_kind(cells, tmp_path) -> None:
    for part, column in enumerate(cells):
        table = pa.table({"c": column, "y": np.arange(len(column))})
        pq.write_table(table, tmp_path / f"{part}.parquet")
    source = ParquetSource(tmp_path, "y")
    drawn = source.as_input(source.take_raw(np.array([0, 1, 3]))[0])["c"]
    assert drawn.astype(object).fillna("").tolist() == ["a", "", "a"]
    are_categories = all(pa.types.is_dictionary(column.type) for column in cells)
    assert (drawn.dtype == "category") == are_categories


def test_columns_that_files_and_folders_both_give_are_those_of_the_folders(tmp_path) -> None:
    for year in (2020, 2021):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(pa.table({"x": [0.5], "year": ["?"]}), tmp_path / f"year={year}/a.parquet")
    found = np.concatenate([block.X for block in ParquetSource(tmp_path)])
    assert found.tolist() == [[0.5, 2020.0], [0.5, 2021.0]]

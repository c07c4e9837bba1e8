"""Encoding, separator, quotes, header and compression of text files."""

import bz2
import csv
import gzip
import lzma
import os
import zipfile
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

from mercer_command.messages import InputError
from mercer_command.streaming import is_streamed
from mercer_command.table_files import (
    read_cells,
    read_text_table,
)

TEXT = "name,größe\nA,1\nB,2\n"
CELLS = [["A", "1"], ["B", "2"]]


def cells(path: Path, content: bytes) -> list[list[str]]:
    path.write_bytes(content)
    return read_text_table(path)[0].to_numpy().tolist()


@pytest.mark.parametrize("content", [b"\n\n", b"  \n \n", b"\t\n", b"sep=;\n \n", b" "])
def test_blank_lines_alone_are_no_table(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(InputError, match="the file is empty"):
        read_cells(tmp_path / "t.csv")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(TEXT.encode(encoding))
    frame, found = read_text_table(path)
    assert list(frame.columns) == ["name", "größe"]
    assert frame.to_numpy().tolist() == CELLS
    assert bool(found.notes) == (encoding == "latin-1")


def test_utf16_needs_a_byte_order_mark(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no text does but UTF-16 without a byte order mark"):
        cells(tmp_path / "t.csv", TEXT.encode("utf-16-le"))


def test_compression(tmp_path: Path) -> None:
    content = TEXT.encode()
    pa = pytest.importorskip("pyarrow")
    for suffix, compress in (
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", lambda each: pa.compress(each, "zstd", asbytes=True)),
    ):
        assert cells(tmp_path / f"t.csv{suffix}", compress(content)) == CELLS
    with zipfile.ZipFile(tmp_path / "t.csv.zip", "w") as archive:
        archive.writestr("t.csv", content)
    assert read_text_table(tmp_path / "t.csv.zip")[0].to_numpy().tolist() == CELLS
    with zipfile.ZipFile(tmp_path / "t.csv.zip", "a") as archive:
        archive.writestr("u.csv", content)
    with pytest.raises(InputError, match="2 files"):
        read_text_table(tmp_path / "t.csv.zip")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a;b\n1,5;2,5\n2,5;3\n", [["1,5", "2,5"], ["2,5", "3"]]),
        ("a\tb\n1, 2\t3\n4, 5\t6\n", [["1, 2", "3"], ["4, 5", "6"]]),
        ("a  b c\n 1 2  3\n4 5 6\n", [["1", "2", "3"], ["4", "5", "6"]]),
        ('a,b\n"x, y",1\n"say ""z""",2\n', [["x, y", "1"], ['say "z"', "2"]]),
        ("a,b\n'x, y','z'\n'u','v'\n", [["x, y", "z"], ["u", "v"]]),
        ('"sep=;"\na;b\n1;2\n', [["1", "2"]]),
        ("a,b\n1,2\n\n3,4\n", [["1", "2"], ["3", "4"]]),
        ('a,b\n"two\nlines",1\n', [["two\nlines", "1"]]),
        ("a,b,c\n1,2\n3,4,5\n", [["1", "2", ""], ["3", "4", "5"]]),
        ("y\n1\n2\n", [["1"], ["2"]]),
        ('"a" "b"\n"1" 2 "x, y"\n"2" 3 "z"\n', [["1", "2", "x, y"], ["2", "3", "z"]]),
        ('"a" "b"\n"1" NA "an \\"x\\""\n', [["1", "NA", 'an "x"']]),
        ("# of me, at home\n#\n# b, c\na,b\n1,2\n3,4\n", [["1", "2"], ["3", "4"]]),
        ("# of me\na b\n1 2\n3 4\n", [["1", "2"], ["3", "4"]]),
        ("Sales, 2024\na;b\n0,5;1\n2,5;3\n", [["0,5", "1"], ["2,5", "3"]]),
    ],
)
def test_separators_and_quotes(tmp_path: Path, text: str, expected: list[list[str]]) -> None:
    assert cells(tmp_path / "t.csv", text.encode()) == expected


@pytest.mark.parametrize(
    ("header", "row", "names", "note"),
    [
        (" a , b", "1,2", ["a", "b"], ""),
        ("a,a,a.1", "1,2,3", ["a", "a.2", "a.1"], ""),
        ("a,,c", "1,2,3", ["a", "Unnamed: 1", "c"], ""),
        ("a,b", "r1,1,2", ["row name", "a", "b"], "the first column has no name"),
        ("1.5,2", "3,4", ["1.5", "2"], "looks like data"),
    ],
)
def test_names(tmp_path: Path, header: str, row: str, names: list[str], note: str) -> None:
    (tmp_path / "t.csv").write_text("\n".join([header, row, row, ""]))
    frame, found = read_text_table(tmp_path / "t.csv")
    assert list(frame.columns) == names
    assert len(found.notes) == bool(note)
    assert all(note in text for text in found.notes)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.zst", "t.csv.zip"])
def test_files_that_swell_are_refused(tmp_path: Path, name: str) -> None:
    pa, content = pytest.importorskip("pyarrow"), b"0,0\n" * 2**24 + b"1,1\n"
    path = tmp_path / name
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("t.csv", content)
    else:
        compress = {".gz": gzip.compress, ".zst": partial(pa.compress, codec="zstd", asbytes=True)}
        path.write_bytes(compress[path.suffix](content))
    with pytest.raises(InputError, match="it holds more than 100 times what the file stores"):
        read_cells(path)


def test_parquet_that_swells_is_refused(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    zeros = pa.DictionaryArray.from_arrays(np.zeros(2**25 + 1, dtype="int8"), [0.5])
    pq.write_table(pa.table({"a": zeros, "b": zeros}), tmp_path / "t.parquet", row_group_size=2**26)
    for read in (read_cells, is_streamed):
        with pytest.raises(InputError, match="it holds more than 100 times what the file stores"):
            read(tmp_path / "t.parquet")


def test_quotation_marks_that_are_not_closed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a quotation mark near line 4 is not closed"):
        cells(tmp_path / "t.csv", b'Stock\n\na,b\n1,"2\n3,4\n5,6\n')


@pytest.mark.parametrize("text", ["a,b\n1,2,3\n" + "4,5\n" * 4, "a,b\n1,2,3,4\n" + "4,5,6\n" * 4])
def test_one_long_row_does_not_make_a_column_of_row_names(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="lines of more cells than its header"):
        cells(tmp_path / "t.csv", text.encode())


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.bz2", "t.csv.xz", "t.csv.zst", "t.csv.zip"])
def test_damaged_files_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"no compressed file" * 10)
    with pytest.raises(InputError, match=f"cannot read .*{name} as a table"):
        read_cells(tmp_path / name)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize(
    ("above", "n_lines"),
    [
        ("Sales 2021;;\n", 1),
        ("Sales 2021;;\n;;\n", 2),
        ("Sales 2021;;\nby town;;\n\n;;\n", 4),
        ("Sales 2021\n;;\n", 2),
        ("Sales of 2024\n\n", 2),
        ("# a\n# b, c\n\nStock\n", 4),
    ],
)
def test_titles_that_spreadsheets_pad(
    tmp_path: Path, separator: str, above: str, n_lines: int
) -> None:
    body = "name;size;kind\n" + "A;1;x\nB;2;y\n" * 6 + ";;\n" * 2
    text = (above + body).replace(";", separator)
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    frame, found = read_text_table(tmp_path / "t.csv")
    assert list(frame.columns) == ["name", "size", "kind"]
    assert frame.to_numpy().tolist() == [["A", "1", "x"], ["B", "2", "y"]] * 6
    assert found.arguments["skiprows"] == n_lines
    lines = "first line is" if n_lines == 1 else f"first {n_lines} lines are"
    assert found.notes == (
        f"the {lines} left out, as titles or comments above the header",
        "the last 2 lines are empty and are left out",
    )


@pytest.mark.parametrize(
    ("text", "row", "names"),
    [
        ("Sales;;;\nregion;2019;2020;2021", "A;1;2;3", ["region", "2019", "2020", "2021"]),
        (";size", "A;1", ["Unnamed: 0", "size"]),
        ("name;", "A;1", ["name", "Unnamed: 1"]),
        ("Sales;\nname;size", "A;1", ["name", "size"]),
        ("name;;;", "A;1;2;3", ["name", "Unnamed: 1", "Unnamed: 2", "Unnamed: 3"]),
        ('"long\nname";size;kind', "A;1;2", ["long\nname", "size", "kind"]),
        ("name;size;;", "A;1;;", ["name", "size", "Unnamed: 2", "Unnamed: 3"]),
    ],
)
def test_headers_that_resemble_padded_titles(
    tmp_path: Path, text: str, row: str, names: list[str]
) -> None:
    (tmp_path / "t.csv").write_text(f"{text}\n" + f"{row}\n" * 8, encoding="utf-8")
    assert list(read_text_table(tmp_path / "t.csv")[0].columns) == names


def test_single_columns_have_no_titles(tmp_path: Path) -> None:
    content = b"text\n" + b"one, two\nthree\nfour, five, six\n" * 3
    path = tmp_path / "t.csv"
    path.write_bytes(b"said\n" + b"yes\nno\n" * 5)
    assert read_text_table(path)[1].arguments == {}
    path.write_bytes(content)
    with pytest.raises(InputError, match="line 4 has 3 cells, and the lines above it have 2"):
        read_text_table(path)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ('[{"a": 1},\n{"a": 2}]\n', "JSON"),
        ("<!DOCTYPE html>\n<table>\n", "HTML"),
        ('<?xml version="1.0"?>\n', "XML"),
    ],
)
def test_other_formats_are_named(tmp_path: Path, content: str, kind: str) -> None:
    (tmp_path / "t.csv").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=f"the file is {kind}, not a table"):
        read_text_table(tmp_path / "t.csv")


def test_lines_may_be_longer_than_the_fields_of_the_csv_module(tmp_path: Path) -> None:
    limit, text = csv.field_size_limit(), "x" * (csv.field_size_limit() + 1)
    assert cells(tmp_path / "t.csv", f"a,b\n1,{text}\n2,y\n".encode()) == [["1", text], ["2", "y"]]
    assert csv.field_size_limit() == limit


def test_lines_end_with_their_own_marks_alone(tmp_path: Path) -> None:
    """Not where Unicode has paragraphs, or where printers turn a page."""
    content = "a\u2028c,b\n" + "x\u2028y\x0c,1\n" * 5
    assert cells(tmp_path / "t.csv", content.encode()) == [["x\u2028y\x0c", "1"]] * 5
    assert list(read_text_table(tmp_path / "t.csv")[0].columns) == ["a\u2028c", "b"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_pipes_and_devices_are_refused_before_they_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t.csv")
    for path in (Path(os.devnull), tmp_path / "t.csv"):
        with pytest.raises(InputError, match="is a pipe or a device, not a file"):
            read_cells(path)


def test_a_wide_header_without_rows_is_refused_before_cells_are_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("," * 1000 + "\n\n")
    with (
        patch.object(pd, "read_csv", side_effect=AssertionError),
        pytest.raises(InputError, match="has no rows"),
    ):
        read_cells(tmp_path / "t.csv")


def test_empty_lines_of_a_single_column_are_empty_cells(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('part\ntrain\n\ntest\n""\n\n', encoding="utf-8")
    cells = read_cells(path)
    assert cells.frame["part"].tolist() == ["train", "", "test"]
    assert cells.notes == ("the last 2 lines are empty and are left out",)


def test_damaged_gzip_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(InputError, match="the compressed file is damaged"):
        read_cells(path)

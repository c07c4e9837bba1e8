#!/usr/bin/env bash
# Guess: pandas (sep=None), DuckDB and Polars recognize by themselves how a text file separates,
# quotes and names its cells, so that a program that reads tables of strangers needs no more.
# Seen, pandas 3.1.1, DuckDB 2.0.1, Polars 2.1.0, on small tables in UTF-8: DuckDB reads decimal
# commas as separators, the rows of R's write.table as one cell each, a header that is one name short
# as no header (and the first row as names), and rows of other lengths without an error; with
# null_padding, it takes titles for names. pandas finds letters as separators of a single column, and
# loses the names of R's rows. Polars takes commas unless it is told otherwise. None reads Latin-1, and
# DuckDB alone reads UTF-16 if it is told so.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pandas==3.1.1 duckdb==2.0.1 polars==2.1.0 pyarrow==26.0.1 || exit 2
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
import warnings

import duckdb
import pandas as pd
import polars as pl

warnings.simplefilter("ignore")
kinds, n = ["red", "green", "blue"], 30


def lines(row):
    return "".join(row(i) + "\n" for i in range(n))


TABLES = {  # The text, the names, and the first row; no names if it is to be refused.
    "commas": ("a,b\n" + lines(lambda i: f"{i},{kinds[i % 3]}"), ["a", "b"], ["0", "red"]),
    "decimal commas": ("a;b\n" + lines(lambda i: f"{i},5;{i},25"), ["a", "b"], ["0,5", "0,25"]),
    "R's write.table": (
        '"a" "b"\n' + lines(lambda i: f'"{i + 1}" {i} "{kinds[i % 3]} one"'),
        ["row name", "a", "b"],
        ["1", "0", "red one"],
    ),
    "short header": (
        "a\tb\n" + lines(lambda i: f"r{i}\t{i}\t{kinds[i % 3]}"),
        ["row name", "a", "b"],
        ["r0", "0", "red"],
    ),
    "spaces": ("a  b\n" + lines(lambda i: f" {i}   {kinds[i % 3]}"), ["a", "b"], ["0", "red"]),
    "title": ("Sales of 2024\n\na,b\n" + lines(lambda i: f"{i},{i + 1}"), ["a", "b"], ["0", "1"]),
    "padded title": (
        "Sales of 2024,,\na,b,c\n" + lines(lambda i: f"{i},{i + 1},2"),
        ["a", "b", "c"],
        ["0", "1", "2"],
    ),
    "one column": ("said\n" + lines(lambda i: f"{kinds[i % 3]} one"), ["said"], ["red one"]),
    "short rows": (
        "a,b,c\n" + lines(lambda i: f"{i},1" if i % 5 == 4 else f"{i},1,2"),
        ["a", "b", "c"],
        ["0", "1", "2"],
    ),
    "long rows": ("a,b\n" + lines(lambda i: f"{i},1,2" if i % 9 == 4 else f"{i},1"), [], []),
}


def of_duckdb(**options):
    def read(path):
        return duckdb.read_csv(path, all_varchar=True, header=True, **options).df()

    return read


READERS = {
    "pandas": lambda path: pd.read_csv(path, sep=None, engine="python", dtype=str),
    "DuckDB": of_duckdb(),
    "DuckDB, null_padding": of_duckdb(null_padding=True, parallel=False),
    "Polars": lambda path: pl.read_csv(path, infer_schema=False).to_pandas(),
}
SEEN = {
    "pandas": "commas, decimal commas, short rows, long rows",
    "DuckDB": "commas, title, one column",
    "DuckDB, null_padding": "commas, one column, short rows",
    "Polars": "commas, one column, short rows, long rows",
}
holds = True
for name, read in READERS.items():
    right = []
    for kind, (text, names, row) in TABLES.items():
        with open("t.csv", "w", encoding="utf-8") as file:
            file.write(text)
        try:
            found = read("t.csv")
            ok = list(found) == names and found.iloc[0].tolist() == row and len(found) == n
        except Exception:
            ok = not names
        right += [kind] if ok else []
    print(f"{name} reads rightly: {', '.join(right)}")
    holds &= ", ".join(right) == SEEN[name]
assert holds, "the finding no longer holds"
PYTHON

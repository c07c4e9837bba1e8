#!/usr/bin/env bash
# Guess: a Parquet file whose pandas metadata names an index column that the file no longer has (a
# selection of columns keeps the metadata) reads with a warning, or raises, in the same way however
# it is read.
# Seen, pandas 3.1.1 with pyarrow 26.0.1: read_parquet(path) numbers the rows anew, without a word.
# read_parquet(path, columns=["y"]) of the same file raises "No match for FieldRef.Name(day)", for a
# column that nobody asked for; with filters= it reads. A renamed index column becomes an ordinary
# column, and of two index columns the one that is left becomes the index, both without a word.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pandas==3.1.1 pyarrow==26.0.1 numpy==2.4.6 || exit 2
"$work/venv/bin/python" -W error - "$work" <<'PYTHON'
import sys

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

print("pandas", pd.__version__, "pyarrow", pa.__version__)
folder = sys.argv[1]
frame = pd.DataFrame({"y": [1.0, 2.0, 3.0], "day": [10, 20, 40], "hour": [7, 8, 9]})
one = pa.Table.from_pandas(frame[["y", "day"]].set_index("day"))
two = pa.Table.from_pandas(frame.set_index(["day", "hour"]))


def read(table, **asked):
    pq.write_table(table, f"{folder}/table.parquet")
    try:
        found = pd.read_parquet(f"{folder}/table.parquet", **asked)
    except pa.ArrowInvalid as error:
        return str(error).split(" in ")[0]
    return list(found.index.names), list(found.columns), list(found.index)


CASES = {
    "whole": (one, {}, (["day"], ["y"], [10, 20, 40])),
    "without the index": (one.select(["y"]), {}, ([None], ["y"], [0, 1, 2])),
    "without it, columns=": (
        one.select(["y"]),
        {"columns": ["y"]},
        "No match for FieldRef.Name(day)",
    ),
    "without it, filters=": (
        one.select(["y"]),
        {"filters": [("y", ">", 1.0)]},
        ([None], ["y"], [0, 1]),
    ),
    "renamed index": (one.rename_columns(["y", "date"]), {}, ([None], ["y", "date"], [0, 1, 2])),
    "one of two left": (two.select(["y", "hour"]), {}, (["hour"], ["y"], [7, 8, 9])),
}
holds = True
for name, (table, asked, expected) in CASES.items():
    found = read(table, **asked)
    print(f"{name}: {found}")
    holds &= found == expected
assert holds, "the finding no longer holds"
PYTHON

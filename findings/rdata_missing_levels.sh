#!/usr/bin/env bash
# Guess: rdata reads back the data frame that it has written, with missing categories missing.
# Seen, rdata 1.1.0: a missing category is written as code 0, which no level has, where R writes NA. pyreadr
# reads it as missing; rdata reads it as the last level, without a warning: of ("low", missing, "high") it
# returns ("low", "high", "high"). Missing flags and whole numbers survive, and so do missing
# categories in a file whose codes are R's NA.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pyreadr==0.5.8 rdata==1.1.0 pandas==3.1.1 numpy==2.4.6 || exit 2
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

import pandas as pd
import pyreadr
import rdata

print("rdata", version("rdata"), "pyreadr", version("pyreadr"))
table = pd.DataFrame(
    {
        "size": pd.Categorical(["low", None, "high"], ["low", "high"]),
        "flag": pd.array([True, None, False], "boolean"),
        "count": pd.array([1, None, 3], "Int32"),
    }
)
rdata.write_rds("by_rdata.rds", table)
pyreadr.write_rds("by_pyreadr.rds", table[["size"]])
back, other = rdata.read_rds("by_rdata.rds"), pyreadr.read_r("by_rdata.rds")[None]
right = rdata.read_rds("by_pyreadr.rds")
print(back, other, right, sep="\n")
assert back["size"].tolist() == ["low", "high", "high"], "the finding no longer holds"
assert other["size"].isna().tolist() == [False, True, False], "the finding no longer holds"
for name in ("flag", "count"):
    assert back[name].isna().tolist() == [False, True, False], "the finding no longer holds"
assert right["size"].isna().tolist() == [False, True, False], "the finding no longer holds"
PYTHON

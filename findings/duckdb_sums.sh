#!/usr/bin/env bash
# Guess: a sum of whole numbers that DuckDB returns as a data frame is a whole number, as its maximum is.
# Seen, DuckDB 2.0.1: sums of integers are of type HUGEINT, which becomes float64 in a data frame: 2^53 + 1 is
# returned as 2^53, whereas fetchall() returns it exactly. A count, a code or a key that was summed is then a
# number with a fraction, and a target of classes a target of responses.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q duckdb==2.0.1 pandas==3.1.1 numpy==2.4.6 || exit 2
"$work/venv/bin/python" - <<'PYTHON'
import duckdb
import pandas as pd

print("duckdb", duckdb.__version__)
table = pd.DataFrame({"x": [2**53, 1]})
frame = duckdb.sql("select sum(x) as total, max(x) as largest from \"table\"").df()
[(exact, _)] = duckdb.sql('select sum(x), max(x) from "table"').fetchall()
print(frame.dtypes.to_dict(), "frame", int(frame.total[0]), "fetchall", exact)
assert frame.total.dtype == float and int(frame.total[0]) == exact - 1, "no longer holds"
assert frame.largest.dtype == int, "no longer holds"
PYTHON

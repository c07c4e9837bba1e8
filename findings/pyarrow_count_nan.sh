#!/usr/bin/env bash
# Guess: a dataset's count_rows(filter=condition) is the number of rows of to_table(filter=condition).
# Seen, pyarrow 26.0.1 (and 16.1.0): where the statistics of a Parquet file count no null, rows with
# NaN pass the condition ~is_null(nan_is_null=True) in count_rows (3), and do not in to_table (2).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pyarrow==26.0.1 || exit 2
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

print("pyarrow", pa.__version__)
cells = pa.array([1.0, float("nan"), 3.0], from_pandas=False)
pq.write_table(pa.table({"y": cells}), "nan.parquet")
condition = ~ds.field("y").is_null(nan_is_null=True)
data = ds.dataset("nan.parquet")
counted, read = data.count_rows(filter=condition), data.to_table(filter=condition).num_rows
print("rows by count_rows:", counted, "rows by to_table:", read)
assert (counted, read) == (3, 2)
PYTHON

#!/usr/bin/env bash
# Guess: an index of whole numbers is written to Parquet as a column, so that each value stays with
# its row when pyarrow sorts or filters the table before it becomes a frame again.
# Seen, pandas 3.1.1 with pyarrow 26.0.1: set_index makes a RangeIndex of evenly spaced whole numbers
# (10, 20, 30), and the file then has no such column, only its first value and step. After sort_by
# the values stand in the old order beside the new rows (day 10 gets the row of day 30); after a
# filter they are gone. Both happen without a word. Unevenly spaced values (10, 20, 40) stay with
# their rows, and so do evenly spaced ones with to_parquet(path, index=True).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pandas==3.1.1 pyarrow==26.0.1 numpy==2.4.6 || exit 2
"$work/venv/bin/python" -W error - "$work" <<'PYTHON'
import sys

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

print("pandas", pd.__version__, "pyarrow", pa.__version__)
path = f"{sys.argv[1]}/table.parquet"


def written(days, index):
    frame = pd.DataFrame({"day": days, "y": [1.0, 2.0, 3.0]}).set_index("day")
    frame.to_parquet(path, index=index)
    table = pq.read_table(path)
    frames = (
        pd.read_parquet(path),
        table.sort_by([("y", "descending")]).to_pandas(),
        table.filter(pc.field("y") > 1.5).to_pandas(),
    )
    shown = [dict(zip(frame.index.tolist(), frame["y"].tolist())) for frame in frames]
    print(f"days {days}, index={index}: columns {table.schema.names}")
    print("  read {}, sorted {}, filtered {}".format(*shown))
    return table.schema.names, *shown


uneven, even = [10, 20, 40], [10, 20, 30]
holds = True
for days, index in ((uneven, None), (even, True)):
    names, *frames = written(days, index)
    true = dict(zip(days, [1.0, 2.0, 3.0]))
    kept = {day: y for day, y in true.items() if y > 1.5}
    holds &= set(names) == {"day", "y"} and frames == [true, true, kept]
holds &= written(even, None) == (
    ["y"],
    {10: 1.0, 20: 2.0, 30: 3.0},
    {10: 3.0, 20: 2.0, 30: 1.0},
    {0: 2.0, 1: 3.0},
)
assert holds, "the finding no longer holds"
PYTHON

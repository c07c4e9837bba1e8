#!/usr/bin/env bash
# Guess: durations that pandas, Polars or DuckDB write to Parquet arrive as durations, or at least as numbers
# of one unit, in the two others.
# Seen, pandas 3.1.1, Polars 2.1.0, DuckDB 2.0.1: Parquet has no durations of fixed length. pandas and Polars
# read each other's, by a note of Arrow. DuckDB ignores the note and returns whole numbers in the writer's
# unit: 30 hours are 108000000000 from a column in microseconds and 108000000000000 from one in nanoseconds.
# DuckDB's own INTERVAL arrives in pandas as twelve bytes. Seconds as a number are the same everywhere.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pandas==3.1.1 polars==2.1.0 duckdb==2.0.1 pyarrow==26.0.1 numpy==2.4.6 || exit 2
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
import datetime

import duckdb
import pandas as pd
import polars as pl

print("pandas", pd.__version__, "Polars", pl.__version__, "DuckDB", duckdb.__version__)
day_and_more = datetime.timedelta(hours=30)
pl.DataFrame({"took": [day_and_more]}).write_parquet("polars.parquet")
frame = pd.DataFrame({"took": pd.to_timedelta([30], "h")})
for unit in ("us", "ns"):
    frame.astype(f"timedelta64[{unit}]").to_parquet(f"pandas_{unit}.parquet")
duckdb.sql("copy (select interval 30 hour as took) to 'duckdb.parquet'")


def by_duckdb(path):
    found = duckdb.sql(f"select took from '{path}'")
    return str(found.types[0]), found.fetchall()[0][0]


def by_pandas(path):
    return pd.read_parquet(path)["took"][0]


holds = True
SEEN = {"polars": 108 * 10**9, "pandas_us": 108 * 10**9, "pandas_ns": 108 * 10**12}
for name, number in SEEN.items():
    found = by_duckdb(f"{name}.parquet")
    print(f"{name}.parquet: pandas {by_pandas(f'{name}.parquet')!r}, DuckDB {found}")
    holds &= found == ("BIGINT", number) and by_pandas(f"{name}.parquet") == day_and_more
holds &= pl.read_parquet("pandas_us.parquet")["took"][0] == day_and_more
print("duckdb.parquet: pandas", by_pandas("duckdb.parquet"), "DuckDB", by_duckdb("duckdb.parquet"))
holds &= by_pandas("duckdb.parquet") == b"\0" * 8 + (108 * 10**6).to_bytes(4, "little")
holds &= by_duckdb("duckdb.parquet") == ("INTERVAL", day_and_more)
assert holds, "the finding no longer holds"
PYTHON

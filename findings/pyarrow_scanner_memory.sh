#!/usr/bin/env bash
# Guess: a dataset's scanner with a batch_size of 32,768 rows, without threads and read-ahead, holds
# a few batches in memory, as ParquetFile.iter_batches with that batch_size does.
# Seen, pyarrow 26.0.1 (and 16.1.0): the scanner decodes each row group as a whole. For a row group of
# 2,000,000 rows by 8 doubles (128 MB), it holds 130 MB; iter_batches holds 5 MB.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pyarrow==26.0.1 numpy==2.4.6 || exit 2
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

print("pyarrow", pa.__version__)
columns = np.random.default_rng(0).normal(size=(8, 2_000_000))
table = pa.table({f"x{k}": column for k, column in enumerate(columns)})
pq.write_table(table, "x.parquet", row_group_size=2_000_000, use_dictionary=False)
size = table.nbytes
del table, columns


def held(batches):
    """Return the largest number of bytes that pyarrow holds at a batch."""
    before = pa.total_allocated_bytes()
    return max(pa.total_allocated_bytes() - before for _ in batches)


reader = pq.ParquetFile("x.parquet", buffer_size=2**16, pre_buffer=False)
streamed = held(reader.iter_batches(32_768))
buffered = ds.ParquetFragmentScanOptions(
    use_buffered_stream=True, buffer_size=2**16, pre_buffer=False
)
settings = {"batch_size": 32_768, "batch_readahead": 0, "fragment_readahead": 0}
scanner = ds.dataset("x.parquet").scanner(
    **settings, use_threads=False, fragment_scan_options=buffered
)
scanned = held(scanner.to_batches())
print(f"row group {size / 1e6:.0f} MB, iter_batches {streamed / 1e6:.1f} MB,", end=" ")
print(f"scanner {scanned / 1e6:.1f} MB")
assert streamed < 0.1 * size < 0.9 * size < scanned
PYTHON

#!/usr/bin/env bash
# Guess: dask.array.percentile of 1,000 shuffled numbers in chunks of 100 is off by a rank or two, and does not
# depend on the other percentiles that are asked for with it.
# Seen, Dask 2026.8.0: the median of 0, ..., 999 is 583.5 alone, 788 among [25, 75, 50], and 932 in [90, 50]; the 1%
# percentile in [99, 1] is 988. Each chunk is summarized by the percentiles that are asked for, which are taken
# to be in ascending order, without a check or a word.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "dask[array]==2026.8.0" numpy==2.4.6 || exit 2
"$work/venv/bin/python" - <<'PYTHON'
import dask
import dask.array as da
import numpy as np

print("dask", dask.__version__)
values = np.random.default_rng(0).permutation(1000).astype(float)
chunked = da.from_array(values, chunks=100)
for asked in ([50], [50, 90], [90, 50], [25, 75, 50], [1, 99], [99, 1]):
    found, exact = da.percentile(chunked, asked).compute(), np.percentile(values, asked)
    print(asked, "found", found.tolist(), "exact", exact.tolist())
alone = da.percentile(chunked, [50]).compute()[0]
below = da.percentile(chunked, [99, 1]).compute()[1]
assert abs(alone - 499.5) > 50.0 and below > 900.0, "no longer holds"
PYTHON

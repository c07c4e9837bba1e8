#!/usr/bin/env bash
# Guess: `with dask.config.set({"distributed.admin.large-graph-warning-threshold": "10 GiB"})` changes this setting
# until the block ends, and nothing else.
# Seen, Dask 2026.8.0: if distributed is not imported yet, and the block computes something, which imports it, all of
# its settings are gone after the block: every later computation of the process, of a local array as well, raises
# KeyError: 'distributed' (or 'comm'). Set keys of distributed only where it is imported.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "dask[array]==2026.8.0" distributed==2026.8.0 numpy==2.4.6 || exit 2
"$work/venv/bin/python" - <<'PYTHON'
import sys

import dask
import dask.array as da

print("dask", dask.__version__, "distributed imported:", "distributed" in sys.modules)
numbers = da.ones(10, chunks=5)
with dask.config.set({"distributed.admin.large-graph-warning-threshold": "10 GiB"}):
    print(numbers.sum().compute(), "distributed imported:", "distributed" in sys.modules)
try:
    numbers.sum().compute()
except KeyError as error:
    print("KeyError:", error)
    assert error.args[0] in ("distributed", "comm"), "no longer holds"
else:
    raise AssertionError("no longer holds")
PYTHON

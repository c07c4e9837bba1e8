#!/usr/bin/env bash
# Guess: pyarrow's string_view, a text type of Arrow's specification that other libraries hand over,
# can be taken from, filtered, sorted and counted as string can.
# Seen, pyarrow 26.0.1: take, filter, is_in and utf8_lower raise "has no kernel matching input types";
# sorting raises, too. unique and value_counts work, and return a missing value as an empty
# text (apache/arrow#39635), so that it becomes a category of its own, twice where empty texts occur.
# A cast to string first mends all of it.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pyarrow==26.0.1 || exit 2
"$work/venv/bin/python" - <<'PYTHON'
import pyarrow as pa
import pyarrow.compute as pc

print("pyarrow", pa.__version__)
views = pa.array(["a", "", None], pa.string_view())
texts = views.cast(pa.string())
OPERATIONS = {
    "take": lambda column: column.take(pa.array([0, 2])),
    "filter": lambda column: column.filter(pa.array([True, False, True])),
    "is_in": lambda column: pc.is_in(column, value_set=pa.array(["a"], column.type)),
    "utf8_lower": pc.utf8_lower,
    "sort_by": lambda column: pa.table({"column": column}).sort_by("column"),
}
holds = True
for name, operation in OPERATIONS.items():
    operation(texts)
    try:
        operation(views)
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        print(f"{name}: {str(error).splitlines()[0]}")
    else:
        print(f"{name}: works")
        holds = False
for name, operation in {
    "unique": lambda column: column.unique().to_pylist(),
    "value_counts": lambda column: [pair["values"] for pair in column.value_counts().to_pylist()],
}.items():
    print(f"{name}: {operation(views)}, of string {operation(texts)}")
    holds &= operation(views) == ["a", "", ""] and operation(texts) == ["a", "", None]
assert holds, "the finding no longer holds"
PYTHON

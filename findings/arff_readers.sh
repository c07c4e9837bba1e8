#!/usr/bin/env bash
# Guess: two readers of ARFF, the format of Weka and OpenML, return the same table from the same file:
# numbers as written, also those of attributes that are declared integer, and missing cells as missing.
# Seen, liac-arff 2.5.0: numbers of attributes declared integer are cut off (2.7 becomes 2, and -2.7
# becomes -2), without a warning. It refuses attributes of dates. SciPy 1.17.1 keeps 2.7 and reads dates,
# but returns categories as bytes and missing categories as b'?', a category like the others, while
# missing numbers are NaN; and it refuses a category in quotation marks if the first row has none.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q liac-arff==2.5.0 scipy==1.17.1 numpy==2.4.6 || exit 2
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version
from io import StringIO

import arff
from scipy.io.arff import loadarff

print("liac-arff", version("liac-arff"), "SciPy", version("scipy"))
TABLE = """@relation weights
@attribute count integer
@attribute weight real
@attribute color {red,blue}
@data
2.7,2.7,red
-2.7,-2.7,?
?,?,blue
"""
DATED = TABLE.replace("color {red,blue}", "day date 'yyyy-MM-dd'")
DATED = DATED.replace("red", "2024-01-31").replace("blue", "2024-02-01")
by_liac = arff.loads(TABLE)["data"]
by_scipy = loadarff(StringIO(TABLE))[0].tolist()
print("liac-arff:", *by_liac, "SciPy:", *by_scipy, sep="\n  ")
assert [row[0] for row in by_liac] == [2, -2, None], "the finding no longer holds"
assert [row[2] for row in by_liac] == ["red", None, "blue"], "the finding no longer holds"
assert [row[0] for row in by_scipy[:2]] == [2.7, -2.7], "the finding no longer holds"
assert by_scipy[2][0] != by_scipy[2][0], "the finding no longer holds"
assert [row[2] for row in by_scipy] == [b"red", b"?", b"blue"], "the finding no longer holds"
try:
    arff.loads(DATED)
except arff.BadAttributeType as error:
    print("liac-arff, of dates:", error)
else:
    raise AssertionError("the finding no longer holds")
print("SciPy, of dates:", loadarff(StringIO(DATED))[0]["day"])
try:
    loadarff(StringIO(TABLE.replace("?,?,blue", "?,?,'blue'")))
except ValueError as error:
    print("SciPy, of a quoted category:", error)
else:
    raise AssertionError("the finding no longer holds")
assert arff.loads(TABLE.replace("?,?,blue", "?,?,'blue'"))["data"] == by_liac, "no longer holds"
PYTHON

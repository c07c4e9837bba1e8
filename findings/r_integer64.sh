#!/usr/bin/env bash
# Guess: readers of R's files return what R shows: whole numbers of 64 bits (bit64's integer64, which
# data.table makes of long identifiers) as whole numbers, and the order of ordered factors.
# Seen, pyreadr 0.5.8 and rdata 1.1.0: integer64 arrives as the doubles that have the same bits. 1 is 5e-324,
# 2^40 is 5.4e-312, a missing number is -0.0; to every kernel they are all the same. rdata warns
# that it knows no constructor; pyreadr says nothing, and loses the order of ordered factors and the unit of
# differences of times. values.view("int64") restores the numbers.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pyreadr==0.5.8 rdata==1.1.0 pandas==3.1.1 numpy==2.4.6 || exit 2
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
import gzip
import struct
import warnings
from importlib.metadata import version

import numpy as np
import pyreadr
import rdata

print("pyreadr", version("pyreadr"), "rdata", version("rdata"))


def integer(number):
    return struct.pack(">i", number)


def pairs(attributes):
    """Return the attributes of an R object, as R serializes them."""
    words = {name: integer(0x40009) + integer(len(name)) + name.encode() for name in attributes}
    found = (integer(1026) + integer(1) + words[name] + body for name, body in attributes.items())
    return b"".join(found) + integer(254)


def vector(kind, cells, attributes):
    flags = kind | 0x200 * bool(attributes) | 0x100 * ("class" in attributes)
    end = pairs(attributes) if attributes else b""
    return integer(flags) + integer(len(cells)) + b"".join(cells) + end


def texts(*words):
    cells = [integer(0x40009) + integer(len(word)) + word.encode() for word in words]
    return vector(16, cells, {})


IDS = [1, 2**40, -(2**63)]  # R's NA is the smallest number.
columns = {
    "id": vector(14, [struct.pack(">q", number) for number in IDS], {"class": texts("integer64")}),
    "grade": vector(
        13,
        [integer(code) for code in (2, 1, 2)],
        {"levels": texts("low", "high"), "class": texts("ordered", "factor")},
    ),
}
rows = vector(13, [integer(-(2**31)), integer(-3)], {})
names = {"names": texts(*columns), "class": texts("data.frame"), "row.names": rows}
head = b"X\n" + integer(2) + integer(0x40300) + integer(0x20300)
with gzip.open("t.rds", "wb") as file:
    file.write(head + vector(19, list(columns.values()), names))

by_pyreadr = pyreadr.read_r("t.rds")[None]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    by_rdata = rdata.read_rds("t.rds")
print("rdata warns:", *{str(one.message) for one in caught})
holds = any("integer64" in str(one.message) for one in caught)
for name, frame in {"pyreadr": by_pyreadr, "rdata": by_rdata}.items():
    ids, grade = frame["id"].to_numpy(), frame["grade"]
    print(name, ids, grade.tolist(), "ordered:", grade.cat.ordered)
    holds &= ids.dtype == float and ids.view("int64").tolist() == IDS
    holds &= bool((np.abs(ids) < 1e-300).all()) and grade.tolist() == ["high", "low", "high"]
    holds &= grade.cat.ordered == (name == "rdata")
assert holds, "the finding no longer holds"
PYTHON

#!/usr/bin/env bash
# Guess: scipy.io.loadmat returns a matrix of class double, as MATLAB shows it, as float64, so that X @ X.T
# is its Gram matrix.
# Seen, SciPy 1.17.1: it returns the type in which the file stores the numbers, and MATLAB stores doubles
# that are whole numbers up to 255 as bytes. X is uint8, and X @ X.T is computed modulo 256 without a
# warning: 10 * 10 + 20 * 20 is 244, not 500. whosmat says "double" of the same matrix.
# loadmat(path, mat_dtype=True) returns float64.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q scipy==1.17.1 numpy==2.4.6 || exit 2
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
import struct

import numpy as np
import scipy
from scipy.io import loadmat, whosmat

print("SciPy", scipy.__version__)
INT8, UINT8, INT32, UINT32, MATRIX, DOUBLE_CLASS = 1, 2, 5, 6, 14, 6


def element(kind, content):
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def write_as_matlab(path, name, matrix):
    """Write doubles as MATLAB does if all are whole numbers up to 255: of class double, in bytes."""
    parts = (
        element(UINT32, struct.pack("<II", DOUBLE_CLASS, 0))
        + element(INT32, struct.pack("<ii", *matrix.shape))
        + element(INT8, name.encode())
        + element(UINT8, matrix.astype(np.uint8).tobytes("F"))
    )
    with open(path, "wb") as file:
        file.write(b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x100) + b"IM")
        file.write(struct.pack("<II", MATRIX, len(parts)) + parts)


X = np.array([[10.0, 20.0], [30.0, 40.0], [3.0, 5.0]])
write_as_matlab("t.mat", "X", X)
found, right = loadmat("t.mat")["X"], loadmat("t.mat", mat_dtype=True)["X"]
print(whosmat("t.mat"), found.dtype, (found @ found.T).tolist(), right.dtype)
assert whosmat("t.mat") == [("X", (3, 2), "double")], "the finding no longer holds"
assert found.dtype == np.uint8 and (found == X).all(), "the finding no longer holds"
assert (found @ found.T)[0, 0] == 244, "the finding no longer holds"
assert right.dtype == float and (right @ right.T)[0, 0] == 500, "the finding no longer holds"
PYTHON

#!/usr/bin/env bash
# Guess: two readers of FCS files, the format of flow cytometers, return the same measurements, in the units
# that the file's header defines: amplification ($PnE) and gain ($PnG) are part of the format.
# Seen, fcsparser 0.2.8 and FlowIO 1.4.0: fcsparser returns the stored channel numbers and ignores both. Of a
# logarithmic amplifier of four decades, it returns 0, 512 and 1023 where FlowIO returns 1, 100 and 9910;
# with a gain of two, it returns twice what FlowIO does; times are in ticks, not in seconds. A kernel's width
# that was learned on one of them means something else on the other. FlowIO with preprocess=False returns
# what fcsparser does.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q fcsparser==0.2.8 FlowIO==1.4.0 numpy==1.26.4 pandas==2.3.3 six==1.17.0 || exit 2
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

import fcsparser
import flowio
import numpy as np

print("fcsparser", version("fcsparser"), "FlowIO", flowio.__version__)


def write(path, rows, dtype, words):
    """Write an FCS 3.1 file: a header of offsets, words, and numbers."""
    data = np.asarray(rows, dtype).tobytes()
    unused = ("$BEGINANALYSIS", "$ENDANALYSIS", "$BEGINSTEXT", "$ENDSTEXT", "$NEXTDATA")
    words = {**dict.fromkeys(unused, "0"), "$BYTEORD": "1,2,3,4", "$MODE": "L", **words}
    words |= {"$PAR": "2", "$TOT": str(len(rows)), "$BEGINDATA": "0" * 8, "$ENDDATA": "0" * 8}
    n_text = sum(len(key) + len(word) + 2 for key, word in words.items()) + 1
    first, last = 58 + n_text, 58 + n_text + len(data) - 1
    words |= {"$BEGINDATA": f"{first:08}", "$ENDDATA": f"{last:08}"}
    text = "/" + "".join(f"{key}/{word}/" for key, word in words.items())
    offsets = "".join(f"{offset:8}" for offset in (58, first - 1, first, last, 0, 0))
    with open(path, "wb") as file:
        file.write(f"FCS3.1    {offsets}{text}".encode() + data)


INTEGERS = {"$DATATYPE": "I", "$P1B": "16", "$P2B": "16", "$P1R": "1024", "$P2R": "1024"}
INTEGERS |= {"$P1N": "FL1", "$P2N": "SSC", "$P1E": "4,1", "$P2E": "0,0", "$P2G": "2"}
write("i.fcs", [[0, 512], [512, 100], [1023, 2]], "<u2", INTEGERS)
FLOATS = {"$DATATYPE": "F", "$P1B": "32", "$P2B": "32", "$P1R": "262144", "$P2R": "262144"}
FLOATS |= {"$P1N": "FL1", "$P2N": "Time", "$P1E": "0,0", "$P2E": "0,0", "$TIMESTEP": "0.01"}
write("f.fcs", [[1.5, 2], [3, 4]], "<f4", FLOATS)
holds = True
for path, expected in (
    ("i.fcs", [[1, 256], [100, 50], [9910.46, 1]]),
    ("f.fcs", [[1.5, 0.02], [3, 0.04]]),
):
    by_fcsparser = fcsparser.parse(path)[1].to_numpy()
    data = flowio.FlowData(path)
    print(path, "fcsparser", by_fcsparser.tolist(), "FlowIO", data.as_array().round(2).tolist())
    holds &= np.allclose(data.as_array(), expected, atol=0.01)
    holds &= np.array_equal(by_fcsparser, data.as_array(preprocess=False))
    holds &= not np.allclose(by_fcsparser, expected)
assert holds, "the finding no longer holds"
PYTHON

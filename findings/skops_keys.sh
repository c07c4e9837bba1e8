#!/usr/bin/env bash
# Guess: skops.io.load returns the dictionaries and arrays that skops.io.dump was given.
# Seen, skops 0.16.0: the key False becomes True, because keys are restored as bool("false"), so that
# {False: 1, True: 2} becomes {True: 2}. An array of objects of shape (2, 1) that holds tuples of two
# becomes one of shape (2, 1, 2), because it is restored from nested lists.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q skops==0.16.0 || exit 2
"$work/venv/bin/python" - <<'PYTHON'
import numpy as np
import skops
from skops.io import dumps, loads

print("skops", skops.__version__)
keys = {False: 1, True: 2}
array = np.empty((2, 1), dtype=object)
array[:, 0] = [(1, 2), (3, 4)]
found, restored = loads(dumps(keys)), loads(dumps(array))
print(keys, "becomes", found)
print(array.shape, "becomes", restored.shape)
assert found == {True: 2} and restored.shape == (2, 1, 2), "the finding no longer holds"
PYTHON

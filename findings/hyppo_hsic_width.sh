#!/usr/bin/env bash
# Guess: hyppo's Hsic is symmetric in its two samples, and does not depend on their units, because its Gaussian
# kernels have the median distance of each sample as their width.
# Seen, hyppo 0.5.2: both kernels have the width of the first sample. Hsic of (x, 100 y) is .07 where that of (x, y)
# is .62, and that of (100 y, x) is .56. Standardize both samples first. The statistic is also divided by those
# of each sample with itself, so that it is a centered kernel alignment, not HSIC.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q hyppo==0.5.2 || exit 2
"$work/venv/bin/python" -W ignore - <<'PYTHON'
from importlib.metadata import version

import numpy as np
from hyppo.independence import Hsic
from hyppo.tools import compute_kern
from scipy.spatial.distance import pdist

print("hyppo", version("hyppo"))
rng = np.random.default_rng(0)
x = rng.normal(size=(60, 1))
y = x + 0.5 * rng.normal(size=(60, 1))
found = [Hsic().statistic(*pair) for pair in ((x, y), (x, 100 * y), (100 * y, x), (x, x))]
print("(x, y), (x, 100 y), (100 y, x), (x, x):", found)
_, L = compute_kern(x, 2.0 * y)
squared = float(4.0 * (y[0] - y[1])[0] ** 2)
by_width = {name: np.exp(-squared / 2.0 / np.median(pdist(s)) ** 2) for name, s in (("x", x), ("y", 2.0 * y))}
print("the kernel of y", L[0, 1], "with the width of", by_width)
assert np.isclose(L[0, 1], by_width["x"]) and not np.isclose(L[0, 1], by_width["y"]), "no longer holds"
assert found[1] < 0.2 < 0.5 < found[2] and np.isclose(found[3], 1.0), "no longer holds"
PYTHON

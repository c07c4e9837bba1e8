#!/usr/bin/env bash
# Guess: HSIC lasso selects the same features if a constant is added to a column, because Gaussian kernels depend on
# differences only.
# Seen, pyHSICLasso 1.4.2: columns are divided by their deviation, not centered, and distances are computed in single
# precision from squared values. Two of ten features determine the target; with 10,000 deviations added to the two, as
# in times in seconds, a feature of noise comes first, and with 100,000 neither has any weight. Center columns first.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pyhsiclasso==1.4.2 numpy==2.4.6 scipy==1.17.1 || exit 2
"$work/venv/bin/python" -W ignore - <<'PYTHON'
import contextlib
import io
from importlib.metadata import version

import numpy as np
from pyHSICLasso import HSICLasso

print("pyHSICLasso", version("pyHSICLasso"), "numpy", np.__version__)
rng = np.random.RandomState(0)
X = rng.normal(size=(200, 10))
y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=200)
found = {}
for offset in (0.0, 100.0, 3_000.0, 10_000.0, 100_000.0):
    moved = X.copy()
    moved[:, :2] += offset
    model = HSICLasso()
    with contextlib.redirect_stdout(io.StringIO()):
        model.input(moved, y)
        model.regression(2, B=0, n_jobs=1)
    weights = dict(zip(model.get_index(), model.get_index_score()))
    found[offset] = [float(weights.get(feature, 0.0)) for feature in (0, 1)]
    print(f"offset {offset:,.0f}: selected {[*weights]}, weights of the two {found[offset]}")
assert min(found[0.0]) > 0.15 and np.allclose(found[0.0], found[100.0], rtol=1e-2), "no longer holds"
assert max(found[10_000.0]) < 0.1 * min(found[0.0]), "the finding no longer holds"
assert max(found[100_000.0]) == 0.0, "the finding no longer holds"
PYTHON

#!/usr/bin/env bash
# Guess: scikit-learn's ExpSineSquared is positive semi-definite for tables of several columns, as a kernel of
# a Gaussian process must be.
# Seen, scikit-learn 1.9.1: only in one column. It takes the sine of the Euclidean distance of all columns; in
# two columns, the Gram matrix of 200 random rows has an eigenvalue of -12 (the largest is 91), and a
# Gaussian process on it with noise .1 is refused as not positive definite. A product of one such kernel a
# column is a kernel.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q scikit-learn==1.9.1 || exit 2
"$work/venv/bin/python" - <<'PYTHON'
import numpy as np
import sklearn
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ExpSineSquared

print("scikit-learn", sklearn.__version__)
kernel = ExpSineSquared(1.0, 1.0)
for n_columns in (1, 2, 3):
    X = 3.0 * np.random.default_rng(0).uniform(size=(200, n_columns))
    values = np.linalg.eigvalsh(kernel(X))
    print(n_columns, "columns: eigenvalues", values[0], "to", values[-1])
    assert (values[0] < -5.0) == (n_columns > 1), "no longer holds"
try:
    GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None).fit(X, X[:, 0])
except np.linalg.LinAlgError as error:
    print("refused:", str(error)[:80])
else:
    raise AssertionError("no longer holds")
PYTHON

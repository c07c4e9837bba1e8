#!/usr/bin/env bash
# Guess: a row whose sample_weight is zero is as good as absent, so that a support vector machine
# predicts the same from kernel="rbf", from the same kernel as a precomputed matrix, and from the
# same kernel as a function.
# Seen, scikit-learn 1.9.1: with kernel="rbf" it is so. With a matrix or a function, SVC's accuracy
# falls from .873 to .293 (chance is .5), and NuSVC, SVR, NuSVR and OneClassSVM predict wrongly, too.
# `support_` counts the rows of positive weight alone, and predictions read it as if it counted all
# rows. Weights of 1e-12 in place of zero avoid it; so does leaving the rows out.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1 || exit 2
"$work/venv/bin/python" - <<'PYTHON'
import numpy as np
import sklearn
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

print("scikit-learn", sklearn.__version__, "numpy", np.__version__)
rng = np.random.default_rng(0)
X, new = rng.normal(size=(200, 4)), rng.normal(size=(300, 4))
response = np.sin(2 * X[:, 0]) + X[:, 1]
label = (response > 0).astype(int)
truth = (np.sin(2 * new[:, 0]) + new[:, 1] > 0).astype(int)
zero = np.ones(200)
zero[::4] = 0.0
kept = np.flatnonzero(zero)
tiny = np.where(zero == 0.0, 1e-12, 1.0)


def gaussian(a, b):
    return rbf_kernel(a, b, gamma=0.3)


def scores(model, target, kernel, weight, rows=slice(None)):
    precomputed = kernel == "precomputed"
    table = gaussian(X[rows], X[rows]) if precomputed else X[rows]
    model.set_params(kernel=kernel).fit(table, target[rows], sample_weight=weight[rows])
    asked = gaussian(new, X[rows]) if precomputed else new
    return getattr(model, "decision_function", model.predict)(asked)


cases = [
    (SVC(gamma=0.3), label),
    (NuSVC(nu=0.2, gamma=0.3), label),
    (SVR(gamma=0.3), response),
    (NuSVR(gamma=0.3), response),
    (OneClassSVM(nu=0.2, gamma=0.3), label),
]
print("largest difference from the fit without the rows of weight zero")
holds = True
for model, target in cases:
    absent = scores(model, target, "rbf", zero, kept)
    for kernel in ("rbf", "precomputed", gaussian):
        found = scores(model, target, kernel, zero)
        off, off_tiny = (
            float(np.abs(other - absent).max())
            for other in (found, scores(model, target, kernel, tiny))
        )
        line = f"{type(model).__name__:12} {getattr(kernel, '__name__', kernel):12}"
        line += f" weight 0: {off:.2e}   1e-12: {off_tiny:.2e}"
        if "SVC" in line:
            right = [float(np.mean((part > 0) == truth)) for part in (absent, found)]
            line += f"   accuracy {right[1]:.3f}, without the rows {right[0]:.3f}"
        print(line)
        holds &= off < 1e-9 if kernel == "rbf" else off > 1.0
        holds &= off_tiny < 0.02
assert holds, "the finding no longer holds"
PYTHON

#!/usr/bin/env bash
# Guess: two MKLpy models are independent: fitting the second does not change the first one's predictions.
# Seen, MKLpy 0.6: the learner is a default argument, one object for all models of a class in a process. After a second
# `EasyMKL().fit` to other labels, the first model predicts with the machine of the second: .95 of 369 held-out rows
# right before, .21 after. The same holds for AverageMKL and CKA. Pass a new learner to each model.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --retries 1 --extra-index-url https://download.pytorch.org/whl/cpu \
  mklpy==0.6 torch==2.14.1 scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1 || exit 2
"$work/venv/bin/python" -W ignore - <<'PYTHON'
from importlib.metadata import version

import numpy as np
from MKLpy.algorithms import CKA, AverageMKL, EasyMKL
from MKLpy.metrics.pairwise import rbf_kernel
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC

print("MKLpy", version("mklpy"), "torch", version("torch"), "scikit-learn", version("scikit-learn"))
X, y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
known, new, labels = X[:200], X[200:], y[200:]
others = (known[:, 1] > 0).astype(int)
train = [rbf_kernel(known, gamma=gamma) for gamma in (0.01, 0.1)]
test = [rbf_kernel(new, known, gamma=gamma) for gamma in (0.01, 0.1)]


def rights(kind, learners=({}, {})):
    """Return the shares of right labels of a model before and after another model is fitted."""
    model = kind(**learners[0]).fit(train, y[:200])
    before = np.mean(np.asarray(model.predict(test)) == labels)
    kind(**learners[1]).fit(train, others)
    return before, np.mean(np.asarray(model.predict(test)) == labels)


for kind in (AverageMKL, EasyMKL, CKA):
    before, after = rights(kind)
    print(f"{kind.__name__}: {before:.3f} before, {after:.3f} after another model is fitted")
    assert before > 0.9 and after < 0.5, "the finding no longer holds"
before, after = rights(EasyMKL, [{"learner": SVC(C=1000.0)} for _ in range(2)])
print(f"EasyMKL with a learner of its own: {before:.3f} before, {after:.3f} after")
assert before == after > 0.9, "the finding no longer holds"
PYTHON

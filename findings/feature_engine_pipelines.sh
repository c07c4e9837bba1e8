#!/usr/bin/env bash
# Guess: the selectors of feature-engine take a pipeline of scikit-learn as they take any other regressor,
# where no weights are given.
# Seen, feature-engine 1.9.4, scikit-learn 1.9.1: SelectByShuffling passes sample_weight=None on, which
# Pipeline.fit refuses, so that all fits fail. RecursiveFeatureElimination takes the same pipeline, and
# SelectByShuffling takes its last step alone.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q feature-engine==1.9.4 scikit-learn==1.9.1 pandas==3.1.1 numpy==2.4.6 || exit 2
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

from feature_engine.selection import RecursiveFeatureElimination, SelectByShuffling
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

print("feature-engine", version("feature-engine"), "scikit-learn", version("scikit-learn"))
X, y = load_diabetes(return_X_y=True, as_frame=True)
pipeline = make_pipeline(StandardScaler(), RidgeCV())
for selector in (SelectByShuffling, RecursiveFeatureElimination):
    for model in (RidgeCV(), pipeline):
        found = "fitted"
        try:
            selector(model, scoring="r2", cv=3).fit(X, y)
        except (TypeError, ValueError) as error:
            found = next(line for line in str(error).splitlines()[::-1] if "sample_weight" in line)
        print(f"{selector.__name__}, {type(model).__name__}: {found}")
        fails = selector is SelectByShuffling and model is pipeline
        assert (found != "fitted") == fails, "the finding no longer holds"
PYTHON

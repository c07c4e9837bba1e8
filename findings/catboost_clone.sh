#!/usr/bin/env bash
# Guess: a CatBoost estimator with named columns of categories, monotone constraints or weights of classes can
# be used wherever scikit-learn copies estimators: in a grid search, in a stack, in cross-validation.
# Seen, catboost 1.2.10 with scikit-learn 1.9.1: `clone` refuses every list ("the constructor either does not set
# or modifies parameter cat_features"), also an empty one, and with it GridSearchCV and StackingClassifier. A
# tuple of the same values is accepted, and gives the same model. Dictionaries are refused like lists.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q catboost==1.2.10 scikit-learn==1.9.1 pandas==2.3.3 numpy==2.4.6 || exit 2
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

import pandas as pd
from catboost import CatBoostClassifier
from sklearn.base import clone
from sklearn.ensemble import StackingClassifier
from sklearn.model_selection import GridSearchCV

print("catboost", version("catboost"), "scikit-learn", version("scikit-learn"))
QUIET = {"iterations": 5, "verbose": 0, "allow_writing_files": False}
X, y = pd.DataFrame({"kind": list("xxyz") * 10, "size": range(40)}), [0, 0, 1, 1] * 10


def refused(call):
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return None


VALUES = [
    ("cat_features", ["kind"]),
    ("monotone_constraints", [0, 1]),
    ("class_weights", [1.0, 2.0]),
    ("class_weights", {0: 1.0, 1: 2.0}),
    ("custom_metric", ["AUC"]),
    ("text_features", []),
]
for name, value in VALUES:
    told = refused(lambda: clone(CatBoostClassifier(**{name: value}, **QUIET)))
    print(name, value, "refused:", (told or "no")[-80:])
    assert told and "either does not set or modifies parameter" in told, "the finding no longer holds"
listed = CatBoostClassifier(cat_features=["kind"], **QUIET)
tupled = CatBoostClassifier(cat_features=("kind",), **QUIET)
for wrap in (lambda m: GridSearchCV(m, {"depth": [2]}, cv=2), lambda m: StackingClassifier([("c", m)], cv=2)):
    assert refused(lambda: wrap(listed).fit(X, y)), "the finding no longer holds"
    assert refused(lambda: wrap(tupled).fit(X, y)) is None, "the finding no longer holds"
one, other = (m.fit(X, y).predict_proba(X) for m in (listed, clone(tupled)))
assert (one == other).all(), "the finding no longer holds"
print("the same probabilities from a list and from a tuple:", one[:2, 1])
PYTHON

#!/usr/bin/env bash
# Guess: skops.io.dumps takes as long for a vectorizer of text in nested pipelines as for the
# vectorizer alone, because what the pipelines add is small.
# Seen, skops 0.16.0, Python 3.11: with 200,000 words, ten pipelines around the vectorizer make it
# take 9 times as long (59 s for 7), and 40 times as long as describing the same objects without
# writing them (1.5 s). The description is written with indent=2, for which the json module of Python has no
# compiled code: every piece of text passes through a generator for each level of nesting.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q skops==0.16.0 scikit-learn==1.8.0 || exit 2
"$work/venv/bin/python" - <<'PYTHON'
import io
import time
import zipfile

import skops
from skops.io import dumps
from skops.io._utils import SaveContext, get_state
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

print("skops", skops.__version__)
vectorizer = CountVectorizer().fit([" ".join(f"word{number}" for number in range(200_000))])
nested = vectorizer
for _ in range(10):
    nested = make_pipeline(nested)


def described(model):
    with zipfile.ZipFile(io.BytesIO(), "w") as archive:
        get_state(model, SaveContext(archive))


def seconds(function, model):
    start = time.process_time()
    function(model)
    return time.process_time() - start


alone, inside, without = seconds(dumps, vectorizer), seconds(dumps, nested), seconds(described, nested)
print(f"alone {alone:.1f} s; in ten pipelines {inside:.1f} s; not written {without:.1f} s")
assert inside > 3 * alone and inside > 8 * without, "the finding no longer holds"
PYTHON

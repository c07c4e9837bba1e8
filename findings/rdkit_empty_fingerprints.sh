#!/usr/bin/env bash
# Guess: the Tanimoto similarity of a fingerprint with itself is 1, which makes it a kernel of unit diagonal.
# Seen, RDKit 2026.09.1: two fingerprints without any bit, or the same one twice, have the similarity 0, by
# Tanimoto, Dice, Cosine and others, for bits and for counts. A kernel matrix has a zero on its diagonal, a
# molecule without features is as far from itself as from all others, and scaling to unit diagonal divides by
# zero. scipy's and scikit-learn's Jaccard distance of two empty rows is 0, a similarity of 1.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q rdkit==2026.9.1 scipy==1.17.1 || exit 2
"$work/venv/bin/python" - <<'PYTHON'
import numpy as np
import rdkit
from rdkit import DataStructs
from rdkit.DataStructs import ExplicitBitVect, UIntSparseIntVect
from scipy.spatial.distance import jaccard

print("rdkit", rdkit.__version__)
empty, counts = ExplicitBitVect(64), UIntSparseIntVect(64)
for name in ("Tanimoto", "Dice", "Cosine", "BraunBlanquet"):
    found = getattr(DataStructs, f"{name}Similarity")(empty, empty)
    print(name, found)
    assert found == 0.0, "no longer holds"
assert DataStructs.TanimotoSimilarity(counts, counts) == 0.0, "no longer holds"
other = 1.0 - jaccard(np.zeros(64, bool), np.zeros(64, bool))
print("scipy", other)
assert other == 1.0, "no longer holds"
PYTHON

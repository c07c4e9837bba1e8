#!/usr/bin/env bash
# Guess: scikit-learn's estimators call a kernel that is given as a function in one way, with two
# tables, as SVC does; so a function of sklearn.metrics.pairwise suits all of them.
# Seen, scikit-learn 1.9.1: SVC and LabelPropagation call the function once, with two tables.
# KernelRidge, KernelPCA, Nystroem and SpectralClustering call it for each pair of rows (210 times
# for 20 rows) with rows of shape (d,), and with rows of shape (1, d) of the table's type if the
# table is sparse. All four refuse rbf_kernel itself ("Expected 2D array, got 1D array instead").
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1 || exit 2
"$work/venv/bin/python" - <<'PYTHON'
import numpy as np
import scipy.sparse
import sklearn
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import KernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.semi_supervised import LabelPropagation
from sklearn.svm import SVC

print("scikit-learn", sklearn.__version__, "scipy", scipy.__version__, "numpy", np.__version__)
table = np.random.default_rng(0).normal(size=(20, 3))
label = (table[:, 0] > 0).astype(int)
PAIRS = {
    "KernelRidge": (lambda kernel: KernelRidge(kernel=kernel), 210),
    "KernelPCA": (lambda kernel: KernelPCA(kernel=kernel), 210),
    "Nystroem": (lambda kernel: Nystroem(kernel, n_components=5), 15),
    "SpectralClustering": (lambda kernel: SpectralClustering(2, affinity=kernel), 210),
}
TABLES = {
    "SVC": (lambda kernel: SVC(kernel=kernel), 1),
    "LabelPropagation": (lambda kernel: LabelPropagation(kernel=kernel), 1),
}


def seen_shapes(make, given):
    """How often a kernel is called, and with what, where it accepts rows and tables."""
    seen = []

    def kernel(a, b):
        seen.append((type(a).__name__, a.shape))
        a, b = (part.toarray() if scipy.sparse.issparse(part) else part for part in (a, b))
        values = rbf_kernel(np.atleast_2d(a), np.atleast_2d(b), gamma=0.1)
        return values[0, 0] if values.size == 1 else values

    make(kernel).fit(given, label)
    return len(seen), sorted(set(seen))


def fits_with_rbf_kernel(make):
    try:
        make(rbf_kernel).fit(table, label)
    except ValueError as error:
        print("   with rbf_kernel:", str(error).split(":")[0])
        return False
    return True


holds = True
sparse = scipy.sparse.csr_array(table)
for name, (make, n_calls) in (PAIRS | TABLES).items():
    dense_calls, sparse_calls = seen_shapes(make, table), seen_shapes(make, sparse)
    print(f"{name}: {dense_calls}, sparse {sparse_calls}")
    row, sparse_row = ((3,), (1, 3)) if name in PAIRS else ((20, 3), (20, 3))
    holds &= dense_calls == (n_calls, [("ndarray", row)])
    holds &= sparse_calls == (n_calls, [("csr_array", sparse_row)])
    holds &= fits_with_rbf_kernel(make) == (name in TABLES)
assert holds, "the finding no longer holds"
PYTHON

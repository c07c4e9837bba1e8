"""The section on tables of many rows of the page on which method to choose."""

from __future__ import annotations

from experiments.reporting.section import table

_PATHS = (
    (
        "up to 3,000",
        "all pairs of rows",
        "O(n^3)",
        "about four n x n matrices: 72 MB each at 3,000",
    ),
    (
        "3,001 to 50,000",
        "1,500 Nyström features",
        "O(n m^2)",
        "some m x m matrices of 18 MB, and blocks of rows",
    ),
    (
        "more",
        "1,000 Nyström features",
        "O(n m^2)",
        "some m x m matrices of 8 MB, and blocks of rows",
    ),
)
"""Rows, what the predictor is fitted to, time, and memory beyond the table."""


def many_rows() -> str:
    """Return from which number of rows on which path is taken, and what it costs."""
    header = ["rows n", "the predictor is fitted to", "time", "memory beyond the table"]
    return f"""What `TwoStage*` and `KernelStacking*` do by default (`approximation="auto"`):

{table(header, [list(row) for row in _PATHS], text=True)}
On Nyström features, kernels are learned from a sample: two-stage estimators take at most
`max_samples=3000` rows, and stacking compares candidates on at most `max_samples=1000` and learns
them from twice as many others. One more pass over the table, block by block, fits ridge regression
for all penalties. Two-stage classification then is calibrated ridge regression and not a support
vector machine, and has probabilities. Up to some 100,000 rows most of the time goes into the
kernel; beyond, it grows in proportion to the rows.

* *Other numbers of features* (`n_components`): more where the error still falls with them. Beyond
  5,000, conjugate gradients take the place of an m x m eigendecomposition.
* *All pairs of rows* (`approximation="exact"`): where memory allows four n x n matrices, 800 MB
  each at 10,000 rows, and O(n^3) is worth waiting for. Above 2,000 rows, ridge regression chooses
  alpha by Cholesky factorizations of a few values.
* *A table beyond memory*: `fit(ParquetSource(path, target="..."))`, or memory-mapped arrays.
* *Several machines*: Dask arrays or data frames; `predict` returns a lazy collection.

One-stage methods need four or five n x n matrices, clustering two, and `BayesianMKL*` eleven, or
more for several classes or outputs. They say so before any work if memory does not suffice. Kernel
learners need none. `benchmarks/large.py` and `benchmarks/large_tables.py` measure errors, time and
memory."""

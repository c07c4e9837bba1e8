"""Stacks of large tables with sums of kernels in place of several members, and without.

    MERCER_DATA=/path/to/sets python benchmarks/kernel_sums.py [TABLE ...] [--rows 10000]

For each table and split, a line for the stack that never adds kernels, and one for the stack that
adds those on the same view where left-out errors hardly rise: how many kernels are fitted to all
rows, the error on other rows (root mean squared error in deviations of the response, or percentage
misclassified), the log-loss of classes, and processor seconds of the fit, in one thread. Sums are
tried for classes as well, where stacks leave them out.
"""

from __future__ import annotations

import argparse
import warnings
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np
from common import print_table
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from experiments.tabular.table_files import TableSplit, table_split
from mercer import KernelStackingClassifier, KernelStackingRegressor
from mercer._stacking.drawn_views import DrawnViews
from mercer.preprocessing import table_encoder

TABLES = ("pol", "calhousing", "kin40k", "adult")


def measured(split: TableSplit, adds_kernels: bool) -> list[str]:
    """Number of kernels that are fitted, error, log-loss, and seconds of a stack."""
    classes = split.task == "classification"
    kind = KernelStackingClassifier if classes else KernelStackingRegressor
    model = make_pipeline(table_encoder(), kind(random_state=0))
    fitted: list[int] = []
    whole = DrawnViews.fitted

    def counted(self: DrawnViews, kept: Any, rows: Any) -> Any:
        fitted.append(sum(not e.candidate.memorizes_labels for e in kept))
        return whole(self, kept, rows)

    start = process_time()
    with (
        patch.object(DrawnViews, "adds_kernels", adds_kernels),
        patch.object(DrawnViews, "fitted", counted),
    ):
        model.fit(split.X_train, split.y_train)
    seconds = process_time() - start
    found = model.predict(split.X_test)
    if not classes:
        error = float(np.sqrt(np.mean((found - split.y_test) ** 2)) / split.scale)
        return [str(fitted[0]), f"{error:.4f}", "", f"{seconds:.1f}"]
    loss = log_loss(split.y_test, model.predict_proba(split.X_test))
    wrong = 100.0 * float(np.mean(found.astype(split.y_test.dtype) != split.y_test))
    return [str(fitted[0]), f"{wrong:.2f} %", f"{loss:.4f}", f"{seconds:.1f}"]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=TABLES)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--splits", type=int, default=1)
    given = parser.parse_args()
    rows = []
    for name in given.tables:
        for seed in range(given.splits):
            split = table_split(name, given.rows, seed)
            for label, adds_kernels in (("never", False), ("where they err no more", True)):
                with warnings.catch_warnings(), threadpool_limits(1):
                    warnings.simplefilter("ignore")
                    rows.append([f"{name}, split {seed}", label, *measured(split, adds_kernels)])
    header = ["table", "sums", "kernels fitted", "error", "log-loss", "fit, s"]
    print_table(f"{given.rows:,} rows", header, rows)


if __name__ == "__main__":
    main()

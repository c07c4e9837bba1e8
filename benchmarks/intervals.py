"""Intervals of stacks around all predictions without one sample, and around that by all samples.

    MERCER_DATA=/path/to/sets python benchmarks/intervals.py --rows 500

For tables of MERCER_DATA, intervals of coverage 0.9 of new rows, without a scale of residuals: by
the jackknife+, which leaves out each training sample, and by the quantile of the same residuals
around the prediction by all samples. A line gives the shares of new rows that are covered, the
ratio of the mean widths, and the processor times relative to that of the prediction.
`mercer._stacking.stack_intervals` takes the second from 500 samples on.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from common import command_line, print_table
from threadpoolctl import threadpool_limits

from experiments.tabular.table_files import load_table
from mercer import KernelStackingRegressor
from mercer._stacking import kernel_stacking_regressor as stacks
from mercer.preprocessing import table_encoder

TABLES = ("airfoil", "cpu_small", "kin40k", "pol", "puma32H", "skillcraft", "calhousing")
N_NEW = 1000


def seconds(function: Any, *args: Any, **kwargs: Any) -> tuple[Any, float]:
    """Return what a function returns, and its processor time."""
    start = time.process_time()
    return function(*args, **kwargs), time.process_time() - start


def compared(name: str, n_rows: int) -> list[str]:
    """Return the line of a table."""
    table = load_table(name)
    X, y = table.frame, np.asarray(table.target, dtype=float)
    rows = np.random.default_rng(0).permutation(len(y))[: n_rows + N_NEW]
    train, new = rows[:n_rows], rows[n_rows:]
    encoder = table_encoder().fit(X.iloc[train], y[train])
    encoded, encoded_new = (encoder.transform(X.iloc[part]) for part in (train, new))
    model = KernelStackingRegressor().fit(encoded, y[train])
    _, predicting = seconds(model.predict, encoded_new)
    covered, widths, times = [], [], []
    for most in (n_rows, 0):
        stacks.JACKKNIFE_SAMPLES = most  # type: ignore[attr-defined]
        (low, high), spent = seconds(lambda: model.predict_interval(encoded_new, scale=None).T)
        covered.append(float(np.mean((low <= y[new]) & (y[new] <= high))))
        widths.append(float(np.mean(high - low)))
        times.append(spent / predicting)
    ratio = widths[1] / widths[0]
    return [name, *(f"{c:.3f}" for c in covered), f"{ratio:.3f}", *(f"{t:.1f}" for t in times)]


def main() -> None:
    """Compare on the tables that the command line names."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--rows", type=int, default=500)

    names, options = command_line(__doc__ or "", TABLES, add_options)
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        lines = [compared(name, options.rows) for name in names]
    header = ["table", "jackknife+", "whole fit", "width ratio", "time of first", "of second"]
    print_table(f"{options.rows} rows", header, lines)


if __name__ == "__main__":
    main()

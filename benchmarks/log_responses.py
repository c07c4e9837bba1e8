"""Stacks with a scorer, which choose between positive responses and their logarithms.

    MERCER_DATA=/path/to/sets python benchmarks/log_responses.py --rows 400 1000

Prints, for each table whose responses are positive, geometric means over splits of what the stack
with a scorer has in units of the stack without: mean absolute error, root mean squared error,
interval score of 90 % intervals, and processor time of the fit; also on how many of the splits it
is fitted to logarithms, and how many new responses lie in its intervals.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence

import numpy as np
from common import print_table
from numpy.typing import NDArray
from sklearn.metrics import mean_absolute_error, root_mean_squared_error
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from experiments.tabular.table_files import load_table
from mercer import KernelStackingRegressor
from mercer.preprocessing import table_encoder

TABLES = ("housing", "calhousing", "abalone")
SCORERS = ("neg_mean_absolute_error", "r2")
COVERAGE = 0.9
MOST_TEST_ROWS = 3000


def measures(split: Sequence[NDArray[np.float64]], scoring: str | None) -> list[float]:
    """Errors, interval score, seconds, whether logarithms are fitted, and coverage."""
    X, X_new, y, y_new = split
    start = time.process_time()
    model = KernelStackingRegressor(scoring=scoring).fit(X, y)
    seconds, predicted = time.process_time() - start, model.predict(X_new)
    low, high = model.predict_interval(X_new, COVERAGE).T
    outside = np.maximum(low - y_new, 0.0) + np.maximum(y_new - high, 0.0)
    score = np.mean(high - low + 2.0 / (1.0 - COVERAGE) * outside)
    errors = mean_absolute_error(y_new, predicted), root_mean_squared_error(y_new, predicted)
    inside = np.mean((low <= y_new) & (y_new <= high))
    return [*errors, float(score), seconds, float(model.log_response_), float(inside)]


def compared(name: str, n_rows: int, n_splits: int) -> list[list[str]]:
    """Lines of the table that is printed, for one table of the collection."""
    table, found = load_table(name), []
    if len(table.target) < n_rows + 100:
        return []
    n_test = min(len(table.target) - n_rows, MOST_TEST_ROWS)
    for seed in range(n_splits):
        X, X_new, y, y_new = train_test_split(
            table.frame, table.target, train_size=n_rows, test_size=n_test, random_state=seed
        )
        encoder = table_encoder().fit(X)
        split = encoder.transform(X), encoder.transform(X_new), y, y_new
        found.append([measures(split, scoring) for scoring in (None, *SCORERS)])
    values, lines = np.array(found), []
    for k, scoring in enumerate(SCORERS, start=1):
        ratios = np.exp(np.log(values[:, k, :4] / values[:, 0, :4]).mean(axis=0))
        logged, inside = values[:, k, 4].sum(), values[:, k, 5].mean()
        counted = f"{logged:.0f} of {n_splits}"
        shown = [f"{ratio:.3f}" for ratio in ratios]
        lines.append([name, f"{n_rows:,}", scoring, *shown, counted, f"{inside:.1%}"])
    return lines


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="+", type=int, default=[400, 1000])
    parser.add_argument("--splits", type=int, default=3)
    given = parser.parse_args()
    header = ["table", "rows", "scoring", "MAE", "RMSE", "interval score", "fit", "logarithms"]
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        lines = [
            row
            for n_rows in given.rows
            for name in TABLES
            for row in compared(name, n_rows, given.splits)
        ]
    title = "With a scorer, in units of the stack without one"
    print_table(title, [*header, "inside"], lines)


if __name__ == "__main__":
    main()

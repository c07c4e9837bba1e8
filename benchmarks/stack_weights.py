"""Weights of a stack by absolute and pinball losses, beside those by the squared error.

    MERCER_DATA=/path/to/sets python benchmarks/stack_weights.py [--rows 300] [--splits 4]

Stacks of the default candidates are fitted to random rows of public tables. Their candidates are
combined by left-out predictions in three ways: with weights of least squares, as in the stack; with
these and the constant of least loss; and with weights and a constant that minimize the loss
together, a linear program. Weights are between zero and one. Printed are the losses on up to 2,000
new rows relative to that of least squares: geometric means over splits, and over tables, with the
standard error of its logarithm over tables in brackets. It takes about a minute.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from common import THREADS, print_table
from scipy.optimize import linprog
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from experiments.tabular.table_files import load_table
from mercer import KernelStackingRegressor
from mercer._stacking import stack_left_out
from mercer._stacking.combination import LinearCombination
from mercer._stacking.evaluation import Selection
from mercer._typing import Array
from mercer.preprocessing import table_encoder

TABLES = ("abalone", "airfoil", "calhousing", "concrete", "cpu_small", "housing", "skillcraft")
LEVELS = (0.5, 0.1, 0.9)
"""Levels of the pinball loss; at one half it is half the absolute error."""
MOST_TEST_ROWS = 2000


class AllCandidates(KernelStackingRegressor):
    """A stack that keeps all of its candidates, whatever their weights."""

    def _choose(self, found: list[Any], table: Any) -> Selection:
        self.left_out = [e.deviations for e in found], table.target.values - table.target.mean
        self.least_squares = self._combined(self.left_out[0], table.target).weights
        return Selection(found, found, LinearCombination(np.ones(len(found))), table.weights)


def least_pinball(columns: Array, residuals: Array, level: float) -> tuple[Array, float]:
    """Weights between zero and one, and the constant, of the least pinball loss."""
    n, k = columns.shape
    excess = np.eye(n)
    costs = np.concatenate([np.zeros(k + 1), np.full(n, level), np.full(n, 1.0 - level)])
    equal = np.hstack([columns, np.ones((n, 1)), excess, -excess])
    bounds = [(0.0, 1.0)] * k + [(None, None)] + [(0.0, None)] * (2 * n)
    found = linprog(costs, A_eq=equal, b_eq=residuals, bounds=bounds, method="highs")
    return found.x[:k], float(found.x[k])


def losses_of(name: str, n_rows: int, seed: int) -> Array:
    """Losses on new rows, shape (n_levels, 3)."""
    table = load_table(name)
    rest = min(MOST_TEST_ROWS, len(table.frame) - n_rows)
    split = train_test_split(
        table.frame, table.target, train_size=n_rows, test_size=rest, random_state=seed
    )
    frame, new_frame, y, y_new = split
    encoder = table_encoder().fit(frame)
    X, X_new = (np.asarray(encoder.transform(part)) for part in (frame, new_frame))
    model = AllCandidates().fit(X, y)
    deviations, residuals = model.left_out[0], model.left_out[1].ravel()
    columns, views = np.hstack(deviations), model._views_of(X_new)
    new, closeness = (
        np.hstack(model._deviations(views)),
        model._fall_back.closeness(views).ravel(),
    )
    known = model._target.encode(y_new).ravel()
    found = np.zeros((len(LEVELS), 3))
    for i, level in enumerate(LEVELS):
        squares = model.least_squares
        shift = float(np.quantile(residuals - columns @ squares, level))
        ways = [(squares, 0.0), (squares, shift), least_pinball(columns, residuals, level)]
        for j, (weights, constant) in enumerate(ways):
            predicted = closeness * (new @ weights) + constant
            found[i, j] = mean_pinball_loss(known, predicted + model._target.mean[0], alpha=level)
    return found


def main() -> None:
    """Print the losses of each table, and their means."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--splits", type=int, default=4)
    arguments = parser.parse_args()
    # Scores of the stacks are not needed.
    stack_left_out.left_out_predictions = lambda target, means, *_: means
    ratios = []
    for name in TABLES:
        found = np.array([losses_of(name, arguments.rows, s) for s in range(arguments.splits)])
        ratios.append(np.log(found / found[:, :, :1]).mean(axis=0))
        print(name, np.exp(ratios[-1]).round(3).tolist(), flush=True)
    logs = np.array(ratios)
    mean, error = logs.mean(axis=0), logs.std(axis=0, ddof=1) / np.sqrt(len(TABLES))
    rows = [
        [str(level), *(f"{np.exp(m):.3f} ({e:.3f})" for m, e in zip(ms, es, strict=True))]
        for level, ms, es in zip(LEVELS, mean, error, strict=True)
    ]
    header = ["level", "least squares", "with the constant", "least loss"]
    print_table("Pinball loss on new rows, relative to least squares", header, rows)


if __name__ == "__main__":
    with threadpool_limits(THREADS):
        main()

"""Ridge regression on the leaves of trees beside the trees' own predictions, and its times.

    MERCER_DATA=/path/to/sets python benchmarks/leaf_kernels.py [NAME ...] [--rows 10000]

errors
    Test errors on tables of many rows: root mean squared error in standard deviations of the
    response, or percentage misclassified. `trees` are the ensemble's own predictions, `ridge` is
    ridge regression on indicators of its leaves, both with the same 100 trees, of at most 31 leaves
    where boosted and 128 where extremely randomized. The penalty is that of the lowest error on
    one half of the rows, by trees and a ridge regression of the other half.
sizes
    Errors of ridge regression on the leaves of forests, by the least number of rows in a leaf,
    relative to that of three: geometric means over three splits of eight tables, 400 rows each.
members
    Errors, as of `sizes`, of stacks with the kernel of extremely randomized trees among their
    candidates, relative to those without it: six tables with categories or missing values, five
    splits, 400 and 1,000 rows. A standard error is that of the mean over splits of the logarithm of
    the ratio.
libraries
    Processor time to grow 100 boosted trees of 31 leaves, and to find the leaves of the training
    rows: by the differences of staged predictions of scikit-learn, and by LightGBM where it is
    installed; and errors of ridge regression on both.

Tables are encoded by `table_encoder`. Times are processor seconds of one thread.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from common import Array, print_table, run_named
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from experiments.tabular.table_files import MIN_TEST, MIXED, TableSplit, table_split
from experiments.tabular.table_files import TABLES as TABLE_ROWS
from mercer import ForestKernel, KernelStackingClassifier, KernelStackingRegressor
from mercer._learners.forest_kernel import grow
from mercer.kernels import Forest
from mercer.preprocessing import table_encoder

TABLES = ("calhousing", "kin40k", "pol", "adult")
SMALL_TABLES = (*TABLES, "phoneme", "pageblocks", "cpu_small", "abalone")
MEMBER_ROWS = (400, 1000)
SIZES = (1, 3, 5, 10)
"""Least numbers of rows in a leaf."""

PENALTIES = 10.0 ** np.arange(-1.5, 2.25, 0.5)
"""Penalties of ridge regression on rows of unit length."""

Ensemble = dict[str, Any]
ENSEMBLES: dict[str, Ensemble] = {
    "boosted": {"ensemble": "boosting"},
    "extremely randomized": {"ensemble": "extra-trees", "max_leaf_nodes": 128},
}


class Problem:
    """A table as numbers, and its target as what is regressed: responses, or class indicators."""

    def __init__(self, name: str, n_rows: int, seed: int) -> None:
        split: TableSplit = table_split(name, n_rows, seed)
        self.classes = split.task == "classification"
        encoder = table_encoder().fit(split.X_train)
        self.X, self.X_new = (
            np.asarray(encoder.transform(part)) for part in (split.X_train, split.X_test)
        )
        scale = 1 if self.classes else split.y_train.std()
        self.y, self.y_new = split.y_train / scale, split.y_test / scale
        labels = np.unique(self.y)
        self.targets = np.equal.outer(self.y, labels) * 1.0 if self.classes else self.y[:, None]

    def error(self, predicted: Array) -> float:
        """The error of predicted indicators or responses on new rows."""
        if self.classes:
            return float(100.0 * np.mean(np.argmax(predicted, axis=1) != self.y_new))
        return float(np.sqrt(np.mean(np.square(predicted.ravel() - self.y_new))))

    def grown(self, rows: Any, settings: Ensemble) -> tuple[Forest, Any]:
        """The kernel of trees that are grown on some rows, and the features of these."""
        kernel, leaves = grow(self.X[rows], self.y[rows], classification=self.classes, **settings)
        return kernel, kernel.as_features(leaves)


def penalty(problem: Problem, grown: Callable[[Any], tuple[Any, Any]], apply: Any) -> float:
    """The penalty of the lowest squared error on halves whose labels no tree has seen."""
    losses = np.zeros(len(PENALTIES))
    for rest, part in KFold(2, shuffle=True, random_state=0).split(problem.X):
        model, features = grown(rest)
        unseen = apply(model, problem.X[part])
        for i, alpha in enumerate(PENALTIES):
            found = ridge(alpha).fit(features, problem.targets[rest]).predict(unseen)
            losses[i] += np.square(found.reshape(len(part), -1) - problem.targets[part]).sum()
    return float(PENALTIES[losses.argmin()])


def ridge(alpha: float) -> Ridge:
    """Return an unfitted ridge regression on sparse features."""
    return Ridge(alpha, solver="sparse_cg", tol=1e-4)


def compared(problem: Problem, settings: Ensemble) -> list[str]:
    """Errors of the trees and of ridge regression on their leaves, and times."""
    start = process_time()
    kernel, features = problem.grown(slice(None), settings)
    growth = process_time() - start
    trees = kernel.ensemble
    own = trees.predict_proba if problem.classes else trees.predict
    start = process_time()
    new = kernel.features(problem.X_new)
    reading = (process_time() - start) / new.shape[0] * 1e4
    chosen = penalty(problem, lambda rows: problem.grown(rows, settings), Forest.features)
    start = process_time()
    fitted = ridge(chosen).fit(features, problem.targets)
    fit = process_time() - start
    errors = [problem.error(own(problem.X_new)), problem.error(fitted.predict(new))]
    return [
        *(f"{e:.3f}" for e in errors),
        *(f"{chosen:.2g}", str(features.shape[1])),
        *(f"{s:.2f}" for s in (growth, reading, fit)),
    ]


def print_errors(options: argparse.Namespace) -> None:
    """Print a table for each kind of trees."""
    with threadpool_limits(1):
        for name, settings in ENSEMBLES.items():
            rows = [
                [table, *compared(Problem(table, options.rows, options.seed), settings)]
                for table in TABLES
            ]
            header = ["table", "trees", "ridge", "penalty", "leaves", "grow, s"]
            title = f"{name} trees, {options.rows} rows"
            print_table(title, [*header, "leaves of 10,000, s", "ridge, s"], rows)


def print_sizes(options: argparse.Namespace) -> None:
    """Print a row for each kind of forest."""
    problems = [Problem(name, 400, seed) for name in SMALL_TABLES for seed in range(3)]
    rows = []
    with threadpool_limits(1):
        for ensemble in ("forest", "extra-trees"):
            errors = np.array(
                [
                    [error_of(p, {"ensemble": ensemble, "min_samples_leaf": n}) for n in SIZES]
                    for p in problems
                ]
            )
            logs = np.log(errors / errors[:, [SIZES.index(3)]])
            rows.append([ensemble, *(f"{ratio:.3f}" for ratio in np.exp(logs.mean(axis=0)))])
    print_table("least rows of a leaf, 400 rows", ["trees", *map(str, SIZES)], rows)


def error_of(problem: Problem, settings: Ensemble) -> float:
    """The error of ridge regression on leaves, that of classes plus half a percent."""
    kernel, features = problem.grown(slice(None), settings)
    chosen = penalty(problem, lambda rows: problem.grown(rows, settings), Forest.features)
    predicted = ridge(chosen).fit(features, problem.targets).predict(kernel.features(problem.X_new))
    return problem.error(predicted) + 0.5 * problem.classes


def print_members(options: argparse.Namespace) -> None:
    """Print a row for each table and number of rows, and for all tables."""
    trees, lines = ForestKernel("extra-trees", max_leaf_nodes=None), []
    for n_rows in MEMBER_ROWS:
        logs = []
        for table in (name for name in MIXED if name_has_rows(name, n_rows)):
            problems = [Problem(table, n_rows, seed) for seed in range(5)]
            errors = np.array(
                [[stack_error(p, some) for some in (None, ["default", trees])] for p in problems]
            )
            ratios = np.log(errors[:, 1] / errors[:, 0])
            logs.append(ratios)
            lines.append([f"{table}, {n_rows}", *(f"{e:.3f}" for e in errors.mean(axis=0))])
            lines[-1] += [f"{np.exp(ratios.mean()):.3f}", f"{ratios.std(ddof=1) / 5**0.5:.3f}"]
            print(*lines[-1], flush=True)
        ratios = np.mean(logs, axis=0)
        overall = [f"{np.exp(ratios.mean()):.3f}", f"{ratios.std(ddof=1) / 5**0.5:.3f}"]
        lines.append([f"all, {n_rows}", "", "", *overall])
    print_table("stacks", ["table, rows", "without", "with trees", "ratio", "its error"], lines)


def name_has_rows(name: str, n_rows: int) -> bool:
    """Whether a table has some rows for training and for a test."""
    return TABLE_ROWS[name] >= n_rows + MIN_TEST


def stack_error(problem: Problem, candidates: list[Any] | None) -> float:
    """The error of a stack, that of classes plus half a percent."""
    kind = KernelStackingClassifier if problem.classes else KernelStackingRegressor
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(candidates).fit(problem.X, problem.y)
        if problem.classes:
            wrong = model.predict(problem.X_new) != problem.y_new
            return float(100.0 * wrong.mean()) + 0.5
        return problem.error(model.predict(problem.X_new))


def print_libraries(options: argparse.Namespace) -> None:
    """Print times and errors of both libraries."""
    rows = []
    with threadpool_limits(1):
        for table in TABLES:
            problem = Problem(table, options.rows, options.seed)
            for library, make in LIBRARIES.items():
                rows.append([table, library, *measured(problem, make)])
    print_table(f"{options.rows} rows", ["table", "library", "grow, s", "leaves, s", "ridge"], rows)


def measured(problem: Problem, make: Callable[[bool], Any]) -> list[str]:
    """Times of growth and of reading the leaves of all rows, and the error of ridge regression."""

    def grown(rows: Any) -> tuple[Forest, Any]:
        trees = make(problem.classes).fit(problem.X[rows], problem.y[rows])
        times.append(process_time())
        kernel, leaves = Forest(trees).read(problem.X[rows])
        times.append(process_time())
        return kernel, kernel.as_features(leaves)

    times = [process_time()]
    try:
        kernel, features = grown(slice(None))
    except ImportError:
        return ["not installed", "", ""]
    start, growth, reading = times
    chosen = penalty(problem, grown, Forest.features)
    fitted = ridge(chosen).fit(features, problem.targets)
    error = problem.error(fitted.predict(kernel.features(problem.X_new)))
    return [f"{growth - start:.2f}", f"{reading - growth:.2f}", f"{error:.3f}"]


def of_sklearn(classes: bool) -> Any:
    """Boosted trees of scikit-learn."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    made = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return made(early_stopping=False, random_state=0)


def of_lightgbm(classes: bool) -> Any:
    """Boosted trees of LightGBM."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMClassifier if classes else LGBMRegressor)(n_jobs=1, verbose=-1, random_state=0)


LIBRARIES = {"scikit-learn": of_sklearn, "LightGBM": of_lightgbm}


if __name__ == "__main__":
    run_named(
        __doc__,
        {
            "errors": print_errors,
            "sizes": print_sizes,
            "members": print_members,
            "libraries": print_libraries,
        },
        rows=(10_000, "training rows"),
        seed=(0, "of the split"),
    )

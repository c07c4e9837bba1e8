"""Times of the operations of a fit, and of whole fits, by the number of threads.

    python benchmarks/cores.py [operations] [fits] [--rows N] [--repeats R] [--output FILE]

The linear-algebra library, OpenMP and the threads of tiles are limited to 1, 2, 4, ... threads, up
to the cores of the machine. Each line has the shortest time in milliseconds for each number of
threads, and the largest ratio to the time on one thread, marked if it exceeds 1.1. Lines of fits
also have the number of tasks that all cores hand to Python threads, their mean length, the share of
tasks that take less than a millisecond, and the share of the cores' time in which they wait. The
script ends with status 1 if more threads make
anything slower. Records are written to benchmarks/machines.jsonl, in place of those of the same
machine; machines_page.py writes docs/machines.md from them.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from common import Record, command_line, print_table, read_records, seconds, write_records
from machines_page import RECORDS, cells, machine_name, write_page
from sklearn.datasets import make_classification, make_friedman1
from threadpoolctl import threadpool_limits

import mercer
from mercer._gram import tiles
from mercer._gram.dense import to_unit_scale
from mercer._gram.factors import definite_factor, inverse_factor
from mercer._gram.symmetric import WholeMatrix
from mercer._solvers.conjugate_gradients import PreconditionedRidge
from mercer._solvers.left_out_fits import left_out_residuals
from mercer.kernels import Gaussian, Laplacian

N_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
THREADS = [2**k for k in range(N_CORES.bit_length()) if 2**k < N_CORES] + [N_CORES]

FITS = {
    "TwoStageRegressor()": (400, 3000),
    "TwoStageClassifier()": (400, 3000),
    "KernelStackingRegressor()": (400, 3000, 4000),
    "KernelStackingClassifier()": (400, 3000, 4000),
    "EvidenceMaximization()": (400,),
    "KernelLogisticRegression()": (400,),
}
"""Calls that make estimators, and numbers of rows."""

BY_SCIPY = "by scipy.linalg"
"""Functions of SciPy alone, for comparison: as in fits, they hold the interpreter's lock."""

Calls = dict[str, Callable[[], object]]


class TimedThreads(ThreadPoolExecutor):
    """Threads that add the length of each task, in seconds, to a list."""

    lengths: ClassVar[list[float]] = []

    def submit(self, function: Any, /, *arguments: Any, **keywords: Any) -> Future[Any]:
        """Hand a task to a thread."""

        def timed() -> Any:
            start = time.perf_counter()
            try:
                return function(*arguments, **keywords)
            finally:
                self.lengths.append(time.perf_counter() - start)

        return super().submit(timed)


def left_out_directly(matrix: Any) -> Any:
    """Return the diagonal of the inverse, from which exact left-out errors of all rows follow."""
    inverse = inverse_factor(definite_factor(matrix.copy()))
    return np.einsum("ij,ij->j", inverse, inverse)


def operations(n_rows: int) -> Calls:
    """Return the operations of fits to a number of rows, by name."""
    X, y = make_friedman1(n_rows, 10, noise=1.0, random_state=0)
    kernel, targets = Gaussian(4.0), ((y - y.mean()) / y.std())[:, None]
    gram, _ = to_unit_scale(kernel(X))
    single, part = gram.astype(np.float32), gram[: n_rows // 4, : n_rows // 4].copy()
    ridge = PreconditionedRidge(WholeMatrix(single), np.arange(n_rows // 10))
    six, roots = np.repeat(targets[None], 6, axis=0), np.ones((6, n_rows))
    calls: Calls = {
        "Gaussian Gram matrix": partial(kernel, X),
        "Laplacian Gram matrix": partial(Laplacian(8.0), X),
        "leave-one-out residuals": partial(left_out_residuals, gram, targets, 0.1),
        "conjugate gradients, 6 systems, 20 iterations": partial(
            ridge.solve, six, roots, np.array([0.1]), tol=0.0, max_iter=20
        ),
        "eigendecomposition, a quarter": partial(scipy.linalg.eigh, part),
    }
    part[np.diag_indices(len(part))] += 0.1
    eight = [part] * 8
    calls["eight Cholesky factors in parallel, a quarter"] = lambda: list(
        tiles.map_tiles(lambda matrix: definite_factor(matrix.copy()), eight)
    )
    calls[f"eight Cholesky factors {BY_SCIPY} in parallel, a quarter"] = lambda: list(
        tiles.map_tiles(partial(scipy.linalg.cholesky, lower=True), eight)
    )
    for n_vectors in (1, 4, 12):
        vectors = np.ones((n_vectors, n_rows), dtype=np.float32)
        calls[f"Gram matrix times vectors, {n_vectors}"] = partial(np.matmul, vectors, single)
    for matrix in (single, gram):
        matrix[np.diag_indices(n_rows)] += 0.1
        calls[f"left-out errors from a factor, {matrix.dtype}"] = partial(left_out_directly, matrix)
        calls[f"Cholesky factor, {matrix.dtype}"] = partial(scipy.linalg.cholesky, matrix)
    return calls


def fits() -> Calls:
    """Return the fits, by the call that makes the estimator and the number of rows."""
    names = {name: getattr(mercer, name) for name in mercer.__all__}
    calls: Calls = {}
    for call, sizes in FITS.items():
        for n_rows in sizes:
            X, y = make_friedman1(n_rows, 10, noise=1.0, random_state=0)
            if "Classifier" in call or "Logistic" in call:
                X, y = make_classification(n_rows, 10, n_informative=6, random_state=0)
            calls[f"{call}, {n_rows:,}"] = partial(eval(call, names).fit, X, y)
    return calls


def measure(calls: Calls, repeats: int, *, counts_tasks: bool) -> list[Record]:
    """Return a record for each call: times by the number of threads, and tasks."""
    records = []
    for name, call in calls.items():
        times = []
        for n_threads in THREADS:
            with threadpool_limits(n_threads):
                TimedThreads.lengths.clear()
                start, computing = time.perf_counter(), time.process_time()
                times.append(min(seconds(call) for _ in range(repeats)))
                computing = time.process_time() - computing
                waiting = 1.0 - computing / (n_threads * (time.perf_counter() - start))
        record: Record = {"name": name, "ms": [round(1e3 * spent, 2) for spent in times]}
        if counts_tasks:
            lengths = 1e3 * np.array(TimedThreads.lengths or [0.0])
            record |= {
                "tasks": len(TimedThreads.lengths) // repeats,
                "mean_ms": round(float(lengths.mean()), 3),
                "short": round(float(np.mean(lengths < 1.0)), 3),
                "waiting": round(max(waiting, 0.0), 3),
            }
        records.append(record)
    return records


def is_slower(record: Record) -> bool:
    """Return whether more threads make a call slower, beyond noise."""
    return max(record["ms"]) > 1.1 * record["ms"][0] and BY_SCIPY not in record["name"]


def main() -> None:
    """Print the times, and end with status 1 if more threads make anything slower."""

    def add_options(parser: Any) -> None:
        parser.add_argument("--rows", type=int, default=5000, help="rows of operations")
        parser.add_argument("--repeats", type=int, default=3)
        parser.add_argument("--output", type=Path, default=RECORDS)

    names, options = command_line(__doc__ or "", ("operations", "fits"), add_options)
    warnings.simplefilter("ignore")
    by_threads = [f"{n} threads" if n > 1 else "1 thread" for n in THREADS]
    found = list[Record]()
    for name in names:
        counted = name == "fits"
        calls = fits() if counted else operations(options.rows)
        tiles.ThreadPoolExecutor = TimedThreads if counted else ThreadPoolExecutor
        records = measure(calls, options.repeats, counts_tasks=counted)
        tasks = ["tasks", "mean ms", "below 1 ms", "waiting"] if counted else []
        rows = [[*cells(record), "slower" if is_slower(record) else ""] for record in records]
        print_table(f"{name}, ms", ["", *by_threads, "ratio", *tasks, ""], rows)
        about: Record = {"what": name, "machine": machine_name(), "threads": THREADS}
        about["rows"] = None if counted else options.rows
        found += [about | record for record in records]
    kinds = {(record["what"], record["machine"]) for record in found}
    others = [r for r in read_records(options.output) if (r["what"], r["machine"]) not in kinds]
    write_records(options.output, [*others, *found])
    if options.output == RECORDS:
        write_page()
    sys.exit(int(any(map(is_slower, found))))


if __name__ == "__main__":
    main()

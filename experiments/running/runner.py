"""Carries out runs, in parallel processes or one at a time, and records each of them."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from threading import Thread

from experiments import catalog
from experiments.experiment import Measures, Run, Unavailable
from experiments.running.records import Archive, Record

THREADS_ALONE = 2
"""A run that is timed has this many threads of linear algebra on every machine."""

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Linear-algebra libraries read these variables when a process first loads them."""


@dataclass(frozen=True)
class Failure:
    """A run that raised an exception; it is not recorded, so that it is tried again."""

    run: Run
    reason: str


@dataclass(frozen=True)
class Skipped:
    """A run whose method is not available here; it is not recorded, so that it is tried again."""

    run: Run
    reason: str


Outcome = Record | Failure | Skipped


def carry_out(
    runs: Sequence[Run], archive: Archive, *, jobs: int, alone: bool, small: bool
) -> Iterator[Outcome]:
    """Carry out runs, and record each as it ends.

    Parameters
    ----------
    runs : sequence of Run
    archive : Archive
        The archive that takes the records.
    jobs : int
        The number of processes, of one thread each.
    alone : bool
        Whether times are recorded, of one process with two threads.
    small : bool
        Whether to use the sizes that take seconds.

    Yields
    ------
    Record, Failure or Skipped
    """
    workers, threads = (1, THREADS_ALONE) if alone else (jobs, 1)
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=end_with_parent)
    try:
        futures: list[Future[Outcome]] = [
            pool.submit(attempt, run, alone=alone, small=small) for run in runs
        ]
        for future in as_completed(futures):
            outcome = future.result()
            if isinstance(outcome, Record):
                archive.append(outcome)
            yield outcome
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def end_with_parent() -> None:
    """Let this process end as soon as the process that started it has ended."""
    parent = parent_process()
    if parent is not None:
        Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    """Wait for the end of a process, then exit at once."""
    wait([sentinel])
    os._exit(1)


def attempt(run: Run, *, alone: bool, small: bool) -> Outcome:
    """Carry out one run in this process."""
    try:
        experiment = catalog.experiment(run.experiment, small=small)
        data = experiment.problems[run.problem](run.repeat)
        method = experiment.methods[run.method]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if alone:
                warm_up(run.experiment, run.method)
            start, cpu_start = time.perf_counter(), time.process_time()
            measures = method(data)
            costs = time.perf_counter() - start, time.process_time() - cpu_start
    except Unavailable as error:
        return Skipped(run, str(error))
    except Exception as error:
        return Failure(run, f"{type(error).__name__}: {error}")
    warned = tuple(sorted({warning.category.__name__ for warning in caught}))
    kept = measures if alone else without_times(measures)
    return Record(run, kept, alone, *costs, warned)


@cache
def warm_up(name: str, method: str) -> None:
    """Try a method on a small problem, so that its time does not include imports."""
    experiment = catalog.experiment(name, small=True)
    for run in experiment.runs(name, 1):
        if run.method == method:
            experiment.methods[method](experiment.problems[run.problem](0))
            return


def without_times(measures: Measures) -> Measures:
    """Return the measures that do not depend on the load of the machine."""
    return {name: value for name, value in measures.items() if not name.startswith("seconds")}

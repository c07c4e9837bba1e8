"""From experiments to records: processes, and files that survive interruptions."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from experiments import catalog
from experiments.experiment import Measures, Run, Unavailable

# Records keep this many significant digits of a number.
DIGITS = 7


@dataclass(frozen=True)
class Record:
    """The record of a run that ended.

    Attributes
    ----------
    run : Run
    measures : dict
        The measures of the method, with times only if the run was alone.
    alone : bool
        Whether nothing else ran at the same time.
    seconds : float
        The duration, without that of drawing the data; it means little if the run was not alone.
    cpu_seconds : float
        The processor time, which depends less on other runs.
    warnings : tuple of str
        The categories of the warnings that the run gave.
    """

    run: Run
    measures: Measures
    alone: bool
    seconds: float
    cpu_seconds: float
    warnings: tuple[str, ...] = ()

    def line(self) -> str:
        """Return the record as a line of JSON."""
        entries = {
            **asdict(self.run),
            "alone": self.alone,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "measures": self.measures,
        }
        if self.warnings:
            entries["warnings"] = list(self.warnings)
        return json.dumps(_plain(entries))

    @classmethod
    def of_line(cls, line: str) -> Record:
        """Return the record that a line of JSON holds."""
        entries = json.loads(line)
        run = Run(*(entries[key] for key in ("experiment", "problem", "method", "repeat")))
        warned = tuple(entries.get("warnings", ()))
        costs = entries["seconds"], entries["cpu_seconds"]
        return cls(run, entries["measures"], entries["alone"], *costs, warned)


def _plain(value: Any) -> Any:
    """Convert a value to types of JSON; numbers are rounded, and those not finite become None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(entry) for entry in value]
    if isinstance(value, str | bool | None):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    number = float(value)
    return float(f"{number:.{DIGITS}g}") if np.isfinite(number) else None


@dataclass(frozen=True)
class Archive:
    """The folder that holds the records."""

    folder: Path

    def path(self, experiment: str) -> Path:
        """Return the file of an experiment."""
        return self.folder / f"{experiment}.jsonl"

    def append(self, record: Record) -> None:
        """Append a record to its experiment's file, in a single write.

        If an interruption left a line without its newline at the end of the file, it is cut off.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(record.run.experiment)
        _drop_half_line(path)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(descriptor, (record.line() + "\n").encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def records(self, experiment: str) -> list[Record]:
        """Return the complete records of an experiment, in the order in which they were written.

        Raises
        ------
        ValueError
            If a line is no record; the message names file and line.
        """
        path = self.path(experiment)
        if not path.exists():
            return []
        *lines, _ = path.read_text().split("\n")
        records = []
        for number, line in enumerate(lines, start=1):
            try:
                records.append(Record.of_line(line))
            except (ValueError, KeyError) as error:
                raise ValueError(f"{path}, line {number} is no record: {error}") from None
        return records

    def latest(self, experiment: str) -> dict[Run, Record]:
        """Return one record of each run, the last that was alone or, if none was, the last."""
        found: dict[Run, Record] = {}
        for record in self.records(experiment):
            known = found.get(record.run)
            if known is None or record.alone or not known.alone:
                found[record.run] = record
        return found

    def missing(self, runs: Iterable[Run], *, alone: bool) -> list[Run]:
        """Return the runs without a record, or, with `alone`, without a record of their time."""
        runs = list(runs)
        known = {name: self.latest(name) for name in {run.experiment for run in runs}}
        return [
            run
            for run in runs
            if (record := known[run.experiment].get(run)) is None or (alone and not record.alone)
        ]


def _drop_half_line(path: Path) -> None:
    """Cut off what follows the last newline of a file."""
    if not path.exists():
        return
    text = path.read_bytes()
    whole = text.rfind(b"\n") + 1
    if whole != len(text):
        os.truncate(path, whole)


# A run that is timed has this many threads of linear algebra on every machine.
THREADS_ALONE = 2

# Linear-algebra libraries read these variables when a process first loads them.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


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

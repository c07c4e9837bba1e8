"""Splits that findings call for: by groups, by time, without copies, or without a sentinel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from mercer.inspection import ModelReport
from mercer_command.division import splits
from mercer_command.messages import InputError, shown
from mercer_command.options import Fit
from mercer_command.problem import COPIES, Problem, sentinel_of, taken
from mercer_command.streaming import Training

Read = Callable[[str, str], Problem]
"""Function of the option "group" or "time" and a column, which reads the problem with it."""


@dataclass(frozen=True)
class StricterSplit:
    """Rows to learn from and to test on, and why rows drawn at random do not suffice.

    Attributes
    ----------
    training : Training
    check : {"identifiers", "time order", "copies"}
        Name of the check that calls for this split.
    reason : str
        What the check has found, as a clause.
    new_rows : str
        The rows that this split tests on, as a noun with an adjective.
    """

    training: Training
    check: str
    reason: str
    new_rows: str


def called_for(
    report: ModelReport, training: Training, given: Fit, read: Read | None
) -> StricterSplit | None:
    """Return the split that the checks of a report call for, or None.

    Parameters
    ----------
    report : ModelReport
        Report on a model that was tested on rows drawn at random.
    training : Training
    given : Fit
        If these options define groups, times or a file of splits, there is no other split.
    read : callable or None
        See `Read`. If None, the table is not in memory.

    Notes
    -----
    Groups come first, then times, then copies. A split that is not possible, because there are too
    few groups, for example, is passed over.
    """
    if read is None or given.random or given.group or given.time or given.split:
        return None
    columns = {check.name: check.columns for check in report.checks}
    warned = [check.name for check in report.checks if check.warnings]
    times = [name for name in columns.get("time order", ()) if name]
    makers = [partial(_by_groups, read, name) for name in columns.get("identifiers", ())[:1]]
    makers += [partial(_by_time, read, name) for name in times[:1]]
    makers += [partial(_without_copies, training.problem)] * ("copies" in warned)
    for make in makers:
        try:
            problem, *told = make()
            settings: Any = {"test_size": given.test_size, "repeats": 1, "seed": given.seed}
            rows, *_ = splits(problem, **settings)
            return StricterSplit(Training(problem, *rows), *told)
        except InputError:
            continue
    return None


def without_sentinel(training: Training, given: Fit) -> Training | None:
    """Return rows to learn from and to test on without those of a value that may stand for missing.

    Parameters
    ----------
    training : Training
    given : Fit

    Returns
    -------
    Training or None
        None if the target has no such value, or if the table is read in parts.
    """
    problem, value = training.problem, sentinel_of(training.problem)
    if value is None or training.source is not None:
        return None
    try:
        known = taken(problem, np.flatnonzero(problem.target != value))
        rows, *_ = splits(known, test_size=given.test_size, repeats=1, seed=given.seed)
    except InputError:
        return None
    return Training(known, *rows)


def _by_groups(read: Read, column: str) -> tuple[Problem, str, str, str]:
    # If the part of a code before a separator defines the group, the code itself names it.
    name = column.split(" before '", maxsplit=1)[0]
    told = shown(name)
    reason = f"rows of equal '{told}' belong together"
    return read("group", name), "identifiers", reason, f"new values of '{told}'"


def _by_time(read: Read, name: str) -> tuple[Problem, str, str, str]:
    reason = f"rows follow each other by '{shown(name)}'"
    return read("time", name), "time order", reason, "later rows"


def _without_copies(problem: Problem) -> tuple[Problem, str, str, str]:
    rows = problem.features.assign(**{problem.name: problem.target})
    hashes = pd.util.hash_pandas_object(rows, index=False)
    groups = pd.factorize(hashes)[0]
    problem = replace(problem, groups=groups, together=COPIES)
    return problem, "copies", "rows are copies of others", "rows without copies"

"""Splits that the findings of checks call for: by groups, by time, or without copies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from mercer.inspection import ModelReport
from mercer_command.division import splits
from mercer_command.messages import InputError, shown
from mercer_command.names import HIGH_IS_GOOD
from mercer_command.options import Fit
from mercer_command.problem import COPIES, Problem, unordered_columns
from mercer_command.streaming import Training

Read = Callable[[str | None, str | None], Problem]
"""Function of columns of groups and of times, or None, which reads the problem with them."""


@dataclass(frozen=True)
class StricterSplit:
    """Rows to learn from and to test on, and why rows drawn at random do not suffice.

    Attributes
    ----------
    training : Training
    reason : str
        What the checks have found, as clauses.
    new_rows : str
        The rows that this split tests on, as a noun with an adjective.
    """

    training: Training
    reason: str
    new_rows: str


@dataclass(frozen=True)
class OtherRows:
    """Scores on rows drawn at random, where the checks call for another split.

    Attributes
    ----------
    report : ModelReport
        Report on a model that was tested on rows drawn at random.
    split : StricterSplit
        The other split, by which the returned model was tested.
    is_too_good : bool
        Whether the score on rows drawn at random is significantly better.
    """

    report: ModelReport
    split: StricterSplit
    is_too_good: bool

    @classmethod
    def of(cls, report: ModelReport, stricter: ModelReport, split: StricterSplit) -> OtherRows:
        """Compare the first scores of a report on rows drawn at random and of a stricter one."""
        name, reports = report.metric, (report, stricter)
        own, new = (one.held_out[0].scores.get(name) for one in reports)
        if own is None or new is None:
            return cls(report, split, False)
        is_worse = new.value < own.low if name in HIGH_IS_GOOD else new.value > own.high
        return cls(report, split, is_worse)


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
        If these options define groups or times, there is no other split.
    read : callable or None
        See `Read`. If None, the table is not in memory.

    Notes
    -----
    Later rows of new groups come first, then new groups, then later rows, then rows without copies.
    Copies have the group and the time of their originals, and are held out with them. A split that
    is not possible, because there are too few groups, for example, is passed over, and so is one
    whose test rows are all of one time. A column in which a date may stand for missing cells does
    not order the rows.
    """
    if read is None or given.random or given.group or given.time:
        return None
    columns = {check.code: check.columns for check in report.checks}
    # If the part of a code before a separator defines the group, the code itself names it.
    groups = [name.split(" before '", maxsplit=1)[0] for name in columns.get("identifiers", ())]
    unordered = unordered_columns(training.problem)
    times = [name for name in columns.get("time order", ()) if name and name not in unordered]
    group, time = (next(iter(names), None) for names in (groups, times))
    for pair in dict.fromkeys([(group, time), (group, None), (None, time)]):
        if any(pair):
            try:
                found = _divided(read(*pair), given)
            except InputError:
                continue
            if found.problem.times is None or np.ptp(found.problem.times[found.test]) > 0.0:
                told = zip(pair, _REASONS, strict=True)
                reason = ", and ".join(text.format(shown(name)) for name, text in told if name)
                return StricterSplit(found, reason, new_rows(found.problem))
    if not columns.get("copies"):
        return None
    problem = training.problem
    rows = problem.features.assign(**{problem.name: problem.target})
    codes = pd.factorize(pd.util.hash_pandas_object(rows, index=False))[0]
    try:
        found = _divided(replace(problem, groups=codes, together=COPIES), given)
    except InputError:
        return None
    return StricterSplit(found, "rows are copies of others", "rows without copies")


_REASONS = "rows of equal '{}' belong together", "rows follow each other by '{}'"
"""What checks have found that call for a split by a column of groups, or of times."""


def _divided(problem: Problem, given: Fit) -> Training:
    rows, *_ = splits(problem, test_size=given.test_size, repeats=1, seed=given.seed)
    return Training(problem, *rows)


def new_rows(problem: Problem) -> str:
    """Return the rows that a model is tested on, as a noun, if training rows are of other kinds.

    Parameters
    ----------
    problem : Problem
    """
    if problem.together in ("", COPIES):
        return "later rows" * (problem.times is not None)
    later = "later rows of " * (problem.times is not None)
    return f"{later}new values of '{shown(problem.together)}'"

"""Splits that findings call for: by groups, by time, without copies, or without a sentinel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from mercer.inspection import ModelReport
from mercer_command.division import splits
from mercer_command.messages import InputError, shown
from mercer_command.names import HIGH_IS_GOOD
from mercer_command.options import Fit
from mercer_command.problem import COPIES, Problem, sentinel_of, taken, unordered_columns
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
    untested : str
        Rows that the checks call for as well, and that this split does not test on, as a noun with
        an adjective; empty if there are none.
    option : str
        Option of the command that tests on these, if there is one.
    """

    training: Training
    reason: str
    new_rows: str
    untested: str = ""
    option: str = ""


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
    is_as_good : bool
        Whether the score of the other split is in the interval of the one on rows drawn at random.
    """

    report: ModelReport
    split: StricterSplit
    is_too_good: bool
    is_as_good: bool

    @classmethod
    def of(cls, report: ModelReport, stricter: ModelReport, split: StricterSplit) -> OtherRows:
        """Compare the first scores of a report on rows drawn at random and of a stricter one."""
        name, reports = report.metric, (report, stricter)
        own, new = (one.held_out[0].scores.get(name) for one in reports)
        if own is None or new is None:
            return cls(report, split, False, False)
        is_worse = new.value < own.low if name in HIGH_IS_GOOD else new.value > own.high
        return cls(report, split, is_worse, own.low <= new.value <= own.high)


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
    has_copies = any(check.code == "copies" and check.sentences for check in report.checks)
    # If the part of a code before a separator defines the group, the code itself names it.
    groups = [name.split(" before '", maxsplit=1)[0] for name in columns.get("identifiers", ())]
    unordered = unordered_columns(training.problem)
    times = [name for name in columns.get("time order", ()) if name and name not in unordered]
    group, time = (next(iter(names), None) for names in (groups, times))
    pairs = [(group, time)] * (group is not None and time is not None)
    pairs += [(group, None)] * (group is not None) + [(None, time)] * (time is not None)
    for pair in pairs:
        try:
            found = _divided(read(*pair), given)
        except InputError:
            continue
        if found.problem.times is None or np.ptp(found.problem.times[found.test]) > 0.0:
            return StricterSplit(found, *_told(*pair), *_untested((group, time), pair))
    return _without_copies(training.problem, given) if has_copies else None


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


def _divided(problem: Problem, given: Fit) -> Training:
    settings: Any = {"test_size": given.test_size, "repeats": 1, "seed": given.seed}
    rows, *_ = splits(problem, **settings)
    return Training(problem, *rows)


def _told(group: str | None, time: str | None) -> tuple[str, str]:
    """Return what the checks have found, and the rows that a split by these columns tests on."""
    reasons, rows = list[str](), "later rows" if time else ""
    if group is not None:
        reasons.append(f"rows of equal '{shown(group)}' belong together")
        rows += f"{' of ' * bool(time)}new values of '{shown(group)}'"
    if time is not None:
        reasons.append(f"rows follow each other by '{shown(time)}'")
    return ", and ".join(reasons), rows


def _untested(
    wanted: tuple[str | None, str | None], pair: tuple[str | None, str | None]
) -> tuple[str, str]:
    """Return the rows that the checks call for and a split does not test, and an option for it."""
    (group, time), (own_group, own_time) = wanted, pair
    if group and not own_group:
        return f"new values of '{shown(group)}'", ""
    return ("later rows", f"--time '{shown(time)}'") if time and not own_time else ("", "")


def _without_copies(problem: Problem, given: Fit) -> StricterSplit | None:
    """Return the split that holds out equal rows together, None if there are too few others."""
    rows = problem.features.assign(**{problem.name: problem.target})
    groups = pd.factorize(pd.util.hash_pandas_object(rows, index=False))[0]
    try:
        training = _divided(replace(problem, groups=groups, together=COPIES), given)
    except InputError:
        return None
    return StricterSplit(training, "rows are copies of others", "rows without copies")

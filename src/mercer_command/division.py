"""Division into training and test rows: at random, by groups, or by times."""

import numpy as np
from sklearn.model_selection import (
    GroupShuffleSplit,
    ShuffleSplit,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)

from mercer_command.messages import InputError, counted, listing, shown
from mercer_command.problem import COPIES, Problem
from mercer_command.target_column import MIN_ROWS, Rows
from mercer_command.values import Array

Pair = tuple[Rows, Rows]
"""Training rows and test rows."""


def n_tested(n_rows: int, test_size: float) -> int:
    """Return the number of rows to hold out, given their share.

    At most 10,000 rows are held out, which suffice to estimate an error to within a few percent.
    """
    return min(max(1, round(test_size * n_rows)), 10_000)


def splits(problem: Problem, *, test_size: float | int, repeats: int, seed: int) -> list[Pair]:
    """Choose training rows and test rows; for classification, draws of rows are stratified.

    Parameters
    ----------
    problem : Problem
    test_size : float or int
        Share of the test rows, or their number; see `n_tested`.
    repeats : int
        Number of independent draws. With times, each split tests on later rows than the one before,
        and trains on all rows before its test rows. Ignored if there are both times and groups.
    seed : int

    Returns
    -------
    list of (ndarray of int, ndarray of int)
        Training rows and test rows of each split. Test rows are in the order of the problem. Groups
        are not divided. With both times and groups, there is one split, which tests on later rows
        of some groups and trains on earlier rows of all others.

    Raises
    ------
    InputError
        If there are too few rows, groups or times, or if no training row has the class of a test
        row.
    """
    n_rows = len(problem.target)
    n_test = test_size if isinstance(test_size, int) else n_tested(n_rows, test_size)
    if problem.times is not None and problem.groups is not None:
        found = _later_of_groups(problem.times, problem.groups, n_test, seed)
    elif problem.times is not None:
        found = _later(problem.times, n_test, repeats)
    elif problem.groups is not None:
        return _of_groups(problem, n_test / n_rows, repeats, seed)
    else:
        return _drawn(problem, n_test, repeats, seed)
    if problem.task != "classification":
        return found
    for train, test in found:
        if unseen := {*problem.target[test]} - {*problem.target[train]}:
            raise InputError(f"classes are in test rows only: {listing(sorted(unseen))}")
        if np.unique(problem.target[train]).size < 2:
            raise InputError("the training rows have one class only: there is nothing to learn")
    return found


def _later(times: Array, n_test: int, repeats: int) -> list[Pair]:
    """Return pairs of earlier and later rows, in which rows of equal times stay together."""
    rows = np.arange(len(times))
    parts = [(len(times) - n_test, len(times))]
    if repeats > 1:
        parts = [(test[0], test[-1] + 1) for _, test in TimeSeriesSplit(repeats).split(rows)]
    found = []
    for start, end in parts:
        first = int(np.searchsorted(times, times[start]))
        if first < 5:  # The earliest rows have equal times.
            first = int(np.searchsorted(times, times[start], side="right"))
        if 5 <= first < end:
            found.append((rows[:first], rows[first:end]))
    if not found:
        raise InputError("there are too few different times to learn from the past")
    return found


def _later_of_groups(times: Array, groups: Array, n_test: int, seed: int) -> list[Pair]:
    """Return earlier rows of some groups, and later rows of the others.

    The shares of later rows and of groups to test on are equal, and such that about half as many
    rows are tested as in a split by one of them, because most rows are neither trained nor tested
    on otherwise.
    """
    share = np.sqrt(0.5 * n_test / len(times))
    (earlier, later), *_ = _later(times, round(share * len(times)), 1)
    found = np.unique(groups)
    n_new = int(np.clip(round(share * len(found)), 2, len(found) - 2))
    is_new = np.isin(groups, np.random.default_rng(seed).choice(found, n_new, replace=False))
    train, test = earlier[~is_new[earlier]], later[is_new[later]]
    if min(len(train), len(test)) < MIN_ROWS:
        raise InputError("there are too few later rows of new groups, or earlier ones of others")
    return [(train, test)]


def _drawn(problem: Problem, n_test: int, repeats: int, seed: int) -> list[Pair]:
    """Draw test rows at random, stratified by class for classification."""
    n_train = len(problem.target) - n_test
    drawn = ShuffleSplit
    if problem.task == "classification":
        drawn, n_classes = StratifiedShuffleSplit, np.unique(problem.target).size
        if min(n_train, n_test) < n_classes:
            label = problem.target[0]
            text = f", the texts of '{shown(problem.name)}', such as '{shown(label)}'"
            raise InputError(
                f"{counted(n_train, 'row')} to learn from and {n_test} to test on are too few for "
                f"{n_classes} classes{text if isinstance(label, str) else ''}"
            )
    splitter = drawn(repeats, train_size=n_train, test_size=n_test, random_state=seed)
    pairs = splitter.split(problem.features, problem.target)
    return [(train, np.sort(test)) for train, test in pairs]


def _of_groups(
    problem: Problem, test_size: float, repeats: int, seed: int, n_draws: int = 100
) -> list[Pair]:
    """Draw whole groups as test rows, such that the training rows have all classes."""
    y, groups = problem.target, np.asarray(problem.groups)
    n_groups = len(np.unique(groups))
    n_test = int(np.clip(round(test_size * n_groups), 2, n_groups - 2))
    drawn = GroupShuffleSplit(n_draws, test_size=n_test, random_state=seed)
    found = list(drawn.split(problem.features, y, groups))
    if problem.task == "classification":
        found = [pair for pair in found if np.isin(y, y[pair[0]]).all()]
    if len(found) < repeats:
        raise InputError("some classes are in too few groups to be learned from and tested on")
    return found[:repeats]


def described_division(problem: Problem, test: Rows) -> str:
    """Describe in a few words how test rows were chosen, for the first lines of a report.

    Parameters
    ----------
    problem : Problem
    test : ndarray of int
    """
    rows = counted(len(test), "row")
    if problem.times is not None and problem.groups is not None:
        new = counted(len(np.unique(problem.groups[test])), "group")
        return f"{rows} of {new} that the model has not seen, later than what it learned from"
    if problem.times is not None:
        tied = len(test) > 1 and bool(np.ptp(problem.times[test]) == 0.0)
        return f"the last {rows} in time{', which are all of one time' * tied}"
    if problem.together == COPIES:
        return f"{rows} that have no copies among the rows that it learned from"
    if problem.groups is not None:
        n_groups = len(np.unique(problem.groups[test]))
        return f"{rows} of {counted(n_groups, 'group')} that the model has not seen"
    return f"{rows} that {'was' if len(test) == 1 else 'were'} drawn at random"

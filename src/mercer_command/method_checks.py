"""Whether methods suit a problem: its task, its size, and how its rows are held out."""

from collections.abc import Iterable

import numpy as np

from mercer_command.app import CLASS_METRICS, KINDS, LEARNERS, RESPONSE_METRICS
from mercer_command.messages import InputError, checked_name, listing
from mercer_command.methods import METHODS, takes
from mercer_command.problem import Problem, Task


def check_fit(names: Iterable[str], task: Task, options: Iterable[str] = METHODS) -> None:
    """Check that methods support a task.

    Parameters
    ----------
    names : iterable of str
        Keys of `METHODS`.
    task : {"classification", "regression"}
    options : iterable of str, default=METHODS
        Keys of `METHODS` that the message suggests.

    Raises
    ------
    InputError
        If some do not; the message names them.
    """
    unsuitable = [name for name in names if task not in METHODS[name].makers]
    if unsuitable:
        suitable = ", ".join(name for name in options if task in METHODS[name].makers)
        raise InputError(f"not for {task}: {listing(unsuitable)}; choose from {suitable}")


def check_size(names: Iterable[str], n_rows: int) -> None:
    """Check that no method would take hours for a number of rows.

    Parameters
    ----------
    names : iterable of str
        Keys of `METHODS`.
    n_rows : int
        Number of rows to learn from.

    Raises
    ------
    InputError
        If one would; the message names it.
    """
    for name in names:
        if not feasible([name], n_rows):
            other = f"; --task {KINDS[name]} learns from more" if name in KINDS else ""
            raise InputError(
                f"{name} takes too long to learn from {n_rows:,} rows; it is for at most "
                f"{METHODS[name].max_rows:,}{other}"
            )


def check_division(name: str, problem: Problem) -> None:
    """Refuse a method whose fit cannot leave out whole groups, or later rows.

    Parameters
    ----------
    name : str
        A key of `METHODS`.
    problem : Problem

    Raises
    ------
    InputError
        If the problem has groups or times, and the method takes none.
    """
    for has, kind in ((problem.groups is not None, "groups"), (problem.times is not None, "cv")):
        able = [n for n in LEARNERS if problem.task in METHODS[n].makers]
        able = [n for n in able if takes(METHODS[n].estimator(problem.task, 2), kind)]
        if has and name not in able:
            what = "groups" if kind == "groups" else "times"
            raise InputError(f"{name} takes no {what}; choose from {', '.join(able)}")


def check_metric(name: str | None, problem: Problem) -> None:
    """Refuse a score that is not one of the problem's by an `InputError`."""
    if name is None:
        return
    names = CLASS_METRICS if problem.task == "classification" else RESPONSE_METRICS
    checked_name(f"metric of {problem.task}", name, names)
    if name == "roc_auc" and np.unique(problem.target).size > 2:
        raise InputError("roc_auc is for two classes; balanced_accuracy is for more")
    if name == "mae" and problem.task == "classification" and problem.target.dtype.kind not in "if":
        raise InputError("mae is for classes that are numbers")
    if name == "poisson_deviance" and not (problem.target >= 0.0).all():
        raise InputError("poisson_deviance is for counts, which are not negative")
    if name == "log_rmse" and not (problem.target > 0.0).all():
        raise InputError("log_rmse is for positive responses")


def check_streamed(name: str) -> None:
    """Refuse a method that needs all rows in memory by an `InputError`."""
    if METHODS[name].max_rows is not None:
        able = ", ".join(other for other in LEARNERS if METHODS[other].max_rows is None)
        raise InputError(f"{name} needs all rows in memory; for this table, choose from {able}")


def feasible(names: Iterable[str], n_rows: int) -> list[str]:
    """Return the methods that learn from a number of rows in reasonable time.

    Parameters
    ----------
    names : iterable of str
        Keys of `METHODS`.
    n_rows : int
    """
    return [name for name in names if n_rows <= (METHODS[name].max_rows or n_rows)]

"""Comparison of methods on the same splits: errors, alignments, times and ranks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from mercer.inspection import ModelReport, report
from mercer_command.messages import InputError, brief, counted
from mercer_command.method_times import by_cost, expected_seconds
from mercer_command.names import HIGH_IS_GOOD
from mercer_command.options import Compare
from mercer_command.output import Bar
from mercer_command.pipelines import fit_arguments, learned_alignment, make_model
from mercer_command.problem import Problem
from mercer_command.target_column import Rows
from mercer_command.values import Array


def comparison_table(
    methods: Sequence[str],
    scores: Array,
    alignments: Array,
    seconds: Array,
    metric: str = "error",
) -> pd.DataFrame:
    """Return a table with one row per method, sorted by mean rank.

    The columns are means, standard deviations, the mean rank, and the score of each split. Methods
    of equal mean rank are sorted by score. Standard deviations are zero if there is only one split.

    Parameters
    ----------
    methods : sequence of str
        Names, of length n_methods.
    scores, alignments, seconds : ndarray of shape (n_methods, n_splits)
        Scores and alignments on the test rows, NaN if a method has none, and fit times
        in seconds.
    metric : str, default="error"
        Name of the score. It is part of the column names, and is stored as ``attrs["metric"]`` of
        the table.
    """
    ddof, high_is_good = min(1, scores.shape[1] - 1), metric in HIGH_IS_GOOD
    losses = np.where(np.isnan(scores), np.inf, -scores if high_is_good else scores)
    frame = pd.DataFrame(
        {
            "method": methods,
            metric: scores.mean(axis=1),
            f"{metric}_std": scores.std(axis=1, ddof=ddof),
            "test_alignment": alignments.mean(axis=1),
            "test_alignment_std": alignments.std(axis=1, ddof=ddof),
            "fit_seconds": seconds.mean(axis=1),
            "rank": rankdata(losses, axis=0).mean(axis=1),
            **{f"{metric}_split_{r + 1}": split for r, split in enumerate(scores.T)},
        }
    )
    order = ["rank", metric]
    frame = frame.sort_values(order, ascending=[True, not high_is_good], kind="stable")
    frame = frame.reset_index(drop=True)
    frame.attrs["metric"] = metric
    return frame


@dataclass(frozen=True)
class Comparison:
    """Scores of methods on the same splits.

    Attributes
    ----------
    table : DataFrame
        See `comparison_table`.
    notes : tuple of str
        What was left out for lack of time, and the option that includes it.
    failures : tuple of str
        Names of the methods that failed, which are left out, with the reasons.
    """

    table: pd.DataFrame
    notes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()


@dataclass
class _Runs:
    """Scores, alignments and fit times of one method, one per split, and its total time."""

    scores: list[float] = field(default_factory=list)
    alignments: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    total: float = 0.0

    @property
    def each(self) -> float:
        """Mean total time of a split."""
        return self.total / len(self.scores)


def compare(
    problem: Problem,
    methods: Sequence[str],
    splits: Sequence[tuple[Rows, Rows]],
    given: Compare,
    bar: Bar,
    *,
    on_method: Callable[[pd.DataFrame], None],
) -> Comparison:
    """Fit methods on every split, the cheapest first, until the time is over.

    The cheapest method decides how many splits are compared. Each further method is tried if it is
    expected to be done in time on all of these splits, by the times of the methods before it, and
    is left out if its first split then shows that it would not be.

    Parameters
    ----------
    problem : Problem
    methods : sequence of str
        Keys of `METHODS`.
    splits : sequence of (ndarray of int, ndarray of int)
        Rows to learn from and rows to test on, which are the same for all methods.
    given : Compare
        Options; the seed, the metric, the device and the minutes are used.
    bar : Bar
        Progress bar that shows the fits.
    on_method : callable
        Called with the table of one method as soon as it is done.

    Raises
    ------
    InputError
        If all methods fail; the message names them.
    """
    n_rows, metric, start = len(splits[0][0]), given.metric, perf_counter()
    end = start + 60.0 * given.minutes
    found, skipped, failures = dict[str, _Runs](), dict[str, _Runs](), list[str]()
    n_splits = len(splits)
    for name in by_cost(methods, n_rows):
        runs, is_first = _Runs(), not found
        expected = expected_seconds(name, n_rows, {n: one.each for n, one in found.items()})
        if not is_first and perf_counter() + n_splits * expected > end:
            skipped[name] = runs
            continue
        try:
            for r, rows in enumerate(splits[:n_splits]):
                n_left = 1 if is_first else n_splits - r
                if r and perf_counter() + n_left * runs.each > end:
                    break
                bar.advance(1, f"{name}, split {r + 1} of {n_splits}")
                metric = _add(runs, problem, name, rows, given, metric=metric)
        except Exception as error:  # Other methods may succeed, and what they found is not lost.
            failures.append(f"method '{name}' failed: {brief(error)}")
            continue
        if is_first:
            n_splits = len(runs.scores)
        if len(runs.scores) < n_splits:
            skipped[name] = runs
            continue
        found[name] = runs
        on_method(_table({name: runs}, metric))
    if not found:
        raise InputError("; ".join(failures))
    seconds = perf_counter() - start
    notes = _left_out(found, skipped, splits, seconds, minutes=given.minutes)
    return Comparison(_table(found, metric), notes, tuple(failures))


def _add(
    runs: _Runs,
    problem: Problem,
    name: str,
    rows: tuple[Rows, Rows],
    given: Compare,
    *,
    metric: str | None,
) -> str:
    """Add the results of a method on a split, and return the metric."""
    start = perf_counter()
    tested, alignment, seconds = _measure(problem, name, rows, given, metric)
    metric, own = metric or tested.metric, tested.held_out[0].scores
    runs.scores.append(own[metric].value if metric in own else np.nan)
    runs.alignments.append(alignment)
    runs.seconds.append(seconds)
    runs.total += perf_counter() - start
    return metric


def _table(found: Mapping[str, _Runs], metric: str | None) -> pd.DataFrame:
    runs = list(found.values())
    scores = np.array([one.scores for one in runs])
    alignments = np.array([one.alignments for one in runs])
    seconds = np.array([one.seconds for one in runs])
    return comparison_table(list(found), scores, alignments, seconds, metric or "error")


def _left_out(
    found: Mapping[str, _Runs],
    skipped: Mapping[str, _Runs],
    splits: Sequence[tuple[Rows, Rows]],
    spent: float,
    *,
    minutes: float,
) -> tuple[str, ...]:
    """Say which methods and splits were left out, and how many minutes would include them."""
    n_splits, n_rows = len(splits), len(splits[0][0])
    n_done = min(len(one.scores) for one in found.values())
    if not skipped and n_done == n_splits:
        return ()
    done = {name: one.each for name, one in found.items()}
    more = sum(done.values()) * (n_splits - n_done)
    for name, runs in skipped.items():
        more += n_splits * (runs.each if runs.scores else expected_seconds(name, n_rows, done))
    needed = ceil(max(1.2 * (spent + more) / 60.0, minutes + 1.0))
    names = [
        f"'{name}'" + f" (after {counted(len(runs.scores), 'split')})" * bool(runs.scores)
        for name, runs in skipped.items()
    ]
    names += [f"{n_splits - n_done} of {n_splits} splits"] * (n_done < n_splits)
    within = counted(minutes, "minute")
    told = f"left out, because {within} would not be enough: {', '.join(names)}"
    return (f"{told}; --minutes {needed} includes all",)


def _measure(
    problem: Problem, method: str, rows: tuple[Rows, Rows], given: Compare, metric: str | None
) -> tuple[ModelReport, float, float]:
    """Return the scores and the alignment on the test rows, and the fit time in seconds."""
    X, y, task, (train, test) = problem.features, problem.target, problem.task, rows
    settings: dict[str, Any] = {"seed": given.seed, "device": given.device, "metric": given.metric}
    model = make_model(method, problem, train, **settings)
    start = perf_counter()
    model.fit(X.iloc[train], y[train], **fit_arguments(model, problem, train))
    seconds = perf_counter() - start
    given_rows: dict[str, Any] = {"X": X.iloc[test], "y": y[test], "coverage": None}
    try:
        tested = report(model, metric=metric, **given_rows)
    except ValueError:
        # Support vector machines have no log-loss.
        tested = report(model, **given_rows)
    return tested, learned_alignment(model, X.iloc[test], y[test], task), seconds

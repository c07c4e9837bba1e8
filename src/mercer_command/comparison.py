"""Comparison of methods on the same splits: errors, alignments, times and ranks."""

from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from mercer.inspection import ModelReport, report
from mercer_command.messages import InputError, one_line
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


def compare(
    problem: Problem,
    methods: Sequence[str],
    splits: Sequence[tuple[Rows, Rows]],
    given: Compare,
    bar: Bar,
    *,
    on_split: Callable[[pd.DataFrame], None],
) -> pd.DataFrame:
    """Fit every method on every split; see `comparison_table`.

    Parameters
    ----------
    problem : Problem
    methods : sequence of str
        Keys of `METHODS`.
    splits : sequence of (ndarray of int, ndarray of int)
        Rows to learn from and rows to test on, which are the same for all methods.
    given : Compare
        Options; only the seed, the metric and the device are used.
    bar : Bar
        Progress bar that shows the fits.
    on_split : callable
        Called after each split but the last, with the table of the splits so far.

    Raises
    ------
    InputError
        If a method fails; the message names it.
    """
    scores, alignments, seconds = np.empty((3, len(methods), len(splits)))
    metric = given.metric
    for r, rows in enumerate(splits):
        for m, name in enumerate(methods):
            bar.advance(1, f"{name}, split {r + 1} of {len(splits)}")
            try:
                tested, *others = _measure(problem, name, rows, given, metric)
            except ValueError as error:
                raise InputError(f"method '{name}' failed: {one_line(error)}") from error
            metric, own = metric or tested.metric, tested.held_out[0].scores
            scores[m, r] = own[metric].value if metric in own else np.nan
            alignments[m, r], seconds[m, r] = others
        scored, aligned, timed = (values[:, : r + 1] for values in (scores, alignments, seconds))
        table = comparison_table(methods, scored, aligned, timed, metric or "error")
        if r + 1 < len(splits):
            on_split(table)
    return table


def _measure(
    problem: Problem, method: str, rows: tuple[Rows, Rows], given: Compare, metric: str | None
) -> tuple[ModelReport, float, float]:
    """Return the scores and the alignment on the test rows, and the fit time in seconds."""
    X, y, task, (train, test) = problem.features, problem.target, problem.task, rows
    model = make_model(method, problem, train, given.seed, given.device)
    start = perf_counter()
    model.fit(X.iloc[train], y[train], **fit_arguments(model, problem, train))
    seconds = perf_counter() - start
    try:
        tested = report(model, X.iloc[test], y[test], metric=metric)
    except ValueError:
        # Support vector machines have no log-loss.
        tested = report(model, X.iloc[test], y[test])
    return tested, learned_alignment(model, X.iloc[test], y[test], task), seconds

"""Comparison of methods on the same splits: scores, alignments, times and ranks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from mercer import centered_alignment
from mercer.inspection import default_metric, report
from mercer_command.messages import InputError, brief
from mercer_command.names import HIGH_IS_GOOD
from mercer_command.options import Compare
from mercer_command.output import Bar
from mercer_command.pipelines import fit_arguments, make_model
from mercer_command.problem import Problem
from mercer_command.table_model import TableModel
from mercer_command.target_column import Rows
from mercer_command.values import Array


@dataclass(frozen=True)
class Comparison:
    """Scores of methods on the same splits.

    Attributes
    ----------
    table : DataFrame
        See `comparison_table`.
    failures : tuple of str
        Names of the methods that failed, which are left out, with the reasons.
    left_out : tuple of str
        Names of the methods that were not done when the comparison was interrupted.
    """

    table: pd.DataFrame
    failures: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def compare(
    problem: Problem,
    methods: Sequence[str],
    splits: Sequence[tuple[Rows, Rows]],
    given: Compare,
    bar: Bar,
    *,
    on_method: Callable[[pd.DataFrame], None],
) -> Comparison:
    """Fit methods on every split, one after the other; Ctrl-C ends the comparison.

    Parameters
    ----------
    problem : Problem
    methods : sequence of str
        Keys of `METHODS`.
    splits : sequence of (ndarray of int, ndarray of int)
        Rows to learn from and rows to test on, which are the same for all methods.
    given : Compare
        Options; the seed, the metric and the device are used.
    bar : Bar
        Progress bar that shows the fits.
    on_method : callable
        Called with the table of one method as soon as it is done.

    Raises
    ------
    InputError
        If all methods fail; the message names them.
    KeyboardInterrupt
        If the comparison is interrupted before a method is done.
    """
    # The first test rows may lack a class, so that other scores are undefined.
    metric = given.metric or default_metric(problem.target[splits[0][1]], problem.task)
    found, failures, left = dict[str, Array](), list[str](), list(methods)
    try:
        while left:
            name, measured = left[0], []
            try:
                for r, rows in enumerate(splits):
                    bar.advance(1, f"{name}, split {r + 1} of {len(splits)}")
                    measured.append(_measure(problem, name, rows, given, metric))
            except Exception as error:  # Other methods may succeed, and what they found is kept.
                failures.append(f"method '{name}' failed: {brief(error)}")
            else:
                found[name] = np.array(measured).T
                on_method(comparison_table({name: found[name]}, metric))
            left.pop(0)
    except KeyboardInterrupt:
        if not found:
            raise
    if not found:
        raise InputError("; ".join(failures))
    return Comparison(comparison_table(found, metric), tuple(failures), tuple(left))


def comparison_table(found: Mapping[str, Array], metric: str) -> pd.DataFrame:
    """Return a table with one row per method, sorted by mean rank.

    The columns are means, standard deviations, the mean rank, and the score of each split. Methods
    of equal mean rank are sorted by score. Standard deviations are zero if there is only one split.

    Parameters
    ----------
    found : mapping of str to ndarray of shape (3, n_splits)
        For each method, scores and alignments on the test rows, NaN if it has none, and the seconds
        of the fits.
    metric : str
        Name of the score. It is part of the column names, and is stored as ``attrs["metric"]`` of
        the table.
    """
    scores, alignments, seconds = np.stack(list(found.values()), axis=1)
    ddof, high_is_good = min(1, scores.shape[1] - 1), metric in HIGH_IS_GOOD
    losses = np.where(np.isnan(scores), np.inf, -scores if high_is_good else scores)
    frame = pd.DataFrame(
        {
            "method": list(found),
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


def _measure(
    problem: Problem, name: str, rows: tuple[Rows, Rows], given: Compare, metric: str
) -> tuple[float, float, float]:
    """Return the score and the alignment on the test rows, and the seconds of the fit."""
    X, y, (train, test) = problem.features, problem.target, rows
    settings: dict[str, Any] = {"seed": given.seed, "device": given.device, "metric": given.metric}
    model = make_model(name, problem, train, **settings)
    start = perf_counter()
    model.fit(X.iloc[train], y[train], **fit_arguments(model, problem, train))
    seconds = perf_counter() - start
    X_test, y_test = X.iloc[test], y[test]
    scores = report(model, X_test, y_test, coverage=None).held_out[0].scores
    # Support vector machines have no log-loss.
    score = scores[metric].value if metric in scores else np.nan
    return score, _alignment(model, X_test, y_test, problem), seconds


def _alignment(model: TableModel, X: pd.DataFrame, y: Array, problem: Problem) -> float:
    """Return the centered alignment of the learned kernel with the target.

    For a stack, it is the alignment of the weighted sum of its kernels. It is NaN for methods that
    learn no kernel, and for rows of one class. Of more than 2,000 rows, a random sample is used,
    because the Gram matrix is kept in memory.
    """
    step = getattr(model[-1], "best_estimator_", model[-1])
    if not hasattr(step, "learned_gram") or len(np.unique(y)) < 2:
        return np.nan
    drawn = np.sort(np.random.default_rng(0).permutation(len(y))[:2000])
    gram = step.learned_gram(model[:-1].transform(X.iloc[drawn]))
    return centered_alignment(gram, y[drawn], task=problem.task)

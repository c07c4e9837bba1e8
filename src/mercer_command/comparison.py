"""Methods on the same splits: errors, alignments, times and ranks."""

from collections.abc import Sequence
from time import perf_counter

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.metrics import root_mean_squared_error, zero_one_loss

from mercer_command.messages import InputError, one_line
from mercer_command.methods import fit_arguments, learned_alignment, make_model
from mercer_command.notation import Array
from mercer_command.output import Bar
from mercer_command.problem import Problem, Rows


def comparison_table(
    methods: Sequence[str], errors: Array, alignments: Array, seconds: Array
) -> pd.DataFrame:
    """Return one row per method: means, deviations, mean rank, and the error of each split.

    The method of the best mean rank comes first; of equal ranks, that of the smallest error.
    Deviations over splits are zero for one split.

    Parameters
    ----------
    methods : sequence of str
        Names, of length n_methods.
    errors, alignments, seconds : ndarray of shape (n_methods, n_splits)
        Error and alignment on the test rows, and the time to fit.
    """
    ddof = min(1, errors.shape[1] - 1)
    frame = pd.DataFrame(
        {
            "method": methods,
            "error": errors.mean(axis=1),
            "error_std": errors.std(axis=1, ddof=ddof),
            "test_alignment": alignments.mean(axis=1),
            "test_alignment_std": alignments.std(axis=1, ddof=ddof),
            "fit_seconds": seconds.mean(axis=1),
            "rank": rankdata(errors, axis=0).mean(axis=1),
            **{f"error_split_{r + 1}": split for r, split in enumerate(errors.T)},
        }
    )
    return frame.sort_values(["rank", "error"], kind="stable", ignore_index=True)


def compare(
    problem: Problem,
    methods: Sequence[str],
    splits: Sequence[tuple[Rows, Rows]],
    seed: int,
    bar: Bar,
) -> pd.DataFrame:
    """Fit every method on every split; see `comparison_table`.

    Parameters
    ----------
    problem : Problem
    methods : sequence of str
        Keys of `METHODS`.
    splits : sequence of (ndarray of int, ndarray of int)
        Rows to learn from and to test on, the same for all methods.
    seed : int
    bar : Bar
        It shows the fits.

    Raises
    ------
    InputError
        If a method fails; the message says which.
    """
    found = np.empty((3, len(methods), len(splits)))
    for r, rows in enumerate(splits):
        for m, name in enumerate(methods):
            bar.advance(1, f"{name}, split {r + 1} of {len(splits)}")
            try:
                found[:, m, r] = _measure(problem, name, *rows, seed)
            except ValueError as error:
                raise InputError(f"method '{name}' failed: {one_line(error)}") from error
    return comparison_table(methods, *found)


def _measure(
    problem: Problem, method: str, train: Rows, test: Rows, seed: int
) -> tuple[float, float, float]:
    """Return error and alignment on the test rows, and the time to fit in seconds."""
    X, y, task = problem.features, problem.target, problem.task
    model = make_model(method, problem, train, seed)
    start = perf_counter()
    model.fit(X.iloc[train], y[train], **fit_arguments(model, problem, train))
    seconds = perf_counter() - start
    error = zero_one_loss if task == "classification" else root_mean_squared_error
    alignment = learned_alignment(model, X.iloc[test], y[test], task)
    return float(error(y[test], model.predict(X.iloc[test]))), alignment, seconds

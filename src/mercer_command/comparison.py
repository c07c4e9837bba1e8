"""Comparison of several methods on the same rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import rankdata

from mercer._typing import Array
from mercer_command.errors import InputError, one_line
from mercer_command.fitting import error_of
from mercer_command.methods import learned_alignment, make_model
from mercer_command.problem import Problem, Rows

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Comparison:
    """Results of each method on each split.

    Attributes
    ----------
    methods : tuple of str
        Names, of length n_methods.
    errors, alignments, seconds : ndarray of shape (n_methods, n_splits)
        Error and alignment on the test rows, and the time to fit.
    """

    methods: tuple[str, ...]
    errors: Array
    alignments: Array
    seconds: Array

    @property
    def ranks(self) -> Array:
        """Mean rank by error over the splits, of shape (n_methods,); the best rank is 1."""
        return np.asarray(rankdata(self.errors, axis=0).mean(axis=1))

    def best_first(self) -> list[int]:
        """Return the positions of the methods, sorted by mean rank and then by mean error."""
        return [int(m) for m in np.lexsort((self.errors.mean(axis=1), self.ranks))]

    def as_frame(self) -> DataFrame:
        """Return one row per method, best first: means, deviations, and the error of each split."""
        import pandas as pd

        n_splits = self.errors.shape[1]
        frame = pd.DataFrame(
            {
                "method": self.methods,
                "error": self.errors.mean(axis=1),
                "error_std": standard_deviation(self.errors),
                "test_alignment": self.alignments.mean(axis=1),
                "test_alignment_std": standard_deviation(self.alignments),
                "fit_seconds": self.seconds.mean(axis=1),
                "rank": self.ranks,
                **{f"error_split_{r + 1}": self.errors[:, r] for r in range(n_splits)},
            }
        )
        return frame.iloc[self.best_first()]


def standard_deviation(values: Array) -> Array:
    """Return the standard deviation over the splits, zero for one split; shape (n_methods,)."""
    return np.asarray(np.std(values, axis=1, ddof=1 if values.shape[1] > 1 else 0))


def compare(
    problem: Problem,
    methods: Sequence[str],
    splits: Sequence[tuple[Rows, Rows]],
    *,
    seed: int = 0,
    on_step: Callable[[str], None] = lambda description: None,
) -> Comparison:
    """Fit every method on every split.

    Parameters
    ----------
    problem : Problem
    methods : sequence of str
        Keys of `mercer_command.methods.METHODS`.
    splits : sequence of (ndarray of int, ndarray of int)
        Rows to learn from and to test on, the same for all methods.
    seed : int, default=0
    on_step : callable, default=nothing
        It is called before each fit, with its description.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        If a method fails; the message says which.
    """
    shape = (len(methods), len(splits))
    errors, alignments, seconds = np.empty(shape), np.empty(shape), np.empty(shape)
    for r, (train, test) in enumerate(splits):
        for m, name in enumerate(methods):
            on_step(f"{name}, split {r + 1} of {len(splits)}")
            try:
                errors[m, r], alignments[m, r], seconds[m, r] = _measure(
                    problem, name, train, test, seed
                )
            except ValueError as error:
                raise InputError(f"method '{name}' failed: {one_line(error)}") from error
    return Comparison(tuple(methods), errors, alignments, seconds)


def _measure(
    problem: Problem, method: str, train: Rows, test: Rows, seed: int
) -> tuple[float, float, float]:
    """Return error and alignment on the test rows, and the time to fit in seconds."""
    X, y = problem.features, problem.target
    model = make_model(method, problem, train, seed)
    start = perf_counter()
    model.fit(X.iloc[train], y[train])
    seconds = perf_counter() - start
    error = error_of(problem.task, y[test], model.predict(X.iloc[test]))
    alignment = learned_alignment(model, X.iloc[test], y[test], problem.task)
    return error, alignment, seconds

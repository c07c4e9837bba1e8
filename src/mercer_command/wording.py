"""Figures in words, the same in the terminal and in reports."""

from __future__ import annotations

from math import floor, isinf, isnan, log10

import numpy as np

from mercer_command.baselines import HeldOutError
from mercer_command.comparison import Comparison, standard_deviation
from mercer_command.fitting import INTERVAL_COVERAGE, Fit, Stack
from mercer_command.importance import ColumnImportance
from mercer_command.problem import Problem, Task

NO_BETTER = (
    "on the held-out rows, the model is not better than a constant prediction, beyond what chance "
    "explains"
)
"""What is said of a model that has learned nothing."""

ALIGNMENT_EXPLAINED = (
    "Alignment, from 0 to 1, measures how similar the learned kernel is to the ideal one, which is "
    "computed from the target; a higher alignment does not always mean a lower error."
)
"""What alignments are, beside tables that hold them."""


def format_error(error: float, task: Task, deviation: float | None = None) -> str:
    """Format an error as a percentage, or as a number in the target's unit.

    Parameters
    ----------
    error : float
    task : {"classification", "regression"}
    deviation : float, default=None
        Its standard deviation, which follows a plus-minus sign and has as many decimals.
    """
    if task == "classification":
        digits = ".1%"
    else:
        decimals = 3 - floor(log10(error)) if error > 0 else 0
        digits = f",.{min(max(decimals, 0), 12)}f"
    return " ± ".join(f"{value:{digits}}" for value in (error, deviation) if value is not None)


def describe_problem(problem: Problem) -> str:
    """Describe the size of the problem in a few words."""
    n_rows, n_columns = problem.n_rows or len(problem.features), problem.features.shape[1]
    n_classes = len(np.unique(problem.target))
    kind = f"{n_classes} classes" if problem.task == "classification" else "a response"
    columns = f"{n_columns:,} column{'s' * (n_columns != 1)}"
    return f"{n_rows:,} rows, {columns} to learn from, {kind} to predict"


def error_name(problem: Problem) -> str:
    """Return what the errors of a problem measure.

    Parameters
    ----------
    problem : Problem
    """
    if problem.task == "classification":
        return "Error (share misclassified)"
    return f"Error (RMSE, in {problem.unit})"


def error_cells(found: HeldOutError, task: Task) -> list[str]:
    """Return an error and its confidence interval.

    Parameters
    ----------
    found : HeldOutError
    task : {"classification", "regression"}
    """
    high = "∞" if isinf(found.high) else format_error(found.high, task)
    interval = f"{format_error(found.low, task)} to {high}"
    return [format_error(found.error, task), interval]


def importance_cells(column: ColumnImportance, task: Task) -> list[str]:
    """Return by how much the error rises without a column, and its relevance.

    Parameters
    ----------
    column : ColumnImportance
    task : {"classification", "regression"}
    """
    relevance = "" if isnan(column.relevance) else f"{column.relevance:.1%}"
    if isnan(column.increase):
        return ["not measured", relevance]
    sign = "-" if column.increase < 0 else ""
    return [sign + format_error(abs(column.increase), task, column.deviation), relevance]


def score_lines(fit: Fit) -> list[str]:
    """Return what is known of a model besides its test error, one line each.

    Parameters
    ----------
    fit : Fit
    """
    lines = [f"{fit.n_train:,} training rows"]
    if fit.r2 is not None:
        lines.append(f"R², the explained share of the variance, held-out rows: {fit.r2:.3f}")
    if isinstance(fit.learned, Stack):
        lines += [f"{name}: {value}" for name, value in stack_scores(fit, fit.learned)]
    else:
        found = fit.learned
        lines.append(
            f"alignment with the target: {found.test_alignment:.3f} on held-out rows, "
            f"{found.alignment:.3f} on training rows"
        )
    return lines


def stack_scores(fit: Fit, stack: Stack) -> list[tuple[str, str]]:
    """Return descriptions and values of what stacking estimates besides the test error.

    Parameters
    ----------
    fit : Fit
    stack : Stack
    """
    if fit.problem.task == "classification":
        value = format_error(1.0 - stack.loo_score, fit.problem.task)
        return [("error, leave-one-out, training rows", value)]
    scores = [("R², leave-one-out, training rows", f"{stack.loo_score:.3f}")]
    if stack.covered is not None:
        name = f"held-out responses in {INTERVAL_COVERAGE:.0%} intervals"
        scores.append((name, f"{stack.covered:.1%}"))
    return scores


def comparison_rows(comparison: Comparison, task: Task) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the table of methods, best first.

    Parameters
    ----------
    comparison : Comparison
    task : {"classification", "regression"}
    """
    header = ["Method", "Error", "Alignment", "Fit time", "Rank"]
    several = comparison.errors.shape[1] > 1
    error, alignment = comparison.errors.mean(axis=1), comparison.alignments.mean(axis=1)
    error_std = standard_deviation(comparison.errors)
    alignment_std = standard_deviation(comparison.alignments)
    seconds, ranks = comparison.seconds.mean(axis=1), comparison.ranks
    rows = [
        [
            comparison.methods[m],
            format_error(error[m], task, error_std[m] if several else None),
            f"{alignment[m]:.3f}" + (f" ± {alignment_std[m]:.3f}" if several else ""),
            f"{seconds[m]:.2f} s",
            f"{ranks[m]:.1f}",
        ]
        for m in comparison.best_first()
    ]
    return header, rows


def comparison_explained(comparison: Comparison, task: Task) -> list[str]:
    """Return one line for each column of the table of methods.

    Parameters
    ----------
    comparison : Comparison
    task : {"classification", "regression"}
    """
    n_splits = comparison.errors.shape[1]
    measure = "share of misclassified test rows"
    if task == "regression":
        measure = "root mean squared error of test rows, in the target's unit"
    spread = f", mean ± standard deviation over {n_splits} splits" if n_splits > 1 else ""
    return [
        "How: where kernels, their widths and their weights come from",
        f"Error: {measure}{spread}",
        "Alignment: similarity of the learned kernel to the ideal one on test rows, from 0 to 1",
        "Fit time: seconds to learn from the training rows, mean over the splits",
        "Rank: place by error among the methods, mean over the splits; 1 is the best",
    ]

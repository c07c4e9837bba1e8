"""HTML reports of one fit and of a comparison."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay, PredictionErrorDisplay
from sklearn.pipeline import Pipeline

from mercer._cli import html
from mercer._cli.comparison import Comparison, standard_deviation
from mercer._cli.fitting import ERROR_NAMES, INTERVAL_COVERAGE, Fit, LearnedKernel, Stack
from mercer._cli.methods import METHODS
from mercer._cli.problem import Problem, Task
from mercer.inspection import (
    AlignmentPathDisplay,
    FeatureRelevanceDisplay,
    GramMatrixDisplay,
    KernelWeightsDisplay,
)
from mercer.inspection._display import BAR_COLOR, feature_relevance, learned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_KERNELS = 40
"""The table of kernels has at most this many rows; the report says how many kernels follow."""

_ALIGNMENT_EXPLAINED = (
    "Alignment, from 0 to 1, measures how similar the learned kernel is to the ideal one, which is "
    "computed from the target. Many methods maximize it. A higher alignment does not always mean a "
    "lower error, therefore the report shows both."
)
"""This paragraph explains the figures called alignment."""

_SHARES_EXPLAINED = (
    "A share is a kernel's part of the variance of the learned kernel over the training rows. "
    "A wide kernel hardly varies, so that it can have a large weight and a small share."
)
"""This paragraph explains the column of shares."""


_PRICES_EXPLAINED = (
    "Stacking combines the predictions of several kernels. A price measures each by itself, "
    "without a test set: of ridge regression, the mean squared leave-one-out error relative to "
    "that of the mean, or of the class frequencies; of a support vector machine, the share of rows "
    "that it misclassifies out of fold. Weights combine the predictions; they do not follow prices "
    "alone, because kernels that err on different rows complement each other."
)
"""This paragraph explains the table of candidates."""


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
    return f"{n_rows:,} rows, {n_columns} columns to learn from, {kind} to predict"


def comparison_rows(comparison: Comparison, task: Task) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the table of methods, best first."""
    header = ["Method", "Error", "Alignment", "Fit time", "Rank"]
    error, alignment = comparison.errors.mean(axis=1), comparison.alignments.mean(axis=1)
    error_std = standard_deviation(comparison.errors)
    alignment_std = standard_deviation(comparison.alignments)
    seconds, ranks = comparison.seconds.mean(axis=1), comparison.ranks
    rows = [
        [
            comparison.methods[m],
            format_error(error[m], task, error_std[m]),
            f"{alignment[m]:.3f} ± {alignment_std[m]:.3f}",
            f"{seconds[m]:.2f} s",
            f"{ranks[m]:.1f}",
        ]
        for m in comparison.best_first()
    ]
    return header, rows


def stack_scores(fit: Fit, stack: Stack) -> list[tuple[str, str]]:
    """Return descriptions and values of what stacking estimates besides the test error."""
    if fit.problem.task == "classification":
        return [("error, leave-one-out", format_error(1.0 - stack.loo_score, fit.problem.task))]
    scores = [("R², leave-one-out", f"{stack.loo_score:.3f}")]
    if stack.covered is not None:
        scores.append((f"responses in {INTERVAL_COVERAGE:.0%} intervals", f"{stack.covered:.1%}"))
    return scores


def write_fit_report(fit: Fit, path: Path, notes: Iterable[str] = ()) -> None:
    """Write the report of one fit: errors, kernels and figures.

    Parameters
    ----------
    fit : Fit
    path : Path
        The HTML file.
    notes : iterable of str, default=()
        Remarks on the run.
    """
    found = fit.learned
    body = [
        html.cards(_fit_cards(fit)),
        *(_stack_section(found) if isinstance(found, Stack) else _kernel_section(found)),
        html.heading("Figures"),
        html.figures(_fit_figures(fit)),
        html.notes_section(notes),
    ]
    method = f"Learner {fit.learner}: {METHODS[fit.learner].description}"
    lead = f"{method}. {describe_problem(fit.problem)}."
    html.write_page(path, f"A kernel to predict {fit.problem.name}", lead, body)


def write_comparison_report(
    comparison: Comparison, problem: Problem, path: Path, notes: Iterable[str] = ()
) -> None:
    """Write the report of a comparison: its table, and figures of error and alignment.

    Parameters
    ----------
    comparison : Comparison
    problem : Problem
    path : Path
        The HTML file.
    notes : iterable of str, default=()
        Remarks on the run.
    """
    n_splits = comparison.errors.shape[1]
    header, rows = comparison_rows(comparison, problem.task)
    rows = [[row[0], METHODS[row[0]].description, *row[1:]] for row in rows]
    body = [
        html.paragraph(
            f"The table shows means over {n_splits} split{'s' * (n_splits > 1)} into training rows "
            "and test rows, the same for every method; a standard deviation follows each ±. Error "
            "and alignment are those of the test rows. The lowest error has rank 1."
        ),
        html.table([header[0], "How", *header[1:]], rows, numeric=range(2, 6), best=0),
        html.paragraph(_ALIGNMENT_EXPLAINED),
        html.heading("Figures"),
        html.figures(_comparison_figures(comparison, problem.task)),
        html.notes_section(notes),
    ]
    title = f"Comparison of methods that predict {problem.name}"
    html.write_page(path, title, f"{describe_problem(problem)}.", body)


def _kernel_section(found: LearnedKernel) -> list[str]:
    rows = [
        [str(rank), description, f"{weight:.4f}", f"{share:.1%}"]
        for rank, (description, weight, share) in enumerate(found.kernels[:_MAX_KERNELS], 1)
    ]
    hidden = len(found.kernels) - len(rows)
    return [
        html.paragraph(_ALIGNMENT_EXPLAINED),
        html.heading("Kernels found"),
        html.table(["#", "Kernel", "Weight", "Share"], rows, numeric={0, 2, 3}),
        html.paragraph(_SHARES_EXPLAINED),
        html.paragraph(f"{hidden} more kernels have smaller shares.") if hidden else "",
    ]


def _stack_section(found: Stack) -> list[str]:
    rows = [
        [c.description, c.kernel.describe(), f"{c.alpha:.3g}", f"{c.price:.4f}", f"{c.weight:.3f}"]
        for c in found.candidates
    ]
    return [
        html.heading("Candidates"),
        html.table(["Candidate", "Kernel", "Penalty", "Price", "Weight"], rows, numeric={2, 3, 4}),
        html.paragraph(_PRICES_EXPLAINED),
    ]


def _fit_cards(fit: Fit) -> list[tuple[str, str]]:
    task = fit.problem.task
    entries = [
        (format_error(fit.error, task), f"{ERROR_NAMES[task]} on {len(fit.test):,} held-out rows"),
        (format_error(fit.baseline, task), "error of the best constant prediction"),
    ]
    n_rows, found = f"{fit.n_train:,} training rows", fit.learned
    if isinstance(found, Stack):
        scores = stack_scores(fit, found)
        entries += [(scores[0][1], f"{scores[0][0]}, on the {n_rows}")]
        entries += [(value, f"{name}, held-out rows") for name, value in scores[1:]]
    else:
        entries += [
            (f"{found.test_alignment:.3f}", "alignment on the held-out rows"),
            (f"{found.alignment:.3f}", f"alignment on the {n_rows}"),
        ]
    if fit.r2 is not None:
        entries.insert(2, (f"{fit.r2:.3f}", "R², the explained share of the variance"))
    return entries


def _fit_figures(fit: Fit) -> list[tuple[str, str]]:
    """Draw the figures of a fit, each with its caption."""
    model = fit.model
    X, y = fit.problem.features.iloc[fit.test], fit.problem.target[fit.test]
    is_stack = isinstance(fit.learned, Stack)
    drawn = [
        (
            html.figure(lambda ax: _draw_kernels(fit, ax)),
            "The candidates that are combined."
            if is_stack
            else "The base kernels of the learned kernel.",
        ),
        (
            html.figure(lambda ax: GramMatrixDisplay.from_estimator(model, X, y, ax=ax)),
            "The learned kernel between held-out rows, sorted by their target. Bright blocks, or a "
            "bright band, along the diagonal mean that rows of equal target are similar.",
        ),
    ]
    if not is_stack and len(learned(model).history_) > 1:
        caption = "Progress of the search after each step, on the training rows."
        drawn.append((html.figure(lambda ax: _draw_path(model, ax)), caption))
    # A kernel of one width depends equally on all columns, which needs no figure.
    if np.ptp(feature_relevance(model)) > 0:
        kernels = "kernels depend" if is_stack else "kernel depends"
        caption = f"How strongly the {kernels} on each column, as encoded."
        bars = html.figure(lambda ax: FeatureRelevanceDisplay.from_estimator(model, ax=ax))
        drawn.append((bars, caption))

    def outcome(ax: Axes) -> None:
        labels = {"xlabel": "Predicted", "ylabel": "True", "title": "Predictions, held-out rows"}
        if fit.problem.task == "classification":
            display = ConfusionMatrixDisplay.from_estimator(
                model, X, y, ax=ax, cmap="Blues", colorbar=False
            )
        else:
            display = PredictionErrorDisplay.from_estimator(
                model, X, y, ax=ax, kind="actual_vs_predicted", random_state=0
            )
        display.ax_.set(**labels)

    return [*drawn, (html.figure(outcome), "Predictions on the diagonal are correct.")]


def _draw_kernels(fit: Fit, ax: Axes) -> None:
    """Draw the weights of a stack, or the shares of the kernels in a learned kernel."""
    if isinstance(fit.learned, Stack):
        KernelWeightsDisplay.from_estimator(fit.model, ax=ax)
        return
    labels, _, shares = zip(*fit.learned.kernels, strict=True)
    KernelWeightsDisplay(labels, shares, quantity="Share").plot(ax)


def _draw_path(model: Pipeline, ax: Axes) -> None:
    """Draw the alignment after each step, or the objective of one-stage learning."""
    history = learned(model).history_
    if hasattr(history[0], "alignment"):
        AlignmentPathDisplay.from_estimator(model, ax=ax)
        return
    objectives = [step.objective for step in history]
    ax.plot(range(1, len(objectives) + 1), objectives, marker="o", color=BAR_COLOR)
    ax.locator_params(axis="x", integer=True)
    ax.set(xlabel="Step", ylabel="Objective (training)", title="Objective of the predictor")


def _comparison_figures(comparison: Comparison, task: Task) -> list[tuple[str, str]]:
    """Draw the error of each method, and the errors against the alignments."""
    order, unit = comparison.best_first(), 100.0 if task == "classification" else 1.0
    names = [comparison.methods[m] for m in order]
    errors = unit * comparison.errors[order]
    deviations = unit * standard_deviation(comparison.errors)[order]
    alignments = comparison.alignments[order].mean(axis=1)
    label = "Test error, %" if task == "classification" else "Test error (RMSE, target's unit)"

    def by_method(ax: Axes) -> None:
        positions = range(len(names))
        ax.errorbar(
            errors.mean(axis=1), positions, xerr=deviations, fmt="o", color=BAR_COLOR, capsize=3
        )
        for split in errors.T:
            ax.plot(split, np.add(positions, 0.22), ".", color=BAR_COLOR, alpha=0.4)
        ax.set_yticks(positions, names)
        ax.invert_yaxis()
        ax.grid(axis="x")
        ax.set(xlabel=label, title="Error of each method")

    def by_alignment(ax: Axes) -> None:
        # Hollow markers of different shapes can be told apart where methods coincide.
        for name, marker, x, y in zip(
            names, cycle("osD^v<>PhXpd*8H"), alignments, errors.mean(axis=1), strict=False
        ):
            ax.plot(x, y, marker, fillstyle="none", markeredgewidth=1.6, label=name)
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        ax.grid()
        ax.set(xlabel="Centered alignment on test rows", ylabel=label, title="Error and alignment")

    return [
        (
            html.figure(by_method),
            "Means and standard deviations of the error, and below them the error of each split.",
        ),
        (
            html.figure(by_alignment),
            "Low errors are at the bottom, high alignments at the right; they need not coincide.",
        ),
    ]

"""The two reports: of one fit, and of a comparison."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay, PredictionErrorDisplay
from sklearn.pipeline import Pipeline

from mercer._cli.comparison import Comparison, spread
from mercer._cli.fitting import ERROR_NAMES, Fit
from mercer._cli.html import cards, figures, heading, paragraph, picture, remarks, table, write_page
from mercer._cli.methods import METHODS
from mercer._cli.tables import Problem, Task
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
"""Rows of the table of kernels; the rest is named by its number."""

ALIGNMENT_IN_WORDS = (
    "Alignment, from 0 to 1, measures how much the learned kernel resembles the ideal one, which "
    "knows the target. Many methods are guided by it; a higher alignment does not always mean a "
    "lower error, so both are given."
)

SHARE_IN_WORDS = (
    "A share is a kernel's part in how much the learned kernel varies over the rows learned from. "
    "A wide kernel hardly varies, so that a large weight can be a small share."
)


def show_error(error: float, task: Task, spread: float | None = None) -> str:
    """Format an error as people read it: a percentage, or a number in the target's unit.

    Parameters
    ----------
    error : float
    task : {"classification", "regression"}
    spread : float, default=None
        Follows behind a plus-minus sign, with as many decimals.
    """
    if task == "classification":
        digits = ".1%"
    else:
        decimals = 3 - floor(log10(error)) if error > 0 else 0
        digits = f",.{min(max(decimals, 0), 12)}f"
    return " ± ".join(f"{value:{digits}}" for value in (error, spread) if value is not None)


def describe_problem(problem: Problem) -> str:
    """Give the size of the problem in a few words."""
    n_rows, n_columns = problem.features.shape
    n_classes = len(np.unique(problem.target))
    kind = f"{n_classes} classes" if problem.task == "classification" else "a response"
    return f"{n_rows:,} rows, {n_columns} columns to learn from, {kind} to predict"


def comparison_rows(comparison: Comparison, task: Task) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table of methods, best first."""
    header = ["Method", "Error", "Alignment", "Fit time", "Rank"]
    error, alignment = comparison.errors.mean(axis=1), comparison.alignments.mean(axis=1)
    swing, drift = spread(comparison.errors), spread(comparison.alignments)
    seconds, ranks = comparison.seconds.mean(axis=1), comparison.ranks
    rows = [
        [
            comparison.methods[m],
            show_error(error[m], task, swing[m]),
            f"{alignment[m]:.3f} ± {drift[m]:.3f}",
            f"{seconds[m]:.2f} s",
            f"{ranks[m]:.1f}",
        ]
        for m in comparison.best_first()
    ]
    return header, rows


def write_fit_report(fit: Fit, path: Path, notes: Iterable[str] = ()) -> None:
    """Write the report of one fit: figures, kernels and pictures.

    Parameters
    ----------
    fit : Fit
    path : Path
        The HTML file.
    notes : iterable of str, default=()
        What the reader should know of the run.
    """
    rows = [
        [str(rank), words, f"{weight:.4f}", f"{share:.1%}"]
        for rank, (words, weight, share) in enumerate(fit.kernels[:_MAX_KERNELS], 1)
    ]
    hidden = len(fit.kernels) - len(rows)
    body = [
        cards(_fit_cards(fit)),
        paragraph(ALIGNMENT_IN_WORDS),
        heading("Kernels found"),
        table(["#", "Kernel", "Weight", "Share"], rows, numeric={0, 2, 3}),
        paragraph(SHARE_IN_WORDS),
        paragraph(f"And {hidden} more of smaller share.") if hidden else "",
        heading("Pictures"),
        figures(_fit_pictures(fit)),
        remarks(notes),
    ]
    lead = f"Learner {fit.learner}: {METHODS[fit.learner].words}. {describe_problem(fit.problem)}."
    write_page(path, f"A kernel to predict {fit.problem.name}", lead, body)


def write_comparison_report(
    comparison: Comparison, problem: Problem, path: Path, notes: Iterable[str] = ()
) -> None:
    """Write the report of a comparison: its table, and pictures of error and alignment.

    Parameters
    ----------
    comparison : Comparison
    problem : Problem
    path : Path
        The HTML file.
    notes : iterable of str, default=()
        What the reader should know of the run.
    """
    n_splits = comparison.errors.shape[1]
    header, rows = comparison_rows(comparison, problem.task)
    rows = [[row[0], METHODS[row[0]].words, *row[1:]] for row in rows]
    body = [
        paragraph(
            f"Means over {n_splits} split{'s' * (n_splits > 1)} into rows to learn from and rows "
            "to test on, the same for every method; ± is one standard deviation. Error and "
            "alignment are of the test rows. Rank 1 is the lowest error."
        ),
        table([header[0], "How", *header[1:]], rows, numeric=range(2, 6), best=0),
        paragraph(ALIGNMENT_IN_WORDS),
        heading("Pictures"),
        figures(_comparison_pictures(comparison, problem.task)),
        remarks(notes),
    ]
    title = f"Methods compared at predicting {problem.name}"
    write_page(path, title, f"{describe_problem(problem)}.", body)


def _fit_cards(fit: Fit) -> list[tuple[str, str]]:
    task = fit.problem.task
    entries = [
        (show_error(fit.error, task), f"{ERROR_NAMES[task]} on {len(fit.test):,} rows held out"),
        (show_error(fit.baseline, task), "the same, of the best constant prediction"),
        (f"{fit.test_alignment:.3f}", "alignment on the rows held out"),
        (f"{fit.alignment:.3f}", f"alignment on the {len(fit.train):,} rows learned from"),
    ]
    if fit.r2 is not None:
        entries.insert(2, (f"{fit.r2:.3f}", "R², share of the variance explained"))
    return entries


def _fit_pictures(fit: Fit) -> list[tuple[str, str]]:
    """Pictures of a fit, each with its caption."""
    model = fit.model
    X, y = fit.problem.features.iloc[fit.test], fit.problem.target[fit.test]
    labels, _, shares = zip(*fit.kernels, strict=True)
    pictures = [
        (
            picture(lambda ax: KernelWeightsDisplay(labels, shares, quantity="Share").plot(ax)),
            "What the learned kernel is made of.",
        ),
        (
            picture(lambda ax: GramMatrixDisplay.from_estimator(model, X, y, ax=ax)),
            "The learned kernel between rows held out. Blocks, or a band, along the diagonal: to "
            "the kernel, rows of equal target look alike.",
        ),
    ]
    if len(learned(model).history_) > 1:
        words = "What each step of the search brought, on the rows learned from."
        pictures.append((picture(lambda ax: _draw_path(model, ax)), words))
    # A kernel of one width reads all columns alike: nothing to show.
    if np.ptp(feature_relevance(model)) > 0:
        words = "How strongly the kernel reads each column, all scaled to unit variance."
        bars = picture(lambda ax: FeatureRelevanceDisplay.from_estimator(model, ax=ax))
        pictures.append((bars, words))

    def outcome(ax: Axes) -> None:
        title = {"xlabel": "Predicted", "ylabel": "True", "title": "Predictions, rows held out"}
        if fit.problem.task == "classification":
            shown = ConfusionMatrixDisplay.from_estimator(
                model, X, y, ax=ax, cmap="Blues", colorbar=False
            )
        else:
            shown = PredictionErrorDisplay.from_estimator(
                model, X, y, ax=ax, kind="actual_vs_predicted", random_state=0
            )
        shown.ax_.set(**title)

    return [*pictures, (picture(outcome), "On the diagonal, the prediction is right.")]


def _draw_path(model: Pipeline, ax: Axes) -> None:
    """Draw the alignment after each step; in one-stage learning, the objective that it lowers."""
    history = learned(model).history_
    if hasattr(history[0], "alignment"):
        AlignmentPathDisplay.from_estimator(model, ax=ax)
        return
    objectives = [step.objective for step in history]
    ax.plot(range(1, len(objectives) + 1), objectives, marker="o", color=BAR_COLOR)
    ax.locator_params(axis="x", integer=True)
    ax.set(xlabel="Step", ylabel="Objective (training)", title="Objective of the predictor")


def _comparison_pictures(comparison: Comparison, task: Task) -> list[tuple[str, str]]:
    """Error of each method, and error against alignment."""
    order, unit = comparison.best_first(), 100.0 if task == "classification" else 1.0
    names = [comparison.methods[m] for m in order]
    errors, spreads = unit * comparison.errors[order], unit * spread(comparison.errors)[order]
    alignments = comparison.alignments[order].mean(axis=1)
    label = "Test error, %" if task == "classification" else "Test error (RMSE, target's unit)"

    def by_method(ax: Axes) -> None:
        positions = range(len(names))
        ax.errorbar(
            errors.mean(axis=1), positions, xerr=spreads, fmt="o", color=BAR_COLOR, capsize=3
        )
        for split in errors.T:
            ax.plot(split, np.add(positions, 0.22), ".", color=BAR_COLOR, alpha=0.4)
        ax.set_yticks(positions, names)
        ax.invert_yaxis()
        ax.grid(axis="x")
        ax.set(xlabel=label, title="Error of each method")

    def by_alignment(ax: Axes) -> None:
        # Hollow and of different shapes, as methods often meet in one point.
        for name, marker, x, y in zip(
            names, cycle("osD^v<>PhXpd*8H"), alignments, errors.mean(axis=1), strict=False
        ):
            ax.plot(x, y, marker, fillstyle="none", markeredgewidth=1.6, label=name)
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        ax.grid()
        ax.set(xlabel="Centered alignment on test rows", ylabel=label, title="Error and alignment")

    return [
        (
            picture(by_method),
            "Means, standard deviations, and below them each split's error.",
        ),
        (
            picture(by_alignment),
            "Down and right is better. Higher alignment need not mean less error.",
        ),
    ]

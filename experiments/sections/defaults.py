"""Section on every data set beside a grid search."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from experiments.problems import Array
from experiments.reporting.formatting import mean_and_error
from experiments.reporting.ranking import gap
from experiments.reporting.results import Results
from experiments.reporting.section import Section, table
from experiments.reporting.statistics import compare_methods, win_tie_loss

METHODS = ("grid search", "default", "CA-1D", "HSIC")
OURS = METHODS[1:]


def section(results: Results) -> Section:
    """Write errors and times."""
    body = f"""Every data set: at most 400 training samples, at most half of the set, and at most
2,000 test samples; features are standardized, missing values filled in. *grid search* is the common
baseline, `GridSearchCV` over nine widths and seven values of C, or alpha, in five folds, of
scikit-learn's `SVC`, or of `KernelRidge` for responses. *default* is `TwoStageClassifier()` or
`TwoStageRegressor()`, which choose a Gaussian or product Laplacian kernel by leave-one-out errors;
*CA-1D* is the same with `ContinuousAlignment()`, and *HSIC* with one width of the largest HSIC,
`KernelOptimization()`. All methods see the training samples only. Errors are in %, with their
standard errors; for responses the error is the root mean squared error over the standard deviation
of the test responses. + and - where a method is significantly better or worse than the grid search
(two-tailed corrected resampled t-test at 0.05). Seconds include all choices of parameters.

{errors_and_times(results)}
{summary(results)}

![Error and time of learned kernels, against the grid search](figure:defaults)
"""
    return Section(body, figures={"defaults": figure(results)})


def errors_and_times(results: Results) -> str:
    """Return a table with one row for each set."""
    marks = {-1: " +", 0: "", 1: " -"}
    timed = [method for method in METHODS if "seconds" in results.frame]
    rows = []
    for problem in results.problems:
        row = [problem]
        for method in METHODS:
            sign = compare_methods(results, "error", problem, method, "grid search").sign
            row.append(
                mean_and_error(results.values("error", problem, method), 100.0) + marks[sign]
            )
        row += [mean_and_error(results.values("seconds", problem, m), digits=2) for m in timed]
        rows.append(row)
    return table(["set", *METHODS, *(f"{method}, s" for method in timed)], rows)


def summary(results: Results) -> str:
    """Return wins, losses and ratios of times, as text."""
    said = []
    for method in OURS:
        wins, ties, losses = win_tie_loss(results, "error", method, "grid search")
        text = (
            f"{method} is significantly better than the grid search on {wins} sets, worse on "
            f"{losses}, neither on {ties} ({gap(results, method, 'grid search').description})"
        )
        ratios = speed(results, method)
        if ratios.size:
            text += f"; the grid search takes {np.median(ratios):.3g} times as long (median)"
        said.append(text)
    return "; ".join(said) + "."


def speed(results: Results, method: str) -> Array:
    """Return how many times as long the grid search takes, by set."""
    ratios = [
        results.mean("seconds", p, "grid search") / results.mean("seconds", p, method)
        for p in results.problems
    ]
    return np.array([ratio for ratio in ratios if np.isfinite(ratio)])


def figure(results: Results) -> Figure:
    """Draw errors against errors, and times against times."""
    drawn = Figure(figsize=(8.4, 3.8), layout="constrained")
    for position, (measure, scale, unit) in enumerate(
        (("error", 100.0, "error, %"), ("seconds", 1.0, "seconds"))
    ):
        axes = drawn.add_subplot(1, 2, position + 1)
        for method, color in zip(OURS, ("tab:green", "tab:blue", "tab:red"), strict=True):
            pairs = np.array(
                [
                    [results.mean(measure, p, "grid search"), results.mean(measure, p, method)]
                    for p in results.problems
                ]
            )
            known = np.isfinite(pairs).all(axis=1) & (pairs > 0.0).all(axis=1)
            x, y = scale * pairs[known].T
            axes.scatter(x, y, s=18, color=color, label=method)
        low, high = axes.get_xlim()
        axes.axline((low, low), (high, high), color="black", lw=0.8)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(f"grid search: {unit}")
        axes.set_ylabel(f"learned kernel: {unit}")
        axes.legend()
    return drawn

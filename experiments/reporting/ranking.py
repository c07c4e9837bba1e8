"""Methods ranked over tasks, beside the ranks and times of Afkanpour et al. (2013), Table 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.problems import Array
from experiments.reporting.figures import COLORS
from experiments.reporting.results import (
    LEVEL,
    Results,
    median_ranks,
    signed_rank_test,
    standard_error,
)
from experiments.reporting.section import PUBLISHED, by_name, mean_and_error, table
from experiments.reporting.verdicts import Compared

# The methods of the paper, in its order.
METHODS = ("CA-1D", "CA-nD", "CR-1D", "CR-nD", "DA", "D1", "D2", "DU")

# The median ranks of the paper.
RANKS = PUBLISHED["ranks"]
# The training times of the paper, with their standard errors.
SECONDS = PUBLISHED["seconds"]

# The names of the experiments in the paper's table.
COLUMNS = {"digits": "MNIST", "letters": "Letter", "miscellany": "Misc. data"}


@dataclass(frozen=True)
class Gap:
    """The difference in error between two methods, over tasks.

    Attributes
    ----------
    points : float
        The mean difference of the tasks' mean errors, in percentage points.
    lower, n_tasks : int
        The number of tasks on which the first method's error is lower, and of all tasks.
    p_value : float
        The p-value of Wilcoxon's two-sided signed-rank test over the tasks; 1 for a single task.
    """

    points: float
    lower: int
    n_tasks: int
    p_value: float

    @property
    def clearly_lower(self) -> bool:
        """Whether the first method's error is significantly lower."""
        return self.points < 0.0 and self.p_value < LEVEL

    @property
    def clear(self) -> Compared:
        """The condition that the first method's error is significantly lower."""
        sign = int(np.sign(self.points)) if self.p_value < LEVEL else 0
        return Compared(self.clearly_lower, -sign, by_mean=False)

    @property
    def description(self) -> str:
        """Describe the gap in a phrase."""
        return (
            f"{self.points:+.2f} points, lower on {self.lower} of {self.n_tasks}, p = "
            f"{self.p_value:.2g}"
        )


def gap(results: Results, first: str, second: str, problems: Sequence[str] | None = None) -> Gap:
    """Compare the errors of two methods over tasks, on the repeats that both have."""
    rows = results.problems if problems is None else problems
    found_pairs = [results.pairs("error", problem, first, second) for problem in rows]
    both = [np.mean(pair, axis=1) for pair in found_pairs if pair[0].size]
    means = 100.0 * np.reshape(both, (-1, 2))
    differences = means[:, 0] - means[:, 1]
    if not differences.size:
        return Gap(float("nan"), 0, 0, 1.0)
    lower = int((differences < 0.0).sum())
    return Gap(float(differences.mean()), lower, differences.size, signed_rank_test(differences))


def gap_table(
    results: Results,
    first: Sequence[str],
    second: Sequence[str],
    problems: Sequence[str] | None = None,
) -> str:
    """Return a table of the gaps from some methods (rows) to others (columns), with its head."""
    others = present(results, second)
    rows = []
    for one in present(results, first):
        gaps = [gap(results, one, other, problems) for other in others]
        cells = [
            f"{each.points:+.2f} ({each.lower}/{each.n_tasks}, {each.p_value:.2g})"
            if one != other and each.n_tasks
            else ""
            for other, each in zip(others, gaps, strict=True)
        ]
        rows.append([one, *cells])
    return f"{GAPS}\n\n{table(['row minus column', *others], rows)}"


# The text above a `gap_table`.
GAPS = (
    "The next table shows differences in error, in percentage points. The brackets contain the\n"
    "number of tasks on which the row has the lower error, and the p-value of Wilcoxon's test:"
)


def present(results: Results, methods: Sequence[str] = METHODS) -> list[str]:
    """Return those of some methods that have records."""
    return [name for name in methods if name in results.methods]


def ranks(
    results: Results, methods: Sequence[str] = METHODS, problems: Sequence[str] | None = None
) -> pd.Series:
    """Return the median over tasks of each method's rank by its mean error.

    On each task, means are over the repeats that all of the methods have.
    """
    rows = results.problems if problems is None else list(problems)
    names = present(results, methods)
    means = {}
    for task in rows:
        errors = {name: results.series("error", task, name) for name in names}
        known = {name: series.astype(float) for name, series in errors.items() if len(series)}
        means[task] = pd.DataFrame(known).dropna().mean()
    return median_ranks(pd.DataFrame(means).T.reindex(columns=names))


def ranks_with(
    results: Results, instead: Mapping[str, str], problems: Sequence[str] | None = None
) -> str:
    """Return median ranks as text, some of the paper's methods replaced by other settings."""
    return by_name(ranks(results, replaced(METHODS, instead), problems), "g")


def replaced(methods: Sequence[str], instead: Mapping[str, str]) -> list[str]:
    """Return names of methods, some of them replaced by other settings."""
    return [instead.get(name, name) for name in methods]


def of_tasks(
    results: Results, measure: str, method: str, problems: Sequence[str] | None = None
) -> Array:
    """Return the mean of a measure on each task that has it."""
    rows = results.problems if problems is None else problems
    means = np.array([results.mean(measure, problem, method) for problem in rows])
    return means[np.isfinite(means)]


def error_table(
    results: Results, problems: Sequence[str] | None = None, reference: str = "CA-1D"
) -> str:
    """Return errors in % of methods (rows) on tasks (columns), and gaps to a reference."""
    tasks = results.problems if problems is None else list(problems)
    rows = []
    for method in results.methods:
        means = [100.0 * results.mean("error", task, method) for task in tasks]
        cells = [f"{mean:.1f}" if np.isfinite(mean) else "" for mean in means]
        pairs = [results.pairs("error", task, method, reference) for task in tasks]
        less = [100.0 * np.mean(one - other) for one, other in pairs if one.size]
        gaps = "" if method == reference else mean_and_error(np.array(less), digits=2)
        rows.append([method, *cells, f"{np.nanmean(means):.2f}", gaps])
    return table(["error, %", *tasks, "mean", f"minus {reference}"], rows)


def rank_table(results: Results, name: str, problems: Sequence[str] | None = None) -> str:
    """Return median ranks and times of the paper's methods beside the paper's own.

    Parameters
    ----------
    results : Results
    name : {"digits", "letters", "miscellany"}
    problems : sequence of str, default=None
        The tasks; all if None.
    """
    found = ranks(results, problems=problems)
    timed = results.timed and name in SECONDS
    header = ["", "median rank", "paper"]
    header += ["seconds", "paper", "times DU", "paper"] if timed else []
    rows = []
    for method in found.index:
        cells = [method, f"{found[method]:g}", f"{RANKS[name][method]:g}"]
        if timed:
            seconds = of_tasks(results, "seconds", method)
            theirs, error = SECONDS[name][method]
            base = of_tasks(results, "seconds", "DU").mean()
            cells += [
                mean_and_error(seconds, digits=3),
                f"{theirs:g} ± {error:g}",
                f"{seconds.mean() / base:.1f}",
                f"{theirs / SECONDS[name]['DU'][0]:.1f}",
            ]
        rows.append(cells)
    return table(header, rows)


def table_2(results: Mapping[str, Results]) -> str:
    """Return Table 2 of the paper: median ranks and times, each beside the paper's in brackets.

    Parameters
    ----------
    results : dict of str to Results
        The results of those of "digits", "letters" and "miscellany" that have records.
    """
    found = {name: results[name] for name in COLUMNS if name in results}
    header = ["", *(f"rank, {COLUMNS[name]}" for name in found)]
    timed = [name for name in found if name in SECONDS and found[name].timed]
    header += [f"seconds, {COLUMNS[name]}" for name in timed]
    positions = {
        name: ranks(one, problems=[task for task in one.problems if not task.endswith(", raw")])
        for name, one in found.items()
    }
    rows = []
    for method in METHODS:
        cells = [
            f"{position[method]:g} ({RANKS[name][method]:g})" if method in position else ""
            for name, position in positions.items()
        ]
        for name in timed:
            seconds = of_tasks(found[name], "seconds", method)
            known = seconds.size and method in SECONDS[name]
            cells.append(
                f"{mean_and_error(seconds, digits=3)} ({SECONDS[name][method][0]:g})"
                if known
                else ""
            )
        rows.append([method, *cells])
    return table(header, rows)


def bars(
    results: Results,
    measure: str = "error",
    label: str = "test error, %",
    *,
    scale: float = 100.0,
    columns: int = 4,
) -> Figure:
    """Return a panel of bars for each task, with the paper's methods and the grid search."""
    tasks = results.problems
    methods = present(results, (*METHODS, "grid search"))
    methods = [name for name in methods if of_tasks(results, measure, name, tasks).size]
    rows = -(-len(tasks) // columns)
    figure = Figure(figsize=(3.0 * columns, 2.2 * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, task in zip(axes, tasks, strict=False):
        values = [scale * results.values(measure, task, method) for method in methods]
        heights = [value.mean() if value.size else 0.0 for value in values]
        errors = [standard_error(value) for value in values]
        colors = [COLORS[method] for method in methods]
        panel.bar(range(len(methods)), heights, yerr=errors, color=colors, capsize=2)
        panel.set_title(task, fontsize=10)
        panel.set_xticks(range(len(methods)), methods, rotation=90, fontsize=7)
        panel.tick_params(axis="y", labelsize=7)
    for panel in axes[: len(tasks) : columns]:
        panel.set_ylabel(label, fontsize=8)
    for panel in axes[len(tasks) :]:
        panel.set_visible(False)
    return figure

"""The tables of the page on tables of mixed types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from experiments.reporting.formatting import listed, mean_and_error
from experiments.reporting.ranks_over_tables import Ranking, holm, rank
from experiments.reporting.section import table
from experiments.reporting.table_results import REFERENCE, Group, geometric_mean, table_of


def ratio_table(groups: Mapping[str, Group], methods: Sequence[str]) -> str:
    """Return geometric means of the ratio of errors to the reference's, by method and group."""
    rows = []
    for method in methods:
        cells = []
        for found in groups.values():
            ratios = found.ratios(method)
            number = "" if len(ratios) == len(found.problems) else f" ({len(ratios)})"
            cells.append(f"{geometric_mean(ratios):.3f}{number}" if len(ratios) else "-")
        rows.append([method, *cells])
    return table([f"error / {REFERENCE}'s", *groups], rows)


def win_table(groups: Mapping[str, Group], ours: Sequence[str], others: Sequence[str]) -> str:
    """Return wins, ties and losses by mean error, significant ones, and p-values over tables."""
    rows = []
    for method in ours:
        columns = [win_cells(found, method, others) for found in groups.values()]
        for place, other in enumerate(others):
            if other != method:
                rows.append([method, other, *(column[place] for column in columns)])
    return table(["", "against", *groups], rows, text=True)


def win_cells(found: Group, method: str, others: Sequence[str]) -> list[str]:
    """Return the cells of one method and group, p-values adjusted for the number of others."""
    tried = [other for other in others if other != method and found.both(method, other)]
    p_values = np.array([found.p_value(method, other) for other in tried])
    adjusted = dict(zip(tried, holm(p_values), strict=True))
    return [
        f"{'-'.join(map(str, found.lower(method, other)))} "
        f"({'-'.join(map(str, found.significant(method, other)))}), p = {adjusted[other]:.2g}"
        if other in adjusted
        else "-"
        for other in others
    ]


def error_table(found: Group, ours: str) -> str:
    """Return mean errors, and where a method differs significantly from ours."""
    scale, digits = (100.0, 1) if found.classes else (1.0, 3)

    def cell(problem: str, method: str) -> str:
        values = found.results.values("error", problem, method)
        sign = 0
        if method != ours and found.results.values("error", problem, ours).size:
            sign = found.comparison(problem, ours, method).sign
        return mean_and_error(values, scale, digits) + {-1: " +", 0: "", 1: " -"}[sign]

    unit = "error, %" if found.classes else "RMSE"
    return by_problem(found, found.methods, unit, cell)


def measure_table(found: Group, measure: str, unit: str, *, scale: float = 1.0, form: str) -> str:
    """Return means of a measure by table and method, and a last row with the mean over tables.

    The text is empty if no method has the measure.
    """

    def cell(problem: str, method: str) -> str:
        mean = scale * found.results.mean(measure, problem, method)
        return f"{mean:{form}}" if np.isfinite(mean) else "-"

    known = [method for method in found.methods if found.means(measure, method).size]
    if not known:
        return ""
    means = [
        f"{scale * values.mean():{form}}" if (values := found.means(measure, m)).size else "-"
        for m in known
    ]
    return by_problem(found, known, unit, cell, last=["mean", *means])


def by_problem(
    found: Group,
    methods: Sequence[str],
    unit: str,
    cell: Callable[[str, str], str],
    last: Sequence[str] = (),
) -> str:
    """Return a table with a row for each problem and a column for each method."""
    rows = [[table_of(p), *(cell(p, method) for method in methods)] for p in found.problems]
    if last:
        rows.append(list(last))
    return table([unit, *methods], rows)


def time_table(groups: Mapping[str, Group], methods: Sequence[str], grid: str) -> str:
    """Return fit times relative to the grid's, as geometric means over tables."""
    rows = []
    for method in methods:
        cells = []
        for found in groups.values():
            ratios = found.ratios(method, grid, "fit_seconds")
            cells.append(f"{geometric_mean(ratios):.3g}" if len(ratios) else "-")
        rows.append([method, *cells])
    seconds = [
        f"{values.mean():.3g} s" if (values := found.means("fit_seconds", grid)).size else "-"
        for found in groups.values()
    ]
    rows.append([f"{grid}: mean seconds", *seconds])
    return table(["fit time / the grid's", *groups], rows)


def split_table(groups: Mapping[str, Group]) -> str:
    """Return the numbers of splits by method and group, the least and the most over problems."""
    rows = []
    for method in dict.fromkeys(name for found in groups.values() for name in found.methods):
        cells = []
        for found in groups.values():
            numbers = [found.results.repeats(problem, method) for problem in found.problems]
            least, most = min(numbers), max(numbers)
            cells.append(f"{most}" if least == most else f"{least}-{most}")
        rows.append([method, *cells])
    return table(["splits", *groups], rows)


def ranking_of(groups: Sequence[Group], methods: Sequence[str]) -> tuple[Ranking, list[str]]:
    """Rank the methods that have records on all problems; also return those that do not."""
    rows = []
    for found in groups:
        for problem in found.problems:
            rows.append({m: found.results.mean("error", problem, m) for m in methods})
    means = pd.DataFrame(rows, columns=list(methods))
    complete = [str(name) for name in means if bool(np.isfinite(means[name]).all())]
    left_out = [name for name in methods if name not in complete]
    return rank(means[complete]), left_out


def better_trees(groups: Sequence[Group], ours: str, trees: Sequence[str]) -> str:
    """Name the tables on which some kind of trees has a lower mean error than ours."""
    said = []
    for found in groups:
        for problem in found.problems:
            mine = found.results.mean("error", problem, ours)
            means = {name: found.results.mean("error", problem, name) for name in trees}
            known = {name: mean for name, mean in means.items() if np.isfinite(mean)}
            if not known or not np.isfinite(mine):
                continue
            best = min(known, key=lambda name: known[name])
            if known[best] < mine:
                scale = 100.0 if found.classes else 1.0
                form = ".1f" if found.classes else ".3f"
                sure = found.comparison(problem, ours, best).sign > 0
                said.append(
                    f"{problem} ({best} {scale * known[best]:{form}}, {ours} {scale * mine:{form}}"
                    + ", significant)" * sure
                    + ")" * (not sure)
                )
    return listed(said)

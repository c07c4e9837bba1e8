"""The tables of the page on tables of mixed types, and what was to be reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from experiments.reporting import table_results as grouped
from experiments.reporting.results import Results
from experiments.reporting.section import listed, mean_and_error, table, table_of
from experiments.tabular.table_files import TIMED_SIZE


def ratio_table(groups: Mapping[str, grouped.Group], methods: Sequence[str]) -> str:
    """Return geometric means of the ratio of errors to the reference's, by method and group."""
    return table_of(
        f"error / error of {grouped.REFERENCE}",
        methods,
        list(groups),
        lambda method, title: mean_ratio(groups[title], method),
    )


def mean_ratio(found: grouped.Group, method: str) -> str:
    """Return a method's geometric mean of ratios, and of how many tables if not of all."""
    ratios = found.ratios(method)
    number = "" if len(ratios) == len(found.problems) else f" ({len(ratios)})"
    return f"{grouped.geometric_mean(ratios):.3f}{number}" if len(ratios) else "-"


def win_table(
    groups: Mapping[str, grouped.Group], ours: Sequence[str], others: Sequence[str]
) -> str:
    """Return wins, ties and losses by mean error, significant ones, and p-values over tables."""
    rows = []
    for method in ours:
        columns = [win_cells(found, method, others) for found in groups.values()]
        for place, other in enumerate(others):
            if other != method:
                rows.append([method, other, *(column[place] for column in columns)])
    return table(["", "against", *groups], rows, text=True)


def win_cells(found: grouped.Group, method: str, others: Sequence[str]) -> list[str]:
    """Return the cells of one method and group, p-values adjusted for the number of others."""
    tried = [other for other in others if other != method and found.both(method, other)]
    p_values = np.array([found.p_value(method, other) for other in tried])
    adjusted = dict(zip(tried, grouped.holm(p_values), strict=True))
    return [
        f"{'-'.join(map(str, found.lower(method, other)))} "
        f"({'-'.join(map(str, found.significant(method, other)))}), p = {adjusted[other]:.2g}"
        if other in adjusted
        else "-"
        for other in others
    ]


def error_table(found: grouped.Group, ours: str) -> str:
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


def measure_table(
    found: grouped.Group, measure: str, unit: str, *, scale: float = 1.0, form: str
) -> str:
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
    found: grouped.Group,
    methods: Sequence[str],
    unit: str,
    cell: Callable[[str, str], str],
    last: Sequence[str] = (),
) -> str:
    """Return a table with a row for each problem and a column for each method."""
    rows = [[grouped.table_of(p), *(cell(p, method) for method in methods)] for p in found.problems]
    if last:
        rows.append(list(last))
    return table([unit, *methods], rows)


def time_table(groups: Mapping[str, grouped.Group], methods: Sequence[str], grid: str) -> str:
    """Return fit times relative to the grid's, as geometric means over tables."""
    rows = []
    for method in methods:
        cells = []
        for found in groups.values():
            ratios = found.ratios(method, grid, "fit_seconds")
            cells.append(f"{grouped.geometric_mean(ratios):.3g}" if len(ratios) else "-")
        rows.append([method, *cells])
    seconds = [
        f"{values.mean():.3g} s" if (values := found.means("fit_seconds", grid)).size else "-"
        for found in groups.values()
    ]
    rows.append([f"{grid}: mean seconds", *seconds])
    return table([f"fit time / fit time of {grid}", *groups], rows)


def split_table(groups: Mapping[str, grouped.Group]) -> str:
    """Return the numbers of splits by method and group, the least and the most over problems."""

    def cell(method: str, title: str) -> str:
        found = groups[title]
        numbers = [found.results.repeats(problem, method) for problem in found.problems]
        least, most = min(numbers), max(numbers)
        return f"{most}" if least == most else f"{least}-{most}"

    methods = dict.fromkeys(name for found in groups.values() for name in found.methods)
    return table_of("splits", methods, list(groups), cell)


def ranking_of(
    groups: Sequence[grouped.Group], methods: Sequence[str]
) -> tuple[grouped.Ranking, list[str]]:
    """Rank the methods that have records on all problems; also return those that do not."""
    rows = []
    for found in groups:
        for problem in found.problems:
            rows.append({m: found.results.mean("error", problem, m) for m in methods})
    means = pd.DataFrame(rows, columns=list(methods))
    complete = [str(name) for name in means if bool(np.isfinite(means[name]).all())]
    left_out = [name for name in methods if name not in complete]
    return grouped.rank(means[complete]), left_out


def better_trees(groups: Sequence[grouped.Group], ours: str, trees: Sequence[str]) -> str:
    """Name the tables on which some kind of trees has a lower mean error than ours."""
    return listed(
        f"{problem} ({best} {lower}, {ours} {higher}{', significant' * sure})"
        for found in groups
        for problem, best, lower, higher, sure in lower_errors_of_trees(found, ours, trees)
    )


def lower_errors_of_trees(
    found: grouped.Group, ours: str, trees: Sequence[str]
) -> list[tuple[str, str, str, str, bool]]:
    """Return the tables on which some kind of trees has a lower mean error than ours.

    Each comes with the best kind of trees, both errors, and whether the difference is significant.
    """
    lower = []
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
            errors = f"{scale * known[best]:{form}}", f"{scale * mine:{form}}"
            lower.append((problem, best, *errors, sure))
    return lower


OURS = "stacking"
DEFAULT = "two-stage"
GRID = "grid search"
# The methods that are made of trees.
TREES = (grouped.REFERENCE, "XGBoost", "CatBoost", "HistGB", "forest")
# The methods against which there must be more wins than losses.
RIVALS = (*TREES, "EBM", "xRFM", "RealMLP-TD", "GP-ARD", GRID)

TARGET_SIZES = (400, 1000)
# The geometric mean of the ratio to LightGBM to be reached at each size; True is for classes.
RATIOS = {False: (0.73, 0.80), True: (0.80, 0.86)}
# The fit time to be reached, relative to that of the grid search.
TIME_RATIO = 0.3
# The mean coverage of 90 % intervals to be reached.
COVERAGES = (0.88, 0.92)
# The coverage to be reached on each table.
LEAST_COVERAGE = 0.8
# The part of the tables on which the log-loss may be above that of LightGBM.
LOG_LOSSES = 0.2
# The fit time of the two-stage defaults to be reached, relative to that of the grid search.
DEFAULT_TIME_RATIO = 0.05


@dataclass(frozen=True)
class Outcome:
    """What was found of one target.

    Attributes
    ----------
    text : str
    reached : bool or None
        None if the records do not tell.
    """

    text: str
    reached: bool | None

    @property
    def cell(self) -> str:
        """The outcome as the cell of a table."""
        mark = {True: "**reached**", False: "**not reached**", None: ""}[self.reached]
        return f"{mark} {self.text}".strip()


# The outcome without records.
NOTHING = Outcome("-", None)


def bounds(values: Sequence[float]) -> str:
    """Name the bounds of both sizes."""
    pairs = zip(TARGET_SIZES, values, strict=True)
    return " and ".join(f"{value:.2f} (n = {size})" for size, value in pairs)


def targets(results: Results) -> str:
    """Return the table of targets and of what was found."""
    rows = []
    for classes, what in ((False, "regression"), (True, "classification")):
        error = "(error + 0.5 %)" if classes else "RMSE"
        mean = f"{what}: geometric mean of {error}, relative to {grouped.REFERENCE}"
        more = f"{what}: more wins than losses against each other method"
        groups = [grouped.group(results, size, classes=classes) for size in TARGET_SIZES]
        rows.append(
            [f"{mean}, at most {bounds(RATIOS[classes])}"]
            + [ratio(found, RATIOS[classes][k]).cell for k, found in enumerate(groups)]
        )
        rows.append(
            [f"{more}; no significant loss to {GRID}"] + [wins(found).cell for found in groups]
        )
    both = [
        [grouped.group(results, size, classes=classes) for classes in (False, True)]
        for size in TARGET_SIZES
    ]
    rows.append(
        [f"fit time / fit time of {GRID}, at most {TIME_RATIO:g}"]
        + [times(found, OURS, TIME_RATIO).cell for found in both]
    )
    larger = [grouped.group(results, TIMED_SIZE, classes=classes) for classes in (False, True)]
    rows.append([f"the same, but for n = {TIMED_SIZE}", times(larger, OURS, TIME_RATIO).cell, ""])
    rows.append(
        ["90 % intervals: coverage 88-92 % on average, and at least 80 % on each table"]
        + [coverage(found[0]).cell for found in both]
    )
    rows.append(
        [f"log-loss above the log-loss of {grouped.REFERENCE} on at most a fifth of the tables"]
        + [log_loss(found[1]).cell for found in both]
    )
    sets = [grouped.group(results, None, classes=classes) for classes in (False, True)]
    rows.append(
        [f"two-stage: no significant loss to {GRID}, also on the sets of numbers"]
        + [no_losses(found, DEFAULT).cell for found in ([*both[0], *sets], both[1])]
    )
    rows.append(
        [f"two-stage: fit time / fit time of {GRID}, at most {DEFAULT_TIME_RATIO:g}"]
        + [times(found, DEFAULT, DEFAULT_TIME_RATIO).cell for found in both]
    )
    header = ["target", *(f"n = {size}" for size in TARGET_SIZES)]
    return table(header, rows, text=True)


def ratio(found: grouped.Group, wanted: float) -> Outcome:
    """Compare the geometric mean of ratios to the reference with what is wanted."""
    ratios = found.ratios(OURS)
    if ratios.empty:
        return NOTHING
    mean = grouped.geometric_mean(ratios)
    return Outcome(f"{mean:.3f} ({len(ratios)} tables)", mean <= wanted)


def wins(found: grouped.Group) -> Outcome:
    """Count wins and losses by mean error, with significant ones in brackets."""
    rivals = [name for name in RIVALS if found.both(OURS, name)]
    if not rivals:
        return NOTHING
    said, reached = [], True
    for name in rivals:
        won, even, lost = found.lower(OURS, name)
        significant = "-".join(map(str, found.significant(OURS, name)))
        said.append(f"{name} {won}-{even}-{lost} ({significant})")
        reached &= won > lost
    losses = found.losses(OURS, GRID)
    few = found.untested(OURS, GRID)
    said.append(f"significant losses to {GRID}: {listed(losses)}{too_few(few)}")
    reached &= not losses
    return Outcome("; ".join(said), None if few and reached else reached)


def times(groups: Sequence[grouped.Group], method: str, wanted: float) -> Outcome:
    """Compare the fit time with that of the grid search."""
    ratios = {
        problem: value
        for found in groups
        for problem, value in found.ratios(method, GRID, "fit_seconds").items()
    }
    if not ratios:
        return NOTHING
    values = np.array(list(ratios.values()))
    worst = max(ratios, key=lambda problem: ratios[problem])
    mean = grouped.geometric_mean(values)
    return Outcome(
        f"geometric mean {mean:.3f}, largest {ratios[worst]:.2f} ({grouped.table_of(str(worst))}), "
        f"at most {wanted:g} on {int((values <= wanted).sum())} of {values.size}",
        mean <= wanted,
    )


def coverage(found: grouped.Group) -> Outcome:
    """Return the mean and the least coverage of intervals over tables."""
    covered = {
        problem: mean
        for problem in found.problems
        if np.isfinite(mean := found.results.mean("coverage", problem, OURS))
    }
    if not covered:
        return NOTHING
    mean = float(np.mean(list(covered.values())))
    worst = min(covered, key=lambda problem: covered[problem])
    least, table = covered[worst], grouped.table_of(worst)
    return Outcome(
        f"mean {100.0 * mean:.1f} %, least {100.0 * least:.1f} % ({table})",
        COVERAGES[0] <= mean <= COVERAGES[1] and least >= LEAST_COVERAGE,
    )


def log_loss(found: grouped.Group) -> Outcome:
    """Count the tables on which the log-loss is above that of the reference."""
    ratios = found.ratios(OURS, grouped.REFERENCE, "log_loss")
    if ratios.empty:
        return NOTHING
    above = [grouped.table_of(str(problem)) for problem in ratios.index[ratios > 1.0]]
    return Outcome(
        f"above on {len(above)} of {len(ratios)} ({listed(above)})",
        len(above) <= LOG_LOSSES * len(ratios),
    )


def no_losses(groups: Sequence[grouped.Group], method: str) -> Outcome:
    """List the tables on which a method is significantly worse than the grid search."""
    tried = sum(len(found.both(method, GRID)) for found in groups)
    if not tried:
        return NOTHING
    losses = [name for found in groups for name in found.losses(method, GRID)]
    few = sum(found.untested(method, GRID) for found in groups)
    text = f"losses on {len(losses)} of {tried}: {listed(losses)}{too_few(few)}"
    return Outcome(text, None if few and not losses else not losses)


def too_few(number: int) -> str:
    """Say on how many tables there are too few splits for a test; nothing if on none."""
    return f" (too few splits for a test on {number})" * bool(number)

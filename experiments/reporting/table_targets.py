"""The targets of the experiment `tables`, and how far they are reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.reporting.formatting import listed
from experiments.reporting.results import Results
from experiments.reporting.section import table
from experiments.reporting.table_results import (
    REFERENCE,
    Group,
    geometric_mean,
    group,
    table_of,
)
from experiments.tabular.table_files import TIMED_SIZE

OURS = "stacking"
DEFAULT = "two-stage"
GRID = "grid search"
RIVALS = ("forest", "HistGB", "LightGBM", "XGBoost", "xRFM", "GP-ARD", GRID)
"""The methods against which there must be more wins than losses."""

TARGET_SIZES = (400, 1000)
RATIOS = {False: (0.73, 0.80), True: (0.80, 0.86)}
"""The geometric mean of the ratio to LightGBM to be reached at each size; True is for classes."""
TIME_RATIO = 0.3
"""The fit time to be reached, relative to that of the grid search."""
COVERAGES = (0.88, 0.92)
"""The mean coverage of 90 % intervals to be reached."""
LEAST_COVERAGE = 0.8
"""The coverage to be reached on each table."""
LOG_LOSSES = 0.2
"""The part of the tables on which the log-loss may be above that of LightGBM."""
DEFAULT_TIME_RATIO = 0.05
"""The fit time of the two-stage defaults to be reached, relative to that of the grid search."""


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


NOTHING = Outcome("-", None)
"""The outcome without records."""


def targets(results: Results) -> str:
    """Return the table of targets and of what was found."""
    rows = []
    for classes, what in ((False, "regression"), (True, "classification")):
        error = "(error + 0.5 %)" if classes else "RMSE"
        wanted = " and ".join(f"{value:.2f}" for value in RATIOS[classes])
        groups = [group(results, size, classes=classes) for size in TARGET_SIZES]
        rows.append(
            [f"{what}: geometric mean of {error} / {REFERENCE}'s, at most {wanted}"]
            + [ratio(found, RATIOS[classes][k]).cell for k, found in enumerate(groups)]
        )
        rows.append(
            [f"{what}: more wins than losses against each; no significant loss to the grid"]
            + [wins(found).cell for found in groups]
        )
    both = [
        [group(results, size, classes=classes) for classes in (False, True)]
        for size in TARGET_SIZES
    ]
    rows.append(
        [f"fit time / the grid's, at most {TIME_RATIO:g}"]
        + [times(found, OURS, TIME_RATIO).cell for found in both]
    )
    larger = [group(results, TIMED_SIZE, classes=classes) for classes in (False, True)]
    rows.append([f"the same at n = {TIMED_SIZE}", times(larger, OURS, TIME_RATIO).cell, ""])
    rows.append(
        ["90 % intervals: coverage 88-92 % on average, at least 80 % on each"]
        + [coverage(found[0]).cell for found in both]
    )
    rows.append(
        [f"log-loss above {REFERENCE}'s on at most a fifth of the tables"]
        + [log_loss(found[1]).cell for found in both]
    )
    sets = [group(results, None, classes=classes) for classes in (False, True)]
    rows.append(
        ["two-stage: no significant loss to the grid, here and on the sets of numbers"]
        + [no_losses(found, DEFAULT).cell for found in ([*both[0], *sets], both[1])]
    )
    rows.append(
        [f"two-stage: fit time / the grid's, at most {DEFAULT_TIME_RATIO:g}"]
        + [times(found, DEFAULT, DEFAULT_TIME_RATIO).cell for found in both]
    )
    header = ["to be reached", *(f"n = {size}" for size in TARGET_SIZES)]
    return table(header, rows, text=True)


def ratio(found: Group, wanted: float) -> Outcome:
    """Compare the geometric mean of ratios to the reference with what is wanted."""
    ratios = found.ratios(OURS)
    if ratios.empty:
        return NOTHING
    mean = geometric_mean(ratios)
    return Outcome(f"{mean:.3f} ({len(ratios)} tables)", mean <= wanted)


def wins(found: Group) -> Outcome:
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
    said.append(f"significant losses to the grid: {listed(losses)}{too_few(few)}")
    reached &= not losses
    return Outcome("; ".join(said), None if few and reached else reached)


def times(groups: Sequence[Group], method: str, wanted: float) -> Outcome:
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
    mean = geometric_mean(values)
    return Outcome(
        f"geometric mean {mean:.3f}, largest {ratios[worst]:.2f} ({table_of(str(worst))}), at most "
        f"{wanted:g} on {int((values <= wanted).sum())} of {values.size}",
        mean <= wanted,
    )


def coverage(found: Group) -> Outcome:
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
    return Outcome(
        f"mean {100.0 * mean:.1f} %, least {100.0 * covered[worst]:.1f} % ({table_of(worst)})",
        COVERAGES[0] <= mean <= COVERAGES[1] and covered[worst] >= LEAST_COVERAGE,
    )


def log_loss(found: Group) -> Outcome:
    """Count the tables on which the log-loss is above that of the reference."""
    ratios = found.ratios(OURS, REFERENCE, "log_loss")
    if ratios.empty:
        return NOTHING
    above = [table_of(str(problem)) for problem in ratios.index[ratios > 1.0]]
    return Outcome(
        f"above on {len(above)} of {len(ratios)} ({listed(above)})",
        len(above) <= LOG_LOSSES * len(ratios),
    )


def no_losses(groups: Sequence[Group], method: str) -> Outcome:
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

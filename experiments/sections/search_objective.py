"""Section on the objective of one step of CA-1D: Afkanpour et al. (2013), Figure 9."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.definitions.search_objective import DEPTHS, DRAWN, WIDTHS
from experiments.problems import Array
from experiments.reporting.figures import panels
from experiments.reporting.results import Results
from experiments.reporting.section import Claim, Section, judge, table

SOURCE = "Afkanpour et al. 2013, appendix B.1, Figure 9"
RULES = ("stagewise", "corrective")
REACHED = 0.01
"""A search has reached the least value if its shortfall is at most this fraction of it."""
MOST = 0.95
"""This fraction of the steps counts as most of them."""
MOST_MINIMA = 2
DRAWN_PROBLEMS = ("digits 3 and 8", "digits 1 and 7", "letters B and E", "letters O and Q")
DRAWN_STEPS = 4


def section(results: Results) -> Section:
    """Write curves, minima and searches."""
    taken = {rule: steps(results, rule) for rule in RULES}
    rules = {rule: found for rule, found in taken.items() if len(found)}
    figure = drawn(results)
    made = (
        few_minima(rules),
        not_difficult(rules),
        few_steps(results),
    )
    body = BODY.format(minima=minima_table(rules), searches=searches_table(rules))
    claims = [claim for claim in made if claim]
    if figure is None:
        return Section(body, claims)
    return Section(f"{body}\n{CAPTION}\n", claims, {"search-objective": figure})


def steps(results: Results, rule: str) -> pd.DataFrame:
    """Return all steps that were taken, one in each row."""
    rows = []
    for _, run in results.frame[results.frame["method"] == rule].iterrows():
        for step in range(int(run["taken"])):
            row = {
                "problem": run["problem"],
                "step": step,
                "inside": run["inside"][step],
                "minima": run["minima"][step],
                "global": run["global"][step],
                "from_widths": np.asarray(run["from_widths"][step], dtype=float),
                "from_logarithms": np.asarray(run["from_logarithms"][step], dtype=float),
            }
            rows.append(row)
    return pd.DataFrame(rows)


def counts(found: pd.DataFrame, name: str, depth: int) -> Array:
    """Return the number of minima of each step that are at least so deep."""
    return np.array([entry[depth] for entry in found[name]])


def minima_table(rules: dict[str, pd.DataFrame]) -> str:
    """Return a table of the numbers of minima."""
    rows = []
    for rule, found in rules.items():
        for kind, name in (("inside", "inside"), ("with the ends", "minima")):
            for position, depth in enumerate(DEPTHS):
                number = counts(found, name, position)
                shares = [f"{100 * (number == k).mean():.0f}" for k in (0, 1, 2)]
                more = f"{100 * (number > MOST_MINIMA).mean():.0f}"
                rows.append([f"{rule}, {kind}, depth {depth:g}", *shares, more, f"{number.max()}"])
    return table(["steps, %, by number of local minima", "0", "1", "2", "more", "most"], rows)


def searches_table(rules: dict[str, pd.DataFrame]) -> str:
    """Return a table of how often searches reach the least value."""
    rows = []
    for rule, found in rules.items():
        for name, shortfall in searches(found).items():
            reached = 100.0 * (shortfall <= REACHED).mean()
            rows.append([f"{rule}, {name}", f"{reached:.0f}", percentage(100.0 * shortfall.max())])
    return table(["search", "least value reached, % of steps", "worst shortfall, %"], rows)


def percentage(value: float) -> str:
    """Format a percentage without an exponent."""
    if value < 0.01:
        return "< 0.01"
    return f"{value:.0f}" if value >= 10.0 else f"{value:.2g}"


def searches(found: pd.DataFrame) -> dict[str, Array]:
    """Return the shortfall of each step, by search."""
    widths = np.stack(list(found["from_widths"]))
    logarithms = np.stack(list(found["from_logarithms"]))
    return {
        "global search of the package": found["global"].to_numpy(dtype=float),
        "best of nine starts, in the width": widths.min(axis=1),
        "best of nine starts, in its logarithm": logarithms.min(axis=1),
        "one start, in the width": widths.ravel(),
        "one start, in its logarithm": logarithms.ravel(),
    }


def few_minima(rules: dict[str, pd.DataFrame]) -> Claim | None:
    """Return the claim that there are at most two minima."""
    if not rules:
        return None
    conditions, parts = [], []
    for rule, found in rules.items():
        for kind, name in (("inside", "inside"), ("with the ends", "minima")):
            number = counts(found, name, 1)
            if rule == "stagewise":
                conditions.append(bool(number.max() <= MOST_MINIMA))
            parts.append(
                f"{rule}, {kind}: {number.max()} at most, more than two in "
                f"{100 * (number > MOST_MINIMA).mean():.0f} %"
            )
    if not conditions:
        return None
    return Claim(
        statement="As a function of the width the objective of a step has no more than two local "
        "minima",
        source=SOURCE,
        measure="over all steps of the published method, at most two inside the interval, and at "
        f"most two with its ends; minima less than {DEPTHS[1]:g} of the range deep do not count",
        result="; ".join(parts),
        judgment=judge(conditions),
        why=""
        if all(conditions)
        else "The paper looks at plots of some steps. An end of the interval counts as a minimum "
        "here where the objective falls towards it: the plateau at small widths, where kernels are "
        "the identity, or the approach to zero at large ones, where they are constant.",
    )


def not_difficult(rules: dict[str, pd.DataFrame]) -> Claim | None:
    """Return the claim that local searches from several starts suffice."""
    if "stagewise" not in rules:
        return None
    found = searches(rules["stagewise"])
    parts = [
        f"{name}: {100 * (shortfall <= REACHED).mean():.0f} %" for name, shortfall in found.items()
    ]
    several = [
        shortfall <= REACHED for name, shortfall in found.items() if name.startswith("best of nine")
    ]
    return Claim(
        statement="Minimizing it does not seem very difficult: local searches from nine starts do",
        source="Afkanpour et al. 2013, appendices B.1 and B.2",
        measure=f"the best of quasi-Newton searches from 10^-3, ..., 10^5, in the width and in its "
        f"logarithm, gets all but {100 * REACHED:.0f} % of the least value in {100 * MOST:.0f} % "
        "of the steps, and in all",
        result="; ".join(parts),
        judgment=judge(
            [bool(share >= goal) for share in map(np.mean, several) for goal in (MOST, 1.0)]
        ),
        why="Most starts are on a plateau, where the gradient vanishes: below the least distance "
        "all kernels are the identity, far above the largest all are constant. Where all nine "
        "miss it, the least value is perhaps in a narrow dip.",
    )


def few_steps(results: Results) -> Claim | None:
    """Return the claim that the method takes fewer than ten steps."""
    conditions, parts = [], []
    for rule in RULES:
        rows = results.frame[results.frame["method"] == rule]["taken"].to_numpy(dtype=float)
        if rows.size:
            if rule == "stagewise":
                conditions.append(bool(rows.max() < 10))
                conditions.append(bool(np.median(rows) < 10))
            parts.append(
                f"{rule}: {np.median(rows):.0f} in the median, {rows.max():.0f} at most, ten or "
                f"more in {int((rows >= 10).sum())} of {rows.size} runs"
            )
    if not conditions:
        return None
    return Claim(
        statement="On MNIST and Letter the method converges in less than ten iterations",
        source="Afkanpour et al. 2013, section 3.2, training times",
        measure="published steps: fewer than ten in the median, and in every run",
        result="; ".join(parts),
        judgment=judge(conditions),
        why=""
        if all(conditions)
        else "The published step keeps all earlier weights, so that its alignment creeps up by "
        "little more than the tolerance of 10^-3 for many steps; corrective steps do not.",
    )


def drawn(results: Results) -> Figure | None:
    """Draw the objective of the first steps on some problems."""
    frame = results.frame[results.frame["method"] == "stagewise"]
    frame = frame[frame["curves"].map(len).to_numpy(dtype=float) > 0]
    known: Sequence[str] = [name for name in results.problems if name in set(frame["problem"])]
    shown = [name for name in DRAWN_PROBLEMS if name in known] or list(known[:2])
    if not shown:
        return None
    figure, panes = panels(len(shown), width=3.4)
    for axes, problem in zip(panes, shown, strict=True):
        run = frame[frame["problem"] == problem].iloc[0]
        for step, curve in enumerate(run["curves"][: min(int(run["taken"]), DRAWN_STEPS)]):
            values = np.asarray(curve, dtype=float)
            axes.plot(
                WIDTHS[DRAWN], values / np.abs(values).max(), lw=1.2, label=f"step {step + 1}"
            )
        axes.set(xscale="log", xlabel="width", title=problem)
    panes[0].set_ylabel("objective, largest value 1")
    panes[0].legend(fontsize="x-small")
    return figure


BODY = """A step of CA-1D minimizes h(s) = -<K_s, F'(K)> over the width s, F' being the gradient of
the alignment. Here h is computed exactly at 321 widths from 10^-3 to 10^5 at every step, on eight
pairs of digits (500 training points) and of letters (300), raw features, with the published,
stagewise steps and with corrective ones. A local minimum counts if it is deep enough: by a part of
the range of h. At the ends of the interval kernels are the identity and a constant; a minimum there
is one that a search within the interval ends at.

{minima}
How searches fare: the package's global one; quasi-Newton searches (L-BFGS-B for Matlab's fmincon)
from the paper's nine starts, in the width, and in its logarithm. The shortfall is a part of the
least value that any search or the grid found.

{searches}"""

CAPTION = (
    "![The objective of the first published steps; the paper's Figure 9](figure:search-objective)"
)

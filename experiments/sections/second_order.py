"""Section on Newton's method with second derivatives of HSIC: Wang & Li (2018), section 3.2."""

from __future__ import annotations

import numpy as np

from experiments.definitions.second_order import FORMS, SEARCHES
from experiments.problems import Array
from experiments.reporting.results import Results
from experiments.reporting.section import Claim, Section, explained_claim, judge, table

ALIKE = 1e-3
"""Two searches have ended alike if their criteria differ by less than this fraction."""

BODY = """The paper gives second derivatives of HSIC (equations 12, 14 and 16) and uses BFGS, which
needs first derivatives only. Newton's method on log-widths, not in the paper: the Hessian is
exact, its curvatures are taken positive, and a step is halved until it gains. It is computed in
matrix products and costs about d gradients for a kernel with d widths. Both methods start from the
best of nine widths common to all features, evaluate the same functions, and end where an iteration
gains at most 1e-5 of the criterion. Iterations, means over the splits; seconds, medians over the
splits; and by what part of it Newton's criterion is above that of BFGS.

"""


def section(results: Results) -> Section:
    """Write iterations, times and criteria of both searches."""
    parts = [f"{form}:\n\n{comparison(results, form)}" for form in FORMS]
    return Section(BODY + "\n".join(parts), [faster(results, form) for form in FORMS])


def middle(values: Array) -> float:
    """Return the median, NaN of no values."""
    return float(np.median(values)) if values.size else float("nan")


def gain(results: Results, problem: str, form: str) -> float:
    """Return by what part Newton's criterion is above that of BFGS."""
    first, second = results.pairs("criterion", problem, f"Newton, {form}", f"BFGS, {form}")
    return float(np.mean(first / second)) - 1.0


def comparison(results: Results, form: str) -> str:
    """Return the table of one form of the kernel."""
    rows = []
    for problem in results.problems:
        methods = [f"{name}, {form}" for name in SEARCHES]
        steps = [f"{results.mean('iterations', problem, method):.1f}" for method in methods]
        times = [middle(results.values("seconds", problem, method)) for method in methods]
        shown = [f"{value:.3f}" if np.isfinite(value) else "-" for value in times]
        rows.append([problem, *steps, *shown, f"{gain(results, problem, form):+.4f}"])
    header = [f"{name}, {what}" for what in ("iterations", "seconds") for name in SEARCHES]
    return table(["set", *header, "gain"], rows)


def faster(results: Results, form: str) -> Claim:
    """Return the claim that BFGS needs fewer iterations, with the times of both."""
    fewer, ratios, apart = [], [], []
    for problem in results.problems:
        own, other = (results.mean("iterations", problem, f"{name}, {form}") for name in SEARCHES)
        fewer.append(own <= other)
        pair = results.pairs("seconds", problem, f"BFGS, {form}", f"Newton, {form}")
        ratios.append(middle(pair[1] / pair[0]))
        if abs(gain(results, problem, form)) > ALIKE:
            apart.append(problem)
    known = [ratio for ratio in ratios if np.isfinite(ratio)]
    ends = f"{', '.join(apart)}" if apart else "none"
    result = f"in {sum(fewer)} of {len(fewer)} sets; sets on which the criteria differ: {ends}"
    if known:
        result += (
            f". Newton's method takes {np.median(known):.2g} times as long as BFGS (median; "
            f"{min(known):.2g} to {max(known):.2g}) and is faster on "
            f"{sum(ratio < 1.0 for ratio in known)} of {len(known)} sets"
        )
    return explained_claim(
        f"BFGS generally takes a smaller number of iterations before convergence ({form}).",
        "Wang & Li 2018, section 4.2.1",
        "No more iterations than Newton's method with the second derivatives, on each set.",
        result,
        judge(fewer),
        why="Exact curvatures save iterations where there are several widths or the start is near, "
        "but each of Newton's iterations costs more, so that fewer of them need not be faster.",
    )

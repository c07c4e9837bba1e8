"""Section on what learning a combination costs: Cortes et al. (2010), section 5.1."""

from __future__ import annotations

import numpy as np

from experiments.reporting.results import Results
from experiments.reporting.section import Claim, Section, judge, table


def milliseconds(value: float) -> str:
    """Format a time, or a hyphen if it is not known."""
    return f"{1000.0 * value:.0f}" if np.isfinite(value) else "-"


def section(results: Results) -> Section:
    """Write the times of both stages."""
    timed = [name for name in results.problems if results.values("seconds", name, "align").size]
    if not timed:
        return Section("No times were taken.\n")
    rows = [
        [
            problem,
            *(milliseconds(results.mean("seconds", problem, method)) for method in METHODS),
            milliseconds(results.mean("seconds_machine", problem, "align")),
        ]
        for problem in results.problems
    ]
    body = (
        "Milliseconds to learn the kernel on the 600 training samples of Table 1, Gram matrices "
        "included, of a one-stage fit at a single C, and of the machine that is trained with "
        f"align's kernel. C = 1.\n\n{table(['set', *METHODS, 'machine'], rows)}"
    )
    return Section(body, [cheap(results, timed)])


METHODS = ("unif", "align", "alignf", "one-stage")


def cheap(results: Results, timed: list[str]) -> Claim:
    """Return the claim that align is inexpensive."""
    conditions, texts = [], []
    for problem in timed:
        own, plain, joint, rival = (
            results.mean("seconds", problem, method)
            for method in ("align", "unif", "alignf", "one-stage")
        )
        conditions += [own < 1.5 * plain, own < rival]
        texts.append(
            f"{problem} {own / plain:.2f} of unif, {own / joint:.2f} of alignf, "
            f"{own / rival:.2f} of one one-stage fit"
        )
    return Claim(
        "align is an inexpensive heuristic",
        "Cortes et al. 2010, section 5.1",
        "time to learn the kernel; true for each set where it is below 1.5 times that of unif, "
        "which needs the Gram matrices and their traces as well, and below that of a one-stage fit",
        "; ".join(texts),
        judge(conditions),
        "unif learns nothing and needs the kernels' values all the same, so that what a method "
        "takes beyond it is what learning costs.",
    )

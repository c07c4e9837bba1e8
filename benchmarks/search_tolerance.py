"""Accuracy of the search for several widths against its tolerance and its time.

For each tolerance `search_tol` of `ContinuousAlignment(Gaussian(ard=True))` the script prints, for
published (stagewise) and corrective steps, medians over some sets: by how much the objective of the
first step is below the best of all tolerances; the alignment of the learned kernel on training
and test data, less that at the smallest tolerance; the test error of a support vector machine, less
that at the smallest tolerance; and the time, as a ratio to that at the largest tolerance.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial

import numpy as np
from common import (
    LETTER_PAIRS,
    Array,
    Split,
    alternate,
    print_table,
    run_named,
    standardized_sample,
    three_parts,
    two_classes,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from experiments.c_search import alignment_of_kernel
from experiments.problems import relevance
from mercer import ContinuousAlignment
from mercer.kernels import Gaussian

TOLERANCES = (2e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9)
SETS = ("sonar", "german", "splice", "image", "ionosphere", "heart")


def problems() -> dict[str, Split]:
    """Return splits of sets, pairs of letters, and the problem of unequally relevant features."""
    drawn = {f"gamma={g}": relevance(50, g, 0, others=(2, 1000)) for g in (0, 5, 40)}
    for pair in LETTER_PAIRS[:4]:
        drawn[pair] = three_parts(*two_classes("letter", *pair), (300, 2, 800), seed=0)
    for name in SETS:
        X, y = standardized_sample(name, 800, seed=0)
        drawn[name] = three_parts(X, y, (min(300, len(y) // 2), 2, 800), seed=0)
    return drawn


def measured(split: Split, learner: ContinuousAlignment) -> list[float]:
    """Return the objective of the first step, two alignments and a test error."""
    learner.fit(*split.train)
    machine = SVC(kernel=learner.kernel_).fit(*split.train)
    return [
        learner.history_[0].objective,
        learner.alignment_,
        alignment_of_kernel(learner.kernel_, split.test),
        1.0 - machine.score(*split.test),
    ]


def curve(step: str, options: argparse.Namespace) -> None:
    """Print a table with one row for each tolerance."""
    table: list[Array] = []
    for split in problems().values():
        learners = {
            f"{tol:g}": ContinuousAlignment(Gaussian(ard=True), step=step, search_tol=tol)
            for tol in TOLERANCES
        }
        found = np.array([measured(split, learner) for learner in learners.values()])
        fits = {name: partial(one.fit, *split.train) for name, one in learners.items()}
        times = np.array([duration.min() for duration in alternate(fits, options.repeats).values()])
        best = found[:, 0].max()
        loss = (best - found[:, 0]) / best
        table.append(np.column_stack([loss, found[:, 1:] - found[-1, 1:], times / times[0]]))
    stacked = np.array(table)
    middle, worst = np.median(stacked, axis=0), stacked[:, :, 0].max(axis=0)
    rows = [
        [f"{tol:g}", f"{m[0]:.1e}", f"{w:.1e}", *(f"{v:+.4f}" for v in m[1:4]), f"{m[4]:.2f}"]
        for tol, m, w in zip(TOLERANCES, middle, worst, strict=True)
    ]
    header = ["tolerance", "first step", "worst", "alignment", "on test", "error", "time"]
    print_table(f"{step} steps, {len(table)} problems", header, rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    curves = {step: partial(curve, step) for step in ("stagewise", "corrective")}
    run_named(__doc__, curves, repeats=(3, "timings of each fit"))

"""Fully corrective steps of CA-1D against the published, stagewise ones."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.c_search import C_GRID, error_of_kernel
from experiments.experiment import Experiment, Measures
from experiments.problems import CLASSIFICATION_SETS, Array, Split, scaled, three_parts, whole
from experiments.reporting.results import Results, compare, win_tie_loss
from experiments.reporting.section import Finding, claim, mean_and_error, table
from mercer import ContinuousAlignment

# The largest number of training and of validation samples, and half that of test samples.
MOST = 500


def draw(repeat: int, *, name: str, most: int) -> Split:
    """Take half of a set to train and a quarter to validate; standardize by the training part."""
    X, y = whole(name)
    labels = np.unique(y, return_inverse=True)[1]
    sizes = (min(len(y) // 2, most), min(len(y) // 4, most), 2 * most)
    split = three_parts(X, labels, sizes, repeat)
    return scaled(split, make_pipeline(SimpleImputer(), StandardScaler()))


def grow(split: Split, *, step: Literal["corrective", "stagewise"]) -> Measures:
    """Return the alignment after each step, the number of kernels, and the kernel's test error."""
    learner = ContinuousAlignment(task="classification", step=step).fit(*split.train)
    found = dict(error_of_kernel(learner.kernel_, split))
    return {
        **found,
        "path": [taken.alignment for taken in learner.history_],
        "sizes": [taken.n_kernels for taken in learner.history_],
        "kernels": learner.weights_.size,
    }


def experiment(small: bool) -> Experiment:
    """Declare Algorithm 1, and the steps that the paper's preprint names as future work."""
    names = CLASSIFICATION_SETS[2:5] if small else CLASSIFICATION_SETS
    return Experiment(
        title="Corrective and stagewise steps",
        source="Afkanpour et al. 2013, Algorithm 1; corrective steps are not in the paper",
        problems={name: partial(draw, name=name, most=100 if small else MOST) for name in names},
        methods={
            "corrective": partial(grow, step="corrective"),
            "stagewise": partial(grow, step="stagewise"),
        },
        grids={"C": C_GRID},
    )


FULL, STAGEWISE = "corrective", "stagewise"
# Alignments that differ by less than this are equal to the precision of the records.
ROUNDING = 1e-6


def errors_and_alignments(results: Results) -> str:
    """Return alignment, kernels and errors of both kinds of steps."""
    rows = [
        [
            problem,
            *(f"{last(results, problem, method).mean():.4f}" for method in (STAGEWISE, FULL)),
            *(
                f"{results.values('kernels', problem, method).mean():.1f}"
                for method in (STAGEWISE, FULL)
            ),
            mean_reached(results, problem),
            *(
                mean_and_error(results.values("error", problem, method), 100.0)
                for method in (STAGEWISE, FULL)
            ),
        ]
        for problem in results.problems
    ]
    header = ["set", "alignment, stagewise", "corrective", "kernels, stagewise", "corrective"]
    header += ["reached with", "error, %, stagewise", "corrective"]
    return table(header, rows)


def last(results: Results, problem: str, method: str) -> Array:
    """Return the alignment with the training labels after the last step, by repeat."""
    return np.array([path[-1] for path in results.series("path", problem, method)])


def reached(results: Results, problem: str) -> Array:
    """Return the number of kernels with which corrective steps reach the stagewise alignment.

    It is NaN where they never reach it.
    """
    paths, sizes = (results.series(name, problem, FULL) for name in ("path", "sizes"))
    goals = results.series("path", problem, STAGEWISE)
    found = []
    for repeat in paths.index.intersection(goals.index):
        enough = np.asarray(paths[repeat]) >= goals[repeat][-1] - ROUNDING
        found.append(float(np.asarray(sizes[repeat])[enough].min()) if enough.any() else np.nan)
    return np.array(found)


def mean_reached(results: Results, problem: str) -> str:
    """Return the mean of `reached` over the repeats that reach it, as text."""
    found = reached(results, problem)
    found = found[np.isfinite(found)]
    return f"{found.mean():.1f}" if found.size else "-"


def both(results: Results, measure: str, problems: list[str]) -> tuple[Array, Array]:
    """Return a measure of stagewise and of corrective steps, over all problems and repeats."""
    pairs = [results.pairs(measure, problem, STAGEWISE, FULL) for problem in problems]
    first, second = (np.concatenate(side) for side in zip(*pairs, strict=True))
    return first, second


def summary(results: Results) -> str:
    """Return the comparison in one paragraph."""
    problems = results.problems
    kernels = both(results, "kernels", problems)
    errors = compare(*(100.0 * side for side in both(results, "error", problems)))
    gain = gains(results, problems)
    least = np.concatenate([reached(results, problem) for problem in problems])
    less, same, more = win_tie_loss(results, "error", FULL, STAGEWISE)
    return (
        "Corrective steps reach the final alignment of stagewise steps in "
        f"{np.isfinite(least).sum()} of {least.size} runs. The final alignment of corrective steps "
        f"minus that of stagewise steps is between {gain.min():+.4f} and {gain.max():+.4f}. "
        f"Corrective steps end with {kernels[1].mean():.1f} kernels on average, and stagewise "
        f"steps with {kernels[0].mean():.1f}. The error of stagewise steps minus the "
        f"error of corrective steps is {errors.difference:+.2f} percentage points (paired over all "
        f"runs, p = {errors.p_value:.2f}). The error of corrective steps is significantly lower on "
        f"{less} of {len(problems)} data sets, significantly higher on {more}, and neither on "
        f"{same}."
    )


@claim(
    "Afkanpour et al. 2013, footnote 3", "Every run with published steps takes fewer than 50 steps"
)
def limit(results: Results) -> Finding | None:
    """The procedure always stops before the limit of 50 iterations."""
    rows = results.frame[results.frame["method"] == STAGEWISE]
    steps = [len(path) for path in rows["path"]]
    over = sum(number >= 50 for number in steps)
    return (
        [over == 0],
        f"at most {max(steps)} steps; {over} of {len(steps)} runs take 50 steps",
        "Each step of these runs still raises the alignment by more than 10^-3." if over else "",
    )


def gains(results: Results, problems: list[str]) -> Array:
    """Return the alignment of corrective steps less that of stagewise ones, in each run."""
    found = []
    for problem in problems:
        paths, goals = (results.series("path", problem, name) for name in (FULL, STAGEWISE))
        shared = paths.index.intersection(goals.index)
        found += [paths[repeat][-1] - goals[repeat][-1] for repeat in shared]
    return np.array(found)


CLAIMS = (limit,)

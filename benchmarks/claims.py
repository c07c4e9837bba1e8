"""What learned kernels are worth, against what the papers say of them.

    MERCER_DATA=/path/to/sets python benchmarks/claims.py [NAME ...] [--repeats R]

sine
    The problem of Afkanpour et al. (2013), section 3.1, Figure 2: 500 training, 500 validation and
    1000 test points; Dirichlet kernels of the true frequencies alone, in pairs and together, with
    uniform weights; alignf over the frequencies 1, 2, ..., 9; CA-1D over frequencies up to 20.
relevance
    Their 50-dimensional problem, Figure 3: 50 training, 1000 validation and 2000 test points,
    features of unequal relevance. The penalty of CA-nD is none, the one of largest alignment on the
    validation points (their appendix B.2), or `penalty="auto"`, from the training points alone.
letters
    Eight pairs of letters: 300 training and 200 validation points, 1000 test points or what is
    left. Finite dictionaries have 20 widths: the default, read off the data, or the paper's, evenly
    spaced from 1 to 200.
digits
    MNIST 3 against 8, raw pixels: 500 training, 1000 validation and 2000 test points; the paper's
    20 widths are evenly spaced from 500 to 50,000.
corrective
    Fully corrective against stagewise steps, CA-1D: alignment on the training data and number of
    kernels, on every classification set in the data folder, at most 500 random samples,
    standardised. "Reached" is the number of kernels with which fully corrective steps reach the
    alignment that stagewise steps end with.
cr
    CR-1D, one-stage, against CA-1D, two-stage: error, kernels kept, steps taken, and the time to
    learn a kernel and its machine once, C being known, in units of CA-1D's with one SVC. The sine
    problem (Dirichlet frequencies up to 20) and the eight pairs of letters as above. CR's C is the
    best of 10^-3, 10^-2, ..., 10^2 on the validation points, up to 1 for the sine problem, where
    larger ones ask for ever more frequencies; its published line search takes the same C. At most
    50 steps; a median over splits for times, steps and kernels.

Elsewhere C is the best of 10^-5, 10^-4.5, ..., 10^5 on the validation points. Errors are in %,
alignments are centred, those beside errors on test points; a mean over repeats has its standard
error beside it.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
from common import (
    LETTER_PAIRS,
    THREADS,
    Outcome,
    Split,
    command_line,
    held_out_alignment,
    mean_and_error,
    print_table,
    seconds,
    standardised_sample,
    three_parts,
    try_kernel,
    two_classes,
)
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from mercer import (
    AlignmentMaximization,
    ContinuousAlignment,
    ContinuousMKLClassifier,
    TwoStageClassifier,
    UniformCombination,
)
from mercer.continuous import PENALTIES
from mercer.datasets import SINE_FREQUENCIES, make_relevance, make_sine
from mercer.kernels import Dirichlet, Gaussian

Methods = Mapping[str, Callable[[Split], Any]]
"""From a method's name to its learner for a problem."""

ROUNDING = 1e-12
"""Alignments closer than this are equal."""

RELEVANCE_NOTES = {
    0: ("6.5", "17.6", "6.6"),
    5: ("7.7", "9.7", "9.4"),
    40: ("8.2", "5.7", "5.3"),
}
"""Errors of throw-away code, three repeats: CA-1D, CA-nD without penalty, CA-nD with it."""


def sine_splits(seed: int) -> Split:
    """The sine problem in three independent parts."""
    train, valid, test = (
        make_sine(size, random_state=3 * seed + part) for part, size in enumerate((500, 500, 1000))
    )
    return Split(train, valid, test)


def sine(repeats: int) -> None:
    """Frequencies found, and errors with the true ones."""
    splits = [sine_splits(seed) for seed in range(repeats)]
    names = {frequency: f"√{frequency**2:.0f}" for frequency in SINE_FREQUENCIES}
    learners = {
        " + ".join(names[s] for s in chosen): UniformCombination([Dirichlet(s) for s in chosen])
        for size in (1, 2, 3)
        for chosen in combinations(SINE_FREQUENCIES, size)
    }
    learners["alignf, 1 to 9"] = AlignmentMaximization([Dirichlet(float(s)) for s in range(1, 10)])
    continuous = ContinuousAlignment(Dirichlet(bounds=(0.0, 20.0)))
    learners["CA-1D"] = continuous
    rows = []
    for name, learner in learners.items():
        outcomes = [try_kernel(learner, split) for split in splits]
        rows.append([name, *outcome_cells(outcomes)])
    print_table("sine: test error, alignment", ["kernel", "error %", "alignment"], rows)

    found = []
    for split in splits:
        kernels = continuous.fit(*split.train).kernel_.kernels
        frequencies = np.array([kernel.frequency for kernel in kernels])
        nearest = [np.abs(frequencies / s - 1.0).min() for s in SINE_FREQUENCIES]
        found.append([*nearest, len(kernels)])
    worst, typical = np.max(found, axis=0), np.median(found, axis=0)
    rows = [
        [name, f"{100 * typical[k]:.2f}", f"{100 * worst[k]:.2f}"]
        for k, name in enumerate(names.values())
    ]
    rows.append(["kernels found", f"{typical[3]:.0f}", f"{worst[3]:.0f}"])
    header = ["frequency", "median", "worst"]
    print_table("sine: CA-1D, relative error of the nearest frequency, %", header, rows)


def outcome_cells(outcomes: list[Outcome]) -> list[str]:
    """Mean error in % and mean alignment."""
    return [
        mean_and_error([outcome.error for outcome in outcomes], 100.0),
        mean_and_error([outcome.alignment for outcome in outcomes], digits=3),
    ]


def ellipsoid(penalty: float | Literal["auto"] = 0.0) -> ContinuousAlignment:
    """CA-nD."""
    return ContinuousAlignment(Gaussian(ard=True), penalty=penalty, random_state=0)


def ellipsoid_by_validation(split: Split) -> ContinuousAlignment:
    """CA-nD with the penalty of largest alignment on validation points; the largest of equals."""
    scores = [
        held_out_alignment(ellipsoid(penalty).fit(*split.train), split.valid)
        for penalty in PENALTIES
    ]
    return ellipsoid(PENALTIES[len(scores) - 1 - int(np.argmax(scores[::-1]))])


def relevance(repeats: int) -> None:
    """Relevant and irrelevant features."""
    methods: Methods = {
        "CA-1D": lambda split: ContinuousAlignment(),
        "CA-nD": lambda split: ellipsoid(),
        "CA-nD, validated penalty": ellipsoid_by_validation,
        'CA-nD, penalty="auto"': lambda split: ellipsoid("auto"),
    }
    rows = []
    for gamma, notes in RELEVANCE_NOTES.items():
        splits = []
        for seed in range(repeats):
            X, y = make_relevance(3050, gamma=gamma, random_state=seed)
            splits.append(three_parts(X, y, (50, 1000, 2000), seed))
        for (name, learner), expected in zip(methods.items(), (*notes, notes[-1]), strict=True):
            outcomes = [try_kernel(learner(split), split) for split in splits]
            rows.append([f"gamma={gamma:<2}  {name}", *outcome_cells(outcomes), expected])
    header = ["method", "error %", "alignment", "expected %"]
    print_table("relevance: 50 features, 50 training points (best possible: 4.0 %)", header, rows)


def methods_with_widths(low: float, high: float) -> Methods:
    """The methods compared on real data; the paper's dictionary goes from `low` to `high`."""
    paper = [Gaussian(float(s)) for s in np.linspace(low, high, 20)]
    return {
        "CA-1D": lambda split: ContinuousAlignment(),
        "alignf": lambda split: AlignmentMaximization(),
        "alignf, paper's widths": lambda split: AlignmentMaximization(paper),
        "uniform": lambda split: UniformCombination(),
        "uniform, paper's widths": lambda split: UniformCombination(paper),
        "CA-nD": lambda split: ellipsoid(),
        'CA-nD, penalty="auto"': lambda split: ellipsoid("auto"),
    }


def compare(title: str, problems: Mapping[str, list[Split]], methods: Methods) -> None:
    """Print errors and alignments of methods (rows) on problems (columns), and their means.

    The last column is the mean difference in error from the first method over all splits.
    """
    outcomes = {
        name: [
            [try_kernel(learner(split), split) for split in splits] for splits in problems.values()
        ]
        for name, learner in methods.items()
    }
    errors = {
        name: 100.0 * np.array([[outcome.error for outcome in row] for row in rows])
        for name, rows in outcomes.items()
    }
    alignments = {
        name: np.array([[outcome.alignment for outcome in row] for row in rows])
        for name, rows in outcomes.items()
    }
    first = next(iter(methods))
    rows = [
        [
            *(name, *(f"{mean:.1f}" for mean in values.mean(axis=1)), f"{values.mean():.2f}"),
            "" if name == first else mean_and_error((values - errors[first]).ravel(), digits=2),
        ]
        for name, values in errors.items()
    ]
    header = ["method", *problems, "mean", f"less {first}"]
    print_table(f"{title}: test error, %", header, rows)
    rows = [
        [name, *(f"{mean:.2f}" for mean in values.mean(axis=1)), f"{values.mean():.3f}"]
        for name, values in alignments.items()
    ]
    print_table(f"{title}: alignment on test points", ["method", *problems, "mean"], rows)


def letters(repeats: int) -> None:
    """Pairs of letters."""
    problems = {}
    for pair in LETTER_PAIRS:
        X, y = two_classes("letter", *pair)
        problems[pair] = [three_parts(X, y, (300, 200, 1000), seed) for seed in range(repeats)]
    compare("letters", problems, methods_with_widths(1.0, 200.0))


def digits(repeats: int) -> None:
    """3 against 8."""
    X, y = two_classes("mnist20k", [3], [8])
    splits = [three_parts(X, y, (500, 1000, 2000), seed) for seed in range(repeats)]
    compare("digits", {"3 against 8": splits}, methods_with_widths(500.0, 50_000.0))


def classification_sets() -> list[str]:
    """Names of the sets in the data folder whose target is a class."""
    names = sorted(path.stem for path in Path(os.environ["MERCER_DATA"]).glob("*.npz"))
    return [name for name in names if name != "kin8nm"]


def corrective(repeats: int) -> None:
    """Fully corrective against stagewise steps."""
    rows, broken = [], []
    for name in classification_sets():
        for seed in range(repeats):
            X, y = standardised_sample(name, 500, seed)
            full = ContinuousAlignment(task="classification").fit(X, y)
            stagewise = ContinuousAlignment(task="classification", step="stagewise").fit(X, y)
            goal = stagewise.alignment_ - ROUNDING
            reached = [step.n_kernels for step in full.history_ if step.alignment >= goal]
            holds = bool(reached) and min(reached) <= stagewise.weights_.size
            problem = f"{name}, sample {seed}"
            if not holds:
                broken.append(problem)
            rows.append(
                [
                    problem,
                    f"{stagewise.alignment_:.4f}",
                    f"{stagewise.weights_.size}",
                    f"{full.alignment_:.4f}",
                    f"{full.weights_.size}",
                    f"{full.alignment_ - stagewise.alignment_:+.1e}",
                    f"{min(reached)}" if reached else "never",
                    "yes" if holds else "NO",
                ]
            )
    header = ["set", "stagewise", "kernels", "corrective", "kernels", "gain", "reached", "holds"]
    print_table("corrective: alignment on the training data and kernels kept", header, rows)
    print(f"  does not hold: {'; '.join(broken) or 'nowhere'} ({len(broken)} of {len(rows)})")


@dataclass(frozen=True)
class Learned:
    """What one fit gave."""

    error: float
    seconds: float
    kernels: int
    steps: int
    gap: float


def fit_two_stage(family: Any, split: Split) -> Learned:
    """CA-1D, the time with a support vector machine of any C."""
    learner = ContinuousAlignment(family)
    model = TwoStageClassifier(learner, C=1.0)
    duration = seconds(lambda: model.fit(*split.train))
    error = try_kernel(learner, split).error
    return Learned(error, duration, model.weights_.size, model.n_iter_, np.nan)


def fit_one_stage(family: Any, split: Split, C: float, **settings: Any) -> tuple[Learned, float]:
    """CR-1D, and its accuracy on validation points."""
    model = ContinuousMKLClassifier(family, C=C, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        duration = seconds(lambda: model.fit(*split.train))
    error = 1.0 - model.score(*split.test)
    found = Learned(error, duration, model.weights_.size, model.n_iter_, model.dual_gap_)
    return found, model.score(*split.valid)


def compare_stages(title: str, family: Any, splits: Sequence[Split], grid: Sequence[float]) -> None:
    """Print CA-1D beside CR-1D."""
    found: dict[str, list[Learned]] = {"CA-1D": [], "CR-1D": [], "CR-1D, line search": []}
    for split in splits:
        found["CA-1D"].append(fit_two_stage(family, split))
        tried = [(fit_one_stage(family, split, C), C) for C in grid]
        (best, _), C = max(tried, key=lambda entry: entry[0][1])
        found["CR-1D"].append(best)
        published, _ = fit_one_stage(family, split, C, step="stagewise")
        found["CR-1D, line search"].append(published)
    unit = np.array([entry.seconds for entry in found["CA-1D"]])
    first = np.array([entry.error for entry in found["CA-1D"]])
    rows = []
    for name, entries in found.items():
        errors = np.array([entry.error for entry in entries])
        times = np.array([entry.seconds for entry in entries])
        rows.append(
            [
                name,
                mean_and_error(errors, 100.0, digits=2),
                mean_and_error(errors - first, 100.0, digits=2),
                f"{np.median(times / unit):.1f}",
                f"{np.median([entry.kernels for entry in entries]):.0f}",
                f"{np.median([entry.steps for entry in entries]):.0f}",
                f"{np.median([entry.gap for entry in entries]):.0e}",
            ]
        )
    header = ["method", "error %", "less CA-1D", "time / CA-1D", "kernels", "steps", "gap"]
    print_table(f"cr: {title}", header, rows)


def cr(repeats: int) -> None:
    """One stage or two."""
    sine_family = Dirichlet(bounds=(0.01, 20.0))
    splits = [sine_splits(seed) for seed in range(repeats)]
    compare_stages("sine", sine_family, splits, 10.0 ** np.arange(-3, 1))
    splits = []
    for pair in LETTER_PAIRS:
        X, y = two_classes("letter", *pair)
        splits += [three_parts(X, y, (300, 200, 1000), seed) for seed in range(repeats)]
    compare_stages("letters, eight pairs", Gaussian(), splits, 10.0 ** np.arange(-3, 3))


CLAIMS: dict[str, Callable[[int], None]] = {
    "sine": sine,
    "relevance": relevance,
    "letters": letters,
    "digits": digits,
    "corrective": corrective,
    "cr": cr,
}


def main() -> None:
    """Try the claims asked for."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--repeats", type=int, default=3, help="random samples or splits")

    names, options = command_line(__doc__, CLAIMS, add_options)
    with threadpool_limits(THREADS), warnings.catch_warnings():
        warnings.simplefilter("always", ConvergenceWarning)
        for name in names:
            CLAIMS[name](options.repeats)


if __name__ == "__main__":
    main()

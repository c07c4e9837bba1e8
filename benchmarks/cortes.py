"""One-stage beside two-stage learning: the tables of Cortes, Mohri, Rostamizadeh (2010), section 5.

    MERCER_DATA=/path/to/sets python benchmarks/cortes.py [NAME ...] [--repeats R]

cortes1
    Table 1: Gaussian kernels exp(-gamma |x - x'|^2), gamma = 2^g0, 2^(g0 + 1), ..., 2^g1, for the
    g0 and g1 of the table; 1000 random samples of kin8nm, german, spambase and splice and all 351
    of ionosphere, features as they are. Regression on kin8nm and ionosphere (labels -1 and 1), by
    kernel ridge regression and l2-krr, `L2KRR` around zero; classification on the others, by
    support vector machines and l1-svm, `L1SVM`.
cortes2
    Table 2, books: one kernel of rank one for each of 4,000 counts of bigrams, 2,000 reviews.
    Regression of the rating, l2-krr around uniform weights with a radius of their own length;
    classification into ratings of at least 4 and others. The paper has no alignf there.

Each of five folds is the test set once, the next one the validation set, the other three are for
training; a repeat is another random sample and other folds. All kernels have equal centred traces
on the training folds. Of 2^-5, 2^-3, ..., 2^15, C (1 / alpha in regression) is the one of least
error on the validation fold, the smallest of equal ones. What it multiplies: one-stage methods see
the kernels at a mean centred diagonal of one, in two-stage ones the learned kernel has it.

Columns: the error, in % or as root mean squared error, and the centred alignment of the learned
kernel with the target, both on the test fold, mean and standard deviation over folds; "paper",
their values in the paper; "notes", those of throw-away code; "- unif", the mean difference in error
from the uniform combination and its standard error; "edge", how many of the folds chose the
smallest and the largest C.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from common import (
    THREADS,
    Array,
    Outcome,
    Split,
    command_line,
    held_out_alignment,
    mean_and_error,
    print_table,
)
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import KernelCenterer
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from mercer import (
    L1SVM,
    L2KRR,
    AlignmentMaximization,
    IndependentAlignment,
    UniformCombination,
)
from mercer.datasets import load
from mercer.kernels import Gaussian, Kernel, Linear

Task = Literal["classification", "regression"]

C_GRID: Array = 2.0 ** np.arange(-5, 16, 2)
N_FOLDS = 5
N_SAMPLES = 1000
N_BIGRAMS = 4000


@dataclass(frozen=True)
class Published:
    """What the paper gives for a method: error and alignment; and what throw-away code gave."""

    error: str
    alignment: str
    notes: str = ""


@dataclass(frozen=True)
class Problem:
    """A set, its dictionary, and what is known of it.

    Attributes
    ----------
    data : str
        Name of the set.
    task : {"classification", "regression"}
    published : dict of str to Published
        Of each method.
    exponents : tuple of int, or None
        The smallest and the largest exponent of gamma.
    """

    data: str
    task: Task
    published: Mapping[str, Published]
    exponents: tuple[int, int] | None = None

    def kernels(self) -> list[Kernel]:
        """Gaussian kernels, or one linear kernel a feature."""
        if self.exponents is None:
            return [Linear(per_feature=True)]
        low, high = self.exponents
        return [Gaussian(2.0 ** (-g / 2.0)) for g in range(low, high + 1)]

    def splits(self, seed: int) -> Iterator[Split]:
        """Splits of a random sample into five folds, each the test set once."""
        bunch = load(self.data)
        X = bunch.data.toarray() if hasattr(bunch.data, "toarray") else bunch.data
        y = bunch.target
        n_samples = len(y) if self.exponents is None else N_SAMPLES
        if self.data == "sentiment_books" and self.task == "classification":
            y = np.where(y >= 4, 1, -1)
        order = np.random.default_rng(seed).permutation(len(y))[:n_samples]
        folds = np.array_split(order, N_FOLDS)
        for _ in range(N_FOLDS):
            parts = np.concatenate(folds[2:]), folds[1], folds[0]
            yield Split(*((X[rows].astype(np.float64), y[rows]) for rows in parts))
            folds = [*folds[1:], folds[0]]


TABLE1 = {
    "kinematics": Problem(
        "kin8nm",
        "regression",
        {
            "unif": Published(".138 ± .005", ".158", ".142"),
            "l2-krr": Published(".137 ± .005", ".155", ".141"),
            "align": Published(".125 ± .004", ".173", ".129"),
            "alignf": Published(".115 ± .004", ".176", ".121"),
        },
        (-3, 3),
    ),
    "ionosphere": Problem(
        "ionosphere",
        "regression",
        {
            "unif": Published(".467 ± .085", ".242", ".469"),
            "l2-krr": Published(".457 ± .085", ".248", ".449"),
            "align": Published(".445 ± .086", ".257", ".447"),
            "alignf": Published(".442 ± .087", ".273", ".445"),
        },
        (-3, 3),
    ),
    "german": Problem(
        "german",
        "classification",
        {
            "unif": Published("25.9 ± 1.8", ".089", "24.8"),
            "l1-svm": Published("26.0 ± 2.6", ".082", "24.8"),
            "align": Published("25.5 ± 1.5", ".089", "24.1"),
            "alignf": Published("24.2 ± 1.5", ".093", "24.6"),
        },
        (-4, 3),
    ),
    "spambase": Problem(
        "spambase",
        "classification",
        {
            "unif": Published("18.7 ± 2.8", ".138", "20.8"),
            "l1-svm": Published("20.9 ± 2.8", ".099", "21.9"),
            "align": Published("18.6 ± 2.6", ".140", "20.2"),
            "alignf": Published("18.0 ± 2.4", ".146", "20.6"),
        },
        (-12, -7),
    ),
    "splice": Problem(
        "splice",
        "classification",
        {
            "unif": Published("15.2 ± 2.2", ".122", "14.0"),
            "l1-svm": Published("15.3 ± 2.5", ".105", "13.3"),
            "align": Published("15.1 ± 2.4", ".123", "14.1"),
            "alignf": Published("13.9 ± 1.3", ".124", "13.0"),
        },
        (-9, -3),
    ),
}

TABLE2 = {
    "books, rating": Problem(
        "sentiment_books",
        "regression",
        {
            "unif": Published("1.442 ± .015", ".029", "1.359"),
            "l2-krr": Published("1.414 ± .020", ".031"),
            "align": Published("1.401 ± .035", ".046", "1.337"),
        },
    ),
    "books, good or not": Problem(
        "sentiment_books",
        "classification",
        {
            "unif": Published("25.8 ± 1.7", ".030", "25.8"),
            "l1-svm": Published("28.6 ± 1.6", ".029"),
            "align": Published("24.3 ± 2.0", ".043", "24.5"),
        },
    ),
}


@dataclass(frozen=True)
class Chosen:
    """What a method reached with the C that it chose, and where in the grid that is."""

    outcome: Outcome
    position: int


def error(task: Task, y: Array, predicted: Array) -> float:
    """Part of wrong labels, or root mean squared error."""
    if task == "classification":
        return float(np.mean(y != predicted))
    return float(np.sqrt(np.mean((y - predicted) ** 2)))


def two_stage(task: Task, learner: Any) -> Callable[[Split], Chosen]:
    """A kernel learned first, its Gram matrix centred and divided by its mean diagonal."""

    def machine(C: float) -> Any:
        if task == "classification":
            return SVC(kernel="precomputed", C=C, max_iter=1_000_000)
        return KernelRidge(kernel="precomputed", alpha=1.0 / C)

    def run(split: Split) -> Chosen:
        X, y = split.train
        fitted = clone(learner).set_params(task=task).fit(X, y)
        gram = fitted.transform(X)
        centerer = KernelCenterer().fit(gram)
        scale = gram.trace() / len(gram) - gram.mean()
        parts = (X, split.valid[0], split.test[0])
        gram, valid, test = (centerer.transform(fitted.transform(part)) / scale for part in parts)
        offset = y.mean() if task == "regression" else 0
        machines = [machine(C).fit(gram, y - offset) for C in C_GRID]
        errors = [error(task, split.valid[1], m.predict(valid) + offset) for m in machines]
        best = int(np.argmin(errors))
        reached = error(task, split.test[1], machines[best].predict(test) + offset)
        return Chosen(Outcome(reached, held_out_alignment(fitted, split.test)), best)

    return run


def one_stage(task: Task, model: Callable[[float], Any]) -> Callable[[Split], Chosen]:
    """A kernel learned with the machine that uses it, for each C."""

    def run(split: Split) -> Chosen:
        best: Any = None
        position, least = 0, np.inf
        for number, C in enumerate(C_GRID):
            fitted = model(C).fit(*split.train)
            reached = error(task, split.valid[1], fitted.predict(split.valid[0]))
            if reached < least:
                best, position, least = fitted, number, reached
        reached = error(task, split.test[1], best.predict(split.test[0]))
        return Chosen(Outcome(reached, held_out_alignment(best, split.test)), position)

    return run


def methods(problem: Problem) -> dict[str, Callable[[Split], Chosen]]:
    """The methods of a row of a table, by the paper's names."""
    kernels, task = problem.kernels(), problem.task
    found = {"unif": two_stage(task, UniformCombination(kernels, normalize="trace"))}
    if task == "classification":
        found["l1-svm"] = one_stage(task, lambda C: L1SVM(kernels, C=C))
    elif problem.exponents is not None:
        found["l2-krr"] = one_stage(task, lambda C: L2KRR(kernels, alpha=1.0 / C))
    else:
        found["l2-krr"] = one_stage(
            task,
            lambda C: L2KRR(kernels, alpha=1.0 / C, center="uniform", radius=N_BIGRAMS**-0.5),
        )
    found["align"] = two_stage(task, IndependentAlignment(kernels, normalize="trace"))
    if problem.exponents is not None:
        found["alignf"] = two_stage(task, AlignmentMaximization(kernels))
    return found


def mean_and_deviation(values: Array, digits: int) -> str:
    """Mean and standard deviation, as the paper gives them."""
    return f"{values.mean():.{digits}f} ± {values.std(ddof=1):.{digits}f}"


def table(title: str, problems: Mapping[str, Problem], repeats: int) -> None:
    """Print a table of the paper, sets and methods in rows."""
    rows = []
    for name, problem in problems.items():
        scale, digits = (100.0, 1) if problem.task == "classification" else (1.0, 3)
        splits = [split for seed in range(repeats) for split in problem.splits(seed)]
        errors: dict[str, Array] = {}
        for method, run in methods(problem).items():
            chosen = [run(split) for split in splits]
            errors[method] = scale * np.array([each.outcome.error for each in chosen])
            alignments = np.array([each.outcome.alignment for each in chosen])
            positions = np.array([each.position for each in chosen])
            difference = errors[method] - errors["unif"]
            edges = (positions == 0).sum(), (positions == C_GRID.size - 1).sum()
            published = problem.published[method]
            rows.append(
                [
                    f"{name}, {method}",
                    mean_and_deviation(errors[method], digits),
                    published.error,
                    published.notes,
                    "" if method == "unif" else mean_and_error(difference, digits=digits),
                    mean_and_deviation(alignments, 3),
                    published.alignment,
                    f"{edges[0]}, {edges[1]} of {positions.size}",
                ]
            )
    header = ["set, method", "error", "paper", "notes", "- unif", "alignment", "paper", "edge"]
    print_table(title, header, rows)


BENCHMARKS: dict[str, Callable[[int], None]] = {
    "cortes1": lambda repeats: table("cortes1: Gaussian kernels", TABLE1, repeats),
    "cortes2": lambda repeats: table("cortes2: kernels of rank one", TABLE2, repeats),
}


def main() -> None:
    """Print the tables asked for."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--repeats", type=int, default=1, help="random samples and folds")

    names, options = command_line(__doc__, BENCHMARKS, add_options)
    with threadpool_limits(THREADS), warnings.catch_warnings():
        warnings.simplefilter("always", ConvergenceWarning)
        for name in names:
            BENCHMARKS[name](options.repeats)


if __name__ == "__main__":
    main()

"""The time to learn a kernel, beside that of its machine: Cortes et al. (2010), section 5."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from experiments.c_search import seconds
from experiments.experiment import Experiment, Measures
from experiments.folds import Folds
from experiments.reporting.results import Results
from experiments.reporting.section import Finding, claim, table
from experiments.studies.gaussian_combinations import SETS, published, raw
from mercer import AlignmentMaximization, IndependentAlignment, UniformCombination
from mercer._estimators.kernel_learner import KernelLearner
from mercer.kernels import Kernel

# The value of C of every machine whose time is taken.
C = 1.0


def two_stages(data: Folds, *, make: Callable[[Sequence[Kernel]], KernelLearner]) -> Measures:
    """Return the seconds of both stages on the training folds of the first split."""
    X, y = data.splits[0].train
    learner = clone(make(data.kernels)).set_params(task=data.task)
    machine: Any = KernelRidge(kernel="precomputed", alpha=1.0 / C)
    if data.task == "classification":
        machine = SVC(kernel="precomputed", C=C)
    learning = seconds(lambda: learner.fit(X, y))
    return {
        "seconds": learning,
        "seconds_machine": seconds(lambda: machine.fit(learner.transform(X), y)),
        "alignment": learner.alignment_,
    }


def one_stage(data: Folds) -> Measures:
    """Return the seconds of one fit, which is for a single value of C."""
    model = published(data, C)
    return {"seconds": seconds(lambda: model.fit(*data.splits[0].train))}


def experiment(small: bool) -> Experiment:
    """Declare the sets and dictionaries of Table 1."""
    n_samples, names = (100, ["german"]) if small else (1000, list(SETS))
    return Experiment(
        title="The cost of learning a combination",
        source="Cortes, Mohri, Rostamizadeh (2010), section 5.1",
        problems={name: partial(raw, name=name, n_samples=n_samples) for name in names},
        methods={
            "unif": partial(
                two_stages, make=lambda kernels: UniformCombination(kernels, normalize="trace")
            ),
            "one-stage": one_stage,
            "align": partial(
                two_stages, make=lambda kernels: IndependentAlignment(kernels, normalize="trace")
            ),
            "alignf": partial(two_stages, make=AlignmentMaximization),
        },
        repeats=1,
        timed=5,
    )


def milliseconds(value: float) -> str:
    """Format a time, or a hyphen if it is not known."""
    return f"{1000.0 * value:.0f}" if np.isfinite(value) else "-"


def times(results: Results) -> str:
    """Return the times of both stages."""
    rows = [
        [
            problem,
            *(milliseconds(results.mean("seconds", problem, method)) for method in METHODS),
            milliseconds(results.mean("seconds_machine", problem, "align")),
        ]
        for problem in results.problems
    ]
    return table(["set", *METHODS, "machine"], rows)


METHODS = ("unif", "align", "alignf", "one-stage")


@claim(
    "Cortes et al. 2010, section 5.1",
    "On each set, align takes less than 1.5 times the time of unif to learn the kernel, and less "
    "time than a one-stage fit; unif needs the Gram matrices and their traces as well (means, not "
    "tested)",
)
def cheap(results: Results) -> Finding | None:
    """align is an inexpensive heuristic."""
    conditions, texts = [], []
    for problem in results.tried("seconds", "align"):
        own, plain, joint, rival = (
            results.mean("seconds", problem, method)
            for method in ("align", "unif", "alignf", "one-stage")
        )
        conditions += [own < 1.5 * plain, own < rival]
        texts.append(
            f"{problem} {own / plain:.2f} of unif, {own / joint:.2f} of alignf, "
            f"{own / rival:.2f} of a one-stage fit"
        )
    return (
        conditions,
        f"the time of align as a multiple of that of other methods: {'; '.join(texts)}",
        "unif learns nothing, but computes the values of the kernels as well. The time that a "
        "method takes beyond that of unif is therefore the cost of learning.",
    )


CLAIMS = (cheap,)

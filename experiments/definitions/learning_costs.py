"""The time to learn a kernel, beside that of its machine: Cortes et al. (2010), section 5."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from experiments.c_search import seconds
from experiments.definitions.gaussian_combinations import SETS, published, raw
from experiments.experiment import Experiment, Measures
from experiments.folds import Folds
from mercer import AlignmentMaximization, IndependentAlignment, UniformCombination
from mercer._kernel_learner import KernelLearner
from mercer.kernels import Kernel

C = 1.0
"""The value of C of every machine whose time is taken."""


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

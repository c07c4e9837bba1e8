"""One Gaussian kernel by HSIC, alignment or cross-validation: errors of Wang & Li (2018)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from experiments.compared_methods import automatic
from experiments.experiment import Experiment, Measures, Method, at_most
from experiments.halves import C_GRID, GAMMAS, Halves, machine_of_gram, machine_of_grid, problems
from mercer import KernelOptimization
from mercer.kernels import Gaussian

Criterion = Literal["ka", "cka", "hsic"]

CRITERIA: dict[str, Criterion] = {"KA": "ka", "CKA": "cka", "HSIC": "hsic"}
"""The criteria that are maximized, by their names in the paper."""

ARD_SUFFIX = " ARD"
"""The part of a method's name that says that it has one width for each feature."""

LIMITS = {
    **at_most(
        3,
        ("australian", "vehicle", "yeast", "segment", "waveform"),
        ("CV", "HSIC ARD, penalty", "HSIC ARD, stopped", "choice of form"),
    ),
    ("yeast", "CV"): 2,
    ("waveform", "CV"): 1,
    ("yeast", "choice of form"): 2,
    ("segment", "choice of form"): 1,
    ("waveform", "choice of form"): 0,
}
"""The largest numbers of repeats of slow methods."""


def learner(criterion: Criterion, *, ard: bool, **options: Any) -> KernelOptimization:
    """Return the learner of a Gaussian kernel that maximizes a criterion."""
    settings = {"ard_penalty": 0.0, "max_iter": 2000, **options}
    return KernelOptimization(Gaussian(ard=ard), criterion, **settings)


def optimized(criterion: Criterion, *, ard: bool = False, **options: Any) -> Method:
    """Return a method that maximizes a criterion, and then finds C by five folds.

    The measure `features` is the effective number of features, (sum r_z)^2 / sum r_z^2 for the
    relevances r_z = 1 / s_z^2.
    """

    def measure(data: Halves) -> Measures:
        X, y = data.train
        model = learner(criterion, ard=ard, **options).fit(X, y)
        machine = machine_of_gram(model.transform(X), y)
        relevance = model.kernels_[0].relevance(X.shape[1])
        return {
            "error": 1.0 - machine.score(model.transform(data.test[0]), data.test[1]),
            "C": machine.best_params_["C"],
            "alignment": model.alignment_,
            "iterations": model.n_iter_,
            "features": relevance.sum() ** 2 / np.sum(relevance**2),
        }

    return measure


def cross_validation(small: bool) -> Method:
    """Return the method that finds width and C by five folds."""
    gammas = GAMMAS[::6] if small else GAMMAS

    def measure(data: Halves) -> Measures:
        machine = machine_of_grid(*data.train, gammas=gammas)
        return {"error": 1.0 - machine.score(*data.test), **machine.best_params_}

    return measure


def experiment(small: bool) -> Experiment:
    """Declare cross-validation, and kernels with one width and with one width per feature."""
    drawn = problems(small)
    methods: dict[str, Method] = {"CV": cross_validation(small)}
    for name, criterion in CRITERIA.items():
        methods[name] = optimized(criterion)
    methods["KA 0/1"] = optimized("ka", output_kernel="delta")
    for name, criterion in CRITERIA.items():
        methods[name + ARD_SUFFIX] = optimized(criterion, ard=True)
    methods["HSIC ARD, penalty"] = optimized("hsic", ard=True, ard_penalty="auto")
    methods["HSIC ARD, stopped"] = optimized("hsic", ard=True, early_stopping=True)
    methods["choice of form"] = automatic()
    left_out = {(name, "choice of form"): 0 for name in drawn} if small else {}
    return Experiment(
        title="Kernels of the largest dependence on the labels",
        source="Wang & Li (2018), section 4, Tables 2 and 4, Figure 1",
        problems=drawn,
        methods=methods,
        limits={**LIMITS, **left_out},
        test_to_train=1.0,
        grids={"C": C_GRID},
    )

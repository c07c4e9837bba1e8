"""One Gaussian kernel by HSIC, alignment or cross-validation: errors of Wang & Li (2018)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from experiments.experiment import Experiment, Measures, Method, at_most
from experiments.halves import GAMMAS, Halves, machine_of_gram, machine_of_grid, problems
from experiments.methods import automatic
from mercer import KernelOptimization
from mercer.kernels import Gaussian

Criterion = Literal["ka", "cka", "hsic"]

CRITERIA: dict[str, Criterion] = {"KA": "ka", "CKA": "cka", "HSIC": "hsic"}
"""What is maximized, by the names of the paper."""

ELLIPSOID = " ellipsoid"
"""What the names of methods with one width per feature have in them."""

LIMITS = {
    **at_most(
        3,
        ("australian", "vehicle", "yeast", "segment", "waveform"),
        ("CV", "HSIC ellipsoid, penalty", "HSIC ellipsoid, stopped", "choice of form"),
    ),
    ("yeast", "CV"): 2,
    ("waveform", "CV"): 1,
    ("yeast", "choice of form"): 2,
    ("segment", "choice of form"): 1,
    ("waveform", "choice of form"): 0,
}


def learner(criterion: Criterion, *, ard: bool, **options: Any) -> KernelOptimization:
    """A Gaussian kernel that maximizes a criterion until it changes by less than 1e-5."""
    settings = {"ard_penalty": 0.0, "max_iter": 2000, **options}
    return KernelOptimization(Gaussian(ard=ard), criterion, **settings)


def optimized(criterion: Criterion, *, ard: bool = False, **options: Any) -> Method:
    """A kernel of the largest criterion, then C by five folds.

    `features` is how many features of equal relevance 1 / s_z^2 would be as many as the kernel's.
    """

    def measure(data: Halves) -> Measures:
        X, y = data.train
        model = learner(criterion, ard=ard, **options).fit(X, y)
        machine = machine_of_gram(model.transform(X), y)
        relevance = model.kernel_.relevance(X.shape[1])
        return {
            "error": 1.0 - machine.score(model.transform(data.test[0]), data.test[1]),
            "C": machine.best_params_["C"],
            "alignment": model.alignment_,
            "iterations": model.n_iter_,
            "features": relevance.sum() ** 2 / np.sum(relevance**2),
        }

    return measure


def cross_validation(small: bool) -> Method:
    """Width and C by five folds."""
    gammas = GAMMAS[::6] if small else GAMMAS

    def measure(data: Halves) -> Measures:
        machine = machine_of_grid(*data.train, gammas=gammas)
        return {"error": 1.0 - machine.score(*data.test), **machine.best_params_}

    return measure


def experiment(small: bool) -> Experiment:
    """Errors of cross-validation and of kernels of one width and of one width per feature."""
    drawn = problems(small)
    methods: dict[str, Method] = {"CV": cross_validation(small)}
    for name, criterion in CRITERIA.items():
        methods[name] = optimized(criterion)
    methods["KA 0/1"] = optimized("ka", output_kernel="delta")
    for name, criterion in CRITERIA.items():
        methods[name + ELLIPSOID] = optimized(criterion, ard=True)
    methods["HSIC ellipsoid, penalty"] = optimized("hsic", ard=True, ard_penalty="auto")
    methods["HSIC ellipsoid, stopped"] = optimized("hsic", ard=True, early_stopping=True)
    methods["choice of form"] = automatic()
    left_out = {(name, "choice of form"): 0 for name in drawn} if small else {}
    return Experiment(
        title="Kernels of the largest dependence on the labels",
        source="Wang & Li (2018), section 4, Tables 2 and 4, Figure 1",
        problems=drawn,
        methods=methods,
        limits={**LIMITS, **left_out},
    )

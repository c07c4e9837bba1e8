"""Two-stage beside one-stage learning over Gaussian kernels: Cortes et al. (2010), Table 1."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from experiments.c_search import Task
from experiments.experiment import Experiment, at_most
from experiments.folds import N_FOLDS, Folds, folds_of, grid_search, one_stage, two_stage
from experiments.problems import Split, whole
from mercer import (
    L1SVM,
    L2KRR,
    AlignmentMaximization,
    IndependentAlignment,
    UniformCombination,
)
from mercer.kernels import Gaussian, Kernel

SETS: dict[str, tuple[str, Task, int, int]] = {
    "kinematics": ("kin8nm", "regression", -3, 3),
    "ionosphere": ("ionosphere", "regression", -3, 3),
    "german": ("german", "classification", -4, 3),
    "spambase": ("spambase", "classification", -12, -7),
    "splice": ("splice", "classification", -9, -3),
}
"""Data, task, and the smallest and largest exponent g of gamma = 2^g, by the paper's name."""

STANDARDIZED = ", standardized"
"""The end of the names of problems whose features are standardized."""


def dictionary(low: int, high: int) -> list[Kernel]:
    """Return Gaussian kernels exp(-gamma |x - x'|^2), gamma = 2^low, ..., 2^high."""
    return [Gaussian(2.0 ** (-g / 2.0)) for g in range(low, high + 1)]


def raw(repeat: int, *, name: str, n_samples: int) -> Folds:
    """Return the paper's setting: features as they are, and the paper's widths."""
    data, task, low, high = SETS[name]
    return Folds(task, dictionary(low, high), folds_of(*whole(data), n_samples, repeat))


def standardized(repeat: int, *, name: str, n_samples: int) -> Folds:
    """Return standardized features, with widths from a quarter to 32 times sqrt(d)."""
    data, task, _, _ = SETS[name]
    X, y = whole(data)
    kernels = [Gaussian(np.sqrt(X.shape[1]) * 2.0**g) for g in range(-2, 6)]
    return Folds(task, kernels, folds_of(StandardScaler().fit_transform(X), y, n_samples, repeat))


def published(data: Folds, C: float) -> Any:
    """Return the paper's one-stage method: l2-krr around zero for responses, l1-svm for classes."""
    if data.task == "regression":
        return L2KRR(data.kernels, alpha=1.0 / C)
    return L1SVM(data.kernels, C=C)


def widths(split: Split) -> Sequence[Kernel]:
    """Return kernels of nine widths, each twice the one before, around gamma="scale"."""
    X = split.train[0]
    return [Gaussian(np.sqrt(X.shape[1] * X.var()) * 2.0**g) for g in range(-4, 5)]


def experiment(small: bool) -> Experiment:
    """Declare five sets, with features raw and standardized, four methods and a grid search."""
    n_samples = 100 if small else 1000
    names = ["ionosphere", "german"] if small else list(SETS)
    drawn = {name: partial(raw, name=name, n_samples=n_samples) for name in names}
    drawn |= {
        name + STANDARDIZED: partial(standardized, name=name, n_samples=n_samples) for name in names
    }
    return Experiment(
        title="Gaussian kernels combined by alignment",
        source="Cortes, Mohri, Rostamizadeh (2010), section 5.1, Table 1",
        problems=drawn,
        methods={
            "unif": two_stage(lambda kernels: UniformCombination(kernels, normalize="trace")),
            "one-stage": one_stage(published),
            "align": two_stage(lambda kernels: IndependentAlignment(kernels, normalize="trace")),
            "alignf": two_stage(AlignmentMaximization),
            "grid search": grid_search(widths),
        },
        limits=at_most(3, drawn, ("grid search", "one-stage")),
        test_to_train=1.0 / (N_FOLDS - 2),
    )

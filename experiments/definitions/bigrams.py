"""Kernels of rank one, one for each bigram: Cortes et al. (2010), Table 2, books."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from experiments.c_search import Task
from experiments.experiment import Experiment
from experiments.folds import N_FOLDS, Folds, folds_of, one_stage, two_stage
from experiments.problems import whole
from mercer import (
    L1SVM,
    L2KRR,
    AlignmentMaximization,
    IndependentAlignment,
    UniformCombination,
)
from mercer.kernels import Linear

SLOW = {"one-stage": 2, "alignf": 1}
"""The number of repeats of methods that take minutes."""

RATING, GOOD = "books, rating", "books, good or not"
"""The problem of regression, and that of classification."""


def books(repeat: int, *, task: Task, n_samples: int, n_bigrams: int) -> Folds:
    """Return counts of the most frequent bigrams, with ratings or whether they are at least 4."""
    X, y = whole("sentiment_books")
    X = X[:, np.argsort(-X.sum(axis=0), kind="stable")[:n_bigrams]]
    if task == "classification":
        y = np.where(y >= 4, 1, -1)
    return Folds(task, [Linear(per_feature=True)], folds_of(X, y, n_samples, repeat))


def published(data: Folds, C: float) -> Any:
    """Return l1-svm for classes, and for ratings l2-krr around uniform weights.

    The radius of l2-krr is the length of the vector of uniform weights.
    """
    if data.task == "classification":
        return L1SVM(data.kernels, C=C)
    n_bigrams = data.splits[0].train[0].shape[1]
    return L2KRR(data.kernels, alpha=1.0 / C, center="uniform", radius=n_bigrams**-0.5)


def experiment(small: bool) -> Experiment:
    """Declare the experiment: ratings and classes of 2,000 reviews."""
    sizes = (
        {"n_samples": 200, "n_bigrams": 300} if small else {"n_samples": 2000, "n_bigrams": 4000}
    )
    return Experiment(
        title="Kernels of rank one combined by alignment",
        source="Cortes, Mohri, Rostamizadeh (2010), section 5.2, Table 2",
        problems={
            RATING: partial(books, task="regression", **sizes),
            GOOD: partial(books, task="classification", **sizes),
        },
        methods={
            "unif": two_stage(lambda kernels: UniformCombination(kernels, normalize="trace")),
            "one-stage": one_stage(published),
            "align": two_stage(lambda kernels: IndependentAlignment(kernels, normalize="trace")),
            "alignf": two_stage(AlignmentMaximization),
        },
        limits={(name, slow): n for name in (RATING, GOOD) for slow, n in SLOW.items()},
        test_to_train=1.0 / (N_FOLDS - 2),
    )

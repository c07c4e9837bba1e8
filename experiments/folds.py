"""Five-fold validation of two-stage and one-stage learning: Cortes et al. (2010), section 5."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge

from experiments import c_search
from experiments.experiment import Measures, Method, collected
from experiments.problems import Array, Split
from mercer._estimators.kernel_learner import KernelLearner
from mercer.kernels import Kernel

# The values of C that are tried, and of 1 / alpha in regression.
C_GRID: Array = 2.0 ** np.arange(-5, 16, 2)

# The number of folds of Cortes et al. (2010), section 5.
N_FOLDS = 5


@dataclass(frozen=True)
class Folds:
    """A dictionary, and a sample in five folds; each fold is the test set once.

    The fold after the test set is for validation, the other three are for training.
    """

    task: c_search.Task
    kernels: Sequence[Kernel]
    splits: Sequence[Split]


def folds_of(X: Array, y: Array, n_samples: int, seed: int) -> list[Split]:
    """Split random samples into five folds."""
    order = np.random.default_rng(seed).permutation(len(y))[:n_samples]
    folds = np.array_split(order, N_FOLDS)
    splits = []
    for _ in range(N_FOLDS):
        train, valid, test = np.concatenate(folds[2:]), folds[1], folds[0]
        splits.append(Split(*((X[rows], y[rows]) for rows in (train, valid, test))))
        folds = [*folds[1:], folds[0]]
    return splits


@dataclass(frozen=True)
class ErrorsOfC:
    """The errors of the predictor with one value of C, on validation and on test data."""

    valid: float
    test: float


def predictors(task: c_search.Task, gram: Array, y: Array) -> Iterator[Any]:
    """Yield support vector machines or kernel ridge regressions, by increasing C."""
    if task == "classification":
        yield from c_search.machines(gram, y, C_GRID, give_up=False)
    else:
        for C in C_GRID:
            yield KernelRidge(kernel="precomputed", alpha=1.0 / C).fit(gram, y)


def with_each_c(
    task: c_search.Task, kernel: Callable[..., Array], split: Split
) -> Iterator[ErrorsOfC]:
    """Yield the errors of predictors with a learned kernel, by increasing C."""
    grams = c_search.Grams.of(kernel, split)
    y = split.train[1]
    offset = y.mean() if task == "regression" else 0
    for machine in predictors(task, grams.train, y - offset):
        errors = [
            c_search.error(task, part[1], machine.predict(rows) + offset)
            for rows, part in ((grams.valid, split.valid), (grams.test, split.test))
        ]
        yield ErrorsOfC(*errors)


def each_fold(fold: Callable[[Folds, Split], Measures]) -> Method:
    """Turn measures of one fold into a method that collects those of all folds in lists."""

    def measure(data: Folds) -> Measures:
        return collected([fold(data, split) for split in data.splits])

    return measure


def two_stage(make: Callable[[Sequence[Kernel]], KernelLearner]) -> Method:
    """Return a method that learns a kernel first, and then machines that use it."""

    def fold(data: Folds, split: Split) -> Measures:
        X, y = split.train
        learner = clone(make(data.kernels)).set_params(task=data.task)
        learner.fit(X, y)
        tried = list(with_each_c(data.task, learner.kernel_, split))
        position = c_search.first_best([each.valid for each in tried])
        return combination_measures(learner, split, data.task, tried[position].test, position)

    return each_fold(fold)


def one_stage(make: Callable[[Folds, float], Any]) -> Method:
    """Return a method that learns a kernel together with the machine that uses it, for each C."""

    def fold(data: Folds, split: Split) -> Measures:
        tried = c_search.trials(partial(make, data), split, C_GRID, every=True, task=data.task)
        position = c_search.first_best([trial.loss for trial in tried])
        model, (X, y) = tried[position].model, split.test
        return combination_measures(
            model, split, data.task, c_search.error(data.task, y, model.predict(X)), position
        )

    return each_fold(fold)


def combination_measures(
    model: Any, split: Split, task: c_search.Task, error_on_test: float, position: int
) -> Measures:
    """Return the test error of a learned kernel, its alignment, and its number of kernels."""
    return {
        "error": error_on_test,
        "alignment": c_search.alignment_of_kernel(model.kernel_, split.test, task),
        "position": position,
        "kernels": int(np.count_nonzero(model.weights_)),
    }


def grid_search(kernels: Callable[[Split], Sequence[Kernel]]) -> Method:
    """Return a grid search: one kernel of several, and C, of least error on validation data."""

    def fold(data: Folds, split: Split) -> Measures:
        tried = {
            (number, position): chosen
            for number, kernel in enumerate(kernels(split))
            for position, chosen in enumerate(with_each_c(data.task, kernel, split))
        }
        (number, position), chosen = min(tried.items(), key=lambda item: item[1].valid)
        kernel = kernels(split)[number]
        return {
            "error": chosen.test,
            "alignment": c_search.alignment_of_kernel(kernel, split.test, data.task),
            "position": position,
            "width": number,
        }

    return each_fold(fold)

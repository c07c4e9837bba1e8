"""Search for C on validation data, and the test error and alignment of a learned kernel."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import KernelCenterer
from sklearn.svm import SVC

from experiments.experiment import Measures
from experiments.problems import Array, Part, Split
from mercer.metrics import centered_alignment

Task = Literal["classification", "regression"]

# The values of C of Afkanpour et al. (2013), section 3.
C_GRID: Array = 10.0 ** np.arange(-5, 5.5, 0.5)

# libsvm stops after this many iterations; larger values of C are then not tried.
MAX_ITER = 100_000


def seconds(function: Callable[[], object]) -> float:
    """Return the wall-clock time of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def error(task: Task, y: Array, predicted: Array) -> float:
    """Return the fraction of wrong labels, or the root mean squared error."""
    if task == "classification":
        return float(np.mean(y != predicted))
    return float(np.sqrt(np.mean((y - predicted) ** 2)))


def first_best(losses: Sequence[float]) -> int:
    """Return the index of the least loss, the first of equal ones."""
    return int(np.argmin(losses))


@dataclass(frozen=True)
class Grams:
    """Gram matrices of a learned kernel between the training data and each part of a split.

    They are centered by the training data and divided by the mean diagonal of the centered training
    matrix, so that one grid of C serves every kernel.
    """

    train: Array
    valid: Array
    test: Array

    @classmethod
    def of(cls, kernel: Callable[..., Array], split: Split) -> Grams:
        """Evaluate a kernel on a split."""
        X = split.train[0]
        gram = kernel(X)
        centerer = KernelCenterer().fit(gram)
        scale = gram.trace() / len(gram) - gram.mean()
        others = (kernel(part[0], X) for part in (split.valid, split.test))
        return cls(*(centerer.transform(rows) / scale for rows in (gram, *others)))


def machines(
    gram: Array, y: Array, grid: Iterable[float] = C_GRID, *, give_up: bool = True
) -> Iterator[SVC]:
    """Yield support vector machines by increasing C, as long as a larger C may change them.

    If all dual variables of a machine are below C, every larger C gives the same machine. With
    `give_up`, a machine whose iterations reach `MAX_ITER` is the last one.
    """
    for C in grid:
        machine = SVC(kernel="precomputed", C=float(C), max_iter=MAX_ITER)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            yield machine.fit(gram, y)
        if np.max(np.abs(machine.dual_coef_)) < C or (
            give_up and machine.n_iter_.max() >= MAX_ITER
        ):
            return


def best_machine(grams: Grams, split: Split, grid: Iterable[float] = C_GRID) -> SVC:
    """Return the machine of largest accuracy on validation data, and of least C among equals."""
    tried = list(machines(grams.train, split.train[1], grid))
    return tried[first_best([-each.score(grams.valid, split.valid[1]) for each in tried])]


@dataclass(frozen=True)
class Trial:
    """A model that was fitted with one value of C.

    Attributes
    ----------
    model : estimator
    loss : float
        The error on validation data.
    duration : float
        The seconds of the fit.
    """

    model: Any
    loss: float
    duration: float


def trials(
    make: Callable[[float], Any],
    split: Split,
    grid: Iterable[float],
    *,
    every: bool = False,
    task: Task = "classification",
) -> list[Trial]:
    """Fit a one-stage model for each value of C.

    Parameters
    ----------
    make : callable
        A function from C to a model that is not fitted.
    split : Split
    grid : iterable of float
        The values of C, in increasing order.
    every : bool, default=False
        Whether to try larger values of C even if no dual variable has reached the last one, so
        that they change nothing.
    task : {"classification", "regression"}
    """
    found: list[Trial] = []
    X, y = split.valid
    for C in grid:
        model = make(float(C))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            duration = seconds(partial(model.fit, *split.train))
        found.append(Trial(model, error(task, y, model.predict(X)), duration))
        if not every and np.max(np.abs(model.dual_coef_)) < 0.999 * C:
            break
    return found


def best_trial(found: Sequence[Trial]) -> Trial:
    """Return the trial of least error on validation data, and of least C among equals."""
    return found[first_best([trial.loss for trial in found])]


def error_of_kernel(
    kernel: Callable[..., Array], split: Split, grid: Iterable[float] = C_GRID
) -> Measures:
    """Return test error and test alignment of a kernel, and the C of least validation error."""
    grams = Grams.of(kernel, split)
    machine = best_machine(grams, split, grid)
    return {
        "error": 1.0 - machine.score(grams.test, split.test[1]),
        "C": machine.C,
        "alignment": alignment_of_kernel(kernel, split.test),
    }


def alignment_of_kernel(
    kernel: Callable[..., Array], part: Part, task: Task = "classification"
) -> float:
    """Return the centered alignment of a kernel with labels, or with responses."""
    return centered_alignment(kernel(part[0]), part[1], task=task)

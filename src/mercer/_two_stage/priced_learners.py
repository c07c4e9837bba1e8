"""The learners among which the two-stage estimators choose by price where none is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from mercer._gram.samples import Samples
from mercer._gram.tiles import serial_algebra
from mercer._kernel_estimator import training_data
from mercer._kernel_learner import KernelLearner
from mercer._learners import UniformCombination
from mercer._model_selection.held_out import LowestLoss, Splits, lowest_loss_in_folds, splits_within
from mercer._model_selection.kernel_prices import descended, price, sample_rows
from mercer._model_selection.leave_one_out import EncodedTarget, LeaveOneOut, encode_target
from mercer._two_stage.penalty_grids import ALPHA_GRID
from mercer._typing import Array, Features
from mercer.kernels import Gaussian, Kernel, Laplacian
from mercer.kernels._distances import median_distance

SEARCH_ROWS = (200, 300)
"""Widths are searched on half of the rows, but on no fewer and no more than these, because prices
on half of them take an eighth of the time and are lowest at nearly the same width."""

PRICE_ROWS = 500
"""Families are compared by their prices on at most this many rows."""

_NEAR = 1.2
"""A family is tried in folds if its price is at most this many times the lowest: farther apart,
prices of ridge regression have told which support vector machine errs less."""

_LEAST_PRICE = 1e-12
"""Lower prices count as this one: where rows are repeated, they are rounding errors, which must not
choose."""

_SVM_OCTAVE = 1.0
"""Support vector machines err least with Gaussian kernels about twice as wide as those of which
ridge regression on class indicators has the lowest price."""

_OCTAVES = (-4, 5)
"""Widths are searched between these powers of two, in units of the median distance."""


@dataclass(frozen=True)
class EvaluatedLearner:
    """A learner that is a candidate, and what its kernel costs on held-out samples.

    Attributes
    ----------
    description : str
        Name and width of the kernel.
    learner : KernelLearner
        Not fitted.
    loo_error : float
        Mean squared error of ridge regression over samples left out one at a time, or held out in
        the folds that were given, relative to that of the mean of the others, with the width of the
        kernel's family at which it is lowest; 1e-12 at least.
    alpha : float
        The penalty of lowest error, for a kernel of unit scale.
    """

    description: str
    learner: KernelLearner
    loo_error: float
    alpha: float


@serial_algebra()
def priced_learners(
    X: Features,
    y: NDArray[Any],
    task: Literal["classification", "regression"],
    weights: Array | None = None,
    *,
    machines: bool = True,
    splits: Splits | None = None,
) -> list[EvaluatedLearner]:
    """Return one isotropic kernel of each family, of the width of lowest price, cheapest first.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    task : {"classification", "regression"}
    weights : ndarray of shape (n_samples,), default=None
        Positive weights of the samples.
    machines : bool, default=True
        Whether kernels of classes are as wide as suits a support vector machine.
    splits : list of (ndarray, ndarray), default=None
        Training and held-out samples, whose errors take the place of leave-one-out errors.

    Returns
    -------
    list of EvaluatedLearner

    Notes
    -----
    The families are the Gaussian and the product Laplacian. Of each, widths of powers of two times
    the median distance are priced on half of the rows (200 to 300), from one on in the direction in
    which prices fall, then the vertex of the parabola through the three lowest. The widths found
    are priced again on at most 500 rows. Each price is an eigendecomposition, or one for each fold
    that is given.
    """
    data = training_data(clone(UniformCombination()), X, y, weights)
    # An invalid target is refused before any work.
    data.target(task)
    classes = task == "classification"
    target = encode_target(data.y, classification=classes, weights=data.weights.given)
    n_searched = int(np.clip(len(target.values) // 2, *SEARCH_ROWS))
    searched = _part(data.samples(), target, n_searched, splits)
    compared = _part(data.samples(), target, PRICE_ROWS, splits)
    found = []
    for family in _families(data.samples().repeated):
        octave = _cheapest_octave(family, searched)
        cost = compared.evaluate(family.kernel(octave))
        kernel = family.kernel(octave + (family.svm_octave if classes and machines else 0.0))
        learner = UniformCombination([kernel], task=task)
        least = max(cost.loss, _LEAST_PRICE)
        found.append(EvaluatedLearner(kernel.describe(), learner, least, cost.alpha))
    return sorted(found, key=lambda candidate: candidate.loo_error)


def comparable(candidates: list[EvaluatedLearner]) -> list[EvaluatedLearner]:
    """Return the candidates whose price is so near the lowest that it does not decide.

    Parameters
    ----------
    candidates : list of EvaluatedLearner
        Cheapest first.
    """
    return [c for c in candidates if c.loo_error <= _NEAR * candidates[0].loo_error]


@dataclass(frozen=True)
class _Part:
    """Some of the samples, on which kernels are compared.

    Attributes
    ----------
    samples : Samples
    target : EncodedTarget
    splits : list of (ndarray, ndarray), or None
        Folds of them; None to leave out one at a time.
    """

    samples: Samples
    target: EncodedTarget
    splits: Splits | None

    def evaluate(self, kernel: Kernel) -> LeaveOneOut | LowestLoss:
        """Loss of a kernel on samples that are left out, and the penalty at which it is lowest."""
        if self.splits is None:
            return price(kernel, self.samples, self.target)
        return lowest_loss_in_folds(kernel, self.samples, self.target, self.splits, ALPHA_GRID)


def _part(samples: Samples, target: EncodedTarget, n_rows: int, splits: Splits | None) -> _Part:
    """Some of the samples, always the same; all where those drawn are in no fold."""
    n = samples.n_samples
    rows = sample_rows(n, n_rows, target.codes, 0)
    if splits is not None:
        inside = splits_within(splits, rows, n)
        rows, splits = (rows, inside) if inside else (np.arange(n), splits)
    return _Part(samples.take(rows), target.take(rows), splits)


@dataclass(frozen=True)
class _Family:
    """Kernels of every width.

    Attributes
    ----------
    make : callable
        Returns the kernel of a width.
    unit : float
        The median distance between samples, in the norm of the family.
    svm_octave : float
        Logarithm to base two of the width that suits a support vector machine, relative to the one
        of lowest price.
    """

    make: Callable[[float], Kernel]
    unit: float
    svm_octave: float = 0.0

    def kernel(self, octave: float) -> Kernel:
        """The kernel whose width is this power of two in units of the median distance."""
        return self.make(self.unit * 2.0**octave)


def _families(X: Features) -> Iterator[_Family]:
    """The families that are compared, bound to a table."""
    X = X.astype(np.float64, copy=False)
    yield _Family(Gaussian, median_distance(X), svm_octave=_SVM_OCTAVE)
    product = partial(Laplacian, norm=1.0)
    if product().accepts_sparse or not hasattr(X, "toarray"):
        yield _Family(product, median_distance(X, 1.0))


def _cheapest_octave(family: _Family, part: _Part) -> float:
    """Logarithm of the width of lowest price among powers of two, or between them."""

    @cache
    def loss(octave: float) -> float:
        return max(part.evaluate(family.kernel(octave)).loss, _LEAST_PRICE)

    at = descended(loss, 0, _OCTAVES)
    if not _OCTAVES[0] < at < _OCTAVES[1]:
        return at
    between = at + vertex([loss(at + step) for step in (-1, 0, 1)])
    return min(at, between, key=loss)


def vertex(values: list[float]) -> float:
    """Position, between -1/2 and 1/2, of the lowest point of the parabola through three values.

    Parameters
    ----------
    values : list of float
        At -1, 0 and 1, of which the middle one is the lowest.

    Examples
    --------
    >>> vertex([4.5, 0.5, 0.5])
    0.5
    """
    left, middle, right = values
    curvature: float = left - 2.0 * middle + right
    return 0.0 if curvature <= 0.0 else 0.5 * (left - right) / curvature

"""The learners among which two-stage estimators choose: isotropic kernels, and forms of kernels."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np

from mercer._data.folds import Split, Splits, sample_rows, splits_within
from mercer._data.sample import EncodedTarget, Sample, encode_target
from mercer._gram.samples import Samples
from mercer._gram.tiles import serial_algebra
from mercer._kernel_estimator import TrainingData
from mercer._kernel_learner import KernelLearner
from mercer._learners import (
    ContinuousAlignment,
    EvidenceMaximization,
    GradientOuterProduct,
    UniformCombination,
)
from mercer._model_selection.feature_metric import choose_metric, kernel_on_features
from mercer._model_selection.held_out import (
    best_width,
    clearly_best,
    held_out_losses,
    kernel_error,
)
from mercer._search.evidence_search import marginal_likelihood_widths
from mercer._search.greedy_alignment import Growth, learn_families
from mercer._solvers.left_out import ALPHA_GRID, ALPHAS, PenaltyLosses
from mercer._solvers.svm import WIDER
from mercer._targets import Target, Task
from mercer._typing import Features
from mercer._validation import ROUNDING
from mercer.kernels import ExponentialPower, Gaussian, Kernel, Laplacian, WeightedSum
from mercer.kernels._distances import median_distance

SEARCH_ROWS = (200, 300)
"""Widths are searched on half of the rows, at least and at most this many: left-out errors on half
of them take an eighth of the time, and are lowest at nearly the same width."""

FAMILY_ROWS = 500
"""Families are compared by their left-out errors on at most this many rows."""


# --- isotropic kernels, by left-out errors -------------------------------------------------------


@dataclass(frozen=True)
class EvaluatedLearner:
    """A learner that is a candidate, and the left-out error of its kernel.

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
def isotropic_learners(
    data: TrainingData,
    task: Task,
    splits: Splits | None = None,
    *,
    machines: bool = True,
    check: bool = True,
) -> list[EvaluatedLearner]:
    """Return one isotropic kernel of each family, of the width of lowest left-out error.

    Parameters
    ----------
    data : TrainingData
    task : {"classification", "regression"}
    splits : list of (ndarray, ndarray), default=None
        Training and held-out samples, whose errors take the place of leave-one-out errors.
    machines : bool, default=True
        Whether kernels of classes are as wide as suits a support vector machine.
    check : bool, default=True
        Whether a target that is constant is refused.

    Returns
    -------
    list of EvaluatedLearner
        The lowest error first.

    Notes
    -----
    The families are the Gaussian and the product Laplacian. Of each, widths of powers of two times
    the median distance are evaluated on half of the rows (200 to 300), from one on in the direction
    in which errors fall, then the vertex of the parabola through the three lowest. The widths found
    are evaluated again on at most 500 rows. Each takes an eigendecomposition, or one for each fold
    that is given.
    """
    if check:
        data.target(task)
    classes, samples = task == "classification", data.samples()
    target = encode_target(
        data.y, classification=classes, weights=data.weights, resampling=data.resampling
    )
    n_searched = int(np.clip(len(target) // 2, *SEARCH_ROWS))
    searched, compared = (
        _part(samples, target, n_rows, splits) for n_rows in (n_searched, FAMILY_ROWS)
    )
    found = []
    for family, svm_octave in _families(samples.repeated.astype(np.float64, copy=False)):
        octave, losses = _evaluated(family, searched, compared)
        kernel = family(octave + (svm_octave if classes and machines else 0.0))
        learner = UniformCombination([kernel], task=task)
        error = max(losses.loss, ROUNDING)
        found.append(EvaluatedLearner(kernel.describe(), learner, error, losses.alpha))
    return sorted(found, key=lambda candidate: candidate.loo_error)


def comparable(candidates: list[EvaluatedLearner], near: float = 1.2) -> list[EvaluatedLearner]:
    """Return the candidates whose error is at most some times the lowest, which is first.

    Farther apart, errors of ridge regression tell which support vector machine errs less.
    """
    return [c for c in candidates if c.loo_error <= near * candidates[0].loo_error]


_Family = Callable[[float], Kernel]
"""From a power of two, the width in units of the median distance, to a kernel."""

_Part = Callable[[Kernel], PenaltyLosses]
"""From a kernel to its left-out errors on some of the samples."""


def _evaluated(family: _Family, searched: _Part, compared: _Part) -> tuple[float, PenaltyLosses]:
    """The best octave on some samples, and its left-out errors on others."""
    octave, _ = best_width(lambda at: searched(family(at)), 0, (-4, 5), refine=True)
    return octave, compared(family(octave))


def _part(samples: Samples, target: EncodedTarget, n_rows: int, splits: Splits | None) -> _Part:
    """Left-out errors on some of the samples, always the same; on all if those are in no fold."""
    n = samples.n_samples
    rows = sample_rows(n, n_rows, target.codes, 0, target.resampling.ranks)
    if splits is not None:
        inside = splits_within(splits, rows, n)
        rows, splits = (rows, inside) if inside else (np.arange(n), splits)
    alphas = ALPHAS if splits is None else ALPHA_GRID
    part, known = samples.take(rows), target.take(rows)
    return lambda kernel: kernel_error(kernel, part, known, splits, alphas)


def _families(X: Features) -> Iterator[tuple[_Family, float]]:
    """The families that are compared, and the octave that support vector machines add to each."""
    gaussian, product = Gaussian, partial(Laplacian, norm=1.0)
    yield _of_octaves(gaussian, median_distance(X)), float(np.log2(WIDER))
    if product().accepts_sparse or not hasattr(X, "toarray"):
        yield _of_octaves(product, median_distance(X, 1.0)), 0.0


def _of_octaves(make: Callable[[float], Kernel], unit: float) -> _Family:
    return lambda octave: make(unit * 2.0**octave)


# --- forms of kernels, in folds ------------------------------------------------------------------

FORMS: list[KernelLearner] = [
    ContinuousAlignment(),
    GradientOuterProduct(Gaussian(), n_iter=0),
    GradientOuterProduct(ExponentialPower(), n_iter=0),
    EvidenceMaximization(Gaussian(ard=True)),
    EvidenceMaximization(Laplacian(ard=True)),
    GradientOuterProduct(Gaussian(), n_iter=3, diagonal=False),
]
"""Learners that are compared: of a sum of isotropic Gaussians, which is chosen unless another is
clearly better; of one kernel of one width; of one width per feature; and of projections. The first
three do not tell features apart."""


@serial_algebra()
def choose_form(
    samples: Samples,
    target: Target,
    growth: Growth,
    splits: Splits | None = None,
    *,
    n_folds: int = 3,
    n_errors: float = 2.0,
) -> KernelLearner:
    """The learner whose kernel predicts held-out samples best.

    Parameters
    ----------
    samples : Samples
        If they have one feature, only isotropic kernels are compared.
    target : Target
    growth : Growth
        How sums of kernels grow.
    splits : list of (ndarray, ndarray), default=None
        Training and held-out samples. None for folds, or random splits of large tables.
    n_folds : int, default=3
        More folds take more time, and rarely choose another form.
    n_errors : float, default=2.0
        A form is chosen if it is better by this many standard errors, as the best of several forms
        may be better by one even if none is.

    Returns
    -------
    KernelLearner
        The first of `FORMS` unless another is clearly better.

    Notes
    -----
    Kernels of all forms but the isotropic ones are learned from the labels of their samples, so
    that their leave-one-out errors would be too low.
    """
    n_forms = len(FORMS) if samples.X.shape[1] > 1 else 3

    def learn(inside: Samples, known: Target) -> list[Kernel]:
        return list(islice(_kernels(inside, known, growth), n_forms))

    losses = held_out_losses(learn, samples, target, 0, n_folds=n_folds, splits=splits)
    return FORMS[clearly_best(losses, n_errors)]


def group_folds(data: Sample, n_folds: int = 3) -> list[Split] | None:
    """Folds of whole groups, in which learners are compared; None where there are no groups."""
    if data.groups is None:
        return None
    codes = None if data.y.dtype.kind == "f" else np.unique(data.y, return_inverse=True)[1]
    return data.resampling.folds(n_folds, codes, 0)


def _kernels(samples: Samples, target: Target, growth: Growth) -> Iterator[Kernel]:
    """The kernel that each of `FORMS` learns, without fitted learners."""
    known = target.representative
    for learner in FORMS:
        if isinstance(learner, GradientOuterProduct):
            choice = choose_metric(
                learner.kernel,
                samples.representative,
                known,
                n_iter=learner.n_iter,
                diagonal=learner.diagonal,
                random_state=0,
            )
            yield kernel_on_features(choice.metrics[choice.best])
        elif isinstance(learner, EvidenceMaximization):
            Y = known.centered
            yield marginal_likelihood_widths(learner.kernel, samples.representative, Y).kernel
        else:
            found = learn_families([Gaussian()], samples, target, growth)
            yield WeightedSum(found.kernels, found.weights)

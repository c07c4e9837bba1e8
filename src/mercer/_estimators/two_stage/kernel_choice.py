"""Choice of the kernel of a two-stage estimator among isotropic kernels or forms of kernels."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Self

import numpy as np

from mercer._data.encoded_targets import EncodedTarget, encode_target
from mercer._data.folds import Splits, sample_rows, splits_within
from mercer._data.types import Features
from mercer._data.validation import ROUNDING
from mercer._estimators.kernel_estimator import TrainingData
from mercer._estimators.kernel_learner import KernelLearner
from mercer._estimators.learners import (
    ContinuousAlignment,
    EvidenceMaximization,
    GradientOuterProduct,
)
from mercer._gram.samples import Samples
from mercer._gram.tiles import serial_algebra
from mercer._model_selection.feature_metric import choose_metric, kernel_on_features
from mercer._model_selection.held_out import (
    best_width,
    clearly_best,
    held_out_losses,
    kernel_error,
)
from mercer._search.evidence_search import marginal_likelihood_widths
from mercer._search.greedy_alignment import Growth, learn_families
from mercer._search.targets import Target
from mercer._solvers.left_out import ALPHA_GRID, ALPHAS, PenaltyLosses, vertex
from mercer._solvers.svm import WIDER
from mercer.kernels import ExponentialPower, Gaussian, Kernel, Laplacian, WeightedSum
from mercer.kernels._distances import median_distance

SEARCH_ROWS = (200, 300)
"""Widths are searched on half of the rows, within these limits. Held-out errors on half of the rows
take an eighth of the time, and are lowest at nearly the same width."""

_FIRST_PENALTY = 1e-2
"""The search for the penalty of the first kernel starts here."""

_NEAR = 5e-3
"""Losses within this fraction of the lowest are as good: their standard errors are larger."""

FAMILY_ROWS = (300, 500)
"""Families are compared on three quarters of the rows, within these limits."""


# --- isotropic kernels, by held-out errors -------------------------------------------------------


@dataclass(frozen=True)
class CandidateKernel:
    """A candidate kernel, and its held-out error.

    Attributes
    ----------
    description : str
        Name and width of the kernel.
    kernel : Kernel
    loo_error : float
        Mean squared error of ridge regression on samples that are left out one at a time, or held
        out in given folds, relative to the error of predicting the mean of the other samples. It is
        the error at the best width in the family of the kernel, and at least 1e-12.
    alpha : float
        The largest penalty whose error is within half a percent of the lowest, for a kernel at unit
        scale.
    """

    description: str
    kernel: Kernel
    loo_error: float
    alpha: float


@serial_algebra()
def isotropic_kernels(
    data: TrainingData,
    splits: Splits | None = None,
    *,
    classes: bool = False,
    machines: bool = False,
) -> list[CandidateKernel]:
    """Return one isotropic kernel of each family, with the width of lowest held-out error.

    Parameters
    ----------
    data : TrainingData
    splits : list of (ndarray, ndarray), default=None
        Training and held-out samples. The errors on the latter replace leave-one-out errors.
    classes : bool, default=False
        Whether targets are labels rather than responses or indicators.
    machines : bool, default=False
        Whether to adapt the widths to support vector machines.

    Returns
    -------
    list of CandidateKernel
        The candidates in ascending order of their errors.

    Notes
    -----
    The families are the Gaussian and the product Laplacian. The widths of each family are powers of
    two times the median distance. They are evaluated on half of the rows (200 to 300), starting
    from the median distance and going in the direction in which the errors fall. Then the width at
    the vertex of the parabola through the three lowest errors is evaluated. The best width of each
    family is evaluated again on three quarters of the rows (300 to 500). Each evaluation starts at
    the best penalty of the previous kernel, and takes a Cholesky factorization for each of three to
    five penalties, of at least 1e-5. If folds are given, it takes one eigendecomposition for each
    fold.
    """
    known: dict[str, Any] = {"weights": data.weights, "resampling": data.resampling}
    target = encode_target(data.y, classification=classes, **known)
    searched, compared = (
        _Part.drawn(data.samples(), target, int(np.clip(share * len(data), *limits)), splits)
        for share, limits in ((0.5, SEARCH_ROWS), (0.75, FAMILY_ROWS))
    )
    # One penalty of several outputs is a compromise, which a coarse search misses.
    ratio = 10.0 if target.values.shape[1] == 1 else 10.0**0.5
    found, alpha = [], _FIRST_PENALTY
    for family, svm_octave in _families(searched.samples.repeated):

        def evaluate(at: float, family: _Family = family) -> PenaltyLosses:
            nonlocal alpha
            losses = searched.error(family(at), alpha, ratio)
            alpha, _ = _largest_good(losses)
            return PenaltyLosses(np.array([alpha]), np.array([_lowest_between(losses)]))

        octave, losses = best_width(evaluate, 0, (-4, 5), refine=True)
        losses = compared.error(family(octave), losses.alpha, 10.0**0.5)
        best, error = _largest_good(losses)
        kernel = family(octave + (svm_octave if machines else 0.0))
        found.append(CandidateKernel(kernel.describe(), kernel, max(error, ROUNDING), best))
    return sorted(found, key=lambda candidate: candidate.loo_error)


def comparable(candidates: list[CandidateKernel], near: float = 1.2) -> list[CandidateKernel]:
    """Return the candidates whose error is at most `near` times the lowest error, which is first.

    If the errors of ridge regression differ more than that, the kernel with the lower error is also
    better for support vector machines.
    """
    return [c for c in candidates if c.loo_error <= near * candidates[0].loo_error]


_Family = Callable[[float], Kernel]
"""A function that maps log2(width / median distance) to a kernel."""


def _largest_good(losses: PenaltyLosses) -> tuple[float, float]:
    """Return the largest penalty with nearly the lowest loss, and its loss.

    Losses are nearly constant below some penalty, which differs between parts of the samples.
    """
    at = np.flatnonzero(losses.losses <= (1.0 + _NEAR) * losses.loss)[-1]
    return float(losses.alphas[at]), float(losses.losses[at])


def _lowest_between(losses: PenaltyLosses) -> float:
    """Return the minimum of a parabola through logarithms of the lowest loss and its neighbors."""
    at = losses.best
    near = losses.losses[at - 1 : at + 2]
    if not 0 < at < len(losses.losses) - 1 or not np.isfinite(near).all():
        return losses.loss
    logs = np.log(np.maximum(near, ROUNDING))
    step = vertex(logs.tolist())
    return float(np.exp(logs[1] - 0.25 * step * (logs[0] - logs[2])))


@dataclass(frozen=True)
class _Part:
    """A fixed part of the samples, on which the held-out errors of kernels are computed."""

    samples: Samples
    target: EncodedTarget
    splits: Splits | None

    @classmethod
    def drawn(
        cls, samples: Samples, target: EncodedTarget, n_rows: int, splits: Splits | None
    ) -> Self:
        """Draw rows; all samples are used if no fold contains samples of the part."""
        n = samples.n_samples
        rows = sample_rows(n, n_rows, target.codes, 0, target.resampling.ranks)
        if splits is not None:
            inside = splits_within(splits, rows, n)
            rows, splits = (rows, inside) if inside else (np.arange(n), splits)
        return cls(samples.take(rows), target.take(rows), splits)

    def error(self, kernel: Kernel, start: float, ratio: float) -> PenaltyLosses:
        """Return the held-out errors of a kernel; see :func:`kernel_error`."""
        alphas = ALPHAS if self.splits is None else ALPHA_GRID
        known = self.samples, self.target, self.splits
        return kernel_error(kernel, *known, alphas, start=start, ratio=ratio)


def _families(X: Features) -> Iterator[tuple[_Family, float]]:
    """Yield each family to compare, and the octaves to add to it for support vector machines."""
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
"""Candidate learners: a sum of isotropic Gaussians, which is chosen unless another one is clearly
better; two single kernels with one width; two kernels with one width per feature; and a kernel on
projections. The first three are isotropic."""


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
    """Choose the learner whose kernel predicts held-out samples best.

    Parameters
    ----------
    samples : Samples
        If they have one feature, only isotropic kernels are compared.
    target : Target
    growth : Growth
        Settings for growing sums of kernels.
    splits : list of (ndarray, ndarray), default=None
        Training and held-out samples. By default, folds that do not divide groups, or random splits
        of large tables; see :func:`mercer._model_selection.held_out.held_out_splits`.
    n_folds : int, default=3
        Number of folds. More folds take more time, and rarely change the choice.
    n_errors : float, default=2.0
        Number of standard errors by which a form has to be better than the first. By chance, the
        best of several equally good forms may be better by one standard error.

    Returns
    -------
    KernelLearner
        The first of `FORMS` unless another is clearly better.

    Notes
    -----
    Kernels that are not isotropic are learned from the labels of their samples, so that their
    leave-one-out errors would be biased downward.
    """
    n_forms = len(FORMS) if samples.X.shape[1] > 1 else 3

    def learn(inside: Samples, known: Target) -> list[Kernel]:
        return list(islice(_kernels(inside, known, growth), n_forms))

    losses = held_out_losses(learn, samples, target, 0, n_folds=n_folds, splits=splits)
    return FORMS[clearly_best(losses, n_errors)]


def _kernels(samples: Samples, target: Target, growth: Growth) -> Iterator[Kernel]:
    """Yield the kernel that each of `FORMS` learns, without fitting the learners."""
    known = target.representative
    for learner in FORMS:
        family: Any = getattr(learner, "kernel", None)
        if isinstance(learner, GradientOuterProduct):
            choice = choose_metric(
                family,
                samples.representative,
                known,
                n_iter=learner.n_iter,
                diagonal=learner.diagonal,
                random_state=0,
            )
            yield kernel_on_features(choice.metrics[choice.best])
        elif isinstance(learner, EvidenceMaximization):
            Y = known.centered
            yield marginal_likelihood_widths(family, samples.representative, Y).kernel
        else:
            found = learn_families([Gaussian()], samples, target, growth)
            yield WeightedSum(found.kernels, found.weights)

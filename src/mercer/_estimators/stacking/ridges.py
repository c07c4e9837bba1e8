"""Ridge regressions on the kernels of candidates, compared by their leave-one-out predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from mercer._data.arrays import is_out_of_memory
from mercer._data.encoded_targets import EncodedTarget
from mercer._data.folds import Split, sample_rows
from mercer._data.types import Array, RandomState
from mercer._data.validation import warn
from mercer._estimators.stacking.candidates import Candidate, left_out_message
from mercer._estimators.stacking.evaluation import Evaluation, RidgeSolver, Score, ViewedSample
from mercer._estimators.stacking.table_views import ViewName
from mercer._gram.tiles import map_tiles, serial_algebra
from mercer._solvers.left_out import (
    ALPHA_GRID,
    ALPHAS,
    GAIN,
    MOST_ALPHA,
    first_alpha,
    leave_one_out,
    losses_downhill,
    losses_from,
    relative_loss,
)
from mercer._solvers.left_out_fits import left_out_residuals
from mercer._solvers.ridge import held_out_residuals
from mercer.kernels import Kernel, WeightedSum

KnownKernels: TypeAlias = Mapping[tuple[int, str, str], Kernel]
"""Mapping from keys of candidates to kernels."""

_MOST_ALWAYS = 250
"""Up to this many rows, widths are learned from all rows. With more rows of classes, they are means
of the widths that are learned from two halves, which takes half of the time. The log-loss of 15
splits of tables with 400 rows rose by .2 %, and the error of responses would rise by 2.7 %."""

_SHARP = 0.2
"""If the left-out error of indicators of classes is lower than this, widths are learned from all
rows: small differences in widths then matter."""

_NOT_FINITE = "its predictions are not finite"
"""Why a candidate is left out whose kernel overflows."""

_ROWS_DOWNHILL = 300
"""With fewer rows, an eigendecomposition takes at most as long as fits at a few penalties."""


@serial_algebra()
def evaluate(
    candidates: Sequence[Candidate],
    table: ViewedSample,
    *,
    random_state: RandomState,
    others: ViewedSample | None = None,
    known: KnownKernels = MappingProxyType({}),
    score: Score | None = None,
    on_step: Callable[[], None] = lambda: None,
    on_failure: Callable[[str], None] = warn,
) -> list[Evaluation]:
    """Evaluate candidates in threads; those that fail are left out with a warning.

    Parameters
    ----------
    candidates : sequence of Candidate
    table : ViewedSample
        The samples on which candidates are evaluated.
    random_state : int, RandomState instance or None
        Divides the samples into parts.
    others : ViewedSample, default=None
        Other samples, from which kernels are learned. If None, kernels are learned from the samples
        on which they are evaluated.
    known : mapping, default={}
        Kernels that candidates have already learned from the same samples.
    score : callable, default=None
        Function from deviations to their score.
    on_step : callable, default=None
        Called after each candidate.
    on_failure : callable, default=warn
        Called with a message if a candidate fails.
    """

    def attempt(candidate: Candidate) -> list[Evaluation] | Exception:
        try:
            return _evaluated(candidate, table, others, known, random_state)
        except Exception as error:
            if is_out_of_memory(error):
                raise
            return error

    found: list[Evaluation] = []
    for candidate, outcome in zip(candidates, map_tiles(attempt, candidates), strict=True):
        if isinstance(outcome, Exception):
            on_failure(left_out_message(candidate.descriptions, outcome))
        else:
            found += outcome
        on_step()
    return found if score is None else scored(found, score, on_failure)


def scored(
    evaluations: Sequence[Evaluation], score: Score, on_failure: Callable[[str], None]
) -> list[Evaluation]:
    """Return the evaluations with the scores of their predictions, except those without a score.

    Parameters
    ----------
    evaluations : sequence of Evaluation
    score : callable
        Function from deviations to their score.
    on_failure : callable
        Called with a message for each evaluation without a score.
    """
    found = []
    for evaluation in evaluations:
        try:
            value = score(evaluation.deviations)
            if not np.isfinite(value):
                raise ValueError(f"its score is {value}")
        except (AttributeError, TypeError, ValueError) as error:
            on_failure(left_out_message([evaluation.description], error))
        else:
            found.append(replace(evaluation, score=value))
    return found


def kernels_learned_from(
    rows: Array, evaluations: Sequence[Evaluation], evaluated: Array
) -> KnownKernels:
    """Return the kernels that candidates have learned from some of the samples, by key.

    Parameters
    ----------
    rows : ndarray of int
        Ascending indices of the samples from which kernels were learned.
    evaluations : sequence of Evaluation
        Evaluations, with the kernels that were learned without a part of their samples.
    evaluated : ndarray of int
        Ascending indices of the samples of the evaluations.
    """
    found = {}
    for e in evaluations:
        keys = dict(zip(e.candidate.descriptions, e.candidate.keys, strict=True))
        for (rest, _), kernel in e.unseen:
            # Other predictors on the same kernel have other descriptions.
            if e.description in keys and np.array_equal(evaluated[rest], rows):
                found[keys[e.description]] = kernel
    return found


def _evaluated(
    candidate: Candidate,
    table: ViewedSample,
    others: ViewedSample | None,
    known: KnownKernels,
    random_state: RandomState,
) -> list[Evaluation]:
    """Compute leave-one-out predictions with each kernel of a candidate."""
    target, keys = table.target, candidate.keys
    divided: list[Split] = []
    if candidate.uses_labels and others is None:
        divided = target.folds(2, random_state)
    parts = [partial(table.learned, candidate, rest) for rest, _ in divided]
    learn = partial((table if others is None else others).learned, candidate)
    is_known, refines = all(key in known for key in keys), len(divided) == 2 and candidate.refine
    first = [] if is_known or refines else [learn]
    learned = list(map_tiles(lambda call: call(), [*first, *parts]))
    of_parts = list(zip(*learned[len(first) :], strict=True))
    unseen = [list(zip(divided, own, strict=True)) for own in of_parts] or [[] for _ in keys]
    means = [mean_kernel(*pair) for pair in of_parts] if refines else []
    starts = [[mean, *pair] for mean, pair in zip(means, of_parts, strict=bool(means))]

    def evaluate_all(kernels: Sequence[Kernel]) -> list[Evaluation]:
        each = partial(evaluated_kernel, candidate, table)
        calls = zip(candidate.descriptions, kernels, unseen, strict=True)
        return list(map_tiles(lambda call: each(*call), list(calls)))

    if is_known:
        return evaluate_all([known[key] for key in keys])
    if not refines:
        return evaluate_all(learned[0])
    if target.classes is not None and len(target) > _MOST_ALWAYS:
        found = evaluate_all(means)
        if min(e.loo_error for e in found) >= _SHARP:
            return found
        # Predictions are those with the kernels of the parts, whichever kernel is used later.
        kernels = learn(starts=starts)
        return [replace(e, kernel=kernel) for e, kernel in zip(found, kernels, strict=True)]
    return evaluate_all(learn(starts=starts))


def mean_kernel(one: Kernel, other: Kernel) -> Kernel:
    """Return a kernel whose parameters, and weights of a sum, are geometric means of those of two.

    Parameters
    ----------
    one, other : Kernel
        Of the same families.
    """
    found = one.with_theta(0.5 * (one.theta + other.theta))
    if not isinstance(one, WeightedSum) or not isinstance(other, WeightedSum):
        return found
    weights = [np.asarray(kernel.weights) / np.sum(kernel.weights) for kernel in (one, other)]
    return replace(found, weights=np.sqrt(weights[0] * weights[1]))


def evaluated_kernel(
    candidate: Candidate,
    table: ViewedSample,
    description: str,
    kernel: Kernel,
    unseen: Sequence[tuple[Split, Kernel]] = (),
) -> Evaluation:
    """Compute leave-one-out predictions with one kernel of a candidate.

    Parameters
    ----------
    candidate : Candidate
    table : ViewedSample
    description : str
    kernel : Kernel
    unseen : sequence of ((ndarray, ndarray), Kernel), default=()
        Training rows and held-out parts of the samples, each with the kernel learned without the
        labels of the part.

    Raises
    ------
    ValueError
        If predictions are not finite.
    """
    target = table.target
    if candidate.memorizes_labels and unseen:
        alpha, predictions = _held_out(candidate, table, unseen)
    else:
        alpha, predictions = _left_out_alone(candidate, table, kernel, unseen)
    residuals = target.values - predictions
    error = relative_loss(residuals, target.values, table.weights, target.resampling)
    if not np.isfinite(error):
        raise ValueError(_NOT_FINITE)
    deviations = predictions - target.left_out_means
    solver = RidgeSolver(alpha)
    return Evaluation(description, kernel, solver, deviations, error, candidate, unseen=unseen)


def _left_out_alone(
    candidate: Candidate,
    table: ViewedSample,
    kernel: Kernel,
    unseen: Sequence[tuple[Split, Kernel]],
    least: float = 0.9e-8,
) -> tuple[float, Array]:
    """Return the penalty and predictions of regressions on all samples but those left out together.

    `unseen` has the kernels that were learned without the labels of a part. If the kernel of all
    samples is refined from these, they determine the penalty: it suits them all. With a penalty
    below 1e-8, apart from rounding, the Gram matrix of all samples may not be definite.
    """
    Y, weights, resampling = table.target.values, table.weights, table.target.resampling
    parts = [_Part.of(table, candidate.view, split, other) for split, other in unseen]

    def residuals(alpha: float) -> Array:
        found = np.full(Y.shape, np.nan)
        for part in parts:
            found[part.rows] = part.residuals(alpha)
        return found

    if parts and candidate.refine is not None:
        first = parts[0].first_alpha(max(len(Y) // 4, 2), least)
        limits = least, MOST_ALPHA * len(Y)
        fit = losses_from(residuals, Y, first, weights, resampling, limits=limits, gain=GAIN)
        return fit.alpha, np.array(fit.best_predictions)
    gram, _ = table.gram(kernel, candidate.view)
    settings: Any = {"least": least, "weights": weights, "resampling": resampling}
    if len(Y) >= _ROWS_DOWNHILL:
        fit = losses_downhill(gram, Y, ALPHAS, n_first=len(gram) // 4, **settings)
    else:
        fit = leave_one_out(gram, Y, **settings)
    return fit.alpha, Y - residuals(fit.alpha) if parts else np.array(fit.best_predictions)


@dataclass(frozen=True)
class _Part:
    """A part of the samples, and a kernel that was learned without their labels.

    Unlike the kernel, each ridge regression is fitted to all samples but those left out.

    Attributes
    ----------
    rows : ndarray of int
        The samples of the part.
    gram : ndarray of shape (n_samples, n_samples)
        Gram matrix of all samples, those of the part last, of unit scale.
    target : EncodedTarget
        Their target, in this order.
    """

    rows: Array
    gram: Array
    target: EncodedTarget

    @classmethod
    def of(cls, table: ViewedSample, view: ViewName, split: Split, kernel: Kernel) -> _Part:
        """Return a part with the Gram matrix of its kernel; see :func:`_left_out_alone`."""
        rows = split[1]
        some = table.take(np.append(np.setdiff1d(np.arange(len(table)), rows), rows))
        gram, _ = some.gram(kernel, view)
        if not np.isfinite(gram.sum()):
            raise ValueError(_NOT_FINITE)
        return cls(rows, gram, some.target)

    def residuals(self, alpha: float) -> Array:
        """Return left-out residuals of the part."""
        target, settings = self.target, (alpha, self.target.weights, self.target.resampling)
        return left_out_residuals(self.gram, target.values, *settings, n_last=len(self.rows))

    def first_alpha(self, n_rows: int, least: float) -> float:
        """Return the best penalty for some of the part; see :func:`first_alpha`."""
        target = self.target
        last = np.arange(len(target))[-len(self.rows) :]
        ranks = target.resampling.take(last).ranks
        some = last[sample_rows(len(last), n_rows, None, 0, ranks)]
        settings = target.weights, target.resampling
        return first_alpha(self.gram, target.values, some, *settings, least=least)


def _held_out(
    candidate: Candidate, table: ViewedSample, unseen: Sequence[tuple[Split, Kernel]]
) -> tuple[float, Array]:
    """Return the penalty and predictions of regressions on the samples kernels were learned from.

    In the fit to all samples, the kernel is learned from the labels of all training samples. The
    same is true of each fit here, so that the chosen penalty is suitable for that fit.
    """
    Y, weights = table.target.values, table.weights
    paths = []
    for (rest, part), kernel in unseen:
        gram, _ = table.gram(kernel, candidate.view)
        within, across = gram[np.ix_(rest, rest)], gram[np.ix_(part, rest)]
        paths.append(
            held_out_residuals(
                within, Y[rest], across, Y[part], alphas=ALPHA_GRID, weights=weights.take(rest)
            )
        )
    parts = [part for (_, part), _ in unseen]
    losses = [
        sum(
            weights.take(part).sum(np.square(r[i]).sum(axis=1))
            for part, r in zip(parts, paths, strict=True)
        )
        for i in range(len(ALPHA_GRID))
    ]
    best = int(np.argmin(losses))
    predictions = np.full(Y.shape, np.nan)
    for part, residuals in zip(parts, paths, strict=True):
        predictions[part] = Y[part] - residuals[best]
    return float(ALPHA_GRID[best]), predictions

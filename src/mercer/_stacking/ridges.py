"""Ridge regressions on the kernels of candidates, compared by their leave-one-out predictions."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mercer._data.folds import Split
from mercer._gram.tiles import map_tiles, serial_algebra
from mercer._solvers.left_out import leave_one_out, relative_loss
from mercer._solvers.left_out_fits import left_out_residuals
from mercer._stacking.candidates import Candidate
from mercer._stacking.evaluation import Evaluation, RidgeSolver, Score, ViewedSample
from mercer._typing import RandomState
from mercer._validation import warn

_LEAST_ALPHA = 0.9e-8
"""Below a penalty of 1e-8, up to rounding, the Gram matrix of all samples may not be definite."""


@serial_algebra()
def evaluate(
    candidates: Sequence[Candidate],
    table: ViewedSample,
    *,
    random_state: RandomState,
    others: ViewedSample | None = None,
    score: Score | None = None,
    on_step: Callable[[], None] = lambda: None,
    on_failure: Callable[[str], None] = warn,
) -> list[Evaluation]:
    """Evaluate candidates, in threads; those that fail are left out with a warning.

    Parameters
    ----------
    candidates : sequence of Candidate
    table : ViewedSample
        The samples that candidates are evaluated on.
    random_state : int, RandomState instance or None
        Divides the samples into parts.
    others : ViewedSample, default=None
        Other samples, from which kernels are learned. Without them, kernels are learned from those
        that they are evaluated on.
    score : callable, default=None
        From deviations to their score.
    on_step : callable, default=None
        Called after each candidate.
    on_failure : callable, default=warn
        Called with a message where a candidate fails.
    """

    def attempt(candidate: Candidate) -> list[Evaluation] | Exception:
        try:
            return _evaluated(candidate, table, others, random_state)
        except Exception as error:
            return error

    found: list[Evaluation] = []
    for candidate, outcome in zip(candidates, map_tiles(attempt, candidates), strict=True):
        if isinstance(outcome, Exception):
            on_failure(_left_out(candidate.descriptions, outcome))
        else:
            found += outcome
        on_step()
    return found if score is None else scored(found, score, on_failure)


def scored(
    evaluations: Sequence[Evaluation], score: Score, on_failure: Callable[[str], None]
) -> list[Evaluation]:
    """Evaluations with the scores of their predictions, without those that have none.

    Parameters
    ----------
    evaluations : sequence of Evaluation
    score : callable
        From deviations to their score.
    on_failure : callable
        Called with a message for each that has none.
    """
    found = []
    for evaluation in evaluations:
        try:
            value = score(evaluation.deviations)
            if not np.isfinite(value):
                raise ValueError(f"its score is {value}")
        except (AttributeError, TypeError, ValueError) as error:
            on_failure(_left_out([evaluation.description], error))
        else:
            found.append(replace(evaluation, score=value))
    return found


def _left_out(descriptions: Sequence[str], error: Exception) -> str:
    """Message on a candidate that failed."""
    reason = str(error) if isinstance(error, ValueError) else repr(error)
    return f"The candidate {', '.join(map(repr, descriptions))} is left out: {reason}"


def _evaluated(
    candidate: Candidate,
    table: ViewedSample,
    others: ViewedSample | None,
    random_state: RandomState,
) -> list[Evaluation]:
    """Leave-one-out predictions with each kernel of a candidate."""
    target, weights, resampling = table.target, table.weights, table.target.resampling
    kernels = (table if others is None else others).learned(candidate)
    divided: list[Split] = []
    if candidate.uses_labels and others is None:
        divided = target.folds(2, random_state)
    learned = [table.learned(candidate, rest) for rest, _ in divided]
    found = []
    for position, (description, kernel) in enumerate(
        zip(candidate.descriptions, kernels, strict=True)
    ):
        gram, _ = table.gram(kernel, candidate.view)
        fit = leave_one_out(
            gram, target.values, least=_LEAST_ALPHA, weights=weights, resampling=resampling
        )
        predictions = np.array(fit.best_predictions)
        for (_, part), unseen in zip(divided, learned, strict=True):
            # This kernel has not seen the part's labels; ridge regression has all other samples.
            gram, _ = table.gram(unseen[position], candidate.view)
            residuals = left_out_residuals(gram, target.values, fit.alpha, weights, resampling)
            predictions[part] = (target.values - residuals)[part]
        error = relative_loss(target.values - predictions, target.values, weights, resampling)
        if not np.isfinite(error):
            raise ValueError("its predictions are not finite")
        deviations = predictions - target.left_out_means
        solver = RidgeSolver(fit.alpha)
        found.append(Evaluation(description, kernel, solver, deviations, error, candidate))
    return found

"""The rule by which candidates of a stack are compared, kept and combined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from mercer._data.encoded_targets import EncodedTarget
from mercer._data.types import Array, RandomState, Scoring
from mercer._data.validation import ROUNDING, warn
from mercer._estimators.stacking.candidates import (
    Candidate,
    learns_relevance,
    relevance_candidates,
)
from mercer._estimators.stacking.combination import (
    Combination,
    LinearCombination,
    label_combination,
    linear_combination,
    logistic_combination,
)
from mercer._estimators.stacking.default_estimators import best_machine
from mercer._estimators.stacking.evaluation import (
    Evaluation,
    Score,
    Selection,
    ViewedSample,
    combined,
)
from mercer._estimators.stacking.ridges import KnownKernels, evaluate
from mercer._model_selection.scoring import PredictionScorer, prediction_scorer

_N_RIDGE = 5
"""Number of ridge regressions on indicators of classes that are combined, those of lowest error."""

_BLURRED = 0.4
"""With a larger left-out error of indicators of classes, a machine takes an eighth of the time of a
fit to 1,000 rows, and beside trees does not lower the log-loss (six tables). It does so on tables
whose error is smaller."""


@dataclass(frozen=True)
class SelectionRule:
    """How candidates are compared, which of them are kept, and how these are combined.

    Attributes
    ----------
    max_samples : int
        Maximum number of samples on which candidates are compared.
    scoring : str, callable or None
        The scorer that ranks candidates; None for their errors.
    random_state : int, RandomState instance or None
    classifies : bool
        Whether targets are classes or indicators of several labels, rather than responses.
    """

    max_samples: int
    scoring: Scoring
    random_state: RandomState
    classifies: bool

    def means(self, target: EncodedTarget) -> Array:
        """Return the predictions for the samples of a stack without any member.

        For responses, these are means without each sample. For classes, they are the frequencies
        among all samples.
        """
        if self.classifies:
            return np.tile(target.mean, (len(target), 1))
        return target.left_out_means

    def combine(self, deviations: Sequence[Array], target: EncodedTarget) -> Combination:
        """Learn the combination of members from their left-out predictions.

        Parameters
        ----------
        deviations : sequence of ndarray of shape (n_samples, n_outputs)
        target : EncodedTarget
            Target of the same samples; those that are never left out do not count.
        """
        covered = target.resampling.covered
        if len(covered) < len(target):
            deviations = [found[covered] for found in deviations]
        weights = target.weights.take(covered)
        if not self.classifies:
            known = target.values - target.left_out_means
            return linear_combination(deviations, known[covered], weights)
        if target.codes is None:
            return label_combination(deviations, target.values[covered], weights)
        codes, frequencies = target.codes[covered], weights.mean(target.values[covered])
        return logistic_combination(deviations, codes, frequencies, weights)

    def select(
        self,
        candidates: Sequence[Candidate],
        table: ViewedSample,
        *,
        others: ViewedSample | None = None,
        known: KnownKernels = MappingProxyType({}),
        on_step: Callable[[], None] = lambda: None,
        on_failure: Callable[[str], None] = warn,
    ) -> Selection:
        """Evaluate candidates, add those of learned relevance on the better view, combine the best.

        Parameters
        ----------
        candidates : sequence of Candidate
        table : ViewedSample
        others, known, on_step, on_failure : object
            See :func:`evaluate`.
        """

        def evaluated(some: Sequence[Candidate]) -> list[Evaluation]:
            return evaluate(
                some,
                table,
                random_state=self.random_state,
                others=others,
                known=known,
                score=self._score_alone(table),
                on_step=on_step,
                on_failure=on_failure,
            )

        found = evaluated(candidates)
        usual = [one for one in found if one.candidate.view != "given"]
        if usual and learns_relevance(table.X["scaled"]):
            best = min(usual, key=lambda evaluation: evaluation.cost)
            found += evaluated(relevance_candidates(best.candidate.view))
        return self.choose(found, table)

    def choose(self, found: Sequence[Evaluation], table: ViewedSample) -> Selection:
        """Choose the evaluated candidates that are kept, and combine them.

        Parameters
        ----------
        found : sequence of Evaluation
        table : ViewedSample
            The samples on which they were evaluated.
        """
        if not self.classifies:
            return combined(found, self._best_few(found, table), table, self.combine)
        ranked = sorted(found, key=lambda evaluation: evaluation.cost)
        machines = self._machines(ranked, table)
        few = [*ranked[:_N_RIDGE], *machines]
        return combined([*ranked, *machines], few, table, self.combine)

    def _machines(self, ranked: Sequence[Evaluation], table: ViewedSample) -> list[Evaluation]:
        """Return the machine on the best of the kernels whose parameters ignore the labels.

        None is tried beside other estimators if classes overlap.
        """
        kernels = [e for e in ranked if not e.candidate.uses_labels]
        if not kernels or not table.has_machine or table.target.codes is None:
            return []
        if table.estimators and ranked[0].loo_error > _BLURRED:
            return []
        return best_machine(kernels[0], table, self.random_state, self._score_alone(table))

    def _score_alone(self, table: ViewedSample) -> Score | None:
        """Return a function from a candidate's deviations to its score; None without a scorer.

        For classes, deviations are converted to probabilities as in a stack of this candidate
        alone.
        """
        if self.scoring is None:
            return None
        scorer = prediction_scorer(self.scoring)

        def score(deviations: Array) -> float:
            alone: Combination = LinearCombination(np.ones(1))
            if self.classifies:
                alone = self.combine([deviations], table.target)
            return _score(scorer, [deviations], alone, table)

        return score

    def _best_few(self, found: Sequence[Evaluation], table: ViewedSample) -> Sequence[Evaluation]:
        """Return the best candidates, in the number whose combination has the highest score.

        Among equally good numbers of candidates, the smallest is used. Without a scorer, these are
        all candidates.
        """
        if self.scoring is None:
            return found
        scorer, ranked = prediction_scorer(self.scoring), sorted(found, key=lambda e: e.cost)
        best, highest = len(ranked), -np.inf
        for number in range(1, len(ranked) + 1):
            deviations = [e.deviations for e in ranked[:number]]
            try:
                combination = self.combine(deviations, table.target)
                value = _score(scorer, deviations, combination, table)
            except ValueError:
                # A combination may leave the range for which a metric is defined.
                continue
            if value > highest + ROUNDING * abs(value):
                best, highest = number, value
        return ranked[:best]


def _score(
    scorer: PredictionScorer,
    deviations: Sequence[Array],
    combination: Combination,
    table: ViewedSample,
) -> float:
    """Return the score of the combined left-out predictions of several candidates."""
    target = table.target
    means = target.left_out_means
    if target.classes is not None:
        # Class frequencies among all samples that are left out; zero for classes without any.
        covered = target.take(target.resampling.covered)
        means = np.tile(covered.mean, (len(target), 1))
    return left_out_score(scorer, table.y, target, combination.combine(deviations, means))


def left_out_score(
    scorer: PredictionScorer,
    y: Array,
    target: EncodedTarget,
    values: Array,
    rows: Array | None = None,
) -> float:
    """Compute the score of left-out predictions.

    Parameters
    ----------
    scorer : PredictionScorer
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Labels, or responses in their original unit.
    target : EncodedTarget
    values : ndarray of shape (n_samples, n_outputs)
        Predictions in the target's encoding: probabilities of classes, or standardized responses.
    rows : ndarray of int, default=None
        The samples that are scored; None for all samples that are left out.

    Raises
    ------
    ValueError, TypeError, AttributeError
        If the scorer does not support such predictions.
    """
    rows = target.resampling.covered if rows is None else rows
    known, found = np.asarray(y)[rows], values[rows]
    if target.classes is None:
        found = target.decode(found).reshape(known.shape)
    return scorer(known, found, target.weights.take(rows), target.classes)

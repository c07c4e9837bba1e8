"""Base class of the stacking estimators: candidates, views of the table, and predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer._data.folds import sample_rows
from mercer._kernel_estimator import CallbackSupportMixin, reported_steps
from mercer._model_selection.encoded_target import EncodedTarget
from mercer._nystroem.approximation import check_approximation, is_exact, number_of_components
from mercer._nystroem.training_rows import (
    TrainingRows,
    as_source,
    number_of_rows,
    predict_rows,
    sampled_rows,
    validated_rows,
)
from mercer._pass_hooks import current_hooks
from mercer._stacking.candidates import (
    Candidate,
    given_candidates,
    isotropic_candidates,
    learns_relevance,
    relevance_candidates,
)
from mercer._stacking.combination import Combination
from mercer._stacking.evaluation import (
    Evaluation,
    Selection,
    ViewedSample,
    evaluate,
    left_out_predictions,
)
from mercer._stacking.members import nystroem_member
from mercer._stacking.stack_terms import StackTermsMixin
from mercer._stacking.table_views import TableViews, ViewName
from mercer._typing import Array, Features
from mercer._validation import check_bool, check_has_rows, check_number
from mercer.kernels import Kernel
from mercer.kernels._distances import squared_distances

_BLOCK_VALUES = 2**24
"""New samples are predicted in blocks of at most this many values of a kernel."""

_ROUNDING = 1e-12
"""Samples whose squared distance is a smaller fraction of the largest one are equal."""


_LEARNED_PER_EVALUATED = 2
"""Ratio of training to evaluation samples of the kernels of a large table."""


@dataclass(frozen=True)
class EvaluatedCandidate:
    """A candidate of a stack, as the fitted estimator reports it.

    Attributes
    ----------
    description : str
    kernel : Kernel
    alpha : float
        Penalty of ridge regression, or 1 / C of a support vector machine, for a kernel of unit
        scale.
    loo_error : float
        Of ridge regression, the mean squared leave-one-out error relative to that of the mean; of a
        machine, the fraction of samples that it misclassifies out of fold.
    weight : float
        Its weight in the stack; zero if it was left out.
    """

    description: str
    kernel: Kernel
    alpha: float
    loo_error: float
    weight: float


class KernelStacking(StackTermsMixin, CallbackSupportMixin, BaseEstimator):
    """Base class of the stacking estimators: candidates, and views of the table."""

    _members: list[Any]

    def __init__(
        self,
        candidates: Any = None,
        *,
        approximation: str = "auto",
        n_components: int | str = "auto",
        max_samples: int = 1000,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.candidates = candidates
        self.approximation = approximation
        self.n_components = n_components
        self.max_samples = max_samples
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_settings(self) -> None:
        """Refuse settings that cannot work, before any work."""
        check_number("max_samples", self.max_samples, whole=True, low=2)
        check_approximation(self.approximation, self.n_components)
        check_bool("verbose", self.verbose)

    def _training_rows(self, X: Any, y: Any, sample_weight: Any, **checks: Any) -> TrainingRows:
        """Validated training rows, of a table that is too large for an exact fit a sample.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BlockSource of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
        sample_weight : array-like of shape (n_samples,), or None
            Weights of zero leave samples out. They are divided by their mean, together with those
            of classes, as the penalties of machines and of their combination are fixed.
        **checks : object
            Arguments of scikit-learn's `validate_data` for the target.
        """
        X, y = as_source(X, y)
        name = type(self).__name__
        check_has_rows(number_of_rows(X), name)
        announcer = name if self.verbose else ""
        n_rows = number_of_rows(X, sample_weight)
        if is_exact(self.approximation, n_rows, announcer=announcer):
            data = validated_rows(self, X, y, sample_weight, **checks)
        else:
            state = self.random_state
            data = sampled_rows(self, X, y, sample_weight, random_state=state, **checks)
        return replace(data, weights=data.weights.relative())

    def _fit_stack(self, data: TrainingRows, target: EncodedTarget, means: Array) -> Array:
        """Choose, fit and combine the members, and set what all stacks report of them.

        Parameters
        ----------
        data : TrainingRows
        target : EncodedTarget
        means : ndarray of shape (n_samples, n_outputs)
            What is predicted for left-out samples without any member.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            Combined predictions in which the sample's own label had no part.
        """
        candidates = self._fit_views(data)
        table = ViewedSample(self._training, data.y, target.weights, target=target)
        rows = self._evaluated_rows(target)
        found = self._selection(candidates, rows, table, data)
        members, seen = self._fit_members(found.kept, table, data), target.take(rows)
        deviations, combination = [e.deviations for e in found.kept], found.combination
        choose: Callable[[Array], tuple[Combination, Sequence[Array]]]
        choose = partial(self._chosen_without, candidates, table)
        if data.positions is not None:
            seen = target
            deviations = [m.deviations_in_folds(table.X[m.view], data.positions) for m in members]
            combination = self._combined(deviations, target)
            choose = partial(self._combined_without, deviations, target)
        shares = combination.shares(deviations, seen.weights)
        fitted = {id(e): (m.kernel, w) for e, m, w in zip(found.kept, members, shares, strict=True)}
        self.candidates_ = []
        for e in found.evaluations:
            kernel, share = fitted.get(id(e), (e.kernel, 0.0))
            reported = EvaluatedCandidate(
                e.description, kernel, e.solver.alpha, e.loo_error, float(share)
            )
            self.candidates_.append(reported)
        used = combination.used
        self._members = [members[k] for k in used]
        self._combination = combination.take(used)
        self.kernels_ = [member.kernel for member in self._members]
        self.weights_ = shares[used]
        self.relevance_ = self._relevance(self._members, self.weights_)
        self._store_rows(rows, data)
        return left_out_predictions(target, means, choose, self.random_state)

    def _fit_views(self, data: TrainingRows) -> list[Candidate]:
        """Set the views of the training samples, and return the candidates with one width."""
        self._views = TableViews(data.weights.representative(data.X))
        if self.candidates is None:
            names: Sequence[ViewName] = self._views.names()
            candidates = isotropic_candidates(names)
        else:
            names, candidates = ["given"], given_candidates(self.candidates, data.names)
        self._training = {name: self._views.transform(data.X, name) for name in names}
        return candidates

    def _choose(self, found: list[Evaluation], table: ViewedSample, exact: bool) -> Selection:
        """The evaluated candidates that are kept, and their combination."""
        raise NotImplementedError

    def _combined(self, deviations: Sequence[Array], target: EncodedTarget) -> Combination:
        """The combination of members that is learned from their left-out predictions."""
        raise NotImplementedError

    def _select(
        self, candidates: Sequence[Candidate], table: ViewedSample, exact: bool, **settings: Any
    ) -> Selection:
        """Evaluate candidates, and those of learned relevance on the better view; combine the best.

        Parameters
        ----------
        candidates : sequence of Candidate
        table : ViewedSample
        exact : bool
            Whether members are fitted to all samples without an approximation.
        **settings : object
            Arguments of `evaluate`.
        """
        settings["random_state"] = self.random_state
        found = evaluate(candidates, table, **settings)
        if self.candidates is None and found and learns_relevance(table.X["scaled"]):
            best = min(found, key=lambda evaluation: evaluation.loo_error)
            found += evaluate(relevance_candidates(best.view), table, **settings)
        return self._choose(found, table, exact)

    def _selection(
        self, candidates: Sequence[Candidate], rows: Array, table: ViewedSample, data: TrainingRows
    ) -> Selection:
        """Choose and combine candidates by their errors on some rows."""
        with reported_steps(self) as report:
            settings = {"others": self._others(rows, table, data), "on_step": report}
            found = self._select(candidates, table.take(rows), data.source is None, **settings)
        if not found.evaluations:
            raise ValueError("No candidate could be evaluated on this table; see the warnings.")
        return found

    def _others(self, rows: Array, table: ViewedSample, data: TrainingRows) -> ViewedSample | None:
        """Samples of a large table that candidates are not evaluated on, to learn kernels from."""
        if data.source is None:
            return None
        rest = np.setdiff1d(np.arange(len(data.y)), rows)
        if len(rest) < len(rows):
            return None
        inside = table.target.take(rest)
        n_learned = _LEARNED_PER_EVALUATED * len(rows)
        chosen = sample_rows(len(rest), n_learned, inside.codes, self.random_state)
        return table.take(rest[chosen])

    def _fit_members(
        self, kept: Sequence[Evaluation], table: ViewedSample, data: TrainingRows
    ) -> list[Any]:
        """Predictors on the kernels of some candidates, fitted to all rows."""
        if data.source is None:
            return [found.fitted(table) for found in kept]
        n_rows = data.source.count_rows()
        current_hooks().on_start(n_rows * len(kept))
        return [
            nystroem_member(
                evaluation.kernel,
                evaluation.view,
                self._views,
                table.target,
                replace(data, X=table.X[evaluation.view]),
                rescale=evaluation.candidate.learns_widths,
                n_components=number_of_components(self.n_components, n_rows),
                random_state=self.random_state,
            )
            for evaluation in kept
        ]

    def _chosen_without(
        self, candidates: Sequence[Candidate], table: ViewedSample, train: Array
    ) -> tuple[Combination, list[Array]]:
        """A combination of candidates that were chosen on some rows; see `left_out_predictions`.

        Its ridge regressions are fitted to all rows but one, its machines without a fold.
        """
        inside = table.take(train)
        inside = inside.take(self._evaluated_rows(inside.target))
        found = self._select(candidates, inside, True, on_failure=lambda message: None)
        deviations = [e.left_out_deviations(table) for e in found.kept]
        return found.combination, deviations

    def _combined_without(
        self, deviations: Sequence[Array], target: EncodedTarget, train: Array
    ) -> tuple[Combination, Sequence[Array]]:
        """A combination of given members, learned on some rows; see `left_out_predictions`."""
        return self._combined([d[train] for d in deviations], target.take(train)), deviations

    def _store_rows(self, rows: Array, data: TrainingRows) -> None:
        """Keep the views of the samples that predictions need, and how near new samples should be.

        Predictions on Nyström features need a few samples only, to know which rows are far.
        """
        if data.positions is not None:
            self._training = {name: table[rows] for name, table in self._training.items()}
        self._reach = largest_gap(next(iter(self._training.values())))

    def _evaluated_rows(self, target: EncodedTarget) -> Array:
        """Rows that candidates are evaluated on: all, or a sample of many."""
        return sample_rows(len(target), self.max_samples, target.codes, self.random_state)

    def _for_rows(self, X: Any, function: Callable[[dict[ViewName, Features]], Array]) -> Any:
        """Apply a function of the views of new samples, block by block to a source."""
        check_is_fitted(self)
        return predict_rows(self, X, lambda rows: function(self._views_of(rows)))

    def _views_of(self, X: Features) -> dict[ViewName, Features]:
        """Validated samples in each view."""
        return {name: self._views.transform(X, name) for name in self._training}

    def _deviations(self, views: dict[ViewName, Features]) -> list[Array]:
        """Predictions of each member less the mean, shape (n_rows, n_outputs)."""
        return [
            np.concatenate(
                [
                    member.deviations(views[member.view][rows], self._training[member.view])
                    for rows in self._blocks(views)
                ]
            )
            for member in self._members
        ]

    def _closeness(self, views: dict[ViewName, Features]) -> Array:
        """How far predictions are to be trusted, shape (n_rows, 1).

        One for samples at most as far from their nearest training sample as any training sample is
        from its own; beyond that, the square of the ratio of these distances.
        """
        name = next(iter(self._training))
        squared = np.concatenate(
            [
                squared_distances(views[name][rows], self._training[name]).min(axis=1)
                for rows in self._blocks(views)
            ]
        )
        return np.asarray(1.0 / np.maximum(squared / self._reach**2, 1.0))[:, None]

    def _blocks(self, views: dict[ViewName, Features], n_values: int = 0) -> list[slice]:
        """Blocks of new rows whose kernel values, or as many others for each row, fit in memory."""
        name = next(iter(self._training))
        n_rows, n_samples = views[name].shape[0], self._training[name].shape[0]
        size = max(_BLOCK_VALUES // max(n_samples, n_values), 1)
        return [slice(start, start + size) for start in range(0, max(n_rows, 1), size)]

    def _relevance(self, members: Sequence[Any], weights: Array) -> Array:
        """Weighted mean of the members' relevances, each with a sum of one; equal without any."""
        total = np.zeros(self.n_features_in_)
        for member, weight in zip(members, weights, strict=True):
            relevance = member.kernel.relevance(self.n_features_in_)
            total += weight * relevance / (relevance.sum() or 1.0)
        equal = np.full(total.shape, 1.0 / total.size)
        return total / total.sum() if total.sum() > 0.0 else equal


def largest_gap(X: Features) -> float:
    """Largest distance of a sample to the nearest one that differs; one if all samples are equal.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    """
    size = max(_BLOCK_VALUES // X.shape[0], 1)
    largest = 0.0
    for start in range(0, X.shape[0], size):
        part = X[start : start + size]
        squared = squared_distances(part, X, start)
        squared[squared <= _ROUNDING * squared.max()] = np.inf
        nearest = squared.min(axis=1)
        largest = max(largest, float(nearest[nearest < np.inf].max(initial=0.0)))
    return float(np.sqrt(largest)) if largest > 0.0 else 1.0

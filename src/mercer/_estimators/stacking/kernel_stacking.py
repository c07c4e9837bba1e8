"""Base class of the stacking estimators: candidates, views of the table, and predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer._blocks import tables
from mercer._blocks.approximation import check_approximation, fits_exactly
from mercer._blocks.tables import DrawnSample, TableSample
from mercer._data.cross_validation import check_folds
from mercer._data.encoded_targets import EncodedTarget
from mercer._data.folds import evenly_spaced
from mercer._data.types import (
    Array,
    CrossValidator,
    Features,
    PerSample,
    RandomState,
    Scoring,
    Table,
)
from mercer._data.validation import check_bool, check_number, warn
from mercer._data.weightless import of_weightless
from mercer._estimators.fits import CallbackSupportMixin, FittedAttributesMixin, reported_steps
from mercer._estimators.stacking.candidates import (
    Candidate,
    CandidateSources,
    first_candidates,
    given_estimators,
    has_default,
    learns_relevance,
    relevance_candidates,
    takes_missing,
    views_of,
    with_own_names,
)
from mercer._estimators.stacking.combination import Combination
from mercer._estimators.stacking.default_estimators import default_estimators
from mercer._estimators.stacking.drawn_views import DrawnViews
from mercer._estimators.stacking.evaluation import Evaluation, Selection, ViewedSample
from mercer._estimators.stacking.ridges import evaluate
from mercer._estimators.stacking.scores import StackScore, check_scoring_of
from mercer._estimators.stacking.stack_expansion import Member, StackExpansionMixin
from mercer._estimators.stacking.stack_left_out import LeftOutFits, StackLeftOutMixin
from mercer._estimators.stacking.stack_updates import StackUpdatesMixin
from mercer._estimators.stacking.table_views import SeveralViews, TableViews, ViewName
from mercer._gram.dense import unit_gram
from mercer._gram.new_rows import fitting_rows
from mercer._model_selection.scoring import prediction_scorer
from mercer._search.records import KernelTerms, KernelTermsMixin
from mercer.kernels import Kernel
from mercer.kernels._leaves import total_effects


@dataclass(frozen=True)
class EvaluatedCandidate:
    """A candidate of a stack, as the fitted estimator reports it.

    Attributes
    ----------
    description : str
    kernel : Kernel or None
        None for an estimator that is fitted to the table itself.
    alpha : float
        Penalty of ridge regression, or 1 / C of a support vector machine, for a kernel of unit
        scale. NaN for other estimators.
    loo_error : float
        For responses, and for ridge regression on indicators of classes, the mean squared left-out
        error divided by the error of the mean; for an estimator of classes, the fraction of
        left-out samples misclassified.
    weight : float
        Weight in the stack; zero if the candidate was left out.
    score : float or None
        Score of the left-out predictions by `scoring`; None for estimators, and if no scorer is
        given.
    """

    description: str
    kernel: Kernel | None
    alpha: float
    loo_error: float
    weight: float
    score: float | None = None


class KernelStacking(
    StackLeftOutMixin,
    StackUpdatesMixin,
    StackExpansionMixin,
    KernelTermsMixin,
    FittedAttributesMixin,
    CallbackSupportMixin,
    BaseEstimator,
):
    """Base class of the stacking estimators: candidates, and views of the table."""

    candidates_: list[EvaluatedCandidate]
    relevance_: Array
    weights_: Array
    _members: Sequence[Member]

    def __init__(
        self,
        candidates: CandidateSources = None,
        *,
        approximation: str = "auto",
        n_components: int | str = "auto",
        max_samples: int = 1000,
        cv: CrossValidator = None,
        scoring: Scoring = None,
        random_state: RandomState = 0,
        verbose: bool = False,
        device: str = "cpu",
    ) -> None:
        self.candidates = candidates
        self.cv = cv
        self.scoring = scoring
        self.approximation = approximation
        self.n_components = n_components
        self.max_samples = max_samples
        self.random_state = random_state
        self.verbose = verbose
        self.device = device

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = takes_missing(self.candidates)
        return tags

    def _check_settings(self) -> None:
        """Raise errors for invalid settings."""
        check_number("max_samples", self.max_samples, whole=True, low=2)
        check_approximation(self.approximation, n_components=self.n_components)
        check_folds(self.cv)
        check_bool("verbose", self.verbose)

    def _training_rows(
        self, X: Table, y: PerSample, sample_weight: PerSample, groups: PerSample, **checks: Any
    ) -> TableSample:
        """Validate all training rows, or a sample of them if there are too many for an exact fit.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BlockSource of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
        sample_weight : array-like of shape (n_samples,), or None
            Samples of weight zero are left out. Weights, multiplied by those of classes, are
            divided by their mean, because the penalties of machines and of their combination are
            fixed.
        groups : array-like of shape (n_samples,), or None
        **checks : object
            Arguments of scikit-learn's `validate_data` for the target.
        """
        X, y = tables.as_source(X, y)
        data: TableSample
        if fits_exactly(self, X, sample_weight, self.approximation):
            data = tables.validated_rows(self, X, y, sample_weight, groups, **checks)
        else:
            checks["random_state"] = self.random_state
            if self.cv is not None:
                checks["divide"] = partial(self._divided, X=X, y=y, groups=groups)
            data = tables.drawn_rows(self, X, y, sample_weight, groups, **checks)
        return replace(data, weights=data.weights.relative())

    def _fit_stack(self, data: TableSample, target: EncodedTarget, means: Array, X: Table) -> None:
        """Choose, fit and combine the members, and set the attributes that all stacks have.

        Parameters
        ----------
        data : TableSample
        target : EncodedTarget
        means : ndarray of shape (n_samples, n_outputs)
            Predictions for the left-out samples by a stack without any member.
        X : object
            The table as given, including the samples of weight zero.
        """
        check_scoring_of(self.scoring, data.y, target)
        candidates, table = self._candidates(data), self._viewed(data, target)
        rows = table.evaluated_rows(self.max_samples, self.random_state)
        others = table.others(rows)
        with reported_steps(self) as report:
            settings = {"others": others, "on_step": report}
            chosen = self._select(candidates, table.take(rows), **settings)
        chosen = table.revised(chosen, rows, self._combined, warn)
        if not chosen.evaluations:
            raise ValueError("No candidate could be evaluated on this table; see the warnings.")
        members = table.fitted(chosen.kept, rows)
        found = table.refined(chosen, members, self._combined, rows)
        self._training, self._stored_rows = table.stored(rows)
        self._report(chosen, members, found)
        self._find_reach(target)
        # Parameters may be changed before left-out predictions are read.
        stack = type(self)(**self.get_params(deep=False))
        is_drawn = isinstance(data, DrawnSample)
        predict = self.predict_proba if is_classifier(self) else self.predict
        all_given = data.numbers, None if is_drawn else of_weightless(data, predict, X)
        learned = candidates, table, chosen, found, rows, others is not None
        # Fits to more rows than are stored have left-out predictions already.
        self._keep_left_out(LeftOutFits(stack, *learned, *all_given, means), now=is_drawn)

    def _candidates(self, data: TableSample) -> list[Candidate]:
        """Set the views of the training samples, and return the candidates to evaluate first."""
        self._views = TableViews(data.weights.representative(data.X))
        return first_candidates(self.candidates, self._views, data.names)

    def _viewed(self, data: TableSample, target: EncodedTarget) -> ViewedSample:
        """Return the samples in the views on which the candidates are evaluated."""
        names = views_of(self.candidates, self._views)
        if (far := self._views.of_distances) not in names:
            names = [*names, far]
        views = self._views.transforms(data.X, names)
        settings: Any = {"target": target, "random_state": self.random_state}
        settings["estimators"] = self._estimators(target, next(iter(views)))
        if not isinstance(data, DrawnSample):
            return ViewedSample(views, data.y, target.weights, **settings)
        settings.update(drawn=data, views=self._views, n_components=self.n_components)
        return DrawnViews(views, data.y, target.weights, **settings)

    def _estimators(self, target: EncodedTarget, view: ViewName) -> list[Candidate]:
        """Return the candidates that are fitted out of fold: the default ones, and given ones."""
        found = given_estimators(self.candidates)
        if has_default(self.candidates) and not self._views.is_sparse:
            found += default_estimators(target, view, self.random_state)
        return with_own_names(found)

    def _choose(self, found: list[Evaluation], table: ViewedSample) -> Selection:
        """Choose the evaluated candidates that are kept, and combine them."""
        raise NotImplementedError

    def _score_on(self, table: ViewedSample) -> StackScore | None:
        """Return the scorer of candidates and combinations on a table; None without `scoring`."""
        if self.scoring is None:
            return None
        return StackScore(prediction_scorer(self.scoring), self._combined, table)

    def _combined(self, deviations: Sequence[Array], target: EncodedTarget) -> Combination:
        """Learn the combination of members from their left-out predictions."""
        covered = target.resampling.covered
        if len(covered) < len(target):
            deviations = [found[covered] for found in deviations]
        return self._combination_of(deviations, target, covered)

    def _combination_of(
        self, deviations: Sequence[Array], target: EncodedTarget, covered: Array
    ) -> Combination:
        """Learn the combination from the deviations of the samples that are left out."""
        raise NotImplementedError

    def _select(
        self, candidates: Sequence[Candidate], table: ViewedSample, **settings: Any
    ) -> Selection:
        """Evaluate candidates, add those of learned relevance on the better view, combine the best.

        Parameters
        ----------
        candidates : sequence of Candidate
        table : ViewedSample
        **settings : object
            Arguments of `evaluate`.
        """
        settings["random_state"] = self.random_state
        if (score := self._score_on(table)) is not None:
            settings["score"] = score.alone
        found = evaluate(candidates, table, **settings)
        usual = [one for one in found if one.candidate.view != "given"]
        if usual and learns_relevance(table.X["scaled"]):
            best = min(usual, key=lambda evaluation: evaluation.cost)
            found += evaluate(relevance_candidates(best.candidate.view), table, **settings)
        return self._choose(found, table)

    def _report(self, chosen: Selection, members: Sequence[Member], found: Selection) -> None:
        """Set the candidates, the members that are used, their weights and their relevance."""
        shares, used = found.shares, found.combination.used
        fitted = {
            id(e): (m.kernel, w) for e, m, w in zip(chosen.kept, members, shares, strict=True)
        }
        self.candidates_ = []
        for e in chosen.evaluations:
            kernel, share = fitted.get(id(e), (e.kernel, 0.0))
            self.candidates_.append(
                EvaluatedCandidate(
                    e.description, kernel, e.solver.alpha, e.loo_error, float(share), e.score
                )
            )
        self._members = [members[k] for k in used]
        self._combination = found.combination.take(used)
        self.kernels_ = [member.kernel for member in self._members]
        self.weights_ = shares[used]
        self.relevance_ = self._relevance(self._members, self.weights_)

    def _for_rows(self, X: Table, function: Callable[[dict[ViewName, Features]], Array]) -> Array:
        """Apply a function to the views of new samples; a source is processed block by block."""
        check_is_fitted(self)
        return tables.predict_rows(self, X, lambda rows: function(self._views_of(rows)))

    @property
    def _views_of(self) -> SeveralViews:
        """Function from validated samples to their views."""
        kernels = tuple(kernel for kernel in self.kernels_ if kernel is not None)
        return SeveralViews(self._views, tuple(self._training), kernels)

    def _deviations(self, views: dict[ViewName, Features]) -> list[Array]:
        """Return the predictions of each member minus the mean, shape (n_rows, n_outputs)."""
        return [
            np.concatenate(
                [
                    member.deviations(views[member.view][rows], self._training[member.view])
                    for rows in self._blocks(views)
                ]
            )
            for member in self._members
        ]

    def _blocks(self, views: dict[ViewName, Features], n_values: int = 0) -> list[slice]:
        """Return blocks of rows whose kernel values, or `n_values` numbers each, fit in memory."""
        name = next(iter(self._training))
        n_rows, n_samples = views[name].shape[0], self._training[name].shape[0]
        size = fitting_rows(max(n_samples, n_values))
        return [slice(start, start + size) for start in range(0, max(n_rows, 1), size)]

    def _relevance(self, members: Sequence[Member], weights: Array) -> Array:
        """Return the weighted mean of the members' relevances, scaled to a sum of one.

        It is NaN if the relevance of a member is unknown, and zero if no member has weight or
        depends on a feature, so that the prediction is constant.
        """
        total = np.zeros(self.n_features_in_)
        for member, weight in zip(members, weights, strict=True):
            if weight != 0.0:
                part = self._relevance_of(member, total.size)
                total += weight * part / (part.sum() or 1.0)
        return np.asarray(total / (total.sum() or 1.0))

    def _relevance_of(self, member: Member, n_features: int, n_rows: int = 200) -> Array:
        if member.kernel is not None:
            return np.asarray(member.kernel.relevance(n_features))
        view = self._training[member.view]
        rows = view[evenly_spaced(view.shape[0], n_rows)]
        return total_effects(lambda X: member.deviations(X, view), rows)

    def kernel_terms(self) -> KernelTerms:
        """Return the candidates that the fitted stack keeps, in decreasing order of weight.

        Returns
        -------
        mercer.inspection.KernelTerms
        """
        check_is_fitted(self, "candidates_")
        kept = sorted((c for c in self.candidates_ if c.weight), key=lambda c: -c.weight)
        kernels, weights = [c.kernel for c in kept], np.array([c.weight for c in kept])
        labels, shares = [c.description for c in kept], weights / np.abs(weights).sum()
        return KernelTerms(kernels, labels, weights, shares, self.relevance_, "predictions")

    def learned_gram(self, X: Features) -> Array:
        """Return how similar samples are according to the kernels of the stack.

        The matrix is the weighted sum of the kernels' centered Gram matrices, each scaled to a mean
        diagonal of one; estimators have no part in it. It is meant for inspection: a stack combines
        predictions rather than kernels, and does not predict with this matrix.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_samples)
        """

        def combined(views: dict[ViewName, Features]) -> Array:
            pairs = zip(self._members, self.weights_, strict=True)
            return np.asarray(
                sum(w * unit_gram(m.kernel, views[m.view])[0] for m, w in pairs if m.kernel)
            )

        return np.asarray(self._for_rows(X, combined))

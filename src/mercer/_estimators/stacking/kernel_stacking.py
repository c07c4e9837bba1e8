"""Base class of the stacking estimators: candidates, views of the table, and predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, is_classifier
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mercer._blocks import tables
from mercer._blocks.approximation import (
    check_approximation,
    fits_exactly,
    number_of_components,
)
from mercer._blocks.own_encoders import OwnEncoder, check_encoder, fit_encoder, on_numbers
from mercer._blocks.tables import DrawnSample, TableSample
from mercer._data.cross_validation import check_classes, check_folds, resampling_of_rows
from mercer._data.encoded_targets import EncodedTarget
from mercer._data.folds import evenly_spaced
from mercer._data.resampling import Resampling
from mercer._data.sample import Sample, of_weightless
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
from mercer._estimators.fits import CallbackSupportMixin, FittedAttributesMixin, reported_steps
from mercer._estimators.stacking.candidates import (
    Candidate,
    CandidateSources,
    first_candidates,
    given_estimators,
    has_default,
    learns_relevance,
    takes_missing,
    views_of,
    with_own_names,
)
from mercer._estimators.stacking.combination import Combination
from mercer._estimators.stacking.default_estimators import default_estimators
from mercer._estimators.stacking.drawn_views import DrawnViews
from mercer._estimators.stacking.evaluation import Selection, ViewedSample
from mercer._estimators.stacking.left_out_predictions import LeftOut, LeftOutInputs
from mercer._estimators.stacking.members import Member, fall_back_of
from mercer._estimators.stacking.selection import SelectionRule
from mercer._estimators.stacking.table_views import SeveralViews, TableViews, ViewName
from mercer._gram.dense import unit_gram
from mercer._gram.expansion import KernelExpansion, Scale, Views
from mercer._gram.fall_back import FallBack
from mercer._gram.new_rows import fitting_rows
from mercer._gram.tiles import serial_algebra
from mercer._model_selection.deferred import Deferred
from mercer._model_selection.scoring import checked_scorer
from mercer._model_selection.updates import NOT_SUMS, UpdatesMixin
from mercer._nystroem.second_stage import all_rows_are_centers
from mercer._search.records import KernelTerms, KernelTermsMixin
from mercer.kernels import Kernel
from mercer.kernels._leaves import total_effects
from mercer.preprocessing._filled_values import FilledValues


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


_LEFT_OUT = {"loo_predictions_", "loo_score_", "_held_out"}
"""Attributes that `dir` omits before they are computed, because displaying all attributes would
compute them."""


@dataclass(eq=False, repr=False)
class StackParameters(BaseEstimator):
    """Parameters of the stacking estimators."""

    candidates: CandidateSources = None
    _: KW_ONLY
    encoder: OwnEncoder = "auto"
    approximation: str = "auto"
    n_components: int | str = "auto"
    max_samples: int = 1000
    cv: CrossValidator = None
    scoring: Scoring = None
    random_state: RandomState = 0
    verbose: bool = False
    device: str = "cpu"


class KernelStacking(
    UpdatesMixin, KernelTermsMixin, FittedAttributesMixin, CallbackSupportMixin, StackParameters
):
    """Base class of the stacking estimators: candidates, and views of the table."""

    candidates_: list[EvaluatedCandidate]
    encoder_: TransformerMixin | None
    relevance_: Array
    weights_: Array
    _members: Sequence[Any]
    _combination: Combination
    _encoded: dict[str, Any]
    _fall_back: FallBack
    _is_multilabel: bool = False
    _left_out: Deferred[LeftOut]
    _target: EncodedTarget
    _training: Views
    _views: TableViews

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
        check_encoder(self.encoder)
        check_bool("verbose", self.verbose)

    def _training_rows(
        self,
        X: Table,
        y: PerSample,
        sample_weight: PerSample,
        groups: PerSample,
        *,
        multi_output: bool = False,
        y_numeric: bool = False,
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
        multi_output, y_numeric : bool, default=False
            Arguments of scikit-learn's `validate_data`.
        """
        X, y = tables.as_source(X, y)
        is_exact = fits_exactly(self, X, sample_weight, self.approximation)
        numbers = fit_encoder(self, X, y, sample_weight)
        given = on_numbers(self), numbers, y, sample_weight, groups
        data: TableSample
        if is_exact:
            data = tables.validated_rows(*given, multi_output=multi_output, y_numeric=y_numeric)
        else:
            data = tables.drawn_rows(
                *given,
                divide=None if self.cv is None else partial(self._divided, given=(X, y, groups)),
                random_state=self.random_state,
                multi_output=multi_output,
                y_numeric=y_numeric,
            )
        return replace(data, weights=data.weights.relative())

    def _divided(self, data: TableSample, given: tuple[Table, PerSample, PerSample]) -> Resampling:
        """Return the resampling of the rows of a table in memory, for fits on Nyström features."""
        codes = None
        if is_classifier(self):
            check_classification_targets(data.y)
            codes = np.unique(data.y, return_inverse=True)[1]
        return resampling_of_rows(self.cv, data, given, codes)

    def _resampled(
        self,
        target: EncodedTarget,
        data: TableSample,
        given: tuple[Table, PerSample, PerSample],
    ) -> EncodedTarget:
        """Return the target with the resampling, which determines the samples left out together.

        Parameters
        ----------
        target : EncodedTarget
        data : TableSample
        given : (X, y, groups)
            Arguments as given, including samples of weight zero, to which listed folds refer.
        """
        if not isinstance(data, DrawnSample):
            found = resampling_of_rows(self.cv, data, given, target.codes)
        elif data.all_resampling is None:
            found = data.resampling
            if target.codes is not None:
                check_classes(None, found, given[2] is not None, target.codes)
        else:
            if data.listed is not None:
                n_rows = data.source.count_rows()
                n_centers = number_of_components(self.n_components, n_rows, preferred=True)
                if not all_rows_are_centers(data, n_centers):
                    data.listed.check_memory(n_centers)
            found = data.all_resampling.take(data.positions)
        return replace(target, resampling=found)

    @serial_algebra()
    def _fit_stack(
        self,
        data: TableSample,
        target: EncodedTarget,
        given: tuple[Table, PerSample, PerSample],
    ) -> None:
        """Choose, fit and combine the members, and set the attributes that all stacks have.

        Parameters
        ----------
        data : TableSample
        target : EncodedTarget
        given : (X, y, groups)
            Arguments as given, including the samples of weight zero.
        """
        target = self._resampled(target, data, given)
        classifies = is_classifier(self)
        rule = SelectionRule(self.max_samples, self.scoring, self.random_state, classifies)
        if self.scoring is not None:
            known = target.resampling.covered
            weights = target.weights.take(known)
            checked_scorer(self.scoring, np.asarray(data.y)[known], weights, target.classes)
        candidates, table = self._candidates(data), self._viewed(data, target)
        rows = table.evaluated_rows(self.max_samples, self.random_state)
        others = table.others(rows)
        with reported_steps(self) as report:
            chosen = rule.select(candidates, table.take(rows), others=others, on_step=report)
        chosen = table.revised(chosen, rows, rule.combine, warn)
        if not chosen.evaluations:
            raise ValueError("No candidate could be evaluated on this table; see the warnings.")
        chosen, estimators = table.with_estimators(chosen, rows, rule.combine, warn)
        members, found = table.fitted(chosen, rows, rule.combine, estimators)
        self._target = target
        self._report(chosen, members, found)
        self._set_training(*table.stored(rows))
        is_drawn = isinstance(data, DrawnSample)
        predict = self.predict_proba if classifies else self.predict
        fits = LeftOutInputs(
            rule,
            candidates,
            table,
            chosen,
            found,
            rows,
            learned_apart=others is not None,
            numbers=data.numbers,
            weightless=None if is_drawn else of_weightless(data, predict, given[0]),
            seen=getattr(self, "_seen", None),
            device=self.device,
        )
        self._left_out = Deferred(fits)
        # Fits to more rows than are stored have left-out predictions already; a scorer may warn;
        # the state of a generator may change.
        repeats = isinstance(self.random_state, Integral)
        if is_drawn or self.scoring is not None or not repeats:
            self._left_out()

    def _candidates(self, data: TableSample) -> list[Candidate]:
        """Set the views of the training samples, and return the candidates to evaluate first."""
        filled = FilledValues.of(self.encoder_, data.X)
        self._views = TableViews(data.weights.representative(data.X), filled)
        smooth = not (is_classifier(self) and learns_relevance(data.X[: self.max_samples]))
        return first_candidates(self.candidates, self._views, data.names, smooth=smooth)

    def _viewed(self, data: TableSample, target: EncodedTarget) -> ViewedSample:
        """Return the samples in the views on which the candidates are evaluated."""
        names = views_of(self.candidates, self._views)
        if (far := self._views.of_distances) not in names:
            names = [*names, far]
        views = self._views.transforms(data.X, names)
        given = views, data.y, target.weights
        estimators = self._estimators(target, next(iter(views)))
        if not isinstance(data, DrawnSample):
            return ViewedSample(
                *given, target=target, estimators=estimators, random_state=self.random_state
            )
        return DrawnViews(
            *given,
            target=target,
            estimators=estimators,
            random_state=self.random_state,
            drawn=data,
            views=self._views,
            n_components=self.n_components,
        )

    def _estimators(self, target: EncodedTarget, view: ViewName) -> list[Candidate]:
        """Return the candidates that are fitted out of fold: the default ones, and given ones."""
        found = given_estimators(self.candidates, self._views)
        if has_default(self.candidates) and not self._views.is_sparse:
            found += default_estimators(target, view, self.random_state)
        return with_own_names(found)

    def _report(self, chosen: Selection, members: Sequence[Member], found: Selection) -> None:
        """Set the candidates, the members that are used, and their weights."""
        shares, used = found.shares, found.combination.used
        kept = dict(zip(chosen.kept, zip(members, shares, strict=True), strict=True))
        self.candidates_ = []
        for e in chosen.evaluations:
            kernel, share = e.kernel, 0.0
            if e in kept:
                kernel, share = kept[e][0].kernel, float(kept[e][1])
            self.candidates_.append(
                EvaluatedCandidate(
                    e.description, kernel, e.solver.alpha, e.loo_error, share, e.score
                )
            )
        self._members = [members[k] for k in used]
        self._combination = found.combination.take(used)
        self.kernels_ = [member.kernel for member in self._members]
        self.weights_ = shares[used]

    def _set_training(self, views: Views, stored: Array) -> None:
        """Set the rows that predictions need, the relevance, and where predictions fall back.

        Parameters
        ----------
        views : mapping from names of views to ndarray or sparse matrix of shape (n_stored, ...)
        stored : ndarray of int of shape (n_stored,)
            Indices of these samples.
        """
        self._training = views
        self.relevance_ = self._relevance(self._members, self.weights_)
        view = self._views.of_distances
        groups = self._target.resampling.take(stored).groups
        found = fall_back_of(self._members, self.weights_, views, view, groups)
        self._fall_back = FallBack(view, views[view], *found, self._target.mean)

    @property
    def loo_predictions_(self) -> Array:
        """Predictions of the training samples by fits that did not use their targets."""
        return self._left_out_result("loo_predictions_").predictions

    @property
    def loo_score_(self) -> float:
        """Score of the left-out predictions, which estimates the score on new samples."""
        return self._left_out_result("loo_score_").score

    def _left_out_result(self, name: str) -> LeftOut:
        if "_left_out" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self._left_out()

    def __dir__(self) -> Iterable[str]:
        known = "_left_out" in vars(self) and self._left_out.is_known
        names = {*object.__dir__(self)} - (set() if known else _LEFT_OUT)
        return [name for name in names if hasattr(self, name)]

    def _for_rows(
        self,
        X: Table,
        function: Callable[[dict[ViewName, Features]], Array],
        *,
        all_views: bool = False,
    ) -> Array:
        """Apply a function to views of new samples; a source is processed block by block.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask collection or BlockSource
        function : callable
        all_views : bool, default=False
            Whether it takes all views that are stored, or those on which predictions depend.
        """
        check_is_fitted(self)
        views_of = self._views_of
        if not all_views:
            used = {self._fall_back.view, *(member.view for member in self._members)}
            views_of = replace(views_of, names=tuple(n for n in views_of.names if n in used))
        return tables.predict_rows(self, X, lambda rows: function(views_of(rows)))

    @property
    def _views_of(self) -> SeveralViews:
        """Function from validated samples to their views."""
        kernels = tuple(kernel for kernel in self.kernels_ if kernel is not None)
        return SeveralViews(self._views, tuple(self._training), kernels)

    def _deviations(self, views: dict[ViewName, Features]) -> list[Array]:
        """Return the predictions of each member minus the mean, shape (n_rows, n_outputs)."""
        blocks, training = self._blocks(views), self._training
        return [
            np.concatenate([m.deviations(views[m.view][rows], training[m.view]) for rows in blocks])
            for m in self._members
        ]

    def _blocks(self, views: dict[ViewName, Features], n_values: int = 0) -> list[slice]:
        """Return blocks of rows whose kernel values, or `n_values` numbers each, fit in memory."""
        name = next(iter(views))
        n_rows, n_samples = views[name].shape[0], self._training[name].shape[0]
        size = fitting_rows(max(n_samples, n_values))
        return [slice(start, start + size) for start in range(0, max(n_rows, 1), size)]

    def _relevance(self, members: Sequence[Member], weights: Array) -> Array:
        """Return the weighted mean of the members' relevances, scaled to a sum of one.

        It is NaN if the relevance of a member is unknown, and zero if no member has weight or
        depends on a feature, so that the prediction is constant.
        """
        total = np.zeros(on_numbers(self).n_features_in_)
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

    def _stack_expansion(self, scale: Scale) -> KernelExpansion:
        """Return the expansion of the combined members; for classes, of the sum before softmax."""
        far = self._fall_back
        matrices, total = self._combination.linear(far.level)
        terms, intercept = [], np.array(total, dtype=float)
        for member, matrix in zip(self._members, matrices, strict=True):
            term, constant = member.term(self._training[member.view], len(far.level))
            terms.append(term.mapped(matrix))
            intercept += constant @ matrix
        return KernelExpansion(terms, intercept, scale, self._training, self._views_of, (), far)

    def _check_updates(self) -> None:
        if not all(member.adds_rows for member in self._members):
            raise TypeError(NOT_SUMS.format(type(self).__name__))

    def _sum_rows(self, rows: Sample) -> None:
        known = self._target.encoding, self.random_state
        self._sums = [m.row_sums(self._in_view(rows, m), *known) for m in self._members]

    def _in_view(self, rows: Sample, member: Member) -> Sample:
        """Return rows in the view of a member."""
        return replace(rows, X=self._views.transform(rows.X, member.view))

    def _add_rows(self, rows: Sample) -> None:
        pairs = list(zip(self._members, self._sums, strict=True))
        sums = [found.plus(self._in_view(rows, member)) for member, found in pairs]
        members = [m.fitted_to(found) for m, found in zip(self._members, sums, strict=True)]
        self._members, self._sums = members, sums

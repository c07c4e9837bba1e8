"""Stacks for large tables: members on Nyström features of all rows, chosen on a sample of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from mercer._blocks.approximation import LITTLE_NOISE, number_of_components
from mercer._blocks.blocks import BlockSource
from mercer._blocks.tables import DrawnSample
from mercer._data.encoded_targets import EncodedTarget, TargetEncoding
from mercer._data.folds import N_FOLDS, Split, apart_from, sample_rows
from mercer._data.resampling import Resampling, as_resampling
from mercer._data.sample import Sample
from mercer._data.types import Array, Features, RandomState
from mercer._data.weights import as_weights
from mercer._estimators.stacking.candidates import Candidate, left_out_message
from mercer._estimators.stacking.combination import Combination, CombinedWithout
from mercer._estimators.stacking.evaluation import (
    LEAST_SHARE,
    Combine,
    EstimatorMember,
    Evaluation,
    FittedApart,
    Select,
    Selection,
    ViewedSample,
    estimated,
)
from mercer._estimators.stacking.member_sums import with_sums
from mercer._estimators.stacking.members import Member
from mercer._estimators.stacking.out_of_fold import OutOfFold
from mercer._estimators.stacking.ridges import evaluate
from mercer._estimators.stacking.table_views import TableViews, ViewEncoder, ViewName
from mercer._gram.devices import current_device
from mercer._gram.expansion import Term
from mercer._gram.memory import working_memory
from mercer._nystroem.second_stage import NystroemModel, RowSums, fit_nystroem, row_sums
from mercer._nystroem.width_factors import WidthChoice, with_suitable_widths
from mercer.kernels import Kernel

_FEWEST_GROUPS = 6
"""With fewer groups, or folds of `cv`, kernels are learned from the groups on which they are
evaluated."""

_LEARNED_RATIO = 2
"""Kernels are learned from this many times as many rows as are evaluated."""

_MANY_DRAWN, _LEARNED_OF_MANY = 15_000, 6000
"""If more rows than the first number are drawn, kernels are learned from at least the second
number, because widths that are learned from more rows predict better."""

_LEARNED_PART, _MOST_LEARNED = 4, 8000
"""On a card, kernels are learned from this part of the drawn rows, and at most this many."""

_LEAST_PASS_SHARE = 0.1
"""Kernels of at most this share of the weights are not worth a pass over the rows."""

_ESTIMATOR_FOLDS = 3
"""Estimators are fitted in this many folds. On eight tables of 10,000 rows, errors are the same as
with five folds."""

_SEEN_PARTS = 2
"""Candidates are evaluated on a third of the groups, with kernels learned from the others. Each
half of these others is predicted with kernels learned from all remaining groups."""

_MOST_ESTIMATOR_ROWS = 500_000
"""Maximum number of rows that estimators are fitted to. Trees grow in the time of a pass over a
million rows, and errors are lower than with trees of 100,000 rows."""


@dataclass(frozen=True)
class NystroemMember:
    """Ridge regression on Nyström features, fitted to all rows.

    Attributes
    ----------
    view : {"given", "scaled", "quantiles"}
        The view of the table on which the kernel is evaluated.
    kernel : Kernel
    model : NystroemModel
    mean : ndarray of shape (n_outputs,)
        Mean of the target.
    """

    view: ViewName
    kernel: Kernel
    model: NystroemModel
    mean: Array

    @property
    def adds_rows(self) -> bool:
        """Whether there are fewer centers than rows, so that sums over rows determine the fit."""
        return self.model.held_out is None

    def deviations(self, X: Features, Z: Features) -> Array:
        """Return predictions for new samples minus the mean; see :meth:`GramMember.deviations`."""
        return np.asarray(self.model.values(X) - self.mean)

    def term(self, Z: Features, n_outputs: int) -> tuple[Term, Array]:
        """Return a term for the deviations, and a constant; see :meth:`GramMember.term`."""
        term, constant = self.model.term(self.view)
        return term, constant - self.mean

    def left_out(
        self, Z: Features, resampling: Resampling, output: int = 0
    ) -> Callable[[Features], Array]:
        """Return a predictor of one output, on which a single training sample has little effect."""
        return lambda X: self.deviations(X, Z)[:, [output]]

    def row_sums(
        self, rows: Sample, encoding: TargetEncoding, random_state: RandomState
    ) -> RowSums:
        """Compute sums over the rows of the fit; see :func:`row_sums`."""
        return row_sums(self.model, rows)

    def fitted_to(self, sums: RowSums) -> NystroemMember:
        """Refit to the rows that were summed, with the same kernel, centers and penalty."""
        return replace(self, model=sums.fitted(self.model))


AnyMember: TypeAlias = NystroemMember | EstimatorMember


@dataclass(frozen=True)
class DrawnViews(ViewedSample):
    """Views of rows drawn from a large table; members are fitted to all of its rows.

    Ridge regressions on Nyström features take one pass over the rows for each kernel, so that
    kernels with a small share of the weights are not worth a pass.

    Attributes
    ----------
    drawn : DrawnSample
    views : TableViews
    n_components : int or "auto"
        Number of centers.
    random_state : int, RandomState instance or None
        Draws the centers, and the samples from which kernels are learned.
    """

    drawn: DrawnSample = field(kw_only=True)
    views: TableViews = field(kw_only=True)
    n_components: int | str = field(kw_only=True)
    has_machine: ClassVar[bool] = False

    def take(self, rows: Array) -> Self:
        """Return some of the samples; see :meth:`Sample.take`."""
        return replace(super().take(rows), drawn=self.drawn.take(rows))

    def least_share(self, found: Evaluation) -> float:
        """Return the least share; see :meth:`ViewedSample.least_share`."""
        return _LEAST_PASS_SHARE

    def evaluated_rows(self, max_samples: int, random_state: RandomState) -> Array:
        """Draw rows from a third of the groups, if possible; other rows then have other groups."""
        groups = self.target.resampling.together
        if groups is None or len(names := np.unique(groups[groups >= 0])) < _FEWEST_GROUPS:
            return super().evaluated_rows(max_samples, random_state)
        drawn = names[sample_rows(len(names), len(names) // 3, None, random_state)]
        rows = np.flatnonzero(np.isin(groups, drawn))
        codes = self.target.take(rows).codes
        return rows[sample_rows(len(rows), max_samples, codes, random_state)]

    def others(self, rows: Array) -> ViewedSample | None:
        """Return samples that are not evaluated, if there are enough; see :class:`ViewedSample`."""
        # Kernels of samples that only some others predict are learned from the latter alone.
        if self._own_splits is not None:
            return None
        rest = self._apart_from(rows)
        return None if len(rest) < len(rows) else self._drawn_from(rest, len(rows))

    def _apart_from(self, rows: Array) -> NDArray[np.intp]:
        """Return the samples that are neither among `rows` nor in their groups."""
        return apart_from(rows, self.target.resampling.together, len(self))

    def _drawn_from(self, rest: NDArray[np.intp], n_evaluated: int) -> Self:
        """Sample the rows to learn kernels from."""
        codes, n_learned = self.target.take(rest).codes, _LEARNED_RATIO * n_evaluated
        if current_device() is not None:
            n_learned = max(n_learned, min(len(rest) // _LEARNED_PART, _MOST_LEARNED))
        elif len(rest) > _MANY_DRAWN:
            n_learned = max(n_learned, _LEARNED_OF_MANY)
        return self.take(rest[sample_rows(len(rest), n_learned, codes, self.random_state)])

    def revised(
        self,
        chosen: Selection,
        rows: Array,
        combine: Combine,
        on_failure: Callable[[str], None],
    ) -> Selection:
        """Add estimators to the selection, and sums of kernels for responses.

        If there are estimators, members with little weight are dropped.
        """
        trees = self._apart_from_kernels(on_failure)
        evaluations, kept = [*chosen.evaluations, *trees], [*chosen.kept, *trees]
        # Probabilities of classes are less accurate with sums of kernels.
        if self.target.encoding.classes is None:
            known = [*(e.deviations for e in chosen.kept), *(e.deviations[rows] for e in trees)]
            kept = with_sums(kept, known, self.take(rows), combine)
            evaluations += [e for e in kept if all(e is not other for other in evaluations)]
        if not trees:
            return replace(chosen, evaluations=evaluations, kept=kept)
        fits = dict[Evaluation, Evaluation | None]()
        worth, has_failed = kept, True
        while has_failed:
            kept = [e for e in kept if fits.get(e, e) is not None]
            worth = self._worth_all_rows(kept, rows, combine)
            new = [e for e in worth if isinstance(e, FittedApart) and e not in fits]
            fits |= {e: self._fitted_to_all(e, on_failure) for e in new}
            has_failed = any(fits[e] is None for e in new)
        found = [[fits.get(e, e) for e in some] for some in (evaluations, worth)]
        evaluations, worth = ([e for e in some if e is not None] for some in found)
        return replace(chosen, evaluations=evaluations, kept=worth)

    def _worth_all_rows(
        self, kept: Sequence[Evaluation], rows: Array, combine: Combine
    ) -> list[Evaluation]:
        """Return the kernels and estimators that have enough weight beside each other.

        The weights are those of left-out predictions of the evaluated rows. Estimators are fitted
        to more rows than the kernels, which gives them more weight than they would have. If no
        member has enough weight, estimators are kept: all drawn rows determine their weights later.
        """
        target = self.target.take(rows)
        evaluated = [
            replace(e, deviations=e.deviations[rows]) if isinstance(e, FittedApart) else e
            for e in kept
        ]
        combination = combine([e.deviations for e in evaluated], target)
        shares = Selection([], evaluated, combination, target.weights).shares
        pairs = zip(kept, shares, strict=True)
        worth = [e for e, share in pairs if share > LEAST_SHARE]
        return worth or [e for e in kept if isinstance(e, FittedApart)]

    def _apart_from_kernels(self, on_failure: Callable[[str], None]) -> list[FittedApart]:
        """Evaluate estimators; those that fail are left out."""
        found = list[FittedApart]()
        for candidate in self.estimators:
            try:
                found.append(self._fitted_apart(candidate))
            except Exception as error:
                on_failure(left_out_message(candidate.descriptions, error))
        return found

    def _fitted_apart(self, candidate: Candidate) -> FittedApart:
        """Fit an estimator in folds of as many rows as fit into memory."""
        view, solver = candidate.view, OutOfFold(candidate.estimator, self.random_state)
        sample, predicted = self._many_rows(view), self._drawn_in(view)
        target = _sample_target(sample, self.target.encoding)
        pairs = _estimator_folds(sample, predicted)
        splits = [(np.flatnonzero(train), np.flatnonzero(inside)) for inside, train in pairs]
        scores = solver.scores(sample.X, target, predicted.X, splits)
        return FittedApart(**vars(estimated(candidate, solver, None, scores, self.target)))

    def _fitted_to_all(
        self, found: FittedApart, on_failure: Callable[[str], None]
    ) -> FittedApart | None:
        """Fit an estimator to as many rows as fit into memory; None with a message if it fails."""
        view = found.candidate.view
        try:
            sample = self._many_rows(view)
            target = _sample_target(sample, self.target.encoding)
            fitted = found.solver.fit(sample.X, target)
        except Exception as error:
            on_failure(left_out_message(found.candidate.descriptions, error))
            return None
        return replace(found, member=EstimatorMember(view, None, None, fitted))

    def fitted(
        self,
        chosen: Selection,
        rows: Array,
        combine: Combine,
        estimators: Mapping[Evaluation, Member],
    ) -> tuple[list[AnyMember], Selection]:
        """Fit ridge regressions on Nyström features of all rows; see :class:`ViewedSample`."""
        kept, members, like = chosen.kept, dict[int, AnyMember](), None
        # Widths are chosen for the best kernel, and changed by the same factor in others.
        for k in sorted(range(len(kept)), key=lambda k: kept[k].cost):
            if isinstance(one := kept[k], FittedApart):
                members[k] = one.member
            else:
                members[k], like = self.member(one.kernel, one.candidate, one, like)
        found = [members[k] for k in range(len(kept))]
        return found, self.refined(chosen, found, combine, rows)

    def member(
        self,
        kernel: Kernel,
        candidate: Candidate,
        found: Evaluation | None = None,
        like: WidthChoice | None = None,
    ) -> tuple[NystroemMember, WidthChoice | None]:
        """Fit ridge regression on a candidate's kernel, whose widths are rescaled if learned.

        Parameters
        ----------
        kernel : Kernel
        candidate : Candidate
        found : Evaluation, default=None
            The kernel's evaluation on fewer rows. All rows are rather centers if its left-out error
            is small.
        like : WidthChoice, default=None
            The choice of widths for another kernel; see :func:`with_suitable_widths`.

        Returns
        -------
        member : NystroemMember
        choice : WidthChoice or None
            The choice for this kernel or, if its widths are not chosen, that for the other.
        """
        view, encoding, state = candidate.view, self.target.encoding, self.random_state
        data = self._drawn_in(view)
        has_little_noise = found is not None and found.loo_error < LITTLE_NOISE
        preferred = data.listed is not None or has_little_noise
        n_rows = data.source.count_rows()
        n_centers = number_of_components(self.n_components, n_rows, preferred=preferred)
        settings: dict[str, Any] = {"n_components": n_centers, "random_state": state}
        alphas, cost = None, 0.0
        if candidate.learns_widths:
            known: dict[str, Any] = {}
            if found is not None:
                known = {"alpha": found.solver.alpha, "error": found.loo_error}
            suitable = with_suitable_widths(kernel, data, encoding, like=like, **known, **settings)
            kernel, alphas, like = suitable.kernel, suitable.alphas, suitable.choice or like
            cost = suitable.cost
        model = fit_nystroem(kernel, data, encoding, alphas=alphas, cost=cost, **settings)
        return NystroemMember(view, model.columns.kernel, model, self.target.mean), like

    def _many_rows(self, view: ViewName) -> DrawnSample:
        """Return the rows that estimators are fitted to, transformed to a view in batches."""
        drawn = self._drawn_in(view)
        found = self.drawn.resized(_estimator_rows(self.drawn), self.random_state)
        if found is self.drawn:
            return drawn
        X = np.empty(found.X.shape)
        for rows in gen_batches(len(X), BlockSource.rows_together(X.shape[1])):
            X[rows] = self.views.transform(found.X[rows], view)
        return replace(found, X=X, source=drawn.source)

    def _drawn_in(self, view: ViewName) -> DrawnSample:
        """Return the drawn rows, and their source, in a view."""
        encoder = ViewEncoder(self.drawn.source.encoder, self.views, view)
        return replace(self.drawn, X=self.X[view], source=self.drawn.source.with_encoder(encoder))

    def refined(
        self, found: Selection, members: Sequence[Any], combine: Combine, rows: Array
    ) -> Selection:
        """Combine members, fitted to all rows, by out-of-fold predictions for all drawn samples.

        Samples from which a kernel was learned, and samples of their groups, are predicted with a
        kernel that was learned without them.
        """
        every = np.arange(len(self))
        deviations = [
            e.out_of_fold(partial(self._out_of_fold, member, every))
            for e, member in zip(found.kept, members, strict=True)
        ]
        predicted = list(zip(found.kept, deviations, strict=True))
        for train, part in self._unseen(rows):
            self._predict_anew(predicted, self._drawn_from(train, len(rows)), part)
        kept = [replace(e, deviations=d) for e, d in zip(found.kept, deviations, strict=True)]
        return Selection(found.evaluations, kept, combine(deviations, self.target), self.weights)

    def _out_of_fold(self, member: NystroemMember, rows: Array) -> Array:
        """Return the deviations of out-of-fold predictions for some samples.

        For random folds, these are deviations from the overall mean, which the folds hardly change.
        For given folds, they are deviations from the mean of the training samples of the fold.
        """
        drawn = self.drawn.take(rows)
        means = self.target.mean if drawn.listed is None else self.target.left_out_means[rows]
        return np.asarray(member.model.out_of_fold(self.X[member.view][rows], drawn) - means)

    @property
    def _own_splits(self) -> Sequence[Split] | None:
        """The folds, if samples are predicted from only some of the others; None otherwise."""
        resampling = self.target.resampling
        if resampling.one_at_a_time or resampling.together is not None:
            return None
        return self.target.folds(_SEEN_PARTS, self.random_state)

    def _unseen(self, rows: Array) -> list[Split]:
        """Return splits into samples to learn kernels from, and samples predicted with them.

        The latter are halves of the groups from which kernels were learned. There are no splits if
        there are at least as many groups as evaluated samples, because kernels then hardly depend
        on any single group, just as they hardly depend on any single sample if there are no groups.
        Each fold that trains on only some of the samples has its own kernel; samples that several
        folds hold out are predicted with the kernel of the first.
        """
        if (splits := self._own_splits) is not None:
            return _first_held_out(splits, len(self))
        groups, rest = self.target.resampling.together, self._apart_from(rows)
        seen = np.arange(len(self)) if len(rest) < len(rows) else rest
        if groups is None or len(np.unique(groups[seen])) >= len(rows):
            return []
        folds = self.target.take(seen).folds(_SEEN_PARTS, self.random_state)
        return [(self._apart_from(seen[part]), seen[part]) for _, part in folds]

    def _predict_anew(
        self,
        predicted: Sequence[tuple[Evaluation, Array]],
        inside: ViewedSample,
        part: Array,
    ) -> None:
        """Predict some samples, in place, with kernels that were learned from other samples.

        These samples are predicted by the mean if nothing can be learned from the others.

        Parameters
        ----------
        predicted : sequence of (Evaluation, ndarray)
            The kept evaluations, and the deviations that they predict.
        inside : ViewedSample
            The other samples.
        part : ndarray of int
        """
        kept = [e for e, _ in predicted]
        uses_labels = {id(e.candidate): e.candidate for e in kept if e.learned_from_some}
        learned = {key: _learned_if_possible(inside, c) for key, c in uses_labels.items()}
        like = None
        for e, values in sorted(predicted, key=lambda pair: pair[0].cost):
            if id(e.candidate) not in learned:
                continue
            values[part] = 0.0
            if kernels := learned[id(e.candidate)]:
                kernel = kernels[e.candidate.descriptions.index(e.description)]
                anew, like = self.member(kernel, e.candidate, e, like)
                values[part] = self._out_of_fold(anew, part)

    def without(self, found: Selection, select: Select, combine: Combine) -> CombinedWithout:
        """Return combinations of the same members, learned from some rows; see the base class.

        If no fold holds out any of these rows, as before the first fold of `TimeSeriesSplit`, or
        only rows of one class, members are combined by the exact left-out predictions of their
        candidates on a sample of the rows.
        """
        deviations = [e.deviations for e in found.kept]
        n_evaluated = len(found.evaluations[0].deviations)
        if not deviations:
            return lambda train: (combine([], self.target.take(train)), [])
        # All members predict the same samples.
        predicted = np.asarray(np.isfinite(deviations[0]).all(axis=1))

        def combined(train: Array) -> tuple[Combination, Sequence[Array]]:
            known = train[predicted[train]]
            target = self.target.take(known)
            if not len(known) or (target.codes is not None and not np.ptp(target.codes)):
                inside = self.take(train)
                inside = inside.take(inside.evaluated_rows(n_evaluated, self.random_state))
                return inside.combined_alone(found.kept, combine), deviations
            target = replace(target, resampling=as_resampling(None, len(known)))
            return combine([d[known] for d in deviations], target), deviations

        return combined

    def combined_alone(self, kept: Sequence[Evaluation], combine: Combine) -> Combination:
        """Combine candidates by their exact left-out predictions of these samples.

        Parameters
        ----------
        kept : sequence of Evaluation
            Evaluations on other samples; those whose candidate fails on these samples get no
            weight.
        combine : callable
        """
        candidates = list({id(e.candidate): e.candidate for e in kept}.values())
        found = evaluate(
            candidates, self, random_state=self.random_state, on_failure=lambda message: None
        )
        none = np.zeros_like(self.target.values)
        own = {(id(e.candidate), e.description): e.deviations for e in found}
        deviations = [own.get((id(e.candidate), e.description), none) for e in kept]
        return combine(deviations, self.target)

    def stored(self, rows: Array) -> tuple[dict[ViewName, Features], Array]:
        """Return views of the evaluated rows, which suffice to detect new rows far away."""
        return {name: view[rows] for name, view in self.X.items()}, rows


def _estimator_folds(sample: DrawnSample, predicted: DrawnSample) -> list[tuple[Array, Array]]:
    """Return masks, for each fold, of rows to predict and of sample rows to fit to.

    The predicted rows are a single fold if at most a fifth of the sample is predicted, or shares
    groups with predicted rows.
    """
    if predicted.listed is None:
        names, own = sample.positions, predicted.positions
        if sample.groups is not None and predicted.groups is not None:
            names, own = sample.groups, predicted.groups
        others = ~np.isin(names, own)
        if N_FOLDS * np.count_nonzero(others) >= (N_FOLDS - 1) * len(sample):
            return [(np.ones(len(predicted), dtype=bool), others)]
    held_out = predicted.held_out(_ESTIMATOR_FOLDS), sample.trained(_ESTIMATOR_FOLDS)
    return list(zip(*held_out, strict=True))


def _estimator_rows(data: DrawnSample, n_copies: int = 5) -> int:
    """Return the number of rows that estimators are fitted to.

    Five copies of the features are in memory: as read, in a view, without a fold, and in smaller
    types with intermediate results.
    """
    n_rows, n_features = data.source.count_rows(), data.X.shape[1]
    fitting = int(working_memory() // (8 * n_copies * n_features))
    return min(_MOST_ESTIMATOR_ROWS, max(fitting, 1), n_rows)


def _sample_target(sample: DrawnSample, encoding: TargetEncoding) -> EncodedTarget:
    """Return the target of some rows, in a given encoding; each row is left out alone."""
    codes = None if encoding.classes is None else encoding.codes_of(sample.y)
    values = sample.all_weights.take(sample.positions).values.astype(float)
    weights = as_weights(values, len(sample)).relative()
    known = encoding.encode(sample.y), codes, weights, as_resampling(None, len(sample))
    return EncodedTarget(encoding.offset, encoding.scale, encoding.classes, *known)


def _learned_if_possible(table: ViewedSample, candidate: Candidate) -> Sequence[Kernel]:
    """Return the kernels that a candidate learns; none for a single class, or if learning fails."""
    codes = table.target.codes
    if codes is not None and not np.ptp(codes):
        return []
    try:
        return table.learned(candidate)
    except Exception:
        return []


def _first_held_out(splits: Sequence[Split], n_samples: int) -> list[Split]:
    """Return the splits with only those test samples that no earlier split holds out."""
    taken = np.zeros(n_samples, dtype=bool)
    found = []
    for train, test in splits:
        if len(new := test[~taken[test]]):
            found.append((train, new))
        taken[test] = True
    return found

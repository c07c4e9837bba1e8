"""Training samples of a stack, and left-out predictions by which candidates are combined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any, ClassVar, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np

from mercer._data.encoded_targets import EncodedTarget, TargetEncoding
from mercer._data.folds import N_FOLDS, Split, apart_from, sample_rows
from mercer._data.resampling import Resampling
from mercer._data.sample import Sample
from mercer._data.types import Array, Features, RandomState, Rows, own_fields
from mercer._data.weights import SampleWeights
from mercer._estimators.stacking.candidates import Candidate, left_out_message
from mercer._estimators.stacking.combination import (
    Combination,
    CombinedWithout,
)
from mercer._estimators.stacking.members import Member, gram_term
from mercer._estimators.stacking.out_of_fold import OutOfFold
from mercer._estimators.stacking.table_views import ViewName
from mercer._gram.dense import UnitScale, unit_gram, unit_rows
from mercer._gram.expansion import Term, of_rows_as_they_are
from mercer._gram.kernel_sums import KernelSum
from mercer._gram.tiles import map_tiles
from mercer._solvers.left_out import relative_loss
from mercer._solvers.left_out_fits import fitted_left_out, left_out_fits
from mercer._solvers.ridge import Ridge, fit_ridge
from mercer.kernels import Kernel

LEAST_SHARE, _MANY_ROWS = 0.05, 500
"""From the second number of rows on, members of at most this share of the weights take a fifth of
the time of fits, and do not change errors (eight tables of 1,000 rows). In fits to all rows of ten
larger tables, they take up to half of the time, and lower the log-loss by a thousandth at most."""

_APART = 0.8
"""Kernels are learned from evaluated rows if, for each of these, there are fewer rows than this
that are neither evaluated nor copies of evaluated ones."""


@dataclass(frozen=True)
class ViewedSample(Sample):
    """Samples in each view of a table; a stack is fitted to their Gram matrices.

    Attributes
    ----------
    target : EncodedTarget
        The encoded target, which is regressed in place of the labels.
    estimators : sequence of Candidate, default=()
        Candidates that are fitted out of fold, to all rows of the table.
    random_state : int, RandomState instance or None, default=0
        Divides the samples into folds.
    has_machine : bool
        Whether a support vector machine is combined with ridge regressions.
    """

    target: EncodedTarget = field(kw_only=True)
    estimators: Sequence[Candidate] = field(default=(), kw_only=True)
    random_state: RandomState = field(default=0, kw_only=True)
    has_machine: ClassVar[bool] = True

    def take(self, rows: Array) -> Self:
        """Return some of the samples; see :meth:`Sample.take`."""
        return replace(super().take(rows), target=self.target.take(rows))

    def least_share(self, found: Evaluation) -> float:
        """Return the share of the weights that an evaluation needs more than to be combined.

        Candidates that a user gives are combined with any weight, and so are those of few samples.
        """
        keeps_all = found.candidate.view in ("given", "gaps") or len(self) < _MANY_ROWS
        return 0.0 if keeps_all else LEAST_SHARE

    def gram(self, kernel: Kernel, view: ViewName) -> tuple[Array, UnitScale]:
        """Return a kernel's centered Gram matrix on a view, at unit scale, and its `UnitScale`."""
        return unit_gram(kernel, self.X[view], self.weights.given)

    def inputs(self, kernel: Kernel | None, view: ViewName) -> Features:
        """Return what a predictor is fitted to: a Gram matrix, or a view if there is no kernel."""
        return self.X[view] if kernel is None else self.gram(kernel, view)[0]

    def learned(
        self,
        candidate: Candidate,
        rows: Rows = slice(None),
        starts: Sequence[Sequence[Kernel]] = (),
    ) -> Sequence[Kernel]:
        """Return the kernels that a candidate learns from rows that represent the weighted samples.

        Parameters
        ----------
        candidate : Candidate
        rows : ndarray of int, default=slice(None)
            The samples to learn from, by default all.
        starts : sequence of sequence of Kernel, default=()
            For each of its kernels, those to start from, if the candidate can.
        """
        weights = self.weights.take(rows)
        X, y = self.X[candidate.view][rows], self.y[rows]
        target = self.target.take(np.arange(len(self))[rows])
        some = weights.representative_rows()
        X, y = (weights.representative(table) for table in (X, y))
        if starts and candidate.refine is not None:
            return candidate.refine(X, y, target.take(some), starts)
        return candidate.learn(X, y, target.take(some))

    def evaluated_rows(self, max_samples: int, random_state: RandomState) -> Array:
        """Return the rows on which candidates are evaluated, at most `max_samples`."""
        ranks = self.target.resampling.ranks
        return sample_rows(len(self), max_samples, self.target.codes, random_state, ranks)

    def others(self, rows: Array) -> ViewedSample | None:
        """Return the samples to learn kernels from, or None to learn them from `rows` themselves.

        These are all other rows, if there are at least as many, without copies of the evaluated
        ones and rows of their groups. No row is apart from all evaluated ones if folds are given.
        """
        resampling = self.target.resampling
        has_sets = resampling.one_at_a_time or resampling.together is not None
        if 2 * len(rows) > len(self) or not has_sets:
            return None
        rest = apart_from(rows, resampling.together, len(self))
        return None if len(rest) < _APART * len(rows) else self.take(rest)

    def revised(
        self,
        chosen: Selection,
        rows: Array,
        combine: Combine,
        on_failure: Callable[[str], None],
    ) -> Selection:
        """Add the estimators to the selection, and combine it again.

        Estimators are fitted to all rows out of fold: with the number of rows on which kernels are
        evaluated, the log-loss would be 1 % higher (seven tables of 2,000 rows). `combine` is as in
        :meth:`fitted`; `on_failure` is called with a message for each estimator that fails.
        """
        found = []
        for candidate in self.estimators:
            try:
                found.append(self._out_of_fold_by(candidate, rows))
            except Exception as error:
                on_failure(left_out_message(candidate.descriptions, error))
        if not found:
            return chosen
        every, kept = [*chosen.evaluations, *found], [*chosen.kept, *found]
        return combined(every, kept, self.take(rows), combine)

    def _out_of_fold_by(self, candidate: Candidate, rows: Array) -> Evaluation:
        """Fit an estimator to all rows in folds, and evaluate it on some."""
        solver, X = OutOfFold(candidate.estimator, self.random_state), self.X[candidate.view]
        splits = self.target.folds(N_FOLDS, self.random_state)
        predicted = solver.scores(X, self.target, X, splits)
        found = estimated(candidate, solver, None, predicted, self.target)
        return replace(found, deviations=found.deviations[rows], of_all_rows=found.deviations)

    def with_estimators(
        self,
        chosen: Selection,
        rows: Array,
        combine: Combine,
        on_failure: Callable[[str], None],
    ) -> tuple[Selection, Mapping[Evaluation, Member]]:
        """Fit the selected estimators to all rows, and leave out those that fail.

        Estimators are fitted one after the other, because the warnings that they ignore and their
        numbers of threads are settings of the process. Parameters are as in :meth:`revised`.
        """
        members = dict[Evaluation, Member]()
        for e in (e for e in chosen.kept if e.of_all_rows is not None):
            try:
                members[e] = e.fitted(self)
            except Exception as error:
                every = [other for other in chosen.evaluations if other is not e]
                if not every:
                    raise
                on_failure(left_out_message([e.description], error))
                rest = [other for other in chosen.kept if other is not e]
                chosen = combined(every, rest or every, self.take(rows), combine)
        return chosen, members

    def fitted(
        self,
        chosen: Selection,
        rows: Array,
        combine: Combine,
        estimators: Mapping[Evaluation, Member],
    ) -> tuple[Sequence[Member], Selection]:
        """Fit the selected predictors to all rows, and combine them by all rows.

        Parameters
        ----------
        chosen : Selection
        rows : ndarray of int
            The samples on which candidates were evaluated.
        combine : callable
            Function from deviations and a target to a combination.
        estimators : mapping
            The estimators among them, which are fitted; see :meth:`with_estimators`.

        Returns
        -------
        members : sequence
            One member for each evaluation that is kept.
        found : Selection
            The selection, combined by left-out predictions of all rows: these are more rows, and
            the fits are the members' own, whose errors fall more for some kernels than for others
            as the number of rows grows. Kernels that memorize labels would predict rows from
            which they were learned, or rows of the same groups: with one of them, the selection is
            as given.
        """
        kept, ridges = chosen.kept, [e for e in chosen.kept if e.is_ridge]
        others = {e: estimators.get(e) or e.fitted(self) for e in kept if not e.is_ridge}
        if _are_of_evaluated_rows(kept, len(self)):
            fits = map_tiles(lambda e: e.fitted(self), ridges)
            return [next(fits) if e.is_ridge else others[e] for e in kept], chosen
        both = map_tiles(lambda e: e.fitted_left_out(self), ridges)
        pairs = [next(both) if e.is_ridge else (others[e], self._deviations(e)) for e in kept]
        deviations = [found for _, found in pairs]
        again = self._combined_by_all(chosen, rows, deviations, combine)
        return [member for member, _ in pairs], again

    def recombined(self, chosen: Selection, rows: Array, combine: Combine) -> Selection:
        """Return the selection as :meth:`fitted` combines it, without the members."""
        if _are_of_evaluated_rows(chosen.kept, len(self)):
            return chosen
        deviations = [self._deviations(e) for e in chosen.kept]
        return self._combined_by_all(chosen, rows, deviations, combine)

    def _deviations(self, e: Evaluation) -> Array:
        """Return the deviations of left-out predictions for all samples."""
        return e.left_out_deviations(self) if e.of_all_rows is None else e.of_all_rows

    def _combined_by_all(
        self, chosen: Selection, rows: Array, deviations: Sequence[Array], combine: Combine
    ) -> Selection:
        """Return a selection that is combined by left-out deviations of all rows."""
        known, anew = self.target.take(rows).resampling.covered, []
        for e, found in zip(chosen.kept, deviations, strict=True):
            # The kernel was learned from the labels of these rows.
            if e.unseen:
                found[rows[known]] = e.deviations[known]
            anew.append(replace(e, deviations=found))
        combination = combine(deviations, self.target)
        return Selection(chosen.evaluations, anew, combination, self.weights)

    def without(self, found: Selection, select: Select, combine: Combine) -> CombinedWithout:
        """Return combinations that depend only on some rows; see :func:`left_out_predictions`.

        Ridge regressions are fitted to all rows but one, and machines to all but a fold.

        Parameters
        ----------
        found : Selection
            The refined selection.
        select : callable
            Function from indices of some samples to the selection by these samples alone.
        combine : callable
        """
        # The fits of estimators in folds are the same whichever rows select members.
        known = {e.description: e.of_all_rows for e in found.evaluations}

        def left_out(e: Evaluation) -> Array:
            of_all = None if e.of_all_rows is None else known[e.description]
            return e.left_out_deviations(self) if of_all is None else of_all

        def chosen(train: Array) -> tuple[Combination, Sequence[Array]]:
            inside = select(train)
            return inside.combination, [left_out(e) for e in inside.kept]

        return chosen

    def stored(self, rows: Array) -> tuple[dict[ViewName, Features], Array]:
        """Return views of the samples that predictions need, and the indices of these samples.

        Parameters
        ----------
        rows : ndarray of int
            The samples on which candidates were evaluated.
        """
        return dict(self.X), np.arange(len(self))


class Predictor(Protocol):
    """A function of kernel values that was fitted to a Gram matrix at unit scale."""

    def deviations(self, rows: Array) -> Array:
        """Return predictions minus the mean, from centered rows of kernel values at unit scale."""
        ...

    def linear(self, n_fitted: int) -> tuple[Array, Array] | None:
        """Return coefficients and constant of the deviations; None if not linear in the rows.

        Parameters
        ----------
        n_fitted : int
            Number of training samples.

        Returns
        -------
        coefficients : ndarray of shape (n_fitted, n_outputs)
        constant : ndarray of shape (n_outputs,)
        """
        ...


@runtime_checkable
class Voting(Protocol):
    """A predictor that may be machines of pairs of classes, which vote."""

    def pairs(self, n_fitted: int) -> tuple[Array, Array] | None:
        """Return coefficients and constants of the machines; None if it is something else."""
        ...

    def of_pairs(self, values: Array) -> Array:
        """Return deviations from values of the machines, of shape (n_rows, n_pairs)."""
        ...


@dataclass(frozen=True)
class GramMember:
    """A predictor on a Gram matrix, or an estimator on a view, fitted to all training samples.

    Attributes
    ----------
    view : {"given", "gaps", "scaled", "quantiles"}
        The view of the table on which the kernel is evaluated.
    kernel : Kernel or None
        None for an estimator on the view itself.
    unit : UnitScale or None
        Centering and scale of the training samples' Gram matrix.
    predictor : Predictor
    """

    view: ViewName
    kernel: Any
    unit: Any
    predictor: Predictor
    adds_rows: ClassVar[bool] = False

    def deviations(self, X: Features, Z: Features) -> Array:
        """Return predictions for new samples minus the mean, in the encoding of the target.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
            New samples in the view of the member.
        Z : ndarray or sparse matrix of shape (n_samples, n_features)
            Training samples in the same view.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
        """
        if self.unit is None:
            return self.predictor.deviations(X)
        known: tuple[Features, Callable[[Features], Array]] | None = vars(self).get("_function")
        if known is None or known[0] is not Z:
            known = vars(self)["_function"] = Z, self._function_at(Z)
        return known[1](X)

    def _function_at(self, Z: Features) -> Callable[[Features], Array]:
        """Return the deviations as a function of rows."""
        predictor, n = self.predictor, Z.shape[0]
        if (linear := predictor.linear(n)) is not None:
            return self._kernel_sum(Z, *linear)
        if isinstance(predictor, Voting) and (pairs := predictor.pairs(n)) is not None:
            voting, values = predictor, self._kernel_sum(Z, *pairs)
            return lambda X: voting.of_pairs(values(X))
        return lambda X: predictor.deviations(unit_rows(self.kernel, self.unit, X, Z))

    def _kernel_sum(self, Z: Features, coefficients: Array, constant: Array) -> KernelSum:
        """Return a linear function of centered rows at unit scale as a function of the table."""
        raw, shift = of_rows_as_they_are(self.unit, coefficients)
        return KernelSum.at_used(self.kernel, Z, raw, shift + constant)

    __getstate__ = own_fields

    def term(self, Z: Features, n_outputs: int) -> tuple[Term, Array]:
        """Return the deviations as a term of an expansion and a constant; see :func:`gram_term`."""
        return gram_term(self, Z, n_outputs)

    def left_out(
        self, Z: Features, resampling: Resampling, output: int = 0
    ) -> Callable[[Features], Array]:
        """Return a predictor of one output by ridge regressions without each training sample.

        Estimators are not fitted again: their predictor is the fit to all samples.

        Parameters
        ----------
        Z : ndarray or sparse matrix of shape (n_samples, n_features)
            Training samples in the view of the member.
        resampling : Resampling
            The samples that are left out together.
        output : int, default=0

        Returns
        -------
        callable
            Function that takes a view of new samples and returns predictions minus the mean of the
            target, of shape (n_rows, n_samples).
        """
        if not isinstance(self.predictor, Ridge) or self.unit is None:
            return lambda X: self.deviations(X, Z)[:, [output]]
        gram, _ = unit_gram(self.kernel, Z, self.unit.weights)
        fits = left_out_fits(gram, self.predictor, self.unit.weights, resampling)
        return lambda X: fits.predict(unit_rows(self.kernel, self.unit, X, Z), output)


class Solver(Protocol):
    """A method that fits a predictor to a Gram matrix at unit scale."""

    @property
    def alpha(self) -> float:
        """Penalty of ridge regression, or 1 / C."""
        ...

    def fit(self, gram: Array, target: EncodedTarget) -> Predictor:
        """Fit the predictor to all samples."""
        ...

    def left_out(self, gram: Array, target: EncodedTarget) -> Array:
        """Return deviations for all samples, each by a predictor fitted without the sample."""
        ...

    def fit_left_out(self, gram: Array, target: EncodedTarget) -> tuple[Predictor, Array]:
        """Return the fitted predictor and the left-out deviations."""
        ...


@dataclass(frozen=True)
class RidgeSolver:
    """Ridge regression with a penalty, and its leave-one-out predictions."""

    alpha: float

    def fit(self, gram: Array, target: EncodedTarget) -> Ridge:
        """See :class:`Solver`."""
        return fit_ridge(gram, target.values, self.alpha, target.weights)

    def left_out(self, gram: Array, target: EncodedTarget) -> Array:
        """See :class:`Solver`."""
        return self.fit_left_out(gram, target)[1]

    def fit_left_out(self, gram: Array, target: EncodedTarget) -> tuple[Ridge, Array]:
        """See :class:`Solver`."""
        settings = self.alpha, target.weights, target.resampling
        ridge, residuals = fitted_left_out(gram, target.values, *settings)
        return ridge, np.asarray(target.values - residuals - target.left_out_means)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A kernel of a candidate, with its solver and left-out predictions.

    Attributes
    ----------
    description : str
    kernel : Kernel or None
        Kernel learned from all samples of the table; None for an estimator on a view.
    solver : Solver
    deviations : ndarray of shape (n_samples, n_outputs)
        Left-out prediction for each sample, by a fit and a kernel that were learned without it,
        minus the mean of the training samples of this fit, in the encoding of the target.
    loo_error : float
        For ridge regression, the mean squared error of the predictions divided by the error of the
        mean; for an estimator, the fraction of misclassified samples if the targets are classes.
    candidate : Candidate
    score : float, default=None
        Score of the predictions; None if no scorer was given.
    of_all_rows : ndarray of shape (n_rows, n_outputs), default=None
        Left-out deviations of an estimator for all rows, if only some of these are evaluated.
    unseen : sequence of ((ndarray, ndarray), Kernel), default=()
        Splits into training samples and a held-out part, each with the kernel learned without this
        part.
    """

    description: str
    kernel: Any
    solver: Any
    deviations: Array
    loo_error: float
    candidate: Candidate
    score: float | None = None
    of_all_rows: Array | None = None
    unseen: Sequence[tuple[Split, Kernel]] = ()

    @property
    def cost(self) -> float:
        """Quantity that is lowest for the best candidate: the negative score, or else the error."""
        return self.loo_error if self.score is None else -self.score

    @property
    def learned_from_some(self) -> bool:
        """Whether the kernel was learned from the labels of some of the rows that it predicts."""
        return self.candidate.uses_labels

    @property
    def is_ridge(self) -> bool:
        """Whether the predictor is a ridge regression, rather than an estimator."""
        return isinstance(self.solver, RidgeSolver)

    def out_of_fold(self, predicted: Callable[[], Array]) -> Array:
        """Return the out-of-fold deviations for all drawn rows.

        Parameters
        ----------
        predicted : callable
            Function that predicts them by the member of this kernel.
        """
        return predicted()

    def fitted(self, table: ViewedSample) -> GramMember:
        """Fit the predictor on the kernel to all samples of a table."""
        view = self.candidate.view
        if self.kernel is None:
            predictor = self.solver.fit(table.X[view], table.target)
            return GramMember(view, None, None, predictor)
        gram, unit = table.gram(self.kernel, view)
        return GramMember(view, self.kernel, unit, self.solver.fit(gram, table.target))

    def fitted_left_out(self, table: ViewedSample) -> tuple[GramMember, Array]:
        """Fit a ridge regression, and predict samples that were left out.

        Returns what :meth:`fitted` and :meth:`left_out_deviations` return.
        """
        gram, unit = table.gram(self.kernel, self.candidate.view)
        predictor, deviations = self.solver.fit_left_out(gram, table.target)
        return GramMember(self.candidate.view, self.kernel, unit, predictor), deviations

    def left_out_deviations(self, table: ViewedSample) -> Array:
        """Return the deviations of left-out predictions for all samples of a table.

        They are unbiased for samples from which neither kernel nor penalty was learned.
        """
        rows = table.inputs(self.kernel, self.candidate.view)
        return np.asarray(self.solver.left_out(rows, table.target))


def _are_of_evaluated_rows(kept: Sequence[Evaluation], n_rows: int) -> bool:
    """Return whether only left-out predictions of evaluated rows can combine evaluations."""
    return any(e.candidate.memorizes_labels or len(e.deviations) == n_rows for e in kept)


def estimated(
    candidate: Candidate,
    solver: OutOfFold,
    kernel: Kernel | None,
    predicted: tuple[Array, Array],
    target: EncodedTarget,
) -> Evaluation:
    """Return an estimator as an evaluation.

    Parameters
    ----------
    candidate : Candidate
    solver : OutOfFold
    kernel : Kernel or None
        The kernel whose Gram matrix the estimator was fitted to.
    predicted : (ndarray, ndarray)
        Deviations and scores; see :meth:`OutOfFold.scores`.
    target : EncodedTarget
        Target of the same samples.
    """
    deviations, scores = predicted
    if target.codes is None:
        residuals = target.values - deviations - target.left_out_means
        error = relative_loss(residuals, target.values, target.weights, target.resampling)
    else:
        covered = target.resampling.covered
        wrong = scores[covered].argmax(axis=1) != target.codes[covered]
        error = float(target.weights.take(covered).mean(wrong))
    [description] = candidate.descriptions
    return Evaluation(description, kernel, solver, deviations, error, candidate)


@dataclass(frozen=True, eq=False)
class FittedApart(Evaluation):
    """A member that is not a ridge regression on a kernel, with predictions of all drawn rows.

    The rows were predicted by fits without them.

    Attributes
    ----------
    member : EstimatorMember, default=None
        The member that is fitted to all rows; None before.
    """

    member: Any = field(default=None, kw_only=True)

    @property
    def learned_from_some(self) -> bool:
        """Whether the kernel was learned from some of the rows that it predicts."""
        return False

    def out_of_fold(self, predicted: Callable[[], Array]) -> Array:
        """Return the deviations, unchanged; see :class:`Evaluation`."""
        return self.deviations


@dataclass(frozen=True)
class EstimatorMember(GramMember):
    """An estimator that was fitted to rows of a large table, and does not change in updates."""

    adds_rows: ClassVar[bool] = True

    def row_sums(self, rows: Sample, encoding: TargetEncoding, random_state: RandomState) -> Self:
        """Return the member itself, which does not depend on sums over rows."""
        return self

    def plus(self, rows: Sample) -> Self:
        """Return the same."""
        return self

    def fitted_to(self, sums: Self) -> Self:
        """Return the same."""
        return self


@dataclass(frozen=True)
class Selection:
    """Candidates that were compared on some samples, and the combination of the best.

    Attributes
    ----------
    evaluations : sequence of Evaluation
        Evaluations of all candidates.
    kept : sequence of Evaluation
        Evaluations that are combined.
    combination : Combination
    weights : SampleWeights
        Weights of the samples whose predictions are combined.
    """

    evaluations: Sequence[Evaluation]
    kept: Sequence[Evaluation]
    combination: Combination
    weights: SampleWeights

    @property
    def shares(self) -> Array:
        """Share of each candidate in the combination, shape (n_kept,)."""
        deviations = [e.deviations for e in self.kept]
        if not deviations:
            return np.zeros(0)
        covered = np.flatnonzero(np.isfinite(deviations[0]).all(axis=1))
        return self.combination.shares([d[covered] for d in deviations], self.weights.take(covered))


Combine: TypeAlias = Callable[[Sequence[Array], EncodedTarget], Combination]
"""Function from deviations predicted by several members, and the target, to their combination."""


def combined(
    evaluations: Sequence[Evaluation],
    kept: Sequence[Evaluation],
    table: ViewedSample,
    combine: Combine,
) -> Selection:
    """Combine evaluations, and combine those again whose shares are large enough for the table.

    Parameters
    ----------
    evaluations, kept : sequence of Evaluation
        See :class:`Selection`.
    table : ViewedSample
        The samples whose predictions are combined.
    combine : callable
    """
    every = combine([e.deviations for e in kept], table.target)
    found = Selection(evaluations, kept, every, table.weights)
    least = np.array([table.least_share(e) for e in kept])
    used = found.shares > least * found.shares.sum()
    if used.all():
        return found
    some = list(compress(kept, used))
    again = combine([e.deviations for e in some], table.target)
    return replace(found, kept=some, combination=again)


Score: TypeAlias = Callable[[Array], float]
"""Function from the deviations of left-out predictions to their score."""

Select: TypeAlias = Callable[[Array], Selection]
"""Function from indices of samples to the candidates that are best on these samples."""

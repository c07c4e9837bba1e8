"""Samples that a stack is fitted to, and left-out predictions by which candidates are combined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np

from mercer._data.folds import Split, sample_rows
from mercer._data.resampling import Resampling
from mercer._data.sample import EncodedTarget, Sample
from mercer._data.weights import SampleWeights
from mercer._expansion import Term
from mercer._gram.dense import UnitScale, unit_gram, unit_rows
from mercer._solvers.left_out_fits import left_out_fits, left_out_residuals
from mercer._solvers.ridge import Ridge, fit_ridge
from mercer._stacking.candidates import Candidate
from mercer._stacking.combination import Combination, CombinedWithout
from mercer._stacking.stack_expansion import gram_term
from mercer._stacking.table_views import ViewName
from mercer._typing import Array, Features, RandomState
from mercer.kernels import Kernel


@dataclass(frozen=True)
class ViewedSample(Sample):
    """Samples in each view of a table, on whose Gram matrices a stack is fitted.

    Attributes
    ----------
    target : EncodedTarget
        What is regressed in place of the labels.
    least_share : float
        Kernels of at most this part of the weights are left out.
    n_machines : int
        Number of support vector machines that are combined with ridge regressions.
    """

    target: EncodedTarget = field(kw_only=True)
    least_share: ClassVar[float] = 0.0
    n_machines: ClassVar[int] = 2

    def take(self, rows: Array) -> Self:
        """Some of the samples; see :meth:`Sample.take`."""
        return replace(super().take(rows), target=self.target.take(rows))

    def gram(self, kernel: Kernel, view: ViewName) -> tuple[Array, UnitScale]:
        """Centered Gram matrix of a kernel on a view, at unit scale, and what repeats that."""
        return unit_gram(kernel, self.X[view], self.weights.given)

    def learned(self, candidate: Candidate, rows: Any = slice(None)) -> Sequence[Kernel]:
        """The kernels that a candidate learns from rows that stand for weighted samples.

        Parameters
        ----------
        candidate : Candidate
        rows : ndarray of int, default=slice(None)
            The samples that are learned from, by default all.
        """
        weights = self.weights.take(rows)
        X, y = self.X[candidate.view][rows], self.y[rows]
        target = self.target.take(np.arange(len(self))[rows])
        some = weights.representative_rows()
        X, y = (weights.representative(table) for table in (X, y))
        return candidate.learn(X, y, target.take(some))

    def evaluated_rows(self, max_samples: int, random_state: RandomState) -> Array:
        """Rows that candidates are evaluated on: all, or `max_samples` of more."""
        ranks = self.target.resampling.ranks
        return sample_rows(len(self), max_samples, self.target.codes, random_state, ranks)

    def others(self, rows: Array) -> ViewedSample | None:
        """What kernels that are evaluated on some rows are learned from; None for these rows.

        The other rows, where they are no fewer and each row is left out alone.
        """
        resampling = self.target.resampling
        alone = resampling.one_at_a_time and resampling.groups is None
        if 2 * len(rows) > len(self) or not alone:
            return None
        return self.take(np.setdiff1d(np.arange(len(self)), rows))

    def revised(
        self,
        chosen: Selection,
        rows: Array,
        combine: Combine,
        on_failure: Callable[[str], None],
    ) -> Selection:
        """The selection of what is fitted to all rows of the table.

        `combine` is called as :meth:`refined` calls it, and `on_failure` with a message for each
        further candidate that fails.
        """
        return chosen

    def fitted(self, kept: Sequence[Evaluation], rows: Array) -> Sequence[Any]:
        """Predictors on kernels that were evaluated on some rows, fitted to all of them."""
        return [found.fitted(self) for found in kept]

    def refined(
        self, found: Selection, members: Sequence[Any], combine: Combine, rows: Array
    ) -> Selection:
        """The selection, combined by left-out predictions of the members for as many samples.

        Parameters
        ----------
        found : Selection
        members : sequence
            Fitted to all rows, on the kernels that are kept.
        combine : callable
            From deviations and a target to a combination.
        rows : ndarray of int
            The samples that candidates were evaluated on.
        """
        return found

    def without(self, found: Selection, select: Select, combine: Combine) -> CombinedWithout:
        """Combinations that depend on some rows alone; see :func:`left_out_predictions`.

        Ridge regressions are fitted to all rows but one, machines without a fold.

        Parameters
        ----------
        found : Selection
            The refined selection.
        select : callable
            From indices of some of the samples to the selection by these alone.
        combine : callable
        """

        def chosen(train: Array) -> tuple[Combination, Sequence[Array]]:
            inside = select(train)
            return inside.combination, [e.left_out_deviations(self) for e in inside.kept]

        return chosen

    def stored(self, rows: Array) -> tuple[dict[ViewName, Features], Array]:
        """The views of the samples that predictions need, and which samples these are.

        Parameters
        ----------
        rows : ndarray of int
            Those that candidates were evaluated on.
        """
        return dict(self.X), np.arange(len(self))


class Predictor(Protocol):
    """A function of kernel values that was fitted to a Gram matrix at unit scale."""

    def deviations(self, rows: Array) -> Array:
        """Predictions less the mean, from centered rows at the same scale."""
        ...

    def refitted(self, gram: Array, target: EncodedTarget) -> Any:
        """A predictor of the same kind and penalty, on another Gram matrix."""
        ...

    def linear(self, n_fitted: int) -> tuple[Array, Array] | None:
        """Coefficients and constant of the deviations, where these are linear in the rows.

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


@dataclass(frozen=True)
class GramMember:
    """A predictor on a Gram matrix, fitted to all training samples.

    Attributes
    ----------
    view : {"given", "scaled", "quantiles"}
        The view of the table that the kernel is evaluated on.
    kernel : Kernel
    unit : UnitScale
        Centering and scale of the training samples' Gram matrix.
    predictor : Predictor
    """

    view: ViewName
    kernel: Kernel
    unit: UnitScale
    predictor: Predictor

    def deviations(self, X: Features, Z: Features) -> Array:
        """Predictions for new samples less the mean, in the target's encoding.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
            The member's view of new samples.
        Z : ndarray or sparse matrix of shape (n_samples, n_features)
            Its view of the training samples.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
        """
        return self.predictor.deviations(unit_rows(self.kernel, self.unit, X, Z))

    def term(self, Z: Features, n_outputs: int) -> tuple[Term, Array]:
        """The deviations as a term of an expansion, and a constant; see :func:`gram_term`."""
        return gram_term(self, Z, n_outputs)

    def fitted_to(self, table: ViewedSample) -> GramMember:
        """A predictor of the same kind and penalty, on the kernel for the samples of a table."""
        gram, unit = table.gram(self.kernel, self.view)
        return replace(self, unit=unit, predictor=self.predictor.refitted(gram, table.target))

    def left_out(
        self, Z: Features, resampling: Resampling, output: int = 0
    ) -> Callable[[Features], Array]:
        """Predictions of one output by ridge regressions without each training sample.

        Parameters
        ----------
        Z : ndarray or sparse matrix of shape (n_samples, n_features)
            The member's view of the training samples.
        resampling : Resampling
            Which of them are left out together.
        output : int, default=0

        Returns
        -------
        callable
            From the view of new samples to predictions of shape (n_rows, n_samples), less the mean.
        """
        assert isinstance(self.predictor, Ridge)
        gram, _ = unit_gram(self.kernel, Z, self.unit.weights)
        fits = left_out_fits(gram, self.predictor, self.unit.weights, resampling)
        return lambda X: fits.predict(unit_rows(self.kernel, self.unit, X, Z), output)


class Solver(Protocol):
    """A way from a Gram matrix at unit scale to a predictor."""

    @property
    def alpha(self) -> float:
        """Penalty of ridge regression, or 1 / C."""
        ...

    def fit(self, gram: Array, target: EncodedTarget) -> Predictor:
        """The predictor that is fitted to all samples."""
        ...

    def left_out(self, gram: Array, target: EncodedTarget) -> Array:
        """Deviations for all samples by predictors that were fitted without them."""
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
        residuals = left_out_residuals(
            gram, target.values, self.alpha, target.weights, target.resampling
        )
        return np.asarray(target.values - residuals - target.left_out_means)


@dataclass(frozen=True)
class Evaluation:
    """A kernel of a candidate, with a solver, and its left-out predictions.

    Attributes
    ----------
    description : str
    kernel : Kernel
        Learned from all samples of the table.
    solver : Solver
    deviations : ndarray of shape (n_samples, n_outputs)
        Of the prediction for each sample, by a fit without it on a kernel that was learned without
        it, from the mean that this fit predicts by default, in the target's encoding.
    loo_error : float
        Of ridge regression, the mean squared error of the predictions relative to that of the mean;
        of a machine, the fraction of samples that it misclassifies.
    candidate : Candidate
    score : float, default=None
        Of the predictions, by the scorer that was given; None without one.
    unseen : sequence of ((ndarray, ndarray), Kernel), default=()
        Other samples and a part of them, and the kernel that was learned without this part.
    """

    description: str
    kernel: Kernel
    solver: Solver
    deviations: Array
    loo_error: float
    candidate: Candidate
    score: float | None = None
    unseen: Sequence[tuple[Split, Kernel]] = ()

    @property
    def cost(self) -> float:
        """What the best candidate has least of: the negative score, or the error without one."""
        return self.loo_error if self.score is None else -self.score

    @property
    def learned_from_some(self) -> bool:
        """Whether the kernel was learned from labels of some rows, and predicts these as well."""
        return self.candidate.uses_labels

    def on_all_rows(self, member: Callable[[Kernel, Candidate], Any]) -> Any:
        """A predictor that is fitted to all rows of a large table.

        Parameters
        ----------
        member : callable
            Fits one, on a kernel of a candidate.
        """
        return member(self.kernel, self.candidate)

    def out_of_fold(self, predicted: Callable[[], Array]) -> Array:
        """Deviations for all rows that were drawn, by fits without their folds.

        Parameters
        ----------
        predicted : callable
            Predicts them by the member of this kernel.
        """
        return predicted()

    def fitted(self, table: ViewedSample) -> GramMember:
        """The predictor on the kernel, fitted to all samples of a table."""
        view = self.candidate.view
        gram, unit = table.gram(self.kernel, view)
        return GramMember(view, self.kernel, unit, self.solver.fit(gram, table.target))

    def left_out_deviations(self, table: ViewedSample) -> Array:
        """Deviations of left-out predictions for all samples of a table.

        They are unbiased for samples that had no part in the kernel and the penalty.
        """
        gram, _ = table.gram(self.kernel, self.candidate.view)
        return self.solver.left_out(gram, table.target)


@dataclass(frozen=True)
class Selection:
    """Candidates that were compared on some samples, and the combination of the best.

    Attributes
    ----------
    evaluations : sequence of Evaluation
        Of all candidates.
    kept : sequence of Evaluation
        Those that are combined.
    combination : Combination
    weights : SampleWeights
        Of the samples that were combined.
    """

    evaluations: Sequence[Evaluation]
    kept: Sequence[Evaluation]
    combination: Combination
    weights: SampleWeights

    @property
    def shares(self) -> Array:
        """How much of each candidate is taken, shape (n_kept,)."""
        deviations = [e.deviations for e in self.kept]
        if not deviations:
            return np.zeros(0)
        covered = np.flatnonzero(np.isfinite(deviations[0]).all(axis=1))
        return self.combination.shares([d[covered] for d in deviations], self.weights.take(covered))


Combine: TypeAlias = Callable[[Sequence[Array], EncodedTarget], Combination]
"""From deviations that several members predict, and the target, to their combination."""

Score: TypeAlias = Callable[[Array], float]
"""From the deviations of left-out predictions to their score."""

Select: TypeAlias = Callable[[Array], Selection]
"""From indices of samples to the candidates that are best on them."""

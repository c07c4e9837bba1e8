"""Stacks of large tables: members on Nyström features of all rows, chosen on a sample of these."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mercer._blocks.numeric_tables import as_numeric
from mercer._blocks.passes import current_hooks
from mercer._blocks.tables import DrawnSample
from mercer._data.folds import sample_rows
from mercer._data.resampling import Resampling
from mercer._nystroem.second_stage import NystroemModel, fit_nystroem, rescaled_kernel
from mercer._stacking.candidates import Candidate, TableViews, ViewName
from mercer._stacking.combination import Combination, CombinedWithout
from mercer._stacking.evaluation import Combine, Evaluation, Select, Selection, ViewedSample
from mercer._typing import Array, Features, RandomState
from mercer.kernels import Kernel

_LEARNED_PER_EVALUATED = 2
"""Ratio of training to evaluation samples of the kernels of a large table."""

_FEWEST_GROUPS = 6
"""Of fewer groups, kernels are learned from the groups that they are evaluated on, in folds."""

_SEEN_PARTS = 2
"""Of a third of the groups candidates are evaluated, on kernels that were learned from the others.
Kernels that predict a half of these others are learned from as many groups."""


@dataclass(frozen=True)
class NystroemMember:
    """Ridge regression on Nyström features, fitted to all rows.

    Attributes
    ----------
    view : {"given", "scaled", "quantiles"}
        The view of the table that the kernel is evaluated on.
    kernel : Kernel
    model : NystroemModel
    mean : ndarray of shape (n_outputs,)
        Of the target.
    """

    view: ViewName
    kernel: Kernel
    model: NystroemModel
    mean: Array

    def deviations(self, X: Features, Z: Features) -> Array:
        """Predictions for new samples less the mean; see :meth:`GramMember.deviations`."""
        return np.asarray(self.model.values(X) - self.mean)

    def left_out(
        self, Z: Features, resampling: Resampling, output: int = 0
    ) -> Callable[[Features], Array]:
        """Predictions of one output, which hardly depend on any one of many samples."""
        return lambda X: self.deviations(X, Z)[:, [output]]

    def deviations_in_folds(self, X: Features, divided: Array) -> Array:
        """Predictions for rows by the fits without their folds, less the mean.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
            The member's view of rows of the training table.
        divided : ndarray of int of shape (n_rows,)
            Their positions in the training table, or numbers of their groups.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
        """
        return np.asarray(self.model.out_of_fold(X, divided) - self.mean)


@dataclass(frozen=True)
class ViewEncoder:
    """A transformer from rows of a source to one view of them.

    Attributes
    ----------
    encoder : transformer or None
        Turns rows into numbers; None if they are numbers.
    views : TableViews
    name : {"given", "scaled", "quantiles"}
    """

    encoder: Any
    views: TableViews
    name: ViewName

    def transform(self, X: Any) -> Features:
        """Return the view of some rows, in double precision."""
        numbers = as_numeric(X if self.encoder is None else self.encoder.transform(X))
        return self.views.transform(numbers, self.name)


@dataclass(frozen=True)
class DrawnViews(ViewedSample):
    """Views of rows drawn from a large table; members are fitted to all of its rows.

    Ridge regressions on Nyström features take one pass for each kernel, so that kernels of a small
    part of the weights do not earn theirs.

    Attributes
    ----------
    drawn : DrawnSample
    views : TableViews
    n_components : int
        Number of centers.
    random_state : int, RandomState instance or None
        Draws the centers, and the samples that kernels are learned from.
    """

    drawn: DrawnSample = field(kw_only=True)
    views: TableViews = field(kw_only=True)
    n_components: int = field(kw_only=True)
    random_state: RandomState = field(kw_only=True)
    least_share: ClassVar[float] = 0.02
    n_machines: ClassVar[int] = 0

    def take(self, rows: Array) -> Self:
        """Some of the samples; see :meth:`Sample.take`."""
        return replace(super().take(rows), drawn=self.drawn.take(rows))

    def evaluated_rows(self, max_samples: int, random_state: RandomState) -> Array:
        """A sample of the rows; of a third of the groups, so that others have other groups."""
        groups = self.target.resampling.groups
        if groups is None or len(names := np.unique(groups)) < _FEWEST_GROUPS:
            return super().evaluated_rows(max_samples, random_state)
        drawn = names[sample_rows(len(names), len(names) // 3, None, random_state)]
        rows = np.flatnonzero(np.isin(groups, drawn))
        codes = self.target.take(rows).codes
        return rows[sample_rows(len(rows), max_samples, codes, random_state)]

    def others(self, rows: Array) -> ViewedSample | None:
        """Samples that are not evaluated, where these are enough; see :class:`ViewedSample`."""
        rest = self._apart_from(rows)
        return None if len(rest) < len(rows) else self._drawn_from(rest, len(rows))

    def _apart_from(self, rows: Array) -> NDArray[np.intp]:
        """Samples that are none of some, and of none of their groups."""
        groups = self.target.resampling.groups
        names, given = (np.arange(len(self)), rows) if groups is None else (groups, groups[rows])
        return np.flatnonzero(~np.isin(names, given))

    def _drawn_from(self, rest: NDArray[np.intp], n_evaluated: int) -> Self:
        """Some samples, to learn kernels from that are evaluated on a number of others."""
        codes, n_learned = self.target.take(rest).codes, _LEARNED_PER_EVALUATED * n_evaluated
        return self.take(rest[sample_rows(len(rest), n_learned, codes, self.random_state)])

    def fitted(self, kept: Sequence[Evaluation], rows: Array) -> list[NystroemMember]:
        """Ridge regressions on Nyström features of all rows; see :class:`ViewedSample`."""
        n_anew = len(self._seen_parts(rows)) * sum(e.candidate.uses_labels for e in kept)
        current_hooks().on_start(self.drawn.source.count_rows() * (len(kept) + n_anew))
        return [self.member(found.kernel, found.candidate) for found in kept]

    def member(self, kernel: Kernel, candidate: Candidate) -> NystroemMember:
        """Ridge regression on the kernel of a candidate, its widths rescaled if it learns them.

        Parameters
        ----------
        kernel : Kernel
        candidate : Candidate
        """
        view, encoding, state = candidate.view, self.target.encoding, self.random_state
        sample = replace(self.drawn, X=self.X[view])
        if candidate.learns_widths:
            kernel = rescaled_kernel(kernel, sample, encoding, state)
        encoder = ViewEncoder(sample.source.encoder, self.views, view)
        model = fit_nystroem(
            kernel,
            replace(sample, source=sample.source.with_encoder(encoder)),
            encoding,
            n_components=self.n_components,
            random_state=state,
        )
        return NystroemMember(view, kernel, model, self.target.mean)

    def refined(
        self, found: Selection, members: Sequence[Any], combine: Combine, rows: Array
    ) -> Selection:
        """The selection, combined by predictions out of fold for all samples that were drawn.

        Samples of groups that a kernel was learned from are predicted on a kernel that was learned
        without their groups.
        """
        deviations = [m.deviations_in_folds(self.X[m.view], self.drawn.divided) for m in members]
        for part in self._seen_parts(rows):
            self._predict_anew(found.kept, deviations, part, len(rows))
        kept = [replace(e, deviations=d) for e, d in zip(found.kept, deviations, strict=True)]
        return Selection(found.evaluations, kept, combine(deviations, self.target), self.weights)

    def _seen_parts(self, rows: Array) -> list[NDArray[np.intp]]:
        """Halves of the groups that kernels were learned from; none where these are many.

        Of as many groups as samples are evaluated, kernels hardly know one, as they hardly know one
        of as many samples where there are no groups.
        """
        groups, rest = self.target.resampling.groups, self._apart_from(rows)
        seen = np.arange(len(self)) if len(rest) < len(rows) else rest
        if groups is None or len(np.unique(groups[seen])) >= len(rows):
            return []
        folds = self.target.take(seen).folds(_SEEN_PARTS, self.random_state)
        return [seen[part] for _, part in folds]

    def _predict_anew(
        self,
        kept: Sequence[Evaluation],
        deviations: Sequence[Array],
        part: NDArray[np.intp],
        n_evaluated: int,
    ) -> None:
        """Predict some samples, in place, on kernels that were learned without their groups.

        They are predicted by the mean where nothing can be learned without them.
        """
        inside = self._drawn_from(self._apart_from(part), n_evaluated)
        uses_labels = {id(e.candidate): e.candidate for e in kept if e.candidate.uses_labels}
        learned = {key: _learned_if_possible(inside, c) for key, c in uses_labels.items()}
        for e, values in zip(kept, deviations, strict=True):
            if id(e.candidate) not in learned:
                continue
            values[part] = 0.0
            if kernels := learned[id(e.candidate)]:
                kernel = kernels[e.candidate.descriptions.index(e.description)]
                member = self.member(kernel, e.candidate)
                divided = self.drawn.divided[part]
                values[part] = member.deviations_in_folds(self.X[member.view][part], divided)

    def without(self, found: Selection, select: Select, combine: Combine) -> CombinedWithout:
        """Combinations of the same members, learned on some rows; see :class:`ViewedSample`."""
        deviations = [e.deviations for e in found.kept]

        def combined(train: Array) -> tuple[Combination, Sequence[Array]]:
            return combine([d[train] for d in deviations], self.target.take(train)), deviations

        return combined

    def stored(self, rows: Array) -> tuple[dict[ViewName, Features], Array]:
        """Views of the rows that were evaluated: enough to know which new ones are far."""
        return {name: view[rows] for name, view in self.X.items()}, rows


def _learned_if_possible(table: ViewedSample, candidate: Candidate) -> Sequence[Kernel]:
    """The kernels that a candidate learns; none from a single class, or where its learner fails."""
    codes = table.target.codes
    if codes is not None and not np.ptp(codes):
        return []
    try:
        return table.learned(candidate)
    except Exception:
        return []

"""Members of stacks for large tables: ridge regressions on Nyström features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mercer._data.encoded_targets import TargetEncoding
from mercer._data.resampling import Resampling
from mercer._data.sample import Sample
from mercer._data.types import Array, Features, RandomState
from mercer._estimators.stacking.table_views import ViewName
from mercer._gram.expansion import Term
from mercer._nystroem.row_sums import RowSums, row_sums
from mercer._nystroem.second_stage import NystroemModel
from mercer.kernels import Kernel


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

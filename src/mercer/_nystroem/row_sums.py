"""Sums over rows that determine fits on Nyström features, and their updates with new rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from mercer._blocks.tables import DrawnSample, block_source
from mercer._data.encoded_targets import TargetEncoding
from mercer._data.folds import evenly_spaced
from mercer._data.sample import Sample
from mercer._data.types import Array, RandomState
from mercer._data.weights import as_weights
from mercer._gram.memory import check_gram_memory
from mercer._nystroem.all_rows import FIT_TOLERANCE, AllRows
from mercer._nystroem.feature_ridge import ridge_at
from mercer._nystroem.features import (
    Moments,
    NormalEquations,
    NystroemFeatures,
    nystroem_features,
)
from mercer._nystroem.second_stage import NystroemModel

_TOLERANCE = 1e-2
"""If the sums are over the rows of the model, predictions of a fit to them differ from those of the
model by less than this fraction of the targets' standard deviation, in root mean square. With other
rows, the fraction would be the square root of the degrees of freedom per row."""


class RowSums(Protocol):
    """Statistics of all rows so far that determine a fit."""

    def check_room(self, n_new: int) -> None:
        """Raise an error if `n_new` further rows do not fit into memory."""
        ...

    def plus(self, rows: Sample) -> RowSums:
        """Return the statistics with further rows added."""
        ...

    def fitted(self, model: NystroemModel) -> NystroemModel:
        """Return the model fitted to the statistics, at the same penalty."""
        ...


@dataclass(frozen=True)
class FeatureSums:
    """Sums of products of features and targets.

    Attributes
    ----------
    features : NystroemFeatures
    encoding : TargetEncoding
    sums : Moments
    """

    features: NystroemFeatures
    encoding: TargetEncoding
    sums: Moments

    def check_room(self, n_new: int) -> None:
        """See :class:`RowSums`: the size of the sums does not depend on the number of rows."""

    def plus(self, rows: Sample) -> FeatureSums:
        """See :class:`RowSums`: this takes one pass over blocks of the rows."""
        statistic = NormalEquations(self.features, self.encoding, rows.weights)
        parts = block_source(rows.X, rows.y).reduce(statistic)
        return replace(self, sums=self.sums.plus(reduce(Moments.plus, parts)))

    def fitted(self, model: NystroemModel) -> NystroemModel:
        """See :class:`RowSums`: the fit is computed by an eigendecomposition."""
        fit = ridge_at(self.sums, self.features, model.choice.alpha)
        return replace(model, choice=replace(model.choice, fit=fit))


@dataclass(frozen=True)
class AllTargets:
    """All rows, if all of them are centers.

    Attributes
    ----------
    encoding : TargetEncoding
    rows : Sample
    random_state : int, RandomState instance or None
        Draws the columns of the preconditioner.
    tol : float, default=1e-6
        Tolerance of conjugate gradients; the default is the accuracy of single precision.
    """

    encoding: TargetEncoding
    rows: Sample
    random_state: RandomState
    tol: float = 1e-6

    def check_room(self, n_new: int) -> None:
        """See :class:`RowSums`: a Gram matrix of all rows is needed."""
        check_gram_memory(
            len(self.rows) + n_new, 1, "fit anew, on Nyström features of fewer centers"
        )

    def plus(self, rows: Sample) -> AllTargets:
        """See :class:`RowSums`."""
        return replace(self, rows=joined(self.rows, rows))

    def fitted(self, model: NystroemModel) -> NystroemModel:
        """See :class:`RowSums`: the fit is computed by conjugate gradients."""
        self.check_room(0)
        rows = self.rows
        data = DrawnSample(
            rows.X,
            rows.y,
            rows.weights,
            source=block_source(rows.X, rows.y),
            positions=np.arange(len(rows)),
            all_weights=rows.weights,
        )
        found = AllRows(model.columns.kernel, data, self.encoding, self.random_state, self.tol)
        choice = replace(model.choice, fit=found.fit_at(model.choice.alpha))
        return replace(model, columns=found.columns, choice=choice, held_out=None)


def row_sums(model: NystroemModel, rows: Sample, random_state: RandomState) -> RowSums:
    """Compute the sums over the rows that a model was fitted to.

    Parameters
    ----------
    model : NystroemModel
    rows : Sample
        All rows of positive weight.
    random_state : int, RandomState instance or None
        The random state of the fit.

    Raises
    ------
    ValueError
        If the model was fitted to other rows.
    MemoryError
        If the sums do not fit into memory.
    """
    found: RowSums
    again: RowSums
    if model.rows is not None:
        rows = rows.take(np.flatnonzero(np.isin(rows.numbers, model.rows)))
    if model.held_out is not None:
        found = AllTargets(model.encoding, rows, random_state)
        again = replace(found, tol=FIT_TOLERANCE)
        same = rows.X.shape == model.columns.centers.shape
    else:
        check_gram_memory(model.columns.n_centers, 3, "fit anew, with fewer centers")
        features = nystroem_features(model.columns.kernel, model.columns.centers)
        none = Moments.zero(features.n_summands, model.encoding.n_outputs)
        found = again = FeatureSums(features, model.encoding, none).plus(rows)
        same = True
    if same:
        some = rows.X[evenly_spaced(len(rows), 200)]
        difference = again.fitted(model).values(some) - model.values(some)
        spread = model.encoding.encode(rows.y).std()
        same = bool(np.sqrt(np.mean(difference**2)) <= _TOLERANCE * max(float(spread), 1e-12))
    if not same:
        raise ValueError("The model was not fitted to these rows: pass those that fit was given.")
    return found


def joined(first: Sample, second: Sample) -> Sample:
    """Return one sample with the rows of both."""
    stack = sp.vstack if sp.issparse(first.X) else np.vstack
    tables: list[Array] = [first.X, second.X]
    both = len(first) + len(second)
    units = first.weights.is_unit and second.weights.is_unit
    weights = None if units else np.append(first.weights.values, second.weights.values)
    return Sample(
        stack(tables), np.concatenate([first.y, second.y]), as_weights(weights, both), n_given=both
    )

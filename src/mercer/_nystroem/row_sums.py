"""Sums over rows that determine fits on Nyström features, and their updates with new rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from mercer._blocks.tables import block_source
from mercer._data.encoded_targets import TargetEncoding
from mercer._data.folds import evenly_spaced
from mercer._data.sample import Sample
from mercer._gram.memory import check_gram_memory
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


@dataclass(frozen=True)
class RowSums:
    """Sums of products of features and targets over all rows so far.

    Attributes
    ----------
    features : NystroemFeatures
    encoding : TargetEncoding
    sums : Moments
    """

    features: NystroemFeatures
    encoding: TargetEncoding
    sums: Moments

    def plus(self, rows: Sample) -> RowSums:
        """Return the sums with further rows added, in one pass over blocks of these rows."""
        statistic = NormalEquations(self.features, self.encoding, rows.weights)
        parts = block_source(rows.X, rows.y).reduce(statistic)
        return replace(self, sums=self.sums.plus(reduce(Moments.plus, parts)))

    def fitted(self, model: NystroemModel) -> NystroemModel:
        """Return the model fitted to the sums at the same penalty, by an eigendecomposition."""
        fit = ridge_at(self.sums, self.features, model.choice.alpha)
        return replace(model, choice=replace(model.choice, fit=fit))


def row_sums(model: NystroemModel, rows: Sample) -> RowSums:
    """Compute the sums over the rows that a model on Nyström features was fitted to.

    Parameters
    ----------
    model : NystroemModel
    rows : Sample
        All rows of positive weight.

    Raises
    ------
    ValueError
        If the model was fitted to other rows.
    MemoryError
        If the sums do not fit into memory.
    """
    if model.rows is not None:
        rows = rows.take(np.flatnonzero(np.isin(rows.numbers, model.rows)))
    check_gram_memory(model.columns.n_centers, 3, "fit anew, with fewer centers")
    features = nystroem_features(model.columns.kernel, model.columns.centers)
    none = Moments.zero(features.n_summands, model.encoding.n_outputs)
    found = RowSums(features, model.encoding, none).plus(rows)
    some = rows.X[evenly_spaced(len(rows), 200)]
    difference = found.fitted(model).values(some) - model.values(some)
    spread = max(float(model.encoding.encode(rows.y).std()), 1e-12)
    if np.sqrt(np.mean(difference**2)) > _TOLERANCE * spread:
        raise ValueError("The model was not fitted to these rows: pass those that fit was given.")
    return found

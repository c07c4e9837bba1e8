"""Fits to all pairs of some of a table's rows, beside fits on features of all of its rows."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from mercer._blocks.tables import DrawnSample
from mercer._data.folds import evenly_spaced, sample_rows
from mercer._data.sample import TargetEncoding
from mercer._model_selection.held_out import clearly_best
from mercer._nystroem.second_stage import NystroemModel, all_rows_are_centers, fit_nystroem
from mercer._nystroem.width_factors import with_suitable_widths
from mercer._typing import Array, RandomState
from mercer.kernels import Kernel

HELD_OUT_ROWS = 5000
"""Predictions out of fold are kept, and fits compared by them, of at most this many rows."""

_PARTS = (16, 4)
"""Of these parts of the rows, all pairs are fitted first. If the loss falls by a factor from one to
the next, the loss of all rows is taken to be lower by that factor once more."""

_LEAST_GAIN = 0.9
"""Losses have to be this part of those of features, as predictions then take as many more kernel
values as there are more centers (benchmarks/command.py, 50000x20; benchmarks/large.py, pairs)."""


@dataclass(frozen=True)
class PairsOfSomeRows:
    """Fits to all pairs of some rows that were drawn from a table.

    Attributes
    ----------
    data : DrawnSample
        The source, and at least as many rows as have their pairs fitted.
    encoding : TargetEncoding
    n_rows : int
        Number of rows that have their pairs fitted.
    random_state : int, RandomState instance or None
        Draws them.
    """

    data: DrawnSample
    encoding: TargetEncoding
    n_rows: int
    random_state: RandomState

    def may_predict_better(self, features: NystroemModel) -> bool:
        """Whether a lower loss than that of a model on features is expected, with its kernel.

        Parameters
        ----------
        features : NystroemModel
            On features of all rows.
        """
        found = []
        for part in _PARTS:
            some = self.data.apart(self._drawn(self.n_rows // part))
            model = self._fitted(features.columns.kernel, some, None)
            found.append(row_losses(model, some).mean())
        least = _LEAST_GAIN * row_losses(features, self.data).mean()
        return bool(found[1] ** 2 < found[0] * least)

    def better(
        self, features: NystroemModel, kernel: Kernel, *, learns_widths: bool
    ) -> NystroemModel:
        """A fit on features of all rows, or one to all pairs that predicts clearly better.

        Parameters
        ----------
        features : NystroemModel
            The former.
        kernel : Kernel
            As it was learned from few rows.
        learns_widths : bool
            Whether its widths are made to suit the rows.
        """
        if not self.may_predict_better(features):
            return features
        rows = self._whole_groups()
        some, alphas = self.data.apart(rows), None
        if not all_rows_are_centers(some, len(some)):
            return features
        if learns_widths:
            settings: dict[str, Any] = self._settings(some)
            kernel, alphas, _ = with_suitable_widths(kernel, some, self.encoding, **settings)
        pairs = self._fitted(kernel, some, alphas)
        return pairs if clearly_better(pairs, features, self.data, rows) else features

    def _fitted(self, kernel: Kernel, some: DrawnSample, alphas: Array | None) -> NystroemModel:
        """The fit to all pairs of some rows."""
        settings = self._settings(some)
        model = fit_nystroem(kernel, some, self.encoding, alphas=alphas, **settings)
        return replace(model, rows=some.numbers)

    def _settings(self, some: DrawnSample) -> dict[str, Any]:
        """All rows are centers."""
        return {"n_components": len(some), "random_state": self.random_state}

    def _drawn(self, n_rows: int) -> NDArray[np.intp]:
        """A number of random samples."""
        classes, y = self.encoding.classes, self.data.y
        codes = None if classes is None else self.encoding.codes_of(y)
        return sample_rows(len(y), n_rows, codes, self.random_state)

    def _whole_groups(self) -> NDArray[np.intp]:
        """Samples in whose groups there are no others."""
        if self.data.groups is None:
            return self._drawn(self.n_rows)
        _, codes, counts = np.unique(self.data.groups, return_inverse=True, return_counts=True)
        order = check_random_state(self.random_state).permutation(len(counts))
        taken = order[np.cumsum(counts[order]) <= self.n_rows]
        return np.flatnonzero(np.isin(codes, taken))


def clearly_better(
    pairs: NystroemModel, features: NystroemModel, data: DrawnSample, rows: NDArray[np.intp]
) -> bool:
    """Whether a fit to all pairs of some rows predicts these clearly better out of fold.

    Parameters
    ----------
    pairs, features : NystroemModel
    data : DrawnSample
    rows : ndarray of int of shape (n_rows,)
        Those of the samples whose pairs were fitted.
    """
    some = data.take(rows)
    losses = np.array([row_losses(features, some), row_losses(pairs, some)])
    return bool(losses[1].mean() < _LEAST_GAIN * losses[0].mean() and clearly_best(losses))


def row_losses(model: NystroemModel, data: DrawnSample) -> Array:
    """Squared errors out of fold, or logarithmic losses of classes, of at most 5,000 rows.

    Parameters
    ----------
    model : NystroemModel
    data : DrawnSample

    Returns
    -------
    ndarray of shape (min(n_rows, 5000),)
        Zero for rows that no fold holds out.
    """
    part = data.take(evenly_spaced(len(data), HELD_OUT_ROWS))
    predicted = model.out_of_fold(part.X, part)
    if model.calibration is None:
        losses = np.sum((predicted - model.encoding.encode(part.y)) ** 2, axis=1)
    else:
        codes = model.encoding.codes_of(part.y)
        of_class = model.calibration.probabilities(predicted)[np.arange(len(codes)), codes]
        losses = -np.log(np.maximum(of_class, np.finfo(float).tiny))
    return np.nan_to_num(losses) * part.weights.values

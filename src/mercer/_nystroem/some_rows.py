"""Fits to all pairs of some rows of a table, as alternatives to fits on features of all rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from mercer._blocks.tables import DrawnSample
from mercer._data.encoded_targets import TargetEncoding
from mercer._data.folds import apart_from, evenly_spaced, sample_rows
from mercer._data.types import Array, Features, RandomState
from mercer._model_selection.held_out import clearly_best
from mercer._nystroem.second_stage import NystroemModel, all_rows_are_centers, fit_nystroem
from mercer._nystroem.width_factors import with_suitable_widths
from mercer.kernels import Kernel

HELD_OUT_ROWS = 5000
"""Out-of-fold predictions of at most this many rows are kept, and used to compare fits."""

_FEW_ROWS, _TIMES = 256, 4
"""The first fit is to all pairs of this many rows, or of a 64th of `n_rows` if this is less than
16,384. Each further fit is to four times as many rows."""

_MOST_OUTPUTS = 20
"""Fits to all pairs are not tried for more responses or classes."""

_LEAST_GAIN = 0.9
"""Losses of fits to all pairs have to be lower than this fraction of those on features, because
their predictions take more kernel values, in proportion to the number of centers."""


@dataclass(frozen=True)
class PairsOfSomeRows:
    """Fits to all pairs of some rows that were drawn from a table.

    Attributes
    ----------
    data : DrawnSample
        The source, with a sample of at least `n_rows` rows.
    encoding : TargetEncoding
    n_rows : int
        Number of rows whose pairs are fitted.
    random_state : int, RandomState instance or None
        Draws the rows whose pairs are fitted.
    """

    data: DrawnSample
    encoding: TargetEncoding
    n_rows: int
    random_state: RandomState

    def may_predict_better(
        self,
        features: NystroemModel,
        kernel: Kernel,
        *,
        learns_widths: bool,
        alphas: Array | None = None,
    ) -> bool:
        """Return whether a lower loss than that of a model on features is expected.

        Parameters
        ----------
        features : NystroemModel
            A model on features of all rows.
        kernel : Kernel
            The kernel that was learned from few rows.
        learns_widths : bool
            Whether the widths of the kernel are adapted to the number of rows.
        alphas : ndarray of shape (n_alphas,), default=None
            Penalties given by the user.

        Notes
        -----
        Losses are extrapolated as powers of the number of rows. The exponents become smaller as the
        least loss is approached, and are assumed to decrease once more by the factor of their last
        decrease. If the loss of a fit to few rows is already lower than that on features, no
        further fits are tried. Pairs are not tried for many outputs, because each output requires
        linear systems of its own.
        """
        if len(features.choice.fit.intercept) > _MOST_OUTPUTS:
            return False
        n_rows, known = min(self.n_rows // _TIMES**3, _FEW_ROWS), list[float]()
        if learns_widths:
            kernel, _ = self._suitable(kernel, self.data.apart(self._drawn(_TIMES * n_rows)))
        while 2 * n_rows <= self.n_rows and min(known, default=0.0) >= np.log(_LEAST_GAIN):
            known.append(self._log_ratio(features, kernel, alphas, n_rows))
            if len(known) > 2:
                before, last = np.diff(known[-3:])
                step = last * np.clip(last / before, 0.0, 1.0) if before < 0.0 else last
                steps = np.log(self.n_rows / n_rows) / np.log(_TIMES)
                if not known[-1] + steps * step < np.log(_LEAST_GAIN):
                    return False
            n_rows *= _TIMES
        return True

    def _log_ratio(
        self, features: NystroemModel, kernel: Kernel, alphas: Array | None, n_rows: int
    ) -> float:
        """Return the log-ratio of the loss of a fit to all pairs of few rows to that on features.

        Both losses are on rows of other groups or, if there are fewer of them, on those of the fit.
        """
        data, rows = self.data, self._drawn(n_rows)
        some = data.apart(rows)
        model = self._fitted(kernel, some, alphas)
        others = apart_from(rows, data.groups, len(data))
        if len(others) < len(rows):
            loss = row_losses(model, some)
        else:
            rows = others
            loss = row_losses(model, data.take(rows), model.values)
        losses = loss.mean(), row_losses(features, data.take(rows)).mean()
        of_pairs, of_features = np.log(np.maximum(losses, np.finfo(float).tiny))
        return float(of_pairs - of_features)

    def better(
        self, features: NystroemModel, kernel: Kernel, *, learns_widths: bool
    ) -> NystroemModel:
        """Return a fit to all pairs if it predicts clearly better than `features`, else `features`.

        Parameters
        ----------
        features : NystroemModel
            The fit on features of all rows.
        kernel : Kernel
            The kernel that was learned from few rows.
        learns_widths : bool
            Whether the widths of the kernel are adapted to the number of rows.
        """
        if not self.may_predict_better(features, kernel, learns_widths=learns_widths):
            return features
        rows = self._whole_groups()
        some, alphas = self.data.apart(rows), None
        if not all_rows_are_centers(some, len(some)):
            return features
        if learns_widths:
            kernel, alphas = self._suitable(kernel, some)
        pairs = self._fitted(kernel, some, alphas)
        return pairs if clearly_better(pairs, features, self.data, rows) else features

    def _suitable(self, kernel: Kernel, some: DrawnSample) -> tuple[Kernel, Array | None]:
        """Return the kernel with widths adapted to some rows, and penalties to fit it with."""
        settings = self._settings(some)
        return with_suitable_widths(kernel, some, self.encoding, **settings)[:2]

    def _fitted(self, kernel: Kernel, some: DrawnSample, alphas: Array | None) -> NystroemModel:
        """Fit to all pairs of some rows."""
        settings = self._settings(some)
        model = fit_nystroem(kernel, some, self.encoding, alphas=alphas, **settings)
        return of_some_rows(model, some, self.data)

    def _settings(self, some: DrawnSample) -> dict[str, Any]:
        """Return the settings of a fit whose centers are all rows."""
        return {"n_components": len(some), "random_state": self.random_state}

    def _drawn(self, n_rows: int) -> NDArray[np.intp]:
        """Draw a number of samples at random."""
        classes, y = self.encoding.classes, self.data.y
        codes = None if classes is None else self.encoding.codes_of(y)
        return sample_rows(len(y), n_rows, codes, self.random_state)

    def _whole_groups(self) -> NDArray[np.intp]:
        """Draw whole groups, or single samples if there are no groups."""
        if self.data.groups is None:
            return self._drawn(self.n_rows)
        _, codes, counts = np.unique(self.data.groups, return_inverse=True, return_counts=True)
        order = check_random_state(self.random_state).permutation(len(counts))
        taken = order[np.cumsum(counts[order]) <= self.n_rows]
        return np.flatnonzero(np.isin(codes, taken))


def of_some_rows(model: NystroemModel, some: DrawnSample, data: DrawnSample) -> NystroemModel:
    """Return the model together with the indices of the table's rows that it was fitted to.

    Parameters
    ----------
    model : NystroemModel
        Model that was fitted to `some`.
    some, data : DrawnSample
        Some rows of the table, and all rows that were drawn from it.
    """
    return replace(model, rows=None if len(some) == data.source.count_rows() else some.numbers)


def clearly_better(
    pairs: NystroemModel, features: NystroemModel, data: DrawnSample, rows: NDArray[np.intp]
) -> bool:
    """Return whether a fit to all pairs of some rows predicts them clearly better out of fold.

    Parameters
    ----------
    pairs, features : NystroemModel
    data : DrawnSample
    rows : ndarray of int of shape (n_rows,)
        Indices of the samples whose pairs were fitted.
    """
    some = data.take(rows)
    losses = np.array([row_losses(features, some), row_losses(pairs, some)])
    return bool(losses[1].mean() < _LEAST_GAIN * losses[0].mean() and clearly_best(losses))


def row_losses(
    model: NystroemModel, data: DrawnSample, values: Callable[[Features], Array] | None = None
) -> Array:
    """Compute squared errors, or logarithmic losses for classes, of at most 5,000 rows.

    Parameters
    ----------
    model : NystroemModel
    data : DrawnSample
    values : callable, default=None
        Predicts rows; None for out-of-fold predictions.

    Returns
    -------
    ndarray of shape (min(n_rows, 5000),)
        Zero for rows that no fold holds out.
    """
    part = data.take(evenly_spaced(len(data), HELD_OUT_ROWS))
    if model.calibration is None:
        predicted = model.out_of_fold(part.X, part) if values is None else values(part.X)
        losses = np.sum((predicted - model.encoding.encode(part.y)) ** 2, axis=1)
    else:
        predicted = model.indicators_out_of_fold(part.X, part) if values is None else values(part.X)
        codes = model.encoding.codes_of(part.y)
        of_class = model.calibration.probabilities(predicted)[np.arange(len(codes)), codes]
        losses = -np.log(np.maximum(of_class, np.finfo(float).tiny))
    return np.nan_to_num(losses) * part.weights.values

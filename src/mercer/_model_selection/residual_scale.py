"""Sizes of residuals as a function of the sample: how uncertain a prediction is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from mercer._data.folds import sample_rows
from mercer._data.resampling import Resampling, left_out_together
from mercer._data.sample import EncodedTarget, Sample, TargetEncoding, encode_target
from mercer._data.weights import SampleWeights
from mercer._gram.dense import UnitScale, unit_gram, unit_rows
from mercer._gram.tiles import serial_algebra
from mercer._model_selection.held_out import clearly_best, of_best_width
from mercer._model_selection.intervals import interval_rows, upper_quantiles
from mercer._solvers.left_out import leave_one_out
from mercer._solvers.ridge import Ridge, fit_ridge
from mercer._typing import Array, Features
from mercer.kernels import Gaussian
from mercer.kernels._kernel import Kernel


@dataclass(frozen=True)
class ResidualScale:
    """A positive function of samples, to which the sizes of their residuals are proportional.

    Attributes
    ----------
    table : int
        Index of the table that it is a function of.
    left_out : ndarray of shape (n_samples,)
        Its values at the training samples, learned without each of them.
    kernel : Kernel
    unit : UnitScale
    ridge : Ridge
        Of the logarithms of sizes.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples.
    encoding : TargetEncoding
        Of the logarithms.
    """

    table: int
    left_out: Array
    kernel: Kernel
    unit: UnitScale
    ridge: Ridge
    X: Features
    encoding: TargetEncoding

    def of(self, X: Features) -> Array:
        """Values at new samples, within the range of those at training samples, shape (n_rows,)."""
        values = self.ridge.predict(unit_rows(self.kernel, self.unit, X, self.X))
        found = np.exp(self.encoding.decode(values)[:, 0])
        return np.clip(found, self.left_out.min(), self.left_out.max())


@serial_algebra()
def fitted_scales(
    tables: Sequence[Features],
    residuals: Array,
    weights: SampleWeights,
    resampling: Resampling,
    *,
    least: float = 0.1,
) -> list[ResidualScale]:
    """Learn scales of residuals by ridge regression of the logarithms of their sizes.

    Parameters
    ----------
    tables : sequence of ndarray or sparse matrix of shape (n_samples, n_features)
        What a scale may be a function of.
    residuals : ndarray of shape (n_samples,)
        Of samples that had no part in their predictions.
    weights : SampleWeights
    resampling : Resampling
        Which samples are left out together.
    least : float, default=0.1
        Smaller residuals, as fractions of their median size, count as this one: how close to zero
        one lies by chance says nothing of its scale.

    Returns
    -------
    list of ResidualScale
        One for each table; none where half of the residuals are zero.

    Notes
    -----
    Gaussian kernels of one width for each table. One eigendecomposition for each, and O(n^2)
    memory.
    """
    rows, _ = interval_rows(resampling.groups, weights)
    sizes = np.abs(residuals)
    median = float(np.median(sizes[rows]))
    if not median > 0.0:
        return []
    logs = np.log(np.maximum(sizes, least * median))
    target = encode_target(logs, classification=False, weights=weights, resampling=resampling)
    return [_fitted(index, X, target) for index, X in enumerate(tables)]


def best_scale(
    scales: Sequence[ResidualScale],
    residuals: Array,
    coverage: float,
    weights: SampleWeights,
    groups: Array | None,
    *,
    n_errors: float = 2.0,
) -> ResidualScale | None:
    """The scale by which intervals of a coverage are clearly better than intervals of one width.

    Parameters
    ----------
    scales : sequence of ResidualScale
    residuals : ndarray of shape (n_samples,)
        Those that the scales were learned from.
    coverage : float
        Of the intervals whose width the scale is to bound.
    weights : SampleWeights
    groups : ndarray of int of shape (n_samples,), or None
    n_errors : float, default=2.0
        How clearly a scale has to be better than none.

    Returns
    -------
    ResidualScale or None
        None unless the interval score of left-out samples is lower than with a constant scale, by
        more than this many standard errors.

    Notes
    -----
    The interval score of a half-width h is h + (|e| - h)_+ / (1 - coverage) [1]_: it is lowest, on
    average, for the half-width that has the coverage for samples like this one.

    References
    ----------
    .. [1] T. Gneiting, A. E. Raftery (2007). Strictly proper scoring rules, prediction, and
       estimation. JASA 102, section 6.2.
    """
    rows, masses = interval_rows(groups, weights)
    sizes = np.abs(residuals)[rows]

    def scores(scale: Array) -> Array:
        width = scale * upper_quantiles((sizes / scale)[None], coverage, masses)[0]
        return interval_scores(width, sizes, coverage)

    losses = np.array(
        [scores(s) for s in (np.ones(len(rows)), *(s.left_out[rows] for s in scales))]
    )
    if masses is not None:
        losses *= masses / masses.mean()
    if not np.isfinite(losses).all():
        return None
    best = clearly_best(losses, n_errors)
    return scales[best - 1] if best else None


@dataclass(frozen=True)
class HeldOutResiduals:
    """Residuals of samples that had no part in their predictions, from which scales are learned.

    Attributes
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        What a scale may be a function of, beside the predictions.
    predictions, residuals : ndarray of shape (n_samples, n_outputs)
    weights : SampleWeights
    resampling : Resampling
        Which samples are left out together.
    """

    X: Features
    predictions: Array
    residuals: Array
    weights: SampleWeights
    resampling: Resampling

    @classmethod
    def of(cls, sample: Sample, rows: Array, residuals: Array, *, max_samples: int = 1000) -> Self:
        """Residuals of random samples among those that were held out.

        Parameters
        ----------
        sample : Sample
            Without a table, scales are functions of predictions alone.
        rows : ndarray of int of shape (n_held_out,)
            The samples that were held out; some may have been several times.
        residuals : ndarray of shape (n_held_out,) or (n_held_out, n_outputs)
        max_samples : int, default=1000
            As many samples are what stacks learn from by default.
        """
        some = sample_rows(len(rows), max_samples, None, 0)
        table = sample.y if sample.X is None else sample.X
        part = replace(sample, X=table).take(rows[some])
        errors = residuals[some].reshape(len(some), -1)
        predictions = part.y.reshape(errors.shape) - errors
        X = predictions if sample.X is None else part.X.astype(np.float64, copy=False)
        codes = rows[some] if part.groups is None else None
        together = left_out_together(len(some), part.groups, codes)
        return cls(X, predictions, errors, part.weights, together)

    @cached_property
    def _fitted(self) -> list[list[ResidualScale]]:
        """What the scale of each output may be; learned when intervals are first predicted."""
        pairs = zip(self.predictions.T, self.residuals.T, strict=True)
        return [
            fitted_scales([self.X, p[:, None]], e, self.weights, self.resampling) for p, e in pairs
        ]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_fitted"}

    def scales(self, coverage: float) -> list[ResidualScale | None]:
        """The scale of each output's residuals; see :func:`best_scale`."""
        weights, groups = self.weights, self.resampling.groups
        pairs = zip(self._fitted, self.residuals.T, strict=True)
        return [best_scale(found, e, coverage, weights, groups) for found, e in pairs]

    def rescaled(
        self,
        ends: Array,
        predictions: Array,
        X: Features | None,
        scales: Sequence[ResidualScale | None],
        coverage: float,
    ) -> Array:
        """Intervals whose widths are proportional to scales, of the outputs that have one.

        Parameters
        ----------
        ends : ndarray of shape (n_rows, 2) or (n_rows, n_outputs, 2)
            Intervals of equal widths, of new samples.
        predictions : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        X : ndarray or sparse matrix of shape (n_rows, n_features), or None
            The new samples; None where scales are functions of predictions alone.
        scales : sequence of (ResidualScale or None)
        coverage : float
        """
        found, centers = ends.reshape(len(ends), -1, 2).copy(), predictions.reshape(len(ends), -1)
        rows, masses = interval_rows(self.resampling.groups, self.weights)
        for output, scale in enumerate(scales):
            if scale is not None:
                center, sizes = centers[:, [output]], np.abs(self.residuals[rows, output])
                width = upper_quantiles((sizes / scale.left_out[rows])[None], coverage, masses)
                new = (centers if X is None else X, center)[scale.table]
                found[:, output] = center + np.outer(width * scale.of(new), [-1.0, 1.0])
        return found.reshape(ends.shape)


def interval_scores(widths: Array, sizes: Array, coverage: float) -> Array:
    """Half the interval score of each sample; on average, quantiles are the best half-widths.

    Parameters
    ----------
    widths, sizes : ndarray of shape (n_samples,)
        Half-widths of intervals, and sizes of residuals.
    coverage : float

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> interval_scores(np.array([1.0, 1.0]), np.array([0.5, 1.5]), 0.75)
    array([1., 3.])
    """
    return np.asarray(widths + np.maximum(sizes - widths, 0.0) / (1.0 - coverage))


def _fitted(index: int, X: Features, target: EncodedTarget) -> ResidualScale:
    """The scale as a function of one table."""
    kernel = of_best_width(Gaussian("median"), X, target.values, target.resampling)
    gram, unit = unit_gram(kernel, X, target.weights.given)
    fit = leave_one_out(gram, target.values, weights=target.weights, resampling=target.resampling)
    ridge = fit_ridge(gram, target.values, fit.alpha, target.weights)
    left_out = np.exp(target.decode(fit.best_predictions)[:, 0])
    return ResidualScale(index, left_out, kernel, unit, ridge, X, target.encoding)

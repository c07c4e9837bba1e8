"""Scales of residuals as functions of the features, for intervals of varying width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.impute import SimpleImputer

from mercer._data.encoded_targets import TargetEncoding, encode_target
from mercer._data.folds import N_FOLDS, sample_rows
from mercer._data.resampling import Resampling, left_out_together
from mercer._data.sample import Sample
from mercer._data.types import Array, Features, own_fields
from mercer._data.weights import SampleWeights
from mercer._gram.dense import UnitScale, unit_gram, unit_rows
from mercer._gram.tiles import serial_algebra
from mercer._model_selection.held_out import clearly_best, of_best_width
from mercer._model_selection.intervals import group_masses, interval_masses, upper_quantiles
from mercer._solvers.left_out import leave_one_out
from mercer._solvers.ridge import Ridge, fit_ridge
from mercer.kernels import Gaussian
from mercer.kernels._kernel import Kernel

_JUDGED_COVERAGE = 0.9
"""Coverage of the intervals by which scales are judged."""


@dataclass(frozen=True)
class ResidualScale:
    """A positive function of samples to which the sizes of residuals are proportional.

    Attributes
    ----------
    left_out : ndarray of shape (n_samples,)
        Leave-one-out values of the function at the training samples.
    kernel : Kernel
    unit : UnitScale
    ridge : Ridge
        Ridge regression of the logarithms of the sizes.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples, with missing values replaced by feature means.
    encoding : TargetEncoding
        Encoding of the logarithms of the sizes.
    """

    left_out: Array
    kernel: Kernel
    unit: UnitScale
    ridge: Ridge
    X: Features
    encoding: TargetEncoding

    def of(self, X: Features) -> Array:
        """Return values at new samples, clipped to the range of `left_out`."""
        X = _complete(X, self.X)
        values = self.ridge.predict(unit_rows(self.kernel, self.unit, X, self.X))
        least, most = self.left_out.min(), self.left_out.max()
        # Far from all samples, exponentials of logarithms beyond the largest may overflow.
        logarithms = np.minimum(self.encoding.decode(values)[:, 0], np.log(most))
        return np.clip(np.exp(logarithms), least, most)


@dataclass(frozen=True)
class Residuals:
    """Residuals of one output on held-out samples.

    Attributes
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        The features on which a scale may depend. They must not depend on the responses, as
        leave-one-out predictions do: means of all other responses leak the sizes of residuals.
    sizes : ndarray of shape (n_samples,)
        Absolute residuals.
    weights : SampleWeights
    resampling : Resampling
        Which samples are left out together.
    """

    X: Features
    sizes: Array
    weights: SampleWeights
    resampling: Resampling

    def take(self, rows: Array) -> Self:
        """Return the residuals of a subset of the samples."""
        known = self.X[rows], self.sizes[rows], self.weights.take(rows), self.resampling.take(rows)
        return type(self)(*known)

    def width(self, scale: Array, coverage: float) -> float:
        """Compute the half-width, relative to a scale, of intervals with the given coverage.

        Parameters
        ----------
        scale : ndarray of shape (n_samples,)
        coverage : float
        """
        masses = interval_masses(self.resampling.groups, self.weights)
        return float(upper_quantiles((self.sizes / scale)[None], coverage, masses)[0])

    def scale(self, *, least: float = 0.1) -> ResidualScale | None:
        """Learn a scale by ridge regression of the log sizes on a Gaussian kernel.

        Parameters
        ----------
        least : float, default=0.1
            Lower bound of the sizes of residuals, as a fraction of their median size. Residuals may
            be close to zero by chance, whatever their scale.

        Returns
        -------
        ResidualScale or None
            None if half of the residuals are zero, or if there are too few for a median.
        """
        median = self.width(np.ones(len(self.sizes)), 0.5)
        if not 0.0 < median < np.inf:
            return None
        logs = np.log(np.maximum(self.sizes, least * median))
        known: dict[str, Any] = {"weights": self.weights, "resampling": self.resampling}
        target = encode_target(logs, classification=False, **known)
        X = _complete(self.X, self.X)
        kernel = of_best_width(Gaussian("median"), X, target.values, self.resampling)
        gram, unit = unit_gram(kernel, X, self.weights.given)
        fit = leave_one_out(gram, target.values, **known)
        ridge = fit_ridge(gram, target.values, fit.alpha, self.weights)
        left_out = np.exp(target.decode(fit.best_predictions)[:, 0])
        return ResidualScale(left_out, kernel, unit, ridge, X, target.encoding)

    @cached_property
    @serial_algebra()
    def _trials(self) -> list[tuple[Residuals, ResidualScale | None, Array]]:
        """The training samples of each fold, the scale learned from them, and the held-out rows."""
        folds = self.resampling.folds(N_FOLDS, None, 0)
        trained = [(self.take(train), test) for train, test in folds]
        return [(part, part.scale(), test) for part, test in trained]

    @cached_property
    @serial_algebra()
    def _scale(self) -> ResidualScale | None:
        return self.scale()

    def losses(self, coverage: float, *, least: int = 20) -> Array | None:
        """Compute out-of-fold interval scores of intervals of constant and of scaled width.

        Parameters
        ----------
        coverage : float
        least : int, default=20
            Least number of units. A unit is a sample, or a set of samples left out together.

        Returns
        -------
        ndarray of shape (2, n_units), or None
            Scores of the units, multiplied by weights whose mean is one. None if there are too few
            units for the coverage or for a scale.

        Notes
        -----
        The interval score of a half-width h for a residual e is h + (|e| - h)_+ / (1 - coverage)
        [1]_. On average over samples like this one, it is lowest for the half-width with the given
        coverage. For each fold, the other samples determine the scale, including the width and the
        penalty of its kernel regression, and the quantiles of both kinds of intervals.

        References
        ----------
        .. [1] T. Gneiting, A. E. Raftery (2007). Strictly proper scoring rules, prediction, and
           estimation. JASA 102, section 6.2.
        """
        together, groups = self.resampling.together, self.resampling.groups
        units = np.arange(len(self.sizes)) if together is None else together
        units = np.unique(units, return_inverse=True)[1]
        if units.max() + 1 < least:
            return None
        found = np.empty((2, len(units)))
        for part, scale, test in self._trials:
            if scale is None:
                return None
            constant = part.width(np.ones(len(part.sizes)), coverage)
            scaled = part.width(scale.left_out, coverage) * scale.of(self.X[test])
            widths = np.stack([np.full(len(test), constant), scaled])
            found[:, test] = np.asarray(
                widths + np.maximum(self.sizes[test] - widths, 0.0) / (1.0 - coverage)
            )
        if not np.isfinite(found).all():
            return None
        shares = self.weights.values if groups is None else group_masses(groups, self.weights)
        of_units = np.array([np.bincount(units, shares * row) for row in found])
        return np.asarray(of_units * (of_units.shape[1] / shares.sum()))

    def clear_scale(self, coverage: float, *, n_errors: float = 2.0) -> ResidualScale | None:
        """Return the scale if its intervals are clearly better than constant ones, else None.

        Parameters
        ----------
        coverage : float
        n_errors : float, default=2.0
            Number of standard errors by which the mean of :meth:`losses` has to be lower.
        """
        losses = self.losses(coverage)
        return self._scale if losses is not None and clearly_best(losses, n_errors) else None

    __getstate__ = own_fields


@dataclass(frozen=True)
class HeldOutResiduals:
    """Residuals of held-out samples, from which scales are learned.

    Attributes
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features), or None
        The features on which a scale may depend; None if only kernel values are given.
    residuals : ndarray of shape (n_samples, n_outputs)
    weights : SampleWeights
    resampling : Resampling
        Which samples are left out together.
    """

    X: Features | None
    residuals: Array
    weights: SampleWeights
    resampling: Resampling

    @classmethod
    def of(cls, sample: Sample, rows: Array, residuals: Array, *, max_samples: int = 1000) -> Self:
        """Draw residuals of held-out samples at random.

        Parameters
        ----------
        sample : Sample
            The sample of the fit. Without a table, there are no scales.
        rows : ndarray of int of shape (n_held_out,)
            Indices of the held-out samples, which may repeat.
        residuals : ndarray of shape (n_held_out,) or (n_held_out, n_outputs)
        max_samples : int, default=1000
            Maximum number of residuals; the default is the number that stacks evaluate.
        """
        ranks = None if sample.ranks is None else sample.ranks[rows]
        some = sample_rows(len(rows), max_samples, None, 0, ranks)
        drawn, table, groups = rows[some], sample.X, sample.groups
        X = None if table is None else table[drawn].astype(np.float64, copy=False)
        of_groups, codes = (None, drawn) if groups is None else (groups[drawn], None)
        ranks = None if ranks is None else ranks[some]
        together = left_out_together(len(some), of_groups, codes, ranks=ranks)
        return cls(X, residuals[some].reshape(len(some), -1), sample.weights.take(drawn), together)

    @property
    def masses(self) -> Array | None:
        """Masses of the samples; see :func:`interval_masses`."""
        return interval_masses(self.resampling.groups, self.weights)

    @cached_property
    def of_outputs(self) -> list[Residuals]:
        """The residuals of each output; empty if there is no table."""
        if self.X is None:
            return []
        sizes = np.abs(self.residuals.T)
        return [Residuals(self.X, each, self.weights, self.resampling) for each in sizes]

    __getstate__ = own_fields

    def scales(self) -> list[ResidualScale | None]:
        """Return the scale of each output's residuals; see :meth:`Residuals.clear_scale`.

        One coverage decides for all, so that intervals of less coverage are within those of more.
        """
        none: list[ResidualScale | None] = [None] * self.residuals.shape[1]
        return [each.clear_scale(_JUDGED_COVERAGE) for each in self.of_outputs] or none

    def rescaled(
        self,
        ends: Array,
        predictions: Array,
        X: Features,
        scales: Sequence[ResidualScale | None],
        coverage: float,
    ) -> Array:
        """Return intervals whose widths are proportional to scales, for outputs with a scale.

        Parameters
        ----------
        ends : ndarray of shape (n_rows, 2) or (n_rows, n_outputs, 2)
            Intervals of constant width for new samples, which other outputs keep.
        predictions : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        X : ndarray or sparse matrix of shape (n_rows, n_features)
            The new samples.
        scales : sequence of (ResidualScale or None)
        coverage : float
        """
        found, centers = ends.reshape(len(ends), -1, 2).copy(), predictions.reshape(len(ends), -1)
        for output, scale in enumerate(scales):
            if scale is not None:
                width = self.of_outputs[output].width(scale.left_out, coverage) * scale.of(X)
                found[:, output] = centers[:, [output]] + np.outer(width, [-1.0, 1.0])
        return found.reshape(ends.shape)


def _complete(X: Features, known: Features) -> Features:
    """Return samples with missing values replaced by the feature means of known samples."""
    return SimpleImputer(keep_empty_features=True).fit(known).transform(X)

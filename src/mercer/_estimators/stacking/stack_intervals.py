"""Widths of prediction intervals of a stack, from left-out predictions of its training samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mercer._data.encoded_targets import EncodedTarget
from mercer._data.folds import sample_rows
from mercer._data.resampling import left_out_together
from mercer._data.types import Array, Features
from mercer._estimators.stacking.stack_expansion import Member
from mercer._estimators.stacking.table_views import ViewName
from mercer._model_selection.intervals import interval_masses, jackknife_plus, upper_quantiles
from mercer._model_selection.residual_scale import HeldOutResiduals, ResidualScale

JACKKNIFE_SAMPLES = 500
"""Intervals of fits to more samples are centered at the prediction of the fit to all of them:
leaving one out changes the intervals by less than a percent of their width."""


@dataclass(frozen=True)
class LeftOutSamples:
    """Training samples whose left-out errors bound the encoded intervals of one output.

    Attributes
    ----------
    targets : ndarray of shape (n_samples,)
    predictions : ndarray of shape (n_samples,)
        Left-out predictions, by fits without the target of the sample.
    means : ndarray of shape (n_samples,)
        Predictions without any member.
    sizes : ndarray of shape (n_samples,)
        Scales of the residuals; ones if no scale is used.
    masses : ndarray of shape (n_samples,), or None
        Weights in quantiles; see :func:`mercer._model_selection.intervals.upper_quantiles`.
    """

    targets: Array
    predictions: Array
    means: Array
    sizes: Array
    masses: Array | None

    @classmethod
    def of(
        cls,
        target: EncodedTarget,
        left_out: Array,
        rows: Array,
        output: int,
        scale: ResidualScale | None,
    ) -> LeftOutSamples:
        """Return some rows of a target and of their left-out predictions, for one output.

        Parameters
        ----------
        target : EncodedTarget
        left_out : ndarray of shape (n_samples, n_outputs)
        rows : ndarray of int of shape (n_rows,)
        output : int
        scale : ResidualScale or None
            The scale of the residuals of these rows.
        """
        groups = target.resampling.take(rows).groups
        return cls(
            target.values[rows, output],
            left_out[rows, output],
            target.left_out_means[rows, output],
            np.ones(len(rows)) if scale is None else scale.left_out,
            interval_masses(groups, target.weights.take(rows)),
        )

    def residuals(self, closeness: Array) -> Array:
        """Return absolute residuals relative to their scales, shape (n_rows, n_samples).

        Parameters
        ----------
        closeness : ndarray of shape (n_rows, 1)
            Weight of the fit. With weight one, residuals are the left-out ones; with weight zero,
            they are those of the mean where these are larger.
        """
        own = np.abs(self.targets - self.predictions)
        deviations = closeness * (self.predictions - self.means)
        far = np.abs(self.targets - self.means - deviations)
        return np.asarray(np.maximum(far, own) / self.sizes)

    def widths(self, closeness: Array, coverage: float, blocks: Sequence[slice]) -> Array:
        """Return half-widths of intervals relative to the scales of new samples, shape (n_rows,).

        Parameters
        ----------
        closeness : ndarray of shape (n_rows, 1)
        coverage : float
        blocks : sequence of slice
            Rows whose residuals fit in memory.
        """
        # Most new samples are close to the training samples and share one quantile.
        found = np.repeat(self._quantiles(np.ones((1, 1)), coverage), len(closeness))
        far = np.flatnonzero(closeness[:, 0] < 1.0)
        for block in blocks:
            rows = far[block]
            found[rows] = self._quantiles(closeness[rows], coverage)
        return found

    def jackknife(
        self,
        left_out: Iterable[Array],
        closeness: Array,
        sizes: Array,
        coverage: float,
        blocks: Sequence[slice],
    ) -> Array:
        """Return intervals by the jackknife+, shape (n_rows, 2).

        Parameters
        ----------
        left_out : iterable of ndarray of shape (n_block, n_samples)
            Predictions of each block of new samples by fits without each of the training samples.
        closeness : ndarray of shape (n_rows, 1)
        sizes : ndarray of shape (n_rows,)
            Scales of the new samples.
        coverage : float
        blocks : sequence of slice
        """
        ends = []
        for rows, predictions in zip(blocks, left_out, strict=True):
            residuals = self.residuals(closeness[rows]) * sizes[rows, None]
            ends.append(jackknife_plus(predictions, residuals, coverage, self.masses))
        return np.concatenate(ends)

    def _quantiles(self, closeness: Array, coverage: float) -> Array:
        return upper_quantiles(self.residuals(closeness), coverage, self.masses)


def predictions_without_each(
    members: Sequence[Member],
    weights: Array,
    training: Mapping[ViewName, Features],
    target: EncodedTarget,
    output: int,
) -> Callable[..., Array]:
    """Return a function that predicts new samples by fits without each training sample.

    Parameters
    ----------
    members : sequence of GramMember
    weights : ndarray of shape (n_members,)
    training : mapping of str to ndarray
        The training samples in each view.
    target : EncodedTarget
    output : int

    Returns
    -------
    callable
        Function from views of new samples, their closeness and a slice of them to an array of shape
        (n_rows, n_samples).
    """
    means = target.left_out_means[:, output]
    changes = float(target.mean[output]) - means
    found = [m.left_out(training[m.view], target.resampling, output) for m in members]

    def predict(views: Mapping[ViewName, Features], near: Array, rows: slice) -> Array:
        deviations = np.zeros((len(near[rows]), len(target)))
        for weight, member, without in zip(weights, members, found, strict=True):
            deviations += weight * (without(views[member.view][rows]) + changes)
        return np.asarray(means + near[rows] * deviations)

    return predict


def scaled_residuals(
    target: EncodedTarget,
    left_out: Array,
    training: Mapping[ViewName, Features],
    stored_rows: Array,
    max_samples: int = 1000,
) -> tuple[Array, HeldOutResiduals]:
    """Return the left-out residuals from which scales of intervals are learned, and their samples.

    Parameters
    ----------
    target : EncodedTarget
    left_out : ndarray of shape (n_samples, n_outputs)
        Left-out predictions, in the encoding of the target.
    training : mapping from names of views to ndarray or sparse matrix of shape (n_stored, ...)
    stored_rows : ndarray of int of shape (n_stored,)
        Ascending indices of these samples.
    max_samples : int, default=1000

    Returns
    -------
    rows : ndarray of int
        Stored samples that were left out.
    residuals : HeldOutResiduals
    """
    rows = np.intersect1d(stored_rows, target.resampling.covered)
    rows = rows[sample_rows(len(rows), max_samples, None, 0)]
    first, groups = next(iter(training.values())), target.resampling.groups
    return rows, HeldOutResiduals(
        first[np.searchsorted(stored_rows, rows)] if len(rows) < first.shape[0] else first,
        target.values[rows] - left_out[rows],
        target.weights.take(rows),
        left_out_together(len(rows), None if groups is None else groups[rows]),
    )

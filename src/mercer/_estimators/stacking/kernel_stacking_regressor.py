"""Stacked kernel ridge regression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer._data.encoded_targets import encode_target
from mercer._data.types import Array, Features, PerSample
from mercer._data.validation import check_choice, check_coverage
from mercer._estimators.fits import with_callbacks
from mercer._estimators.stacking.kernel_stacking import KernelStacking
from mercer._estimators.stacking.table_views import ViewName
from mercer._gram.devices import on_device
from mercer._gram.expansion import KernelExpansion, Views
from mercer._model_selection.intervals import interval_masses, jackknife_plus, upper_quantiles
from mercer._model_selection.residual_scale import HeldOutResiduals, ResidualScale

_JACKKNIFE_SAMPLES = 500
"""Intervals of fits to more samples are centered at the prediction of the fit to all of them:
leaving one out changes the intervals by less than a percent of their width."""


@dataclass(frozen=True)
class _LeftOutErrors:
    """Left-out errors of training samples, which bound the encoded intervals of one output.

    Attributes
    ----------
    targets, deviations : ndarray of shape (n_samples,)
        Targets, and predictions by fits without the sample, minus predictions without any member.
    sizes : ndarray of shape (n_samples,)
        Scales of the residuals; ones if no scale is used.
    masses : ndarray of shape (n_samples,), or None
        Weights in quantiles; see :func:`mercer._model_selection.intervals.upper_quantiles`.
    """

    targets: Array
    deviations: Array
    sizes: Array
    masses: Array | None

    def relative(self, closeness: Array) -> Array:
        """Return absolute residuals relative to their scales, shape (n_rows, n_samples).

        Parameters
        ----------
        closeness : ndarray of shape (n_rows, 1)
            Weight of the fit. With weight one, residuals are the left-out ones; with weight zero,
            they are those of the mean where these are larger.
        """
        own = np.abs(self.targets - self.deviations)
        far = np.abs(self.targets - closeness * self.deviations)
        return np.asarray(np.maximum(far, own) / self.sizes)

    def quantiles(self, closeness: Array, coverage: float, blocks: Sequence[slice]) -> Array:
        """Return half-widths of intervals relative to the scales of new samples, shape (n_rows,).

        Parameters
        ----------
        closeness : ndarray of shape (n_rows, 1)
        coverage : float
        blocks : sequence of slice
            Rows whose residuals fit in memory.
        """
        # Most new samples are close to the training samples and share one quantile.
        one = upper_quantiles(self.relative(np.ones((1, 1))), coverage, self.masses)
        found, far = np.repeat(one, len(closeness)), np.flatnonzero(closeness[:, 0] < 1.0)
        for block in blocks:
            rows = far[block]
            found[rows] = upper_quantiles(self.relative(closeness[rows]), coverage, self.masses)
        return found


class KernelStackingRegressor(RegressorMixin, KernelStacking):
    """Regressor for tables that combines several kernels, without settings to tune.

    The candidates are kernel ridge regressions on different kernels. The best are kept, and
    combined by weights chosen from their leave-one-out predictions [1]_. By default, the kernels
    are

    * Gaussian, Laplacian and product Laplacian (exp(-|x - x'|_1 / s)) kernels with their best
      widths, on scaled features and on features mapped to normal quantiles;
    * a Gaussian kernel and a sum of all three kernels, with one width per feature, learned by
      maximizing the marginal likelihood;
    * a Gaussian kernel on projections of the features, learned from the gradients of predictions.

    Parameters
    ----------
    candidates : list of kernels, learners or estimators, default=None
        Candidates to combine in place of the default ones, or in addition to them if the list
        contains "default": kernels, names of kernels, kernel learners such as
        `GradientOuterProduct()`, or any other estimators that predict, which are fitted in folds.
        They use the features as given, without scaling; if `encoder` has filled in missing values,
        estimators that accept these find them missing. A candidate that fails on the table is left
        out with a warning.
    encoder : "auto", transformer or None, default="auto"
        How a table is turned into numbers. "auto" passes data frames that have columns of text,
        categories, dates, booleans or missing values through
        :func:`~mercer.preprocessing.table_encoder`, which needs ``pip install "mercer[tables]"``.
        Other tables are used as they are: arrays, sparse matrices, sources, frames of finite
        numbers, frames with missing numbers if a candidate accepts them and no default ones are
        asked for, and frames whose columns are named by an `OnColumns` kernel. A transformer is
        fitted to any table in memory. With None, no table is encoded.
    approximation : {"auto", "exact", "nystroem"}, default="auto"
        Whether the kernels that are kept are fitted to all samples exactly, or approximately on
        Nyström features: kernel values at a limited number of centers, in one pass over blocks of
        rows for each kernel. "auto" is exact for up to 3,000 samples.
    n_components : int or "auto", default="auto"
        Number of centers of the Nyström features. "auto" takes all samples if their kernel values
        in single precision fit in scikit-learn's `working_memory` (16,384 samples in 1 GB) or, for
        up to 20,000 samples, or up to 40,000 if there is little noise, in a quarter of the
        available memory. Otherwise, it takes 1,500, or 1,000 for more than 50,000 samples.
    max_samples : int, default=1000
        Maximum number of samples on which candidates are compared; the best are combined by their
        left-out predictions of all samples. Kernels are learned from the other samples if there are
        at least as many of them and samples are left out one at a time. On Nyström features, only
        up to twice as many are used, or up to 6,000 of more than 15,000.
    cv : int, cross-validation generator, iterable or None, default=None
        How samples are left out to choose kernels, penalties and weights, and for
        `loo_predictions_`. None leaves out one sample, or one group, at a time. A number stands for
        that many random folds of samples, or of groups. A splitter, or pairs of training and
        held-out indices, can be given instead, for example to predict each sample from earlier
        samples only. Samples that no fold holds out do not count. If several folds hold out a
        sample, its predictions are averaged. See Notes for Nyström features.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn or its name, such as "neg_mean_absolute_error", by which candidates
        are ranked. None ranks them by the squared error. See Notes.
    random_state : int, RandomState instance or None, default=0
        Seed or generator that draws samples and centers, and divides samples into folds.
    verbose : bool, default=False
        Whether to print a line after each step.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where large matrices are computed: on the processor, or on a graphics card by PyTorch
        (``pip install "mercer[gpu]"``). "auto" uses a card if there is one. See :doc:`/machines`.

    Attributes
    ----------
    candidates_ : list of EvaluatedCandidate
        The candidates, with attributes `description`, `kernel`, `alpha`, `loo_error` (mean squared
        leave-one-out error, divided by the error of predicting the mean), `weight`, and `score`
        (None without `scoring`).
    encoder_ : transformer or None
        The transformer that was fitted to the given rows of positive weight. None if the table was
        used as it is.
    kernels_ : list of Kernel
        The kernels that are kept.
    weights_ : ndarray of shape (n_kernels,)
        Weights of the kernels' predictions of deviations from the mean, between zero and one.
    loo_predictions_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Prediction of each training sample by fits without the sample, or its group. Kernels,
        penalties and weights are chosen without its fold. The values are NaN for samples that no
        fold of `cv` holds out. Samples of weight zero are predicted by the fit to all samples, or
        omitted if not all rows are stored. See Notes for when the predictions are computed.
    loo_score_ : float
        Coefficient of determination (R^2) of `loo_predictions_` with the unbiased variance, or
        their score by `scoring`. It is an estimate for new samples or, if groups were given, for
        new groups, with the variance between samples of different groups.
    relevance_ : ndarray of shape (n_features_in_,)
        How strongly the kernels depend on each feature; if the table is encoded, on each of
        ``encoder_.get_feature_names_out()``. The values sum to one. They are NaN if the
        formula of a kernel of nonzero weight is unknown, and zero if the prediction is constant.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if `X` has column names.

    See Also
    --------
    KernelStackingClassifier : Stacking for classification.
    mercer.preprocessing.table_encoder : Encodes tables of mixed types.

    Notes
    -----
    Features are scaled internally, and rows that are copies of one another are left out together.
    Columns of sparse tables are only divided by standard deviations, unlike those of dense copies.
    Exact fits compute left-out scores and intervals when they are first read (also by `hasattr`),
    or before `mercer.save`. Far from all training samples, the prediction is the mean response. A
    fit takes O(s^3) time for the s samples on which candidates are compared, and O(n^3 / 3), or
    O(n m^2 + m^3) on m Nyström features, for each kernel that is kept. The page
    :doc:`/guide/tables` describes what is combined, and :doc:`/guide/fits` how, including `scoring`
    and folds of `cv` on Nyström features.

    References
    ----------
    .. [1] L. Breiman (1996). Stacked regressions. Machine Learning 24.
    .. [2] R. F. Barber, E. J. Candes, A. Ramdas, R. J. Tibshirani (2021). Predictive inference with
       the jackknife+. Annals of Statistics 49.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import KernelStackingRegressor
    >>> X, y = make_friedman1(300, random_state=0)
    >>> model = KernelStackingRegressor().fit(X[:150], y[:150])
    >>> model.score(X[150:], y[150:]) > 0.9
    True
    >>> model.predict_interval(X[150:], coverage=0.9).shape
    (150, 2)
    """

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @with_callbacks
    def fit(
        self,
        X: Features,
        y: PerSample = None,
        sample_weight: PerSample = None,
        groups: PerSample = None,
    ) -> Self:
        """Compare the candidates, combine the best, and fit them to all samples.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or ParquetSource of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Responses.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples relative to each other. A sample of weight zero is left out.
            Leave-one-out predictions omit a sample with all of its weight. Weights must be None for
            a table that is not in memory, unless the fit is exact.
        groups : array-like of shape (n_samples,), default=None
            Groups that the samples belong to, such as patients or days, as numbers or strings.
            Samples of a group are left out together.

        Returns
        -------
        KernelStackingRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            If there are fewer than two samples or there is only one group. If X contains NaN or
            infinities and is not encoded, or y does. If a weight is negative. If `candidates` is
            empty or no candidate can be evaluated.
        """
        self._check_settings()
        data = self._training_rows(X, y, sample_weight, groups, multi_output=True, y_numeric=True)
        target = encode_target(data.y, classification=False, weights=data.weights)
        self._one_output = data.y.ndim == 1
        self._fit_stack(data, target, (X, y, groups))
        return self

    @on_device
    def predict(self, X: Features) -> Array:
        """Predict responses.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._for_rows(X, self._predicted)

    def _predicted(self, views: dict[ViewName, Features]) -> Array:
        decoded = self._target.decode(self._values(views))
        return decoded[:, 0] if self._one_output else decoded

    def _values(self, views: dict[ViewName, Features], near: Array | None = None) -> Array:
        """Return predictions in the target's encoding; `near` is the rows' closeness, if known."""
        deviations = self._combination.combine(self._deviations(views), np.zeros(1))
        near = self._fall_back.closeness(views) if near is None else near
        return np.asarray(self._fall_back.level + near * deviations)

    @on_device
    def predict_interval(
        self, X: Features, coverage: float = 0.9, scale: str | None = "auto"
    ) -> Array:
        """Predict intervals that contain the response with about a given probability.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        coverage : float, default=0.9
            Probability, between zero and one.
        scale : "auto" or None, default="auto"
            Whether widths depend on the sample through a learned scale of the residuals. "auto"
            learns a scale, and uses it if it clearly lowers the interval score of left-out samples,
            so that intervals are narrower or cover more evenly. With None, all intervals have
            nearly the same width.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper ends, infinite with fewer samples than coverage / (1 - coverage).

        Raises
        ------
        ValueError
            If the coverage is not between zero and one, or `scale` is neither "auto" nor None.

        Notes
        -----
        Intervals are computed from the residuals of `loo_predictions_` by the jackknife+, as
        :doc:`/guide/tables` describes. This takes a Cholesky factorization for each kernel, and
        O(n^2) time for each new sample. Fits to more than 500 samples hardly depend on any single
        sample, so that their intervals are centered at the prediction of the fit to all samples.

        The scale is a function of the features. Ridge regression on a Gaussian kernel fits it to
        the logarithms of the absolute residuals. Each residual is divided by the scale of its
        sample, learned without this sample, and multiplied by the scale of the new sample. The
        first call learns the scale from at most 1,000 samples and evaluates it on five folds, with
        the scale and the widths learned without the fold.

        If groups were given to `fit`, they are left out as a whole, and quantiles are taken over
        groups, so that intervals are valid for new groups. If samples are predicted from earlier
        samples, as with `TimeSeriesSplit`, only the residuals come from left-out fits; new samples
        are predicted by the fit to all samples.

        Beyond the largest distance of a training sample from its nearest neighbor, intervals widen
        with the square of the distance. At twice this distance, or at two widths of the kernel if
        these are larger, they are the intervals of the mean response.
        """
        check_coverage(coverage)
        check_choice("scale", scale, ("auto", None))
        check_is_fitted(self)
        scales: list[ResidualScale | None] = [None] * self._target.n_outputs
        if scale is not None:
            scales = self._residuals()[1].scales()
        intervals = partial(self._intervals, coverage=coverage, scales=scales)
        return self._for_rows(X, intervals, all_views=True)

    def _residuals(self) -> tuple[Array, HeldOutResiduals]:
        """Return the samples from whose left-out residuals scales are learned, and these."""
        found = self._left_out_result("predict_interval").scaled
        assert found is not None
        return found

    def _intervals(
        self,
        views: dict[ViewName, Features],
        coverage: float,
        scales: Sequence[ResidualScale | None],
    ) -> Array:
        """Return the intervals of all outputs."""
        squared = self._fall_back.squared_distances(views)
        near, sure = self._fall_back.closeness_at(squared), self._fall_back.sureness_at(squared)
        values, blocks = self._values(views, near), self._blocks(views, len(self._target))
        ends = list[Array]()
        for output, scale in enumerate(scales):
            rows = self._target.resampling.covered if scale is None else self._residuals()[0]
            errors = self._errors(output, rows, scale)
            sizes = np.ones(len(near)) if scale is None else scale.of(next(iter(views.values())))
            if len(self._target) > _JACKKNIFE_SAMPLES:
                widths = sizes * errors.quantiles(sure, coverage, blocks)
                ends.append(values[:, [output]] + np.outer(widths, [-1.0, 1.0]))
                continue
            without = self._without_each(output)
            bounds = [
                jackknife_plus(
                    without(views, near, block)[:, rows],
                    errors.relative(sure[block]) * sizes[block, None],
                    coverage,
                    errors.masses,
                )
                for block in blocks
            ]
            ends.append(np.concatenate(bounds))
        found = self._target.decode(np.stack(ends, axis=-1)).swapaxes(1, 2)
        return np.asarray(found[:, 0] if self._one_output else found)

    def _errors(self, output: int, rows: Array, scale: ResidualScale | None) -> _LeftOutErrors:
        """Return the left-out errors of some samples in one output, relative to their scale."""
        target = self._target
        means = target.left_out_means[rows, output]
        predicted = self._left_out_result("predict_interval").values[rows, output]
        return _LeftOutErrors(
            target.values[rows, output] - means,
            predicted - means,
            np.ones(len(rows)) if scale is None else scale.left_out,
            interval_masses(target.resampling.take(rows).groups, target.weights.take(rows)),
        )

    def _without_each(self, output: int) -> Callable[[Views, Array, slice], Array]:
        """Return a function that predicts new samples by fits without each training sample.

        It takes views of new samples, their closeness and a slice of them, and returns an array of
        shape (n_rows, n_samples).
        """
        target, means = self._target, self._target.left_out_means[:, output]
        changes = float(target.mean[output]) - means
        found = [
            m.left_out(self._training[m.view], target.resampling, output) for m in self._members
        ]

        def predict(views: Views, near: Array, rows: slice) -> Array:
            deviations = np.zeros((len(near[rows]), len(target)))
            for weight, member, without in zip(self.weights_, self._members, found, strict=True):
                deviations += weight * (without(views[member.view][rows]) + changes)
            return np.asarray(means + near[rows] * deviations)

        return predict

    def _expansion(self) -> KernelExpansion:
        return self._stack_expansion("response").decoded(self._target)

    def _left_out_residuals(self) -> Array:
        rows = self._target.resampling.covered
        residuals = self._target.values[rows] - self._left_out().values[rows]
        found = self._target.scale * residuals
        return found[:, 0] if self._one_output else found

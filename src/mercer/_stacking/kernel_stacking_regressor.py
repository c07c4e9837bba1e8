"""Stacked kernel ridge regression."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer._data.sample import EncodedTarget, encode_target
from mercer._kernel_estimator import with_callbacks
from mercer._model_selection.calibration import jackknife_plus
from mercer._stacking.candidates import ViewName
from mercer._stacking.combination import LinearCombination, linear_combination
from mercer._stacking.evaluation import Evaluation, Selection, ViewedSample
from mercer._stacking.kernel_stacking import KernelStacking
from mercer._typing import Array, Features
from mercer._validation import check_coverage


class KernelStackingRegressor(RegressorMixin, KernelStacking):
    """Kernel ridge regressions on several kernels, combined by their leave-one-out predictions.

    There is nothing to tune. The candidates are the Gaussian, the Laplacian and the product
    Laplacian kernel, each with its best width, on the scaled features and on their normal
    quantiles; a sum of these kernels, and a Gaussian kernel, with one width per feature each,
    learned by the marginal likelihood; and a Gaussian kernel on projections of the features,
    learned from average gradient outer products.

    Parameters
    ----------
    candidates : list of kernels or learners, default=None
        What is combined in place of the default: kernels, names of kernels, or kernel learners such
        as `GradientOuterProduct()`. They are evaluated on the features as they are given. One that
        fails on the table is left out with a warning.
    approximation : {"auto", "exact", "nystroem"}, default="auto"
        Whether the kernels that are kept are fitted to all samples exactly, or on Nyström features,
        in one pass over blocks of rows for each kernel. "auto" is exact up to 3,000 samples.
    n_components : int or "auto", default="auto"
        Number of centers of the Nyström features: 1,500, or 1,000 from 50,000 samples on.
    max_samples : int, default=1000
        Candidates are compared on at most this many samples. If the kernels that are kept are
        fitted on Nyström features, candidates are learned from twice as many others.
    random_state : int, RandomState instance or None, default=0
        Draws samples and centers, and divides samples into the parts that relevance is learned
        from and evaluated on.
    verbose : bool, default=False
        Whether to print a line after each step.

    Attributes
    ----------
    candidates_ : list of EvaluatedCandidate
        The candidates: `description`, `kernel`, `alpha`, `loo_error`, which is the mean squared
        leave-one-out error relative to that of the mean, and `weight`.
    kernels_ : list of Kernel
        The kernels that are kept.
    weights_ : ndarray of shape (n_kernels,)
        The weights of their deviations from the mean, between zero and one.
    loo_predictions_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Predictions of the training samples in which their own responses had no part: without the
        sample, with kernels, penalties and weights that were chosen without its fold.
    loo_score_ : float
        Coefficient of determination of these predictions, with the unbiased variance: an estimate
        of that on new samples, which are drawn as the training samples were.
    relevance_ : ndarray of shape (n_features_in_,)
        How strongly the kernels depend on each feature, with a sum of one.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where `X` has column names.

    See Also
    --------
    KernelStackingClassifier : The same for classes.
    mercer.preprocessing.table_encoder : Encodes tables of mixed types.

    Notes
    -----
    Features are scaled inside, so that their units do not matter: numbers robustly, with softly
    clipped tails; columns of two values become zeros and ones.

    A row that the table holds twice is predicted by its copy, so that leave-one-out errors are too
    low and kernels too narrow, as in cross-validation. Drop copies of rows before.

    Leave-one-out predictions of ridge regression are exact, from one eigendecomposition for each
    candidate. Kernels of learned relevance are learned anew without each half of the samples, and
    predict only samples that they were not learned from. The weights of the combination minimize
    the squared error of these predictions.

    For `loo_predictions_`, candidates are compared anew without each of five folds of the samples,
    fewer from 200 samples on, and two from 400 on. That takes about as long as
    the comparison on all samples, and up to four times as long for few.

    Predictions fall back to the mean response for samples that are farther from all training
    samples than any training sample is from its nearest neighbor.

    O(s^3) for the s samples that candidates are compared on. For each kernel that is kept, an exact
    fit takes O(n^3 / 3), and memory for some n x n matrices; one on m Nyström features
    O(n m^2 + m^3), and memory for some m x m matrices, whatever the number of rows.

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
    def fit(self, X: Features, y: Any = None, sample_weight: Any = None) -> Self:
        """Compare the candidates, combine them, and fit those that are kept.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or ParquetSource of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Responses.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples: how much each matters, relative to the others. A weight of zero
            leaves the sample out, and leave-one-out predictions leave it out with all of its
            weight. None for a table that is not in memory, unless the fit is exact.

        Returns
        -------
        KernelStackingRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            If there are fewer than two samples, if X or y holds NaN or infinities, if a weight is
            negative, or if `candidates` is empty or no candidate can be evaluated.
        """
        self._check_settings()
        checks = {"multi_output": True, "y_numeric": True}
        data = self._training_rows(X, y, sample_weight, **checks)
        target = encode_target(data.y, classification=False, weights=data.weights)
        self._target, self._one_output = target, data.y.ndim == 1
        self._loo_values = self._fit_stack(data, target, target.left_out_means)
        self.loo_predictions_ = self._decoded(self._loo_values)
        self.loo_score_ = _score(target, self._loo_values)
        return self

    def predict(self, X: Features) -> Array:
        """Predict responses.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        found: Array = self._for_rows(X, self._predicted)
        return found

    def _predicted(self, views: dict[ViewName, Features]) -> Array:
        deviations = self._combination.combine(self._deviations(views), np.zeros(1))
        return self._decoded(self._target.mean + self._closeness(views) * deviations)

    def predict_interval(self, X: Features, coverage: float = 0.9) -> Array:
        """Intervals that hold the response with about a given probability, as by the jackknife+.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        coverage : float, default=0.9
            Probability, between zero and one.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends. Infinite with fewer than coverage / (1 - coverage) training
            samples.

        Raises
        ------
        ValueError
            If the coverage is not between zero and one, or if there are several outputs.

        Notes
        -----
        Residuals are those of `loo_predictions_`. For new samples, the kernels and their weights
        are those of the whole fit, and ridge regressions are fitted without each training sample,
        in closed form, so that the theorem on the jackknife+ does not apply as it stands. One
        Cholesky factorization for each kernel.
        Fits on Nyström features hardly depend on one sample: theirs is the fit to all rows, and
        residuals are those of the fits without the sample's fold.

        Far from all training samples, where predictions fall back to the mean, the residuals are
        those of predictions that do so to the same degree: intervals widen.
        """
        check_coverage(coverage)
        check_is_fitted(self)
        if not self._one_output:
            raise ValueError("Prediction intervals are defined for a single output.")
        found: Array = self._for_rows(X, partial(self._interval, coverage=coverage))
        return found

    def _interval(self, views: dict[ViewName, Features], coverage: float) -> Array:
        targets, left_out = self._target.values[:, 0], self._loo_values[:, 0]
        means = self._target.left_out_means[:, 0]
        changes = float(self._target.mean[0]) - means
        drawn = self._target.weights.proportional_rows()
        without = [m.left_out(self._training[m.view]) for m in self._members]
        closeness = self._closeness(views)
        ends = []
        for rows in self._blocks(views, len(targets)):
            deviations = np.zeros((len(closeness[rows]), len(targets)))
            for weight, member, predict in zip(self.weights_, self._members, without, strict=True):
                deviations += weight * (predict(views[member.view][rows]) + changes)
            residuals = np.abs(targets - means - closeness[rows] * (left_out - means))
            predictions = means + closeness[rows] * deviations
            ends.append(jackknife_plus(predictions[:, drawn], residuals[:, drawn], coverage))
        offset, scale = float(self._target.offset[0]), float(self._target.scale[0])
        return np.asarray(offset + scale * np.concatenate(ends))

    def _decoded(self, values: Array) -> Array:
        decoded = self._target.decode(values)
        return decoded[:, 0] if self._one_output else decoded

    def _choose(self, found: list[Evaluation], table: ViewedSample) -> Selection:
        combination = self._combined([e.deviations for e in found], table.target)
        weights = combination.weights
        used = np.flatnonzero(weights > table.least_share * weights.sum())
        kept = [found[k] for k in used]
        return Selection(found, kept, LinearCombination(weights[used]), table.weights)

    def _combined(self, deviations: Sequence[Array], target: EncodedTarget) -> LinearCombination:
        return linear_combination(deviations, target.values - target.mean, target.weights)


def _score(target: EncodedTarget, predictions: Array) -> float:
    """Coefficient of determination of left-out predictions, by the unbiased variance.

    The variance about the mean of the same samples would be too low by the part that the mean
    takes, and new samples take none.
    """
    weights = target.weights
    part = float(np.sum(np.square(weights.values / weights.total)))
    plain = r2_score(target.values, predictions, sample_weight=weights.values)
    return float(1.0 - (1.0 - plain) * (1.0 - part))

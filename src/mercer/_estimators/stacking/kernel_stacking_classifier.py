"""Stacked classification on kernels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets

from mercer._data.classes import all_labels
from mercer._data.encoded_targets import encode_target
from mercer._data.labels import LabelSet, label_indicators, refuse_class_weight
from mercer._data.types import (
    Array,
    ClassWeight,
    Features,
    PerSample,
)
from mercer._estimators.fits import with_callbacks
from mercer._estimators.stacking.kernel_stacking import KernelStacking
from mercer._estimators.stacking.table_views import ViewName
from mercer._gram.devices import on_device
from mercer._gram.expansion import KernelExpansion, class_expansion
from mercer._model_selection.prediction_sets import HeldOutProbabilities, PredictionSetMixin

_N_RIDGE = 5
"""Number of ridge regressions that are combined, which are those of lowest error."""


@dataclass(eq=False, repr=False)
class KernelStackingClassifier(PredictionSetMixin, ClassifierMixin, KernelStacking):
    """Classifier for tables that combines several kernels, without settings to tune.

    The candidates are classifiers on different kernels. The best of them are kept, and a logistic
    model combines their predictions for left-out samples [1]_. By default, the candidates are ridge
    regressions of class indicators on

    * Laplacian and product Laplacian (exp(-|x - x'|_1 / s)) kernels with their best widths, on
      scaled features and on features mapped to normal quantiles; Gaussian kernels, too, if the
      kernels below are not learned because there are fewer than 40 rows or too many columns;
    * a Gaussian kernel and a sum of all three kernels, with one width per feature, learned by
      maximizing the marginal likelihood;
    * a Gaussian kernel on projections of the features, learned from the gradients of predictions.

    Exact fits add a support vector machine on the best kernel with a single width. For at least
    1,000 samples, scikit-learn's `HistGradientBoostingClassifier` is a member, too, by its
    out-of-fold predictions, and machines are tried only if classes hardly overlap.

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
        A scorer of scikit-learn or its name, such as "neg_log_loss" or "balanced_accuracy", by
        which candidates are ranked. None ranks them by the errors in `candidates_`. See Notes.
    random_state : int, RandomState instance or None, default=0
        Seed or generator that draws samples and centers, and divides samples into folds.
    verbose : bool, default=False
        Whether to print a line after each step.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where large matrices are computed: on the processor, or on a graphics card by PyTorch
        (``pip install "mercer[gpu]"``). "auto" uses a card if there is one. See :doc:`/machines`.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, by label, which multiplies the weights of its samples. "balanced"
        gives all classes the same total weight.

    Attributes
    ----------
    candidates_ : list of EvaluatedCandidate
        The candidates, with attributes `description`, `kernel`, `alpha`, `loo_error`, `weight` and
        `score` (None without `scoring`, and for estimators). The error of a ridge regression is the
        mean squared leave-one-out error of class indicators, divided by the error of predicting the
        class frequencies. The error of a support vector machine or another estimator is the
        fraction of samples that are misclassified out of fold. Estimators on the table have no
        kernel (None) and no penalty: `alpha` is NaN.
    encoder_ : transformer or None
        The transformer that was fitted to the given rows of positive weight. None if the table was
        used as it is.
    kernels_ : list of Kernel
        The kernels that are kept.
    weights_ : ndarray of shape (n_kernels,)
        How much each kernel changes the probabilities. The weights sum to one, or there are none if
        the probabilities are constant.
    loo_predictions_ : ndarray of shape (n_samples, n_classes)
        Probabilities of the classes for each training sample, predicted by fits without the sample,
        or its group. Kernels, penalties and their combination are chosen without its fold, but they
        are combined with the class frequencies of all samples, which contain the own label. The
        values are NaN for samples that no fold of `cv` holds out. Samples of weight zero are
        predicted by the fit to all samples, or omitted if not all rows are stored. See Notes for
        when the predictions are computed.
    loo_score_ : float
        Accuracy of `loo_predictions_`, or their score by `scoring`. It estimates the score on new
        samples.
    relevance_ : ndarray of shape (n_features_in_,)
        How strongly the kernels depend on each feature; if the table is encoded, on each of
        ``encoder_.get_feature_names_out()``. The values sum to one. They are NaN if the
        formula of a kernel of nonzero weight is unknown, and zero if the prediction is constant.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if `X` has column names.

    See Also
    --------
    KernelStackingRegressor : Stacking for regression.
    mercer.preprocessing.table_encoder : Encodes tables of mixed types.

    Notes
    -----
    Features are scaled internally, and rows that are copies of one another are left out together.
    Columns of sparse tables are only divided by standard deviations, unlike those of dense copies.
    Exact fits compute left-out scores and prediction sets when they are first read (also by
    `hasattr`), or before `mercer.save`. Far from all training samples, the predicted probabilities
    are the class frequencies. A fit takes O(s^3) time for the s samples on which candidates are
    compared, and O(n^3 / 3), or O(n m^2 + m^3) on m Nyström features, for each kernel that is kept.
    The page :doc:`/guide/tables` describes what is combined, and :doc:`/guide/fits` how, including
    `scoring` and folds of `cv` on Nyström features.

    References
    ----------
    .. [1] D. H. Wolpert (1992). Stacked generalization. Neural Networks 5.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelStackingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelStackingClassifier().fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    class_weight: ClassWeight = field(default=None, kw_only=True)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
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
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Class labels, or indicators of several labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples relative to each other. A sample of weight zero is left out.
            Leave-one-out predictions omit a sample with all of its weight. Weights must be None for
            a table that is not in memory, unless the fit is exact.
        groups : array-like of shape (n_samples,), default=None
            Groups that the samples belong to, such as patients or days, as numbers or strings.
            Samples of a group are left out together.

        Returns
        -------
        KernelStackingClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If there is only one class or group, if X contains NaN or infinities and is not encoded,
            or if `candidates` is empty or no candidate can be evaluated.
        """
        self._check_settings()
        labels = None if y is None else label_indicators(y)
        self._is_multilabel = labels is not None
        if labels is not None:
            refuse_class_weight(self.class_weight)
            if self.scoring is not None:
                raise ValueError("scoring has no effect if samples have several labels.")
        y = y if labels is None else labels
        data = self._training_rows(X, y, sample_weight, groups, multi_output=self._is_multilabel)
        check_classification_targets(data.y)
        target = encode_target(data.y, classification=True, weights=data.weights)
        if labels is not None:
            LabelSet.of(data.y)
            self._set_classes(*[np.arange(labels.shape[1])] * 2)
        else:
            assert target.classes is not None
            self._set_classes(all_labels(data), target.classes)
            if len(target.classes) < 2:
                raise ValueError("The number of classes has to be greater than one; got 1 class")
        self._fit_stack(data, target, (X, y, groups))
        self._target = self._target.take(np.arange(0))
        return self

    @property
    def _held_out(self) -> HeldOutProbabilities:  # type: ignore[override]
        """Held-out probabilities of one label per sample, for prediction sets."""
        if (found := self._left_out_result("_held_out").held_out) is None:
            raise AttributeError("Prediction sets are of one label.")
        return found

    def _check_updates(self) -> None:
        if self._is_multilabel:
            raise TypeError("A stack of several labels cannot be updated: fit it again.")
        super()._check_updates()

    @on_device
    def predict_proba(self, X: Features) -> Array:
        """Predict the probabilities of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            For several labels, the probability of each label.
        """
        return self._for_rows(X, lambda views: self._probabilities(self._probabilities_of(views)))

    def _probabilities_of(self, views: dict[ViewName, Features]) -> Array:
        deviations, frequencies = self._deviations(views), self._fall_back.level
        n_rows = next(iter(views.values())).shape[0]
        means = np.broadcast_to(frequencies, (n_rows, len(frequencies)))
        probabilities = self._combination.combine(deviations, means)
        closeness = self._fall_back.closeness(views)
        return np.asarray(closeness * probabilities + (1.0 - closeness) * frequencies)

    @on_device
    def predict(self, X: Features) -> Array:
        """Predict class labels.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Class labels, or indicators of several labels.
        """
        return self._for_rows(X, self._labels_of)

    def _expansion(self) -> KernelExpansion:
        if self._is_multilabel:
            found = self._stack_expansion("log-odds")
            return replace(found, outputs=tuple(map(str, self.classes_)))
        return class_expansion(self._stack_expansion("logit"), self._fitted_classes)

    def _labels_of(self, views: dict[ViewName, Features]) -> Array:
        probabilities = self._probabilities_of(views)
        if self._is_multilabel:
            return (probabilities > 0.5).astype(int)
        return np.asarray(self._fitted_classes[probabilities.argmax(axis=1)])

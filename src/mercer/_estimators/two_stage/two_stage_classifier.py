"""A support vector machine on a learned kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._blocks.own_encoders import OwnEncoder, on_numbers
from mercer._data.classes import all_labels
from mercer._data.cross_validation import folds_of_classes
from mercer._data.types import (
    Array,
    ClassWeight,
    CrossValidator,
    Features,
    Penalties,
    PerSample,
    RandomState,
    Scoring,
    Table,
)
from mercer._data.weights import with_class_weights
from mercer._estimators.fits import with_callbacks
from mercer._estimators.two_stage.exact_stages import (
    ExactStage,
    MachineStage,
    SecondStage,
)
from mercer._estimators.two_stage.feature_stage import FeatureStage
from mercer._estimators.two_stage.kernel_choice import CandidateKernel
from mercer._estimators.two_stage.two_stage import FirstStage, TwoStage
from mercer._gram.devices import on_device
from mercer._model_selection.prediction_sets import HeldOutProbabilities, PredictionSetMixin
from mercer._search.targets import Target, output_kernel_of_part
from mercer._solvers.grids import as_grid
from mercer._solvers.svm import FIRST_TRIED


@dataclass(eq=False, repr=False)
class TwoStageClassifier(PredictionSetMixin, ClassifierMixin, TwoStage):
    """Support vector classifier that first learns its kernel from the data.

    The first stage learns a kernel from features and labels. The second stage fits a support vector
    machine to the Gram matrix of this kernel and chooses C by cross-validation.

    Parameters
    ----------
    learner : estimator, "auto" or None, default=None
        A kernel learner, such as `ContinuousAlignment()`. None chooses one kernel with a single
        width, a Gaussian or a product Laplacian, by leave-one-out errors (see Notes). "auto" also
        tries kernels that weight features differently, by one width per feature or by projections
        of the features.
    C : "auto", float or sequence of float, default="auto"
        Penalty on margin violations, for a kernel at unit scale (see Notes). "auto" compares five
        values from 1/2 to 128 by cross-validation, and further values if the best one is at an end.
        A sequence lists the values to try. If several values are equally good, the smallest is
        chosen. A number is used as it is.
    cv : int, cross-validation generator, iterable or None, default=None
        Folds in which C is searched and probabilities are calibrated, and by which the kernel is
        chosen unless a learner is given. A number stands for that many folds, which are stratified
        and shuffled with a fixed seed. A splitter, or pairs of training and held-out indices, can
        be given instead. Samples that several folds hold out count in each of them. None stands for
        five folds, and for leave-one-out errors in the choice of the kernel. Kernels with more than
        10 learned parameters, such as kernels with one width per feature, are learned again in each
        fold, because otherwise labels of the held-out samples would leak into them; those of
        `EvidenceMaximization` also with fewer than 200 samples for each parameter beyond two. For
        other kernels, all folds use the same Gram matrix. An error is raised on Nyström features,
        or if `cv` would have no effect.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn or its name, such as "neg_log_loss" or "roc_auc". It replaces the
        accuracy in the choice of C and of the kernel, and is applied to held-out probabilities (see
        Notes). An error is raised if the scorer would have no effect.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, by label, which multiplies the weights of its samples. "balanced"
        gives all classes the same total weight.
    encoder : "auto", transformer or None, default="auto"
        How a table is turned into numbers. "auto" passes data frames that have columns of text,
        categories, dates, booleans or missing values through
        :func:`~mercer.preprocessing.table_encoder`, which needs ``pip install "mercer[tables]"``.
        Other tables are used as they are: arrays, sparse matrices, sources, frames of finite
        numbers, frames with missing numbers if the learner accepts them, and frames whose columns
        are named by an `OnColumns` kernel. A transformer is fitted to any table in memory. With
        None, no table is encoded.
    approximation : {"auto", "exact", "nystroem"}, default="auto"
        Whether the second stage is fitted to all samples exactly, or approximately on Nyström
        features: kernel values at a limited number of centers, in one pass over blocks of rows. On
        Nyström features, the kernel is learned from 3,000 samples. "auto" is exact for up to 3,000
        samples, and with precomputed kernels.
    n_components : int or "auto", default="auto"
        Number of centers of the Nyström features. "auto" takes all samples if their kernel values
        in single precision fit in scikit-learn's `working_memory` (16,384 samples in 1 GB) or, for
        up to 20,000 samples, or up to 40,000 if the default learner finds little noise, in a
        quarter of the available memory. Otherwise, it takes 1,500, or 1,000 for more than 50,000
        samples.
    random_state : int, RandomState instance or None, default=0
        Seed or generator that draws the centers, and the samples from which the kernel is learned.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where large matrices are computed: on the processor, or on a graphics card by PyTorch
        (``pip install "mercer[gpu]"``). "auto" uses a card if there is one. See :doc:`/machines`.

    Attributes
    ----------
    encoder_ : transformer or None
        The transformer that was fitted to the given rows of positive weight. None if the table was
        used as it is.
    learner_ : estimator
        The fitted learner.
    kernel_ : Kernel
        The learned kernel.
    candidates_ : list of CandidateKernel
        With ``learner=None``, the candidate kernels in ascending order of their errors, with
        `description`, `kernel`, `loo_error` and `alpha`. On a large table, the width of the
        selected kernel is adapted to all rows, but its error belongs to the original width.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the learned kernel.
    alignment_ : float
        Centered alignment of the learned kernel with the labels of the training set.
    history_ : list of Step
        Progress of the learner.
    n_iter_ : int
        Number of steps of the learner.
    C_ : float
        The penalty that was used.
    cv_results_ : dict of str to ndarray
        Accuracy, or value of `scoring`, for each C and fold, if C was searched or `scoring` is
        given. If a value of C was dropped after some folds (see Notes), its mean and its entries
        for the remaining folds are NaN.
    cv_correct_ : ndarray of bool of shape (n_held_out,)
        Whether the machine with the selected C predicts each held-out sample correctly, fold by
        fold. Available in the same cases as `cv_results_`.
    predictor_ : estimator
        The second stage, fitted to the learned Gram matrix.
    temperature_ : Calibration
        The map from decision values to probabilities.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    See Also
    --------
    TwoStageRegressor : Kernel ridge regression on a learned kernel.
    sklearn.multioutput.MultiOutputClassifier : A classifier, with its own kernel, for each of
        several labels.

    Notes
    -----
    ``learner=None`` compares the Gaussian kernel and the product Laplacian, exp(-|x - x'|_1 / s),
    each with the width that has the lowest leave-one-out error in ridge regression. Learned kernels
    are at unit scale, which means that the centered training Gram matrix has a mean diagonal of
    one, so that one grid of C suits every kernel. Probabilities are the softmax of the decision
    values times a factor that is fitted to held-out samples [3]_. On m Nyström features, the second
    stage is ridge regression on class indicators, which takes O(n m^2 + m^3) time.
    :doc:`/guide/fits` describes how ``C="auto"``, ``learner="auto"`` and `scoring` make their
    choices.

    References
    ----------
    .. [1] C. Cortes, M. Mohri, A. Rostamizadeh (2010). Two-stage learning kernel algorithms. ICML.
    .. [2] A. Afkanpour, C. Szepesvari, M. Bowling (2013). Alignment based kernel learning with a
       continuous set of base kernels. Machine Learning 91, section 3.
    .. [3] C. Guo, G. Pleiss, Y. Sun, K. Weinberger (2017). On calibration of modern neural
       networks. ICML, section 4.2.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mercer import TwoStageClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    >>> model = make_pipeline(StandardScaler(), TwoStageClassifier()).fit(X, y)
    >>> model.score(X_test, y_test) > 0.95
    True
    """

    _task: ClassVar[Literal["classification", "regression"]] = "classification"
    _penalty = "C"
    _compares_machines = True
    _conditions: ClassVar[dict[str, str]] = {
        "C_": "the fit is exact",
        "alpha_": "the fit is on Nyström features (approximation='nystroem')",
        "candidates_": "learner=None chooses the kernel",
        "cv_results_": "C is searched (C='auto', or a sequence), or a scorer is given as scoring",
        "cv_correct_": "C is searched (C='auto', or a sequence) in an exact fit",
        "temperature_": "the fit is exact, and two samples of some class were held out",
    }

    learner: BaseEstimator | str | None = None
    _: KW_ONLY
    C: Penalties = "auto"
    cv: CrossValidator = None
    scoring: Scoring = None
    class_weight: ClassWeight = None
    encoder: OwnEncoder = "auto"
    approximation: str = "auto"
    n_components: int | str = "auto"
    random_state: RandomState = 0
    device: str = "cpu"

    @with_callbacks
    def fit(
        self,
        X: Features,
        y: PerSample = None,
        sample_weight: PerSample = None,
        groups: PerSample = None,
    ) -> Self:
        """Learn the kernel, choose C and fit the support vector machine.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or ParquetSource of shape (n_samples, n_features)
            For a learner of precomputed kernels, a stack of shape (n_samples, n_samples,
            n_kernels).
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples. A weight of zero leaves the sample out. Weights multiply C, and
            enter the accuracies by which C is chosen. On Nyström features, they multiply squared
            errors. They must be None for a table that is not in memory, unless the fit is exact.
        groups : array-like of shape (n_samples,), default=None
            Groups of the samples, such as patients or days, as numbers or strings. Samples of a
            group are held out together. If neither `groups` nor `cv` is given, copies of a row are
            held out together.

        Returns
        -------
        TwoStageClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If `y` contains a single class or is continuous, a setting is out of its range, or the
            learner does not accept `X`.
        """
        return self._fit_stages(X, y, sample_weight, groups)

    def _exact_stage(
        self, X: Table, y: PerSample, sample_weight: PerSample, groups: PerSample
    ) -> ExactStage:
        as_grid("C", self.C, FIRST_TRIED)
        y = validate_data(on_numbers(self), y=y)
        check_classification_targets(y)
        weights = with_class_weights(sample_weight, self.class_weight, y)
        given, sample = self._samples(X, y, weights, groups)
        classes, codes = np.unique(sample.y, return_inverse=True)
        self._set_classes(all_labels(sample), classes)
        if len(classes) < 2:
            raise ValueError("The number of classes has to be greater than one; got 1 class")
        score = not isinstance(self.C, Real) or self.scoring is not None
        splits = folds_of_classes(self.cv, sample, given, codes, score=score)
        settings = self.C, classes, self.scoring
        return MachineStage(sample, self._task, splits, *settings)

    def _feature_stage(
        self, X: Table, y: PerSample, sample_weight: PerSample, groups: PerSample
    ) -> FeatureStage:
        found = super()._feature_stage(X, y, sample_weight, groups)
        self._set_classes(all_labels(found.sample), np.asarray(found.target.classes))
        return found

    def _store(self, found: SecondStage, candidates: Sequence[CandidateKernel]) -> Self:
        super()._store(found, candidates)
        if isinstance(held_out := found.held_out.given, HeldOutProbabilities):
            self._held_out = held_out.of_all(self._seen)
        return self

    def _first_stages(
        self, stage: ExactStage | FeatureStage
    ) -> tuple[list[FirstStage], list[CandidateKernel], Target | None]:
        """Return kernels or learners to compare; see :meth:`TwoStage._first_stages`."""
        firsts, candidates, target = super()._first_stages(stage)
        return [self._of_fitted_classes(first) for first in firsts], candidates, target

    def _of_fitted_classes(self, learner: FirstStage) -> FirstStage:
        """Return a learner whose similarities of classes are those of the fitted classes."""
        if isinstance(learner, CandidateKernel) or self._seen is None:
            return learner
        if "output_kernel" not in learner.get_params(deep=False):
            return learner
        classes = self.classes_, self._fitted_classes
        among = output_kernel_of_part(learner.output_kernel, *classes)
        return clone(learner).set_params(output_kernel=among)

    @on_device
    def decision_function(self, X: Features) -> Array:
        """Return the decision values of the second stage.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            For a learner of precomputed kernels, a stack, as in `predict`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, a positive value predicts ``classes_[1]``.
        """
        return self._decision_values(self._second_stage(X, "decision_function"))

    @on_device
    def predict_proba(self, X: Features) -> Array:
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            For a learner of precomputed kernels, a stack, as in `predict`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of `classes_`.

        Raises
        ------
        ValueError
            If no class had two training samples.
        """
        check_is_fitted(self)
        if not isinstance(self.predictor_, Pipeline):
            return self._probabilities(self._second_stage(X, "predict_proba"))
        values = self._second_stage(X, "decision_function")
        if values.ndim == 1:
            values = np.column_stack([-values, values])
        if not hasattr(self, "temperature_"):
            raise ValueError("There are no probabilities: no class had two training samples.")
        return self._probabilities(self.temperature_.probabilities(values))

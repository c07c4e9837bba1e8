"""Kernel ridge regression on a learned kernel."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._blocks.own_encoders import OwnEncoder, encoded, on_numbers
from mercer._data.cross_validation import folds_of
from mercer._data.types import (
    Array,
    CrossValidator,
    Features,
    Penalties,
    PerSample,
    RandomState,
    Scoring,
    Table,
)
from mercer._data.validation import check_choice, check_coverage, check_target_values
from mercer._estimators.fits import with_callbacks
from mercer._estimators.kernel_estimator import new_samples
from mercer._estimators.two_stage.exact_stages import (
    ExactStage,
    LeftOutChoice,
    RidgeStage,
)
from mercer._estimators.two_stage.two_stage import TwoStage
from mercer._gram.devices import on_device
from mercer._model_selection.intervals import residual_intervals
from mercer._solvers.grids import as_grid
from mercer._solvers.left_out import ALPHA_GRID


@dataclass(eq=False, repr=False)
class TwoStageRegressor(RegressorMixin, TwoStage):
    """Kernel ridge regression that first learns its kernel from the data.

    The first stage learns a kernel from features and responses. The second stage fits kernel ridge
    regression with an intercept to the Gram matrix of this kernel, and chooses the penalty alpha by
    leave-one-out errors.

    Parameters
    ----------
    learner : estimator, "auto" or None, default=None
        A kernel learner, such as `ContinuousAlignment()`. None chooses one kernel with a single
        width, a Gaussian or a product Laplacian, by leave-one-out errors (see Notes). "auto" also
        tries kernels that weight features differently, by one width per feature or by projections
        of the features.
    alpha : "auto", float or sequence of float, default="auto"
        Penalty of the ridge regression, for a kernel at unit scale (see Notes). "auto" tries values
        from 1e-6 to 1e5, in steps of half a power of ten. If alpha is chosen by leave-one-out
        errors, further values are tried if the best one is at an end. With more than 2,000 samples,
        the search starts at the best value for 1,000 of them, and continues while the error falls.
        Without a learner and a scorer, the value with which the kernels were compared is taken, or
        with more than 600 samples, the search starts there.
        A sequence lists the values to try. If several values are equally good, the largest is
        chosen. A number is used as it is.
    cv : int, cross-validation generator, iterable or None, default=None
        Folds by which alpha is chosen, and also the kernel unless a learner is given. A number
        stands for that many folds, which are shuffled with a fixed seed. A splitter, or pairs of
        training and held-out indices, can be given instead. Samples that several folds hold out
        count in each of them. None stands for exact leave-one-out errors of samples or groups, and
        for five folds if the kernel is learned again in each fold. Kernels with more than 10
        learned parameters, such as kernels with one width per feature, are learned again, because
        otherwise responses of the held-out samples would leak into them; those of
        `EvidenceMaximization` also with fewer than 200 samples for each parameter beyond two. An
        error is raised on Nyström features, or if `cv` would have no effect.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn or its name, such as "neg_mean_absolute_error". It replaces the
        squared error in the choice of alpha and of the kernel, and is applied to predictions of
        held-out samples (see Notes). An error is raised if the scorer would have no effect.
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
        Centered alignment of the learned kernel with the responses of the training set.
    history_ : list of Step
        Progress of the learner.
    n_iter_ : int
        Number of steps of the learner.
    alpha_ : float
        The penalty that was used.
    cv_results_ : dict of str to ndarray
        Fraction of variance explained, or value of `scoring`, for each alpha, if alpha was searched
        or `scoring` is given. There is one value for each fold, or one for all samples if they are
        left out one at a time.
    cv_residuals_ : ndarray of shape (n_held_out,) or (n_held_out, n_outputs)
        Residuals of samples that were held out of fits with `alpha_`, from which `predict_interval`
        starts. All samples are held out, one at a time or fold by fold, or up to 5,000 samples on
        Nyström features. Available in the same cases as `cv_results_`.
    predictor_ : object
        The fitted second stage. Its `predict` takes the learned kernel between new samples and the
        training set. In kernel ridge regression, it stores only coefficients.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    See Also
    --------
    TwoStageClassifier : A support vector machine on a learned kernel.

    Notes
    -----
    ``learner=None`` compares the Gaussian kernel and the product Laplacian, exp(-|x - x'|_1 / s),
    each with the width that has the lowest leave-one-out error. Learned kernels are at unit scale,
    which means that the centered training Gram matrix has a mean diagonal of one, so that one grid
    of alpha suits every kernel. The leave-one-out residuals of a given learner for all values of
    alpha are computed from one eigendecomposition. A fit takes O(n^3) time, or O(n m^2 + m^3) on m
    Nyström features. On Nyström features, alpha is chosen in five folds, and `cv` is not allowed.
    :doc:`/guide/fits` describes how ``learner="auto"`` and `scoring` make their choices.

    References
    ----------
    .. [1] C. Cortes, M. Mohri, A. Rostamizadeh (2010). Two-stage learning kernel algorithms. ICML.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import TwoStageRegressor
    >>> X, y = make_friedman1(200, random_state=0)
    >>> model = TwoStageRegressor().fit(X[:100], y[:100])
    >>> model.score(X[100:], y[100:]) > 0.7
    True
    >>> model.predict_interval(X[100:], coverage=0.9).shape
    (100, 2)
    """

    _task = "regression"
    _penalty = "alpha"
    _target_checks: ClassVar[dict[str, Any]] = {"multi_output": True, "y_numeric": True}
    _conditions: ClassVar[dict[str, str]] = {
        "candidates_": "learner=None chooses the kernel",
        "cv_results_": "alpha is searched (alpha='auto', or a sequence), or a scorer is given as "
        "scoring",
        "cv_residuals_": "alpha is searched (alpha='auto', or a sequence), or a scorer is given as "
        "scoring",
    }

    learner: BaseEstimator | str | None = None
    _: KW_ONLY
    alpha: Penalties = "auto"
    cv: CrossValidator = None
    scoring: Scoring = None
    encoder: OwnEncoder = "auto"
    approximation: str = "auto"
    n_components: int | str = "auto"
    random_state: RandomState = 0
    device: str = "cpu"

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
        """Learn the kernel, choose alpha and fit the ridge regression.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or ParquetSource of shape (n_samples, n_features)
            For a learner of precomputed kernels, a stack of shape (n_samples, n_samples,
            n_kernels).
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Responses.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, by which their squared errors are multiplied. A weight of zero
            leaves the sample out. For leave-one-out errors, a sample is left out with all of its
            weight. They must be None for a table that is not in memory, unless the fit is exact.
        groups : array-like of shape (n_samples,), default=None
            Groups of the samples, such as patients or days, as numbers or strings. Samples of a
            group are left out together. If neither `groups` nor `cv` is given, copies of a row are
            left out together.

        Returns
        -------
        TwoStageRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            If a setting is out of its range, or a weight is negative. If the learner does not
            accept `X` or `y`. If the learned kernel is not positive semi-definite.
        """
        return self._fit_stages(X, y, sample_weight, groups)

    def _exact_stage(
        self, X: Table, y: PerSample, sample_weight: PerSample, groups: PerSample
    ) -> ExactStage:
        as_grid("alpha", self.alpha, ALPHA_GRID)
        check_target_values(y, self)
        y = validate_data(on_numbers(self), y=y, **self._target_checks).astype(float, copy=False)
        given, sample = self._samples(X, y, sample_weight, groups)
        splits = [] if self.cv is None else folds_of(self.cv, sample, given)
        return RidgeStage(
            sample,
            self._task,
            splits,
            self.alpha,
            self.scoring,
            chooses_kernel=self.learner is None,
        )

    @on_device
    def predict_interval(
        self, X: Features, coverage: float = 0.9, scale: str | None = "auto"
    ) -> Array:
        """Predict intervals that contain the response with a given probability.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            For a learner of precomputed kernels, a stack, as in `predict`.
        coverage : float, default=0.9
            Probability, between zero and one.
        scale : "auto" or None, default="auto"
            Whether the width of the interval may depend on the sample, through a learned scale of
            the residuals. "auto" learns a scale for each output, and uses it if it clearly lowers
            the interval score on held-out samples. With None, all intervals have the same width.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper ends, at equal distances from the prediction. They are infinite if there
            are fewer than coverage / (1 - coverage) training samples, or groups.

        Raises
        ------
        ValueError
            If the coverage is not between zero and one, `scale` is neither "auto" nor None, or
            `alpha` was given as a number, since only a search for alpha computes the residuals.

        Notes
        -----
        Half the width of an interval is a quantile of the absolute residuals of held-out samples
        [1]_, or a quantile over groups if groups were given to `fit`. Without a scale, it is the
        same for all samples. With the default `learner`, `cv` and `scoring`, and 4 to 1,000
        samples, the residuals are not `cv_residuals_`. Instead, the first call chooses the kernel
        and alpha again without each of five folds of the samples (or fewer folds for more than 200
        samples). Other kernels are independent of the held-out samples only if they are learned in
        folds (see `cv`), and alpha is chosen by the residuals of these samples.

        Intervals for a coverage of .9 cover less if there are few samples and the responses are
        noise: .83 with the defaults and 9 samples, .86 with 10, and .88 with 12 to 20. With 30
        samples and another `learner`, `cv` or `scoring`, they cover .87 to .90.

        The scale is a function of the features, as in `KernelStackingRegressor`. Each residual is
        divided by a scale that is learned without its sample, and the quantile is multiplied by the
        scale of the new sample. The scale is learned from at most 1,000 held-out samples, in the
        first call. Samples of precomputed kernels have no features, and therefore no scale.

        References
        ----------
        .. [1] R. F. Barber, E. J. Candes, A. Ramdas, R. J. Tibshirani (2021). Predictive inference
           with the jackknife+. Annals of Statistics 49, section 1.1, on the jackknife.
        """
        check_coverage(coverage)
        if scale is not None:
            check_choice("scale", scale, ("auto",))
        check_is_fitted(self)
        if not hasattr(self, "cv_residuals_"):
            raise ValueError(
                "Intervals need residuals of held-out samples, which only a search for alpha "
                f"computes: fit with alpha='auto', or alpha=[{self.alpha!r}] for this value alone."
            )

        held_out, residuals = self._held_out, self.cv_residuals_
        masses = getattr(self, "_residual_masses", None)
        if isinstance(held_out, LeftOutChoice):
            held_out = held_out.held_out
            masses = held_out.masses
            residuals = held_out.residuals[:, 0] if residuals.ndim == 1 else held_out.residuals
        scales = [] if scale is None else held_out.scales()
        features: Features = None
        known = self
        if not self._is_approximate() and getattr(self.learner_, "X_fit_", None) is not None:
            known, X = on_numbers(self), encoded(self, X)
            features = new_samples(known._learner_for(X), X)

        def intervals(rows: Features) -> Array:
            predicted = np.asarray(self.predictor_.predict(rows))
            found = residual_intervals(predicted, residuals, coverage, masses)
            table = rows if self._is_approximate() else features
            return np.asarray(held_out.rescaled(found, predicted, table, scales, coverage))

        return known._for_rows(X, intervals)

"""Kernel ridge regression on a learned kernel."""

from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin, is_regressor
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._data.cross_validation import folds_of
from mercer._data.sample import Sample
from mercer._fits import with_callbacks
from mercer._gram.dense import unit_gram
from mercer._gram.tiles import check_gram_memory
from mercer._kernel_estimator import new_samples
from mercer._model_selection.intervals import residual_intervals
from mercer._nystroem.row_sums import joined
from mercer._solvers.grids import as_grid
from mercer._solvers.left_out import ALPHA_GRID
from mercer._solvers.ridge import fit_ridge
from mercer._two_stage.ridge_stage import LeftOutChoice, RidgeStage
from mercer._two_stage.second_stages import ExactStage, GivenStage
from mercer._two_stage.two_stage import TwoStage
from mercer._typing import Array, Features, available_if
from mercer._validation import check_choice, check_coverage, check_target_values


@dataclass(eq=False, repr=False)
class TwoStageRegressor(RegressorMixin, TwoStage):
    """Kernel ridge regression, with an intercept, on a learned kernel.

    Parameters
    ----------
    learner : estimator, "auto" or None, default=None
        A kernel learner, such as `ContinuousAlignment()`. None chooses one isotropic kernel, a
        Gaussian or a product Laplacian and its width, by what it predicts for samples left out one
        at a time (see Notes). "auto" compares isotropic kernels with kernels that tell features
        apart: of one width per feature, or on projections.
    predictor : estimator, default=None
        A regressor of precomputed kernels to use in place of kernel ridge regression, such as
        ``SVR(kernel="precomputed")``. It is fitted to the Gram matrix as it is; `alpha` and
        ``nested=True`` are then refused, and `cv` with a given learner.
    alpha : "auto", float or sequence of float, default="auto"
        Penalty, for a kernel of unit scale (see Notes). "auto" tries `ALPHA_GRID`. By leave-one-out
        errors it also tries values beyond its ends where the best is at one, and of more than 2,000
        samples, it starts at the best value of 1,000 of them and tries values while the error
        falls. A sequence tries its values. Of equal ones the largest is taken. A number is used as
        it is.
    cv : int, cross-validation generator, iterable or None, default=None
        Folds whose held-out samples choose alpha, and the kernel unless a learner is given: a
        number of them, shuffled with a fixed seed, a splitter, or pairs of training and held-out
        samples; what several folds hold out counts in each. None for exact leave-one-out errors, of
        samples or groups, and for five folds where kernels are learned inside them. Refused where
        it would choose nothing, and on Nyström features.
    scoring : str, callable or None, default=None
        A name or a scorer of scikit-learn, such as "neg_mean_absolute_error", which chooses alpha
        and the kernel by left-out predictions in place of the squared error (see Notes). Refused
        where it would choose nothing, and with a `predictor`.
    nested : "auto" or bool, default="auto"
        Whether to learn the kernel anew inside each fold. "auto" does so for kernels of more than
        10 learned parameters, such as ARD kernels, because responses of the held-out samples leak
        into them.
    approximation : {"auto", "exact", "nystroem"}, default="auto"
        Whether the second stage is fitted to all samples exactly, or on Nyström features, in one
        pass over blocks of rows. "auto" is exact up to 3,000 samples, and with `predictor` or
        precomputed kernels.
    n_components : int or "auto", default="auto"
        Number of centers: all samples if their kernel values fit scikit-learn's `working_memory` in
        single precision (16,384 in 1 GB), or up to 20,000 a quarter of the available memory; then
        1,500, or 1,000 from 50,000 on, unless all pairs of as many, or up to 40,000, err less.
    max_samples : int, default=3000
        The kernel is learned from at most this many samples, where the second stage is not exact.
    random_state : int, RandomState instance or None, default=0
        Draws these samples and the centers.
    n_jobs : int, default=None
        Folds tried at the same time, in threads.
    verbose : bool, default=False
        Whether to print a line after each stage.

    Attributes
    ----------
    learner_ : estimator
        The fitted learner.
    kernel_ : Kernel
        The learned kernel.
    candidates_ : list of EvaluatedLearner
        With ``learner=None``: `description`, `learner`, `loo_error` and `alpha` of the kernels that
        were compared, the lowest error first. On a large table, the one that is used has the width
        that suits all rows, and the error of the width that was learned.
    weights_ : ndarray of shape (n_kernels,)
        Its coefficients.
    alignment_ : float
        Centered alignment of the learned kernel with the responses of the training set.
    history_ : list of Step
        The learner's progress.
    n_iter_ : int
        The learner's number of steps.
    alpha_ : float
        The penalty used.
    cv_results_ : dict of str to ndarray
        Explained part of the variance, or value of `scoring`, for each alpha, where alpha was
        searched or there is a scorer: over all samples left out one at a time, or for each fold.
    cv_residuals_ : ndarray of shape (n_held_out,) or (n_held_out, n_outputs)
        In the same case, residuals of samples that were held out of fits with `alpha_`: of all
        samples, one at a time or fold by fold. On Nyström features, those of up to 5,000 samples.
        See `predict_interval`.
    predictor_ : object
        The fitted second stage: `predict` takes the learned kernel between new samples and the
        training set. Of kernel ridge regression, it holds coefficients only.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where `X` has column names.

    See Also
    --------
    TwoStageClassifier : A support vector machine on a learned kernel.

    Notes
    -----
    ``learner=None`` compares the Gaussian kernel and the product Laplacian, exp(-|x - x'|_1 / s),
    each with the width of the lowest left-out error. Learned kernels are of unit scale, so that one
    grid of alpha serves every kernel, and the leave-one-out residuals of all alphas come from one
    eigendecomposition. O(n^3), or O(n m^2 + m^3) on m Nyström features, where five folds choose
    alpha, and `cv` and ``nested=True`` are refused. :doc:`/guide/fits` says how ``learner="auto"``
    and `scoring` choose.

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
    _fits_task = staticmethod(is_regressor)
    _penalty = "alpha"
    _target_checks: ClassVar[dict[str, Any]] = {"multi_output": True, "y_numeric": True}

    learner: Any = None
    _: KW_ONLY
    predictor: Any = None
    alpha: Any = "auto"
    cv: Any = None
    scoring: Any = None
    nested: bool | str = "auto"
    approximation: str = "auto"
    n_components: int | str = "auto"
    max_samples: int = 3000
    random_state: Any = 0
    n_jobs: int | None = None
    verbose: bool = False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = (
            not hasattr(self.predictor, "__sklearn_tags__")
            or isinstance(self.predictor, type)
            or get_tags(self.predictor).target_tags.multi_output
        )
        return tags

    @with_callbacks
    def fit(
        self, X: Features, y: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> Self:
        """Learn the kernel, choose alpha and fit the ridge regression.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or ParquetSource of shape (n_samples, n_features)
            For a learner of precomputed kernels, the stack of shape (n_samples, n_samples,
            n_kernels).
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Responses.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples: how much each matters. They multiply squared errors. A weight of
            zero leaves the sample out, and leave-one-out errors leave it out with all of its
            weight. None for a table that is not in memory, unless the fit is exact.
        groups : array-like of shape (n_samples,), default=None
            Names of what samples belong to, such as patients or days: numbers or strings. Samples
            of a group are left out together; copies of a row where neither this nor `cv` is given.

        Returns
        -------
        TwoStageRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            If a setting is out of its range, if `predictor` is no regressor of precomputed kernels,
            if the learned kernel is not positive semi-definite, or if `X` or `y` is refused by the
            learner, or a weight is negative.
        """
        return self._fit_stages(X, y, sample_weight, groups)

    def _exact_stage(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> ExactStage:
        as_grid("alpha", self.alpha, ALPHA_GRID)
        check_target_values(y, self)
        y = validate_data(self, y=y, **self._target_checks).astype(float, copy=False)
        given, sample = self._samples(X, y, sample_weight, groups)
        splits = [] if self.cv is None else folds_of(self.cv, sample, given)
        if self.predictor is not None:
            return GivenStage(sample, self._task, splits, self.predictor)
        self._targets = Sample(None, sample.y, sample.weights, n_given=len(sample))
        return RidgeStage(
            sample,
            self._task,
            splits,
            self.alpha,
            self.scoring,
            self.nested,
            self.n_jobs,
            chooses_kernel=self.learner is None,
        )

    @available_if(lambda self: self.predictor is None)
    def predict_interval(
        self, X: Features, coverage: float = 0.9, scale: str | None = "auto"
    ) -> Array:
        """Intervals that hold the response with a given probability, from held-out residuals.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Or a stack, as in `predict`.
        coverage : float, default=0.9
            Probability, between zero and one.
        scale : "auto" or None, default="auto"
            Whether the width may depend on the sample by a learned scale of the residuals. "auto"
            learns one for each output, and takes it if that clearly lowers the interval score of
            held-out samples. None for one width.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper ends, at equal distances from the prediction. Infinite with fewer than
            coverage / (1 - coverage) training samples, or groups.

        Raises
        ------
        ValueError
            If the coverage is not between zero and one, `scale` is neither, or `alpha` was given as
            a number: a search for it leaves the residuals.

        Notes
        -----
        The half-width is a quantile of the absolute residuals of held-out samples, and the same for
        all samples without a scale [1]_; where groups were given to `fit`, a quantile over groups.
        Of the default learner, up to 1,000 samples, residuals are not `cv_residuals_`: the kernel
        and alpha are chosen anew without each of five folds of the samples, fewer from 200 samples
        on, in the first call. A kernel that is learned otherwise was learned without these samples
        only if it was learned in folds (`nested`), and alpha is chosen by their residuals.

        The scale is a function of the features, as by `KernelStackingRegressor`: residuals are
        divided by the scale that was learned without their samples, and their quantile multiplied
        by that of the new sample. It is learned from at most 1,000 held-out samples, in the first
        call. Samples of precomputed kernels have no features, and no scale.

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
                "Intervals need residuals of held-out samples, which a search for alpha leaves: "
                f"fit with alpha='auto', or alpha=[{self.alpha!r}] for this value alone."
            )

        held_out, residuals = self._held_out, self.cv_residuals_
        masses = getattr(self, "_residual_masses", None)
        if isinstance(held_out, LeftOutChoice):
            held_out = held_out.held_out
            masses = held_out.masses
            residuals = held_out.residuals[:, 0] if residuals.ndim == 1 else held_out.residuals
        scales = [] if scale is None else held_out.scales(coverage)
        features: Any = None
        if not self._is_approximate() and getattr(self.learner_, "X_fit_", None) is not None:
            features = new_samples(self.learner_, X)

        def intervals(rows: Any) -> Array:
            predicted = np.asarray(self.predictor_.predict(rows))
            found = residual_intervals(predicted, residuals, coverage, masses)
            table = rows if self._is_approximate() else features
            return np.asarray(held_out.rescaled(found, predicted, table, scales, coverage))

        return self._for_rows(X, intervals)

    def _check_kept_rows(self, n_new: int) -> None:
        check_gram_memory(len(self._targets) + n_new, 3, "fit with approximation='nystroem'")

    def _add_kept_rows(self, rows: Sample) -> None:
        known = replace(self._targets, X=self.learner_.X_fit_)
        every = joined(known, rows)
        gram, unit = unit_gram(self.kernel_, every.X, every.weights.given)
        ridge = fit_ridge(gram, every.y, self.alpha_, every.weights)
        dual = ridge.dual_coef_ / unit.scale
        learner = copy(self.learner_)
        learner.X_fit_ = every.X
        intercept = ridge.intercept_ - unit.means @ dual
        self.predictor_ = replace(ridge, dual_coef_=dual, intercept_=intercept)
        self.learner_, self._targets = learner, replace(every, X=None)

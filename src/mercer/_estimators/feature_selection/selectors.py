"""Selectors of features by their dependence on the target, and their base class."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, check_scalar
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._data.sample import Sample
from mercer._data.types import Array, Features, PerSample
from mercer._data.validation import (
    check_choice,
    check_number,
    check_target_values,
    table_advice,
    warn,
)
from mercer._estimators.feature_selection.elimination import eliminate, scorer
from mercer._estimators.feature_selection.feature_factors import FeatureFactors, standardized_rows
from mercer._estimators.feature_selection.lasso import lasso_at, lasso_with
from mercer._estimators.fits import FittedAttributesMixin
from mercer._search.targets import TASKS, Target, Task, check_output_kernel, target_of
from mercer.kernels import Kernel, Linear
from mercer.kernels._conversion import OutputKernelSource
from mercer.kernels._radial import RadialFunction


class DependenceSelector(SelectorMixin, FittedAttributesMixin, BaseEstimator):
    """Base class of selectors that keep the features on which the target depends.

    A subclass implements `_select`, and extends `_check_settings`.
    """

    n_features_to_select: int | float | None
    task: Task
    output_kernel: OutputKernelSource
    support_: Array

    _takes_sparse = True

    def fit(self, X: Features, y: npt.ArrayLike, sample_weight: PerSample = None) -> Self:
        """Select the features.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            `BAHSIC` does not accept sparse matrices.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels or responses. Sets of labels or a Gram matrix if `output_kernel` requires them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples. A weight of two has the same effect as giving the sample twice,
            and a weight of zero leaves it out.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X or y contains NaN or infinities, or a weight is negative. If there is only one
            sample or one class, a response is constant, or `y` does not match the task or the
            output kernel. If a parameter is out of its range, or there are fewer features than are
            to be selected.
        """
        self._check_settings()
        check_target_values(y)
        with table_advice(self):
            X, y = validate_data(
                self,
                X,
                y,
                accept_sparse="csc" if self._takes_sparse else False,
                multi_output=True,
                dtype=[np.float64, np.float32],
                ensure_min_samples=2,
            )
        number = number_of_features(self.n_features_to_select, X.shape[1])
        data = Sample.of(X, y, sample_weight)
        self.support_ = self._select(data.X, self._target(data), number)
        return self

    @abstractmethod
    def _select(self, X: Features, target: Target, number: int) -> Array:
        """Set the fitted attributes, and return whether each feature is selected."""

    def _target(self, data: Sample) -> Target:
        """Return the target; the default is "balanced" for labels and "gaussian" for responses."""
        target = target_of(data, self.task, self.output_kernel)
        if self.output_kernel is None:
            usual = "gaussian" if target.classes is None else "balanced"
            target = target_of(data, self.task, usual)
        return target

    def _check_settings(self) -> None:
        """Raise an error if a setting is invalid."""
        number = self.n_features_to_select
        if number is not None:
            check_scalar(number, "n_features_to_select", Real)
            if not (is_count(number) or 0.0 < number <= 1.0):
                raise ValueError(
                    "n_features_to_select must be None, a whole number of at least 1, or a "
                    f"fraction in (0, 1]; got {number!r}."
                )
        check_choice("task", self.task, TASKS)
        check_output_kernel(self.output_kernel)

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self._takes_sparse
        return tags


@dataclass(eq=False, repr=False)
class BAHSIC(DependenceSelector):
    """Select features by eliminating the least informative ones step by step (BAHSIC).

    The search starts from all features. Dependence on the target is measured by the Hilbert-Schmidt
    independence criterion (HSIC). Each iteration eliminates the features whose removal lowers this
    dependence least.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select, or a fraction in (0, 1] of all features. None selects half of
        them.
    step : int or float, default=0.1
        Number of features to eliminate in an iteration. A number below one is a fraction of the
        remaining features, rounded down, but at least one feature.
    kernel : {"gaussian", "linear"} or kernel of a distance, default="gaussian"
        Kernel of the standardized features. The features are divided by the median distance between
        samples in the remaining features, which is computed again in each iteration. With this
        distance as s, "gaussian" is exp(-|x - x'|^2 / s^2). The parameters of other kernels, such
        as `Laplacian(2.0)`, are in units of this distance.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `y` contains labels or responses; inferred from its values for `"auto"`.
    output_kernel : str, array-like, kernel or None, default=None
        Kernel that measures the similarity of two labels or responses; the section "Output kernels"
        of the :doc:`glossary </glossary>` lists all options. None stands for `"balanced"` for
        labels and `"gaussian"` for responses.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Whether a feature is selected.
    ranking_ : ndarray of shape (n_features,)
        One for selected features, two for features eliminated in the last iteration, and so on.
    scores_ : ndarray of shape (n_features,)
        HSIC with the feature minus HSIC without it. Selected features are scored among the selected
        features, and other features in the iteration that eliminated them. A feature with a
        negative score lowers the dependence.
    hsic_ : float
        HSIC of the kernel of the selected features with the target.
    n_features_ : int
        Number of selected features.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of features of the training samples.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    See Also
    --------
    HSICLasso : Selects no redundant features, and is faster for thousands of features.

    Notes
    -----
    A Gaussian kernel on several features can detect features that are informative only together,
    such as the two inputs of an exclusive or. The linear kernel cannot, because it ranks each
    feature x by |x'Y|^2 alone. Redundant features may all be eliminated in the same iteration,
    since HSIC hardly changes without any one of them (`step=1` prevents this). They may also
    be selected together, since the criterion does not penalize redundancy. Constant features are
    eliminated first.

    An iteration over d features takes O(n^2 d) evaluations of the kernel in tiles, or O(n d) time
    for the linear kernel, and O(n^2 r) for a target kernel of rank r. This rank is the number of
    classes or labels, or some dozens for a Gaussian kernel of one response. With a `step` of 0.1,
    all iterations together cost about ten times as much as the first. Memory is needed for X, the
    factor of the target and a few tiles per thread. No n x n matrix is stored, unless the target
    kernel has rank n, as a Laplacian kernel does.

    References
    ----------
    Song, Smola, Gretton, Bedo, Borgwardt (2012), Feature selection via dependence maximization,
    Journal of Machine Learning Research 13, algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import BAHSIC
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] * X[:, 7] > 0.0
    >>> BAHSIC(2).fit(X, y).get_support(indices=True)
    array([3, 7])
    """

    _takes_sparse = False

    n_features_to_select: int | float | None = None
    _: KW_ONLY
    step: int | float = 0.1
    kernel: str | Kernel = "gaussian"
    task: Task = "auto"
    output_kernel: OutputKernelSource = None

    def _check_settings(self) -> None:
        super()._check_settings()
        check_scalar(self.step, "step", Real)
        if not (is_count(self.step) or 0.0 < self.step < 1.0):
            raise ValueError(
                "step must be a whole number of at least 1, or a fraction in (0, 1); "
                f"got {self.step!r}."
            )
        named = isinstance(self.kernel, str) and self.kernel in ("gaussian", "linear")
        radial = isinstance(getattr(self.kernel, "structure", None), RadialFunction)
        if not (named or radial or isinstance(self.kernel, Linear)):
            raise ValueError(
                'kernel must be "gaussian", "linear" or a kernel of one distance, such as '
                f"Laplacian(); got {self.kernel!r}."
            )

    def _select(self, X: Features, target: Target, number: int) -> Array:
        features = standardized_rows(X.astype(np.float64, copy=False), target.weights).T
        varying = np.asarray(features.any(axis=0))
        found = eliminate(scorer(self.kernel, features, target), varying, number, self.step)
        self.ranking_, self.scores_, self.hsic_ = found.ranking, found.scores, found.value
        self.n_features_ = int((found.ranking == 1).sum())
        self.n_iter_ = found.n_iter
        return found.ranking == 1


@dataclass(eq=False, repr=False)
class HSICLasso(DependenceSelector):
    r"""Select features that predict the target and do not repeat one another (HSIC Lasso).

    .. math:: \min_{w \ge 0} \tfrac{1}{2} \Bigl\| \tfrac{L_c}{\|L_c\|} - \sum_k w_k
              \tfrac{K_{kc}}{\|K_{kc}\|} \Bigr\|^2 + \alpha \sum_k w_k

    Here :math:`K_{kc}` is the centered Gram matrix of the Gaussian kernel
    :math:`\exp(-(x - x')^2 / 2)` on the standardized feature k. :math:`L_c` is the centered Gram
    matrix of the kernel on the target. The weighted sum of the features' kernels approximates the
    kernel on the target. The solution favors features on which the target depends, and avoids
    features that depend on other selected features: only one of two equal features is selected.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select, or a fraction in (0, 1] of all features. None selects half of
        them, unless `alpha` is given. The weights belong to the smallest penalty at which this many
        weights are positive, before another feature enters the Lasso path.
    alpha : float, default=None
        The penalty, which may be given instead of a number of features. No feature is selected if
        the penalty is at least the largest entry of `scores_`, which never exceeds one.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `y` contains labels or responses; inferred from its values for `"auto"`.
    output_kernel : str, array-like, kernel or None, default=None
        Kernel that measures the similarity of two labels or responses; the section "Output kernels"
        of the :doc:`glossary </glossary>` lists all options. None stands for `"balanced"` for
        labels and `"gaussian"` for responses.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features,)
        The weights w, which are zero for features that are not selected, such as constant features.
    support_ : ndarray of shape (n_features,)
        Whether a feature is selected.
    scores_ : ndarray of shape (n_features,)
        Centered alignment of each feature's own kernel with the target, from 0 to 1.
    alpha_ : float
        The penalty alpha.
    n_iter_ : int
        Number of subproblems that were solved. Each includes more features than the one before,
        until no other feature would enter.
    n_features_in_ : int
        Number of features of the training samples.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    See Also
    --------
    BAHSIC : Detects features that are informative only together.

    Notes
    -----
    Each feature has its own kernel. Features that are informative only together, such as the two
    features of an exclusive or, are therefore not found. With redundant features, the path may have
    fewer positive weights at alpha = 0 than requested. In this case, fewer features are selected,
    with a warning if a number was given. If several features enter at once, the features with the
    largest weights are selected, and the first of several with equal weights.

    The Gram matrix of one feature has a numerical rank r of about 20, and at most the number of
    distinct values of the feature. All inner products are computed from factors of these matrices,
    which an incomplete Cholesky decomposition finds with an error of 1e-9 of the trace. This takes
    O(n r^2) time for each feature and each pair of features, and O(n r q) for a feature and a
    target kernel of rank q. No n x n matrix is formed, unless the target kernel has rank n, as a
    Laplacian kernel does. The inner products <K_kc, K_lc> are never negative. A feature whose score
    does not exceed alpha therefore cannot enter, and inner products are computed only for pairs of
    features that can. The solution is optimal over all features, except that features whose kernels
    differ by less than 1e-7 count as one. Memory is needed for X, for factors up to scikit-learn's
    working memory, and for one number per feature and member of the working set.

    Blocks of samples (Climente-Gonzalez et al. 2019), which avoid the memory of full Gram matrices,
    have no advantage over factors.

    References
    ----------
    Yamada, Jitkrittum, Sigal, Xing, Sugiyama (2014), High-dimensional feature selection by
    feature-wise kernelized Lasso, Neural Computation 26; Climente-Gonzalez, Azencott, Kaski, Yamada
    (2019), Block HSIC Lasso, Bioinformatics 35, for kernels of unit norm.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import HSICLasso
    >>> X = np.random.default_rng(0).normal(size=(200, 50))
    >>> y = np.sin(2.0 * X[:, 3]) + X[:, 7] ** 2
    >>> HSICLasso(2).fit(X, y).get_support(indices=True)
    array([3, 7])
    """

    n_features_to_select: int | float | None = None
    _: KW_ONLY
    alpha: float | None = None
    task: Task = "auto"
    output_kernel: OutputKernelSource = None

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.alpha is not None:
            check_number("alpha", self.alpha)
            if self.n_features_to_select is not None:
                raise ValueError("n_features_to_select and alpha must not both be given.")

    def _select(self, X: Features, target: Target, number: int) -> Array:
        factors = FeatureFactors(X, target.weights)
        self.scores_ = factors.relevance(target.centered)
        if self.alpha is None:
            point = lasso_with(number, self.scores_, factors.products)
        else:
            point = lasso_at(self.alpha, self.scores_, factors.products)
        self.weights_, self.alpha_, self.n_iter_ = point.weights, point.alpha, point.n_iter
        selected = self.weights_ > 0.0
        n_selected = int(selected.sum())
        if self.n_features_to_select is not None and n_selected < number:
            warn(
                f"{n_selected} features are selected, not {number}, because the other features "
                "add nothing to the dependence on y."
            )
        return selected


def is_count(value: object) -> bool:
    """Return whether a value is a positive integer rather than a fraction."""
    return isinstance(value, Integral) and int(value) >= 1


def number_of_features(number: int | float | None, n_features: int) -> int:
    """Return the number of features to select, as defined by `RFE` in scikit-learn.

    Parameters
    ----------
    number : int, float or None
        Number or fraction of features, or None for half of them.
    n_features : int

    Raises
    ------
    ValueError
        If `number` exceeds the number of features.
    """
    if number is None or not is_count(number):
        return max(1, int(n_features * (0.5 if number is None else number)))
    if number > n_features:
        raise ValueError(f"n_features_to_select must be <= n_features={n_features}; got {number}.")
    return int(number)

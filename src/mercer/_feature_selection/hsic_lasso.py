"""Selection of features by the Lasso, with the target's kernel as the response."""

from __future__ import annotations

from typing import Any, Self

from mercer._feature_selection.dependence_selector import (
    DependenceSelector,
    check_selection,
    selection_data,
)
from mercer._feature_selection.feature_factors import FeatureFactors
from mercer._feature_selection.lasso import lasso_at, lasso_with
from mercer._targets import Task
from mercer._typing import Features
from mercer._validation import check_number, warn


class HSICLasso(DependenceSelector):
    r"""Selection of a few features whose kernels sum up to the target's kernel: HSIC Lasso.

    .. math:: \min_{w \ge 0} \tfrac{1}{2} \Bigl\| \tfrac{L_c}{\|L_c\|} - \sum_k w_k
              \tfrac{K_{kc}}{\|K_{kc}\|} \Bigr\|^2 + \alpha \sum_k w_k

    with a Gaussian kernel of each feature, :math:`\exp(-(x - x')^2 / 2)` of the standardized
    feature, and centered Gram matrices. The solution favors features on which the target depends,
    and avoids those that depend on other selected features: of two equal features, one is selected.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select, or a fraction in (0, 1] of all features; None for a half,
        unless `alpha` is given. The weights are those at the end of the first segment of the
        Lasso's path with that many positive weights: at the smallest penalty before another feature
        enters.
    alpha : float, default=None
        The penalty itself, in place of a number of features. No feature is selected if it is at
        least the largest of `scores_`, which never exceeds one.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `y` holds labels or responses; read off its values for `"auto"`.
    output_kernel : str, array-like, kernel or None, default=None
        The kernel on labels or responses that features shall depend on; the section "Output
        kernels" of docs/glossary.md lists all. None stands for `"balanced"` for labels and
        `"gaussian"` for responses.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features,)
        w. Zero for features that are not selected, such as constant ones.
    support_ : ndarray of shape (n_features,)
        Whether a feature is selected.
    scores_ : ndarray of shape (n_features,)
        Centered alignment of each feature's own kernel with the target, from 0 to 1.
    alpha_ : float
        The penalty alpha.
    n_iter_ : int
        Number of working sets, each larger than the one before, until no feature outside of the
        last one would enter.
    n_features_in_ : int
        Number of features of the training samples.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    See Also
    --------
    BAHSIC : Detects features that are informative only together.

    Notes
    -----
    Each feature has a kernel of its own, so that features that are informative only together, such
    as the two features of an exclusive or, are not found. Redundant features end the path early: if
    it has fewer positive weights at alpha = 0 than requested, fewer features are selected, with a
    warning if a number was given. If several features enter at once, those of the largest weights
    are selected, and of equal weights the first.

    The Gram matrix of one feature has a numerical rank r of about 20, or the number of the
    feature's distinct values. Factors of these matrices, by incomplete Cholesky decomposition to
    1e-9 of the trace, give all inner products: in O(n r^2) for a feature and for each pair of
    features, and O(n r q) for a feature and a target kernel of rank q. No n x n matrix is formed,
    unless the target kernel has rank n, as that of a Laplacian kernel. The entries
    M_kl = <K_kc, K_lc> are never negative, so that a feature whose score does not exceed alpha
    cannot enter; entries of M are computed only for pairs of features that could. The solution is
    optimal over all features, except that features whose kernels differ by less than 1e-7 count as
    one. Memory is that of X, of factors up to scikit-learn's working memory, and of one number for
    each feature and each member of the working set.

    Blocks of samples (Climente-Gonzalez et al. 2019), which save the memory of full Gram matrices,
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

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        alpha: float | None = None,
        task: Task = "auto",
        output_kernel: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.alpha = alpha
        self.task = task
        self.output_kernel = output_kernel

    def fit(self, X: Features, y: Any, sample_weight: Any = None) -> Self:
        """Select the features.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels or responses; sets of labels or a Gram matrix if `output_kernel` says so.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples. A weight of two is the sample given twice, and a weight of zero
            the sample left out.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter is out of its range, there are fewer features than are to be selected, X
            or y holds NaN or infinities, there is one sample or one class only, a response is
            constant, `y` does not fit the task or the output kernel, or a weight is negative.
        """
        check_selection(self)
        if self.alpha is not None:
            check_number("alpha", self.alpha)
            if self.n_features_to_select is not None:
                raise ValueError("n_features_to_select and alpha must not both be given.")
        data = selection_data(self, X, y, sample_weight)
        number, factors = data.number, FeatureFactors(data.X, data.target.weights.given)
        self.scores_ = factors.relevance(data.target.centered)
        if self.alpha is None:
            point = lasso_with(number, self.scores_, factors.products)
        else:
            point = lasso_at(self.alpha, self.scores_, factors.products)
        self.weights_, self.alpha_, self.n_iter_ = point.weights, point.alpha, point.n_iter
        self.support_ = self.weights_ > 0.0
        n_selected = int(self.support_.sum())
        if self.n_features_to_select is not None and n_selected < number:
            warn(
                f"{n_selected} features are selected, not {number}: the Lasso's path ends with "
                "these, as the others add nothing to the dependence on y."
            )
        return self

"""The selector of features that together explain the target kernel."""

from __future__ import annotations

import warnings
from typing import Any

from mercer._feature_selection.dependence_selector import DependenceSelector
from mercer._feature_selection.feature_factors import FeatureFactors
from mercer._feature_selection.lasso import lasso_at, lasso_with
from mercer._targets import Task
from mercer._typing import Array, Features
from mercer._validation import check_number


class HSICLasso(DependenceSelector):
    r"""Features whose kernels sum up to the target's, with few of them: HSIC Lasso.

    .. math:: \min_{w \ge 0} \tfrac12 \Bigl\| \tfrac{L_c}{\|L_c\|} - \sum_k w_k
              \tfrac{K_{kc}}{\|K_{kc}\|} \Bigr\|^2 + \alpha \sum_k w_k

    with a Gaussian kernel of each feature, :math:`\exp(-(x - x')^2 / 2)` of the standardized
    feature, and centered Gram matrices. A feature is wanted that depends on the target, and not
    wanted beside others on which it depends itself: of two that are the same, one is selected.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        How many features are selected: the first point of the Lasso's path with that many weights,
        the smallest penalty before another one enters. A fraction in (0, 1] is one of all features;
        None is a half of them, or `alpha`, where that is given.
    alpha : float, default=None
        The penalty itself, instead of a number of features. At one and above, none is left; the
        largest of `scores_` is enough for that.
    task : {"auto", "classification", "regression"}, default="auto"
        What `y` holds.
    output_kernel : str, array-like, kernel or None, default=None
        How alike two outputs are: `"labels"`, `"delta"`, `"balanced"` or a matrix of similarities
        for classes; `"linear"`, `"gaussian"` or a kernel for responses; `"multilabel"` for sets of
        labels; `"precomputed"` for a Gram matrix in place of `y`. See
        :func:`mercer._targets.as_target`. None is `"balanced"` for labels and `"gaussian"` for
        responses: kernel learners have other defaults.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features,)
        w. Zero for features that are not selected, constant ones among them.
    support_ : ndarray of shape (n_features,)
        Whether a feature is selected.
    scores_ : ndarray of shape (n_features,)
        Centered alignment of each feature's own kernel with the target, from 0 to 1.
    alpha_ : float
        The penalty.
    n_iter_ : int
        Rounds in which more features were taken into account, until no other one would enter.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    See Also
    --------
    BAHSIC : Sees features that matter only together.

    Notes
    -----
    Each feature has a kernel of its own, so that features that say something only together, as the
    two of an exclusive or, are not found. Redundant features end the path early: where it has fewer
    weights at alpha = 0 than are asked for, fewer features are selected, with a warning if a number
    was given. Where several enter at once, those of the largest weights are taken, then the first.

    Gram matrices of one feature have numerical rank r of about 20, or of the number of different
    values. Their factors, by incomplete Cholesky decomposition to 1e-9 of the trace, give all inner
    products, so that time is O(n r^2) a feature, and as much for each pair that is looked at, and
    O(n r q) a feature for a target kernel of rank q; no n x n matrix is formed, unless the target
    kernel is of that rank, as rough kernels are. Entries of M_kl = <K_kc, K_lc> are never negative,
    so that a feature whose score is not above alpha cannot enter, whatever its products with
    others: of all pairs, only those are computed that could matter. The solution is the one over
    all features, except that features whose kernels differ by less than 1e-7 count as one. Memory
    is that of X, of factors up to scikit-learn's working memory, and of one number for each feature
    and each candidate that is looked at.

    Blocks of samples (Climente-Gonzalez et al. 2019), which lower the memory of full Gram matrices,
    have no use with factors.

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

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.alpha is not None:
            check_number("alpha", self.alpha)
            if self.n_features_to_select is not None:
                raise ValueError("n_features_to_select and alpha must not both be given.")

    def _select(self, X: Features, Y: Array, number: int) -> None:
        factors = FeatureFactors(X)
        self.scores_ = factors.relevance(Y)
        if self.alpha is None:
            point = lasso_with(number, self.scores_, factors.products)
        else:
            point = lasso_at(self.alpha, self.scores_, factors.products)
        self.weights_, self.alpha_, self.n_iter_ = point.weights, point.alpha, point.n_iter
        self.support_ = self.weights_ > 0.0
        found = int(self.support_.sum())
        if self.n_features_to_select is not None and found < number:
            warnings.warn(
                f"{found} features are selected, not {number}: the Lasso's path has no more of "
                "them, as the others add nothing to the dependence on y.",
                stacklevel=3,
            )

"""The selector of features by backward elimination."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_scalar

from mercer._feature_selection.dependence_selector import DependenceSelector, is_count
from mercer._feature_selection.elimination import Judge, eliminate
from mercer._feature_selection.feature_factors import standardized_rows
from mercer._feature_selection.scorers import gaussian_judge, linear_judge, radial_judge
from mercer._targets import Task
from mercer._typing import Array, Features
from mercer.kernels import Kernel, Linear
from mercer.kernels._structure import RadialFunction


class BAHSIC(DependenceSelector):
    """Backward elimination of features with the Hilbert-Schmidt independence criterion.

    From all features on, those go in each round without which the kernel of the others depends most
    on the target.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        How many features are left in the end; a fraction in (0, 1] of all of them; None for a half.
    step : int or float, default=0.1
        How many features go in a round; a number below one is a fraction of those that are left,
        rounded down, and one feature at least.
    kernel : {"gaussian", "linear"} or kernel of a distance, default="gaussian"
        Of the standardized features, divided by the median distance of those that are left, which
        is read again in each round: "gaussian" is exp(-|x - x'|^2 / s^2) with this distance as s.
        So are the parameters of others, such as `Laplacian(2.0)`, in units of it.
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
    support_ : ndarray of shape (n_features,)
        Whether a feature is selected.
    ranking_ : ndarray of shape (n_features,)
        One for selected features, two for those that went in the last round, and so on.
    scores_ : ndarray of shape (n_features,)
        HSIC less HSIC without the feature, when it was last judged: among the selected ones for
        these, in the round that it went in for others. Below zero, the feature was in the way.
    hsic_ : float
        HSIC of the kernel of the selected features with the target.
    n_features_ : int
        Number of selected features.
    n_iter_ : int
        Rounds.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    See Also
    --------
    HSICLasso : Leaves out redundant features, and is faster where there are thousands.

    Notes
    -----
    A Gaussian kernel of several features sees those that say something only together, as the two of
    an exclusive or. The linear kernel does not, and ranks features by |x'Y|^2, one by one.
    Features that say the same may go in the same round, as each is harmless beside the others
    (`step=1` prevents that), and may stay together: nothing speaks against redundant ones. Constant
    features go first.

    A round over d features costs O(n^2 d) values of the kernel in tiles, O(n d) for the linear
    kernel, and O(n^2 r) for a target kernel of rank r, the number of classes or labels and some
    dozens for a Gaussian of one response; with a `step` of 0.1, all rounds cost about ten times the
    first one. Memory is X, the factor of the target and a few tiles a thread: nothing n x n, unless
    the target kernel is of that rank, as rough kernels are.

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

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        step: int | float = 0.1,
        kernel: Any = "gaussian",
        task: Task = "auto",
        output_kernel: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.step = step
        self.kernel = kernel
        self.task = task
        self.output_kernel = output_kernel

    def _check_settings(self) -> None:
        super()._check_settings()
        check_scalar(self.step, "step", Real)
        if not (is_count(self.step) or 0.0 < self.step < 1.0):
            raise ValueError(
                "step must be a whole number of at least 1, or a fraction in (0, 1); "
                f"got {self.step!r}."
            )
        named = isinstance(self.kernel, str) and self.kernel in ("gaussian", "linear")
        radial = isinstance(self.kernel, Kernel) and isinstance(
            self.kernel.structure, RadialFunction
        )
        if not (named or radial or isinstance(self.kernel, Linear)):
            raise ValueError(
                'kernel must be "gaussian", "linear" or a kernel of one distance, such as '
                f"Laplacian(); got {self.kernel!r}."
            )

    def _select(self, X: Features, Y: Array, number: int) -> None:
        features = standardized_rows(X.astype(np.float64, copy=False)).T
        varying = np.asarray(features.any(axis=0))
        found = eliminate(self._judge(features, Y), varying, number, self.step)
        self.ranking_, self.scores_, self.hsic_ = found.ranking, found.scores, found.value
        self.support_ = found.ranking == 1
        self.n_features_ = int(self.support_.sum())
        self.n_iter_ = found.n_iter

    def _judge(self, features: Array, Y: Array) -> Judge:
        if isinstance(self.kernel, Linear) or self.kernel == "linear":
            return linear_judge(features, Y)
        if self.kernel == "gaussian":
            return gaussian_judge(features, Y)
        return radial_judge(features, Y, self.kernel.structure.function)

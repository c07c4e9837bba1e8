"""Selection of features by backward elimination."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils import check_scalar

from mercer._feature_selection.dependence_selector import (
    DependenceSelector,
    check_selection,
    is_count,
    selection_data,
)
from mercer._feature_selection.elimination import Scorer, eliminate
from mercer._feature_selection.feature_factors import standardized_rows
from mercer._feature_selection.scorers import gaussian_scorer, linear_scorer, radial_scorer
from mercer._targets import Target, Task
from mercer._typing import Array, Features
from mercer.kernels import Kernel, Linear
from mercer.kernels._structure import RadialFunction


class BAHSIC(DependenceSelector):
    """Backward elimination of features with the Hilbert-Schmidt independence criterion.

    Beginning with all features, each iteration eliminates those without which the kernel of the
    others depends most on the target.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to select, or a fraction in (0, 1] of all features; None for a half.
    step : int or float, default=0.1
        Number of features to eliminate in an iteration. A number below one is a fraction of the
        remaining features, rounded down, and at least one feature.
    kernel : {"gaussian", "linear"} or kernel of a distance, default="gaussian"
        Kernel of the standardized features, divided by the median distance between the samples in
        the remaining features, which each iteration computes anew: "gaussian" is
        exp(-|x - x'|^2 / s^2) with this distance as its bandwidth s. The parameters of other
        kernels, such as `Laplacian(2.0)`, are in units of this distance.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `y` holds labels or responses; read off its values for `"auto"`.
    output_kernel : str, array-like, kernel or None, default=None
        The kernel on labels or responses that features shall depend on; the section "Output
        kernels" of docs/glossary.md lists all. None stands for `"balanced"` for labels and
        `"gaussian"` for responses.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Whether a feature is selected.
    ranking_ : ndarray of shape (n_features,)
        One for selected features, two for those eliminated in the last iteration, and so on.
    scores_ : ndarray of shape (n_features,)
        HSIC minus HSIC without the feature, when the feature was last scored: among the selected
        features for these, in the iteration that eliminated it for others. A feature of negative
        score lowers the dependence.
    hsic_ : float
        HSIC of the kernel of the selected features with the target.
    n_features_ : int
        Number of selected features.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of features of the training samples.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    See Also
    --------
    HSICLasso : Selects no redundant features, and is faster for thousands of features.

    Notes
    -----
    A Gaussian kernel of several features detects those that are informative only together, such as
    the two features of an exclusive or. The linear kernel does not, as it ranks each feature x by
    |x'Y|^2 alone. Redundant features may be eliminated in the same iteration, since none of them is
    missed beside the others (`step=1` prevents that), and may also be selected together, since the
    criterion does not penalize redundancy. Constant features are eliminated first.

    An iteration over d features costs O(n^2 d) values of the kernel in tiles, O(n d) for the linear
    kernel, and O(n^2 r) for a target kernel of rank r, which is the number of classes or labels, or
    some dozens for a Gaussian of one response; with a `step` of 0.1, all iterations together cost
    about ten times as much as the first. Memory is X, the factor of the target and a few tiles per
    thread. No n x n matrix is held, unless the target kernel has rank n, as that of a Laplacian
    kernel.

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

    def fit(self, X: Features, y: Any, sample_weight: Any = None) -> Self:
        """Select the features.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
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
        _check_step(self.step)
        _check_kernel(self.kernel)
        data = selection_data(self, X, y, sample_weight)
        weights = data.target.weights.given
        features = standardized_rows(data.X.astype(np.float64, copy=False), weights).T
        varying = np.asarray(features.any(axis=0))
        scorer = _scorer(self.kernel, features, data.target)
        found = eliminate(scorer, varying, data.number, self.step)
        self.ranking_, self.scores_, self.hsic_ = found.ranking, found.scores, found.value
        self.support_ = found.ranking == 1
        self.n_features_ = int(self.support_.sum())
        self.n_iter_ = found.n_iter
        return self


def _check_step(step: Any) -> None:
    """Refuse a step that is neither a positive whole number nor a fraction."""
    check_scalar(step, "step", Real)
    if not (is_count(step) or 0.0 < step < 1.0):
        raise ValueError(
            f"step must be a whole number of at least 1, or a fraction in (0, 1); got {step!r}."
        )


def _check_kernel(kernel: Any) -> None:
    """Refuse a kernel that is neither linear nor a function of the distance of all features."""
    named = isinstance(kernel, str) and kernel in ("gaussian", "linear")
    radial = isinstance(getattr(kernel, "structure", None), RadialFunction)
    if not (named or radial or isinstance(kernel, Linear)):
        raise ValueError(
            'kernel must be "gaussian", "linear" or a kernel of one distance, such as '
            f"Laplacian(); got {kernel!r}."
        )


def _scorer(kernel: str | Kernel, features: Array, target: Target) -> Scorer:
    """Return the scorer of a kernel for standardized features and a target factor."""
    if isinstance(kernel, Linear) or kernel == "linear":
        return linear_scorer(features, target)
    if isinstance(kernel, str):
        return gaussian_scorer(features, target)
    structure = kernel.structure
    assert isinstance(structure, RadialFunction)
    return radial_scorer(features, target, structure.function, structure.norm)

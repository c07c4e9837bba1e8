"""Multiple kernel learning: the weights of a finite dictionary, learned with the machine."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_scalar

from mercer._gram.kernel_products import base_grams
from mercer._gram.tiles import Samples
from mercer._learners.legacy import base_kernels
from mercer._one_stage.one_stage import OneStage, OneStageClassifier, OneStageRegressor
from mercer._targets import Target
from mercer._typing import Array, Features
from mercer._validation import check_choice, check_number, check_positive
from mercer._weights.mkl import Problems, learn_weights
from mercer._weights.weight_sets import WeightSet, weight_set


class FiniteOneStage(OneStage):
    """Weights of a finite dictionary, from the unit ball of an lp-norm unless said otherwise."""

    kernels: Any
    max_iter: int
    norm: float = 1.0
    normalize: Literal["trace"] | None = "trace"
    fit_intercept: bool = True

    def _sources(self) -> Any:
        return self.kernels

    def _has_intercept(self) -> bool:
        return bool(self.fit_intercept)

    def _check_settings(self) -> None:
        self._check_loss()
        check_scalar(self.norm, "norm", Real)
        if not self.norm >= 1.0:
            raise ValueError(f"norm must be at least 1; got {self.norm!r}.")
        check_choice("normalize", self.normalize, ("trace", None))
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise ValueError(f"fit_intercept must be True or False; got {self.fit_intercept!r}.")
        check_positive("tol", self.tol)
        check_number("max_iter", self.max_iter, whole=True, low=1)

    def _weight_set(self, n_kernels: int) -> WeightSet:
        return weight_set(float(self.norm))

    def _learn(
        self,
        table: Features,
        samples: Samples,
        target: Target,
        problems: Problems,
        report: Callable[..., None],
    ) -> None:
        kernels = base_kernels(self.kernels, table, samples)
        grams = base_grams(Samples(samples.X, len(kernels)), kernels, centered=problems.intercept)
        traces = grams.traces()
        scales = np.ones(len(kernels))
        if self.normalize == "trace":
            scales = _reciprocal(traces / samples.n_samples)
        found = learn_weights(
            problems,
            grams.scaled(scales),
            self._weight_set(len(kernels)),
            tol=float(self.tol),
            max_iter=self.max_iter,
            on_step=report,
        )
        weights = found.theta * scales
        self._store(samples, target, kernels, weights, found)
        parts = weights * traces
        self.shares_ = parts / parts.sum() if parts.any() else parts
        self.dual_gap_ = found.gap
        self.history_ = found.history
        self.n_iter_ = len(found.history)
        if found.gap > self.tol:
            self._warn(
                f"Stopped after {self.n_iter_} steps at a relative duality gap of "
                f"{found.gap:.2g}, above tol={self.tol:g}: "
                + ("raise max_iter" if self.n_iter_ >= self.max_iter else "rounding stops it")
                + (
                    "."
                    if self.normalize
                    else ', and normalize="trace" brings kernels to one scale.'
                )
            )


class MKLClassifier(FiniteOneStage, OneStageClassifier):
    """Multiple kernel learning of classes, with an lp-norm on the weights ("D1", "D2").

    The weights are those with which a support vector machine, or another kernel machine, reaches
    the lowest objective. More than two classes share one kernel.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The dictionary, of kernels, names, callables or scikit-learn Gaussian-process kernels; 20
        Gaussian widths read off the data where None. With `"precomputed"`, X is a stack of Gram
        matrices of shape (n_samples, n_samples, n_kernels).
    norm : float, default=1.0
        The p of the lp-norm of the weights, which is at most one. 1 leaves few kernels, larger
        norms keep all, and infinity weighs them equally.
    loss : {"hinge", "squared", "logistic"}, default="hinge"
        Of a support vector machine, of ridge regression on labels -1 and 1, or of logistic
        regression.
    C : float, default=1.0
        Weight of the loss, as in scikit-learn's SVC.
    normalize : {"trace", None}, default="trace"
        With `"trace"`, every kernel is first divided by its mean diagonal (centered, where there is
        an intercept). This is the unit trace of the papers times the number of samples, so that
        `C` means what it does for one kernel of unit variance, at any number of samples.
    fit_intercept : bool, default=True
    tol : float, default=1e-3
        Duality gap to reach, relative to the objective; 1e-6 costs one or two steps more.
    max_iter : int, default=100
        Steps at most; a warning says so if they do not reach `tol`.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, callable on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels as they are: with `normalize=None` their lp-norm is one, else
        that of the weights of the scaled kernels.
    shares_ : ndarray of shape (n_kernels,)
        Part of each kernel in the trace of the learned training Gram matrix, summing to one.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set.
    dual_coef_ : ndarray of shape (n_samples, n_machines)
        Coefficients of the training samples, whose dual objective proves the gap; others only
        where their predictions would be worse than `tol` allows.
    intercept_ : ndarray of shape (n_machines,)
    support_ : ndarray of shape (n_support,)
        Positions of the samples that some coefficient is not zero of.
    objective_ : float
        Sum over the machines of 1/2 |f|^2 + C sum loss.
    dual_gap_ : float
        Proven bound on how far the objective is above its optimum, relative to it.
    history_ : list of WeightStep
        Objective, gap and number of kernels of each step.
    n_iter_ : int
        Number of steps, each a fit of the machines for other weights.
    classes_ : ndarray of shape (n_classes,)
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed stacks.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    See Also
    --------
    ContinuousMKLClassifier : Searches the kernels as well.
    TwoStageClassifier : Learns the kernel first, by alignment, which is faster.

    Notes
    -----
    The objective is convex in the weights, and its second derivatives come from the samples whose
    dual variables are free to move. Each step is Newton's: for norm 1 a quadratic program over
    the simplex, for larger norms in the logarithms of the weights, with the closed form of [1]_ to
    fall back on. Machines are scikit-learn's SVC and SVR, made exact by an active set where the gap
    asks for it, a Cholesky factor for the squared loss and Newton steps for the logistic one. For
    norm 1 and many kernels of low rank the objective has kinks: the gap is then proven by a blend
    of dual variables found on the way, and if a dozen steps are not enough, an interior-point
    method finds weights and dual variables together; at once, where each kernel is a column and
    there are more of them than samples.

    A step costs the machines and two passes of O(p n^2) over the kernels, in tiles, in which
    memory is the learned Gram matrix and p vectors a machine. Kernels of one column each are never
    evaluated, and cost what nonzero entries they have where these are few.

    References
    ----------
    .. [1] M. Kloft, U. Brefeld, S. Sonnenburg, A. Zien (2011). lp-norm multiple kernel learning.
       Journal of Machine Learning Research 12, sections 3.3 and 4.
    .. [2] A. Rakotomamonjy, F. Bach, S. Canu, Y. Grandvalet (2008). SimpleMKL. Journal of Machine
       Learning Research 9, sections 2.3 and 3.3, for the gap.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from mercer import MKLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MKLClassifier().fit(scale(X), y)
    >>> int((model.weights_ > 0).sum()), bool(model.dual_gap_ < 1e-3)
    (6, True)
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        norm: float = 1.0,
        loss: Literal["hinge", "squared", "logistic"] = "hinge",
        C: float = 1.0,
        normalize: Literal["trace"] | None = "trace",
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = 100,
    ) -> None:
        self.kernels = kernels
        self.norm = norm
        self.loss = loss
        self.C = C
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter


class MKLRegressor(FiniteOneStage, OneStageRegressor):
    """Multiple kernel learning of responses, with an lp-norm on the weights.

    The weights are those with which kernel ridge regression, or support vector regression, reaches
    the lowest objective. Several responses share one kernel.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The dictionary, of kernels, names, callables or scikit-learn Gaussian-process kernels; 20
        Gaussian widths read off the data where None. With `"precomputed"`, X is a stack of Gram
        matrices of shape (n_samples, n_samples, n_kernels).
    norm : float, default=2.0
        The p of the lp-norm of the weights, which is at most one. 1 leaves few kernels, larger
        norms keep all, and infinity weighs them equally.
    loss : {"squared", "epsilon_insensitive"}, default="squared"
        Of kernel ridge regression or of support vector regression.
    alpha : float, default=1.0
        Penalty, as in scikit-learn's KernelRidge; of the squared loss only.
    C : float, default=1.0
        Weight of the loss, as in scikit-learn's SVR; of the epsilon-insensitive loss only.
    epsilon : float, default=0.1
        Errors up to this, in the unit of the response, cost nothing; of the epsilon-insensitive
        loss only.
    normalize : {"trace", None}, default="trace"
        With `"trace"`, every kernel is first divided by its mean diagonal (centered, where there is
        an intercept). This is the unit trace of the papers times the number of samples, so that
        `alpha` or `C` means what it does for one kernel of unit variance, at any number of samples.
    fit_intercept : bool, default=True
    tol : float, default=1e-3
        Duality gap to reach, relative to the objective; 1e-6 costs one or two steps more.
    max_iter : int, default=100
        Steps at most; a warning says so if they do not reach `tol`.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, callable on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels as they are: with `normalize=None` their lp-norm is one, else
        that of the weights of the scaled kernels.
    shares_ : ndarray of shape (n_kernels,)
        Part of each kernel in the trace of the learned training Gram matrix, summing to one.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set.
    dual_coef_ : ndarray of shape (n_samples, n_outputs)
        Coefficients of the training samples, whose dual objective proves the gap; others only
        where their predictions would be worse than `tol` allows.
    intercept_ : ndarray of shape (n_outputs,)
    support_ : ndarray of shape (n_support,)
        Positions of the samples that some coefficient is not zero of.
    objective_ : float
        Sum over the responses of 1/2 |f|^2 + sum loss, where the squared loss is (y - f)^2 / (2
        alpha).
    dual_gap_ : float
        Proven bound on how far the objective is above its optimum, relative to it.
    history_ : list of WeightStep
        Objective, gap and number of kernels of each step.
    n_iter_ : int
        Number of steps, each a fit of the machines for other weights.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed stacks.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    See Also
    --------
    L2KRR : Weights within a ball around given ones.
    ContinuousMKLRegressor : Searches the kernels as well.
    TwoStageRegressor : Learns the kernel first, by alignment, which is faster.

    Notes
    -----
    The objective is convex in the weights, and its second derivatives come from the samples whose
    dual variables are free to move. Each step is Newton's: for norm 1 a quadratic program over
    the simplex, for larger norms in the logarithms of the weights, with the closed form of [1]_ to
    fall back on. Machines are scikit-learn's SVC and SVR, made exact by an active set where the gap
    asks for it, a Cholesky factor for the squared loss and Newton steps for the logistic one. For
    norm 1 and many kernels of low rank the objective has kinks: the gap is then proven by a blend
    of dual variables found on the way, and if a dozen steps are not enough, an interior-point
    method finds weights and dual variables together; at once, where each kernel is a column and
    there are more of them than samples.

    A step costs the machines and two passes of O(p n^2) over the kernels, in tiles, in which
    memory is the learned Gram matrix and p vectors a machine. Kernels of one column each are never
    evaluated, and cost what nonzero entries they have where these are few.

    References
    ----------
    .. [1] M. Kloft, U. Brefeld, S. Sonnenburg, A. Zien (2011). lp-norm multiple kernel learning.
       Journal of Machine Learning Research 12, sections 3.3 and 4.
    .. [2] A. Rakotomamonjy, F. Bach, S. Canu, Y. Grandvalet (2008). SimpleMKL. Journal of Machine
       Learning Research 9, sections 2.3 and 3.3, for the gap.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import MKLRegressor
    >>> X, y = make_friedman1(200, random_state=0)
    >>> MKLRegressor(alpha=0.1).fit(X[:100], y[:100]).score(X[100:], y[100:]) > 0.7
    True
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        norm: float = 2.0,
        loss: Literal["squared", "epsilon_insensitive"] = "squared",
        alpha: float = 1.0,
        C: float = 1.0,
        epsilon: float = 0.1,
        normalize: Literal["trace"] | None = "trace",
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = 100,
    ) -> None:
        self.kernels = kernels
        self.norm = norm
        self.loss = loss
        self.alpha = alpha
        self.C = C
        self.epsilon = epsilon
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter


def _reciprocal(values: Array) -> Array:
    """One over positive values, zero for others."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0.0)

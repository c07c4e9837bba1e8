"""One-stage methods under their published names: l1-svm and l2-krr."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from mercer._data.validation import check_choice, check_positive
from mercer._estimators.one_stage.lp_norm_mkl import MKLClassifier, MKLRegressor
from mercer._search.weights.weight_sets import ShiftedBall, WeightSet
from mercer.losses import Loss


@dataclass(eq=False, repr=False)
class L1SVM(MKLClassifier):
    """Support vector classifier on the best weighted average of given kernels ("l1-svm").

    This is `MKLClassifier` with norm 1 and the hinge loss, after the kernels are scaled to equal
    traces.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The kernels to combine, also called the dictionary: kernels of `mercer.kernels`, their
        names, callables or scikit-learn Gaussian-process kernels. None stands for 20 Gaussian
        kernels whose widths are chosen from the data. With `"precomputed"`, X is a stack of Gram
        matrices of shape (n_samples, n_samples, n_kernels).
    C : float, default=1.0
        Weight of the loss. The centered Gram matrix of the learned kernel has a trace of n_samples.
        In [1]_, kernels have a trace of one, so that C is the paper's value divided by n_samples.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, by label, which multiplies the weights of its samples. `"balanced"`
        gives all classes the same total weight.
    solver : {"auto", "newton", "interior_point", "alternating"}, default="auto"
        How weights and machines are found; see `MKLClassifier`.
    tol : float, default=1e-3
        Precision of the fit: the duality gap to reach, relative to the objective.
    max_iter : int, default=100
        Maximum number of steps; a warning is issued if they do not reach `tol`.
    verbose : bool, default=False
        Whether to print a line after each step.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, which can be called on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the given kernels.
    shares_ : ndarray of shape (n_kernels,)
        Share of each kernel in the learned kernel, by the traces of training Gram matrices.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set, at most one.
    dual_coef_ : ndarray of shape (n_samples, n_machines)
        Coefficients of the training samples.
    intercept_ : ndarray of shape (n_machines,)
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors.
    objective_ : float
        Sum over the machines of 1/2 |f|^2 + C sum loss.
    dual_gap_ : float
        Proven bound on how far the objective is above its optimum, relative to the objective.
    history_ : list of WeightStep
        Objective, gap and number of kernels of each step.
    n_iter_ : int
        Number of steps. Each step fits the machines with new weights.
    classes_ : ndarray of shape (n_classes,)
    temperature_ : Calibration
        The map from decision values to probabilities, which is fitted to the decision values of
        held-out samples when it is first read or needed. Groups that are passed to `fit` are held
        out as a whole, so that prediction sets are valid for samples of new groups.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed stacks.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    See Also
    --------
    MKLClassifier : Other norms and losses.

    Notes
    -----
    See `MKLClassifier` for the solver, its time and its memory.

    References
    ----------
    .. [1] G. Lanckriet, N. Cristianini, P. Bartlett, L. El Ghaoui, M. Jordan (2004). Learning the
       kernel matrix with semidefinite programming. Journal of Machine Learning Research 5, section
       4.2.
    .. [2] C. Cortes, M. Mohri, A. Rostamizadeh (2010). Two-stage learning kernel algorithms. ICML,
       section 5.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from mercer import L1SVM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> L1SVM(["rbf", "linear"]).fit(scale(X), y).shares_.round(2)
    array([0.93, 0.07])
    """

    norm: float = field(default=1.0, init=False)
    loss: Literal["hinge", "squared", "logistic"] | Loss = field(default="hinge", init=False)
    normalize: Literal["trace"] | None = field(default="trace", init=False)
    fit_intercept: bool = field(default=True, init=False)


@dataclass(eq=False, repr=False)
class L2KRR(MKLRegressor):
    """Kernel ridge regression on the best sum of given kernels, with weights in a ball ("l2-krr").

    The weights mu minimize y'(K_mu + alpha I)^-1 y, the objective of kernel ridge regression on
    K_mu = sum_k mu_k K_k, subject to mu >= 0 and |mu - center| <= radius.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The kernels to combine, also called the dictionary: kernels of `mercer.kernels`, their
        names, callables or scikit-learn Gaussian-process kernels. None stands for 20 Gaussian
        kernels whose widths are chosen from the data. With `"precomputed"`, X is a stack of Gram
        matrices of shape (n_samples, n_samples, n_kernels).
    alpha : float, default=1.0
        Penalty, as in scikit-learn's KernelRidge.
    normalize : {"trace", None}, default="trace"
        With `"trace"`, every kernel is first divided by the mean diagonal of its Gram matrix, which
        is centered if there is an intercept. All traces are then n_samples, not one as in the
        papers. `alpha` then has the same meaning as for one kernel of unit variance, for any number
        of samples.
    fit_intercept : bool, default=True
        Whether the machines have an intercept.
    solver : {"auto", "newton", "alternating"}, default="auto"
        How the weights are found. `"newton"` uses second derivatives; `"alternating"` is the
        published iteration [1]_; `"auto"` is the same as `"newton"`.
    tol : float, default=1e-3
        Precision of the fit: the duality gap to reach, relative to the objective. Reaching 1e-6
        takes few more steps.
    max_iter : int, default=100
        Maximum number of steps; a warning is issued if they do not reach `tol`.
    verbose : bool, default=False
        Whether to print a line after each step.
    center : "zero", "uniform" or array-like of shape (n_kernels,), default="zero"
        The center mu0 of the ball. With `"zero"` and a radius of one, the method is equal to
        `MKLRegressor` with norm 2. `"uniform"` stands for weights of 1 / n_kernels.
    radius : float, default=1.0
        The radius Lambda of the ball.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, which can be called on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the given kernels, which are mu if `normalize=None`.
    shares_ : ndarray of shape (n_kernels,)
        Share of each kernel in the learned kernel, by the traces of training Gram matrices.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set, at most one.
    dual_coef_ : ndarray of shape (n_samples, n_outputs)
        Coefficients of the training samples.
    intercept_ : ndarray of shape (n_outputs,)
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors.
    objective_ : float
        1/2 y'(K_mu + alpha I)^-1 y, summed over the responses; K_mu and y are centered if there is
        an intercept.
    dual_gap_ : float
        Proven bound on how far the objective is above its optimum, relative to the objective.
    history_ : list of WeightStep
        Objective, gap and number of kernels of each step.
    n_iter_ : int
        Number of steps. Each step fits the machines with new weights.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed stacks.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    See Also
    --------
    MKLRegressor : Other norms and losses.

    Notes
    -----
    Each step moves the weights towards center + radius v / |v|, where v_k = c'K_k c, up to the
    minimum of the second-order model of the objective. If this fails, it goes halfway, as in the
    published iteration. A step takes a Cholesky factorization and two passes of O(p n^2) over the
    kernels, in tiles.

    References
    ----------
    .. [1] C. Cortes, M. Mohri, A. Rostamizadeh (2009). L2 regularization for learning kernels. UAI,
       Figure 1.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import L2KRR
    >>> X, y = make_friedman1(200, random_state=0)
    >>> model = L2KRR(alpha=0.1, center="uniform").fit(X[:100], y[:100])
    >>> model.score(X[100:], y[100:]) > 0.7
    True
    """

    norm: float = field(default=2.0, init=False)
    loss: Literal["squared", "epsilon_insensitive"] | Loss = field(default="squared", init=False)
    epsilon: float = field(default=0.0, init=False)
    _: KW_ONLY
    center: str | npt.ArrayLike = "zero"
    radius: float = 1.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive("radius", self.radius)
        if isinstance(self.center, str):
            check_choice("center", self.center, ("zero", "uniform"))

    def _weight_set(self, n_kernels: int) -> WeightSet:
        if isinstance(self.center, str):
            center = np.full(n_kernels, 0.0 if self.center == "zero" else 1.0 / n_kernels)
            return ShiftedBall(center, float(self.radius))
        center = check_array(self.center, ensure_2d=False, dtype=np.float64, input_name="center")
        if center.shape != (n_kernels,) or center.min() < 0.0:
            raise ValueError(
                f"center must hold {n_kernels} numbers, one for each kernel, none negative."
            )
        return ShiftedBall(center, float(self.radius))

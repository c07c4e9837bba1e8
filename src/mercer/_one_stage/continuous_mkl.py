"""Multiple kernel learning over continuous families of kernels."""

from __future__ import annotations

from typing import Any, Literal, Self

from mercer._callbacks import reported_steps, with_callbacks
from mercer._greedy.convex_combination import learn_convex_combination
from mercer._kernel_estimator import training_data
from mercer._one_stage.combined_families import (
    ContinuousMKL,
    combination_settings,
    store_combination,
)
from mercer._one_stage.kernel_machines import (
    KernelMachineClassifier,
    KernelMachineRegressor,
    classification_loss,
    classification_problems,
    regression_loss,
    regression_problems,
)
from mercer._typing import Features


class ContinuousMKLClassifier(KernelMachineClassifier, ContinuousMKL):
    """Multiple kernel learning of classes over continuous families of kernels ("CR").

    The learned kernel is the convex combination of all kernels of the families with which a support
    vector machine, or another kernel machine, reaches the lowest objective. Each step adds the
    kernel along which the objective falls fastest, over all parameters of all families. More than
    two classes share one kernel.

    Parameters
    ----------
    family : kernel, name or scikit-learn Gaussian-process kernel, or a list of them, default=None
        One family or several; None stands for `Gaussian()`. The learned kernel is a convex
        combination of kernels of all families, which are not normalized: larger values of a family
        make its kernels cheaper.
    loss : {"hinge", "squared", "logistic"}, default="hinge"
        The loss of a support vector machine, of ridge regression on labels -1 and 1, or of
        logistic regression.
    C : float, default=1.0
        Weight of the loss, as in scikit-learn's SVC.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by which those of their samples are multiplied. With `"balanced"`,
        the samples of all classes have the same total weight.
    step : {"corrective", "stagewise"}, default="corrective"
        With `"corrective"`, all weights are solved for anew after each kernel; with `"stagewise"`,
        a line search mixes the new kernel with the learned one, as published [1]_.
    search : {"global", "local"}, default="global"
        With `"global"`, families of one width or frequency are searched globally, with a proven
        gap, by differences of convex functions [2]_; with `"local"`, by gradients from several
        starts. Families of more parameters are always searched by gradients; those of ARD kernels,
        such as `Gaussian(ard=True)`, start from the mean width of the isotropic kernels learned.
    width_penalty : float, default=0.0
        Strength lambda of the penalty lambda sum_z (s_z - mean s)^2 on the widths s_z of a kernel,
        in their own unit.
    tol : float, default=1e-3
        No kernel is added once max_theta c'K_theta c <= (1 + tol) c'Kc, where c are the machines'
        dual variables and theta the parameters of a kernel, or once none lowers the objective. A
        warning says so if the duality gap is larger than this.
    max_kernels : int, default=50
        Largest number of kernels to add.
    verbose : bool, default=False
        Whether to print a line after each step.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, callable on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels, positive and summing to one.
    shares_ : ndarray of shape (n_kernels,)
        Fraction of each kernel in the trace of the centered training Gram matrix.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set.
    dual_coef_ : ndarray of shape (n_samples, n_machines)
        Coefficients of the training samples.
    intercept_ : ndarray of shape (n_machines,)
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors.
    objective_ : float
        Sum over the machines of 1/2 |f|^2 + C sum loss.
    excess_ : float
        The certificate of optimality, max_theta c'K_theta c / c'Kc - 1. It is proven if all
        families have one width or frequency and are searched globally.
    dual_gap_ : float
        Bound on how far the objective is above its optimum over all convex combinations, relative
        to the objective; proven where `excess_` is.
    history_ : list of MixingStep
        The steps taken.
    n_iter_ : int
        Number of steps taken.
    classes_ : ndarray of shape (n_classes,)
    temperature_ : Temperature
        From values of the machines to probabilities, unless the loss is logistic.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    See Also
    --------
    ContinuousAlignment : Learns a kernel for alignment, which needs no machines and no C.
    MKLClassifier : Weighs a finite dictionary.

    Notes
    -----
    Each step costs O(n^2) for the search, whatever the number of widths tried, the fits of the
    machines for a few weights, and O(k n^2) for the k kernels found so far. Memory is the learned
    Gram matrix, and half a matrix of distances if it fits in half of scikit-learn's
    `working_memory`. Searches by gradients cost O(n^2 d) an evaluation.

    References
    ----------
    .. [1] A. Argyriou, C. Micchelli, M. Pontil (2005). Learning convex combinations of continuously
       parameterized basic kernels. COLT, Algorithm 1.
    .. [2] A. Argyriou, R. Hauser, C. Micchelli, M. Pontil (2006). A DC-programming algorithm for
       kernel selection. ICML.

    Examples
    --------
    >>> from mercer import ContinuousMKLClassifier
    >>> from mercer.datasets import make_sine
    >>> from mercer.kernels import Dirichlet
    >>> X, y = make_sine(200, random_state=0)
    >>> model = ContinuousMKLClassifier(Dirichlet(bounds=(0.1, 20.0)), C=0.01).fit(X, y)
    >>> round(float(model.kernel_.kernels[model.weights_.argmax()].frequency), 1)
    3.5
    """

    _kernels_parameter = "family"

    def __init__(
        self,
        family: Any = None,
        *,
        loss: Literal["hinge", "squared", "logistic"] = "hinge",
        C: float = 1.0,
        class_weight: Any = None,
        step: Literal["corrective", "stagewise"] = "corrective",
        search: Literal["global", "local"] = "global",
        width_penalty: float = 0.0,
        tol: float = 1e-3,
        max_kernels: int = 50,
        verbose: bool = False,
    ) -> None:
        self.family = family
        self.loss = loss
        self.C = C
        self.class_weight = class_weight
        self.step = step
        self.search = search
        self.width_penalty = width_penalty
        self.tol = tol
        self.max_kernels = max_kernels
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Features, y: Any, sample_weight: Any = None) -> Self:
        """Learn a convex combination of kernels and the kernel machines.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples. A weight of two is the sample given twice, and a weight of zero
            the sample left out.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X or y holds NaN or infinities, there is one sample or one class only, a parameter is
            out of its range, or a kernel returns NaN.
        """
        loss, settings = classification_loss(self.loss, self.C), combination_settings(self)
        data = training_data(self, X, y, sample_weight, self.class_weight)
        target = data.target("classification")
        problems = classification_problems(loss, data, target, intercept=True)
        families = data.families(self.family)
        with reported_steps(self) as report:
            found = learn_convex_combination(families, data.samples(), problems, settings, report)
        store_combination(self, data, target, found)
        self.classes_ = target.classes
        return self


class ContinuousMKLRegressor(KernelMachineRegressor, ContinuousMKL):
    """Multiple kernel learning of responses over continuous families of kernels ("CR").

    The learned kernel is the convex combination of all kernels of the families with which kernel
    ridge regression, or support vector regression, reaches the lowest objective. Each step adds the
    kernel along which the objective falls fastest, over all parameters of all families. Several
    responses share one kernel.

    Parameters
    ----------
    family : kernel, name or scikit-learn Gaussian-process kernel, or a list of them, default=None
        One family or several; None stands for `Gaussian()`. The learned kernel is a convex
        combination of kernels of all families, which are not normalized: larger values of a family
        make its kernels cheaper.
    loss : {"squared", "epsilon_insensitive"}, default="squared"
        The loss of kernel ridge regression or of support vector regression.
    alpha : float, default=1.0
        Penalty, as in scikit-learn's KernelRidge; used with the squared loss only.
    C : float, default=1.0
        Weight of the loss, as in scikit-learn's SVR; used with the epsilon-insensitive loss only.
    epsilon : float, default=0.1
        Errors up to this, in the unit of the response, cost nothing; used with the
        epsilon-insensitive loss only.
    step : {"corrective", "stagewise"}, default="corrective"
        With `"corrective"`, all weights are solved for anew after each kernel; with `"stagewise"`,
        a line search mixes the new kernel with the learned one, as published [1]_.
    search : {"global", "local"}, default="global"
        With `"global"`, families of one width or frequency are searched globally, with a proven
        gap, by differences of convex functions [2]_; with `"local"`, by gradients from several
        starts. Families of more parameters are always searched by gradients; those of ARD kernels,
        such as `Gaussian(ard=True)`, start from the mean width of the isotropic kernels learned.
    width_penalty : float, default=0.0
        Strength lambda of the penalty lambda sum_z (s_z - mean s)^2 on the widths s_z of a kernel,
        in their own unit.
    tol : float, default=1e-3
        No kernel is added once max_theta c'K_theta c <= (1 + tol) c'Kc, where c are the machines'
        dual variables and theta the parameters of a kernel, or once none lowers the objective. A
        warning says so if the duality gap is larger than this.
    max_kernels : int, default=50
        Largest number of kernels to add.
    verbose : bool, default=False
        Whether to print a line after each step.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, callable on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels, positive and summing to one.
    shares_ : ndarray of shape (n_kernels,)
        Fraction of each kernel in the trace of the centered training Gram matrix.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set.
    dual_coef_ : ndarray of shape (n_samples, n_outputs)
        Coefficients of the training samples.
    intercept_ : ndarray of shape (n_outputs,)
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors.
    objective_ : float
        Sum over the responses of 1/2 |f|^2 + sum loss, where the squared loss is (y - f)^2 / (2
        alpha).
    excess_ : float
        The certificate of optimality, max_theta c'K_theta c / c'Kc - 1. It is proven if all
        families have one width or frequency and are searched globally.
    dual_gap_ : float
        Bound on how far the objective is above its optimum over all convex combinations, relative
        to the objective; proven where `excess_` is.
    history_ : list of MixingStep
        The steps taken.
    n_iter_ : int
        Number of steps taken.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    See Also
    --------
    ContinuousAlignment : Learns a kernel for alignment, which needs no machines and no penalty.
    MKLRegressor : Weighs a finite dictionary.

    Notes
    -----
    See `ContinuousMKLClassifier` for the complexity and the memory.

    References
    ----------
    .. [1] A. Argyriou, C. Micchelli, M. Pontil (2005). Learning convex combinations of continuously
       parameterized basic kernels. COLT, Algorithm 1.
    .. [2] A. Argyriou, R. Hauser, C. Micchelli, M. Pontil (2006). A DC-programming algorithm for
       kernel selection. ICML.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from mercer import ContinuousMKLRegressor
    >>> X, y = make_friedman1(200, random_state=0)
    >>> model = ContinuousMKLRegressor(alpha=0.01).fit(X[:100], y[:100])
    >>> model.score(X[100:], y[100:]) > 0.7
    True
    """

    _kernels_parameter = "family"

    def __init__(
        self,
        family: Any = None,
        *,
        loss: Literal["squared", "epsilon_insensitive"] = "squared",
        alpha: float = 1.0,
        C: float = 1.0,
        epsilon: float = 0.1,
        step: Literal["corrective", "stagewise"] = "corrective",
        search: Literal["global", "local"] = "global",
        width_penalty: float = 0.0,
        tol: float = 1e-3,
        max_kernels: int = 50,
        verbose: bool = False,
    ) -> None:
        self.family = family
        self.loss = loss
        self.alpha = alpha
        self.C = C
        self.epsilon = epsilon
        self.step = step
        self.search = search
        self.width_penalty = width_penalty
        self.tol = tol
        self.max_kernels = max_kernels
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Features, y: Any, sample_weight: Any = None) -> Self:
        """Learn a convex combination of kernels and the kernel machines.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Responses.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples. A weight of two is the sample given twice, and a weight of zero
            the sample left out.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X or y holds NaN or infinities, there is one sample only, a response is constant, a
            parameter is out of its range, or a kernel returns NaN.
        """
        loss = regression_loss(self.loss, self.alpha, self.C, self.epsilon)
        settings = combination_settings(self)
        data = training_data(self, X, y, sample_weight)
        target = data.target("regression")
        problems = regression_problems(loss, data, intercept=True)
        families = data.families(self.family)
        with reported_steps(self) as report:
            found = learn_convex_combination(families, data.samples(), problems, settings, report)
        store_combination(self, data, target, found)
        self._is_response_flat = data.y.ndim == 1
        return self

"""Multiple kernel learning over continuous families of kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal

import numpy as np

from mercer._data.types import Array, ClassWeight
from mercer._data.validation import check_choice, check_number
from mercer._estimators.kernel_estimator import TrainingData
from mercer._estimators.one_stage.base import Report
from mercer._estimators.one_stage.kernel_machines import (
    FittedMachines,
    KernelMachines,
    MachineClassifier,
    MachineRegressor,
)
from mercer._gram.kernel_products import base_grams
from mercer._search.convex_combination import CombinationSettings, learn_convex_combination
from mercer._search.parameter_search import WidthPenalty
from mercer.kernels import Kernel
from mercer.kernels._composition import trace_shares
from mercer.kernels._conversion import KernelFamily
from mercer.losses import Loss


class ContinuousMKL(KernelMachines):
    """Kernel machines on a convex combination of kernels from continuous families."""

    _kernels_parameter = "family"
    family: KernelFamily
    step: Literal["corrective", "stagewise"]
    search: Literal["global", "local"]
    width_penalty: float
    max_kernels: int
    excess_: float

    def _n_gram_matrices(self) -> int:
        return 5

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.family, str) and self.family == "precomputed":
            raise ValueError(
                'family cannot be "precomputed": matrices have no parameters to search. '
                "MKLClassifier and MKLRegressor weigh them."
            )
        check_choice("step", self.step, ("corrective", "stagewise"))
        check_choice("search", self.search, ("global", "local"))
        check_number("width_penalty", self.width_penalty)
        check_number("max_kernels", self.max_kernels, whole=True, low=1)

    def _kernels_of(self, data: TrainingData) -> list[Kernel]:
        return data.families(self.family)

    def _learn(
        self, data: TrainingData, kernels: list[Kernel], Y: Array, report: Report
    ) -> FittedMachines:
        settings = CombinationSettings(
            corrective=self.step == "corrective",
            tol=float(self.tol),
            max_kernels=self.max_kernels,
            local=self.search == "local",
            width_penalty=WidthPenalty(float(self.width_penalty)),
        )
        problems, samples = self._problems(data, Y), data.samples()
        found = learn_convex_combination(kernels, samples, problems, settings, report)
        assert found.learned is not None
        self.excess_, self._status = found.excess, found.status
        used = np.flatnonzero(found.weights)
        kernels, weights = [found.kernels[k] for k in used], found.weights[used]
        traces = base_grams(samples, kernels, centered=True).traces(data.weights.given)
        machines = replace(found.learned, gap=found.gap, history=list(found.history))
        return FittedMachines(kernels, weights, trace_shares(weights, traces), machines, problems)

    def _stopped_by(self) -> str:
        advice = {
            "growing": 'Raise max_kernels, or use step="corrective".',
            "stalled": "No step found lowers the objective any more.",
            "optimal": "The machines did not converge: scale the features or lower C.",
        }
        return (
            "; c'Kc of another kernel exceeds the learned kernel's by "
            f"{max(self.excess_, 0.0):.2g}, relatively. {advice[self._status]}"
        )


@dataclass(eq=False, repr=False)
class ContinuousMKLClassifier(MachineClassifier, ContinuousMKL):
    """Classifier that also learns the weights and widths of a sum of kernels ("CR").

    This is multiple kernel learning (MKL) over families of kernels, such as all Gaussian kernels
    with widths between two bounds. The learned kernel is the convex combination of kernels from
    these families that gives a support vector machine, or another kernel machine, its lowest
    objective. Each step adds the kernel along which the objective falls fastest. If there are more
    than two classes, all of them share one kernel. Some papers call the method CR: continuous
    set, regularized risk.

    Parameters
    ----------
    family : kernel, name or scikit-learn Gaussian-process kernel, or a list of them, default=None
        One family or several; None stands for `Gaussian()`. The learned kernel is a convex
        combination of kernels of all families. Since kernels are not normalized, a family with
        larger values is penalized less.
    loss : {"hinge", "squared", "logistic"} or Loss, default="hinge"
        The loss of a support vector machine, of ridge regression on labels -1 and 1, or of
        logistic regression. An object of `mercer.losses` has its own weight instead of `C`.
    C : float, default=1.0
        Weight of a loss that is given by name, as in scikit-learn's SVC.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, by label, which multiplies the weights of its samples. `"balanced"`
        gives all classes the same total weight.
    step : {"corrective", "stagewise"}, default="corrective"
        With `"corrective"`, all weights are optimized again after each new kernel. With
        `"stagewise"`, a line search mixes the new kernel with the learned kernel, as published
        [1]_.
    search : {"global", "local"}, default="global"
        With `"global"`, families of one width or frequency are searched globally, with a proven
        gap, by differences of convex functions [2]_. With `"local"`, they are searched by gradients
        from several starts. Families of more parameters are always searched by gradients. For
        kernels with one width per feature, such as `Gaussian(ard=True)`, the search starts from the
        mean width of learned kernels with a single width.
    width_penalty : float, default=0.0
        Strength lambda of the penalty lambda sum_z (s_z - mean s)^2 on the widths s_z of a kernel,
        in the unit of the widths.
    tol : float, default=1e-3
        Kernels are added until max_theta c'K_theta c <= (1 + tol) c'Kc, or until no kernel lowers
        the objective. Here c are the dual variables of the machines, and theta are the parameters
        of a kernel. A warning is issued if the duality gap exceeds `tol`.
    max_kernels : int, default=50
        Maximum number of kernels to add.
    verbose : bool, default=False
        Whether to print a line after each step.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, which can be called on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Positive coefficients of the kernels, summing to one.
    shares_ : ndarray of shape (n_kernels,)
        Share of each kernel in the learned kernel, by the traces of centered training Gram
        matrices.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set, at most one.
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
        to the objective. It is proven whenever `excess_` is.
    history_ : list of MixingStep
        The steps that were taken.
    n_iter_ : int
        Number of steps.
    classes_ : ndarray of shape (n_classes,)
    temperature_ : Calibration
        The map from decision values to probabilities, which is fitted to the decision values of
        held-out samples when it is first read or needed. Groups that are passed to `fit` are held
        out as a whole, so that prediction sets are valid for samples of new groups.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    See Also
    --------
    ContinuousAlignment : Learns a kernel by alignment, which needs no machines and no C.
    MKLClassifier : Learns the weights of a finite dictionary.

    Notes
    -----
    Each step takes O(n^2) time for the search, for any number of widths that are tried, and
    O(k n^2) for the k kernels found so far. It also fits the machines for a few weights. The
    learned Gram matrix is kept in memory, and so is half a matrix of distances if it fits in half
    of scikit-learn's `working_memory`. Searches by gradients take O(n^2 d) time per evaluation.

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

    family: KernelFamily = None
    _: KW_ONLY
    loss: Literal["hinge", "squared", "logistic"] | Loss = "hinge"
    C: float = 1.0
    class_weight: ClassWeight = None
    step: Literal["corrective", "stagewise"] = "corrective"
    search: Literal["global", "local"] = "global"
    width_penalty: float = 0.0
    tol: float = 1e-3
    max_kernels: int = 50
    verbose: bool = False


@dataclass(eq=False, repr=False)
class ContinuousMKLRegressor(MachineRegressor, ContinuousMKL):
    """Regressor that also learns the weights and widths of a sum of kernels ("CR").

    This is multiple kernel learning (MKL) over families of kernels, such as all Gaussian kernels
    with widths between two bounds. The learned kernel is the convex combination of kernels from
    these families that gives kernel ridge regression, or support vector regression, its lowest
    objective. Each step adds the kernel along which the objective falls fastest. Several responses
    share one kernel. Some papers call the method CR: continuous set, regularized risk.

    Parameters
    ----------
    family : kernel, name or scikit-learn Gaussian-process kernel, or a list of them, default=None
        One family or several; None stands for `Gaussian()`. The learned kernel is a convex
        combination of kernels of all families. Since kernels are not normalized, a family with
        larger values is penalized less.
    loss : {"squared", "epsilon_insensitive"} or Loss, default="squared"
        The loss of kernel ridge regression or of support vector regression. An object of
        `mercer.losses` has its own weight instead of `alpha`.
    alpha : float, default=1.0
        Penalty for a loss that is given by name, as in scikit-learn's KernelRidge. The `C` of
        support vector regression is 1 / alpha.
    epsilon : float, default=0.1
        With ``loss="epsilon_insensitive"``, errors up to this size, in the unit of the response,
        have no loss.
    step : {"corrective", "stagewise"}, default="corrective"
        With `"corrective"`, all weights are optimized again after each new kernel. With
        `"stagewise"`, a line search mixes the new kernel with the learned kernel, as published
        [1]_.
    search : {"global", "local"}, default="global"
        With `"global"`, families of one width or frequency are searched globally, with a proven
        gap, by differences of convex functions [2]_. With `"local"`, they are searched by gradients
        from several starts. Families of more parameters are always searched by gradients. For
        kernels with one width per feature, such as `Gaussian(ard=True)`, the search starts from the
        mean width of learned kernels with a single width.
    width_penalty : float, default=0.0
        Strength lambda of the penalty lambda sum_z (s_z - mean s)^2 on the widths s_z of a kernel,
        in the unit of the widths.
    tol : float, default=1e-3
        Kernels are added until max_theta c'K_theta c <= (1 + tol) c'Kc, or until no kernel lowers
        the objective. Here c are the dual variables of the machines, and theta are the parameters
        of a kernel. A warning is issued if the duality gap exceeds `tol`.
    max_kernels : int, default=50
        Maximum number of kernels to add.
    verbose : bool, default=False
        Whether to print a line after each step.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, which can be called on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Positive coefficients of the kernels, summing to one.
    shares_ : ndarray of shape (n_kernels,)
        Share of each kernel in the learned kernel, by the traces of centered training Gram
        matrices.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set, at most one.
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
        to the objective. It is proven whenever `excess_` is.
    history_ : list of MixingStep
        The steps that were taken.
    n_iter_ : int
        Number of steps.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    See Also
    --------
    ContinuousAlignment : Learns a kernel by alignment, which needs no machines and no penalty.
    MKLRegressor : Learns the weights of a finite dictionary.

    Notes
    -----
    See `ContinuousMKLClassifier` for time and memory.

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

    family: KernelFamily = None
    _: KW_ONLY
    loss: Literal["squared", "epsilon_insensitive"] | Loss = "squared"
    alpha: float = 1.0
    epsilon: float = 0.1
    step: Literal["corrective", "stagewise"] = "corrective"
    search: Literal["global", "local"] = "global"
    width_penalty: float = 0.0
    tol: float = 1e-3
    max_kernels: int = 50
    verbose: bool = False

"""One-stage learning over continuous families of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from mercer._gram.kernel_products import base_grams
from mercer._gram.tiles import Samples
from mercer._greedy.mixture import Mixing, learn_mixture
from mercer._learners.legacy import check_takes
from mercer._one_stage.one_stage import OneStage, OneStageClassifier, OneStageRegressor
from mercer._search.parameter_search import WidthPenalty
from mercer._targets import Target
from mercer._typing import Features
from mercer._validation import check_choice, check_number, check_positive
from mercer._weights.mkl import Problems
from mercer.kernels import Gaussian, as_dictionary


class ContinuousOneStage(OneStage):
    """The convex combination, of all kernels of some families, of lowest objective."""

    family: Any
    step: Literal["corrective", "stagewise"]
    search: Literal["global", "local"]
    penalty: float
    max_kernels: int

    def _sources(self) -> Any:
        return self.family

    def _takes_stack(self) -> bool:
        return False

    def _check_settings(self) -> None:
        self._check_loss()
        if isinstance(self.family, str) and self.family == "precomputed":
            raise ValueError(
                'family cannot be "precomputed": matrices have no parameters to search. '
                "MKLClassifier and MKLRegressor weigh them."
            )
        check_choice("step", self.step, ("corrective", "stagewise"))
        check_choice("search", self.search, ("global", "local"))
        check_number("penalty", self.penalty)
        check_positive("tol", self.tol)
        check_number("max_kernels", self.max_kernels, whole=True, low=1)

    def _learn(
        self,
        table: Features,
        samples: Samples,
        target: Target,
        problems: Problems,
        report: Callable[..., None],
    ) -> None:
        families = as_dictionary(Gaussian() if self.family is None else self.family, table)
        check_takes(families, samples.X)
        mixing = Mixing(
            self.step == "corrective",
            float(self.tol),
            self.max_kernels,
            self.search == "local",
            WidthPenalty(float(self.penalty)),
        )
        found = learn_mixture(families, samples, problems, mixing, report)
        assert found.learned is not None
        used = np.flatnonzero(found.theta)
        kernels, weights = [found.kernels[k] for k in used], found.theta[used]
        self._store(samples, target, kernels, weights, found.learned)
        traces = base_grams(samples, kernels, centered=True).traces()
        parts = weights * traces
        self.shares_ = parts / parts.sum() if parts.any() else parts
        self.excess_ = found.excess
        self.dual_gap_ = found.gap
        self.history_ = list(found.history)
        self.n_iter_ = len(found.history)
        if not found.gap <= self.tol:
            advice = {
                "growing": 'Raise max_kernels, or take step="corrective".',
                "stalled": "No step found lowers the objective any more.",
                "optimal": "The machines did not converge: scale the features or lower C.",
            }
            self._warn(
                f"Stopped after {self.n_iter_} steps at a relative duality gap of {found.gap:.2g}, "
                f"above tol={self.tol:g}; c'Kc of another kernel is larger than that of the "
                f"learned one by {max(found.excess, 0.0):.2g}, relatively. {advice[found.status]}"
            )


class ContinuousMKLClassifier(ContinuousOneStage, OneStageClassifier):
    """The best convex combination, for a kernel machine, of all kernels of some families ("CR").

    Each step finds the kernel along which the objective of a support vector machine, or another
    kernel machine, falls fastest, over all parameters of all families. More than two classes share
    one kernel.

    Parameters
    ----------
    family : kernel, name or scikit-learn Gaussian-process kernel, or a list of them, default=None
        One family or several; `Gaussian()` where None. The learned kernel is a convex combination
        of kernels of all of them, as they are: a family of larger values is a stronger one.
    loss : {"hinge", "squared", "logistic"}, default="hinge"
        Of a support vector machine, of ridge regression on labels -1 and 1, or of logistic
        regression.
    C : float, default=1.0
        Weight of the loss, as in scikit-learn's SVC.
    step : {"corrective", "stagewise"}, default="corrective"
        Whether all weights are solved for anew after each kernel, or the new kernel is mixed with
        the learned one by a line search, as published.
    search : {"global", "local"}, default="global"
        How families of one width or frequency are searched: globally, with a proven gap, by
        differences of convex functions [2]_, or by gradients from several starts. Families of
        more parameters are always searched by gradients, `Gaussian(ard=True)` for instance from
        the mean width that one width for all features gives.
    penalty : float, default=0.0
        Strength lambda of lambda sum_z (s_z - mean s)^2 over the widths s_z of a kernel, in their
        own unit.
    tol : float, default=1e-3
        No kernel is added once max_theta c'K_theta c <= (1 + tol) c'Kc, c being the machines' dual
        variables, or once none lowers the objective. A warning says so where the duality gap is
        larger.
    max_kernels : int, default=50
        Steps at most.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, callable on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels, positive and summing to one.
    shares_ : ndarray of shape (n_kernels,)
        Part of each kernel in the trace of the centered training Gram matrix, summing to one.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set.
    dual_coef_ : ndarray of shape (n_samples, n_machines)
        Coefficients of the training samples.
    intercept_ : ndarray of shape (n_machines,)
    support_ : ndarray of shape (n_support,)
        Positions of the samples that some coefficient is not zero of.
    objective_ : float
        Sum over the machines of 1/2 |f|^2 + C sum loss.
    excess_ : float
        The certificate of optimality, max_theta c'K_theta c / c'Kc - 1; proven where families have
        one width or frequency and are searched globally.
    dual_gap_ : float
        Bound on how far the objective is above its optimum over all convex combinations, relative
        to it; proven where `excess_` is.
    history_ : list of MixingStep
        The steps taken.
    n_iter_ : int
        Number of steps taken.
    classes_ : ndarray of shape (n_classes,)
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    See Also
    --------
    ContinuousAlignment : Grows for alignment, which needs no machines and no C.
    MKLClassifier : Weighs a finite dictionary.

    Notes
    -----
    Each step costs O(n^2) for the search, whatever the number of widths tried, the fits of the
    machines for a few weights, and O(k n^2) for the k kernels found so far. Memory is the learned
    Gram matrix, and half a matrix of distances where it fits in half of scikit-learn's
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

    def __init__(
        self,
        family: Any = None,
        *,
        loss: Literal["hinge", "squared", "logistic"] = "hinge",
        C: float = 1.0,
        step: Literal["corrective", "stagewise"] = "corrective",
        search: Literal["global", "local"] = "global",
        penalty: float = 0.0,
        tol: float = 1e-3,
        max_kernels: int = 50,
    ) -> None:
        self.family = family
        self.loss = loss
        self.C = C
        self.step = step
        self.search = search
        self.penalty = penalty
        self.tol = tol
        self.max_kernels = max_kernels


class ContinuousMKLRegressor(ContinuousOneStage, OneStageRegressor):
    """The best convex combination, for kernel regression, of all kernels of some families ("CR").

    Each step finds the kernel along which the objective of kernel ridge regression, or of support
    vector regression, falls fastest, over all parameters of all families. Several responses share
    one kernel.

    Parameters
    ----------
    family : kernel, name or scikit-learn Gaussian-process kernel, or a list of them, default=None
        One family or several; `Gaussian()` where None. The learned kernel is a convex combination
        of kernels of all of them, as they are: a family of larger values is a stronger one.
    loss : {"squared", "epsilon_insensitive"}, default="squared"
        Of kernel ridge regression or of support vector regression.
    alpha : float, default=1.0
        Penalty, as in scikit-learn's KernelRidge; of the squared loss only.
    C : float, default=1.0
        Weight of the loss, as in scikit-learn's SVR; of the epsilon-insensitive loss only.
    epsilon : float, default=0.1
        Errors up to this, in the unit of the response, cost nothing; of the epsilon-insensitive
        loss only.
    step : {"corrective", "stagewise"}, default="corrective"
        Whether all weights are solved for anew after each kernel, or the new kernel is mixed with
        the learned one by a line search, as published.
    search : {"global", "local"}, default="global"
        How families of one width or frequency are searched: globally, with a proven gap, by
        differences of convex functions [2]_, or by gradients from several starts. Families of
        more parameters are always searched by gradients, `Gaussian(ard=True)` for instance from
        the mean width that one width for all features gives.
    penalty : float, default=0.0
        Strength lambda of lambda sum_z (s_z - mean s)^2 over the widths s_z of a kernel, in their
        own unit.
    tol : float, default=1e-3
        No kernel is added once max_theta c'K_theta c <= (1 + tol) c'Kc, c being the machines' dual
        variables, or once none lowers the objective. A warning says so where the duality gap is
        larger.
    max_kernels : int, default=50
        Steps at most.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, callable on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels, positive and summing to one.
    shares_ : ndarray of shape (n_kernels,)
        Part of each kernel in the trace of the centered training Gram matrix, summing to one.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set.
    dual_coef_ : ndarray of shape (n_samples, n_outputs)
        Coefficients of the training samples.
    intercept_ : ndarray of shape (n_outputs,)
    support_ : ndarray of shape (n_support,)
        Positions of the samples that some coefficient is not zero of.
    objective_ : float
        Sum over the responses of 1/2 |f|^2 + sum loss, where the squared loss is (y - f)^2 / (2
        alpha).
    excess_ : float
        The certificate of optimality, max_theta c'K_theta c / c'Kc - 1; proven where families have
        one width or frequency and are searched globally.
    dual_gap_ : float
        Bound on how far the objective is above its optimum over all convex combinations, relative
        to it; proven where `excess_` is.
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
    ContinuousAlignment : Grows for alignment, which needs no machines and no penalty.
    MKLRegressor : Weighs a finite dictionary.

    Notes
    -----
    Each step costs O(n^2) for the search, whatever the number of widths tried, the fits of the
    machines for a few weights, and O(k n^2) for the k kernels found so far. Memory is the learned
    Gram matrix, and half a matrix of distances where it fits in half of scikit-learn's
    `working_memory`. Searches by gradients cost O(n^2 d) an evaluation.

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
        penalty: float = 0.0,
        tol: float = 1e-3,
        max_kernels: int = 50,
    ) -> None:
        self.family = family
        self.loss = loss
        self.alpha = alpha
        self.C = C
        self.epsilon = epsilon
        self.step = step
        self.search = search
        self.penalty = penalty
        self.tol = tol
        self.max_kernels = max_kernels

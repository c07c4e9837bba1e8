"""Multiple kernel learning: joint learning of dictionary weights and kernel machines."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from mercer._data.types import Array, ClassWeight
from mercer._data.validation import check_bool, check_choice, check_number
from mercer._estimators.kernel_estimator import TrainingData
from mercer._estimators.one_stage.base import Report
from mercer._estimators.one_stage.kernel_machines import (
    FittedMachines,
    KernelMachines,
    MachineClassifier,
    MachineRegressor,
)
from mercer._gram.kernel_products import base_grams
from mercer._search.weights.feature_weights import learn_feature_weights
from mercer._search.weights.linear_features import linear_features
from mercer._search.weights.mkl import SOLVERS, Solver, learn_weights
from mercer._search.weights.single_kernel import single_kernel_machine
from mercer._search.weights.weight_sets import WeightSet, unit_ball
from mercer.kernels import Kernel
from mercer.kernels._composition import trace_shares
from mercer.kernels._conversion import KernelDictionary
from mercer.losses import Loss


class FiniteMKL(KernelMachines):
    """Kernel machines on a weighted sum of the kernels of a finite dictionary."""

    norm: float
    normalize: Literal["trace"] | None
    solver: Solver
    max_iter: int

    def _n_gram_matrices(self) -> int:
        # The interior-point method, which "auto" may choose, needs one more matrix than the others.
        return 4 if self.solver in ("newton", "alternating") else 5

    def _check_parameters(self) -> None:
        super()._check_parameters()
        unit_ball(self.norm)
        check_choice("normalize", self.normalize, ("trace", None))
        check_bool("fit_intercept", self.fit_intercept)
        check_choice("solver", self.solver, SOLVERS)
        check_number("max_iter", self.max_iter, whole=True, low=1)

    def _weight_set(self, n_kernels: int) -> WeightSet:
        """Return the set over which the weights are optimized."""
        return unit_ball(self.norm)

    def _learn(
        self, data: TrainingData, kernels: list[Kernel], Y: Array, report: Report
    ) -> FittedMachines:
        problems, weight_set = self._problems(data, Y), self._weight_set(len(kernels))
        solvable = weight_set.has_interior_point and problems.boxes() is not None
        if self.solver == "interior_point" and not solvable:
            raise ValueError(
                'solver="interior_point" needs the hinge or the epsilon-insensitive loss, and '
                "norm=1."
            )
        samples = data.samples(len(kernels), keep=len(kernels) > 1)
        if len(kernels) == 1:
            scaled = self.normalize is not None
            alone = single_kernel_machine(
                problems, samples, kernels[0], tol=float(self.tol), unit_trace=scaled
            )
            if alone is not None:
                report(alone.history[0])
                return FittedMachines(kernels, alone.weights, np.ones(1), alone, problems)
        options: dict[str, Any] = {"solver": self.solver, "tol": float(self.tol)}
        options |= {"max_iter": self.max_iter, "on_step": report}
        features = linear_features(problems, samples, kernels)
        found = None
        if features is not None:
            traces = features.traces()
            scales = self._scales(traces, samples.total)
            found = learn_feature_weights(features, scales, weight_set, **options)
        if found is None:
            features = None
            grams = base_grams(samples, kernels, centered=problems.intercept)
            traces = grams.traces(problems.loss.weights)
            scales = self._scales(traces, samples.total)
            found = learn_weights(problems, grams.scaled(scales), weight_set, **options)
        weights = found.weights * scales
        shares = trace_shares(weights, traces)
        return FittedMachines(kernels, weights, shares, found, problems, features)

    def _scales(self, traces: Array, total: float) -> Array:
        """Return the factors of the kernels, by the traces of their Gram matrices."""
        if self.normalize is None:
            return np.ones(traces.size)
        # Kernels of zero trace get no weight. They are constant if there is an intercept.
        means = traces / total
        return np.divide(1.0, means, out=0.0 * means, where=means > 0.0)

    def _stopped_by(self) -> str:
        advice = "raise max_iter" if self.n_iter_ >= self.max_iter else "rounding stops it"
        scaling = "" if self.normalize else ', and normalize="trace" brings kernels to one scale'
        return f": {advice}{scaling}."


@dataclass(eq=False, repr=False)
class MKLClassifier(MachineClassifier, FiniteMKL):
    """Classifier that also learns the weights of a sum of given kernels ("D1", "D2").

    This is multiple kernel learning (MKL) with a bound on the lp-norm of the weights. Under this
    bound, the learned weights give a support vector machine, or another kernel machine, its lowest
    objective. If there are more than two classes, all of them share one kernel. Some papers call
    the method D1 and D2 for the norms 1 and 2.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The kernels to combine, also called the dictionary: kernels of `mercer.kernels`, their
        names, callables or scikit-learn Gaussian-process kernels. None stands for 20 Gaussian
        kernels whose widths are chosen from the data. With `"precomputed"`, X is a stack of Gram
        matrices of shape (n_samples, n_samples, n_kernels).
    norm : float, default=1.0
        The p of the lp-norm. The lp-norm of the weights is at most one. A `norm` of 1 selects few
        kernels, a larger value keeps all kernels, and infinity weights all kernels equally.
    loss : {"hinge", "squared", "logistic"} or Loss, default="hinge"
        The loss of a support vector machine, of ridge regression on labels -1 and 1, or of
        logistic regression. An object of `mercer.losses` has its own weight instead of `C`.
    C : float, default=1.0
        Weight of a loss that is given by name, as in scikit-learn's SVC.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, by label, which multiplies the weights of its samples. `"balanced"`
        gives all classes the same total weight.
    normalize : {"trace", None}, default="trace"
        With `"trace"`, every kernel is first divided by the mean diagonal of its Gram matrix, which
        is centered if there is an intercept. All traces are then n_samples, not one as in the
        papers. `C` then has the same meaning as for one kernel of unit variance, for any number of
        samples.
    fit_intercept : bool, default=True
        Whether the machines have an intercept.
    solver : {"auto", "newton", "interior_point", "alternating"}, default="auto"
        How weights and machines are found. `"newton"` takes Newton steps in the weights.
        `"alternating"` takes the closed-form steps of [1]_, which become slow near the optimum.
        `"interior_point"` finds weights and dual variables jointly, but only for norm 1 and the
        hinge loss. `"auto"` takes Newton steps, or the interior-point method if they are slow.
    tol : float, default=1e-3
        Precision of the fit: the duality gap to reach, relative to the objective. Reaching 1e-6
        takes few more steps.
    max_iter : int, default=100
        Maximum number of steps; a warning is issued if they do not reach `tol`.
    verbose : bool, default=False
        Whether to print a line after each step.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, which can be called on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the given kernels. With `normalize=None`, their lp-norm is one. Otherwise,
        the lp-norm of the weights of the scaled kernels is one.
    shares_ : ndarray of shape (n_kernels,)
        Share of each kernel in the learned kernel, by the traces of training Gram matrices.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set, at most one.
    dual_coef_ : ndarray of shape (n_samples, n_machines)
        Coefficients of the training samples. Their dual objective proves the gap, unless
        predictions with such coefficients would be worse than `tol` allows.
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
    ContinuousMKLClassifier : Also searches the parameters of the kernels.
    TwoStageClassifier : Learns the kernel first, by alignment, which is faster.

    Notes
    -----
    The objective is convex in the weights, and its second derivatives depend only on samples whose
    dual variables are not at a bound. Each step is a Newton step. For norm 1, it solves a quadratic
    program over the simplex; for larger norms, it is taken in the logarithms of the weights. If a
    Newton step fails, it is replaced by the closed form of [1]_. Support vector machines are fitted
    by scikit-learn's SVC and SVR, and refined by an active-set method if the gap requires it, or if
    there are at most 400 samples. One machine of more samples, with an intercept and a single
    kernel that is not linear, is fitted once, and `alignment_` is computed when it is first read.
    With ``normalize=None``, more than 2,000 samples and fewer than 30 features, the machine of a
    Gaussian or polynomial kernel takes no Gram matrix.
    Machines with the squared loss are fitted by a Cholesky factor, and machines with the logistic
    loss by Newton's method. For norm 1 and many kernels of low rank, the objective has kinks. In
    that case, the gap is proven by a convex combination of the dual variables of several steps.
    After a dozen steps, or at once if each kernel uses one column and there are more columns than
    samples, an interior-point method finds weights and dual variables jointly.

    A step fits the machines and takes two passes of O(p n^2) over the Gram matrices of the p
    kernels, in tiles. The learned Gram matrix and p vectors per machine are kept in memory. If each
    kernel is a linear kernel of one column, a pass takes only O(n p), and less if the columns are
    sparse.

    If the loss is squared, and all kernels are linear kernels of some columns, fewer than samples,
    no Gram matrix is computed. For norm 1, this is the group lasso. Each step then adds a vector to
    a subspace of the dual variables, the generalized Krylov subspace of [3]_, and takes a Newton
    step in the subspace if the gap depends on it, all in O(n d) for d columns. Small penalties,
    which need a subspace of more than d / 8 dimensions, take Newton steps of O(d^3) instead.
    `alignment_` takes O(n d^2), and is computed when it is first read.

    References
    ----------
    .. [1] M. Kloft, U. Brefeld, S. Sonnenburg, A. Zien (2011). lp-norm multiple kernel learning.
       Journal of Machine Learning Research 12, sections 3.3 and 4.
    .. [2] A. Rakotomamonjy, F. Bach, S. Canu, Y. Grandvalet (2008). SimpleMKL. Journal of Machine
       Learning Research 9, sections 2.3 and 3.3, for the gap.
    .. [3] J. Lampe, L. Reichel, H. Voss (2012). Large-scale Tikhonov regularization via reduction
       by orthogonal projection. Linear Algebra and its Applications 436, 2845-2865.

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

    kernels: KernelDictionary = None
    _: KW_ONLY
    norm: float = 1.0
    loss: Literal["hinge", "squared", "logistic"] | Loss = "hinge"
    C: float = 1.0
    class_weight: ClassWeight = None
    normalize: Literal["trace"] | None = "trace"
    fit_intercept: bool = True
    solver: Solver = "auto"
    tol: float = 1e-3
    max_iter: int = 100
    verbose: bool = False


@dataclass(eq=False, repr=False)
class MKLRegressor(MachineRegressor, FiniteMKL):
    """Regressor that also learns the weights of a sum of given kernels.

    This is multiple kernel learning (MKL) with a bound on the lp-norm of the weights. Under this
    bound, the learned weights give kernel ridge regression, or support vector regression, its
    lowest objective. Several responses share one kernel.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The kernels to combine, also called the dictionary: kernels of `mercer.kernels`, their
        names, callables or scikit-learn Gaussian-process kernels. None stands for 20 Gaussian
        kernels whose widths are chosen from the data. With `"precomputed"`, X is a stack of Gram
        matrices of shape (n_samples, n_samples, n_kernels).
    norm : float, default=2.0
        The p of the lp-norm. The lp-norm of the weights is at most one. A `norm` of 1 selects few
        kernels, a larger value keeps all kernels, and infinity weights all kernels equally.
    loss : {"squared", "epsilon_insensitive"} or Loss, default="squared"
        The loss of kernel ridge regression or of support vector regression. An object of
        `mercer.losses` has its own weight instead of `alpha`.
    alpha : float, default=1.0
        Penalty for a loss that is given by name, as in scikit-learn's KernelRidge. The `C` of
        support vector regression is 1 / alpha.
    epsilon : float, default=0.1
        With ``loss="epsilon_insensitive"``, errors up to this size, in the unit of the response,
        have no loss.
    normalize : {"trace", None}, default="trace"
        With `"trace"`, every kernel is first divided by the mean diagonal of its Gram matrix, which
        is centered if there is an intercept. All traces are then n_samples, not one as in the
        papers. `alpha` then has the same meaning as for one kernel of unit variance, for any number
        of samples.
    fit_intercept : bool, default=True
        Whether the machines have an intercept.
    solver : {"auto", "newton", "interior_point", "alternating"}, default="auto"
        How weights and machines are found. `"newton"` takes Newton steps in the weights.
        `"alternating"` takes the closed-form steps of [1]_, which become slow near the optimum.
        `"interior_point"` finds weights and dual variables jointly, but only for norm 1 and the
        epsilon-insensitive loss. `"auto"` takes Newton steps, or the interior-point method if they
        are slow.
    tol : float, default=1e-3
        Precision of the fit: the duality gap to reach, relative to the objective. Reaching 1e-6
        takes few more steps.
    max_iter : int, default=100
        Maximum number of steps; a warning is issued if they do not reach `tol`.
    verbose : bool, default=False
        Whether to print a line after each step.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, which can be called on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the given kernels. With `normalize=None`, their lp-norm is one. Otherwise,
        the lp-norm of the weights of the scaled kernels is one.
    shares_ : ndarray of shape (n_kernels,)
        Share of each kernel in the learned kernel, by the traces of training Gram matrices.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set, at most one.
    dual_coef_ : ndarray of shape (n_samples, n_outputs)
        Coefficients of the training samples. Their dual objective proves the gap, unless
        predictions with such coefficients would be worse than `tol` allows.
    intercept_ : ndarray of shape (n_outputs,)
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors.
    objective_ : float
        Sum over the responses of 1/2 |f|^2 + sum loss, where the squared loss is (y - f)^2 / (2
        alpha).
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
    L2KRR : Kernel ridge regression with weights in a ball around given weights.
    ContinuousMKLRegressor : Also searches the parameters of the kernels.
    TwoStageRegressor : Learns the kernel first, by alignment, which is faster.

    Notes
    -----
    See `MKLClassifier` for the solver, its time and its memory.

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

    kernels: KernelDictionary = None
    _: KW_ONLY
    norm: float = 2.0
    loss: Literal["squared", "epsilon_insensitive"] | Loss = "squared"
    alpha: float = 1.0
    epsilon: float = 0.1
    normalize: Literal["trace"] | None = "trace"
    fit_intercept: bool = True
    solver: Solver = "auto"
    tol: float = 1e-3
    max_iter: int = 100
    verbose: bool = False

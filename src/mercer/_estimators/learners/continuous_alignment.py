"""The learner that adds kernels from continuous families."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer._data.types import Array
from mercer._data.validation import (
    are_positive,
    check_bool,
    check_choice,
    check_number,
    check_strength,
    warn,
)
from mercer._estimators.fits import reported_steps
from mercer._estimators.kernel_estimator import TrainingData
from mercer._estimators.kernel_learner import CrossValidatedLearner, KernelLearner
from mercer._estimators.learners.kernel_optimization import KernelOptimization
from mercer._gram.samples import Samples
from mercer._model_selection.penalty_choice import (
    RELATIVE_FORMS,
    choose_strength_by_alignment,
    choose_strength_by_prediction,
)
from mercer._search.family_search import STEP_TOLERANCE
from mercer._search.greedy_alignment import Growth, learn_families, learn_scaled, scalable
from mercer._search.parameter_search import PenaltyForm, WidthPenalty
from mercer._search.records import LearnedKernel
from mercer._search.targets import Target, Task
from mercer.kernels import Kernel
from mercer.kernels._conversion import KernelFamily, OutputKernelSource


@dataclass(eq=False, repr=False)
class ContinuousAlignment(CrossValidatedLearner):
    """Learn a sum of kernels and their widths, adding one kernel at a time ("CA").

    A family is a kernel with free parameters, such as all Gaussian kernels with widths between two
    bounds. Each step adds the kernel of the family along which the centered alignment with the
    target grows fastest. The centered alignment, which is at most one, measures how well the kernel
    between samples agrees with the similarity of their targets. The method is called continuous
    alignment (CA).

    Parameters
    ----------
    family : kernel, name or scikit-learn Gaussian-process kernel, or a list of them, default=None
        One family or several; `Gaussian()` if None. Families with a single width are searched
        globally (CA-1D), and families with more parameters by gradients (CA-nD). For
        `Gaussian(ard=True)`, which has one width per feature, the search by gradients starts from
        the mean width that CA-1D finds.
    step : {"corrective", "stagewise"}, default="corrective"
        After each new kernel, `"corrective"` solves for all weights again, and optimizes the widths
        of a single radial family jointly. `"stagewise"` chooses only the weight of the new kernel,
        as in Algorithm 1 of the reference; see Notes.
    width_penalty : float or "auto", default=0.0
        Strength of the penalty on differences between the widths of a kernel with one width per
        feature (an ARD kernel). Infinity makes all widths of a kernel equal. `"auto"` selects the
        strength on held-out samples.
    width_penalty_on : {"widths", "log_widths", "inverse_widths"}, default="widths"
        With `"widths"`, the penalty lambda sum_z (s_z - mean s)^2 is subtracted from <F', K>, as
        published (eq. 4). Here lambda is the strength, s_z are the widths in their own unit, and F'
        is the gradient of the alignment at the learned kernel. This gradient grows as the weights
        of the learned kernel shrink. It is largest in the first step, at eps I, so that lambda has
        to be large there. A strength of "auto" selects the lambda whose kernel aligns best with
        held-out samples. The other penalties are relative to the best single width, as in
        :class:`KernelOptimization`. For them, "auto" selects the strength that predicts held-out
        samples best, or infinity unless a finite strength is better by more than a standard error.
    scaling : None, array-like of shape (n_features,) or KernelOptimization, default=None
        Lengths by which features are divided before families with a single width are searched. The
        widths of all kernels then have the same ratios, and their common factor is searched
        globally, within the bounds of the family for the scaled features. If a learner of one ARD
        kernel is given, it is fitted, and its widths are the lengths.
    tol : float, default=1e-3
        Kernels are added until the alignment grows by less than this.
    max_kernels : int, default=50
        Maximum number of steps.
    eta_max : float, default=1.0
        Largest weight of a new kernel, for stagewise steps only.
    eps : float, default=1e-10
        Coefficient of the identity matrix from which the learned training Gram matrix starts.
        Stagewise steps keep this matrix. Corrective steps use `eps` only for the scale of the
        penalty in the first step, which vanishes with it.
    search_tol : float or None, default=None
        The gradient search over several parameters stops when an iteration changes the objective by
        less than this fraction. It is not used for one width or frequency. None stands for 1e-7
        with stagewise steps and for 2e-2 with corrective steps, which then take less than half of
        the time. In that case, a search may stop on a plateau, so that the alignment is somewhat
        lower.
    normalize_families : bool or None, default=None
        Whether the best kernels K of several families are compared by <F', K> / |K_c|, so that a
        family is not preferred because its values are larger. Otherwise, they are compared by
        <F', K> minus the penalty, as published. None stands for True for corrective steps, and for
        False for stagewise steps.
    certificate : bool, default=False
        Whether each step also computes a bound on how much better another width could have been
        (`history_[t].gap`), for families with one width or frequency.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `y` holds classes or responses. `"auto"` treats numbers that are not whole, and
        whole numbers with more than 20 distinct values, as responses.
    output_kernel : str, array-like, kernel or None, default=None
        The kernel on labels or responses that the learned kernel is aligned with, such as
        `"balanced"` or `"gaussian"`, or a matrix of similarities between classes. None stands for
        `"labels"` in classification and for `"linear"` in regression. The section "Output kernels"
        of the :doc:`glossary </glossary>` lists all options.
    random_state : int, RandomState instance or None, default=0
        Seed of the splits that select the strength of the penalty.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, which can be called on two tables. It is at unit scale: the sum of
        `kernels_` with the coefficients ``weights_ / scale_``.
    kernels_ : list of Kernel
        The kernels that were found.
    weights_ : ndarray of shape (n_kernels,)
        Positive coefficients of `kernels_`, which sum to one.
    scale_ : float
        Mean diagonal of the centered training Gram matrix of the weighted sum.
    shares_ : ndarray of shape (n_kernels,)
        Share of each kernel in the learned kernel, by the traces of centered training Gram
        matrices. The shares sum to one. A wide kernel is nearly constant, so that its share can be
        small although its weight is large.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set, at most one.
        With stagewise steps, the training Gram matrix includes eps I, which matters only if the
        weights are about as small as eps.
    history_ : list of Step
        The steps taken. The `objective` of a stagewise step is the published <F', K> minus the
        width penalty, and its `step_size` is eta. F' is the gradient of the alignment at the
        previously learned kernel. The objective of a corrective step is multiplied by the centered
        norm of that kernel, so that the objectives of all steps have the same scale.
    n_iter_ : int
        Number of steps taken.
    width_penalty_ : float
        The strength that was used.
    scaling_ : ndarray of shape (n_features,), or None
        The lengths that were used.
    scaler_ : KernelOptimization
        The fitted learner of the lengths, if `scaling` is a learner.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    Notes
    -----
    With ``step="stagewise"``, the learner is Algorithm 1. The training Gram matrix is eps I at
    first. Each step maximizes <F', K> - lambda Reg over all families, and adds eta K with the eta
    of Proposition 2. The steps end with the first one in which the alignment, including eps I,
    grows by less than `tol`. All matrices are centered, as in the propositions. A single width or
    frequency is found on the samples up to rounding errors. Several parameters are found by
    L-BFGS-B within their bounds. This search starts from the weighted mean of the widths of CA-1D
    or, if it is better, from the best common width under a penalty. The learned kernel is the sum
    of all eta K, without eps I, at unit scale.

    CA-1D takes O(n^2 d) time for the distances and O(n^2) per step. The search and the refinement
    of widths use a histogram of distances, which is accurate to about three digits. Alignments and
    weights are then computed from the exact Gram matrices. CA-nD takes O(n^2 d) time per evaluation
    of the gradient. Half a matrix of distances is kept in memory if it fits in half of
    scikit-learn's `working_memory`. Otherwise, only tiles are in memory.

    References
    ----------
    Afkanpour, Szepesvari, Bowling (2013), Algorithm 1.

    Examples
    --------
    >>> from mercer import ContinuousAlignment
    >>> from mercer.datasets import make_sine
    >>> from mercer.kernels import Dirichlet
    >>> X, y = make_sine(500, random_state=0)
    >>> learner = ContinuousAlignment(Dirichlet(bounds=(0.1, 20.0))).fit(X, y)
    >>> sorted(round(float(k.frequency), 1) for k in learner.kernels_)[:1]
    [1.4]
    """

    _kernels_parameter = None
    _conditions: ClassVar[dict[str, str]] = {
        "scaler_": "scaling is a learner, such as KernelOptimization()"
    }

    family: KernelFamily = None
    _: KW_ONLY
    step: Literal["corrective", "stagewise"] = "corrective"
    width_penalty: float | Literal["auto"] = 0.0
    width_penalty_on: PenaltyForm = "widths"
    scaling: npt.ArrayLike | KernelLearner | None = None
    tol: float = 1e-3
    max_kernels: int = 50
    eta_max: float = 1.0
    eps: float = 1e-10
    search_tol: float | None = None
    normalize_families: bool | None = None
    certificate: bool = False
    task: Task = "auto"
    output_kernel: OutputKernelSource = None
    random_state: int | np.random.RandomState | None = 0

    def _learn(self, data: TrainingData, target: Target) -> LearnedKernel:
        samples = data.samples()
        families = data.families(self.family)
        self.scaling_ = self._lengths(families, data)
        self.width_penalty_ = self._strength(families, samples, target)
        with reported_steps(self) as report:
            problem = families, samples, target, self._growth()
            if self.scaling_ is None:
                penalty = WidthPenalty(self.width_penalty_, self.width_penalty_on)
                found = learn_families(*problem, width_penalty=penalty, on_step=report)
            else:
                found = learn_scaled(*problem, lengths=self.scaling_, on_step=report)
        if not found.converged:
            warn(
                f"The alignment still grew by more than tol={self.tol:g} after "
                f"{len(found.history)} steps: raise max_kernels.",
                ConvergenceWarning,
            )
        return found

    def selected_params(self) -> dict[str, object]:
        """Return the selected strengths of the penalties; see :class:`KernelLearner`."""
        selected = {**super().selected_params(), "width_penalty": self.width_penalty_}
        if isinstance(self.scaling, KernelOptimization):
            scaler = clone(self.scaling).set_params(**self.scaler_.selected_params())
            return {**selected, "scaling": scaler}
        return selected

    def _growth(self) -> Growth:
        """Return the settings of the greedy loop."""
        corrective = self.step == "corrective"
        # Stagewise steps keep the weights of earlier steps, so that their kernels have to be exact.
        tolerance = STEP_TOLERANCE if corrective else 1e-7
        normalize = corrective if self.normalize_families is None else self.normalize_families
        return Growth(
            corrective,
            self.tol,
            self.max_kernels,
            self.certificate,
            search_tol=tolerance if self.search_tol is None else float(self.search_tol),
            normalize_families=bool(normalize),
            eps=self.eps,
            eta_max=self.eta_max,
        )

    def _strength(self, families: list[Kernel], samples: Samples, target: Target) -> float:
        """Return the strength of the penalty, which `"auto"` selects for kernels of many widths."""
        if self.width_penalty != "auto":
            return float(self.width_penalty)
        if self.scaling_ is not None or all(family.structure.n_widths <= 1 for family in families):
            return 0.0
        problem = families, samples, target, self._growth()
        if self.width_penalty_on == "widths":
            return choose_strength_by_alignment(*problem, random_state=self.random_state)
        return choose_strength_by_prediction(
            *problem, form=self.width_penalty_on, random_state=self.random_state
        )

    def _lengths(self, families: list[Kernel], data: TrainingData) -> Array | None:
        """Return the lengths that divide the features; fit `scaling` if it is a learner."""
        if self.scaling is None:
            return None
        n_features = data.X.shape[1]
        scalable(families)
        if not isinstance(self.scaling, KernelOptimization):
            lengths = np.array(self.scaling, dtype=float)
            if lengths.shape != (n_features,):
                raise ValueError(
                    f"scaling must be one length for each of the {n_features} features; "
                    f"got shape {lengths.shape}."
                )
            return lengths
        kernel = data.kernel(self.scaling.kernel)
        has_lengths = kernel.structure.n_widths in (1, n_features)
        if not (has_lengths and (kernel.relevance(n_features) > 0.0).all()):
            raise ValueError(_NO_SCALER.format(kernel.describe()))
        scaler = clone(self.scaling).set_params(task=self.task, output_kernel=self.output_kernel)
        self.scaler_ = scaler._fit_validated(data, self)
        return np.asarray(self.scaler_.kernels_[0].relevance(n_features) ** -0.5)

    def _check_settings(self) -> None:
        super()._check_settings()
        for name in ("tol", "eta_max", "eps"):
            check_number(name, getattr(self, name))
        if self.search_tol is not None:
            check_number("search_tol", self.search_tol)
        check_strength("width_penalty", self.width_penalty)
        check_choice("width_penalty_on", self.width_penalty_on, ("widths", *RELATIVE_FORMS))
        check_number("max_kernels", self.max_kernels, whole=True, low=1)
        check_choice("step", self.step, ("corrective", "stagewise"))
        check_bool("certificate", self.certificate)
        if self.normalize_families is not None:
            check_bool("normalize_families", self.normalize_families)
        _check_scaling(self.scaling)


_NO_SCALER = (
    "scaling must learn one kernel with a width for each feature, as "
    "KernelOptimization(Gaussian(ard=True)) does; got {}."
)
"""Error message for a learner that does not provide a length for each feature."""


def _check_scaling(scaling: npt.ArrayLike | KernelLearner | None) -> None:
    """Raise an error unless the scaling is None, a `KernelOptimization`, or positive lengths."""
    if scaling is None:
        return
    if isinstance(scaling, KernelOptimization):
        scaling._check_settings()
        return
    if hasattr(scaling, "fit"):
        raise ValueError(_NO_SCALER.format(scaling))
    if not are_positive(scaling):
        raise ValueError(
            "scaling must be a learner, or a positive and finite length for each feature; "
            f"got {scaling!r}."
        )

"""The learner that adds kernels from continuous families."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer._callbacks import reported_steps
from mercer._gram.tiles import Samples
from mercer._greedy.alignment import (
    CorrectiveStep,
    Growth,
    StagewiseStep,
    StepRule,
    learn_families,
    learn_scaled,
    scalable,
)
from mercer._learners.kernel_learner import KernelLearner, check_takes
from mercer._learners.kernel_optimization import KernelOptimization
from mercer._model_selection.penalty_choice import (
    RELATIVE_FORMS,
    choose_strength_by_alignment,
    choose_strength_by_prediction,
)
from mercer._search.parameter_search import PenaltyForm, WidthPenalty, check_strength
from mercer._targets import Target, Task
from mercer._typing import Array, Features
from mercer._validation import check_choice, check_number
from mercer.kernels import Gaussian, Kernel, WeightedSum, as_dictionary


class ContinuousAlignment(KernelLearner):
    """A sum of kernels from continuously parametrized families, added one at a time ("CA").

    Each step finds the kernel along which the centered alignment with the target grows fastest,
    over all parameters of all families.

    Parameters
    ----------
    family : kernel, name or scikit-learn Gaussian-process kernel, or a list of them, default=None
        One family or several; `Gaussian()` where None. Families of one width are searched globally
        (CA-1D), families of more parameters by gradients (CA-nD), `Gaussian(ard=True)` for instance
        from the mean width that CA-1D finds.
    step : {"corrective", "stagewise"}, default="corrective"
        Whether all weights are solved for anew after each kernel, and the widths of a single radial
        family moved together to their best, or only the new kernel's weight is chosen, as
        published.
    penalty : float or "auto", default=0.0
        Strength of what holds the widths of a kernel together; infinity for spheres. `"auto"`
        chooses it on held-out samples.
    penalty_on : {"widths", "log_widths", "inverse_widths"}, default="widths"
        `"widths"`: lambda sum_z (s_z - mean s)^2 over the widths s_z, in their own unit, as
        published; "auto" takes the one whose kernel aligns best with held-out samples. The others
        are relative to the best single width, as in :class:`KernelOptimization`, and "auto" takes
        the one that predicts held-out samples best, infinity unless it is clearly better.
    scaling : None, array-like of shape (n_features,) or KernelOptimization, default=None
        Lengths that features are divided by before families of one width are searched: all kernels
        are then ellipsoids of one shape and searched globally, within the family's bounds for the
        scaled features. A learner of one kernel with a width per feature is fitted for its widths.
    tol : float, default=1e-3
        Growth of the alignment below which no more kernels are added.
    max_kernels : int, default=50
        Steps at most.
    eta_max : float, default=1.0
        Largest weight of a new kernel; stagewise only.
    eps : float, default=1e-10
        Part of the identity that stagewise steps start from.
    certificate : bool, default=False
        Whether each step proves how much better another width could have been (`history_[t].gap`);
        for families of one width or frequency.
    task : {"auto", "classification", "regression"}, default="auto"
        What `y` holds.
    output_kernel : str, array-like, kernel or None, default=None
        How alike two outputs are: None or `"labels"`, `"delta"`, `"balanced"` or a matrix of
        similarities for classes; `"linear"`, `"gaussian"` or a kernel for responses; `"multilabel"`
        for sets of labels; `"precomputed"` for a Gram matrix in place of `y`. See
        :func:`mercer._targets.as_target`.
    random_state : int, RandomState instance or None, default=None
        Splits that choose the penalty.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, callable on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels, positive and summing to one.
    shares_ : ndarray of shape (n_kernels,)
        Part of each kernel in the trace of the centered training Gram matrix, summing to one. A
        wide kernel is nearly constant, so that a large weight can be a small share.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set.
    history_ : list of Step
        The steps taken.
    n_iter_ : int
        Number of steps taken.
    penalty_ : float
        The penalty used.
    scaling_ : ndarray of shape (n_features,), or None
        The lengths used.
    scaler_ : KernelOptimization
        The fitted learner of the lengths, where `scaling` is one.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    Notes
    -----
    CA-1D costs O(n^2 d) for the distances and O(n^2) a step: the search and the polishing of
    widths use a histogram of distances, good to about three digits; alignments and weights are
    then computed from the exact Gram matrices. CA-nD costs O(n^2 d) an evaluation of the gradient.
    Memory is half a matrix of distances where it fits in half of scikit-learn's `working_memory`,
    tiles otherwise.

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
    >>> sorted(round(float(k.frequency), 1) for k in learner.kernel_.kernels)[:1]
    [1.4]
    """

    def __init__(
        self,
        family: Any = None,
        *,
        step: Literal["corrective", "stagewise"] = "corrective",
        penalty: float | Literal["auto"] = 0.0,
        penalty_on: PenaltyForm = "widths",
        scaling: Any = None,
        tol: float = 1e-3,
        max_kernels: int = 50,
        eta_max: float = 1.0,
        eps: float = 1e-10,
        certificate: bool = False,
        task: Task = "auto",
        output_kernel: Any = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.family = family
        self.step = step
        self.penalty = penalty
        self.penalty_on = penalty_on
        self.scaling = scaling
        self.tol = tol
        self.max_kernels = max_kernels
        self.eta_max = eta_max
        self.eps = eps
        self.certificate = certificate
        self.task = task
        self.output_kernel = output_kernel
        self.random_state = random_state

    def _learn(self, table: Features, samples: Samples, target: Target) -> None:
        growth = self.growth()
        sources = Gaussian() if self.family is None else self.family
        families = as_dictionary(sources, table)
        check_takes(families, samples.X)
        self.scaling_ = self._lengths(families, table, samples, target)
        self.penalty_ = self._strength(families, samples, target, growth)
        with reported_steps(self) as report:
            if self.scaling_ is None:
                held = WidthPenalty(self.penalty_, self.penalty_on)
                found = learn_families(
                    families, samples, target, growth, width_penalty=held, on_step=report
                )
            else:
                found = learn_scaled(
                    families, samples, target, growth, lengths=self.scaling_, on_step=report
                )
        if found.status == "limit":
            warnings.warn(
                f"The alignment still grew by more than tol={self.tol:g} after "
                f"{found.n_iter} steps: raise max_kernels.",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.kernel_ = WeightedSum(found.kernels, found.weights)
        self.weights_ = found.weights
        self.shares_ = found.shares
        self.alignment_ = found.alignment
        self.history_ = found.history
        self.n_iter_ = found.n_iter

    def growth(self) -> Growth:
        """How the dictionary grows, by the settings."""
        return Growth(self._rule(), self.tol, self.max_kernels, self.certificate)

    def settled_params(self) -> dict[str, Any]:
        """Penalty and scaling's penalty; see :meth:`KernelLearner.settled_params`."""
        settled = {**super().settled_params(), "penalty": self.penalty_}
        if isinstance(self.scaling, KernelOptimization):
            scaler = clone(self.scaling).set_params(**self.scaler_.settled_params())
            return {**settled, "scaling": scaler}
        return settled

    def _strength(
        self, families: list[Kernel], samples: Samples, target: Target, growth: Growth
    ) -> float:
        """The penalty, chosen where that is asked for and there is something to hold together."""
        if self.penalty != "auto":
            return float(self.penalty)
        if self.scaling_ is not None or all(family.n_widths <= 1 for family in families):
            return 0.0
        problem = families, samples, target, growth
        if self.penalty_on == "widths":
            return choose_strength_by_alignment(*problem, random_state=self.random_state)
        return choose_strength_by_prediction(
            *problem, form=self.penalty_on, random_state=self.random_state
        )

    def _lengths(
        self, families: list[Kernel], table: Features, samples: Samples, target: Target
    ) -> Array | None:
        """What features are divided by."""
        if self.scaling is None:
            return None
        n_features = samples.X.shape[1]
        scalable(families)
        if not isinstance(self.scaling, KernelOptimization):
            lengths = np.array(self.scaling, dtype=float)
            if lengths.shape != (n_features,):
                raise ValueError(
                    f"scaling must be one length for each of the {n_features} features; "
                    f"got shape {lengths.shape}."
                )
            return lengths
        scaler = clone(self.scaling)
        kernel = scaler.bound_kernel(table)
        if kernel.n_widths not in (1, n_features) or not kernel.relevance(n_features).all():
            raise ValueError(_NO_SCALER.format(kernel.describe()))
        self.scaler_ = scaler.fit_within(self, table, samples, target)
        return np.asarray(self.scaler_.kernel_.relevance(n_features) ** -0.5)

    def _check_settings(self) -> None:
        super()._check_settings()
        for name in ("tol", "eta_max", "eps"):
            check_number(name, getattr(self, name))
        check_strength(self.penalty)
        check_choice("penalty_on", self.penalty_on, ("widths", *RELATIVE_FORMS))
        check_number("max_kernels", self.max_kernels, whole=True, low=1)
        if self.step not in ("corrective", "stagewise"):
            raise ValueError(f'step must be "corrective" or "stagewise"; got {self.step!r}.')
        _check_scaling(self.scaling)

    def _rule(self) -> StepRule:
        if self.step == "corrective":
            return CorrectiveStep()
        return StagewiseStep(self.eta_max, self.eps)


_NO_SCALER = (
    "scaling must learn one kernel with a width for each feature, as "
    "KernelOptimization(Gaussian(ard=True)) does; got {}."
)


def _check_scaling(scaling: Any) -> None:
    if scaling is None:
        return
    if isinstance(scaling, KernelOptimization):
        scaling._check_settings()
        return
    if hasattr(scaling, "fit"):
        raise ValueError(_NO_SCALER.format(scaling))
    try:
        lengths = np.asarray(scaling, dtype=float)
    except (TypeError, ValueError):
        lengths = np.zeros(1)
    if not np.all((lengths > 0.0) & np.isfinite(lengths)):
        raise ValueError(
            "scaling must be a learner, or a positive and finite length for each feature; "
            f"got {scaling!r}."
        )

"""The learner of the parameters of one kernel."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._data.types import Array
from mercer._data.validation import are_positive, check_choice, check_number, check_strength, warn
from mercer._estimators.fits import reported_steps
from mercer._estimators.kernel_estimator import TrainingData
from mercer._estimators.kernel_learner import CrossValidatedLearner, single_kernel
from mercer._gram.samples import Samples
from mercer._model_selection.penalty_choice import (
    RELATIVE_FORMS,
    choose_penalty_by_prediction,
    choose_stop,
)
from mercer._search.kernel_objectives import CRITERIA, Dependence
from mercer._search.kernel_search import optimize_kernel
from mercer._search.parameter_search import PenaltyForm, WidthPenalty
from mercer._search.records import LearnedKernel
from mercer._search.targets import Target, Task
from mercer.kernels import Kernel
from mercer.kernels._conversion import KernelSource, OutputKernelSource


@dataclass(eq=False, repr=False)
class KernelOptimization(CrossValidatedLearner):
    """Learn the parameters of one kernel, such as its widths, from its dependence on the target.

    The learned parameters maximize a measure of the dependence between the kernel and the target,
    such as the Hilbert-Schmidt independence criterion (HSIC).

    Parameters
    ----------
    kernel : kernel, name or scikit-learn Gaussian-process kernel, default=None
        A kernel with a single width (`Gaussian()`, the default), a kernel with one width per
        feature (`Gaussian(ard=True)`, an ARD kernel), or any kernel with a gradient. Its bounds
        apply. Its current parameters do not matter unless `start` is given.
    criterion : {"hsic", "cka", "ka"}, default="hsic"
        The Hilbert-Schmidt independence criterion, or the centered or uncentered kernel alignment.
    start : None, float or array-like of shape (n_widths,), default=None
        Widths from which plain BFGS starts, without bounds; 1 / n_features is the published start.
        Other parameters start from the kernel's own values. BFGS finds a local maximum, and does
        not move if the criterion is flat, as for very narrow kernels. If None, a single width is
        searched globally within the bounds, and a search for several widths starts from it. With a
        start, an ARD kernel needs ``width_penalty=0.0``.
    width_penalty : "auto" or float, default="auto"
        Strength of a penalty on differences between the widths of an ARD kernel, relative to the
        criterion of the best single width. Zero means no penalty, as published, and infinity a
        single width. "auto" selects the strength by the squared error of ridge regression on
        held-out samples. It selects infinity unless an ARD kernel is better by more than a standard
        error. Kernels with one width have no penalty.
    width_penalty_on : {None, "log_widths", "inverse_widths", "widths"}, default=None
        `"log_widths"` penalizes the mean square of log(s_z / s_0) over the features z, where s_0 is
        the best single width. `"inverse_widths"` penalizes the mean square of s_0 / s_z - 1, which
        allows large widths, so that features are ignored, and resists small ones. `"widths"`
        penalizes sum_z (s_z - mean s)^2 in the unit of the widths. None selects among the first two
        if `width_penalty` is "auto", and stands for `"log_widths"` otherwise.
    early_stopping : bool or int, default=False
        Whether an unpenalized search stops after a number of iterations, which is selected in the
        same way as the penalty. A number of iterations is used as it is.
    tol : float, default=1e-5
        The search stops when the relative change of the criterion, averaged over the last three
        iterations, is less than this.
    max_iter : int, default=200
        Maximum number of iterations of each search.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `y` holds classes or responses. `"auto"` treats numbers that are not whole, and
        whole numbers with more than 20 distinct values, as responses.
    output_kernel : str, array-like, kernel or None, default=None
        The kernel on labels or responses that the learned kernel is aligned with, such as
        `"balanced"` or `"gaussian"`, or a matrix of similarities between classes. None stands for
        `"labels"` in classification and for `"linear"` in regression. The section "Output kernels"
        of the :doc:`glossary </glossary>` lists all options.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds that select the penalty or the number of iterations.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, which can be called on two tables. It is at unit scale: ``kernels_[0]``
        divided by `scale_`.
    kernels_ : list of Kernel
        The learned kernel, before division by `scale_`, as the only entry.
    weights_, shares_ : ndarray of shape (1,)
        One.
    scale_ : float
        Mean diagonal of the centered training Gram matrix of the kernel.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set, at most one.
    objective_ : float
        The criterion of the learned kernel.
    history_ : list of Step
        One step per iteration. `objective` is the criterion after the iteration minus the penalty.
        `kernel` and `alignment` are the final kernel and its alignment.
    n_iter_ : int
        Number of iterations taken, including the search for a single width.
    width_penalty_, width_penalty_on_ : float and str
        Strength and form of the penalty that was used.
    early_stopping_ : int or None
        Number of iterations after the search for a single width; None without `early_stopping`.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    Notes
    -----
    Unpenalized ARD kernels overfit: at the maximum of HSIC, most widths are at their upper bounds.
    With several classes, `"ka"` favors tiny widths, because most entries of the uncentered output
    kernel are -1; `output_kernel="delta"` avoids this.

    An evaluation takes O(n^2 d) time. To select a penalty, about a dozen ARD kernels are learned,
    and a ridge regression is fitted on each. This is repeated in five folds or, for more than 1,250
    samples, in three random draws of 1,000 training samples.

    References
    ----------
    Wang & Li (2018), section 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelOptimization
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelOptimization(criterion="cka").fit(X, y).kernels_[0].describe()
    'Gaussian, width 1.8'
    """

    _kernels_parameter = None

    kernel: KernelSource | None = None
    criterion: Literal["hsic", "cka", "ka"] = "hsic"
    _: KW_ONLY
    start: float | Array | None = None
    width_penalty: float | Literal["auto"] = "auto"
    width_penalty_on: PenaltyForm | None = None
    early_stopping: bool | int = False
    tol: float = 1e-5
    max_iter: int = 200
    task: Task = "auto"
    output_kernel: OutputKernelSource = None
    random_state: int | np.random.RandomState | None = 0

    def _learn(self, data: TrainingData, target: Target) -> LearnedKernel:
        samples = data.samples()
        kernel = data.kernel(self.kernel)
        start = self._log_start(kernel)
        objective = Dependence(CRITERIA[self.criterion], samples, target)
        with reported_steps(self) as report:
            penalty, limit = self._selected(kernel, samples, target)
            found = optimize_kernel(
                objective,
                kernel,
                start=start,
                width_penalty=penalty,
                tol=self.tol,
                max_iter=self.max_iter,
                max_ard_iter=limit,
                on_step=report,
            )
        if not found.converged and limit is None:
            warn(
                f"The criterion still changed by more than tol={self.tol:g}, relatively, "
                f"after max_iter={self.max_iter} iterations.",
                ConvergenceWarning,
            )
        self.width_penalty_, self.width_penalty_on_ = penalty.strength, penalty.form
        self.early_stopping_ = limit
        self.objective_ = found.value
        learned = single_kernel(samples, target, found.kernel, found.path)
        return replace(learned, n_iter=found.n_iter)

    def selected_params(self) -> dict[str, object]:
        """Return the selected penalty or number of iterations; see :class:`KernelLearner`."""
        selected = super().selected_params()
        if self.early_stopping_ is not None:
            return {**selected, "early_stopping": self.early_stopping_}
        return {
            **selected,
            "width_penalty": self.width_penalty_,
            "width_penalty_on": self.width_penalty_on_,
        }

    def _log_start(self, kernel: Kernel) -> Array | None:
        """Return the log-parameters from which the search starts; None for the global search."""
        if self.start is None:
            return None
        n_widths = kernel.structure.n_widths
        widths = np.asarray(self.start, dtype=float).ravel()
        if n_widths == 0 or widths.size not in (1, n_widths):
            raise ValueError(
                f"start must be one width, or as many widths as the kernel has; got {widths.size}, "
                f"and {kernel.describe()} has {n_widths}."
            )
        if n_widths > 1 and (self.width_penalty != 0.0 or self.early_stopping is not False):
            raise ValueError(
                "A search of several widths from start has no penalty: set width_penalty=0.0 and "
                "early_stopping=False."
            )
        theta = np.array(kernel.theta)
        theta[:n_widths] = np.log(widths)
        return theta

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice("criterion", self.criterion, tuple(CRITERIA))
        if self.start is not None and not (np.size(self.start) and are_positive(self.start)):
            raise ValueError(f"start must hold positive and finite widths; got {self.start!r}.")
        check_number("tol", self.tol)
        check_number("max_iter", self.max_iter, whole=True, low=1)
        check_strength("width_penalty", self.width_penalty)
        check_choice("width_penalty_on", self.width_penalty_on, (None, *RELATIVE_FORMS, "widths"))
        if not isinstance(self.early_stopping, bool | np.bool_):
            check_number("early_stopping", self.early_stopping, whole=True)
        if self.width_penalty == "auto" and self.width_penalty_on == "widths":
            raise ValueError(
                'width_penalty="auto" needs a relative penalty; got width_penalty_on="widths".'
            )

    def _selected(
        self, kernel: Kernel, samples: Samples, target: Target
    ) -> tuple[WidthPenalty, int | None]:
        """Return the penalty, and the maximum number of iterations after the isotropic search."""
        criterion = CRITERIA[self.criterion]
        form = self.width_penalty_on or RELATIVE_FORMS[0]
        if kernel.structure.n_widths < 2 or kernel.structure.isotropic() is None:
            return WidthPenalty(0.0, form), None
        if not isinstance(self.early_stopping, bool | np.bool_):
            return WidthPenalty(0.0, form), int(self.early_stopping)
        if self.early_stopping:
            stop = choose_stop(criterion, kernel, samples, target, random_state=self.random_state)
            return WidthPenalty(0.0, form), stop
        if self.width_penalty != "auto":
            return WidthPenalty(float(self.width_penalty), form), None
        forms = RELATIVE_FORMS if self.width_penalty_on is None else (form,)
        chosen = choose_penalty_by_prediction(
            criterion, kernel, samples, target, forms=forms, random_state=self.random_state
        )
        return chosen, None

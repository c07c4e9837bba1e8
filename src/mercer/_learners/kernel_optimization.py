"""The learner of one kernel's parameters."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._callbacks import reported_steps
from mercer._criteria import CRITERIA
from mercer._gram.moments import moments
from mercer._gram.tiles import Samples, serial_algebra
from mercer._history import Step
from mercer._learners.kernel_learner import KernelLearner, check_takes
from mercer._model_selection.penalty_choice import (
    RELATIVE_FORMS,
    choose_penalty_by_prediction,
    choose_stop,
)
from mercer._search.criterion_search import optimize_criterion
from mercer._search.parameter_search import PenaltyForm, WidthPenalty, check_strength
from mercer._targets import Target, Task
from mercer._typing import Features
from mercer._validation import check_choice, check_number
from mercer.kernels import Gaussian, Kernel, as_kernel


class KernelOptimization(KernelLearner):
    """One kernel whose parameters maximize its dependence with the target.

    Parameters
    ----------
    kernel : kernel, name or scikit-learn Gaussian-process kernel, default=None
        Spherical (`Gaussian()`, the default) or ellipsoidal (`Gaussian(ard=True)`), or any kernel
        with a gradient; its bounds hold, its present parameters do not matter.
    criterion : {"hsic", "cka", "ka"}, default="hsic"
        Hilbert-Schmidt independence criterion, centered or uncentered kernel alignment.
    tol : float, default=1e-5
        Relative change of the criterion at which the search stops.
    max_iter : int, default=200
        Iterations at most, of each search.
    penalty : "auto" or float, default="auto"
        What holds the widths of an ellipsoid together: strength of a penalty, relative to the
        criterion of the best single width; zero for none, as published, infinity for the sphere.
        "auto" chooses the strength by the squared error of ridge regression on held-out samples,
        and infinity unless an ellipsoid is clearly better. Kernels of one width have none.
    penalty_on : {None, "log_widths", "inverse_widths", "widths"}, default=None
        `"log_widths"`: the mean square of log(s_z / s_0) over the features z, s_0 being the best
        single width; `"inverse_widths"`: of s_0 / s_z - 1, which lets widths grow, so that features
        are left out, and resists narrow ones; `"widths"`: of the absolute
        sum_z (s_z - mean s)^2. None chooses among the first two where `penalty` is "auto", and is
        `"log_widths"` else.
    early_stopping : bool or int, default=False
        Whether to stop an unpenalized search after some iterations instead, chosen in the same way;
        or after how many.
    task : {"auto", "classification", "regression"}, default="auto"
        What `y` holds.
    output_kernel : str, array-like, kernel or None, default=None
        How alike two outputs are: None or `"labels"`, `"delta"`, `"balanced"` or a matrix of
        similarities for classes; `"linear"`, `"gaussian"` or a kernel for responses; `"multilabel"`
        for sets of labels; `"precomputed"` for a Gram matrix in place of `y`. See
        :func:`mercer._targets.as_target`.
    random_state : int, RandomState instance or None, default=0
        Draws the folds that choose.

    Attributes
    ----------
    kernel_ : Kernel
        The learned kernel, callable on two tables.
    weights_, shares_ : ndarray of shape (1,)
        One.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set.
    objective_ : float
        The criterion of the learned kernel.
    history_ : list of Step
        One step an iteration: `objective` is the criterion after it, less the penalty; `kernel` and
        `alignment` are the final ones.
    n_iter_ : int
        Iterations taken, the spherical start's included.
    penalty_, penalty_on_ : float and str
        The penalty used, and its form.
    early_stopping_ : int or None
        Iterations after the sphere, with `early_stopping`.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    Notes
    -----
    Unpenalized ellipsoids overfit: converged HSIC drives most widths to their upper bounds. With
    several classes, `"ka"` tends to tiny widths, because the uncentered target is mostly -1:
    `output_kernel="delta"` mends that.

    O(n^2 d) an evaluation. Choosing a penalty learns some dozen ellipsoids in each of five folds of
    1,250 samples at most (three draws of 1,000 from larger tables), and takes a ridge regression on
    each.

    References
    ----------
    Wang & Li (2018), section 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelOptimization
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelOptimization(criterion="cka").fit(X, y).kernel_.describe()
    'Gaussian, width 1.8'
    """

    def __init__(
        self,
        kernel: Any = None,
        criterion: Literal["hsic", "cka", "ka"] = "hsic",
        *,
        penalty: float | Literal["auto"] = "auto",
        penalty_on: PenaltyForm | None = None,
        early_stopping: bool | int = False,
        tol: float = 1e-5,
        max_iter: int = 200,
        task: Task = "auto",
        output_kernel: Any = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.kernel = kernel
        self.criterion = criterion
        self.penalty = penalty
        self.penalty_on = penalty_on
        self.early_stopping = early_stopping
        self.tol = tol
        self.max_iter = max_iter
        self.task = task
        self.output_kernel = output_kernel
        self.random_state = random_state

    def _learn(self, table: Features, samples: Samples, target: Target) -> None:
        kernel = self.bound_kernel(table)
        check_takes([kernel], samples.X)
        with reported_steps(self) as report:
            penalty, limit = self._held(kernel, samples, target)
            found = optimize_criterion(
                CRITERIA[self.criterion],
                kernel,
                samples,
                target,
                width_penalty=penalty,
                tol=self.tol,
                max_iter=self.max_iter,
                max_ard_iter=limit,
                on_step=report,
            )
        if not found.converged and limit is None:
            warnings.warn(
                f"The criterion still changed by more than tol={self.tol:g}, relatively, "
                f"after max_iter={self.max_iter} iterations.",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.penalty_, self.penalty_on_ = penalty.strength, penalty.form
        self.early_stopping_ = limit
        self.kernel_ = found.kernel
        self.weights_ = np.ones(1)
        self.shares_ = np.ones(1)
        self.objective_ = found.value
        with serial_algebra():
            aligned = moments(samples, [found.kernel], target.centered)
        self.alignment_ = float(aligned.alignments()[0])
        self.history_ = [
            Step(found.kernel, 1, value, self.alignment_, None) for value in found.path
        ]
        self.n_iter_ = found.n_iter

    def bound_kernel(self, table: Features) -> Kernel:
        """The kernel that is searched.

        Parameters
        ----------
        table : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        """
        return as_kernel(Gaussian() if self.kernel is None else self.kernel).bind(table)

    def settled_params(self) -> dict[str, Any]:
        """Penalty, or number of iterations; see :meth:`KernelLearner.settled_params`."""
        settled = super().settled_params()
        if self.early_stopping_ is not None:
            return {**settled, "early_stopping": self.early_stopping_}
        return {**settled, "penalty": self.penalty_, "penalty_on": self.penalty_on_}

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice("criterion", self.criterion, tuple(CRITERIA))
        check_number("tol", self.tol)
        check_number("max_iter", self.max_iter, whole=True, low=1)
        check_strength(self.penalty)
        check_choice("penalty_on", self.penalty_on, (None, *RELATIVE_FORMS, "widths"))
        if not isinstance(self.early_stopping, bool | np.bool_):
            check_number("early_stopping", self.early_stopping, whole=True)
        if self.penalty == "auto" and self.penalty_on == "widths":
            raise ValueError('penalty="auto" needs a relative penalty; got penalty_on="widths".')

    def _held(
        self, kernel: Kernel, samples: Samples, target: Target
    ) -> tuple[WidthPenalty, int | None]:
        """The penalty, and how many iterations may follow the sphere."""
        criterion = CRITERIA[self.criterion]
        form = self.penalty_on or RELATIVE_FORMS[0]
        if kernel.n_widths < 2 or kernel.isotropic() is None:
            return WidthPenalty(0.0, form), None
        if not isinstance(self.early_stopping, bool | np.bool_):
            return WidthPenalty(0.0, form), int(self.early_stopping)
        if self.early_stopping:
            stop = choose_stop(criterion, kernel, samples, target, random_state=self.random_state)
            return WidthPenalty(0.0, form), stop
        if self.penalty != "auto":
            return WidthPenalty(float(self.penalty), form), None
        forms = RELATIVE_FORMS if self.penalty_on is None else (form,)
        chosen = choose_penalty_by_prediction(
            criterion, kernel, samples, target, forms=forms, random_state=self.random_state
        )
        return chosen, None

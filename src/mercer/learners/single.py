"""The learner of one kernel's parameters."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._typing import Features
from mercer.callbacks import reported_steps
from mercer.checks import check_number
from mercer.criteria import CRITERIA
from mercer.gram.moments import moments
from mercer.gram.tiles import Samples
from mercer.history import Step
from mercer.kernels import Gaussian, as_kernel
from mercer.learners.base import KernelLearner, check_takes
from mercer.search.criterion import optimise_criterion
from mercer.targets import Target, Task


class KernelOptimization(KernelLearner):
    """One kernel whose parameters maximise its dependence with the target.

    Parameters
    ----------
    kernel : kernel, name or scikit-learn Gaussian-process kernel, default=None
        Spherical (`Gaussian()`, the default) or ellipsoidal (`Gaussian(ard=True)`), or any kernel
        with a gradient; its bounds hold, its present parameters do not matter.
    criterion : {"hsic", "cka", "ka"}, default="hsic"
        Hilbert-Schmidt independence criterion, centred or uncentred kernel alignment.
    tol : float, default=1e-5
        Relative change of the criterion at which the search stops.
    max_iter : int, default=200
        Iterations at most; few of them ("early stopping") regularise an ellipsoid.
    task : {"auto", "classification", "regression"}, default="auto"
        What `y` holds.
    output_kernel : str, array-like, kernel or None, default=None
        How alike two outputs are: None or `"labels"`, `"delta"`, `"balanced"` or a matrix of
        similarities for classes; `"linear"`, `"gaussian"` or a kernel for responses; `"multilabel"`
        for sets of labels; `"precomputed"` for a Gram matrix in place of `y`. See
        :func:`mercer.targets.as_target`.

    Attributes
    ----------
    kernel_ : Kernel
        The learned kernel, callable on two tables.
    weights_, shares_ : ndarray of shape (1,)
        One.
    alignment_ : float
        Centred alignment of the learned kernel with the target on the training set.
    objective_ : float
        The criterion of the learned kernel.
    history_ : list of Step
        One step an iteration: `objective` is the criterion after it; `kernel` and `alignment` are
        the final ones.
    n_iter_ : int
        Iterations taken, the spherical start's included.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    Notes
    -----
    Unpenalised ellipsoids overfit: converged HSIC drives most widths to their upper bounds. With
    several classes, `"ka"` tends to tiny widths, because the uncentred target is mostly -1:
    `output_kernel="delta"` mends that.

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
        tol: float = 1e-5,
        max_iter: int = 200,
        task: Task = "auto",
        output_kernel: Any = None,
    ) -> None:
        self.kernel = kernel
        self.criterion = criterion
        self.tol = tol
        self.max_iter = max_iter
        self.task = task
        self.output_kernel = output_kernel

    def _learn(self, table: Features, samples: Samples, target: Target) -> None:
        if self.criterion not in CRITERIA:
            raise ValueError(
                f"criterion must be one of {', '.join(CRITERIA)}; got {self.criterion!r}."
            )
        source = Gaussian() if self.kernel is None else self.kernel
        kernel = as_kernel(source).bind(table)
        check_takes([kernel], samples.X)
        check_number(self.tol, "tol")
        check_number(self.max_iter, "max_iter", whole=True, low=1)
        with reported_steps(self) as report:
            found = optimise_criterion(
                CRITERIA[self.criterion],
                kernel,
                samples,
                target,
                tol=self.tol,
                max_iter=self.max_iter,
                on_step=report,
            )
        if not found.converged:
            warnings.warn(
                f"The criterion still changed by more than tol={self.tol:g}, relatively, "
                f"after max_iter={self.max_iter} iterations.",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.kernel_ = found.kernel
        self.weights_ = np.ones(1)
        self.shares_ = np.ones(1)
        self.objective_ = found.value
        self.alignment_ = float(moments(samples, [found.kernel], target.centred).alignments()[0])
        self.history_ = [
            Step(found.kernel, 1, value, self.alignment_, None) for value in found.path
        ]
        self.n_iter_ = found.n_iter

"""Learners: scikit-learn transformers that learn a kernel in one stage, before any predictor."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Literal

import numpy as np
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning

from mercer._typing import Array, Features
from mercer.base import KernelLearner, base_kernels, check_takes
from mercer.callbacks import step_reporter
from mercer.continuous import Growth, choose_penalty, learn_families
from mercer.criteria import CRITERIA
from mercer.dictionary import CorrectiveStep, StagewiseStep, Step, StepRule
from mercer.gram.moments import Moments, moments
from mercer.gram.tiles import Samples
from mercer.kernels import Gaussian, WeightedSum, as_kernel
from mercer.search.criterion import optimise_criterion
from mercer.targets import Target, Task
from mercer.weights.alignment import (
    free_weights,
    independent_weights,
    nonnegative_weights,
    normalised,
)


class _FiniteDictionary(KernelLearner):
    """Learners that weigh a finite dictionary by its moments."""

    kernels: Any

    @abstractmethod
    def _weigh(self, found: Moments) -> Array:
        """Weights of the kernels as they are, given their moments."""

    def _sources(self) -> Any:
        return self.kernels

    def _learn(self, table: Features, samples: Samples, target: Target) -> None:
        kernels = base_kernels(self.kernels, table, samples)
        report = step_reporter(self, 1)
        found = moments(Samples(samples.X, len(kernels)), kernels, target.centred)
        self.weights_ = self._weigh(found)
        self.kernel_ = WeightedSum(kernels, self.weights_)
        self.alignment_ = found.alignment(self.weights_)
        used = int(np.count_nonzero(self.weights_))
        self.history_ = [Step(self.kernel_, used, self.alignment_, self.alignment_, None)]
        self.n_iter_ = 1
        report()


class _ScaledDictionary(_FiniteDictionary):
    """Learners whose weights depend on the scale of the kernels, which may be taken out."""

    def __init__(
        self,
        kernels: Any = None,
        *,
        normalize: Literal["trace"] | None = None,
        task: Task = "auto",
    ) -> None:
        self.kernels = kernels
        self.normalize = normalize
        self.task = task

    def _shares(self, found: Moments) -> Array:
        """What each kernel is multiplied by before it is weighed: one, or to a trace of one."""
        if self.normalize is None:
            return np.ones(found.a.size)
        if self.normalize != "trace":
            raise ValueError(f'normalize must be None or "trace"; got {self.normalize!r}.')
        return np.divide(
            1.0, found.traces, out=np.zeros_like(found.traces), where=found.traces > 0.0
        )


class UniformCombination(_ScaledDictionary):
    """The same weight for every kernel of a dictionary.

    Parameters
    ----------
    kernels : list of kernels, names, callables or scikit-learn Gaussian-process kernels, default=None
        The dictionary; 20 Gaussian widths read off the data where None. With `"precomputed"`, X is a stack
        of Gram matrices of shape (n_samples, n_samples, n_kernels).
    normalize : {None, "trace"}, default=None
        With `"trace"`, kernels are weighed after their centred training Gram matrices are scaled to a trace of one.
    task : {"auto", "classification", "regression"}, default="auto"
        What `y` holds.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, callable on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels as they are, summing to one.
    alignment_ : float
        Centred alignment of the learned kernel with the target on the training set.
    history_ : list of Step
        One step.
    n_iter_ : int
        One.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed stacks.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    See Also
    --------
    AlignmentMaximization : Learns the weights.

    Notes
    -----
    O(p n^2) time for the alignment, in tiles.

    References
    ----------
    Cortes, Mohri, Rostamizadeh (2010), section 5 ("unif").

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import UniformCombination
    >>> from mercer.kernels import Gaussian
    >>> X, y = load_iris(return_X_y=True)
    >>> UniformCombination([Gaussian(1.0), Gaussian(3.0)]).fit(X, y).weights_
    array([0.5, 0.5])
    """

    def _weigh(self, found: Moments) -> Array:
        return normalised(self._shares(found))


class IndependentAlignment(_ScaledDictionary):
    """Weights proportional to each kernel's own centred alignment ("align").

    Parameters
    ----------
    kernels : list of kernels, names, callables or scikit-learn Gaussian-process kernels, default=None
        The dictionary; 20 Gaussian widths read off the data where None. With `"precomputed"`, X is a stack
        of Gram matrices of shape (n_samples, n_samples, n_kernels).
    normalize : {None, "trace"}, default=None
        With `"trace"`, kernels are weighed after their centred training Gram matrices are scaled to a trace of one.
    task : {"auto", "classification", "regression"}, default="auto"
        What `y` holds.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, callable on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels as they are, summing to one.
    alignment_ : float
        Centred alignment of the learned kernel with the target on the training set.
    history_ : list of Step
        One step.
    n_iter_ : int
        One.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed stacks.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    Notes
    -----
    O(p^2 n^2) multiplications in matrix products, and no n x n matrix for rank-one kernels.

    References
    ----------
    Cortes, Mohri, Rostamizadeh (2010), section 3.1 ("align").

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import IndependentAlignment
    >>> from mercer.kernels import Linear
    >>> X, y = load_iris(return_X_y=True)
    >>> IndependentAlignment([Linear(per_feature=True)]).fit(X, y).weights_.round(2)
    array([0.24, 0.14, 0.31, 0.31])
    """

    def _weigh(self, found: Moments) -> Array:
        return normalised(independent_weights(found) * self._shares(found))


class AlignmentMaximization(_FiniteDictionary):
    """Weights of the largest centred alignment with the target ("alignf").

    Parameters
    ----------
    kernels : list of kernels, names, callables or scikit-learn Gaussian-process kernels, default=None
        The dictionary; 20 Gaussian widths read off the data where None. With `"precomputed"`, X is a stack
        of Gram matrices of shape (n_samples, n_samples, n_kernels).
    signs : {"nonnegative", "free"}, default="nonnegative"
        Non-negative weights, by a quadratic programme, or weights of either sign, in closed form. The latter's
        combination may be no kernel: a warning says so.
    clip_spectrum : bool, default=False
        Whether `transform` drops the negative part of the learned Gram matrix's spectrum, so that
        weights of either sign can serve a support vector machine. O(n^3).
    task : {"auto", "classification", "regression"}, default="auto"
        What `y` holds.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned combination, callable on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels, absolute values summing to one.
    alignment_ : float
        Centred alignment of the learned kernel with the target on the training set.
    history_ : list of Step
        One step.
    n_iter_ : int
        One.
    is_psd_ : bool
        Whether `transform` is a kernel for certain.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed stacks.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    Notes
    -----
    O(p^2 n^2) multiplications in matrix products, tile by tile, and O(p^3) for the weights; memory is p tiles a
    thread. The weights do not depend on the scale of the kernels.

    References
    ----------
    Cortes, Mohri, Rostamizadeh (2010), propositions 2 and 3 ("alignf").

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from mercer import AlignmentMaximization
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> learner = AlignmentMaximization().fit(scale(X), y)
    >>> bool(learner.alignment_ > 0.7), int((learner.weights_ > 0).sum()) < 5
    (True, True)
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        signs: Literal["nonnegative", "free"] = "nonnegative",
        clip_spectrum: bool = False,
        task: Task = "auto",
    ) -> None:
        self.kernels = kernels
        self.task = task
        self.signs = signs
        self.clip_spectrum = clip_spectrum

    def transform(self, X: Features) -> Array:
        """The learned kernel between samples and the training set; see :meth:`KernelLearner.transform`."""
        gram = super().transform(X)
        if self.projection_ is None:
            return gram
        return (gram @ self.projection_) @ self.projection_.T

    def _weigh(self, found: Moments) -> Array:
        if self.signs == "nonnegative":
            return nonnegative_weights(found)
        if self.signs == "free":
            return free_weights(found)
        raise ValueError(f'signs must be "nonnegative" or "free"; got {self.signs!r}.')

    def _learn(self, table: Features, samples: Samples, target: Target) -> None:
        super()._learn(table, samples, target)
        self.projection_: Array | None = None
        self.is_psd_ = self.clip_spectrum or not (self.weights_ < 0).any()
        if not (self.weights_ < 0).any():
            return
        if not self.clip_spectrum:
            warnings.warn(
                "Some weights are negative, so the learned combination may not be positive semi-definite: "
                "set clip_spectrum=True to use it in a support vector machine.",
                UserWarning,
                stacklevel=4,
            )
            return
        gram = self.kernel_(samples.X)
        values, vectors = eigh((gram + gram.T) / 2.0)
        self.projection_ = vectors[:, values > 0.0]


class ContinuousAlignment(KernelLearner):
    """A sum of kernels from continuously parametrised families, added one at a time ("CA").

    Each step finds the kernel along which the centred alignment with the target grows fastest, over all
    parameters of all families.

    Parameters
    ----------
    family : kernel, name or scikit-learn Gaussian-process kernel, or a list of them, default=None
        One family or several; `Gaussian()` where None. Families of one width are searched globally (CA-1D),
        families of more parameters by gradients (CA-nD), `Gaussian(ard=True)` for instance from
        the mean width that CA-1D finds.
    step : {"corrective", "stagewise"}, default="corrective"
        Whether all weights are solved for anew after each kernel, or only the new one's is chosen, as
        published.
    penalty : float or "auto", default=0.0
        Strength lambda of lambda sum_z (s_z - mean s)^2 over the widths s_z of a kernel, in their own unit;
        `"auto"` chooses it by alignment on held-out samples.
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
    random_state : int, RandomState instance or None, default=None
        Splits that choose the penalty.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, callable on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels, positive and summing to one.
    alignment_ : float
        Centred alignment of the learned kernel with the target on the training set.
    history_ : list of Step
        The steps taken.
    n_iter_ : int
        Number of steps taken.
    penalty_ : float
        The penalty used.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    Notes
    -----
    CA-1D costs O(n^2 d) for the distances and O(n^2) a step; CA-nD O(n^2 d) an evaluation of the gradient.
    Memory is half a matrix of distances where it fits in half of scikit-learn's `working_memory`, tiles otherwise.

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
        tol: float = 1e-3,
        max_kernels: int = 50,
        eta_max: float = 1.0,
        eps: float = 1e-10,
        certificate: bool = False,
        task: Task = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.family = family
        self.step = step
        self.penalty = penalty
        self.tol = tol
        self.max_kernels = max_kernels
        self.eta_max = eta_max
        self.eps = eps
        self.certificate = certificate
        self.task = task
        self.random_state = random_state

    def _learn(self, table: Features, samples: Samples, target: Target) -> None:
        growth = Growth(self._rule(), self.tol, self.max_kernels, self.certificate)
        sources = Gaussian() if self.family is None else self.family
        families = base_kernels(sources, table, samples)
        if isinstance(self.penalty, str):
            if self.penalty != "auto":
                raise ValueError(f'penalty must be a number or "auto"; got {self.penalty!r}.')
            self.penalty_ = 0.0
            if any(family.n_widths > 1 for family in families):
                self.penalty_, _ = choose_penalty(
                    families, samples, target, growth, self.random_state
                )
        else:
            self.penalty_ = float(self.penalty)
        found = learn_families(
            families, samples, target, growth, penalty=self.penalty_, on_step=step_reporter(self)
        )
        if found.status == "limit":
            warnings.warn(
                f"The alignment still grew by more than tol={self.tol:g} after {found.n_iter} steps: "
                "raise max_kernels.",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.kernel_ = WeightedSum(found.kernels, found.weights)
        self.weights_ = found.weights
        self.alignment_ = found.alignment
        self.history_ = found.history
        self.n_iter_ = found.n_iter

    def _rule(self) -> StepRule:
        for name in ("tol", "eta_max", "eps", "penalty"):
            value = getattr(self, name)
            if not isinstance(value, str) and not (np.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be finite and not negative; got {value!r}.")
        if self.max_kernels < 1:
            raise ValueError(f"max_kernels must be at least 1; got {self.max_kernels!r}.")
        if self.step == "corrective":
            return CorrectiveStep()
        if self.step == "stagewise":
            return StagewiseStep(self.eta_max, self.eps)
        raise ValueError(f'step must be "corrective" or "stagewise"; got {self.step!r}.')


class KernelOptimization(KernelLearner):
    """One kernel whose parameters maximise its dependence with the target.

    Parameters
    ----------
    kernel : kernel, name or scikit-learn Gaussian-process kernel, default=None
        Spherical (`Gaussian()`, the default) or ellipsoidal (`Gaussian(ard=True)`), or any kernel with a
        gradient; its bounds hold, its present parameters do not matter.
    criterion : {"hsic", "cka", "ka"}, default="hsic"
        Hilbert-Schmidt independence criterion, centred or uncentred kernel alignment.
    tol : float, default=1e-5
        Relative change of the criterion at which the search stops.
    max_iter : int, default=200
        Iterations at most; few of them ("early stopping") regularise an ellipsoid.
    task : {"auto", "classification", "regression"}, default="auto"
        What `y` holds.

    Attributes
    ----------
    kernel_ : Kernel
        The learned kernel, callable on two tables.
    weights_ : ndarray of shape (1,)
        One.
    alignment_ : float
        Centred alignment of the learned kernel with the target on the training set.
    objective_ : float
        The criterion of the learned kernel.
    history_ : list of Step
        One step an iteration: `objective` is the criterion after it; `kernel` and `alignment` are the final ones.
    n_iter_ : int
        Iterations taken, the spherical start's included.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only where X has feature names that are all strings.

    Notes
    -----
    Unpenalised ellipsoids overfit: converged HSIC drives most widths to their upper bounds. With several classes,
    `"ka"` tends to tiny widths, because the uncentred target is mostly -1.

    References
    ----------
    Wang & Li (2018), section 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelOptimization
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelOptimization(criterion="cka").fit(X, y).kernel_.describe()
    'Gaussian, width 2.62'
    """

    def __init__(
        self,
        kernel: Any = None,
        criterion: Literal["hsic", "cka", "ka"] = "hsic",
        *,
        tol: float = 1e-5,
        max_iter: int = 200,
        task: Task = "auto",
    ) -> None:
        self.kernel = kernel
        self.criterion = criterion
        self.tol = tol
        self.max_iter = max_iter
        self.task = task

    def _learn(self, table: Features, samples: Samples, target: Target) -> None:
        if self.criterion not in CRITERIA:
            raise ValueError(
                f"criterion must be one of {', '.join(CRITERIA)}; got {self.criterion!r}."
            )
        source = Gaussian() if self.kernel is None else self.kernel
        kernel = as_kernel(source).bind(table)
        check_takes([kernel], samples.X)
        found = optimise_criterion(
            CRITERIA[self.criterion],
            kernel,
            samples,
            target,
            tol=self.tol,
            max_iter=self.max_iter,
            on_step=step_reporter(self),
        )
        self.kernel_ = found.kernel
        self.weights_ = np.ones(1)
        self.objective_ = found.value
        self.alignment_ = float(moments(samples, [found.kernel], target.centred).alignments()[0])
        self.history_ = [
            Step(found.kernel, 1, value, self.alignment_, None) for value in found.path
        ]
        self.n_iter_ = found.n_iter

"""Learners that weigh a finite dictionary of kernels."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Literal

import numpy as np
from scipy.linalg import eigh

from mercer._typing import Array, Features
from mercer.callbacks import reported_steps
from mercer.gram.moments import Moments, moments
from mercer.gram.tiles import Samples
from mercer.history import Step
from mercer.kernels import WeightedSum
from mercer.learners.base import KernelLearner, base_kernels
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
        with reported_steps(self, 1) as report:
            streamed = Samples(samples.X, len(kernels), keep=False)
            found = moments(streamed, kernels, target.centred)
            report()
        self.weights_ = self._weigh(found)
        self.shares_ = found.shares(self.weights_)
        self.kernel_ = WeightedSum(kernels, self.weights_)
        self.alignment_ = found.alignment(self.weights_)
        used = int(np.count_nonzero(self.weights_))
        self.history_ = [Step(self.kernel_, used, self.alignment_, self.alignment_, None)]
        self.n_iter_ = 1


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
    kernels : list, None or "precomputed", default=None
        The dictionary, of kernels, names, callables or scikit-learn Gaussian-process kernels; 20
        Gaussian widths read off the data where None. With `"precomputed"`, X is a stack of Gram
        matrices of shape (n_samples, n_samples, n_kernels).
    normalize : {None, "trace"}, default=None
        With `"trace"`, kernels are weighed after their centred training Gram matrices are scaled to
        a trace of one.
    task : {"auto", "classification", "regression"}, default="auto"
        What `y` holds.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, callable on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels as they are, summing to one.
    shares_ : ndarray of shape (n_kernels,)
        Part of each kernel in the trace of the centred training Gram matrix, summing to one.
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
    kernels : list, None or "precomputed", default=None
        The dictionary, of kernels, names, callables or scikit-learn Gaussian-process kernels; 20
        Gaussian widths read off the data where None. With `"precomputed"`, X is a stack of Gram
        matrices of shape (n_samples, n_samples, n_kernels).
    normalize : {None, "trace"}, default=None
        With `"trace"`, kernels are weighed after their centred training Gram matrices are scaled to
        a trace of one.
    task : {"auto", "classification", "regression"}, default="auto"
        What `y` holds.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, callable on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels as they are, summing to one.
    shares_ : ndarray of shape (n_kernels,)
        Part of each kernel in the trace of the centred training Gram matrix, summing to one.
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
    array([0.21, 0.14, 0.33, 0.32])
    """

    def _weigh(self, found: Moments) -> Array:
        return normalised(independent_weights(found) * self._shares(found))


class AlignmentMaximization(_FiniteDictionary):
    """Weights of the largest centred alignment with the target ("alignf").

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The dictionary, of kernels, names, callables or scikit-learn Gaussian-process kernels; 20
        Gaussian widths read off the data where None. With `"precomputed"`, X is a stack of Gram
        matrices of shape (n_samples, n_samples, n_kernels).
    signs : {"nonnegative", "free"}, default="nonnegative"
        Non-negative weights, by a quadratic programme, or weights of either sign, in closed form.
        The latter's combination may be no kernel: a warning says so.
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
    shares_ : ndarray of shape (n_kernels,)
        Part of each kernel in the trace of the centred training Gram matrix, summing to one.
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
    O(p^2 n^2) multiplications in matrix products, tile by tile, and O(p^3) for the weights; memory
    is p tiles a thread. The weights do not depend on the scale of the kernels.

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
    >>> round(float(learner.alignment_), 2), int((learner.weights_ > 0).sum())
    (0.62, 3)
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

    def _gram(self, X: Features) -> Array:
        gram = super()._gram(X)
        if self.projection_ is None:
            return gram
        projection = self.projection_.astype(gram.dtype, copy=False)
        return (gram @ projection) @ projection.T

    def _weigh(self, found: Moments) -> Array:
        if self.signs == "nonnegative":
            return nonnegative_weights(found)
        if self.signs == "free":
            return free_weights(found)
        raise ValueError(f'signs must be "nonnegative" or "free"; got {self.signs!r}.')

    def _learn(self, table: Features, samples: Samples, target: Target) -> None:
        super()._learn(table, samples, target)
        if not isinstance(self.clip_spectrum, bool | np.bool_):
            raise ValueError(f"clip_spectrum must be True or False; got {self.clip_spectrum!r}.")
        self.projection_: Array | None = None
        self.is_psd_ = self.clip_spectrum or not (self.weights_ < 0).any()
        if not (self.weights_ < 0).any():
            return
        if not self.clip_spectrum:
            warnings.warn(
                "Some weights are negative, so the learned combination may not be positive "
                "semi-definite: set clip_spectrum=True to use it in a support vector machine.",
                UserWarning,
                stacklevel=4,
            )
            return
        gram = self.kernel_(samples.X)
        values, vectors = eigh((gram + gram.T) / 2.0)
        self.projection_ = vectors[:, values > 0.0]

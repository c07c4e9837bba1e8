"""Learners that weigh a finite dictionary of kernels."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, Literal

import numpy as np
from scipy.linalg import eigh

from mercer._gram.moments import Moments
from mercer._gram.tiles import Samples
from mercer._learners.weighted import FiniteDictionary, ScaledDictionary
from mercer._targets import Target, Task
from mercer._typing import Array, Features
from mercer._weights.alignment_weights import (
    dependence_weights,
    free_weights,
    independent_weights,
    nonnegative_weights,
    normalized,
)


class UniformCombination(ScaledDictionary):
    """The same weight for every kernel of a dictionary.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The dictionary, of kernels, names, callables or scikit-learn Gaussian-process kernels; 20
        Gaussian widths read off the data where None. With `"precomputed"`, X is a stack of Gram
        matrices of shape (n_samples, n_samples, n_kernels).
    normalize : {None, "trace"}, default=None
        With `"trace"`, kernels are weighted after their centered training Gram matrices are scaled
        to a trace of one.
    task : {"auto", "classification", "regression"}, default="auto"
        What `y` holds.
    output_kernel : str, array-like, kernel or None, default=None
        How alike two outputs are: None or `"labels"`, `"delta"`, `"balanced"` or a matrix of
        similarities for classes; `"linear"`, `"gaussian"` or a kernel for responses; `"multilabel"`
        for sets of labels; `"precomputed"` for a Gram matrix in place of `y`. See
        :func:`mercer._targets.as_target`.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, callable on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels as they are, summing to one.
    shares_ : ndarray of shape (n_kernels,)
        Part of each kernel in the trace of the centered training Gram matrix, summing to one.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set.
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
        return normalized(self._shares(found))


class IndependentAlignment(ScaledDictionary):
    """Weights proportional to each kernel's own centered alignment ("align").

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The dictionary, of kernels, names, callables or scikit-learn Gaussian-process kernels; 20
        Gaussian widths read off the data where None. With `"precomputed"`, X is a stack of Gram
        matrices of shape (n_samples, n_samples, n_kernels).
    normalize : {None, "trace"}, default=None
        With `"trace"`, kernels are weighted after their centered training Gram matrices are scaled
        to a trace of one.
    task : {"auto", "classification", "regression"}, default="auto"
        What `y` holds.
    output_kernel : str, array-like, kernel or None, default=None
        How alike two outputs are: None or `"labels"`, `"delta"`, `"balanced"` or a matrix of
        similarities for classes; `"linear"`, `"gaussian"` or a kernel for responses; `"multilabel"`
        for sets of labels; `"precomputed"` for a Gram matrix in place of `y`. See
        :func:`mercer._targets.as_target`.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, callable on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels as they are, summing to one.
    shares_ : ndarray of shape (n_kernels,)
        Part of each kernel in the trace of the centered training Gram matrix, summing to one.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set.
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
        return normalized(independent_weights(found) * self._shares(found))


class HSICWeights(ScaledDictionary):
    """Weights of the largest Hilbert-Schmidt independence criterion (HSIC) with the target.

    HSIC is linear in the weights: of mu it is sum_k mu_k HSIC_k. What bounds the weights decides.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The dictionary, of kernels, names, callables or scikit-learn Gaussian-process kernels; 20
        Gaussian widths read off the data where None. With `"precomputed"`, X is a stack of Gram
        matrices of shape (n_samples, n_samples, n_kernels).
    norm : {1, 2, "cka"}, default=2
        What is held fixed while HSIC grows:

        * 1: the sum of the weights. This is a linear program, so that **one kernel wins**: that
          of the largest HSIC, the first of equal ones. It chooses a kernel, and combines none.
        * 2: the sum of their squares. The weights are proportional to HSIC_k.
        * `"cka"`: the norm of the centered combination, which makes HSIC the centered kernel
          alignment; the same as :class:`AlignmentMaximization`.
    normalize : {None, "trace"}, default=None
        With `"trace"`, kernels are weighted after their centered training Gram matrices are scaled
        to a trace of one. HSIC grows with the scale of a kernel; `norm="cka"` ignores the scale.
    task : {"auto", "classification", "regression"}, default="auto"
        What `y` holds.
    output_kernel : str, array-like, kernel or None, default=None
        How alike two outputs are: None or `"labels"`, `"delta"`, `"balanced"` or a matrix of
        similarities for classes; `"linear"`, `"gaussian"` or a kernel for responses; `"multilabel"`
        for sets of labels; `"precomputed"` for a Gram matrix in place of `y`. See
        :func:`mercer._targets.as_target`.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, callable on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels as they are, summing to one.
    hsic_ : ndarray of shape (n_kernels,)
        HSIC of each kernel with the target, scaled as `normalize` says.
    shares_ : ndarray of shape (n_kernels,)
        Part of each kernel in the trace of the centered training Gram matrix, summing to one.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set.
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
    AlignmentMaximization : What `norm="cka"` is, and weights of either sign.
    IndependentAlignment : Weights proportional to the alignments, not to HSIC.
    KernelOptimization : The parameters of one kernel by HSIC.

    Notes
    -----
    O(p^2 n^2) multiplications in matrix products, tile by tile; memory is p tiles a thread. Like
    :class:`IndependentAlignment`, norm 2 does not see how kernels overlap: two copies of one have
    twice its weight.

    References
    ----------
    Wang & Li (2018), eq. (5), which is norm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import HSICWeights
    >>> from mercer.kernels import Gaussian
    >>> X, y = load_iris(return_X_y=True)
    >>> kernels = [Gaussian(0.1), Gaussian(1.0), Gaussian(3.0)]
    >>> HSICWeights(kernels).fit(X, y).weights_.round(2)
    array([0.02, 0.44, 0.53])
    >>> HSICWeights(kernels, norm=1).fit(X, y).weights_
    array([0., 0., 1.])
    """

    def __init__(
        self,
        kernels: Any = None,
        norm: Literal[1, 2, "cka"] = 2,
        *,
        normalize: Literal["trace"] | None = None,
        task: Task = "auto",
        output_kernel: Any = None,
    ) -> None:
        super().__init__(kernels, normalize=normalize, task=task, output_kernel=output_kernel)
        self.norm: Any = norm

    def _check_settings(self) -> None:
        super()._check_settings()
        number = isinstance(self.norm, Real) and self.norm in (1, 2)
        if not (number or (isinstance(self.norm, str) and self.norm == "cka")):
            raise ValueError(f'norm must be 1, 2 or "cka"; got {self.norm!r}.')

    def _weigh(self, found: Moments) -> Array:
        shares = self._shares(found)
        self.hsic_ = shares * found.a / (found.n_samples - 1) ** 2
        if self.norm == "cka":
            return nonnegative_weights(found)
        return normalized(shares * dependence_weights(self.hsic_, self.norm))


class AlignmentMaximization(FiniteDictionary):
    """Weights of the largest centered alignment with the target ("alignf").

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The dictionary, of kernels, names, callables or scikit-learn Gaussian-process kernels; 20
        Gaussian widths read off the data where None. With `"precomputed"`, X is a stack of Gram
        matrices of shape (n_samples, n_samples, n_kernels).
    signs : {"nonnegative", "free"}, default="nonnegative"
        Non-negative weights, by a quadratic program, or weights of either sign, in closed form.
        The latter's combination may be no kernel: a warning says so.
    clip_spectrum : bool, default=False
        Whether `transform` drops the negative part of the learned Gram matrix's spectrum, so that
        weights of either sign can serve a support vector machine. O(n^3).
    task : {"auto", "classification", "regression"}, default="auto"
        What `y` holds.
    output_kernel : str, array-like, kernel or None, default=None
        How alike two outputs are: None or `"labels"`, `"delta"`, `"balanced"` or a matrix of
        similarities for classes; `"linear"`, `"gaussian"` or a kernel for responses; `"multilabel"`
        for sets of labels; `"precomputed"` for a Gram matrix in place of `y`. See
        :func:`mercer._targets.as_target`.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned combination, callable on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels, absolute values summing to one.
    shares_ : ndarray of shape (n_kernels,)
        Part of each kernel in the trace of the centered training Gram matrix, summing to one.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set.
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
        output_kernel: Any = None,
    ) -> None:
        self.kernels = kernels
        self.task = task
        self.output_kernel = output_kernel
        self.signs = signs
        self.clip_spectrum = clip_spectrum

    def _gram(self, X: Features) -> Array:
        gram = super()._gram(X)
        if self.projection_ is None:
            return gram
        projection = self.projection_.astype(gram.dtype, copy=False)
        return (gram @ projection) @ projection.T

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.signs not in ("nonnegative", "free"):
            raise ValueError(f'signs must be "nonnegative" or "free"; got {self.signs!r}.')
        if not isinstance(self.clip_spectrum, bool | np.bool_):
            raise ValueError(f"clip_spectrum must be True or False; got {self.clip_spectrum!r}.")

    def _weigh(self, found: Moments) -> Array:
        return nonnegative_weights(found) if self.signs == "nonnegative" else free_weights(found)

    def _learn(self, table: Features, samples: Samples, target: Target) -> None:
        super()._learn(table, samples, target)
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

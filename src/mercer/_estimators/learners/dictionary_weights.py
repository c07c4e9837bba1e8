"""Learners of the weights of a dictionary: uniform weights, alignments, and HSIC."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from mercer._data.types import Array
from mercer._data.validation import check_choice
from mercer._estimators.fits import reported_steps
from mercer._estimators.kernel_estimator import TrainingData
from mercer._estimators.kernel_learner import KernelLearner, weighted_kernels
from mercer._gram.moments import Moments, moments
from mercer._search.records import LearnedKernel
from mercer._search.targets import Target, Task
from mercer._search.weights.alignment_weights import (
    dependence_weights,
    independent_weights,
    nonnegative_weights,
    normalized,
)
from mercer.kernels._conversion import KernelDictionary, OutputKernelSource


class DictionaryLearner(KernelLearner):
    """Base class of learners that compute the weights of a finite dictionary from its moments."""

    kernels: KernelDictionary

    def _learn(self, data: TrainingData, target: Target) -> LearnedKernel:
        kernels = data.dictionary(self.kernels)
        with reported_steps(self, 1) as report:
            found = moments(data.samples(len(kernels), keep=False), kernels, target.centered)
            report()
        return weighted_kernels(kernels, self._weigh(found), found)

    @abstractmethod
    def _weigh(self, found: Moments) -> Array:
        """Return the weights of the given kernels."""


@dataclass(eq=False, repr=False)
class ScaledDictionaryLearner(DictionaryLearner):
    """Base class of learners whose weights depend on the scale of the kernels."""

    kernels: KernelDictionary = None
    _: KW_ONLY
    normalize: Literal["trace"] | None = None
    task: Task = "auto"
    output_kernel: OutputKernelSource = None

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice("normalize", self.normalize, (None, "trace"))

    def _factors(self, found: Moments) -> Array:
        """Return the factors by which the kernels are multiplied before they are weighted."""
        factors = np.ones(found.traces.size)
        if self.normalize == "trace":
            factors = np.divide(1.0, found.traces, out=0.0 * factors, where=found.traces > 0.0)
        return factors


class UniformCombination(ScaledDictionaryLearner):
    """Give the same weight to all given kernels, as a baseline for learned weights.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The kernels to combine, also called the dictionary: kernels of `mercer.kernels`, their
        names, callables or scikit-learn Gaussian-process kernels. None stands for 20 Gaussian
        kernels whose widths are chosen from the data. With `"precomputed"`, X is a stack of Gram
        matrices of shape (n_samples, n_samples, n_kernels).
    normalize : {None, "trace"}, default=None
        With `"trace"`, the centered training Gram matrices of the kernels are scaled to a trace of
        one before they are weighted.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `y` holds classes or responses. `"auto"` treats numbers that are not whole, and
        whole numbers with more than 20 distinct values, as responses.
    output_kernel : str, array-like, kernel or None, default=None
        The kernel on labels or responses that the learned kernel is aligned with, such as
        `"balanced"` or `"gaussian"`, or a matrix of similarities between classes. None stands for
        `"labels"` in classification and for `"linear"` in regression. The section "Output kernels"
        of the :doc:`glossary </glossary>` lists all options.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, which can be called on two tables. It is at unit scale: the sum of
        `kernels_` with the coefficients ``weights_ / scale_``.
    kernels_ : list of Kernel
        The given kernels, adapted to the training table.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the given kernels, summing to one.
    scale_ : float
        Mean diagonal of the centered training Gram matrix of the weighted sum.
    shares_ : ndarray of shape (n_kernels,)
        Share of each kernel in the learned kernel, by the traces of centered training Gram
        matrices. The shares sum to one.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set, at most one.
    history_ : list of Step
        One step.
    n_iter_ : int
        One.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed stacks.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    See Also
    --------
    AlignmentMaximization : Learns the weights.

    Notes
    -----
    The alignment takes O(p n^2) time, in tiles.

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
        return normalized(self._factors(found))


class IndependentAlignment(ScaledDictionaryLearner):
    """Weight each of the given kernels by its own alignment with the target ("align").

    The weight of each kernel is proportional to the kernel's own centered alignment with the
    target.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The kernels to combine, also called the dictionary: kernels of `mercer.kernels`, their
        names, callables or scikit-learn Gaussian-process kernels. None stands for 20 Gaussian
        kernels whose widths are chosen from the data. With `"precomputed"`, X is a stack of Gram
        matrices of shape (n_samples, n_samples, n_kernels).
    normalize : {None, "trace"}, default=None
        With `"trace"`, the centered training Gram matrices of the kernels are scaled to a trace of
        one before they are weighted.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `y` holds classes or responses. `"auto"` treats numbers that are not whole, and
        whole numbers with more than 20 distinct values, as responses.
    output_kernel : str, array-like, kernel or None, default=None
        The kernel on labels or responses that the learned kernel is aligned with, such as
        `"balanced"` or `"gaussian"`, or a matrix of similarities between classes. None stands for
        `"labels"` in classification and for `"linear"` in regression. The section "Output kernels"
        of the :doc:`glossary </glossary>` lists all options.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, which can be called on two tables. It is at unit scale: the sum of
        `kernels_` with the coefficients ``weights_ / scale_``.
    kernels_ : list of Kernel
        The given kernels, adapted to the training table.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the given kernels, summing to one.
    scale_ : float
        Mean diagonal of the centered training Gram matrix of the weighted sum.
    shares_ : ndarray of shape (n_kernels,)
        Share of each kernel in the learned kernel, by the traces of centered training Gram
        matrices. The shares sum to one.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set, at most one.
    history_ : list of Step
        One step.
    n_iter_ : int
        One.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed stacks.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    Notes
    -----
    A fit takes O(p^2 n^2) multiplications in matrix products. Kernels of rank one need no n x n
    matrix.

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
        return normalized(independent_weights(found) * self._factors(found))


@dataclass(eq=False, repr=False)
class HSICWeights(ScaledDictionaryLearner):
    """Learn weights of given kernels by the Hilbert-Schmidt independence criterion (HSIC).

    The weights maximize the dependence of the combined kernel on the target. HSIC is a linear
    function sum_k mu_k HSIC_k of the weights mu, so that the constraint on the weights determines
    the maximum.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The kernels to combine, also called the dictionary: kernels of `mercer.kernels`, their
        names, callables or scikit-learn Gaussian-process kernels. None stands for 20 Gaussian
        kernels whose widths are chosen from the data. With `"precomputed"`, X is a stack of Gram
        matrices of shape (n_samples, n_samples, n_kernels).
    norm : {1, 2, "cka"}, default=2
        The quantity that is held fixed while HSIC is maximized:

        * 1: the sum of the weights. This is a linear program, so that **one kernel wins**: the
          kernel with the largest HSIC, or the first of several with the same HSIC. A kernel is
          selected, and no kernels are combined.
        * 2: the sum of the squared weights. The weights are proportional to HSIC_k.
        * `"cka"`: the norm of the centered combination, so that HSIC is the centered kernel
          alignment. This is the same as :class:`AlignmentMaximization`.
    normalize : {None, "trace"}, default=None
        With `"trace"`, the centered training Gram matrices of the kernels are scaled to a trace of
        one before they are weighted. HSIC grows with the scale of a kernel, but `norm="cka"` does
        not depend on it.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `y` holds classes or responses. `"auto"` treats numbers that are not whole, and
        whole numbers with more than 20 distinct values, as responses.
    output_kernel : str, array-like, kernel or None, default=None
        The kernel on labels or responses that the learned kernel is aligned with, such as
        `"balanced"` or `"gaussian"`, or a matrix of similarities between classes. None stands for
        `"labels"` in classification and for `"linear"` in regression. The section "Output kernels"
        of the :doc:`glossary </glossary>` lists all options.

    Attributes
    ----------
    kernel_ : WeightedSum
        The learned kernel, which can be called on two tables. It is at unit scale: the sum of
        `kernels_` with the coefficients ``weights_ / scale_``.
    kernels_ : list of Kernel
        The given kernels, adapted to the training table.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the given kernels, summing to one.
    scale_ : float
        Mean diagonal of the centered training Gram matrix of the weighted sum.
    hsic_ : ndarray of shape (n_kernels,)
        HSIC of each kernel, scaled according to `normalize`, with the target.
    shares_ : ndarray of shape (n_kernels,)
        Share of each kernel in the learned kernel, by the traces of centered training Gram
        matrices. The shares sum to one.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set, at most one.
    history_ : list of Step
        One step.
    n_iter_ : int
        One.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed stacks.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    See Also
    --------
    AlignmentMaximization : The same as `norm="cka"`; it can also learn weights of either sign.
    IndependentAlignment : Weights that are proportional to the alignments, not to HSIC.
    KernelOptimization : Learns the parameters of one kernel by HSIC.

    Notes
    -----
    A fit takes O(p^2 n^2) multiplications in matrix products, tile by tile, and memory for p tiles
    per thread. Like :class:`IndependentAlignment`, norm 2 ignores similarities between kernels: two
    copies of a kernel together have twice its weight.

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

    norm: Literal[1, 2, "cka"] = 2

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.norm not in (1, 2, "cka"):
            raise ValueError(f'norm must be 1, 2 or "cka"; got {self.norm!r}.')

    def _weigh(self, found: Moments) -> Array:
        factors = self._factors(found)
        self.hsic_ = factors * found.a / (found.n_samples - 1) ** 2
        if self.norm == "cka":
            return nonnegative_weights(found)
        return normalized(factors * dependence_weights(self.hsic_, self.norm))

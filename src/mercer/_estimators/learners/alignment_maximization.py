"""The learner of weights that maximize the centered alignment."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal, Self

import numpy as np
from scipy.linalg import eigh

from mercer._data.types import Array, Features
from mercer._data.validation import check_bool, check_choice, warn
from mercer._estimators.kernel_estimator import TrainingData, kernel_rows
from mercer._estimators.learners.dictionary_weights import DictionaryLearner
from mercer._gram.moments import Moments
from mercer._gram.own_kernels import WITHOUT_WEIGHT, indefinite_kernels
from mercer._search.records import LearnedKernel
from mercer._search.targets import Task
from mercer._search.weights.alignment_weights import (
    free_weights,
    nonnegative_weights,
)
from mercer.kernels import WeightedSum
from mercer.kernels._column_names import with_names
from mercer.kernels._conversion import KernelDictionary, OutputKernelSource


@dataclass(eq=False, repr=False)
class AlignmentMaximization(DictionaryLearner):
    """Learn weights of given kernels that maximize the alignment with the target ("alignf").

    The centered alignment, which is at most one, measures how well the kernel between samples
    agrees with the similarity of their targets. The weights take into account how similar the
    kernels are to one another.

    Parameters
    ----------
    kernels : list, None or "precomputed", default=None
        The kernels to combine, also called the dictionary: kernels of `mercer.kernels`, their
        names, callables or scikit-learn Gaussian-process kernels. None stands for 20 Gaussian
        kernels whose widths are chosen from the data. With `"precomputed"`, X is a stack of Gram
        matrices of shape (n_samples, n_samples, n_kernels).
    signs : {"nonnegative", "free"}, default="nonnegative"
        Whether weights are non-negative, which takes a quadratic program, or of either sign, which
        has a closed form. A combination with negative weights may not be a kernel, and a warning is
        issued.
    clip_spectrum : bool, default=False
        Whether `transform` drops the negative part of the spectrum of the learned Gram matrix, so
        that a combination with negative weights can be used in a support vector machine. This takes
        O(n^3) time.
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
        The learned combination, which can be called on two tables.
    weights_ : ndarray of shape (n_kernels,)
        Coefficients of the kernels, whose absolute values sum to one.
    shares_ : ndarray of shape (n_kernels,)
        Share of each kernel in the learned kernel, by the traces of centered training Gram
        matrices. The shares sum to one.
    alignment_ : float
        Centered alignment of the learned kernel with the target on the training set, at most one.
    history_ : list of Step
        One step.
    n_iter_ : int
        One.
    is_psd_ : bool
        Whether the result of `transform` is certain to be positive semi-definite.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The training samples; None for precomputed stacks.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Defined only if X has feature names that are all strings.

    Notes
    -----
    A fit takes O(p^2 n^2) multiplications in matrix products, tile by tile, and O(p^3) for the
    weights. Memory is needed for p tiles per thread. The learned kernel does not depend on the
    scales of the kernels.

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

    kernels: KernelDictionary = None
    _: KW_ONLY
    signs: Literal["nonnegative", "free"] = "nonnegative"
    clip_spectrum: bool = False
    task: Task = "auto"
    output_kernel: OutputKernelSource = None

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice("signs", self.signs, ("nonnegative", "free"))
        check_bool("clip_spectrum", self.clip_spectrum)

    def _weigh(self, found: Moments) -> Array:
        return nonnegative_weights(found) if self.signs == "nonnegative" else free_weights(found)

    def transform(self, X: Features) -> Array:
        """Evaluate the learned kernel between samples and the training set.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A stack of shape (n_samples, n_fitted, n_kernels) if `kernels` is "precomputed".

        Returns
        -------
        ndarray of shape (n_samples, n_fitted)
            The kernel at unit scale. With `clip_spectrum`, the negative part of its spectrum is
            dropped.
        """
        gram = kernel_rows(self, X)
        if self.projection_ is None:
            return gram
        onto, back = (part.astype(gram.dtype, copy=False) for part in self.projection_)
        return (gram @ onto) @ back.T

    def _rows_less_offset(self, X: Features) -> Array:
        return super()._rows_less_offset(X) if self.projection_ is None else self.transform(X)

    def _store(self, data: TrainingData, found: LearnedKernel) -> Self:
        """Set the fitted attributes, including those of the spectrum."""
        super()._store(data, found)
        told, counts = indefinite_kernels(self.kernels_, self.weights_, data.X)
        if (self.weights_ < 0.0).any():
            told, counts = "Some weights are negative", True
        self.is_psd_ = bool(self.clip_spectrum) or not counts
        self.projection_: tuple[Array, ...] | None = None
        if counts and self.clip_spectrum:
            self._clip_spectrum(data)
        elif counts:
            warn(
                f"{told}, so the learned combination may not be positive semi-definite: set "
                "clip_spectrum=True to use it in a support vector machine."
            )
        elif told:
            warn(f"{told}; {WITHOUT_WEIGHT}")
        return self

    def _tell_indefinite(self, data: TrainingData) -> None:
        """Do nothing, because `_store` issues the warnings."""

    def _clip_spectrum(self, data: TrainingData) -> None:
        """Compute the projection on the eigenvectors of positive eigenvalues, at unit scale.

        For weighted samples, these are the eigenvectors V of R K R, where R is the diagonal matrix
        of the square roots of the weights. A kernel row k becomes k R V V' R^-1. Columns of samples
        with weight zero are zero.
        """
        roots = data.weights.roots[:, None]
        gram = data.weights.scaled_gram(self.kernel_(data.X))
        values, vectors = eigh((gram + gram.T) / 2.0)
        positive, values = vectors[:, values > 0.0], values[values > 0.0]
        onto, back = roots * positive, positive / roots
        self.projection_ = data.of_all(onto), data.of_all(back)
        variance = float(np.square(data.weights.deviation(back * np.sqrt(values))).sum())
        if variance > 0.0:
            # The last digits of eigenvectors depend on the number of threads, but a fit should not.
            self.scale_ *= float(f"{variance:.10g}")
            self.kernel_ = with_names(WeightedSum(self.kernels_, self.weights_ / self.scale_), self)

"""The kernels that a fitted estimator combines, which displays and reports are read off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array, Features
from mercer.kernels import Kernel


@dataclass(frozen=True)
class KernelTerms:
    """The kernels that a fitted estimator combines, and the part of each of them.

    Attributes
    ----------
    kernels : list of Kernel of shape (n_kernels,)
    labels : list of str of shape (n_kernels,)
        A short description of each kernel.
    weights : ndarray of shape (n_kernels,)
        Coefficients of the kernels, or of the predictions.
    shares : ndarray of shape (n_kernels,)
        Parts of the learned kernel's trace on the training set, or of the sum of the weights of the
        predictions. They have the signs of the weights, and their magnitudes sum to one.
    relevance : ndarray of shape (n_features,)
        Weighted sum of the kernels' relevances, 1 / width^2. Of combined predictions, those of each
        kernel sum to one, and so does their weighted mean. Zeros if no kernel's formula is known.
    combines : {"kernels", "predictions"}
        Whether a sum of kernels was learned, or the predictions on each kernel are combined.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import UniformCombination
    >>> learner = UniformCombination(["rbf", "linear"]).fit(*load_iris(return_X_y=True))
    >>> terms = learner.kernel_terms()
    >>> terms.labels, terms.weights, terms.combines
    (['Gaussian, width 1', 'Linear'], array([0.5, 0.5]), 'kernels')
    """

    kernels: list[Kernel]
    labels: list[str]
    weights: Array
    shares: Array
    relevance: Array
    combines: Literal["kernels", "predictions"] = "kernels"


class KernelTermsMixin:
    """What displays and reports ask of every estimator that learns a kernel."""

    n_features_in_: int

    def kernel_terms(self) -> KernelTerms:
        """Return the kernels of the fitted estimator, with their weights and shares.

        Returns
        -------
        mercer.inspection.KernelTerms
        """
        check_is_fitted(self, "kernel_")
        kernel: Any = self.kernel_  # type: ignore[attr-defined]
        if hasattr(self, "weights_"):
            kernels, weights = list(kernel.kernels), np.asarray(self.weights_, dtype=float)
        else:
            kernels, weights = [kernel], np.ones(1)
        relevance = np.zeros(self.n_features_in_)
        for base, weight in zip(kernels, weights, strict=True):
            relevance += weight * base.relevance(relevance.size)
        shares = np.sign(weights) * getattr(getattr(self, "learner_", self), "shares_", np.ones(1))
        return KernelTerms(kernels, [k.describe() for k in kernels], weights, shares, relevance)

    def learned_gram(self, X: Features) -> Array:
        """Return the Gram matrix of the learned kernel on samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A stack of shape (n_samples, n_samples, n_kernels) if kernels are precomputed.

        Returns
        -------
        ndarray of shape (n_samples, n_samples)
        """
        check_is_fitted(self, "kernel_")
        return np.asarray(self.kernel_(X))  # type: ignore[attr-defined]

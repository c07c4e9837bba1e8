"""The kernels that a fitted stack combines, and their Gram matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._gram.dense import unit_gram
from mercer._records import KernelTerms, KernelTermsMixin
from mercer._stacking.table_views import ViewName
from mercer._typing import Array, Features


class StackTermsMixin(KernelTermsMixin):
    """What displays and reports ask of a stack."""

    candidates_: list[Any]
    relevance_: Array
    weights_: Array
    _members: list[Any]
    _for_rows: Callable[[Any, Callable[[dict[ViewName, Features]], Array]], Any]

    def kernel_terms(self) -> KernelTerms:
        """Return the candidates that the fitted stack kept, the largest weight first.

        Returns
        -------
        mercer.inspection.KernelTerms
        """
        check_is_fitted(self, "candidates_")
        kept = sorted((c for c in self.candidates_ if c.weight), key=lambda c: -c.weight)
        kernels, weights = [c.kernel for c in kept], np.array([c.weight for c in kept])
        known = any(kernel.relevance(self.n_features_in_).any() for kernel in kernels)
        relevance = self.relevance_ if known else np.zeros(self.n_features_in_)
        labels, shares = [c.description for c in kept], weights / np.abs(weights).sum()
        return KernelTerms(kernels, labels, weights, shares, relevance, "predictions")

    def learned_gram(self, X: Features) -> Array:
        """Return the weighted sum of the kernels' centered Gram matrices, each at unit scale.

        A stack combines predictions and not kernels, so that it does not predict with this matrix.
        The matrix shows which samples its kernels find similar.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_samples)
        """

        def combined(views: dict[ViewName, Features]) -> Array:
            grams = (unit_gram(m.kernel, views[m.view])[0] for m in self._members)
            return np.asarray(sum(w * K for w, K in zip(self.weights_, grams, strict=True)))

        return np.asarray(self._for_rows(X, combined))

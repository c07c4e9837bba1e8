"""The Gram matrix of a fitted stack, which displays and alignments are read off."""

from __future__ import annotations

from functools import partial

import numpy as np

from mercer._gram.dense import unit_gram
from mercer._stacking.kernel_stacking import KernelStacking
from mercer._stacking.table_views import ViewName
from mercer._typing import Array, Features


def combined_gram(stack: KernelStacking, X: Features) -> Array:
    """Weighted sum of the centered Gram matrices of a stack's kernels, each at unit scale.

    A stack combines predictions and not kernels, so that it does not predict with this matrix. The
    matrix shows which samples its kernels find similar.

    Parameters
    ----------
    stack : fitted KernelStackingClassifier or KernelStackingRegressor
    X : array-like of shape (n_samples, n_features)

    Returns
    -------
    ndarray of shape (n_samples, n_samples)
    """
    gram: Array = stack._for_rows(X, partial(_sum, stack))
    return gram


def _sum(stack: KernelStacking, views: dict[ViewName, Features]) -> Array:
    n = next(iter(views.values())).shape[0]
    gram = np.zeros((n, n))
    for member, weight in zip(stack._members, stack.weights_, strict=True):
        gram += weight * unit_gram(member.kernel, views[member.view])[0]
    return gram

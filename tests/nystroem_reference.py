"""Naive Nyström regression: whitened features of all rows, and ridge regression fold by fold."""

from collections.abc import Sequence

import numpy as np
from sklearn.linear_model import Ridge

from mercer._data.folds import Splits
from mercer._data.types import Array
from mercer.kernels import Kernel


def naive_features(kernel: Kernel, centers: Array, X: Array) -> Array:
    """Features whose inner products are those of projections on the span of centered centers."""
    K = kernel(centers)
    H = np.eye(len(K)) - 1.0 / len(K)
    scale = np.trace(H @ K @ H) / len(K)
    rows = kernel(X, centers)
    rows = (rows - K.mean(axis=0)) @ H / scale
    values, vectors = np.linalg.eigh(H @ K @ H / scale)
    kept = values > 1e-9 * values[-1]
    return np.asarray(rows @ vectors[:, kept] / np.sqrt(values[kept]))


def naive_losses(
    Z: Array, Y: Array, folds: Array, alphas: Sequence[float], weights: Array | None = None
) -> Array:
    """Losses of folds that are numbered, each of which is predicted from all others."""
    splits = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in set(folds)]
    return naive_split_losses(Z, Y, splits, alphas, weights)


def naive_split_losses(
    Z: Array, Y: Array, splits: Splits, alphas: Sequence[float], weights: Array | None = None
) -> Array:
    """Squared errors of held-out rows, relative to those of the mean of the training rows."""
    losses = []
    w = np.ones(len(Y)) if weights is None else weights
    for alpha in alphas:
        errors, baselines = np.zeros(Y.shape[1]), np.zeros(Y.shape[1])
        for train, out in splits:
            model = Ridge(alpha).fit(Z[train], Y[train], sample_weight=w[train])
            mean = np.average(Y[train], axis=0, weights=w[train])
            errors += w[out] @ (Y[out] - model.predict(Z[out]).reshape(-1, Y.shape[1])) ** 2
            baselines += w[out] @ (Y[out] - mean) ** 2
        losses.append((errors / baselines).mean())
    return np.array(losses)

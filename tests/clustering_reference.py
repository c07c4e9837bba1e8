"""Naive dense references for clustering: the objective, its gains, and the weights' problem."""

import numpy as np
from reference import Matrix, center
from scipy.optimize import nnls


def indicators(labels: Matrix, k: int, normalize: bool) -> Matrix:
    """Y, with one column per cluster; divided by the square root of its size if `normalize`."""
    Y = (labels[:, None] == np.arange(k)).astype(float)
    return Y / np.sqrt(Y.sum(axis=0)) if normalize else Y


def dependence(K: Matrix, A: Matrix, labels: Matrix, normalize: bool = True) -> float:
    """The objective <K_c, Y A Y'>."""
    Y = indicators(labels, len(A), normalize)
    return float(np.sum(center(K) * (Y @ A @ Y.T)))


def gains(K: Matrix, A: Matrix, labels: Matrix, normalize: bool = True) -> Matrix:
    """The gain of every move of one sample, one by one; -inf for moves that are not allowed."""
    result = np.full((len(A), len(labels)), -np.inf)
    now = dependence(K, A, labels, normalize)
    for i, own in enumerate(labels):
        for cluster in range(len(A)):
            if cluster != own and np.sum(labels == own) > 1:
                moved = np.where(np.arange(len(labels)) == i, cluster, labels)
                result[cluster, i] = dependence(K, A, moved, normalize) - now
    return result


def penalized_alignment(
    kernels: list[Matrix], A: Matrix, labels: Matrix, weights: Matrix, penalty: float
) -> float:
    """The penalized alignment v'a / sqrt(v'(M + penalty D) v), with kernels of trace one."""
    scaled = [center(K) / np.trace(center(K)) for K in kernels]
    a = np.array([dependence(K, A, labels) for K in scaled])
    M = np.array([[np.sum(K * L) for L in scaled] for K in scaled])
    M += penalty * np.diag(np.diag(M))
    return float(weights @ a / np.sqrt(weights @ M @ weights))


def best_weights(kernels: list[Matrix], A: Matrix, labels: Matrix, penalty: float) -> Matrix:
    """The weights of the largest penalized alignment, by ridge regression on all n^2 entries."""
    scaled = [center(K) / np.trace(center(K)) for K in kernels]
    Y = indicators(labels, len(A), True)
    target = center(Y @ A @ Y.T).ravel()
    design = np.stack([K.ravel() for K in scaled], axis=1)
    ridge = np.diag(np.sqrt(penalty) * np.linalg.norm(design, axis=0))
    rows = np.vstack([design, ridge])
    scale = np.linalg.norm(rows, axis=0)
    v = nnls(rows / scale, np.append(target, np.zeros(len(kernels))))[0] / scale
    return v / v.sum()

"""Clusterings, samples and Gram matrices to try them on, and naive dense references."""

from typing import Any

import numpy as np
import pytest
from reference import Matrix, center, gaussian
from scipy.optimize import nnls
from sklearn.datasets import make_blobs

from mercer import HSICClustering, MultipleKernelClustering
from mercer.kernels import Gaussian, Laplacian, Linear, OnColumns

CHAIN = np.exp(-((np.arange(4)[:, None] - np.arange(4)) ** 2))
HSIC_MODELS = {
    "greedy": HSICClustering(4, random_state=0),
    "spectral": HSICClustering(4, method="spectral", random_state=0),
    "linear": HSICClustering(4, "linear", random_state=0),
    "chain": HSICClustering(4, similarity=CHAIN, random_state=0),
    "plain": HSICClustering(4, similarity=CHAIN, normalize=False, random_state=0),
}
every_hsic_model = pytest.mark.parametrize("model", HSIC_MODELS.values(), ids=HSIC_MODELS)

KERNELS: list[Any] = [
    OnColumns(Gaussian("median"), [0, 1]),
    OnColumns(Laplacian(3.0), [2]),
    OnColumns(Linear(), [3, 4]),
    OnColumns(Gaussian(0.5), [5]),
]
MULTIPLE_MODELS = {
    "default": MultipleKernelClustering(KERNELS, 4, random_state=0),
    "alignf": MultipleKernelClustering(KERNELS, 4, weight_penalty=0.0, random_state=0),
    "strong": MultipleKernelClustering(KERNELS, 4, weight_penalty=100.0, random_state=0),
    "kernels": MultipleKernelClustering(KERNELS, 4, weights_init="kernels", random_state=0),
    "chain": MultipleKernelClustering(KERNELS, 4, similarity=CHAIN, random_state=0),
    "features": MultipleKernelClustering([Linear(per_feature=True)], 4, random_state=0),
}
every_multiple_model = pytest.mark.parametrize(
    "model", MULTIPLE_MODELS.values(), ids=MULTIPLE_MODELS
)


def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Four clusters on a line in the plane, far enough apart for one best partition."""
    centers = np.array([[0.0, 0.0], [3.0, 1.0], [6.0, 0.0], [9.0, -1.0]])
    return make_blobs([30, 20, 25, 15], centers=centers, cluster_std=0.4, random_state=0)


def views(n: int = 80, seed: int = 0, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Draw four classes; each of three views tells some of them apart, and the last is noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n)
    corners = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0], [6.0, 6.0]])
    parts = [corners[y], 5.0 * (y[:, None] % 2), 4.0 * corners[y] / 6.0, np.zeros((n, 1))]
    X = np.column_stack(parts)
    return X + noise * rng.normal(size=X.shape), y


def grams(model: Any, X: np.ndarray) -> list[np.ndarray]:
    """Evaluate each base kernel of a fitted model."""
    return [kernel(X) for kernel in model.kernel_.kernels]


def samples(model: Any) -> np.ndarray:
    """The samples that a model is tried on."""
    return blobs()[0] if isinstance(model, HSICClustering) else views()[0]


N_SAMPLES = 24
"""Number of samples of the Gram matrices that partitions are tried on."""


def similarities(k: int) -> dict[str, np.ndarray]:
    """Similarities of k clusters, of several kinds."""
    places = np.arange(k)
    root = np.random.default_rng(k).normal(size=(k, k))
    return {
        "identity": np.eye(k),
        "diagonal": np.diag(1.0 + places),
        "chain": np.exp(-((places[:, None] - places) ** 2) / 2.0),
        "ring": 1.0 + np.cos(2.0 * np.pi * (places[:, None] - places) / k),
        "any": root @ root.T,
    }


every_kind = pytest.mark.parametrize("kind", similarities(2))
either_normalization = pytest.mark.parametrize("normalize", [True, False])


def gram(seed: int, n: int = N_SAMPLES) -> np.ndarray:
    """A centered Gram matrix."""
    return center(gaussian(np.random.default_rng(seed).normal(size=(n, 3)), 1.5))


def labeling(seed: int, k: int, n: int = N_SAMPLES) -> np.ndarray:
    """Random labels: no cluster is empty, and the first one has a single sample."""
    rng = np.random.default_rng(seed)
    return np.append(np.arange(k), rng.integers(min(1, k - 1), k, size=n - k))


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

"""Initial partitions by k-means++ and by eigenvectors, and the best of several local searches."""

from __future__ import annotations

import numpy as np
import pytest
from clustering_cases import (
    N_SAMPLES,
    gram,
    similarities,
)
from numpy.testing import assert_allclose, assert_array_equal
from reference import center
from sklearn.datasets import make_blobs

from mercer._clustering.local_search import (
    best_local_search,
    kmeans_plusplus_labels,
    spectral_embedding,
)
from mercer._clustering.partitions import Dependence


@pytest.mark.parametrize("k", [1, 2, 5, N_SAMPLES])
@pytest.mark.parametrize("distinct", [1, 3, N_SAMPLES])
def test_seeds_leave_no_cluster_empty(k: int, distinct: int) -> None:
    X = np.random.default_rng(0).normal(size=(distinct, 2))[np.arange(N_SAMPLES) % distinct]
    labels = kmeans_plusplus_labels(X @ X.T, k, np.random.RandomState(0))
    assert_array_equal(np.unique(labels), np.arange(k))


def test_seeds_find_clusters_far_apart() -> None:
    X, y = make_blobs(60, centers=np.eye(5) * 100.0, random_state=0)
    for seed in range(5):
        labels = kmeans_plusplus_labels(X @ X.T, 5, np.random.RandomState(seed))
        assert len({(a, b) for a, b in zip(labels, y, strict=True)}) == 5


def test_samples_are_labeled_by_the_nearest_seed() -> None:
    """Of three samples and two seeds, the third sample joins the nearer seed."""
    X = np.array([[0.0], [1.0], [10.0]])
    for seed in range(5):
        labels = kmeans_plusplus_labels(X @ X.T, 2, np.random.RandomState(seed))
        assert (labels[0] == labels[1]) or (labels[2] != labels[0] and labels[2] != labels[1])


@pytest.mark.parametrize("method", ["greedy", "spectral"])
@pytest.mark.parametrize("distinct", [4, N_SAMPLES])
@pytest.mark.parametrize("kind", ["identity", "ring"])
def test_more_initial_partitions_are_never_worse(method: str, distinct: int, kind: str) -> None:
    X = np.random.default_rng(2).normal(size=(distinct, 2))[np.arange(N_SAMPLES) % distinct]
    problem = Dependence(center(X @ X.T), similarities(6)[kind])
    objectives = []
    for n_init in (1, 4, 12):
        found = best_local_search(problem, method, n_init, np.random.RandomState(0))
        assert np.bincount(found.partition.labels, minlength=6).all()
        objectives.append(found.partition.objective)
    assert objectives == sorted(objectives)


def test_eigenvectors_solve_the_relaxation() -> None:
    """The maximum of tr(Y'KYA) over orthonormal Y is the sum of products of sorted eigenvalues."""
    K, A = gram(0), similarities(4)["chain"]
    rows = spectral_embedding(Dependence(K, A), np.random.RandomState(0))
    pairs = np.linalg.eigvalsh(K)[::-1][:3] * np.linalg.eigvalsh(A)[::-1][:3]
    assert rows.shape == (N_SAMPLES, 3)
    assert_allclose((rows**2).sum(axis=0), pairs, rtol=1e-6)
    rank_one = spectral_embedding(Dependence(K, np.ones((4, 4))), np.random.RandomState(0))
    assert rank_one.shape == (N_SAMPLES, 1)

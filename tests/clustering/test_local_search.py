"""The local search ends in a local optimum, and clusters are numbered in a canonical order."""

from itertools import permutations

import numpy as np
import pytest
from clustering_cases import (
    N_SAMPLES,
    dependence,
    either_normalization,
    every_kind,
    gains,
    gram,
    labeling,
    similarities,
)
from numpy.testing import assert_allclose, assert_array_equal
from reference import center

from mercer._estimators.clustering.local_search import (
    SearchSettings,
    best_local_search,
    kmeans_plusplus_labels,
    local_search,
    numbered,
    spectral_embedding,
)
from mercer._estimators.clustering.partitions import Partition, PartitionHSIC


@every_kind
@either_normalization
def test_no_single_move_is_left(kind: str, normalize: bool) -> None:
    K, A = gram(0), similarities(4)[kind]
    problem = PartitionHSIC(K, A, normalize)
    found = local_search(problem, labeling(0, 4))
    labels = found.partition.labels
    assert found.converged
    assert (np.diff(found.history) > 0.0).all()
    assert_allclose(found.history[-1], dependence(K, A, labels, normalize), rtol=1e-10)
    assert gains(K, A, labels, normalize).max() <= 1e-10 * problem.bound
    assert np.bincount(labels, minlength=4).all()


@every_kind
def test_no_exchange_of_two_labels_is_left(kind: str) -> None:
    K, A = gram(3, n=60), similarities(5)[kind]
    labels = local_search(PartitionHSIC(K, A), labeling(3, 5, n=60)).partition.labels
    objective = dependence(K, A, labels)
    for first in range(5):
        for second in range(first):
            exchanged = np.arange(5)
            exchanged[[first, second]] = second, first
            assert dependence(K, A, exchanged[labels]) <= objective * (1.0 + 1e-10)


def test_gains_below_the_tolerance_are_left() -> None:
    problem = PartitionHSIC(gram(6, n=80), np.eye(5))
    found = local_search(problem, labeling(6, 5, n=80), tol=1e-3)
    left = found.partition.gains().max()
    assert found.converged
    assert 0.0 < left <= 1e-3 * problem.bound
    assert local_search(problem, found.partition.labels).history[-1] >= found.history[-1] + left


def test_numberings_do_not_depend_on_the_unit_of_similarities() -> None:
    """All three clusters differ in rounding alone, relative to the largest similarity."""
    rounding = 1e-15 * np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
    problem = PartitionHSIC(gram(0, n=6), 1e8 * (np.eye(3) + rounding))
    labels = np.array([2, 2, 0, 0, 1, 1])
    assert_array_equal(numbered(Partition(problem, labels)).labels, [0, 0, 1, 1, 2, 2])


@every_kind
def test_equivalent_numberings_become_one(kind: str) -> None:
    """The labels are the first of all equivalent ones in lexicographic order."""
    A, labels = similarities(4)[kind], labeling(0, 4)[::-1]
    problem = PartitionHSIC(gram(0), A)
    symmetries = [
        np.array(p) for p in permutations(range(4)) if np.allclose(A[np.ix_(p, p)], A, atol=1e-12)
    ]
    expected = min(tuple(p[labels]) for p in symmetries)
    for p in symmetries:
        found = numbered(Partition(problem, p[labels]))
        assert tuple(found.labels) == expected
        assert_allclose(found.objective, dependence(problem.K, A, labels), rtol=1e-10)


@pytest.mark.parametrize("sizes", [(12, 13), (8, 8, 8)])
def test_numbering_of_many_equivalent_clusters(sizes: tuple[int, ...]) -> None:
    """With groups of similar clusters, the groups keep their places and the similarity stays."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    A = np.eye(len(group)) + (group[:, None] == group)
    order = np.random.default_rng(0).permutation(len(group))
    found = numbered(Partition(PartitionHSIC(np.eye(len(group)), A), order)).labels
    assert_array_equal(A[np.ix_(found, found)], A[np.ix_(order, order)])
    if len(set(sizes)) == 1:
        assert found[0] == 0


@pytest.mark.parametrize(("k", "distinct"), [(1, 3), (5, 1), (5, 3), (N_SAMPLES, N_SAMPLES)])
def test_seeds_leave_no_cluster_empty(k: int, distinct: int) -> None:
    X = np.random.default_rng(0).normal(size=(distinct, 2))[np.arange(N_SAMPLES) % distinct]
    labels = kmeans_plusplus_labels(X @ X.T, k, np.random.RandomState(0))
    assert_array_equal(np.unique(labels), np.arange(k))


@pytest.mark.parametrize(
    ("method", "distinct", "kind"), [("greedy", 4, "ring"), ("spectral", N_SAMPLES, "identity")]
)
def test_more_initial_partitions_are_never_worse(method: str, distinct: int, kind: str) -> None:
    X = np.random.default_rng(2).normal(size=(distinct, 2))[np.arange(N_SAMPLES) % distinct]
    problem = PartitionHSIC(center(X @ X.T), similarities(6)[kind])
    objectives = []
    for n_init in (1, 4, 12):
        found = best_local_search(problem, method, SearchSettings(n_init, np.random.RandomState(0)))
        assert np.bincount(found.partition.labels, minlength=6).all()
        objectives.append(found.partition.objective)
    assert objectives == sorted(objectives)


def test_eigenvectors_solve_the_relaxation() -> None:
    """The maximum of tr(Y'KYA) over orthonormal Y is the sum of products of sorted eigenvalues."""
    K, A = gram(0), similarities(4)["chain"]
    rows = spectral_embedding(PartitionHSIC(K, A), np.random.RandomState(0))
    pairs = np.linalg.eigvalsh(K)[::-1][:3] * np.linalg.eigvalsh(A)[::-1][:3]
    assert rows.shape == (N_SAMPLES, 3)
    assert_allclose((rows**2).sum(axis=0), pairs, rtol=1e-6)
    rank_one = spectral_embedding(PartitionHSIC(K, np.ones((4, 4))), np.random.RandomState(0))
    assert rank_one.shape == (N_SAMPLES, 1)


def test_clusters_that_a_similarity_does_not_tell_apart_stay_apart() -> None:
    A = np.eye(4)
    A[:3, :3] = 1.0
    partition = Partition(PartitionHSIC(gram(0, n=7), A), np.array([2, 2, 3, 0, 0, 1, 1]))
    assert_array_equal(numbered(partition).labels, [0, 0, 3, 1, 1, 2, 2])

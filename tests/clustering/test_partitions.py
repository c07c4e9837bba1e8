"""The objective of clustering, what moves gain, and where the ascent ends."""

from __future__ import annotations

import numpy as np
import pytest
from clustering_reference import dependence, gains, indicators
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import center, gaussian
from sklearn.datasets import make_blobs

from mercer._clustering.partitions import Dependence, Partition, ascend
from mercer._clustering.starts import best_ascent, embedded, seeded

N_SAMPLES = 24


def similarities(k: int) -> dict[str, np.ndarray]:
    """A of the usual kinds, for k clusters."""
    places = np.arange(k)
    root = np.random.default_rng(k).normal(size=(k, k))
    return {
        "identity": np.eye(k),
        "diagonal": np.diag(1.0 + places),
        "chain": np.exp(-((places[:, None] - places) ** 2) / 2.0),
        "ring": 1.0 + np.cos(2.0 * np.pi * (places[:, None] - places) / k),
        "any": root @ root.T,
    }


KINDS = list(similarities(2))
every_kind = pytest.mark.parametrize("kind", KINDS)
either_scale = pytest.mark.parametrize("normalize", [True, False])


def gram(seed: int, n: int = N_SAMPLES, kernel: str = "gaussian") -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return center(gaussian(X, 1.5) if kernel == "gaussian" else X @ X.T)


def labeling(seed: int, k: int, n: int = N_SAMPLES) -> np.ndarray:
    """Random labels: no cluster is empty, and the first one has a single sample."""
    rng = np.random.default_rng(seed)
    return np.append(np.arange(k), rng.integers(min(1, k - 1), k, size=n - k))


# --- the objective and its gains --------------------------------------------------------------


@every_kind
@either_scale
@given(seed=st.integers(0, 100), k=st.integers(1, 5))
def test_objective_and_gains(kind: str, normalize: bool, seed: int, k: int) -> None:
    K, A, labels = gram(seed), similarities(k)[kind], labeling(seed, k)
    part = Partition(Dependence(K, A, normalize), labels)
    assert_allclose(part.objective, dependence(K, A, labels, normalize), atol=1e-11)
    assert_allclose(part.gains(), gains(K, A, labels, normalize), atol=1e-10)


@every_kind
@either_scale
def test_moves_of_several_samples(kind: str, normalize: bool) -> None:
    problem = Dependence(gram(0), similarities(4)[kind], normalize)
    before, labels = Partition(problem, labeling(0, 4)), labeling(0, 4)
    labels[[5, 9, 20]] = [3, 0, 2]
    moved, anew = (
        before.moved(np.array([20, 5, 9]), np.array([2, 3, 0])),
        Partition(problem, labels),
    )
    assert_array_equal(moved.labels, labels)
    assert_allclose(moved.sums, anew.sums, atol=1e-12)
    assert_allclose(moved.objective, anew.objective, rtol=1e-12)
    assert_array_equal(before.labels, labeling(0, 4))


@every_kind
@either_scale
@pytest.mark.parametrize("k", [1, 3, N_SAMPLES])
def test_bound_norm_and_factor(kind: str, normalize: bool, k: int) -> None:
    A, labels = similarities(k)[kind], labeling(1, k)
    part = Partition(Dependence(gram(1), A, normalize), labels)
    Y = indicators(labels, k, normalize)
    assert_allclose(part.target_norm(), np.linalg.norm(center(Y @ A @ Y.T)), atol=1e-6)
    assert_allclose(part.factor() @ part.factor().T, center(Y @ A @ Y.T), atol=1e-10 * k)
    assert_allclose(part.factor().sum(axis=0), 0.0, atol=1e-10 * k)
    assert part.objective <= part.problem.bound * (1.0 + 1e-12)


def test_an_emptied_cluster_is_worse_than_any() -> None:
    part = Partition(Dependence(gram(0), np.eye(3)), labeling(0, 3))
    assert part.moved(np.array([0]), np.array([1])).objective == -np.inf


# --- the ascent -------------------------------------------------------------------------------


@every_kind
@either_scale
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_no_single_move_is_left(kind: str, normalize: bool, seed: int, kernel: str) -> None:
    K, A = gram(seed, kernel=kernel), similarities(4)[kind]
    problem = Dependence(K, A, normalize)
    found = ascend(problem, labeling(seed, 4))
    labels = found.partition.labels
    assert found.converged
    assert (np.diff(found.history) > 0.0).all()
    assert_allclose(found.history[-1], dependence(K, A, labels, normalize), rtol=1e-10)
    assert gains(K, A, labels, normalize).max() <= 1e-10 * problem.bound
    assert np.bincount(labels, minlength=4).all()


@every_kind
@either_scale
def test_no_two_clusters_should_exchange_their_places(kind: str, normalize: bool) -> None:
    K, A = gram(3, n=60), similarities(5)[kind]
    labels = ascend(Dependence(K, A, normalize), labeling(3, 5, n=60)).partition.labels
    reached = dependence(K, A, labels, normalize)
    for first in range(5):
        for second in range(first):
            places = np.arange(5)
            places[[first, second]] = second, first
            assert dependence(K, A, places[labels], normalize) <= reached * (1.0 + 1e-10)


def test_each_round_gains_what_the_best_move_gains() -> None:
    problem = Dependence(gram(5, n=80), similarities(6)["chain"])
    labels = labeling(5, 6, n=80)
    for _ in range(5):
        found = ascend(problem, labels, max_iter=1)
        start = Partition(problem, labels)
        assert found.history[-1] >= start.objective + start.gains().max() * (1.0 - 1e-10)
        assert len(found.history) == 2
        assert not found.converged
        labels = found.partition.labels


def test_tolerance_leaves_small_gains_alone() -> None:
    problem = Dependence(gram(6, n=80), np.eye(5))
    found = ascend(problem, labeling(6, 5, n=80), tol=1e-3)
    left = found.partition.gains().max()
    assert found.converged
    assert 0.0 < left <= 1e-3 * problem.bound
    assert ascend(problem, found.partition.labels).history[-1] >= found.history[-1] + left


def test_one_cluster_and_one_sample_each() -> None:
    problem = Dependence(gram(0), np.eye(1))
    assert ascend(problem, np.zeros(N_SAMPLES, dtype=int)).converged
    every = Dependence(gram(0), np.eye(N_SAMPLES))
    found = ascend(every, np.arange(N_SAMPLES))
    assert found.converged
    assert_allclose(found.history[-1], np.trace(gram(0)), rtol=1e-12)


# --- starts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 5, N_SAMPLES])
@pytest.mark.parametrize("distinct", [1, 3, N_SAMPLES])
def test_seeds_leave_no_cluster_empty(k: int, distinct: int) -> None:
    X = np.random.default_rng(0).normal(size=(distinct, 2))[np.arange(N_SAMPLES) % distinct]
    labels = seeded(X @ X.T, k, np.random.RandomState(0))
    assert_array_equal(np.unique(labels), np.arange(k))


def test_seeds_find_clusters_far_apart() -> None:
    X, y = make_blobs(60, centers=np.eye(5) * 100.0, random_state=0)
    for seed in range(5):
        labels = seeded(X @ X.T, 5, np.random.RandomState(seed))
        assert len({(a, b) for a, b in zip(labels, y, strict=True)}) == 5


def test_samples_are_labeled_by_the_nearest_seed() -> None:
    """In three clusters of one sample each, two seeds leave the third with the nearer of them."""
    X = np.array([[0.0], [1.0], [10.0]])
    for seed in range(5):
        labels = seeded(X @ X.T, 2, np.random.RandomState(seed))
        assert (labels[0] == labels[1]) or (labels[2] != labels[0] and labels[2] != labels[1])


@pytest.mark.parametrize("method", ["greedy", "spectral"])
@pytest.mark.parametrize("distinct", [4, N_SAMPLES])
@pytest.mark.parametrize("kind", ["identity", "ring"])
def test_more_starts_are_never_worse(method: str, distinct: int, kind: str) -> None:
    X = np.random.default_rng(2).normal(size=(distinct, 2))[np.arange(N_SAMPLES) % distinct]
    problem = Dependence(center(X @ X.T), similarities(6)[kind])
    reached = []
    for n_init in (1, 4, 12):
        found = best_ascent(problem, method, n_init, np.random.RandomState(0))
        assert np.bincount(found.partition.labels, minlength=6).all()
        reached.append(found.partition.objective)
    assert reached == sorted(reached)


def test_eigenvectors_solve_the_relaxation() -> None:
    """tr(Y'KYA) over orthonormal Y is the sum of products of eigenvalues, largest with largest."""
    K, A = gram(0), similarities(4)["chain"]
    rows = embedded(Dependence(K, A), np.random.RandomState(0))
    pairs = np.linalg.eigvalsh(K)[::-1][:3] * np.linalg.eigvalsh(A)[::-1][:3]
    assert rows.shape == (N_SAMPLES, 3)
    assert_allclose((rows**2).sum(axis=0), pairs, rtol=1e-6)
    rank_one = embedded(Dependence(K, np.ones((4, 4))), np.random.RandomState(0))
    assert rank_one.shape == (N_SAMPLES, 1)

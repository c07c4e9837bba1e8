"""The objective of a partition, and the gains of moves, against dense formulas."""

from __future__ import annotations

import numpy as np
import pytest
from clustering_cases import (
    N_SAMPLES,
    either_normalization,
    every_kind,
    gram,
    labeling,
    similarities,
)
from clustering_reference import dependence, gains, indicators
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import center

from mercer._clustering.partitions import Dependence, Partition


@every_kind
@either_normalization
@given(seed=st.integers(0, 100), k=st.integers(1, 5))
def test_objective_and_gains(kind: str, normalize: bool, seed: int, k: int) -> None:
    K, A, labels = gram(seed), similarities(k)[kind], labeling(seed, k)
    partition = Partition(Dependence(K, A, normalize), labels)
    assert_allclose(partition.objective, dependence(K, A, labels, normalize), atol=1e-11)
    assert_allclose(partition.gains(), gains(K, A, labels, normalize), atol=1e-10)


@every_kind
@either_normalization
def test_moves_of_several_samples(kind: str, normalize: bool) -> None:
    problem = Dependence(gram(0), similarities(4)[kind], normalize)
    before, labels = Partition(problem, labeling(0, 4)), labeling(0, 4)
    labels[[5, 9, 20]], rows = [3, 0, 2], np.array([20, 5, 9])
    moved, expected = before.moved(rows, np.array([2, 3, 0])), Partition(problem, labels)
    assert_array_equal(moved.labels, labels)
    assert_allclose(moved.sums, expected.sums, atol=1e-12)
    assert_allclose(moved.objective, expected.objective, rtol=1e-12)
    assert_array_equal(before.labels, labeling(0, 4))


@every_kind
@either_normalization
@pytest.mark.parametrize("k", [1, 3, N_SAMPLES])
def test_bound_norm_and_factor(kind: str, normalize: bool, k: int) -> None:
    A, labels = similarities(k)[kind], labeling(1, k)
    partition = Partition(Dependence(gram(1), A, normalize), labels)
    Y = indicators(labels, k, normalize)
    assert_allclose(partition.target_norm(), np.linalg.norm(center(Y @ A @ Y.T)), atol=1e-6)
    assert_allclose(partition.factor() @ partition.factor().T, center(Y @ A @ Y.T), atol=1e-10 * k)
    assert_allclose(partition.factor().sum(axis=0), 0.0, atol=1e-10 * k)
    assert partition.objective <= partition.problem.bound * (1.0 + 1e-12)


def test_a_partition_with_an_empty_cluster_is_never_chosen() -> None:
    partition = Partition(Dependence(gram(0), np.eye(3)), labeling(0, 3))
    assert partition.moved(np.array([0]), np.array([1])).objective == -np.inf

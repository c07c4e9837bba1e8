"""Alternating maximization ends where neither weights nor partition can be improved."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import sklearn
from clustering_cases import (
    CHAIN,
    MULTIPLE_MODELS,
    every_multiple_model,
    grams,
    views,
)
from clustering_reference import best_weights, gains, penalized_alignment
from numpy.testing import assert_allclose
from reference import center
from sklearn.base import clone

from mercer import MultipleKernelClustering
from mercer.kernels import Gaussian


@every_multiple_model
@pytest.mark.parametrize("seed", range(3))
def test_objective_never_falls(model: Any, seed: int) -> None:
    X, _ = views(seed=seed, noise=2.5)
    history = clone(model).set_params(random_state=seed, n_init=1).fit(X).history_
    assert (np.diff([step.objective for step in history]) > 0.0).all()
    assert history[0].n_moved == len(X)


@pytest.mark.parametrize("name", ["default", "alignf", "strong", "kernels", "chain"])
def test_neither_weights_nor_partition_can_be_improved(name: str) -> None:
    X, _ = views(n=40, noise=2.0)
    fitted = clone(MULTIPLE_MODELS[name]).fit(X)
    A = np.eye(4) if fitted.similarity is None else CHAIN
    kernels = grams(fitted, X)
    best = best_weights(kernels, A, fitted.labels_, fitted.weight_penalty)
    expected = penalized_alignment(kernels, A, fitted.labels_, best, fitted.weight_penalty)
    assert_allclose(fitted.objective_, expected, rtol=1e-8)
    assert_allclose(fitted.shares_, best, atol=1e-5)
    K = center(fitted.kernel_(X))
    assert gains(K, A, fitted.labels_).max() <= 1e-8 * np.trace(K)


def test_more_initial_weights_are_never_worse() -> None:
    for seed in range(4):
        X, _ = views(seed=seed, noise=3.0)
        uniform = clone(MULTIPLE_MODELS["default"]).set_params(random_state=seed).fit(X)
        every = clone(MULTIPLE_MODELS["kernels"]).set_params(random_state=seed).fit(X)
        assert every.objective_ >= uniform.objective_ * (1.0 - 1e-12)


def test_base_kernels_are_not_held_in_memory() -> None:
    """Twelve kernels on 1200 samples take 138 MB; the combined matrix and its copy take 23 MB."""
    n, widths = 1200, np.geomspace(1.0, 10.0, 12)
    X, _ = views(n=n)
    model = MultipleKernelClustering([Gaussian(s) for s in widths], 4, n_init=1, random_state=0)
    with sklearn.config_context(working_memory=8):
        tracemalloc.start()
        try:
            model.fit(X)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 6 * 8 * n**2

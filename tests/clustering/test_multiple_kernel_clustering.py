"""Clustering by several kernels: weights, the alternation, precomputed stacks, and validation."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
import sklearn
from clustering_cases import (
    CHAIN,
    KERNELS,
    MULTIPLE_MODELS,
    best_weights,
    every_multiple_model,
    gains,
    grams,
    indicators,
    penalized_alignment,
    views,
)
from numpy.testing import assert_allclose, assert_array_equal
from reference import center, centered_alignment
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import get_tags

from mercer import HSICClustering, MultipleKernelClustering
from mercer.kernels import Gaussian, OnColumns, WeightedSum


@every_multiple_model
def test_fitted_attributes(model: Any) -> None:
    X, _ = views()
    fitted = clone(model).fit(X)
    A = np.eye(4) if model.similarity is None else CHAIN
    kernels, labels = grams(fitted, X), fitted.labels_
    assert isinstance(fitted.kernel_, WeightedSum)
    assert_array_equal(fitted.kernel_.weights, fitted.weights_)
    assert_allclose(fitted.weights_.sum(), 1.0, rtol=1e-12)
    assert (fitted.weights_ >= 0.0).all()
    traces = np.array([np.trace(center(K)) for K in kernels])
    shares = fitted.weights_ * traces / (fitted.weights_ @ traces)
    assert_allclose(fitted.shares_, shares, rtol=1e-8, atol=1e-12)
    expected = penalized_alignment(kernels, A, labels, shares, model.weight_penalty)
    assert_allclose(fitted.objective_, expected, rtol=1e-8)
    Y = indicators(labels, 4, True)
    aligned = centered_alignment(fitted.kernel_(X), Y @ A @ Y.T)
    assert_allclose(fitted.alignment_, aligned, rtol=1e-8)
    assert fitted.history_[-1].objective == fitted.objective_
    assert_array_equal(fitted.history_[-1].weights, fitted.weights_)
    assert fitted.n_iter_ == len(fitted.history_)
    assert (np.diff([step.objective for step in fitted.history_]) > 0.0).all()
    assert fitted.history_[0].n_moved == len(X)
    assert_array_equal(np.unique(labels), np.arange(4))
    assert_array_equal(clone(model).fit_predict(X), labels)


def test_a_clustered_noise_kernel_gets_little_weight() -> None:
    """A noise view in four tight groups is perfectly aligned with these groups only."""
    X, y = views(n=200, noise=1.5)
    rng = np.random.default_rng(9)
    X[:, 5] = 10.0 * rng.integers(4, size=200) + 0.1 * rng.normal(size=200)
    kernels = [*KERNELS[:3], OnColumns(Gaussian("median"), [5])]
    fitted = MultipleKernelClustering(kernels, 4, random_state=0).fit(X)
    alone = MultipleKernelClustering(kernels[3:], 4, random_state=0).fit(X)
    assert alone.alignment_ > fitted.alignment_
    assert adjusted_rand_score(y, fitted.labels_) > 0.9
    assert fitted.shares_[3] < 0.1


def test_one_kernel_is_hsic_clustering() -> None:
    X, _ = views()
    one = MultipleKernelClustering([Gaussian("median")], 4, random_state=0).fit(X)
    same = HSICClustering(4, random_state=0).fit(X)
    assert_array_equal(one.labels_, same.labels_)
    assert_allclose(one.alignment_, same.alignment_, rtol=1e-10)
    assert_allclose(one.weights_, [1.0])
    assert len(one.history_) == 1


@pytest.mark.parametrize("name", ["default", "chain"])
def test_precomputed_stack(name: str) -> None:
    X, _ = views()
    Z, _ = views(n=10, seed=1)
    fitted = clone(MULTIPLE_MODELS[name]).fit(X)
    stack = np.stack(grams(fitted, X), axis=-1)
    given = clone(MULTIPLE_MODELS[name]).set_params(kernels="precomputed")
    assert get_tags(given).input_tags.pairwise
    given.fit(stack)
    assert_array_equal(given.labels_, fitted.labels_)
    assert_allclose(given.weights_, fitted.weights_, rtol=1e-6)
    new = np.stack([kernel(Z, X) for kernel in fitted.kernel_.kernels], axis=-1)
    assert_array_equal(given.predict(new), fitted.predict(Z))
    first = clone(given).fit(list(np.moveaxis(stack, -1, 0)))
    assert_array_equal(first.labels_, fitted.labels_)


def test_order_and_scale_of_the_kernels() -> None:
    X, _ = views(noise=2.0)
    fitted = clone(MULTIPLE_MODELS["default"]).fit(X)
    order = np.array([2, 0, 3, 1])
    scales = np.array([1e-8, 1.0, 1e8, 3.0])
    stack = np.stack(grams(fitted, X), axis=-1)[:, :, order] * scales
    other = clone(MULTIPLE_MODELS["default"]).set_params(kernels="precomputed").fit(stack)
    assert_array_equal(other.labels_, fitted.labels_)
    assert_allclose(other.shares_, fitted.shares_[order], atol=1e-8)
    assert_allclose(other.objective_, fitted.objective_, rtol=1e-8)


def test_constant_kernels_have_no_weight() -> None:
    X, _ = views()
    X[:, 5] = 0.1
    fitted = clone(MULTIPLE_MODELS["kernels"]).fit(X)
    assert fitted.weights_[3] == 0.0
    assert np.isfinite(fitted.objective_)
    with pytest.raises(ValueError, match="Every kernel is constant on X"):
        clone(MULTIPLE_MODELS["default"]).fit(np.full((20, 6), 0.1))


@pytest.mark.parametrize("factor", [1e-160, 1e-158])
def test_kernels_too_small_to_be_squared_have_no_weight(factor: float) -> None:
    X, _ = views()
    fitted = clone(MULTIPLE_MODELS["default"]).fit(X)
    stack = np.stack(grams(fitted, X), axis=-1) * [1.0, 1.0, factor, factor]
    other = clone(MULTIPLE_MODELS["default"]).set_params(kernels="precomputed").fit(stack)
    assert other.weights_[1] > 0.0
    assert_array_equal(other.weights_[2:], 0.0)


@pytest.mark.parametrize("name", ["alignf", "strong", "kernels", "chain"])
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


def test_more_initial_weights_find_better_optima() -> None:
    X, _ = views(noise=3.0)
    uniform, every = (clone(MULTIPLE_MODELS[name]).fit(X) for name in ("default", "kernels"))
    assert every.objective_ > 1.02 * uniform.objective_


def test_base_kernels_are_not_held_in_memory() -> None:
    """Twelve kernels on 600 samples take 35 MB; the combined matrix and its copy take 6 MB."""
    n, widths = 600, np.geomspace(1.0, 10.0, 12)
    X, _ = views(n=n)
    model = MultipleKernelClustering([Gaussian(s) for s in widths], 4, n_init=1, random_state=0)
    with sklearn.config_context(working_memory=2):
        tracemalloc.start()
        try:
            model.fit(X)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 6 * 8 * n**2

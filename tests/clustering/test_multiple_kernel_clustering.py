"""Clustering by several kernels: the weights, precomputed stacks, and validation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from clustering_cases import (
    CHAIN,
    KERNELS,
    MULTIPLE_MODELS,
    every_multiple_model,
    grams,
    views,
)
from clustering_reference import indicators, penalized_alignment
from numpy.testing import assert_allclose, assert_array_equal
from reference import center, centered_alignment, gaussian
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale
from sklearn.utils import get_tags

from mercer import HSICClustering, KernelWeightsDisplay, MultipleKernelClustering
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
    assert_array_equal(np.unique(labels), np.arange(4))
    assert_array_equal(clone(model).fit_predict(X), labels)


def test_a_noise_kernel_gets_little_weight() -> None:
    X, y = views(n=300)
    fitted = clone(MULTIPLE_MODELS["default"]).fit(X)
    assert adjusted_rand_score(y, fitted.labels_) > 0.95
    assert fitted.shares_[3] < 0.05
    assert fitted.shares_[:3].min() > 0.1


def test_a_clustered_noise_kernel_gets_little_weight() -> None:
    """A noise view in four tight groups is perfectly aligned with these groups only."""
    X, y = views(n=300, noise=1.5)
    rng = np.random.default_rng(9)
    X[:, 5] = 10.0 * rng.integers(4, size=300) + 0.1 * rng.normal(size=300)
    kernels = [*KERNELS[:3], OnColumns(Gaussian("median"), [5])]
    fitted = MultipleKernelClustering(kernels, 4, random_state=0).fit(X)
    alone = MultipleKernelClustering(kernels[3:], 4, random_state=0).fit(X)
    assert alone.alignment_ > fitted.alignment_
    assert adjusted_rand_score(y, fitted.labels_) > 0.9
    assert fitted.shares_[3] < 0.1


def test_a_larger_penalty_gives_weight_to_more_kernels() -> None:
    X, _ = views(noise=2.0)
    counts = [
        MultipleKernelClustering(None, 4, weight_penalty=penalty, random_state=0).fit(X).shares_
        for penalty in (0.0, 1.0, 100.0)
    ]
    used = [int((shares > 1e-6).sum()) for shares in counts]
    assert used[0] < used[1] <= used[2] == 20
    assert counts[0].max() > counts[1].max() > counts[2].max()


def test_one_kernel_is_hsic_clustering() -> None:
    X, _ = views()
    one = MultipleKernelClustering([Gaussian("median")], 4, random_state=0).fit(X)
    same = HSICClustering(4, random_state=0).fit(X)
    assert_array_equal(one.labels_, same.labels_)
    assert_allclose(one.alignment_, same.alignment_, rtol=1e-10)
    assert_allclose(one.weights_, [1.0])
    assert len(one.history_) == 1


def test_six_views_of_digits(data: Any) -> None:
    """All views together give better clusters than any single view, or k-means of all features."""
    bunch = data("mfeat")
    chosen = np.random.default_rng(0).permutation(2000)[:600]
    X = scale(bunch.data.astype(float))[chosen]
    y = np.unique(bunch.target, return_inverse=True)[1][chosen]
    kernels = [OnColumns(Gaussian("median"), columns) for columns in bunch.views.values()]
    fitted = MultipleKernelClustering(kernels, 10, random_state=0).fit(X)
    score = adjusted_rand_score(y, fitted.labels_)
    single = [
        adjusted_rand_score(y, HSICClustering(10, kernel, random_state=0).fit(X).labels_)
        for kernel in kernels
    ]
    plain = adjusted_rand_score(y, KMeans(10, n_init=10, random_state=0).fit(X).labels_)
    assert score > max(single) + 0.1
    assert score > plain + 0.05


@pytest.mark.parametrize("name", ["default", "alignf", "kernels", "chain"])
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


@pytest.mark.parametrize("name", ["default", "alignf", "strong"])
def test_order_and_scale_of_the_kernels(name: str) -> None:
    X, _ = views(noise=2.0)
    fitted = clone(MULTIPLE_MODELS[name]).fit(X)
    order = np.array([2, 0, 3, 1])
    scales = np.array([1e-8, 1.0, 1e8, 3.0])
    stack = np.stack(grams(fitted, X), axis=-1)[:, :, order] * scales
    other = clone(MULTIPLE_MODELS[name]).set_params(kernels="precomputed").fit(stack)
    assert_array_equal(other.labels_, fitted.labels_)
    assert_allclose(other.shares_, fitted.shares_[order], atol=1e-8)
    assert_allclose(other.objective_, fitted.objective_, rtol=1e-8)


@every_multiple_model
def test_order_of_the_samples(model: Any) -> None:
    X, _ = views(n=120)
    order = np.random.default_rng(0).permutation(120)
    here, there = clone(model).fit(X), clone(model).fit(X[order])
    assert adjusted_rand_score(here.labels_[order], there.labels_) > 0.99
    assert_allclose(there.objective_, here.objective_, rtol=1e-6)


def test_a_duplicated_kernel_shares_its_weight() -> None:
    X, _ = views(noise=2.0)
    alone = clone(MULTIPLE_MODELS["alignf"]).fit(X)
    twice = clone(MULTIPLE_MODELS["alignf"]).set_params(kernels=[*KERNELS, KERNELS[0]]).fit(X)
    assert_allclose(twice.objective_, alone.objective_, rtol=0.02)
    assert adjusted_rand_score(twice.labels_, alone.labels_) > 0.9


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_by_name(library: str) -> None:
    module = pytest.importorskip(library)
    X, _ = views()
    table = module.DataFrame({f"x{column}": X[:, column] for column in range(6)})
    named = [OnColumns(kernel.kernel, [f"x{c}" for c in kernel.columns]) for kernel in KERNELS]
    fitted = MultipleKernelClustering(named, 4, random_state=0).fit(table)
    placed = clone(MULTIPLE_MODELS["default"]).fit(X)
    assert_array_equal(fitted.labels_, placed.labels_)
    assert_array_equal(fitted.predict(table), placed.predict(X))
    assert list(fitted.feature_names_in_) == [f"x{column}" for column in range(6)]


@every_multiple_model
def test_sparse_tables(model: Any) -> None:
    X = np.maximum(views()[0], 0.0)
    dense, sparse = clone(model).fit(X), clone(model).fit(sp.csr_array(X))
    assert adjusted_rand_score(sparse.labels_, dense.labels_) == 1.0
    assert_allclose(sparse.weights_, dense.weights_, atol=1e-6)


def test_constant_kernels_have_no_weight() -> None:
    X, _ = views()
    X[:, 5] = 0.1
    fitted = clone(MULTIPLE_MODELS["kernels"]).fit(X)
    assert fitted.weights_[3] == 0.0
    assert np.isfinite(fitted.objective_)
    with pytest.raises(ValueError, match="Every kernel is constant on X"):
        clone(MULTIPLE_MODELS["default"]).fit(np.full((20, 6), 0.1))


@pytest.mark.parametrize("model", [MULTIPLE_MODELS["default"], HSICClustering(4, random_state=0)])
def test_a_progress_bar_changes_nothing(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    callback = pytest.importorskip("sklearn.callback")
    pytest.importorskip("rich")
    X, _ = views()
    shown = clone(model).set_callbacks(callback.ProgressBar()).fit(X)
    assert_array_equal(shown.labels_, clone(model).fit(X).labels_)
    assert type(model).__name__ in capsys.readouterr().out


def test_weights_are_displayed() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    X, _ = views()
    fitted = clone(MULTIPLE_MODELS["default"]).fit(X)
    shown = KernelWeightsDisplay.from_estimator(fitted)
    assert len(shown.ax_.patches) == 4


def test_stopping_early_warns() -> None:
    X, _ = views(noise=3.0)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        fitted = MultipleKernelClustering(KERNELS, 4, max_iter=1, random_state=0).fit(X)
    assert len(fitted.history_) == 2


INVALID = {
    "penalty": (
        {"weight_penalty": -1.0},
        ValueError,
        "weight_penalty must be finite and not negative",
    ),
    "penalty=inf": (
        {"weight_penalty": np.inf},
        ValueError,
        "weight_penalty must be finite and not negative",
    ),
    "weights_init": ({"weights_init": "all"}, ValueError, 'weights_init must be one of "uniform"'),
    "kernels": ({"kernels": []}, ValueError, "dictionary of kernels is empty"),
    "name": ({"kernels": ["sigmoid"]}, ValueError, "Unknown kernel 'sigmoid'"),
    "stack": ({"kernels": "precomputed"}, ValueError, "must be square"),
}


@pytest.mark.parametrize(("settings", "kind", "message"), INVALID.values(), ids=INVALID)
def test_invalid_parameters(settings: Any, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        MultipleKernelClustering(**{"n_clusters": 4, **settings}).fit(views()[0])


def test_invalid_samples() -> None:
    X, _ = views()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        clone(MULTIPLE_MODELS["default"]).fit(X)
    stack = np.stack([gaussian(views()[0], s) for s in (1.0, 2.0)], axis=-1)
    stack[0, 1, 0] = 5.0
    with pytest.raises(ValueError, match="Precomputed kernel 0 is not symmetric"):
        MultipleKernelClustering("precomputed", 4).fit(stack)
    broken = [lambda A, B: np.full((len(A), len(B)), np.nan), "linear"]
    with pytest.raises(ValueError, match="Kernel returned NaN"):
        MultipleKernelClustering(broken, 4).fit(views()[0])

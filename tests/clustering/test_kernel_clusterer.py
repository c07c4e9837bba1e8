"""Properties that clusterings by one kernel and by several have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
import skops.io
from clustering_cases import (
    ALL_MODELS,
    CHAIN,
    HSIC_MODELS,
    MULTIPLE_MODELS,
    blobs,
    every_hsic_model,
    every_model,
    every_multiple_model,
    samples,
    views,
)
from clustering_reference import indicators
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import HSICClustering, MultipleKernelClustering
from mercer.kernels import Gaussian, Laplacian, OnColumns


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_by_name(library: str) -> None:
    module = pytest.importorskip(library)
    X, _ = blobs()
    X = np.column_stack([X, np.random.default_rng(0).normal(size=len(X)) * 100.0])
    table = module.DataFrame({"x": X[:, 0], "y": X[:, 1], "noise": X[:, 2]})
    named = HSICClustering(4, OnColumns(Gaussian("median"), ["x", "y"]), random_state=0).fit(table)
    placed = HSICClustering(4, OnColumns(Gaussian("median"), [0, 1]), random_state=0).fit(X)
    plain = HSICClustering(4, random_state=0).fit(X[:, :2])
    assert list(named.feature_names_in_) == ["x", "y", "noise"]
    assert named.kernel_.columns == placed.kernel_.columns == [0, 1]
    assert_allclose(named.kernel_.theta, plain.kernel_.theta, rtol=1e-12)
    assert_array_equal(named.labels_, plain.labels_)
    assert_array_equal(named.predict(table), plain.predict(X[:, :2]))


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_matrix, sp.coo_array])
@pytest.mark.parametrize("kernel", [None, "linear"])
def test_sparse_tables(container: Any, kernel: Any) -> None:
    X = np.maximum(blobs()[0], 0.0)
    dense = HSICClustering(4, kernel, random_state=0).fit(X)
    sparse = HSICClustering(4, kernel, random_state=0).fit(container(X))
    assert_array_equal(sparse.labels_, dense.labels_)
    assert_array_equal(sparse.predict(container(X)), dense.labels_)
    with pytest.raises(TypeError, match="dense data is required"):
        HSICClustering(4, lambda A, B: A @ B.T).fit(container(X))


@pytest.mark.parametrize("shift", [1e3, 1e6])
def test_offset_of_the_features(shift: float) -> None:
    X, y = blobs()
    for kernel in (None, "linear"):
        model = HSICClustering(4, kernel, random_state=0).fit(X + shift)
        assert adjusted_rand_score(y, model.labels_) == 1.0


@pytest.mark.parametrize("name", ["greedy", "spectral", "linear", "chain"])
def test_order_of_the_samples(name: str) -> None:
    X, _ = blobs()
    order = np.random.default_rng(0).permutation(len(X))
    here, there = clone(HSIC_MODELS[name]).fit(X), clone(HSIC_MODELS[name]).fit(X[order])
    assert adjusted_rand_score(here.labels_[order], there.labels_) == 1.0
    assert_allclose(there.objective_, here.objective_, rtol=1e-9)


def test_pipeline_and_saving() -> None:
    X, _ = blobs()
    model = make_pipeline(StandardScaler(), HSIC_MODELS["greedy"]).fit(X)
    assert_array_equal(model.predict(X), model[-1].labels_)
    saved = skops.io.dumps(model)
    loaded = skops.io.loads(saved, trusted=skops.io.get_untrusted_types(data=saved))
    assert_array_equal(loaded.predict(X), model.predict(X))


def test_stopping_early_warns() -> None:
    X = np.random.default_rng(0).normal(size=(100, 5))
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model = HSICClustering(8, max_iter=1, random_state=0).fit(X)
    assert model.n_iter_ == 2
    assert model.history_[1] > model.history_[0]


def test_invalid_predictions() -> None:
    X, _ = blobs()
    with pytest.raises(NotFittedError):
        HSICClustering().predict(X)
    model = clone(HSIC_MODELS["greedy"]).fit(X)
    with pytest.raises(ValueError, match="expecting 2 features"):
        model.predict(X[:, :1])
    with pytest.raises(ValueError, match="contains NaN"):
        model.predict(np.full((2, 2), np.nan))


@every_model
def test_single_precision(model: Any) -> None:
    X = samples(model).astype(np.float32)
    double = clone(model).fit(X.astype(np.float64))
    single = clone(model).fit(X)
    assert_array_equal(single.labels_, double.labels_)
    assert_allclose(single.objective_, double.objective_, rtol=1e-9)
    assert_array_equal(single.predict(X), double.predict(X.astype(np.float64)))
    if isinstance(model, MultipleKernelClustering):
        assert_allclose(single.weights_, double.weights_, atol=1e-9)


@pytest.mark.parametrize("factor", [1e-8, 1e8])
@pytest.mark.parametrize("name", [*HSIC_MODELS, "multiple widths", "multiple features"])
def test_scale_of_the_features(name: str, factor: float) -> None:
    X = samples(ALL_MODELS[name])
    here, there = clone(ALL_MODELS[name]).fit(X), clone(ALL_MODELS[name]).fit(factor * X)
    assert_array_equal(there.labels_, here.labels_)
    assert_array_equal(there.predict(factor * X), here.predict(X))
    assert_allclose(there.alignment_, here.alignment_, rtol=1e-6)
    if hasattr(here, "shares_"):
        assert_allclose(there.shares_, here.shares_, atol=1e-6)


@every_model
def test_fewer_distinct_samples_than_clusters(model: Any) -> None:
    X = samples(model)[:3][np.arange(30) % 3]
    fitted = clone(model).fit(X)
    assert np.bincount(fitted.labels_, minlength=4).all()
    assert np.isfinite(fitted.objective_)


@every_model
def test_the_same_random_state_repeats(model: Any) -> None:
    X = np.random.default_rng(0).normal(size=(100, 6))
    here, there = clone(model).fit(X), clone(model).fit(X)
    assert_array_equal(here.labels_, there.labels_)
    assert_array_equal(here.predict(X), there.predict(X))
    if isinstance(model, MultipleKernelClustering):
        assert_array_equal(here.weights_, there.weights_)


@every_hsic_model
def test_other_random_states_give_other_partitions(model: Any) -> None:
    X = np.random.default_rng(0).normal(size=(100, 5))
    found = {
        tuple(clone(model).set_params(random_state=seed, n_init=1).fit(X).labels_)
        for seed in range(5)
    }
    assert len(found) > 1


@every_model
def test_clusters_are_numbered_by_their_first_samples(model: Any) -> None:
    X = samples(model)
    labels = clone(model).fit(X).labels_
    if model.similarity is None:
        assert_array_equal(np.argsort(np.unique(labels, return_index=True)[1]), np.arange(4))
    else:
        assert tuple(labels) < tuple(3 - labels)


@every_model
def test_saving(model: Any) -> None:
    X = samples(model)
    fitted = clone(model).fit(X)
    saved = skops.io.dumps(fitted)
    loaded = skops.io.loads(saved, trusted=skops.io.get_untrusted_types(data=saved))
    assert_array_equal(loaded.predict(X), fitted.predict(X))
    if isinstance(model, MultipleKernelClustering):
        assert_array_equal(loaded.history_[-1].weights, fitted.weights_)


INVALID = {
    "n_clusters=0": ({"n_clusters": 0}, ValueError, "n_clusters must be at least 1"),
    "n_clusters=2.5": ({"n_clusters": 2.5}, TypeError, "n_clusters must be an instance of"),
    "n_clusters=81": ({"n_clusters": 81}, ValueError, "n_samples=80 should be >= n_clusters=81"),
    "n_init": ({"n_init": 0}, ValueError, "n_init must be at least 1"),
    "n_init=many": ({"n_init": "many"}, TypeError, "n_init must be an instance of"),
    "max_iter": ({"max_iter": 0}, ValueError, "max_iter must be at least 1"),
    "tol": ({"tol": -1.0}, ValueError, "tol must be finite and not negative"),
    "tol=nan": ({"tol": np.nan}, ValueError, "tol must be finite and not negative"),
    "random_state": ({"random_state": "x"}, ValueError, "cannot be used to seed"),
    "shape": ({"similarity": np.eye(3)}, ValueError, r"\(4, 4\); got \(3, 3\)"),
    "larger": ({"similarity": np.eye(5)}, ValueError, r"\(4, 4\); got \(5, 5\)"),
    "vector": ({"similarity": np.ones(4)}, ValueError, "Expected 2D array"),
    "skew": ({"similarity": np.triu(np.ones((4, 4)))}, ValueError, "must be symmetric"),
    "indefinite": ({"similarity": 1.0 - np.eye(4)}, ValueError, "positive semi-definite"),
    "zero": ({"similarity": np.zeros((4, 4))}, ValueError, "similarity is zero"),
    "nan": ({"similarity": np.full((4, 4), np.nan)}, ValueError, "similarity contains NaN"),
}


@pytest.mark.parametrize("clusterer", [HSICClustering, MultipleKernelClustering])
@pytest.mark.parametrize(("parameters", "kind", "message"), INVALID.values(), ids=INVALID)
def test_invalid_parameters(clusterer: Any, parameters: Any, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        clusterer(**{"n_clusters": 4, **parameters}).fit(views()[0])


@every_hsic_model
def test_training_samples_keep_their_clusters(model: Any) -> None:
    X = np.random.default_rng(0).normal(size=(120, 3))
    fitted = clone(model).fit(X)
    kept = fitted.predict(X) == fitted.labels_
    if model.normalize and model.similarity is not None:
        assert kept.mean() > 0.9
    else:
        large = np.bincount(fitted.labels_)[fitted.labels_] > 1
        assert kept[large].all()


@pytest.mark.parametrize("kernel", [None, "linear", Laplacian(2.0), "polynomial"])
def test_nearest_center(kernel: Any) -> None:
    X = np.random.default_rng(1).normal(size=(80, 3)) + 5.0
    Z = np.random.default_rng(2).normal(size=(40, 3)) + 5.0
    model = HSICClustering(5, kernel, random_state=0).fit(X)
    Y = indicators(model.labels_, 5, True) ** 2
    within = np.einsum("ic,ij,jc->c", Y, model.kernel_(X), Y)
    expected = (within - 2.0 * model.kernel_(Z, X) @ Y).argmin(axis=1)
    assert_array_equal(model.predict(Z), expected)


@every_hsic_model
def test_slope_is_a_derivative(model: Any) -> None:
    """The slope is the gain of a sample of small weight, by the dense objective."""
    X = np.random.default_rng(3).normal(size=(60, 2))
    Z = np.random.default_rng(4).normal(size=(10, 2))
    fitted = clone(model).fit(X)
    A = np.eye(4) if model.similarity is None else CHAIN
    K = fitted.kernel_(X)
    row_means = K.mean(axis=0)

    def objective(sample: np.ndarray, cluster: int, weight: float) -> float:
        k = fitted.kernel_(sample[None], X)[0]
        own = fitted.kernel_(sample[None])[0, 0]
        G = np.block([[K, k[:, None]], [k[None], np.array([[own]])]])
        shift = np.append(row_means, k.mean())
        G = G - shift - shift[:, None] + row_means.mean()
        members = np.append(fitted.labels_, cluster)
        Y = indicators(members, 4, False) * np.append(np.ones(60), weight)[:, None]
        Y = Y / np.sqrt(Y.sum(axis=0)) if model.normalize else Y
        return float(np.sum(G * (Y @ A @ Y.T)))

    slopes = [[objective(z, c, 1e-6) for c in range(4)] for z in Z]
    assert_array_equal(fitted.predict(Z), np.argmax(slopes, axis=1))


def test_predictions_do_not_depend_on_the_working_memory() -> None:

    X, _ = blobs()
    model = clone(HSIC_MODELS["greedy"]).fit(X)
    with sklearn.config_context(working_memory=0.001):
        assert_array_equal(model.predict(X), model.labels_)


@every_multiple_model
def test_training_samples_of_several_kernels_keep_their_clusters(model: Any) -> None:
    X, _ = views(noise=2.0)
    fitted = clone(model).fit(X)
    kept = fitted.predict(X) == fitted.labels_
    assert kept.all() if model.similarity is None else kept.mean() > 0.9


def test_nearest_center_of_the_combination() -> None:
    X, Z = views(noise=2.0)[0] + 3.0, views(seed=1, noise=2.0)[0] + 3.0
    fitted = clone(MULTIPLE_MODELS["default"]).fit(X)
    Y = indicators(fitted.labels_, 4, True) ** 2
    within = np.einsum("ic,ij,jc->c", Y, fitted.kernel_(X), Y)
    expected = (within - 2.0 * fitted.kernel_(Z, X) @ Y).argmin(axis=1)
    assert_array_equal(fitted.predict(Z), expected)

"""Properties that clusterings by one kernel and by several have in common."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from campaign import rotating
from clustering_cases import (
    ALL_MODELS,
    CHAIN,
    HSIC_MODELS,
    MULTIPLE_MODELS,
    blobs,
    every_hsic_model,
    every_model,
    indicators,
    samples,
    views,
)
from model_file_cases import saved_and_loaded
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

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


@pytest.mark.parametrize(
    ("kernel", "container"), rotating([None, "linear"], [sp.csr_array, sp.coo_array])
)
def test_sparse_tables(container: Any, kernel: Any) -> None:
    X = np.maximum(blobs()[0], 0.0)
    dense = HSICClustering(4, kernel, random_state=0).fit(X)
    sparse = HSICClustering(4, kernel, random_state=0).fit(container(X))
    assert_array_equal(sparse.labels_, dense.labels_)
    assert_array_equal(sparse.predict(container(X)), dense.labels_)
    with pytest.raises(TypeError, match="dense data is required"):
        HSICClustering(4, lambda A, B: A @ B.T).fit(container(X))


@pytest.mark.parametrize("name", ["greedy", "spectral", "linear", "chain", "multiple default"])
def test_order_of_the_samples(name: str) -> None:
    X, model = samples(ALL_MODELS[name]), ALL_MODELS[name]
    order = np.random.default_rng(0).permutation(len(X))
    here, there = clone(model).fit(X), clone(model).fit(X[order])
    assert adjusted_rand_score(here.labels_[order], there.labels_) == 1.0
    assert_allclose(there.objective_, here.objective_, rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (HSICClustering(8, random_state=0), "The local search had not converged"),
        (MULTIPLE_MODELS["default"], "The objective was still rising"),
    ],
)
def test_stopping_early_warns(model: Any, message: str) -> None:
    X, _ = views(noise=3.0)
    with pytest.warns(ConvergenceWarning, match=f"{message} after max_iter=1 iterations"):
        fitted = clone(model).set_params(max_iter=1).fit(X)
    assert fitted.n_iter_ == len(fitted.history_) == 2


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


@every_model
def test_fewer_distinct_samples_than_clusters(model: Any) -> None:
    X = samples(model)[:3][np.arange(30) % 3]
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(3\) found smaller .* \(4\)"):
        fitted = clone(model).fit(X)
    assert_array_equal(np.bincount(fitted.labels_), [10, 10, 10])
    assert np.isfinite(fitted.objective_)


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
    loaded = saved_and_loaded(fitted)
    assert_array_equal(loaded.predict(X), fitted.predict(X))
    if isinstance(model, MultipleKernelClustering):
        assert_array_equal(loaded.history_[-1].weights, fitted.weights_)


INVALID = [
    ({"n_clusters": 0}, "n_clusters must be at least 1"),
    ({"n_clusters": 2.5}, "n_clusters must be an instance of"),
    ({"n_clusters": 81}, "n_samples=80 should be >= n_clusters=81"),
    ({"n_init": 0}, "n_init must be at least 1"),
    ({"n_init": "many"}, "n_init must be an instance of"),
    ({"max_iter": 0}, "max_iter must be at least 1"),
    ({"tol": -1.0}, "tol must be finite and not negative"),
    ({"random_state": "x"}, "cannot be used to seed"),
    ({"similarity": np.eye(3)}, r"\(4, 4\); got \(3, 3\)"),
    ({"similarity": np.ones(4)}, "Expected 2D array"),
    ({"similarity": np.triu(np.ones((4, 4)))}, "must be symmetric"),
    ({"similarity": 1.0 - np.eye(4)}, "positive semi-definite"),
    ({"similarity": np.zeros((4, 4))}, "similarity is zero"),
    ({"similarity": np.full((4, 4), np.nan)}, "similarity contains NaN"),
]


@pytest.mark.parametrize("clusterer", [HSICClustering, MultipleKernelClustering])
@pytest.mark.parametrize(("parameters", "message"), INVALID, ids=str)
def test_invalid_parameters(clusterer: Any, parameters: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        clusterer(**{"n_clusters": 4, **parameters}).fit(views()[0])


NEAREST = [HSICClustering(4, kernel, random_state=0) for kernel in (None, "linear", Laplacian(2.0))]


@pytest.mark.parametrize("model", [*NEAREST, MULTIPLE_MODELS["default"]], ids=repr)
def test_nearest_center(model: Any) -> None:
    X, Z = (views(seed=seed, noise=2.0)[0] + 3.0 for seed in (0, 1))
    fitted = clone(model).fit(X)
    Y = indicators(fitted.labels_, 4, True) ** 2
    within = np.einsum("ic,ij,jc->c", Y, fitted.kernel_(X), Y)
    expected = (within - 2.0 * fitted.kernel_(Z, X) @ Y).argmin(axis=1)
    assert_array_equal(fitted.predict(Z), expected)


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

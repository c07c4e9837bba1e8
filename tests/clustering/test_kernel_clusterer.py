"""Clusterings by one kernel: tables of every kind, settings, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from clustering_cases import MODELS, blobs, every_model
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from mercer import HSICClustering
from mercer.kernels import Gaussian, Linear, OnColumns, Precomputed

# --- tables -----------------------------------------------------------------------------------


@every_model
def test_precomputed_gram_matrix(model: Any) -> None:
    X, _ = blobs()
    fitted = clone(model).fit(X)
    given = clone(model).set_params(kernel="precomputed")
    assert get_tags(given).input_tags.pairwise
    given.fit(fitted.kernel_(X))
    assert_array_equal(given.labels_, fitted.labels_)
    assert_allclose(given.objective_, fitted.objective_, rtol=1e-9)
    assert given.kernel_ == Precomputed(0)
    assert given.X_fit_ is None
    assert given.n_features_in_ == len(X)
    assert_array_equal(given.predict(fitted.kernel_(X[:7] + 0.1, X)), fitted.predict(X[:7] + 0.1))


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


@every_model
def test_single_precision(model: Any) -> None:
    X = blobs()[0].astype(np.float32)
    double = clone(model).fit(X.astype(np.float64))
    single = clone(model).fit(X)
    assert_array_equal(single.labels_, double.labels_)
    assert_allclose(single.objective_, double.objective_, rtol=1e-9)
    assert_array_equal(single.predict(X), double.predict(X.astype(np.float64)))


@every_model
@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_scale_of_the_features(model: Any, factor: float) -> None:
    X, _ = blobs()
    here, there = clone(model).fit(X), clone(model).fit(factor * X)
    assert_array_equal(there.labels_, here.labels_)
    assert_array_equal(there.predict(factor * X), here.predict(X))
    assert_allclose(there.alignment_, here.alignment_, rtol=1e-6)


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
    here, there = clone(MODELS[name]).fit(X), clone(MODELS[name]).fit(X[order])
    assert adjusted_rand_score(here.labels_[order], there.labels_) == 1.0
    assert_allclose(there.objective_, here.objective_, rtol=1e-9)


@every_model
def test_duplicated_samples_share_their_cluster(model: Any) -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    fitted = clone(model).fit(np.vstack([X, X]))
    if model.normalize:
        assert_array_equal(fitted.labels_[:40], fitted.labels_[40:])
    else:
        assert (fitted.labels_[:40] == fitted.labels_[40:]).mean() > 0.9


@every_model
def test_fewer_distinct_samples_than_clusters(model: Any) -> None:
    X = np.array([[0.0, 0.0], [0.0, 1.0], [5.0, 0.0]])[np.arange(30) % 3]
    fitted = clone(model).fit(X)
    assert np.bincount(fitted.labels_, minlength=4).all()
    assert np.isfinite(fitted.objective_)


def test_pipeline_and_saving() -> None:
    X, _ = blobs()
    model = make_pipeline(StandardScaler(), MODELS["greedy"]).fit(X)
    assert_array_equal(model.predict(X), model[-1].labels_)
    saved = skops.io.dumps(model)
    loaded = skops.io.loads(saved, trusted=skops.io.get_untrusted_types(data=saved))
    assert_array_equal(loaded.predict(X), model.predict(X))


# --- settings ---------------------------------------------------------------------------------


@every_model
def test_random_state_repeats(model: Any) -> None:
    X = np.random.default_rng(0).normal(size=(100, 5))
    assert_array_equal(clone(model).fit(X).labels_, clone(model).fit(X).labels_)
    found = {
        tuple(clone(model).set_params(random_state=seed, n_init=1).fit(X).labels_)
        for seed in range(5)
    }
    assert len(found) > 1


def test_n_init() -> None:
    X = np.random.default_rng(0).normal(size=(100, 5))
    auto = HSICClustering(8, random_state=0).fit(X)
    ten = HSICClustering(8, n_init=10, random_state=0).fit(X)
    one = HSICClustering(8, n_init=1, random_state=0).fit(X)
    assert_array_equal(auto.labels_, ten.labels_)
    assert one.objective_ < ten.objective_


def test_stopping_early_is_said() -> None:
    X = np.random.default_rng(0).normal(size=(100, 5))
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model = HSICClustering(8, max_iter=1, random_state=0).fit(X)
    assert model.n_iter_ == 2
    assert model.history_[1] > model.history_[0]


def test_one_cluster() -> None:
    X, _ = blobs()
    model = HSICClustering(1).fit(X)
    assert_array_equal(model.labels_, np.zeros(len(X)))
    assert model.alignment_ == 0.0
    assert_array_equal(model.predict(X), model.labels_)


REFUSED = {
    "n_clusters=0": ({"n_clusters": 0}, ValueError, "n_clusters must be at least 1"),
    "n_clusters=2.5": ({"n_clusters": 2.5}, TypeError, "n_clusters must be an instance of"),
    "n_clusters=91": ({"n_clusters": 91}, ValueError, "n_samples=90 should be >= n_clusters=91"),
    "n_init": ({"n_init": 0}, ValueError, "n_init must be at least 1"),
    "n_init=many": ({"n_init": "many"}, TypeError, "n_init must be an instance of"),
    "max_iter": ({"max_iter": 0}, ValueError, "max_iter must be at least 1"),
    "tol": ({"tol": -1.0}, ValueError, "tol must be finite and not negative"),
    "method": ({"method": "best"}, ValueError, 'method must be one of "greedy", "spectral"'),
    "normalize": ({"normalize": "l2"}, ValueError, "normalize must be True or False"),
    "random_state": ({"random_state": "x"}, ValueError, "cannot be used to seed"),
    "kernel": ({"kernel": "sigmoid"}, ValueError, "Unknown kernel 'sigmoid'"),
    "kernel=3": ({"kernel": 3}, TypeError, "A kernel must be"),
    "shape": ({"similarity": np.eye(3)}, ValueError, r"\(4, 4\); got \(3, 3\)"),
    "vector": ({"similarity": np.ones(4)}, ValueError, "Expected 2D array"),
    "skew": ({"similarity": np.triu(np.ones((4, 4)))}, ValueError, "must be symmetric"),
    "indefinite": ({"similarity": 1.0 - np.eye(4)}, ValueError, "positive semi-definite"),
    "zero": ({"similarity": np.zeros((4, 4))}, ValueError, "similarity is zero"),
    "nan": ({"similarity": np.full((4, 4), np.nan)}, ValueError, "similarity contains NaN"),
}


@pytest.mark.parametrize(("settings", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_settings_are_refused(settings: Any, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        HSICClustering(**{"n_clusters": 4, **settings}).fit(blobs()[0])


@pytest.mark.parametrize(
    ("X", "kernel", "message"),
    [
        (np.full((9, 2), 0.1), None, "constant on X"),
        (np.full((9, 2), 1e8), "linear", "constant on X"),
        (np.ones((9, 9)), "precomputed", "constant on X"),
        (np.append(np.ones((9, 1)), [[np.nan]], axis=0), None, "contains NaN"),
        (np.append(np.ones((9, 1)), [[np.inf]], axis=0), None, "contains infinity"),
        (np.ones((1, 2)), None, "1 sample"),
        (np.arange(9.0), None, "Expected 2D array"),
        (np.arange(81.0).reshape(9, 9), "precomputed", "not symmetric"),
        (-np.eye(9), "precomputed", "not positive semi-definite"),
        (np.ones((9, 8)), "precomputed", "must be square"),
        (np.eye(9), lambda A, B: np.full((len(A), len(B)), np.nan), "Kernel returned NaN"),
    ],
)
def test_samples_are_refused(X: Any, kernel: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HSICClustering(2, kernel).fit(X)


def test_prediction_is_refused() -> None:
    X, _ = blobs()
    with pytest.raises(NotFittedError):
        HSICClustering().predict(X)
    model = clone(MODELS["greedy"]).fit(X)
    with pytest.raises(ValueError, match="expecting 2 features"):
        model.predict(X[:, :1])
    with pytest.raises(ValueError, match="contains NaN"):
        model.predict(np.full((2, 2), np.nan))


def test_rank_one_kernels_are_one_kernel_here() -> None:
    """`Linear(per_feature=True)` stands for a dictionary; clustered, it is their sum."""
    X, _ = blobs()
    each = HSICClustering(4, Linear(per_feature=True), random_state=0).fit(X)
    assert_array_equal(each.labels_, HSICClustering(4, "linear", random_state=0).fit(X).labels_)

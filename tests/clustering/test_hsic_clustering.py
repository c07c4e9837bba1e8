"""Clustering by one kernel, on known clusters and in comparison with k-means."""

from typing import Any

import numpy as np
import pytest
from clustering_cases import CHAIN, HSIC_MODELS, blobs, dependence, every_hsic_model, indicators
from numpy.testing import assert_allclose, assert_array_equal
from reference import centered_alignment
from sklearn.base import clone, is_clusterer
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale
from sklearn.utils import get_tags

from mercer import HSICClustering
from mercer.kernels import Precomputed


@every_hsic_model
def test_fitted_attributes(model: Any) -> None:
    X, _ = blobs()
    fitted = clone(model).fit(X)
    A = np.eye(4) if model.similarity is None else CHAIN
    K, Y = fitted.kernel_(X), indicators(fitted.labels_, 4, model.normalize)
    assert_allclose(fitted.objective_, dependence(K, A, fitted.labels_, model.normalize), rtol=1e-9)
    assert_allclose(fitted.alignment_, centered_alignment(K, Y @ A @ Y.T), rtol=1e-9)
    assert fitted.history_[-1] == fitted.objective_
    assert (np.diff(fitted.history_) > 0.0).all()
    assert fitted.n_iter_ == len(fitted.history_)
    assert_array_equal(fitted.X_fit_, X)
    assert_array_equal(np.unique(fitted.labels_), np.arange(4))
    assert is_clusterer(fitted)
    assert not get_tags(fitted).target_tags.required
    assert_array_equal(clone(model).fit_predict(X), fitted.labels_)


@pytest.mark.parametrize("name", ["greedy", "spectral", "linear", "chain"])
def test_clusters_far_apart(name: str) -> None:
    X, y = blobs()
    assert adjusted_rand_score(y, clone(HSIC_MODELS[name]).fit(X).labels_) == 1.0


def test_clusters_follow_a_chain() -> None:
    X, _ = blobs()
    labels = HSICClustering(4, similarity=1.0 + CHAIN, random_state=0).fit(X).labels_
    centers = [X[labels == cluster, 0].mean() for cluster in range(4)]
    assert centers in (sorted(centers), sorted(centers, reverse=True))


def test_inertia_is_that_of_k_means_or_less() -> None:
    """With a linear kernel the objective is the variance minus the inertia of k-means."""
    ratios = []
    for load, n_clusters in ((load_iris, 3), (load_wine, 3), (load_digits, 5)):
        X = scale(load(return_X_y=True)[0][:150])
        variance = ((X - X.mean(axis=0)) ** 2).sum()
        model = HSICClustering(n_clusters, "linear", random_state=0).fit(X)
        centers = [X[model.labels_ == cluster].mean(axis=0) for cluster in range(n_clusters)]
        inertia = ((X - np.array(centers)[model.labels_]) ** 2).sum()
        assert_allclose(model.objective_, variance - inertia, rtol=1e-9)
        k_means = KMeans(n_clusters, n_init=10, random_state=0).fit(X)
        ratios.append(inertia / k_means.inertia_)
    assert np.mean(ratios) <= 1.0
    assert max(ratios) < 1.02


@pytest.mark.parametrize("model", [HSIC_MODELS["spectral"], HSIC_MODELS["chain"]])
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


def test_n_init() -> None:
    X = np.random.default_rng(0).normal(size=(100, 5))
    auto = HSICClustering(8, random_state=0).fit(X)
    ten = HSICClustering(8, n_init=10, random_state=0).fit(X)
    one = HSICClustering(8, n_init=1, random_state=0).fit(X)
    assert_array_equal(auto.labels_, ten.labels_)
    assert one.objective_ < ten.objective_


def test_one_cluster() -> None:
    X, _ = blobs()
    model = HSICClustering(1).fit(X)
    assert_array_equal(model.labels_, np.zeros(len(X)))
    assert model.alignment_ == 0.0
    assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize(
    ("X", "kernel", "message"),
    [
        (np.full((9, 2), 0.1), None, "constant on X"),
        (np.full((9, 2), 1e8), "linear", "constant on X"),
        (-np.eye(9), "precomputed", "not positive semi-definite"),
        (np.ones((9, 8)), "precomputed", "must be square"),
        (np.eye(9), lambda A, B: np.full((len(A), len(B)), np.nan), "Kernel returned NaN"),
    ],
)
def test_invalid_samples(X: Any, kernel: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HSICClustering(2, kernel).fit(X)


def test_equal_samples_have_equal_clusters() -> None:
    X = np.repeat([[0.0], [1.0], [5.0]], [4, 3, 5], axis=0)
    model = HSICClustering(5, random_state=0)
    with pytest.warns(ConvergenceWarning, match="distinct clusters \\(3\\) found smaller"):
        model.fit(X)
    assert model.labels_.tolist() == [0] * 4 + [1] * 3 + [2] * 5
    assert model.predict(X).tolist() == model.labels_.tolist()

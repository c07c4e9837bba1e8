"""Clusters of one kernel: what is found, and where new samples belong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from clustering_cases import CHAIN, MODELS, blobs, every_model
from clustering_reference import dependence, indicators
from numpy.testing import assert_allclose, assert_array_equal
from reference import centered_alignment
from sklearn.base import clone, is_clusterer
from sklearn.cluster import KMeans
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
)
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale
from sklearn.utils import get_tags

from mercer import HSICClustering
from mercer.kernels import Laplacian

# --- what is found ----------------------------------------------------------------------------


@every_model
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
    assert adjusted_rand_score(y, clone(MODELS[name]).fit(X).labels_) == 1.0


@pytest.mark.parametrize("similarity", [CHAIN, 1.0 + CHAIN])
def test_clusters_take_their_places_on_a_chain(similarity: Any) -> None:
    X, _ = blobs()
    for seed in range(3):
        labels = HSICClustering(4, similarity=similarity, random_state=seed).fit(X).labels_
        places = [X[labels == cluster, 0].mean() for cluster in range(4)]
        assert places in (sorted(places), sorted(places, reverse=True))


def test_clusters_take_their_places_on_a_ring() -> None:
    rng = np.random.default_rng(0)
    angles = rng.uniform(0.0, 2.0 * np.pi, 300)
    X = np.column_stack([np.cos(angles), np.sin(angles)]) + 0.05 * rng.normal(size=(300, 2))
    places = 2.0 * np.pi * np.arange(8) / 8.0
    ring = 1.0 + np.cos(places[:, None] - places)
    for normalize in (True, False):
        model = HSICClustering(8, similarity=ring, normalize=normalize, random_state=0).fit(X)
        centers = [np.exp(1j * angles[model.labels_ == cluster]).mean() for cluster in range(8)]
        turns = np.angle(np.roll(centers, -1) / centers)
        assert (turns > 0.0).all() or (turns < 0.0).all()


def test_plain_indicators_leave_clusters_of_one_sample() -> None:
    X, _ = load_digits(return_X_y=True)
    sizes = np.bincount(HSICClustering(10, normalize=False, random_state=0).fit(X[:500]).labels_)
    assert (sizes == 1).sum() >= 3


def k_means_sets() -> list[np.ndarray]:
    sets = [load_iris, load_wine, load_digits, load_breast_cancer]
    return [scale(load(return_X_y=True)[0][:400]) for load in sets]


def test_kernel_k_means() -> None:
    """With a linear kernel the objective is the variance less k-means' inertia: no higher one."""
    ratios = []
    for X in k_means_sets():
        variance = ((X - X.mean(axis=0)) ** 2).sum()
        for seed, n_clusters in enumerate([3, 3, 10, 10]):
            model = HSICClustering(n_clusters, "linear", random_state=seed).fit(X)
            centers = [X[model.labels_ == cluster].mean(axis=0) for cluster in range(n_clusters)]
            inertia = ((X - np.array(centers)[model.labels_]) ** 2).sum()
            assert_allclose(model.objective_, variance - inertia, rtol=1e-9)
            theirs = KMeans(n_clusters, n_init=10, random_state=seed).fit(X)
            ratios.append(inertia / theirs.inertia_)
    assert np.mean(ratios) <= 1.0
    assert max(ratios) < 1.02


def test_width_is_the_median_distance() -> None:
    X, _ = blobs()
    distances = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    expected = np.median(distances[distances > 0.0])
    assert_allclose(HSICClustering(4).fit(X).kernel_.bandwidth, expected, rtol=1e-9)


def test_real_sets_as_good_as_k_means(data: Any) -> None:
    """The default width against k-means, on features in [0, 1]."""
    better = 0.0
    for name in ("segment", "vehicle", "ecoli"):
        bunch = data(name)
        X, y = bunch.data.astype(float), np.unique(bunch.target, return_inverse=True)[1]
        X = (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1e-300)
        k = int(y.max()) + 1
        ours = HSICClustering(k, random_state=0).fit(X).labels_
        theirs = KMeans(k, n_init=10, random_state=0).fit(X).labels_
        better += adjusted_rand_score(y, ours) - adjusted_rand_score(y, theirs)
    assert better > 0.0


# --- new samples ------------------------------------------------------------------------------


@every_model
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


@every_model
def test_slope_is_a_derivative(model: Any) -> None:
    """The gain of a sample of little weight, by the naive objective with weighted indicators."""
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
    import sklearn

    X, _ = blobs()
    model = clone(MODELS["greedy"]).fit(X)
    with sklearn.config_context(working_memory=0.001):
        assert_array_equal(model.predict(X), model.labels_)

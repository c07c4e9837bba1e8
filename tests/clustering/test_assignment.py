"""New samples are assigned to nearest centers, and by derivatives of the objective."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from clustering_cases import (
    CHAIN,
    HSIC_MODELS,
    MULTIPLE_MODELS,
    blobs,
    every_hsic_model,
    every_multiple_model,
    views,
)
from clustering_reference import indicators
from numpy.testing import assert_array_equal
from sklearn.base import clone

from mercer import HSICClustering
from mercer.kernels import Laplacian


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

"""Properties that clusterings by one kernel and by several have in common."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from clustering_cases import CHAIN, HSIC_MODELS, MULTIPLE_MODELS, blobs, indicators, samples, views
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer import HSICClustering, MultipleKernelClustering
from mercer.kernels import Gaussian, Laplacian, OnColumns


def test_columns_by_name() -> None:
    X, _ = blobs()
    noise = np.random.default_rng(0).normal(size=len(X)) * 100.0
    table = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "noise": noise})
    named = HSICClustering(4, OnColumns(Gaussian("median"), ["x", "y"]), random_state=0).fit(table)
    plain = HSICClustering(4, random_state=0).fit(X)
    assert_allclose(named.kernel_.theta, plain.kernel_.theta, rtol=1e-12)
    assert_array_equal(named.labels_, plain.labels_)
    assert_array_equal(named.predict(table), plain.predict(X))


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


@pytest.mark.parametrize(
    "model", [HSIC_MODELS["spectral"], HSIC_MODELS["chain"], MULTIPLE_MODELS["default"]]
)
def test_fewer_distinct_samples_than_clusters(model: Any) -> None:
    X = samples(model)[:3][np.arange(30) % 3]
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(3\) found smaller .* \(4\)"):
        fitted = clone(model).fit(X)
    assert_array_equal(np.bincount(fitted.labels_), [10, 10, 10])
    assert np.isfinite(fitted.objective_)


INVALID = [
    ({"n_clusters": 0}, "n_clusters must be at least 1"),
    ({"n_clusters": 81}, "n_samples=80 should be >= n_clusters=81"),
    ({"n_init": "many"}, "n_init must be an instance of"),
    ({"max_iter": 0}, "max_iter must be at least 1"),
    ({"tol": -1.0}, "tol must be finite and not negative"),
    ({"random_state": "x"}, "cannot be used to seed"),
    ({"similarity": np.eye(3)}, r"\(4, 4\); got \(3, 3\)"),
    ({"similarity": np.ones(4)}, "Expected 2D array"),
    ({"similarity": 1.0 - np.eye(4)}, "positive semi-definite"),
    ({"similarity": np.zeros((4, 4))}, "similarity is zero"),
    ({"similarity": np.full((4, 4), np.nan)}, "similarity contains NaN"),
]


INVALID_FOR_ONE = [
    ({"method": "best"}, 'method must be one of "greedy", "spectral"'),
    ({"normalize": "l2"}, "normalize must be True or False"),
    ({"kernel": "sigmoid"}, "Unknown kernel 'sigmoid'"),
]
INVALID_FOR_SEVERAL = [
    ({"weight_penalty": np.inf}, "weight_penalty must be finite and not negative"),
    ({"weights_init": "all"}, 'weights_init must be one of "uniform"'),
    ({"kernels": []}, "dictionary of kernels is empty"),
    ({"kernels": "precomputed"}, "must be square"),
    ({"similarity": np.triu(np.ones((4, 4)))}, "must be symmetric"),
]


@pytest.mark.parametrize(
    ("clusterer", "parameters", "message"),
    [
        *((HSICClustering, *case) for case in INVALID + INVALID_FOR_ONE),
        *((MultipleKernelClustering, *case) for case in INVALID_FOR_SEVERAL),
    ],
    ids=str,
)
def test_invalid_parameters(clusterer: Any, parameters: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        clusterer(**{"n_clusters": 4, **parameters}).fit(views()[0])


NEAREST = [HSICClustering(4, kernel, random_state=0) for kernel in ("linear", Laplacian(2.0))]


@pytest.mark.parametrize("model", [*NEAREST, MULTIPLE_MODELS["default"]], ids=repr)
def test_nearest_center(model: Any) -> None:
    X, Z = (views(seed=seed, noise=2.0)[0] + 3.0 for seed in (0, 1))
    fitted = clone(model).fit(X)
    Y = indicators(fitted.labels_, 4, True) ** 2
    within = np.einsum("ic,ij,jc->c", Y, fitted.kernel_(X), Y)
    expected = (within - 2.0 * fitted.kernel_(Z, X) @ Y).argmin(axis=1)
    assert_array_equal(fitted.predict(Z), expected)


@pytest.mark.parametrize("model", [HSIC_MODELS[name] for name in ("greedy", "chain", "plain")])
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

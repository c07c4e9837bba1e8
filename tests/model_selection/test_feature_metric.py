"""Metrics of the features by average gradient outer products, against a naive iteration."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import center
from scipy.linalg import sqrtm

from mercer._model_selection import feature_metric
from mercer._model_selection.feature_metric import (
    MetricChoice,
    choose_metric,
    gradient_outer_product,
    kernel_on_features,
    metric_after,
)
from mercer._search.targets import as_target
from mercer.kernels import ExponentialPower, Gaussian, Kernel, Laplacian, Matern

SETTINGS = [(ExponentialPower(), True), (Gaussian(), True), (Laplacian(), False)]
every_setting = pytest.mark.parametrize(("kernel", "diagonal"), SETTINGS)


def problem(n: int = 120, d: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The difference of two of the features matters."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2.0 * (X[:, 0] - X[:, 1])) + 0.05 * rng.normal(size=n)


def choose(kernel: Kernel, X: Any, y: Any, diagonal: bool, **settings: Any) -> MetricChoice:
    settings = {"n_iter": 3, "random_state": 0, **settings}
    return choose_metric(kernel, X, as_target(y), diagonal=diagonal, **settings)


@every_setting
def test_each_map_is_the_root_of_the_gradients_of_a_ridge_regression(
    kernel: Kernel, diagonal: bool
) -> None:
    X, y = problem(60)
    y = (y - y.mean()) / y.std()
    found = choose(kernel, X, y, diagonal)
    assert_array_equal(found.metrics[0].map, np.ones(6) if diagonal else np.eye(6))
    for before, after in zip(found.metrics[:-1], found.metrics[1:], strict=True):
        A = np.diag(before.map) if diagonal else before.map
        K = center(before.kernel(X @ A))
        scale = np.trace(K) / len(K)
        dual = np.linalg.solve(K / scale + before.alpha * np.eye(len(K)), y) / scale
        dual = (dual - dual.mean())[:, None]
        G = A @ gradient_outer_product(before.kernel, X @ A, dual, diagonal=False) @ A.T
        if diagonal:
            expected = np.sqrt(np.diag(G) / np.diag(G).max())
        else:
            expected = np.real(sqrtm(G / np.linalg.norm(G, 2)))
        assert_allclose(after.map, expected, rtol=1e-4, atol=1e-4)


@every_setting
def test_relevant_directions_are_found(kernel: Kernel, diagonal: bool) -> None:
    X, y = problem()
    found = choose(kernel, X, y, diagonal)
    assert found.best > 0
    assert found.losses[found.best] < 0.9 * found.losses[0]
    A = found.metrics[found.best].map
    squares = A**2 if diagonal else np.diag(A @ A.T)
    assert squares[:2].min() > 1.5 * squares[2:].max()
    if not diagonal:
        values, vectors = np.linalg.eigh(A)
        assert abs(vectors[:, -1] @ np.array([1, -1, 0, 0, 0, 0]) / np.sqrt(2.0)) > 0.95
        assert values[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(("n", "d", "seed"), [(40, 3, 2), (40, 6, 3)])
def test_features_as_they_are_where_nothing_is_learned(n: int, d: int, seed: int) -> None:
    """On noise, a later metric may have a lower loss by chance, but by a standard error."""
    rng = np.random.default_rng(seed)
    found = choose(Gaussian(), rng.normal(size=(n, d)), rng.normal(size=n), True)
    assert found.losses.argmin() > 0
    assert found.best == 0


@pytest.mark.parametrize(
    ("kernel", "diagonal", "unit"), [(Gaussian(), True, 1e-8), (Laplacian(), False, 1e8)]
)
def test_units_do_not_matter(kernel: Kernel, diagonal: bool, unit: float) -> None:
    X, y = problem(60)
    found = choose(kernel, X, y, diagonal)
    other = choose(kernel, unit * X, y, diagonal)
    assert_allclose(other.metrics[-1].map, found.metrics[-1].map, atol=1e-6)
    assert_allclose(other.losses, found.losses, rtol=1e-6)


def test_few_samples_choose_nothing() -> None:
    X, y = problem(8)
    found = choose(Gaussian(), X, y, True)
    assert found.best == 0
    assert np.isnan(found.losses).all()


@every_setting
def test_difficult_tables_end_in_finite_maps(kernel: Kernel, diagonal: bool) -> None:
    X, y = problem(40)
    rng = np.random.default_rng(0)
    tables = {
        "constant column": np.column_stack([X, np.ones(40)]),
        "all columns constant": np.ones((40, 3)),
        "duplicated column": np.column_stack([X, X]),
        "duplicated rows": np.vstack([X[:20], X[:20]]),
        "indicators": np.column_stack([X, np.eye(4)[np.arange(40) % 4]]),
        "more features than samples": rng.normal(size=(40, 60)),
        "different units": X * np.array([1e-8, 1.0, 1e8, 1.0, 1.0, 1.0]),
        "large offset": X + 1e6,
        "one column": X[:, :1],
    }
    for name, table in tables.items():
        found = choose(kernel, table, y, diagonal)
        assert all(np.isfinite(metric.map).all() for metric in found.metrics), name
        assert np.isfinite(found.losses).all(), name


def test_many_samples_are_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = problem(90)
    monkeypatch.setattr(feature_metric, "MAX_SAMPLES", 60)
    found = choose(Gaussian(), X, y, True)
    rows = feature_metric.spread_rows(X, as_target(y).centered, 60)
    target = as_target(y).take(rows)
    same = choose_metric(Gaussian(), X[rows], target, n_iter=3, diagonal=True, random_state=0)
    assert_allclose(found.metrics[-1].map, same.metrics[-1].map, rtol=1e-9)


def test_more_features_than_samples_are_mapped_from_the_span_of_the_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The whole matrix maps what lies outside of the span by the least scale, not by zero.
    monkeypatch.setattr(feature_metric, "_LEAST_SCALE", 1e-8)
    X, y = problem(40, 70)
    X, y = X + 5.0, (y - y.mean())[:, None]
    found = metric_after(Gaussian(), X, y, n_iter=2)
    assert found.map.shape == (70, 40)
    resampling = feature_metric.as_resampling(None, len(X))
    whole = [
        f.metric
        for f in feature_metric._iterates(Gaussian(), X, y, resampling, n_iter=2, diagonal=False)
    ][-1]
    assert whole.map.shape == (70, 70)
    new = 5.0 + np.random.default_rng(1).normal(size=(20, 70))
    few, every = kernel_on_features(found), kernel_on_features(whole)
    assert_allclose(few(new, X), every(new, X), rtol=0.0, atol=1e-9)
    assert_allclose(few(X), every(X), rtol=0.0, atol=1e-9)


# --- average gradient outer products, against loops over samples and finite differences ---------


KERNELS = {
    "gaussian": Gaussian(1.7),
    "laplacian": Laplacian(2.0),
    "matern": Matern(1.5, nu=2.5),
    "product-laplacian": ExponentialPower(2.5),
    "norm-1-power-0.7": ExponentialPower(2.5, power=0.7),
    "norm-1.5": ExponentialPower(2.0, power=1.2, norm=1.5),
}

every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def samples() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(25, 4)), rng.normal(size=(25, 2))


def naive(kernel: Kernel, X: np.ndarray, dual: np.ndarray) -> np.ndarray:
    """By central differences of the sum over all other samples, one sample after the other."""
    n, d = X.shape
    total, step = np.zeros((d, d)), 1e-6
    for a in range(n):
        others = np.arange(n) != a
        shifts = step * np.eye(d)
        ahead = kernel(X[a] + shifts, X[others]) @ dual[others]
        behind = kernel(X[a] - shifts, X[others]) @ dual[others]
        gradients = (ahead - behind) / (2.0 * step)
        total += gradients @ gradients.T
    return total / n


@every_kernel
def test_a_loop_over_samples(kernel: Kernel) -> None:
    X, dual = samples()
    expected = naive(kernel, X, dual)
    matrix = gradient_outer_product(kernel, X, dual, diagonal=False)
    assert_allclose(matrix, expected, rtol=1e-5, atol=1e-7)
    assert_allclose(gradient_outer_product(kernel, X, dual), np.diag(expected), rtol=1e-5)


@pytest.mark.parametrize("name", ["gaussian", "norm-1.5"])
def test_samples_in_several_blocks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (X, dual), kernel = samples(), KERNELS[name]
    whole = gradient_outer_product(kernel, X, dual, diagonal=False)
    monkeypatch.setattr(feature_metric, "CACHED_VALUES", 3 * len(X))
    parts = gradient_outer_product(kernel, X, dual, diagonal=False)
    assert_allclose(parts, whole, rtol=1e-10)


@pytest.mark.parametrize("name", ["gaussian", "norm-1.5"])
def test_some_of_the_samples(name: str) -> None:
    (X, dual), kernel = samples(), KERNELS[name]
    halves = [
        gradient_outer_product(kernel, X, dual, rows=rows)
        for rows in np.split(np.random.default_rng(1).permutation(24), 2)
    ]
    rows = np.arange(24)
    assert_allclose(
        np.mean(halves, axis=0), gradient_outer_product(kernel, X, dual, rows=rows), rtol=1e-10
    )


@every_kernel
def test_equal_samples_and_constant_features(kernel: Kernel) -> None:
    X, dual = samples()
    X = np.column_stack([np.vstack([X, X[:5]]), np.full(30, 0.1)])
    dual = np.vstack([dual, dual[:5]])
    found = gradient_outer_product(kernel, X, dual, diagonal=False)
    assert np.isfinite(found).all()
    assert_allclose(found[-1], 0.0, atol=1e-12)

"""The evidence of a Gram matrix, and one width per feature that maximizes it."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import central_difference, gaussian
from scipy.stats import multivariate_normal

from mercer._data.weights import SampleWeights, UnitWeights
from mercer._gram.samples import Samples, spread_rows
from mercer._search.evidence import SAFE_MEAN, GaussianEvidence, KernelSums, Slopes
from mercer._search.evidence_search import (
    PRIOR_DEVIATION,
    EvidenceMaximum,
    _Evidence,
    marginal_likelihood_widths,
)
from mercer.kernels import (
    ExponentialPower,
    Gaussian,
    Kernel,
    Laplacian,
    RationalQuadratic,
    WeightedSum,
)

SUM = WeightedSum([ExponentialPower(ard=True), Gaussian(ard=True)], [1.0, 1.0])


def problem(n: int = 90, d: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two of the features matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.1 * rng.normal(size=n)
    return X, y[:, None]


def log_evidence(K: np.ndarray, Y: np.ndarray, noise: float, amplitude: float) -> float:
    covariance = amplitude * (K + noise * np.eye(len(K)))
    return float(multivariate_normal(cov=covariance).logpdf((Y - Y.mean(axis=0)).T).sum())


@pytest.mark.parametrize(
    ("family", "n_targets", "n"),
    [
        (Laplacian(ard=True), 3, 40),
        (SUM, 3, 40),
        (Gaussian(ard=True), 1, 400),
        (RationalQuadratic(ard=True), 1, 400),
    ],
)
def test_value_and_gradient_are_those_of_the_naive_evidence(
    family: Kernel, n_targets: int, n: int
) -> None:
    """Also of samples in several tiles, and of a kernel whose shape is learned tile by tile."""
    X, y = problem(n)
    Y = np.column_stack([y, X[:, 1:n_targets] + 0.1 * y])
    centered, d, bound = Y - Y.mean(axis=0), X.shape[1], family.bind(X)
    objective = _Evidence(bound, X, Y, 0.7, in_single=False)
    summed = isinstance(bound, WeightedSum)
    parts = bound.kernels if summed else [bound]
    sizes = [part.theta.size for part in parts]
    assert (len(objective.samples.plan) > 1) == (n > 40)

    def naive(x: np.ndarray) -> float:
        thetas = np.split(x[: sum(sizes)], np.cumsum(sizes)[:-1])
        weights = [1.0, np.exp(x[-2])] if summed else [1.0]
        grams = [part.with_theta(t)(X) for part, t in zip(parts, thetas, strict=True)]
        A = np.tensordot(weights, grams, axes=1) + np.exp(x[-1]) * np.eye(n)
        quadratic = np.trace(centered.T @ np.linalg.solve(A, centered))
        cost = sum(np.sum((t[:d] - t[:d].mean()) ** 2) for t in thetas)
        return float(np.log(quadratic) + np.linalg.slogdet(A)[1] / n + cost / 0.7**2 / Y.size)

    rng = np.random.default_rng(1)
    x = np.append(rng.normal(scale=0.3, size=sum(sizes)), [0.8, -2.0] if summed else [-2.0])
    other = rng.normal(scale=0.3, size=x.size) - 1.0
    value, gradient = objective(x)
    assert_allclose(value - objective(other)[0], naive(x) - naive(other), rtol=1e-8)
    assert_allclose(gradient, central_difference(naive, x), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("noise", [1.01e-6, 1e-4, 1e-2])
def test_single_precision_is_used_where_the_noise_allows_it(noise: float) -> None:
    """Wide kernels lose most digits; below the boundary, the values are those of double."""
    X, y = problem(200, 8)
    objectives = [
        _Evidence(SUM.bind(X), X, y, 1.0, in_single=in_single) for in_single in (True, False)
    ]
    for scale in (0.99, 1.0):
        x = np.concatenate([np.full(16, 3.0), [0.0, np.log(noise * scale * 200 * 2)]])
        (one, slopes), (other, expected) = (objective(x) for objective in objectives)
        is_single = noise * scale >= SAFE_MEAN
        assert (objectives[0].gram(x).dtype == np.float32) == is_single
        assert_allclose(one, other, atol=2e-4 if is_single else 0.0)
        size = np.abs(expected).max()
        assert_allclose(slopes, expected, atol=1e-3 * size if is_single else 0.0)


def test_single_precision_is_used_for_rough_kernels_with_little_noise() -> None:
    """The narrow kernel's eigenvalues are large, unlike those of equal rows, or of wide kernels."""
    X, y = problem(200, 8)
    X[1::2] = X[::2] + 1e-9 * X[1::2]
    rough = np.concatenate([np.full(8, -2.0), np.full(8, 3.0), [0.0, np.log(1e-9)]])
    wide = np.where(rough < 0.0, np.maximum(rough, 3.0), rough)
    wide[-1] = rough[-1]
    for rows, is_single in ((slice(None, None, 2), True), (slice(None), False)):
        one, other = (
            _Evidence(SUM.bind(X[rows]), X[rows], y[rows], 1.0, in_single=in_single)
            for in_single in (True, False)
        )
        for x in (rough, rough, wide, rough, rough):
            (value, slopes), (expected, gradient) = one(x), other(x)
            assert_allclose(value, expected, atol=2e-4)
            assert_allclose(slopes, gradient, atol=1e-3 * np.abs(gradient).max())
        assert (value != expected) == is_single


def test_differences_of_binary_columns_are_matrix_products() -> None:
    """A column may be constant, have two values, or many."""
    X = problem(50, 6)[0]
    X[:, 1] = X[:, 1] > 0.0
    X[:, 2] = np.where(X[:, 2] > 1.0, 5.0, -2.0)
    X[:, 3] = 4.0
    kernels = [ExponentialPower(ard=True).bind(X), Laplacian(ard=True).bind(X)]
    expected = [kernel.with_theta(np.linspace(-0.5, 0.5, 6)) for kernel in kernels]
    summed = KernelSums(kernels, Samples(X), X)
    gram, contracted = summed(expected, np.array([1.0, 0.5]))
    assert_allclose(gram, expected[0](X) + 0.5 * expected[1](X), rtol=1e-12)
    P = np.cos(np.add.outer(np.arange(50), np.arange(50)))
    slopes = [kernel.vjp(X, P)[1] for kernel in expected]
    inner = [np.sum(P * kernel(X)) for kernel in expected]
    found = contracted(Slopes(0.0, 0.0, P, np.zeros((50, 1))))
    assert_allclose(found, np.concatenate([*slopes, inner]), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("in_single", [True, False])
def test_memory_does_not_grow_with_the_number_of_columns(in_single: bool) -> None:
    X, y = problem(500, 80)
    objective = _Evidence(SUM.bind(X), X, y, 1.0, in_single=in_single)
    tracemalloc.start()
    objective(np.append(objective.middle[:-1], np.log(0.1)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10.0 * 500**2 * (4.0 if in_single else 8.0)


@pytest.mark.parametrize("family", [Gaussian(ard=True), SUM])
def test_the_reported_evidence_is_that_of_the_best_amplitude(family: Kernel) -> None:
    X, y = problem()
    found = marginal_likelihood_widths(family, X, y)
    K = found.kernel(X)
    value = log_evidence(K, y, found.noise, found.amplitude)
    assert_allclose(found.log_marginal_likelihood, value, rtol=1e-8)
    for factor in (0.9, 1.1):
        assert log_evidence(K, y, found.noise, factor * found.amplitude) < value
    assert type(found.kernel) is type(family)
    assert getattr(found.kernel, "weights", [1.0])[0] == 1.0


def test_features_without_influence_get_wide() -> None:
    X, y = problem(100, 8)
    found = marginal_likelihood_widths(RationalQuadratic(ard=True), X, y)
    widths = found.kernel.relevance(8) ** -0.5
    assert widths[2:].min() > 2.0 * widths[:2].max()
    assert found.converged
    assert found.n_iter > 0


def test_the_search_ends_where_no_direction_is_better() -> None:
    X, y = problem()
    found = marginal_likelihood_widths(Gaussian(ard=True), X, y)
    objective = _Evidence(found.kernel, X, y, PRIOR_DEVIATION, in_single=False)
    x = np.append(found.kernel.theta, np.log(found.noise))
    common = objective.best_start
    assert np.ptp(common[:-1]) <= 1e-9
    inside = (x > objective.bounds[:, 0]) & (x < objective.bounds[:, 1])
    assert np.abs(objective(x)[1][inside]).max() < 0.01
    assert (objective(x)[1][~inside] < 0.0).all()
    assert objective(x)[0] < objective(common)[0]


def test_indicators_count_as_often_as_their_rank() -> None:
    X, y = problem(60)
    classes = np.digitize(y[:, 0], [0.0, 0.7])
    indicators = (classes[:, None] == np.arange(3)).astype(float)
    simplex = np.array([[1.0, 0.0], [-0.5, 0.75**0.5], [-0.5, -(0.75**0.5)]])
    found = marginal_likelihood_widths(Gaussian(ard=True), X, indicators)
    other = marginal_likelihood_widths(Gaussian(ard=True), X, simplex[classes])
    assert_allclose(other.kernel.theta, found.kernel.theta, atol=1e-3)
    assert_allclose(other.noise, found.noise, rtol=1e-3)


def test_a_search_may_start_from_the_widths_of_another_kernel() -> None:
    X, y = problem(60, 8)
    single = marginal_likelihood_widths(Gaussian(ard=True), X, y).kernel
    objective = _Evidence(SUM.bind(X), X, y, 1.0, in_single=False)
    common, start = objective.best_start, objective.with_widths_like(single)
    for positions in objective.widths():
        assert start[positions][:2].max() < start[positions][2:].min()
    assert objective(start)[0] < objective(common)[0]
    alone = marginal_likelihood_widths(SUM, X, y, tol=1e-9, max_iter=500)
    found = marginal_likelihood_widths(SUM, X, y, tol=1e-9, max_iter=500, like=single)
    assert found.path[0] > alone.path[0]
    assert found.path[-1] > alone.path[-1] - 1e-6


def test_of_many_samples_some_are_used() -> None:
    X, y = problem(700)
    found = marginal_likelihood_widths(Gaussian(ard=True), X, y, max_samples=100)
    rows = spread_rows(X, y, 100)
    same = marginal_likelihood_widths(Gaussian(ard=True), X[rows], y[rows], max_samples=100)
    assert found.log_marginal_likelihood == same.log_marginal_likelihood
    order = np.random.default_rng(0).permutation(700)
    assert set(order[spread_rows(X[order], y[order], 100)]) == set(rows)


def finite(found: EvidenceMaximum) -> bool:
    return bool(np.isfinite(found.kernel.theta).all() and np.isfinite(found.noise))


def test_difficult_tables_end_in_finite_widths() -> None:
    X, y = problem(40)
    duplicated = np.vstack([X, X])
    tables = {
        "indicators": np.column_stack([X, X, np.ones(40), np.eye(4)[np.arange(40) % 4]]),
        "more features than samples": np.random.default_rng(0).normal(size=(40, 45)),
        "different units": 1e6 + X * np.array([1e-8, 1.0, 1e8, 1.0, 1.0]),
    }
    for name, table in tables.items():
        found = marginal_likelihood_widths(Gaussian(ard=True), table, y)
        assert finite(found), name
        assert np.isfinite(found.log_marginal_likelihood), name
    assert finite(marginal_likelihood_widths(Gaussian(ard=True), duplicated, np.vstack([y, -y])))
    assert finite(marginal_likelihood_widths(Gaussian(ard=True), X[:2], y[:2]))


@pytest.mark.parametrize(("family", "constant"), [(Gaussian(ard=True), "target"), (SUM, "table")])
def test_nothing_is_learned_from_constants(family: Kernel, constant: str) -> None:
    X, y = problem(40)
    X = np.full_like(X, 0.1) if constant == "table" else X
    y = np.full_like(y, 0.1) if constant == "target" else y
    found = marginal_likelihood_widths(family, X, y)
    assert finite(found)
    assert np.isnan(found.log_marginal_likelihood)
    if family is not SUM:
        assert np.ptp(found.kernel.theta) == 0.0


RNG = np.random.default_rng(0)


X, Y = RNG.normal(size=(12, 2)), RNG.normal(size=(12, 2))


K, COUNTS = gaussian(X, 1.5), np.arange(12) % 3 + 1


OBJECTIVES = {
    "weights": GaussianEvidence(Y, SampleWeights(0.7 * COUNTS)),
    "best amplitude, weights": GaussianEvidence(Y, SampleWeights(0.7 * COUNTS), 2),
    "best amplitude, rank one": GaussianEvidence(Y[:, [0, 0]], UnitWeights(12), 1),
}


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)
def test_slopes_are_those_of_differences(objective: Any) -> None:
    found, step = objective.slopes(K, 0.3), 1e-5
    assert_allclose(found.value, objective.value(K, 0.3), rtol=1e-14)
    change = objective.value(K, 0.3 * np.exp(step)) - objective.value(K, 0.3 * np.exp(-step))
    assert_allclose(found.log_noise, change / (2.0 * step), rtol=1e-6)
    D = gaussian(X, 0.5)
    change = objective.value(K + step * D, 0.3) - objective.value(K - step * D, 0.3)
    slope = np.sum((found.inverse - found.factor @ found.factor.T) * D)
    assert_allclose(slope, change / (2.0 * step), rtol=1e-6)


@pytest.mark.parametrize("rank", [None, 2])
def test_a_whole_weight_is_that_number_of_rows(rank: int | None) -> None:
    rows = np.repeat(np.arange(12), COUNTS)
    once = GaussianEvidence(Y, SampleWeights(COUNTS.astype(float)), rank)
    repeated = GaussianEvidence(Y[rows], UnitWeights(rows.size), rank)
    expected = repeated.value(K[np.ix_(rows, rows)], 0.3)
    assert_allclose(once.value(K, 0.3), expected, rtol=1e-12)

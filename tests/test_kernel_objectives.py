"""Criteria: value and sensitivity against dense references and central differences."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from criterion_cases import KINDS, every_criterion, table, target_of
from kernel_cases import NATIVE, WIDTHS
from numpy.testing import assert_allclose
from reference import (
    REFERENCES,
    center,
    centered_alignment,
    central_difference,
    gaussian,
)

from mercer._gram.moments import moments
from mercer._gram.samples import Samples
from mercer._search.kernel_objectives import CRITERIA, Dependence, Sensitivity, TargetProduct
from mercer.kernels import (
    ExponentialPower,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    OnColumns,
    OnProjection,
)

SEVERAL_TILES = 400


def dense(P: Any, samples: Samples) -> np.ndarray:
    """The whole matrix from its tiles."""
    result = np.full((samples.n_samples, samples.n_samples), np.nan)
    for tile in samples.plan:
        block = P.block(samples, tile)
        result[tile.rows, tile.columns] = block
        result[tile.columns, tile.rows] = block.T
    return result


def dense_sensitivity(name: str, K: np.ndarray, L: np.ndarray) -> np.ndarray:
    """The gradient of a criterion with respect to the whole Gram matrix."""
    if CRITERIA[name].is_centered:
        K, L = center(K), center(L)
    norm = float(np.linalg.norm(L))
    _, by_a, by_q = CRITERIA[name].of(float(np.sum(K * L)), float(np.sum(K * K)), norm, len(K))
    return by_a * L + 2.0 * by_q * K


@every_criterion
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [3, SEVERAL_TILES])
def test_streamed_criterion_is_the_dense_one(name: str, kind: str, n: int) -> None:
    X = table(n)
    target, L = target_of(kind, n)
    objective = Dependence(CRITERIA[name], Samples(X), target)
    for kernel in (Gaussian(WIDTHS, ard=True), NATIVE["weighted-sum"], Linear()):
        K = kernel(X)
        assert_allclose(objective.value(kernel), REFERENCES[name](K, L), rtol=1e-10)
        value, gradient = objective.value_and_gradient(kernel)
        assert_allclose(value, REFERENCES[name](K, L), rtol=1e-10)
        expected = kernel.vjp(X, dense_sensitivity(name, K, L))[1]
        assert_allclose(gradient, expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max(initial=0))


@every_criterion
@pytest.mark.parametrize("kernel", NATIVE.values(), ids=NATIVE)
def test_gradient_agrees_with_central_differences(name: str, kernel: Kernel) -> None:
    X = table(25)
    target, L = target_of("four classes", 25)
    _, gradient = Dependence(CRITERIA[name], Samples(X), target).value_and_gradient(kernel)
    if kernel.theta.size == 0:
        assert gradient.size == 0
        return

    def value(theta: np.ndarray) -> float:
        return REFERENCES[name](kernel.with_theta(theta)(X), L)

    expected = central_difference(value, kernel.theta, 1e-5)
    assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())


SERVED = [
    Gaussian(WIDTHS, ard=True),
    Laplacian(WIDTHS, norm=1.0, ard=True),
    ExponentialPower(
        WIDTHS, power=1.2, norm=1.5, ard=True, power_bounds=(0.5, 1.25), norm_bounds=(1.3, 2.0)
    ),
    OnColumns(Gaussian(WIDTHS[:2], ard=True), [2, 0]),
    OnProjection(Gaussian(WIDTHS, ard=True), np.diag(WIDTHS[::-1])),
    NATIVE["weighted-sum"],
]


@pytest.mark.parametrize("kernel", SERVED, ids=str)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_tiles_serve_values_and_gradient(container: Any, kernel: Kernel) -> None:
    """Rows that are equal, or nearly, are among them."""
    X = 3.0 + table(SEVERAL_TILES)
    X[7], X[300] = X[5], X[5] * (1.0 + 1e-8)
    X[:, 1] = np.maximum(X[:, 1] - 3.0, 0.0)
    target, L = target_of("four classes", SEVERAL_TILES)
    with sklearn.config_context(working_memory=0.5):
        objective = Dependence(CRITERIA["cka"], Samples(container(X)), target)
        value, gradient = objective.value_and_gradient(kernel)
    K = kernel(X)
    assert_allclose(value, centered_alignment(K, L), rtol=1e-10)
    expected = kernel.vjp(X, dense_sensitivity("cka", K, L))[1]
    assert_allclose(gradient, expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", [*SERVED, Linear()], ids=str)
def test_inner_products_with_a_sensitivity(kernel: Kernel) -> None:
    X = table(SEVERAL_TILES)
    weights = np.random.default_rng(0).integers(1, 4, SEVERAL_TILES).astype(float)
    for w in (None, weights):
        with sklearn.config_context(working_memory=0.5):
            samples = Samples(X, weights=w)
            P = several_parts(samples)
            objective = TargetProduct(P, samples)
            value, gradient = objective.value_and_gradient(kernel)
        assert_allclose(objective.value(kernel), value, rtol=1e-10)
        roots = np.ones(SEVERAL_TILES) if w is None else np.sqrt(w)
        expected, slope = kernel.vjp(X, dense(P, samples) * np.outer(roots, roots))
        assert_allclose(value, expected, rtol=1e-9, atol=1e-9)
        assert_allclose(gradient, slope, rtol=1e-8, atol=1e-9)


def test_kernels_that_return_nan_are_named_before_the_gradient() -> None:
    X = table(20)
    kernel = Gaussian(np.full(X.shape[1], 1e-200), ard=True)
    target, _ = target_of("two classes", 20)
    with pytest.raises(ValueError, match="NaN or infinity"), np.errstate(all="ignore"):
        Dependence(CRITERIA["cka"], Samples(X), target).value_and_gradient(kernel)


def test_alignment_of_a_wide_kernel_keeps_its_digits() -> None:
    """A Gaussian far wider than the data is the linear kernel, up to a constant."""
    X = table(30)
    target, L = target_of("two classes", 30)
    found = Dependence(CRITERIA["cka"], Samples(X), target).value(Gaussian(1e6))
    assert_allclose(found, centered_alignment(X @ X.T, L), rtol=1e-9)


@every_criterion
def test_constant_kernels_have_no_dependence(name: str) -> None:
    """No division by a norm of zero."""
    target, _ = target_of("two classes", 10)
    objective = Dependence(CRITERIA[name], Samples(np.ones((10, 2))), target)
    for kernel in (Gaussian(), Linear(), OnColumns(Gaussian(), [1])):
        value, gradient = objective.value_and_gradient(kernel)
        assert np.isfinite(gradient).all()
        if name != "ka":
            assert value == 0.0
    assert CRITERIA[name].of(0.0, 0.0, 1.0, 10)[0] == 0.0


def several_parts(samples: Samples) -> Sensitivity:
    """A factor, two centered kernels and the centered identity."""
    n = samples.n_samples
    rng = np.random.default_rng(0)
    F, signs = rng.normal(size=(n, 3)), np.array([1.0, -1.0, 1.0])
    F = samples.weights.centered(F)
    kernels = (Gaussian(1.0), OnColumns(Linear(), [0]))
    means = moments(samples, kernels, F, dense=True).row_means
    assert means is not None
    return Sensitivity(F, signs, 0.7, kernels, np.array([2.0, -0.3]), means, identity=0.4)


def test_parts_of_a_sensitivity_add_up() -> None:
    X, n = table(SEVERAL_TILES), SEVERAL_TILES
    samples = Samples(X)
    P = several_parts(samples)
    expected = 0.7 * (P.factor * P.signs) @ P.factor.T + 0.4 * (np.eye(n) - 1.0 / n)
    expected += 2.0 * center(gaussian(X, 1.0)) - 0.3 * center(np.outer(X[:, 0], X[:, 0]))
    assert_allclose(dense(P, samples), expected, atol=1e-12)

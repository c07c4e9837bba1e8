"""Kernels from names, callables, Gaussian processes and formulas; sums and products of kernels."""

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics.pairwise import chi2_kernel, rbf_kernel

from mercer import KernelOptimization, TwoStageRegressor
from mercer.kernels import (
    CallableKernel,
    Gaussian,
    Kernel,
    Linear,
    Matern,
    OnColumns,
    Polynomial,
    Product,
    SklearnKernel,
    WeightedSum,
    as_dictionary,
    as_kernel,
)
from mercer.kernels._conversion import NAMES


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(0).uniform(size=(15, 2))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_stands_for_a_kernel(name: str, X: np.ndarray) -> None:
    kernel = as_kernel(name)
    assert isinstance(kernel, Kernel)
    assert kernel.bind(X[:, :1])(X[:, :1]).shape == (15, 15)
    assert as_kernel(kernel) is kernel is not as_kernel(name)


def test_callables_become_kernels(X: np.ndarray) -> None:
    kernel = as_kernel(chi2_kernel)
    assert isinstance(kernel, CallableKernel)
    assert kernel.theta.shape == (0,)
    assert kernel.describe() == "chi2_kernel"
    assert_allclose(kernel(X), chi2_kernel(X))
    assert_allclose(kernel(X, X[:4]), chi2_kernel(X, X[:4]))
    assert_allclose(kernel.diag(X), np.ones(15))
    gram = np.eye(15)
    K = as_kernel(lambda X, Z: gram)(X)
    assert not np.shares_memory(K, gram)


def test_error_on_an_array_of_another_shape_names_the_callable(X: np.ndarray) -> None:
    def misshapen(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        return np.ones((len(X), 1))

    with pytest.raises(ValueError, match=r"misshapen returned .* \(15, 1\) where \(15, 15\)"):
        as_kernel(misshapen)(X)


def test_gaussian_process_kernels_keep_their_parameters_and_gradients(X: np.ndarray) -> None:
    source: Any = gp.ConstantKernel(2.0, (1e-2, 1e2)) * gp.RBF([0.5, 1.5], (1e-3, 1e3))
    kernel = as_kernel(source)
    assert isinstance(kernel, SklearnKernel)
    assert_allclose(kernel.theta, source.theta)
    assert_allclose(kernel.log_bounds(X), source.bounds)
    assert_allclose(kernel(X), source(X))
    assert_allclose(kernel.diag(X), source.diag(X))
    rng = np.random.default_rng(1)
    wide = rng.uniform(size=(150, 2))
    P = rng.normal(size=(150, 150))
    source = gp.RBF([0.5, 1.5]) + gp.WhiteKernel(0.1) + 0.5 * gp.DotProduct(1.0)
    gram, tensor = source(wide, eval_gradient=True)
    value, gradient = SklearnKernel(source).vjp(wide, P)
    assert value == pytest.approx(np.sum(P * gram))
    assert_allclose(gradient, np.einsum("ij,ijk->k", P, tensor), atol=1e-9)


def test_a_bound_kernel_does_not_change_with_the_given_object(X: np.ndarray) -> None:
    source = gp.RBF(0.5)
    bound = as_kernel(source).bind(X)
    before = bound(X)
    source.length_scale = 5.0
    assert_array_equal(bound(X), before)


def test_dictionary_from_a_mixture_of_sources(X: np.ndarray) -> None:
    sources = ["rbf", Gaussian(2.0, ard=True), gp.RBF(), rbf_kernel, Linear(per_feature=True)]
    kernels = as_dictionary(sources, X)
    assert len(kernels) == 6
    assert kernels[1].theta.shape == (2,)
    assert all(isinstance(kernel, OnColumns) for kernel in kernels[4:])
    assert_allclose(sum(kernel(X) for kernel in kernels[4:]), Linear()(X))
    with pytest.raises(ValueError, match="empty"):
        as_dictionary([], X)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("gausian", r"Unknown kernel 'gausian'.*gaussian"),
        (None, "must be a mercer kernel, a name, a callable"),
        (Gaussian, r"got the class Gaussian: write Gaussian\(\)"),
        (np.eye(3), r"an array of shape \(3, 3\). .* kernels=\"precomputed\""),
        (1.0, r"got 1\.0"),
    ],
)
def test_what_is_no_kernel_is_refused_with_what_to_write(source: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        as_kernel(source)


POINTS = np.random.default_rng(0).normal(size=(20, 3))


PARTS = [Gaussian(0.7), Matern(2.0), Linear(), Polynomial(2)]


COMPOSED = st.recursive(
    st.sampled_from([*PARTS, WeightedSum(PARTS[:2], [0.5, 3.0]), Product(PARTS[1:3])]),
    lambda kernels: st.one_of(
        st.tuples(st.just(operator.add), kernels, kernels),
        st.tuples(st.just(operator.mul), kernels, kernels),
        st.tuples(st.just(operator.mul), st.sampled_from([0.5, 1.0, 3]), kernels),
    ),
    max_leaves=5,
)
"""Expressions of kernels: a kernel, or an operator with two operands."""


def kernel_of(expression: Any) -> Any:
    """The kernel that an expression stands for."""
    if isinstance(expression, tuple):
        return expression[0](kernel_of(expression[1]), kernel_of(expression[2]))
    return expression


def gram_of(expression: Any) -> Any:
    """The Gram matrix of an expression, by the same operators on the matrices of its kernels."""
    if isinstance(expression, tuple):
        return expression[0](gram_of(expression[1]), gram_of(expression[2]))
    return expression(POINTS) if hasattr(expression, "theta") else expression


@given(COMPOSED)
def test_operators_on_kernels_are_those_on_gram_matrices(expression: Any) -> None:
    kernel, gram = kernel_of(expression), gram_of(expression)
    scale = np.abs(gram).max()
    assert_allclose(kernel(POINTS), gram, rtol=1e-10, atol=1e-12 * scale)
    assert_allclose(kernel.diag(POINTS), np.diag(gram), rtol=1e-10, atol=1e-12 * scale)
    assert clone(kernel) == kernel
    if isinstance(kernel, WeightedSum):
        assert not any(isinstance(part, WeightedSum) for part in kernel.kernels)


def test_sums_and_products_are_flat() -> None:
    a, b, c, d = PARTS
    assert a + 0.5 * c == WeightedSum([a, c], [1.0, 0.5])
    assert (a + b) + 2.0 * (c + 0.25 * d) == WeightedSum([a, b, c, d], [1.0, 1.0, 2.0, 0.5])
    assert a * b * c == Product([a, b, c]) == a * (b * c)
    assert 0.5 * a * b * 3 == WeightedSum([Product([a, b])], [1.5])
    assert (a + b) * c == Product([WeightedSum([a, b], [1.0, 1.0]), c])
    assert sum([a, b, c]) == a + b + c
    assert a == Gaussian(0.7)


@pytest.mark.parametrize("two", [2, np.float32(2.0), np.int64(2)])
def test_numbers_of_any_type_multiply_from_both_sides(two: Any) -> None:
    expected = WeightedSum([Linear()], [2.0])
    assert two * Linear() == Linear() * two == expected


def test_kernels_of_scikit_learn_are_operands() -> None:
    found = Gaussian() + gp.RBF(2.0)
    assert found == WeightedSum([Gaussian(), SklearnKernel(gp.RBF(2.0))], [1.0, 1.0])
    assert_allclose((Linear() * gp.RBF(2.0))(POINTS), Linear()(POINTS) * gp.RBF(2.0)(POINTS))


@pytest.mark.parametrize("number", [0.0, np.float64(-2.0), np.inf, np.nan])
def test_numbers_must_be_positive_and_finite(number: float) -> None:
    with pytest.raises(ValueError, match="multiplied by positive, finite numbers; got"):
        _ = number * Gaussian()


@pytest.mark.parametrize(
    ("other", "operate"),
    [
        ("linear", operator.add),
        (np.ones(2), operator.mul),
        ([Linear()], operator.add),
        (1.5, operator.add),
        (True, operator.mul),
    ],
)
def test_other_operands_are_refused(operate: Any, other: Any) -> None:
    for first, second in ((Gaussian(), other), (other, Gaussian())):
        with pytest.raises(TypeError):
            operate(first, second)


@pytest.mark.parametrize(
    "made",
    [
        OnColumns("gaussian", [0]),  # type: ignore[arg-type]
        WeightedSum([Gaussian(1.0), chi2_kernel], [1.0, 1.0]),
        OnColumns(Product([Gaussian(1.0), None]), [0]),  # type: ignore[list-item]
    ],
)
def test_parts_that_are_no_kernels_are_refused(made: Any) -> None:
    with pytest.raises(TypeError, match=r"takes kernels of mercer; got .*as_kernel"):
        as_kernel(made)


class Cauchy(Kernel):
    """1 / (1 + |x - z|^2 / s^2)."""

    def __init__(self, width: float = 1.0) -> None:
        self.width = width

    @property
    def theta(self) -> np.ndarray:
        return np.log([self.width])

    def with_theta(self, theta: Any) -> "Cauchy":
        return Cauchy(float(np.exp(theta[0])))

    def log_bounds(self, X: Any) -> np.ndarray:
        return np.log([[0.1, 10.0]])

    def _ratio(self, X: Any, Z: Any) -> np.ndarray:
        return np.asarray(np.square(X[:, None] - Z[None]).sum(axis=2) / self.width**2)

    def values(self, X: Any, Z: Any) -> np.ndarray:
        return np.asarray(1.0 / (1.0 + self._ratio(X, Z)))

    def contract(self, X: Any, P: np.ndarray, Z: Any) -> tuple[float, np.ndarray]:
        K = self.values(X, Z)
        return float((P * K).sum()), np.array([(2.0 * P * K**2 * self._ratio(X, Z)).sum()])


class Fixed(Kernel):
    """A formula without parameters."""

    def values(self, X: Any, Z: Any) -> np.ndarray:
        return np.asarray((1.0 + X @ Z.T) ** 2)


def test_values_diagonal_and_gradient_are_found() -> None:
    rng = np.random.default_rng(0)
    X, Z, P = rng.normal(size=(40, 2)), rng.normal(size=(7, 2)), rng.normal(size=(40, 40))
    kernel, step = Cauchy(1.7), 1e-6
    assert_allclose(kernel(X, Z), kernel.values(X, Z))
    assert_allclose(Fixed().diag(X), (1.0 + np.square(X).sum(axis=1)) ** 2)
    value, slope = kernel.vjp(X, P)
    assert_allclose(value, (P * kernel(X)).sum())
    high, low = (kernel.with_theta(kernel.theta + s).vjp(X, P)[0] for s in (step, -step))
    assert_allclose(slope[0], (high - low) / (2.0 * step), rtol=1e-6)
    assert_allclose(Fixed().vjp(X, P)[0], (P * Fixed()(X)).sum())
    assert_allclose((Fixed() + 0.5 * Gaussian(2.0))(X), Fixed()(X) + 0.5 * Gaussian(2.0)(X))


def test_kernels_of_one_s_own_are_searched_and_predict() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    y = np.sin(X[:, 0])
    found = KernelOptimization(Cauchy()).fit(X, y).kernels_[0]
    assert isinstance(found, Cauchy)
    assert found.width != 1.0
    assert TwoStageRegressor(KernelOptimization(Cauchy())).fit(X, y).score(X, y) > 0.9


def test_what_is_missing_is_said() -> None:
    class Nothing(Kernel):
        pass

    class NoGradient(Cauchy):
        contract = Kernel.contract

    X = np.zeros((3, 1))
    with pytest.raises(NotImplementedError, match="Nothing must implement values"):
        Nothing()(X)
    with pytest.raises(NotImplementedError, match="NoGradient must implement contract"):
        NoGradient().vjp(X, np.ones((3, 3)))

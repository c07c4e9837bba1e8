"""Sums and products of kernels, and the operators that write them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process import kernels as gp

from mercer.kernels import Gaussian, Linear, Matern, Polynomial, Product, SklearnKernel, WeightedSum

X = np.random.default_rng(0).normal(size=(20, 3))
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


def test_sums_and_products_agree_with_their_formulas() -> None:
    grams = [part(X) for part in PARTS[:3]]
    weighted = WeightedSum(PARTS[:3], [0.2, 0.3, 0.5])(X)
    assert_allclose(weighted, 0.2 * grams[0] + 0.3 * grams[1] + 0.5 * grams[2], atol=1e-12)
    assert_allclose(Product(PARTS[:3])(X), grams[0] * grams[1] * grams[2], atol=1e-12)


def kernel_of(expression: Any) -> Any:
    """The kernel that an expression stands for."""
    if isinstance(expression, tuple):
        return expression[0](kernel_of(expression[1]), kernel_of(expression[2]))
    return expression


def gram_of(expression: Any) -> Any:
    """The Gram matrix of an expression, by the same operators on the matrices of its kernels."""
    if isinstance(expression, tuple):
        return expression[0](gram_of(expression[1]), gram_of(expression[2]))
    return expression(X) if hasattr(expression, "theta") else expression


@given(COMPOSED)
def test_operators_on_kernels_are_those_on_gram_matrices(expression: Any) -> None:
    kernel, gram = kernel_of(expression), gram_of(expression)
    scale = np.abs(gram).max()
    assert_allclose(kernel(X), gram, rtol=1e-10, atol=1e-12 * scale)
    assert_allclose(kernel.diag(X), np.diag(gram), rtol=1e-10, atol=1e-12 * scale)
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


@pytest.mark.parametrize("two", [2, 2.0, np.float64(2.0), np.float32(2.0), np.int64(2)])
def test_numbers_of_any_type_multiply_from_both_sides(two: Any) -> None:
    expected = WeightedSum([Linear()], [2.0])
    assert two * Linear() == Linear() * two == expected
    assert_array_equal((two * Linear())(X), 2.0 * Linear()(X))


def test_kernels_of_scikit_learn_are_operands() -> None:
    found = Gaussian() + gp.RBF(2.0)
    assert found == WeightedSum([Gaussian(), SklearnKernel(gp.RBF(2.0))], [1.0, 1.0])
    assert_allclose((Linear() * gp.RBF(2.0))(X), Linear()(X) * gp.RBF(2.0)(X))


@pytest.mark.parametrize("number", [0.0, -1.0, np.inf, np.nan, np.float64(-2.0)])
def test_numbers_must_be_positive_and_finite(number: float) -> None:
    with pytest.raises(ValueError, match="multiplied by positive, finite numbers; got"):
        _ = number * Gaussian()


@pytest.mark.parametrize("other", ["linear", None, True, np.ones(2), [Linear()]])
@pytest.mark.parametrize("operate", [operator.add, operator.mul])
def test_other_operands_are_refused(operate: Any, other: Any) -> None:
    for first, second in ((Gaussian(), other), (other, Gaussian())):
        with pytest.raises(TypeError):
            operate(first, second)


def test_numbers_are_not_added() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = 1.5 + Gaussian()

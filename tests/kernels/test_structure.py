"""What kernels tell of their formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import KERNELS, N_FEATURES
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from mercer.kernels import (
    Dirichlet,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    OnColumns,
    Precomputed,
    Product,
    RationalQuadratic,
    WeightedSum,
)
from mercer.kernels._structure import (
    ARDFunction,
    Distance,
    InnerProduct,
    PrecomputedGram,
    RadialFunction,
    Structure,
    inner_product_columns,
    radial_groups,
    stack_values,
)

X = np.random.default_rng(0).normal(size=(12, N_FEATURES))


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_structure_determines_the_gram_matrix(kernel: Kernel) -> None:
    structure = kernel.bind(X).structure
    if isinstance(structure, RadialFunction):
        columns = slice(None) if structure.columns is None else list(structure.columns)
        squared = cdist(X[:, columns], X[:, columns], "minkowski", p=structure.norm) ** 2
        found = structure.function.from_squared(squared) + kernel.offset
        assert_allclose(found, kernel(X), atol=1e-7)
    if isinstance(structure, InnerProduct):
        features = X[:, structure.positions(N_FEATURES)]
        assert_allclose(features @ features.T, kernel(X), atol=1e-12)
    if isinstance(structure, ARDFunction):
        isotropic = structure.isotropic()
        assert isotropic is not None
        assert isinstance(isotropic.structure, RadialFunction)
        size = structure.n_widths
        assert_allclose(isotropic.theta[0], kernel.theta[:size].mean())
        assert_array_equal(isotropic.theta[1:], kernel.theta[size:])
    else:
        assert structure.isotropic() is None


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (Gaussian(2.0), RadialFunction(Gaussian(2.0), n_widths=1)),
        (Gaussian("median"), RadialFunction(Gaussian("median"), n_widths=1)),
        (Dirichlet(2.0), RadialFunction(Dirichlet(2.0))),
        (OnColumns(Laplacian(), [2, 0]), RadialFunction(Laplacian(), (2, 0), n_widths=1)),
        (
            OnColumns(OnColumns(Laplacian(), [1]), [2, 0]),
            RadialFunction(Laplacian(), (0,), n_widths=1),
        ),
        (Linear(), InnerProduct()),
        (OnColumns(Linear(), [1]), InnerProduct((1,))),
        (OnColumns(OnColumns(Linear(), [1, 0]), [2, 0]), InnerProduct((0, 2))),
        (OnColumns(Linear(), slice(1, 2)), Structure()),
        (OnColumns(Linear(), [True, False, True]), Structure()),
        (WeightedSum([Linear()], [1.0]), Structure()),
        (Product([Gaussian()]), Structure()),
    ],
    ids=lambda value: value.describe() if isinstance(value, Kernel) else "",
)
def test_structure_of_kernels(kernel: Kernel, expected: Structure) -> None:
    assert kernel.structure == expected


@pytest.mark.parametrize("kernel", [Gaussian(ard=True), RationalQuadratic(ard=True)])
def test_kernels_on_columns_become_isotropic_on_these_columns(kernel: Any) -> None:
    bound = OnColumns(kernel, [0, 2]).bind(X)
    assert bound.structure.n_widths == 2
    assert bound.structure.isotropic() == OnColumns(type(kernel)(), [0, 2])


def test_kernels_of_one_distance_form_a_group() -> None:
    kernels = [Gaussian(1.0), Linear(), OnColumns(Gaussian(2.0), [1]), Laplacian(3.0)]
    groups = radial_groups([*kernels, OnColumns(Laplacian(), [1]), Gaussian([1.0, 2.0, 3.0])])
    assert groups == {
        Distance(): [(0, Gaussian(1.0)), (3, Laplacian(3.0))],
        Distance((1,)): [(2, Gaussian(2.0)), (4, Laplacian())],
    }


def test_columns_of_inner_products() -> None:
    columns = inner_product_columns([Linear(), OnColumns(Linear(), [2, 0])], 3)
    assert columns is not None
    assert_array_equal(columns[0], [0, 1, 2])
    assert_array_equal(columns[1], [2, 0])
    assert inner_product_columns([Linear(), Gaussian()], 3) is None


def test_kernels_from_a_stack_of_gram_matrices() -> None:
    stack = np.random.default_rng(1).normal(size=(5, 4, 3))
    weighted = WeightedSum([Precomputed(2), WeightedSum([Precomputed(0)], [3.0])], [0.5, 2.0])
    assert isinstance(weighted.structure, PrecomputedGram)
    expected = 0.5 * stack[..., 2] + 6.0 * stack[..., 0]
    assert_allclose(stack_values(weighted, stack), expected)
    assert_allclose(weighted(stack), expected)
    mixed = WeightedSum([Precomputed(2), Gaussian()], [0.5, 2.0])
    for kernel in (Gaussian(), mixed):
        with pytest.raises(TypeError, match="reads features, not a stack of Gram matrices"):
            stack_values(kernel, stack)

"""Kernels as sums of functions of distances, on arrays of several libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer._nystroem.array_libraries import like, to_numpy
from mercer._nystroem.distance_terms import TermColumns, distance_terms
from mercer.kernels import (
    ExponentialPower,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    OnColumns,
    OnProjection,
    Product,
    WeightedSum,
)

RNG = np.random.default_rng(0)
X = 50.0 + RNG.normal(size=(30, 4))
CENTERS = 50.0 + RNG.normal(size=(7, 4))
WIDTHS = np.array([0.5, 1.0, 2.0, 40.0])
PROJECTION = RNG.normal(size=(4, 3))

KERNELS: dict[str, Kernel] = {
    "gaussian": Gaussian(1.3),
    "gaussian-ard": Gaussian(WIDTHS, ard=True),
    "laplacian": Laplacian(1.5),
    "laplacian-ard": Laplacian(WIDTHS, ard=True),
    "product-laplacian": Laplacian(2.0, norm=1.0),
    "product-laplacian-ard": ExponentialPower(WIDTHS, ard=True),
    "power-0.7": ExponentialPower(2.0, power=0.7, norm=1.0),
    "power-1.5": ExponentialPower(2.0, power=1.5, norm=2.0),
    "columns": OnColumns(Gaussian(1.0), [2, 0]),
    "columns-ard": OnColumns(Laplacian(WIDTHS[:2], norm=1.0), [3, 1]),
    "projection": OnProjection(Gaussian(1.5), PROJECTION),
    "projection-ard": OnProjection(Laplacian(WIDTHS[:3]), PROJECTION),
    "columns-projection": OnColumns(OnProjection(Gaussian(1.5), PROJECTION[:2]), [1, 3]),
    "projection-projection": OnProjection(OnProjection(Gaussian(2.0), np.ones((3, 2))), PROJECTION),
    "sum": WeightedSum(
        [ExponentialPower(WIDTHS), Laplacian(WIDTHS), WeightedSum([Gaussian(2.0)], [3.0])],
        [0.5, 1.0, 0.2],
    ),
}

LIBRARIES = ["numpy", "array_api_strict", "torch"]


def example(library: str) -> Any:
    """A small array of a library."""
    if library == "torch":
        pytest.importorskip("array_api_compat")
    return pytest.importorskip(library).asarray(np.zeros((1, 1)))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", KERNELS)
def test_values_are_those_of_the_kernel(name: str, library: str) -> None:
    kernel, there = KERNELS[name], example(library)
    terms = distance_terms(kernel, 4)
    assert terms is not None
    values = TermColumns(terms, CENTERS, there)(like(X, there))
    assert type(values) is type(there)
    expected = kernel(X, CENTERS) - kernel.offset
    np.testing.assert_allclose(to_numpy(values), expected, atol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        Matern(1.0),
        Product([Gaussian(), Gaussian()]),
        ExponentialPower(1.0, norm=1.5),
        WeightedSum([Gaussian(), Linear()], [1.0, 1.0]),
        WeightedSum([Gaussian(), Gaussian(2.0)], [0.0, 0.0]),
        OnColumns(Linear(), [0]),
        OnProjection(Linear(), PROJECTION),
    ],
)
def test_other_kernels_have_no_terms(kernel: Kernel) -> None:
    assert distance_terms(kernel, 4) is None


def test_a_row_at_a_center_has_the_value_at_distance_zero() -> None:
    terms = distance_terms(Gaussian(0.1), 4)
    assert terms is not None
    np.testing.assert_allclose(np.diag(TermColumns(terms, CENTERS, X)(CENTERS)), 0.0, atol=1e-10)


def test_kernels_without_weight_are_left_out() -> None:
    terms = distance_terms(WeightedSum([Gaussian(), Gaussian(2.0)], [0.0, 0.7]), 4)
    assert terms is not None
    assert [term.weight for term in terms] == [0.7]

"""The factor of all widths, which suits the number of rows that a kernel is fitted to."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer._blocks.tables import DrawnSample, block_source
from mercer._data.encoded_targets import encode_target
from mercer._data.weights import UnitWeights
from mercer._nystroem.width_factors import rescaled_kernel, with_width_factor
from mercer.kernels import (
    Gaussian,
    Kernel,
    Linear,
    OnColumns,
    OnProjection,
    RationalQuadratic,
    WeightedSum,
)

DRAWS = np.random.default_rng(0)


WIDE_TABLE = DRAWS.normal(size=(300, 2))


WAVY = np.sin(4.0 * WIDE_TABLE[:, 0]) + 0.3 * DRAWS.normal(size=300)


def rescaled(kernel: Kernel) -> Kernel:
    n, source = len(WAVY), block_source(WIDE_TABLE, WAVY)
    data = DrawnSample(WIDE_TABLE, WAVY, UnitWeights(n), source=source, positions=np.arange(n))
    return rescaled_kernel(kernel, data, encode_target(WAVY, classification=False).encoding, 0)


def with_widths(first: float, second: list[float]) -> Kernel:
    parts = [
        OnColumns(RationalQuadratic(first, alpha=3.0), [0]),
        OnProjection(Gaussian(second), np.eye(2)),
        Linear(),
    ]
    return WeightedSum(parts, [1.0, 2.0, 3.0])


def test_widths_are_multiplied_and_nothing_else() -> None:
    found = with_width_factor(with_widths(2.0, [2.0, 5.0]), np.log(3.0))
    expected = with_widths(6.0, [6.0, 15.0])
    assert_allclose(found.theta, expected.theta)
    assert found.describe() == expected.describe()


@pytest.mark.parametrize(
    ("width", "bounds", "factor", "expected"),
    [
        (2.0, (1.0, 5.0), 3.0, 5.0),
        (2.0, (1.0, 5.0), 0.1, 1.0),
        (2.0, "data", 0.01, 0.02),
        (2.0, (3.0, 5.0), 0.5, 2.0),
        (2.0, (3.0, 5.0), 2.0, 4.0),
    ],
)
def test_widths_do_not_leave_bounds_that_are_given(
    width: float, bounds: Any, factor: float, expected: float
) -> None:
    found = with_width_factor(Gaussian(width, bounds=bounds), np.log(factor))
    assert_allclose(found.bandwidth, expected)


def test_a_wide_kernel_becomes_narrower_until_no_factor_predicts_better() -> None:
    found = rescaled(Gaussian(8.0))
    assert isinstance(found, Gaussian)
    assert 1.0 <= found.bandwidth < 6.0
    assert rescaled(found) is found


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(7.0, bounds=(7.0, 7.0))])
def test_a_kernel_without_free_widths_is_the_same_object(kernel: Kernel) -> None:
    assert rescaled(kernel) is kernel

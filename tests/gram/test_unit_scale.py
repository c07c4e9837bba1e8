"""Centering and scaling against dense formulas, on training rows and on new ones."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from reference import center
from sklearn.preprocessing import KernelCenterer

from mercer._gram.unit_scale import to_unit_scale
from mercer.kernels import Gaussian


def test_the_gram_matrix_is_centered_and_of_unit_mean_diagonal() -> None:
    K = 7.0 * Gaussian()(np.random.default_rng(0).normal(size=(9, 2)))
    found, unit = to_unit_scale(K)
    assert_allclose(found, center(K) / unit.scale, atol=1e-14)
    assert_allclose(unit.scale, np.trace(center(K)) / 9)
    assert_allclose(unit.apply(K), found, atol=1e-14)


def test_new_rows_are_centered_by_the_training_means() -> None:
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(9, 2)), rng.normal(size=(4, 2))
    K, rows = Gaussian()(X), Gaussian()(Z, X)
    _, unit = to_unit_scale(K)
    expected = KernelCenterer().fit(K).transform(rows) / unit.scale
    assert_allclose(unit.apply(rows), expected, atol=1e-14)


def test_a_constant_kernel_is_zero() -> None:
    found, unit = to_unit_scale(np.full((5, 5), 3.0))
    assert_array_equal(found, 0.0)
    assert_allclose(unit.apply(np.full((2, 5), 3.0)), 0.0, atol=1e-15)

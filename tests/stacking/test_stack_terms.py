"""The Gram matrix of a fitted stack."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from reference import center
from stacking_cases import problem

from mercer import KernelStackingRegressor
from mercer.kernels import Gaussian, Linear


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_weighted_sum_of_centered_matrices_of_unit_scale(form: type) -> None:
    X, y = problem(30)
    y = y + X[:, 2]
    model = KernelStackingRegressor([Gaussian(2.0), Linear()]).fit(form(X), y)
    expected = np.zeros((30, 30))
    for kernel, weight in zip(model.kernels_, model.weights_, strict=True):
        K = center(kernel(X))
        expected += weight * K * 30 / np.trace(K)
    assert_allclose(model.learned_gram(form(X)), expected, rtol=1e-6, atol=1e-8)

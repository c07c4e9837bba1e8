"""A kernel's values between rows and centers, computed in parts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from kernel_cases import STATIONARY

from mercer._nystroem.kernel_columns import KernelColumns
from mercer.kernels import Linear

X = np.random.default_rng(0).normal(size=(20, 3))
KERNELS = {**STATIONARY, "linear": Linear()}


@pytest.mark.parametrize("name", KERNELS)
def test_values_are_the_kernel_less_constants(name: str) -> None:
    kernel, means = KERNELS[name], np.arange(4.0)
    values = KernelColumns(kernel, X[:4], means)(X)
    np.testing.assert_allclose(values, kernel(X, X[:4]) - kernel.offset - means, atol=1e-12)


def test_parts_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = KernelColumns(Linear(), X[:4], np.ones(4))
    expected = columns(X)
    monkeypatch.setattr("mercer._nystroem.kernel_columns._CACHED_ROWS", 3)
    np.testing.assert_array_equal(columns(X), expected)
    np.testing.assert_allclose(columns(sp.csr_array(X)), expected)


def test_single_precision_rows_are_computed_in_double() -> None:
    columns = KernelColumns(Linear(), X[:4], np.ones(4))
    assert columns(X.astype(np.float32)).dtype == np.float64

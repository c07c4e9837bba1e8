"""Arrays of NumPy and of other libraries."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp

from mercer._nystroem.array_libraries import in_double, is_foreign, like, namespace_of, to_numpy


def test_numpy_and_sparse_tables_are_not_foreign() -> None:
    for X in (np.ones((2, 2)), sp.csr_array(np.eye(2)), [[1.0]]):
        assert not is_foreign(X)
        assert namespace_of(X) is np


def test_strict_arrays() -> None:
    strict = pytest.importorskip("array_api_strict")
    X = strict.asarray([[1.0, 2.0]], dtype=strict.float32)
    assert is_foreign(X)
    assert in_double(X).dtype == strict.float64
    np.testing.assert_array_equal(to_numpy(X), [[1.0, 2.0]])
    back = like(np.arange(4.0)[::2], X)
    assert is_foreign(back)
    np.testing.assert_array_equal(to_numpy(back), [0.0, 2.0])


def test_numbers_become_double() -> None:
    assert in_double(np.ones(2, dtype=np.float32)).dtype == np.float64
    assert in_double(sp.csr_array(np.eye(2, dtype=np.float32))).dtype == np.float64


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Tensor:
        def __dlpack__(self) -> None: ...

    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with pytest.raises(ImportError, match=r'pip install "mercer\[arrays\]"'):
        namespace_of(Tensor())

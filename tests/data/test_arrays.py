"""Elementwise functions of arrays."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer._data import arrays
from mercer._data.arrays import decay_less_one

U = np.concatenate([[0.0], np.logspace(-30, 3, 500)])


class TestDecayLessOne:
    @pytest.mark.parametrize("is_vectorized", [True, False])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_small_values_are_as_accurate_as_large_ones(self, dtype, is_vectorized, monkeypatch):
        monkeypatch.setattr(arrays, "_expm1_is_vectorized", lambda: is_vectorized)
        u = U.astype(dtype)
        found = decay_less_one(u.copy())
        assert found.dtype == dtype
        assert_allclose(
            found.astype(float), np.expm1(-u.astype(float)), rtol=3.0 * np.finfo(dtype).eps
        )

    @pytest.mark.parametrize("is_vectorized", [True, False])
    def test_infinite_and_missing_numbers(self, is_vectorized, monkeypatch):
        monkeypatch.setattr(arrays, "_expm1_is_vectorized", lambda: is_vectorized)
        u = np.array([np.inf, np.nan, 1e38], np.float32)
        assert_array_equal(decay_less_one(u), [-1.0, np.nan, -1.0])

    @pytest.mark.parametrize("is_vectorized", [True, False])
    def test_arrays_are_overwritten(self, is_vectorized, monkeypatch):
        monkeypatch.setattr(arrays, "_expm1_is_vectorized", lambda: is_vectorized)
        u = U.astype(np.float32)
        assert decay_less_one(u) is u

    def test_numpy_is_asked_once_and_may_not_know(self, monkeypatch):
        arrays._expm1_is_vectorized.cache_clear()
        assert arrays._expm1_is_vectorized() in (True, False)
        arrays._expm1_is_vectorized.cache_clear()
        monkeypatch.setitem(__import__("sys").modules, "numpy.lib.introspect", None)
        assert not arrays._expm1_is_vectorized()
        arrays._expm1_is_vectorized.cache_clear()

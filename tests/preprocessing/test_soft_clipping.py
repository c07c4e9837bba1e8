"""Standardization with softly clipped tails: a naive reference, and properties."""

import math
import statistics
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.preprocessing import SoftClippingScaler

TABLES = arrays(
    float,
    array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12),
    elements=st.floats(-1e300, 1e300) | st.sampled_from([0.0, 1.0, -1.0, np.nan]),
)


@parametrize_with_checks([SoftClippingScaler(threshold=1.0)])
def test_estimator_checks(estimator: BaseEstimator, check: Any) -> None:
    check(estimator)


def heavy(n_samples: int = 200, seed: int = 0) -> npt.NDArray[np.float64]:
    """Return a column with some values beyond ten standard deviations of the others."""
    return np.random.default_rng(seed).standard_t(1.5, size=(n_samples, 1))


def naive(x: list[float], threshold: float) -> list[float]:
    """Scale a column of more than two values, one value after the other."""
    center = statistics.median(x)
    deviations = sorted(abs(v - center) for v in x)
    scale = statistics.median(deviations) / statistics.NormalDist().inv_cdf(0.75)
    if scale == 0.0:
        deviations = [v for v in deviations if v > 0.0]
        scale = statistics.median(deviations)
    t = max(threshold, deviations[math.floor(0.9 * (len(deviations) - 1))] / scale)

    def clipped(v: float) -> float:
        z = (v - center) / scale
        return z if abs(z) <= t else math.copysign(t * (1.0 + math.log(abs(z) / t)), z)

    inner = [max(-2.0 * t, min(2.0 * t, clipped(v))) for v in x]
    return [(clipped(v) - statistics.fmean(inner)) / statistics.pstdev(inner) for v in x]


COLUMNS = {
    "Cauchy": lambda rng: rng.standard_cauchy(size=50),
    "mostly zero": lambda rng: np.exp(2.0 * rng.normal(size=50)) * (rng.random(50) < 0.3),
    "one outlier": lambda rng: np.append(rng.normal(size=50), 1e12),
    "three values": lambda rng: np.array([0.0] * 30 + [1.0, 2.0]),
    "three rows": lambda rng: np.array([1.0, 2.0, 9.0]),
}


class TestValues:
    @pytest.mark.parametrize("name", COLUMNS)
    @pytest.mark.parametrize("threshold", [0.5, 3.0])
    def test_they_are_those_of_the_naive_formula(self, name: str, threshold: float) -> None:
        x = COLUMNS[name](np.random.default_rng(0))
        found = SoftClippingScaler(threshold).fit_transform(x[:, None])[:, 0]
        np.testing.assert_allclose(found, naive(x.tolist(), threshold), rtol=1e-9, atol=1e-12)

    def test_two_values_become_zero_and_one(self) -> None:
        X = np.array([[-3.0, 0.0], [8.0, 1.0], [-3.0, 0.0], [-3.0, np.nan]])
        expected = [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, np.nan]]
        scaler = SoftClippingScaler().fit(X)
        np.testing.assert_array_equal(scaler.transform(X), expected)
        np.testing.assert_allclose(scaler.transform([[2.5, 0.25]]), [[0.5, 0.25]])

    @pytest.mark.parametrize("value", [0.0, 1e-300, 0.1])
    def test_constant_columns_become_zero(self, value: float) -> None:
        scaler = SoftClippingScaler().fit(np.full((5, 1), value))
        np.testing.assert_array_equal(scaler.transform([[value], [3.0], [-1e308]]), 0.0)

    def test_rounding_errors_are_no_variation(self) -> None:
        X = 0.3 + np.spacing(0.3) * np.array([[0], [1], [0], [-1], [2]])
        np.testing.assert_array_equal(SoftClippingScaler().fit_transform(X), 0.0)

    def test_missing_values_stay_missing_and_change_nothing_else(self) -> None:
        X = heavy()
        gaps = np.vstack([X, [[np.nan]] * 7])
        Z = SoftClippingScaler().fit_transform(gaps)
        np.testing.assert_array_equal(Z[:-7], SoftClippingScaler().fit_transform(X))
        assert np.isnan(Z[-7:]).all()


class TestProperties:
    def test_it_is_increasing_and_smooth(self) -> None:
        scaler = SoftClippingScaler().fit(heavy())
        grid = np.linspace(-60.0, 60.0, 100_001)[:, None]
        slopes = np.diff(scaler.transform(grid)[:, 0])
        assert (slopes > 0.0).all()
        # The derivative is continuous: its jumps are as small as the steps of the grid.
        assert np.abs(np.diff(slopes)).max() < 0.01 * slopes.max()

    @pytest.mark.parametrize("value", [-1e12, 1.7e308])
    def test_one_huge_value_matters_little(self, value: float) -> None:
        X = np.random.default_rng(0).normal(size=(100, 1))
        odd = np.where(np.arange(100)[:, None] == 0, value, X)
        found, expected = (SoftClippingScaler().fit_transform(table)[1:, 0] for table in (odd, X))
        assert np.corrcoef(found, expected)[0, 1] > 0.999

    @settings(max_examples=60, deadline=None)
    @given(TABLES, TABLES)
    def test_every_table_becomes_finite(self, X: Any, Z: Any) -> None:
        columns = min(X.shape[1], Z.shape[1])
        scaler = SoftClippingScaler().fit(X[:, :columns])
        for table in (X[:, :columns], Z[:, :columns]):
            scaled = scaler.transform(table)
            np.testing.assert_array_equal(np.isnan(scaled), np.isnan(table))
            assert not np.isinf(scaled).any()


def test_bad_input_is_refused() -> None:
    for threshold in (0.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="threshold must be"):
            SoftClippingScaler(threshold).fit(heavy())
    scaler = SoftClippingScaler().fit([[1.0], [2.0]])
    for method in (scaler.transform, scaler.fit):
        with pytest.raises(ValueError, match="infinity"):
            method([[1.0], [-np.inf]])

"""The display of the coverage by width draws the shares that it names."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelStackingRegressor
from mercer.inspection import CoverageDisplay

N = 200


@pytest.fixture(scope="module")
def known() -> tuple[Any, Any]:
    """Responses, and intervals that are as wide as the noise, for 90%."""
    rng = np.random.default_rng(0)
    scale = np.linspace(0.5, 3.0, N)
    return scale * rng.normal(size=N), 1.645 * np.column_stack([-scale, scale])


def test_shares_are_those_of_deciles_of_the_width(known: Any) -> None:
    y, intervals = known
    display = CoverageDisplay.from_intervals(y, intervals)
    inside = (intervals[:, 0] <= y) & (y <= intervals[:, 1])
    assert_allclose(display.shares, inside.reshape(10, 20).mean(axis=1))
    assert_allclose(display.widths, np.ptp(intervals, axis=1).reshape(10, 20).mean(axis=1))
    assert (display.low < display.shares).all()
    x, drawn = display.ax_.lines[0].get_data()
    assert_allclose(x, display.widths)
    assert_allclose(drawn, display.shares)
    assert display.ax_.get_xlabel() == "Mean width of the intervals"
    assert display.figure_ is display.ax_.figure
    again = display.plot(ax=display.ax_)
    assert again.ax_ is display.ax_


def test_widths_that_are_alike_are_one_bin(known: Any) -> None:
    y, _ = known
    half = np.linspace(3.0, 3.2, N)
    half[:5] = 9.0
    display = CoverageDisplay.from_intervals(y, np.column_stack([-half, half]))
    assert_allclose(display.widths, [2.0 * half.mean()])
    assert_allclose(display.shares, [np.mean(np.abs(y) <= half)])
    half[:30] = 9.0
    assert len(CoverageDisplay.from_intervals(y, np.column_stack([-half, half])).widths) > 5


def test_intervals_are_those_of_the_estimator() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (N, 1))
    y = X[:, 0] + (1.1 + X[:, 0]) * rng.normal(size=N)
    model = make_pipeline(StandardScaler(), KernelStackingRegressor()).fit(X[:100], y[:100])
    intervals = model[-1].predict_interval(model[0].transform(X[100:]), 0.8, scale=None)
    expected = CoverageDisplay.from_intervals(y[100:], intervals, coverage=0.8)
    found = CoverageDisplay.from_estimator(model, X[100:], y[100:], coverage=0.8, scale=None)
    assert_allclose(found.shares, expected.shares)
    assert_allclose(found.widths, expected.widths)
    assert found.coverage == 0.8


def test_bad_input_is_refused(known: Any) -> None:
    y, intervals = known
    for responses, ends, coverage, message in (
        (y[1:], intervals, 0.9, "two finite ends for each response"),
        (y, np.full((N, 2), np.inf), 0.9, "two finite ends for each response"),
        (y, intervals, 1.5, "coverage must be between 0 and 1"),
    ):
        with pytest.raises(ValueError, match=message):
            CoverageDisplay.from_intervals(responses, ends, coverage=coverage)
    with pytest.raises(ValueError, match="one entry for each bin"):
        CoverageDisplay([1.0], [0.9, 0.8], [0.8], [1.0])
    with pytest.raises(NotFittedError):
        CoverageDisplay.from_estimator(Ridge(), intervals, y)
    with pytest.raises(TypeError, match="Ridge predicts no intervals"):
        CoverageDisplay.from_estimator(Ridge().fit(intervals, y), intervals, y)

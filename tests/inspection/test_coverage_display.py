"""The display of the coverage by width draws the shares that it names."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelStackingRegressor
from mercer.inspection import CoverageDisplay
from mercer.inspection._coverage import coverage_of
from mercer.inspection._held_out import Truth

RNG = np.random.default_rng(0)
N, X = 200, RNG.uniform(-1, 1, (200, 1))


def test_shares_are_those_of_deciles_of_the_width() -> None:
    y = X[:, 0] + (1.1 + X[:, 0]) * RNG.normal(size=N)
    model = make_pipeline(StandardScaler(), KernelStackingRegressor()).fit(X[:100], y[:100])
    low, high = model[-1].predict_interval(model[0].transform(X[100:]), 0.8).T
    display = CoverageDisplay.from_estimator(model, X[100:], y[100:], coverage=0.8)
    inside, order = (low <= y[100:]) & (y[100:] <= high), np.argsort(high - low, kind="stable")
    x, drawn = display.ax_.lines[0].get_data()
    assert_allclose(np.asarray(x, dtype=float), (high - low)[order].reshape(10, 10).mean(axis=1))
    assert_allclose(drawn, inside[order].reshape(10, 10).mean(axis=1))
    assert display.ax_.get_xlabel() == "Mean width of the intervals"
    assert display.plot(ax=display.ax_).ax_ is display.ax_


def test_widths_that_are_alike_are_one_bin() -> None:
    half, y = np.linspace(3.0, 3.2, N), 3.0 * RNG.normal(size=N)
    half[:5] = 9.0
    truth = Truth("regression", y, np.empty(0))
    [found] = coverage_of(truth, np.column_stack([-half, half]), 0.9).bins
    assert_allclose(found.value, 2.0 * half.mean())
    assert_allclose(found.share.value, np.mean(np.abs(y) <= half))
    half[:30] = 9.0
    assert len(coverage_of(truth, np.column_stack([-half, half]), 0.9).bins) > 5


def test_bad_input_is_refused() -> None:
    y, model = X[:, 0], KernelStackingRegressor(["rbf"]).fit(X[:5], X[:5, 0])
    with pytest.raises(ValueError, match="Some intervals are infinite"):
        CoverageDisplay.from_estimator(model, X, y)
    with pytest.raises(ValueError, match="coverage must be between 0 and 1"):
        CoverageDisplay.from_estimator(model, X, y, coverage=1.5)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        CoverageDisplay.from_estimator(model, X, y[1:])
    with pytest.raises(NotFittedError):
        CoverageDisplay.from_estimator(Ridge(), X, y)
    with pytest.raises(TypeError, match="Ridge predicts no intervals"):
        CoverageDisplay.from_estimator(Ridge().fit(X, y), X, y)

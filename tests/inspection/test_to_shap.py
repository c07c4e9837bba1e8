"""Contributions as objects of the package shap, and its plots of them."""

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline

from mercer import (
    KernelStackingClassifier,
    KernelStackingRegressor,
    TwoStageRegressor,
    UniformCombination,
)
from mercer.inspection import shapley_values
from mercer.kernels import Gaussian
from mercer.preprocessing import table_encoder

pytestmark = pytest.mark.usefixtures("few_folds_throughout")


@pytest.fixture(scope="module")
def model(table: Any) -> Any:
    y = table["age"] / 10.0 * (1.0 + (table["town"] == "Bern")) + table["height"] / 50.0
    learner = UniformCombination([Gaussian(3.0)])
    return make_pipeline(table_encoder(), TwoStageRegressor(learner, alpha=0.1)).fit(table, y)


@pytest.fixture(scope="module")
def classifier(table: Any) -> Any:
    y = np.digitize(table["age"], [40, 60])
    stack = KernelStackingClassifier([Gaussian(3.0)], approximation="nystroem", n_components=60)
    return make_pipeline(table_encoder(), stack).fit(table, y)


@pytest.fixture(scope="module")
def far() -> Any:
    """Contributions to predictions of a stack far from its training rows."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    stack = KernelStackingRegressor([Gaussian(2.0)]).fit(X, X[:, 0])
    return shapley_values(stack, 20.0 * X)


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is passed to the package, which need not be installed."""
    monkeypatch.setitem(sys.modules, "shap", SimpleNamespace(Explanation=SimpleNamespace))


@pytest.mark.usefixtures("package")
def test_cells_are_numbers_years_and_text(model: Any, table: Any) -> None:
    rows = table[:6].copy()
    rows.loc[0, ["age", "town", "since"]] = [None, None, None]
    found = shapley_values(model, rows)
    shown = found.to_shap()
    assert shown.feature_names == ["age", "town", "since", "height"]
    assert_allclose(shown.data[:, [0, 3]].astype(float), rows[["age", "height"]])
    assert shown.data[:, 1].tolist() == ["missing", *rows["town"][1:]]
    years = shown.data[:, 2].astype(float)
    assert np.isnan(years[0])
    dates = rows["since"][1:].dt
    assert_allclose(years[1:], dates.year + (dates.day_of_year - 0.5) / 365.25, atol=4e-3)
    assert_allclose(shown.values, found.values)
    assert_allclose(shown.base_values, np.full(6, found.base_value))
    assert_allclose(shown.error_std, found.standard_errors)
    assert shown.output_names is None


@pytest.mark.usefixtures("package")
def test_shrinkage_is_a_column(far: Any) -> None:
    shown = far.to_shap()
    assert shown.feature_names == ["x0", "x1", "x2", "far from training rows"]
    assert_allclose(shown.base_values + shown.values.sum(axis=1), far.predictions)
    assert (shown.data.shape, shown.error_std.shape) == (shown.values.shape,) * 2


@pytest.mark.usefixtures("package")
def test_classes(classifier: Any, table: Any) -> None:
    found = shapley_values(classifier, table[:5])
    shown = found.to_shap()
    assert (shown.base_values.shape, shown.values.shape) == ((5, 3), (5, 4, 3))
    assert shown.output_names == ["0", "1", "2"]
    one = found.of_output(2).to_shap()
    assert (one.values.shape, one.output_names) == ((5, 4), ["2"])


@pytest.mark.filterwarnings("ignore")
def test_plots_of_the_package(model: Any, table: Any) -> None:
    shap = pytest.importorskip("shap")
    shown = shapley_values(model, table[:20]).to_shap()
    ax = shap.plots.waterfall(shown[0], show=False)
    assert any("age" in label.get_text() for label in ax.get_yticklabels())
    for draw in (shap.plots.bar, shap.plots.beeswarm):
        ax = draw(shown, show=False)
        assert {label.get_text() for label in ax.get_yticklabels()} >= set(table.columns)

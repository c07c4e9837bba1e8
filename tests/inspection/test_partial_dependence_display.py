"""scikit-learn's display draws the exact curves, over the deciles of the columns."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.inspection import PartialDependenceDisplay
from sklearn.pipeline import make_pipeline

from mercer import KernelStackingClassifier, TwoStageRegressor
from mercer.inspection import partial_dependence, partial_dependence_display
from mercer.preprocessing import table_encoder

pytestmark = pytest.mark.usefixtures("few_folds_throughout")


@pytest.fixture(scope="module")
def table(table: Any) -> Any:
    sex = np.random.default_rng(1).choice(["f", "m"], len(table))
    return table.assign(age=20 + table["age"] % 20, sex=sex)


@pytest.fixture(scope="module")
def model(table: Any) -> Any:
    y = table["age"] / 10.0 + 2.0 * (table["town"] == "Bern") + table["height"] / 50.0
    return make_pipeline(table_encoder(), TwoStageRegressor()).fit(table, y)


def test_curves_bars_and_deciles(model: Any, table: Any) -> None:
    names = ["age", "town", "since"]
    display = partial_dependence_display(model, table, names).plot()
    assert type(display) is PartialDependenceDisplay
    found = [partial_dependence(model, table, name) for name in names]
    assert [ax.get_xlabel() for ax in display.axes_.ravel()] == names
    for one, line in zip(found[::2], display.lines_.ravel()[::2], strict=True):
        assert_allclose(line.get_ydata(), one.average[0])
        np.testing.assert_array_equal(line.get_xdata(orig=True), one.grid_values[0])
    heights = [bar.get_height() for bar in display.axes_.ravel()[1].patches]
    assert_allclose(heights, found[1].average[0])
    assert sorted(display.deciles) == [0, 2]
    ages = np.quantile(table["age"], np.linspace(0.1, 0.9, 9), method="lower")
    np.testing.assert_array_equal(display.deciles[0], ages)
    assert np.isin(display.deciles[2], table["since"].to_numpy()).all()


def test_single_rows(model: Any, table: Any) -> None:
    display = partial_dependence_display(model, table, "height", kind="both")
    lines = display.plot(centered=True).lines_.ravel()
    assert len(lines) == 50 + 1
    assert {float(line.get_ydata()[0]) for line in lines} == {0.0}
    for features in (["height", "town"], [("height", "since")]):
        with pytest.raises(ValueError, match="Single rows cannot be drawn for '"):
            partial_dependence_display(model, table, features, kind="individual")


def test_two_columns(model: Any, table: Any) -> None:
    pairs = [("height", "since"), ("town", "sex")]
    display = partial_dependence_display(model, table, pairs, grid_resolution=6).plot()
    surface, cells = display.axes_.ravel()
    assert (surface.get_xlabel(), surface.get_ylabel()) == pairs[0]
    assert (cells.get_ylabel(), cells.get_xlabel()) == pairs[1]
    expected = partial_dependence(model, table, pairs[1]).average[0]
    assert_allclose(display.heatmaps_.ravel()[1].get_array(), expected)
    with pytest.raises(ValueError, match="'town' and 'age' are a column of categories and one of"):
        partial_dependence_display(model, table, ("town", "age"))


def test_classes(table: Any) -> None:
    y = np.digitize(table["height"], [165.0, 175.0])
    model = make_pipeline(table_encoder(), KernelStackingClassifier(["rbf"])).fit(table, y)
    display = partial_dependence_display(model, table, "height", target=2)
    expected = partial_dependence(model, table, "height").average[2]
    assert_allclose(display.plot().lines_[0, 0].get_ydata(), expected)
    with pytest.raises(ValueError, match="output must be one of 0, 1, 2; got None"):
        partial_dependence_display(model, table, "height")


def test_bad_input(model: Any, table: Any) -> None:
    with pytest.raises(ValueError, match="kind must be"):
        partial_dependence_display(model, table, "town", kind="all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="features must hold at least one"):
        partial_dependence_display(model, table, [])
